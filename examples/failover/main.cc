// One of several processes of which one counts at a time: whoever holds the lease "counter" writes 1, 2, 3, … into an SQLite
// table, each write under its fencing token. examples/failover.sh starts three and stops the one that counts.
//
// One JSON object a line on standard output: acquired, about-to-lose, lost, released; working (it has looked at the lease,
// and is about to write), wrote, refused. Ends with SIGTERM.
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "lease/fenced_resource.h"
#include "transport/lease_keeper.h"
#include "transport/store_sqlite_fence.h"
#include "transport/store_sqlite_register.h"
#ifdef NEKTON_EXAMPLE_ETCD
#include "transport/store_etcd_register.h"
#endif

ABSL_FLAG(std::string, name, "", "of this process; needed");
ABSL_FLAG(std::string, leases, "", "an SQLite file, or http://HOST:PORT of an etcd; needed");
ABSL_FLAG(std::string, data, "", "the SQLite file with the counter; needed");
ABSL_FLAG(int, duration_ms, 2000, "of the lease, 100 to 60000");
ABSL_FLAG(bool, fence, true, "whether the table refuses old tokens");

namespace {

using Json = nlohmann::json;
constexpr const char* kLease = "counter";
// Between looking at the lease and writing: as long as a program may be busy, or stopped, there.
constexpr auto kWork = std::chrono::milliseconds(200);

void Say(Json line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  line["name"] = absl::GetFlag(FLAGS_name);
  std::cout << line.dump() << std::endl;
}

int Fail(const absl::Status& status) {
  std::cerr << "failover: " << status.message() << '\n';
  return EXIT_FAILURE;
}

absl::StatusOr<std::shared_ptr<nekton::Register>> OpenRegister(const std::string& where) {
  if (where.rfind("http", 0) == 0) {
#ifdef NEKTON_EXAMPLE_ETCD
    nekton::EtcdOptions options;
    options.endpoints = {where};
    options.timeout = std::chrono::milliseconds(500);
    absl::StatusOr<std::unique_ptr<nekton::Register>> opened = nekton::OpenEtcdRegister(options);
    if (!opened.ok()) return opened.status();
    return std::shared_ptr<nekton::Register>(*std::move(opened));
#else
    return absl::UnimplementedError("built without etcd");
#endif
  }
  nekton::SqliteRegisterOptions options;
  options.path = where;
  absl::StatusOr<std::unique_ptr<nekton::Register>> opened = nekton::OpenSqliteRegister(options);
  if (!opened.ok()) return opened.status();
  return std::shared_ptr<nekton::Register>(*std::move(opened));
}

// The table, and all that was ever in it, in its order.
class Counter {
 public:
  static absl::StatusOr<std::unique_ptr<Counter>> Open(const std::string& path) {
    auto counter = std::unique_ptr<Counter>(new Counter);
    if (sqlite3_open(path.c_str(), &counter->connection_) != SQLITE_OK)
      return absl::UnavailableError("data: cannot be opened");
    sqlite3_busy_timeout(counter->connection_, 10'000);
    const absl::Status made = counter->Run(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; BEGIN IMMEDIATE;"
        "CREATE TABLE IF NOT EXISTS counter (id INTEGER PRIMARY KEY, value INTEGER, token TEXT, writer TEXT);"
        "INSERT INTO counter VALUES (1, 0, '', '') ON CONFLICT DO NOTHING;"
        "CREATE TABLE IF NOT EXISTS history (number INTEGER PRIMARY KEY, value INTEGER, token TEXT, writer TEXT);"
        "CREATE TRIGGER IF NOT EXISTS remember AFTER UPDATE ON counter BEGIN "
        "INSERT INTO history (value, token, writer) VALUES (new.value, new.token, new.writer); END; COMMIT");
    if (!made.ok()) return made;
    absl::StatusOr<nekton::SqliteFence> fence = nekton::SqliteFence::Open(counter->connection_, {});
    if (!fence.ok()) return fence.status();
    counter->fence_ = std::make_unique<nekton::SqliteFence>(*std::move(fence));
    return counter;
  }
  ~Counter() {
    fence_.reset();
    sqlite3_close(connection_);
  }

  absl::Status Run(const std::string& sql) {
    char* error = nullptr;
    if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, &error) == SQLITE_OK) return absl::OkStatus();
    const std::string text = error == nullptr ? "?" : error;
    sqlite3_free(error);
    return absl::UnavailableError(absl::StrCat("data: ", text));
  }
  int Value() {
    int value = 0;
    const auto read = [](void* out, int, char** text, char**) {
      *static_cast<int*>(out) = text[0] == nullptr ? 0 : std::atoi(text[0]);
      return 0;
    };
    sqlite3_exec(connection_, "SELECT value FROM counter", read, &value, nullptr);
    return value;
  }
  // Before the first write: from here on nobody's older token passes.
  absl::StatusOr<nekton::FencedAnswer> Advance(const nekton::FencedRequest& request) {
    return fence_->Advance(request);
  }
  absl::StatusOr<nekton::FencedAnswer> Write(const nekton::FencedRequest& request, int value, bool fenced) {
    const std::string sql =
        absl::StrCat("UPDATE counter SET value = ", value, ", token = '", nekton::ToString(request.claim.token),
                     "', writer = '", request.claim.holder, "'");
    if (!fenced) {
      if (absl::Status written = Run(sql); !written.ok()) return written;
      nekton::FencedAnswer answer;
      answer.outcome = nekton::FenceOutcome::kApplied;
      return answer;
    }
    return fence_->Apply(request, [&](sqlite3*) -> absl::StatusOr<std::string> {
      if (absl::Status written = Run(sql); !written.ok()) return written;
      return "";
    });
  }

 private:
  Counter() = default;
  sqlite3* connection_ = nullptr;
  std::unique_ptr<nekton::SqliteFence> fence_;
};

// Counts for as long as the lease is held.
class Worker {
 public:
  Worker(std::unique_ptr<Counter> counter, std::string name) : counter_(std::move(counter)), name_(std::move(name)) {}

  void Count(nekton::LeaseHandle& lease, const std::atomic<bool>& end) {
    const bool fenced = absl::GetFlag(FLAGS_fence);
    nekton::FencingToken under;
    int value = 0;
    while (!end) {
      const std::optional<nekton::FencingToken> token = lease.Check();
      if (!token) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      const nekton::FencedRequest request = Request(*token);
      if (*token != under) {
        under = *token;
        if (fenced && !counter_->Advance(request).ok()) continue;
        value = counter_->Value();
      }
      Say({{"event", "working"}, {"value", value + 1}, {"token", nekton::ToString(under)}});
      std::this_thread::sleep_for(kWork);
      if (Write(request, value + 1, fenced, lease)) ++value;
    }
  }

 private:
  bool Write(const nekton::FencedRequest& request, int value, bool fenced, nekton::LeaseHandle& lease) {
    const absl::StatusOr<nekton::FencedAnswer> answer = counter_->Write(request, value, fenced);
    Json line = {{"event", "wrote"}, {"value", value}, {"token", nekton::ToString(request.claim.token)}};
    if (!answer.ok() || !answer->ok()) {
      line["event"] = "refused";
      line["why"] = answer.ok() ? nekton::Explain(request, *answer) : std::string(answer.status().message());
      if (answer.ok()) lease.RaiseAbove(answer->current.highest);
    }
    Say(std::move(line));
    return answer.ok() && answer->ok();
  }
  nekton::FencedRequest Request(nekton::FencingToken token) const {
    nekton::FencedRequest request;
    request.claim = {.lease = kLease, .holder = name_, .generation = 1, .token = token};
    return request;
  }
  std::unique_ptr<Counter> counter_;
  std::string name_;
};

int Run() {
  const std::string name = absl::GetFlag(FLAGS_name);
  absl::StatusOr<std::shared_ptr<nekton::Register>> leases = OpenRegister(absl::GetFlag(FLAGS_leases));
  if (!leases.ok()) return Fail(leases.status());
  absl::StatusOr<std::unique_ptr<Counter>> counter = Counter::Open(absl::GetFlag(FLAGS_data));
  if (!counter.ok()) return Fail(counter.status());
  nekton::LeaseKeeperOptions options;
  options.holder = name;
  absl::StatusOr<std::unique_ptr<nekton::LeaseKeeper>> keeper = nekton::LeaseKeeper::Start(*leases, options);
  if (!keeper.ok()) return Fail(keeper.status());

  nekton::LeaseOptions lasting;
  lasting.duration = std::chrono::milliseconds(absl::GetFlag(FLAGS_duration_ms));
  nekton::LeaseCallbacks callbacks;
  callbacks.acquired = [](nekton::FencingToken token) {
    Say({{"event", "acquired"}, {"token", nekton::ToString(token)}});
  };
  callbacks.about_to_lose = [](nekton::FencingToken token) {
    Say({{"event", "about-to-lose"}, {"token", nekton::ToString(token)}});
  };
  callbacks.lost = [](nekton::FencingToken token, nekton::LossReason reason, const std::string& by) {
    Say({{"event", "lost"},
         {"token", nekton::ToString(token)},
         {"reason", std::string(nekton::Name(reason))},
         {"by", by}});
  };
  callbacks.released = [](nekton::LossReason) { Say({{"event", "released"}}); };
  absl::StatusOr<nekton::LeaseHandle> lease = (*keeper)->Acquire(kLease, lasting, callbacks);
  if (!lease.ok()) return Fail(lease.status());

  std::atomic<bool> end{false};
  std::thread counting([&] { Worker(*std::move(counter), name).Count(*lease, end); });
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGINT);
  int signal = 0;
  sigwait(&stops, &signal);
  end = true;
  counting.join();
  lease->ReleaseWithin(std::chrono::seconds(2)).IgnoreError();
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  // Before any thread, so that all inherit it.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  absl::SetProgramUsageMessage(
      "failover: one of several processes of which one counts at a time; examples/failover.sh shows them");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  const int duration = absl::GetFlag(FLAGS_duration_ms);
  if (rest.size() > 1 || absl::GetFlag(FLAGS_name).empty() || absl::GetFlag(FLAGS_leases).empty() ||
      absl::GetFlag(FLAGS_data).empty() || duration < 100 || duration > 60'000) {
    std::cerr << "failover: needs --name, --leases and --data; --duration_ms from 100 to 60000; see --help\n";
    return 2;
  }
  return Run();
}
