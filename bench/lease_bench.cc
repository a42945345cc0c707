// What leases cost: to acquire, to renew, to ask, to sign, and to write under a fence, per backend. etcd runs as one node on loopback
// and is left out where it is not installed. SQLite and etcd wait for the disk: the numbers are of the machine's.
#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lease/fenced_resource.h"
#include "lease/fetched_view.h"
#include "lease/lease_answer.h"
#include "lease/memory_register.h"
#include "lease/named_lease.h"
#include "lease/view_history.h"
#include "tests/etcd_server.h"
#include "transport/lease_keeper.h"
#include "transport/register_worker.h"
#include "transport/store_etcd_fence.h"
#include "transport/store_etcd_register.h"
#include "transport/store_sqlite_fence.h"
#include "transport/store_sqlite_register.h"

namespace nekton {
namespace {

enum Backend : int { kMemory, kSqlite, kEtcd };

// Files, and the etcd, of this run.
class Scene {
 public:
  static Scene& The() {
    static Scene scene;
    return scene;
  }
  ~Scene() {
    etcd_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  std::string NewFile() { return absl::StrCat(dir_, "/", count_++, ".db"); }
  // False if it is not installed or does not come up.
  bool Etcd(EtcdOptions& options) {
    if (!EtcdCluster::Installed()) return false;
    if (!etcd_) {
      etcd_ = std::make_unique<EtcdCluster>(1, dir_ + "/etcd");
      ready_ = etcd_->WaitReady();
    }
    options.endpoints = etcd_->Endpoints();
    options.prefix = absl::StrCat("bench", count_++, "/");
    return ready_;
  }

 private:
  Scene() : dir_(absl::StrCat(std::filesystem::temp_directory_path().string(), "/nekton_lease_bench_", getpid())) {
    std::filesystem::create_directories(dir_);
  }
  std::string dir_;
  int count_ = 0;
  std::unique_ptr<EtcdCluster> etcd_;
  bool ready_ = false;
};

std::shared_ptr<Register> Open(Backend backend) {
  if (backend == kMemory) return MakeLocalRegister(std::make_shared<SharedTable>());
  if (backend == kSqlite) {
    SqliteRegisterOptions options;
    options.path = Scene::The().NewFile();
    return *OpenSqliteRegister(options);
  }
  EtcdOptions options;
  if (!Scene::The().Etcd(options)) return nullptr;
  return *OpenEtcdRegister(options);
}

std::shared_ptr<Register> OpenFor(benchmark::State& state) {
  static const char* const kNames[] = {"memory", "sqlite", "etcd"};
  state.SetLabel(kNames[state.range(0)]);
  std::shared_ptr<Register> opened = Open(static_cast<Backend>(state.range(0)));
  if (opened == nullptr) state.SkipWithError("etcd is not installed");
  return opened;
}

RegisterAnswer Write(Register& to, std::uint64_t expected, std::string value) {
  std::promise<RegisterAnswer> answer;
  to.CompareAndSet("k", expected, std::move(value), [&](RegisterAnswer there) { answer.set_value(std::move(there)); });
  return answer.get_future().get();
}

// A renewal is one compare-and-set: its time there and back.
void BM_Renew(benchmark::State& state) {
  const std::shared_ptr<Register> r = OpenFor(state);
  if (r == nullptr) return;
  std::uint64_t version = kAbsent;
  const std::string record = "nekton-lease 1 0.17 10000000000 1796065200000000000 1234567890abcdef 12 alpha";
  for (auto _ : state) version = Write(*r, version, record).version;
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Renew)->DenseRange(kMemory, kEtcd)->UseRealTime()->Unit(benchmark::kMicrosecond);

// Renewals of 32 leases at once.
void BM_RenewMany(benchmark::State& state) {
  const std::shared_ptr<Register> r = OpenFor(state);
  if (r == nullptr) return;
  constexpr int kLeases = 32;
  std::vector<std::uint64_t> versions(kLeases, kAbsent);
  for (auto _ : state) {
    std::mutex mutex;
    std::condition_variable done;
    int open = kLeases;
    for (int i = 0; i < kLeases; ++i) {
      const auto at = static_cast<std::size_t>(i);
      r->CompareAndSet(absl::StrCat("k", i), versions[at], "record", [&, at](const RegisterAnswer& a) {
        const std::lock_guard lock(mutex);
        versions[at] = a.version;
        if (--open == 0) done.notify_one();
      });
    }
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return open == 0; });
  }
  state.SetItemsProcessed(state.iterations() * kLeases);
}
BENCHMARK(BM_RenewMany)->DenseRange(kMemory, kEtcd)->UseRealTime()->Unit(benchmark::kMicrosecond);

// From the call until it is held, and back to the register: read, take, release.
void BM_AcquireAndRelease(benchmark::State& state) {
  const std::shared_ptr<Register> r = OpenFor(state);
  if (r == nullptr) return;
  LeaseKeeperOptions options;
  options.holder = "alpha";
  const std::unique_ptr<LeaseKeeper> keeper = *LeaseKeeper::Start(r, options);
  for (auto _ : state) {
    absl::StatusOr<LeaseHandle> lease = keeper->AcquireWithin("job", {}, std::chrono::seconds(10));
    if (!lease.ok() || !lease->ReleaseWithin(std::chrono::seconds(10)).ok()) state.SkipWithError("not acquired");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_AcquireAndRelease)->DenseRange(kMemory, kEtcd)->UseRealTime()->Unit(benchmark::kMicrosecond);

void BM_Check(benchmark::State& state) {
  static std::unique_ptr<LeaseKeeper> keeper;
  static LeaseHandle lease;
  if (state.thread_index() == 0) {
    LeaseKeeperOptions options;
    options.holder = "alpha";
    keeper = *LeaseKeeper::Start(Open(kMemory), options);
    lease = *keeper->AcquireWithin("job", {}, std::chrono::seconds(10));
  }
  for (auto _ : state) benchmark::DoNotOptimize(lease.Check());
  if (state.thread_index() == 0) {
    lease = LeaseHandle();
    keeper.reset();
  }
}
BENCHMARK(BM_Check)->Threads(1)->Threads(2);

FencedRequest Shown() {
  FencedRequest request;
  request.claim = {.lease = "job", .holder = "alpha", .generation = 1, .token = {17}};
  return request;
}

void BM_FencedWriteInMemory(benchmark::State& state) {
  FencedResource resource{FenceOptions{}};
  const FencedRequest request = Shown();
  int value = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(resource.Apply(request, [&] {
      ++value;
      return std::string();
    }));
  }
}
BENCHMARK(BM_FencedWriteInMemory);

// The user's update, with (1) and without (0) the fence in its transaction.
void BM_WriteInSqlite(benchmark::State& state) {
  state.SetLabel(state.range(0) != 0 ? "fenced" : "alone");
  sqlite3* connection = nullptr;
  sqlite3_open(Scene::The().NewFile().c_str(), &connection);
  sqlite3_exec(connection,
               "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (v); INSERT INTO t VALUES (0)",
               nullptr, nullptr, nullptr);
  {
    absl::StatusOr<SqliteFence> fence = SqliteFence::Open(connection, {});
    const FencedRequest request = Shown();
    const auto update = [](sqlite3* to) -> absl::StatusOr<std::string> {
      sqlite3_exec(to, "UPDATE t SET v = v + 1", nullptr, nullptr, nullptr);
      return "";
    };
    for (auto _ : state) {
      if (state.range(0) != 0) {
        if (!fence.ok() || !fence->Apply(request, update)->ok()) state.SkipWithError("refused");
      } else {
        benchmark::DoNotOptimize(update(connection));
      }
    }
  }
  sqlite3_close(connection);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_WriteInSqlite)->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMicrosecond);

void BM_FencedWriteInEtcd(benchmark::State& state) {
  EtcdOptions options;
  if (!Scene::The().Etcd(options)) {
    state.SkipWithError("etcd is not installed");
    return;
  }
  EtcdFence fence = *EtcdFence::Open(options, {});
  const FencedRequest request = Shown();
  for (auto _ : state) {
    const absl::StatusOr<FencedAnswer> answer = fence.Apply(request, {{"data", "value"}});
    if (!answer.ok() || !answer->ok()) state.SkipWithError("refused");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_FencedWriteInEtcd)->UseRealTime()->Unit(benchmark::kMicrosecond);

// The algorithm alone: one renewal of one of ten thousand leases.
void BM_NamedLeaseRenewal(benchmark::State& state) {
  NamedLeaseOptions options;
  options.name = "job";
  options.holder = "alpha";
  NamedLease lease(options, 1);
  MemoryTable table;
  LeaseOutbox out;
  Duration now{};
  const auto tick = [&] { return Tick{Instant(now), RawInstant(now), WallTime{}}; };
  lease.Acquire(tick(), out);
  for (auto _ : state) {
    while (out.requests.empty()) {
      now = lease.NextWake().time_since_epoch();
      lease.Wake(tick(), out);
    }
    const RegisterRequest request = std::move(out.requests.front());
    out.requests.clear();
    out.events.clear();
    lease.Answer(request.id, table.Do(request), tick(), out);
  }
}
BENCHMARK(BM_NamedLeaseRenewal);

// What the authority's signature adds to each answer to a ping: to make it, and to look at it.
LeaseMessage Renewed() {
  LeaseMessage answer;
  answer.kind = LeaseMessage::Kind::kAnswer;
  answer.nonce = 0x1234567890abcdef;
  answer.epoch = answer.settled = 17;
  return answer;
}
constexpr LeaseTerms kTerms;
constexpr AnswerTo kTo{"alpha", 1'767'225'600'000, kTerms.write, kTerms.drift_ppm};

void BM_SignAnswer(benchmark::State& state) {
  const SigningKey key(std::array<std::byte, 32>{});
  const LeaseMessage answer = Renewed();
  for (auto _ : state) benchmark::DoNotOptimize(SignAnswer(key, "group", kTo, answer));
}
BENCHMARK(BM_SignAnswer)->Unit(benchmark::kMicrosecond);

void BM_VerifyAnswer(benchmark::State& state) {
  const SigningKey key(std::array<std::byte, 32>{});
  LeaseMessage answer = Renewed();
  answer.signature = SignAnswer(key, "group", kTo, answer);
  for (auto _ : state) {
    if (!VerifyAnswer(key.public_key(), "group", kTo, answer)) state.SkipWithError("refused");
  }
}
BENCHMARK(BM_VerifyAnswer)->Unit(benchmark::kMicrosecond);

// Of a view of so many members: the difference of a removal is made, written, read and applied; and how large it is
// beside the whole.
void BM_ViewDelta(benchmark::State& state) {
  const SigningKey key(std::array<std::byte, 32>{});
  std::vector<ViewMember> members;
  for (int i = 0; i < state.range(0); ++i) members.push_back({absl::StrCat("member-", i), 1, {}});
  const View before = SignView(key, "group", 4, members);
  members.pop_back();
  const View after = SignView(key, "group", 5, members);
  ViewHistory history;
  history.Add(before, after);
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::vector<std::byte> written = EncodeFetched(*history.Since(4, before.head.digest, after));
    bytes = written.size();
    if (!Apply(before, std::get<ViewDelta>(*DecodeFetched(written))).ok()) state.SkipWithError("refused");
  }
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["whole"] = static_cast<double>(EncodeFetched(after).size());
}
BENCHMARK(BM_ViewDelta)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace nekton
