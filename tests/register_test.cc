// Registers with compare-and-set: in memory and in SQLite by one suite; what SQLite survives; and the checker itself.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "lease/lease_record.h"
#include "tests/register_conformance.h"
#include "tests/scratch_path.h"
#include "transport/register_worker.h"
#include "transport/store_sqlite_file.h"
#include "transport/store_sqlite_register.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string NewPath() { return ScratchPath("register.db"); }

std::unique_ptr<Register> OpenSqlite(const SqliteRegisterOptions& options) {
  absl::StatusOr<std::unique_ptr<Register>> opened = OpenSqliteRegister(options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

const RegisterKind kMemory{"memory", [] {
                             auto table = std::make_shared<SharedTable>();
                             return [table] { return MakeLocalRegister(table); };
                           }};
const RegisterKind kSqlite{"sqlite", [] {
                             const std::string path = NewPath();
                             return [path] {
                               SqliteRegisterOptions options;
                               options.path = path;
                               return OpenSqlite(options);
                             };
                           }};

INSTANTIATE_TEST_SUITE_P(Quick, RegisterConformance, testing::Values(kMemory, kSqlite),
                         [](const auto& i) { return i.param.name; });

// ---- SQLite alone ----

// Appends to a key for ever, tells through `pipe` every version that was confirmed, and dies in phase `phase` of write
// number `count`.
[[noreturn]] void WriteUntilKilled(const std::string& path, SqlitePhase phase, int count, int pipe) {
  int writes = 0;
  SqliteRegisterOptions options;
  options.path = path;
  options.at_phase = [&](SqlitePhase at) {
    writes += at == SqlitePhase::kBegun ? 1 : 0;
    if (at == phase && writes == count) raise(SIGKILL);
  };
  const std::unique_ptr<Register> r = OpenSqlite(options);
  std::uint64_t version = ReadNow(*r, "k").version;
  for (;;) {
    const RegisterAnswer answer = WriteNow(*r, "k", version, absl::StrCat("after ", version));
    if (answer.verdict != RegisterVerdict::kYes) _exit(3);
    version = answer.version;
    if (write(pipe, &version, sizeof version) != sizeof version) _exit(4);
  }
}

TEST(SqliteRegisterTest, WhatWasConfirmedOutlivesAKillInEveryPhase) {
  const std::string path = NewPath();
  std::uint64_t highest = 0;
  int killed = 0;
  for (const SqlitePhase phase : {SqlitePhase::kBegun, SqlitePhase::kWritten, SqlitePhase::kCommitted}) {
    for (const int count : {1, 2, 7}) {
      int ends[2];
      ASSERT_EQ(pipe(ends), 0);
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        close(ends[0]);
        WriteUntilKilled(path, phase, count, ends[1]);
      }
      close(ends[1]);
      std::uint64_t confirmed = highest;
      std::uint64_t version = 0;
      int confirmations = 0;
      while (read(ends[0], &version, sizeof version) == sizeof version) {
        EXPECT_GT(version, highest) << "a version came twice";
        confirmed = version;
        ++confirmations;
      }
      close(ends[0]);
      int status = 0;
      waitpid(child, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
      ++killed;
      EXPECT_EQ(confirmations, count - 1);
      SqliteRegisterOptions options;
      options.path = path;
      const std::unique_ptr<Register> r = OpenSqlite(options);
      const RegisterAnswer there = ReadNow(*r, "k");
      // Committed and not confirmed is there; anything before is not.
      if (phase == SqlitePhase::kCommitted) {
        EXPECT_GT(there.version, confirmed);
      } else {
        EXPECT_EQ(there.version, confirmed);
      }
      highest = there.version;
    }
  }
  EXPECT_EQ(killed, 9);
  absl::StatusOr<SqliteFile> file = SqliteFile::Open({.path = path});
  ASSERT_TRUE(file.ok());
  absl::StatusOr<SqliteStatement> check = file->Prepare("PRAGMA integrity_check");
  ASSERT_TRUE(check.ok() && *check->Step());
  EXPECT_EQ(check->Bytes(0), "ok");
}

TEST(SqliteRegisterTest, AFileThatWouldNotBeDurableIsRefused) {
  SqliteRegisterOptions options;
  EXPECT_EQ(OpenSqliteRegister(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.path = ":memory:";
  EXPECT_EQ(OpenSqliteRegister(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.path = "/nonexistent/directory/register.db";
  EXPECT_THAT(std::string(OpenSqliteRegister(options).status().message()), HasSubstr("/nonexistent"));
  options.path = NewPath();
  std::ofstream(options.path)
      << "this is no database, and it is longer than the header of one would have to be .......";
  EXPECT_EQ(OpenSqliteRegister(options).status().code(), absl::StatusCode::kDataLoss);

  // A connection of the user's that could lose commits with the power.
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(NewPath().c_str(), &raw), SQLITE_OK);
  EXPECT_THAT(std::string(SqliteFile::Over(raw).status().message()), HasSubstr("journal_mode"));
  sqlite3_exec(raw, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", nullptr, nullptr, nullptr);
  EXPECT_THAT(std::string(SqliteFile::Over(raw).status().message()), HasSubstr("synchronous is 1"));
  sqlite3_exec(raw, "PRAGMA synchronous=FULL", nullptr, nullptr, nullptr);
  EXPECT_TRUE(SqliteFile::Over(raw).ok());
  sqlite3_close(raw);
}

// Who cannot get the lock in time was not done, and says so; afterwards it goes on.
TEST(SqliteRegisterTest, AnotherThatKeepsTheLockGivesUnknown) {
  SqliteRegisterOptions options;
  options.path = NewPath();
  options.busy_ms = 1;
  const std::unique_ptr<Register> r = OpenSqlite(options);
  {
    absl::StatusOr<SqliteFile> other = SqliteFile::Open({.path = options.path});
    ASSERT_TRUE(other.ok());
    absl::StatusOr<SqliteTransaction> lock = SqliteTransaction::Begin(*other);
    ASSERT_TRUE(lock.ok());
    const RegisterAnswer answer = WriteNow(*r, "k", kAbsent, "v");
    EXPECT_EQ(answer.verdict, RegisterVerdict::kUnknown);
    EXPECT_THAT(answer.why, HasSubstr("locked"));
    EXPECT_EQ(ReadNow(*r, "k").version, kAbsent) << "a reader needs no lock";
  }
  EXPECT_EQ(WriteNow(*r, "k", kAbsent, "v").verdict, RegisterVerdict::kYes);
}

// A backup from before somebody took a lease comes back. Nobody can know who holds it: all wait, and versions and tokens
// go on above those of the lost file.
TEST(SqliteRegisterTest, ARestoredFileHoldsEveryLeaseAndGoesOnAboveTheLostOne) {
  const std::string lost = NewPath();
  const std::string backup = NewPath();
  SqliteRegisterOptions options;
  options.path = lost;
  LeaseRecord record;
  record.token = FencingToken::Of(0, 4);
  record.duration = 3s;
  std::uint64_t highest = 0;
  {
    const std::unique_ptr<Register> r = OpenSqlite(options);
    record.holder = "alpha";
    ASSERT_EQ(WriteNow(*r, "job", kAbsent, Encode(record)).verdict, RegisterVerdict::kYes);
    ASSERT_EQ(WriteNow(*r, "note", kAbsent, "no lease").verdict, RegisterVerdict::kYes);
    absl::StatusOr<SqliteFile> file = SqliteFile::Open({.path = lost});
    ASSERT_TRUE(file.ok() && file->Run(absl::StrCat("VACUUM INTO '", backup, "'")).ok());
    for (int i = 0; i < 100; ++i) highest = WriteNow(*r, absl::StrCat("later", i), kAbsent, Encode(record)).version;
  }
  options.path = backup;
  options.restored_era = 3;
  options.longest_lease = 20s;
  {
    const std::unique_ptr<Register> r = OpenSqlite(options);
    for (const char* name : {"job", "later5"}) {
      const RegisterAnswer there = ReadNow(*r, name);
      EXPECT_GT(there.version, highest) << name;
      const absl::StatusOr<LeaseRecord> held = DecodeLeaseRecord(there.value);
      ASSERT_TRUE(held.ok()) << name;
      EXPECT_FALSE(held->free());
      EXPECT_EQ(held->duration, 20s);
      EXPECT_EQ(held->token.era(), 3);
      EXPECT_EQ(WriteNow(*r, name, kAbsent, "x").verdict, RegisterVerdict::kNo);
    }
    EXPECT_EQ(ReadNow(*r, "note").value, "no lease");
    const std::uint64_t version = ReadNow(*r, "later5").version;
    EXPECT_GT(WriteNow(*r, "later5", version, "taken").version, version);
  }
  EXPECT_THAT(std::string(OpenSqliteRegister(options).status().message()),
              HasSubstr("restored_era: 3: must be above 3"));
  options.restored_era = 0;
  EXPECT_EQ(ReadNow(*OpenSqlite(options), "later5").value, "taken");
}

TEST(RegisterWorkerTest, ItsQueueIsBoundedAndWhatDoesNotFitIsAnswered) {
  class Slow final : public RegisterBackend {
   public:
    explicit Slow(std::shared_future<void> go) : go_(std::move(go)) {}
    RegisterAnswer Do(const RegisterRequest&) override {
      go_.wait();
      return {.verdict = RegisterVerdict::kYes, .version = kAbsent, .value = {}, .why = {}};
    }
    std::shared_future<void> go_;
  };
  std::promise<void> go;
  RegisterWorker::Options options;
  options.queue = 4;
  auto r = std::make_unique<RegisterWorker>(std::make_unique<Slow>(go.get_future().share()), options);
  std::atomic<int> yes{0};
  std::atomic<int> unknown{0};
  for (int i = 0; i < 8; ++i) {
    r->Read("k", [&](const RegisterAnswer& a) { ++(a.verdict == RegisterVerdict::kYes ? yes : unknown); });
  }
  go.set_value();
  while (yes + unknown < 8) std::this_thread::yield();
  EXPECT_GE(yes, 4);
  EXPECT_GE(unknown, 3);
  EXPECT_EQ(ReadNow(*r, "k").verdict, RegisterVerdict::kYes);
}

// ---- The checker finds what it is for ----

RegisterOperation Op(std::int64_t began, std::int64_t ended, bool write, std::uint64_t expected, std::string value,
                     RegisterVerdict verdict, std::uint64_t version, std::string seen) {
  return {began, ended, write, expected, std::move(value), {verdict, version, std::move(seen), ""}};
}

TEST(LinearizableTest, BadHistoriesAreFound) {
  const RegisterOperation a = Op(0, 1, true, 0, "a", RegisterVerdict::kYes, 5, "");
  const RegisterOperation b = Op(2, 3, true, 5, "b", RegisterVerdict::kYes, 6, "");
  EXPECT_EQ(NotLinearizable({a, b, Op(4, 5, false, 0, "", RegisterVerdict::kYes, 6, "b")}), "");
  EXPECT_EQ(NotLinearizable({a, b, Op(1, 5, false, 0, "", RegisterVerdict::kYes, 5, "a")}), "") << "at the same time";
  EXPECT_THAT(NotLinearizable({a, b, Op(4, 5, false, 0, "", RegisterVerdict::kYes, 5, "a")}), HasSubstr("seen after"));
  const RegisterOperation later = Op(4, 5, true, 5, "b", RegisterVerdict::kYes, 6, "");
  EXPECT_THAT(NotLinearizable({a, Op(2, 3, false, 0, "", RegisterVerdict::kYes, 6, "b"), later}),
              HasSubstr("before it was"));
  EXPECT_THAT(NotLinearizable({a, b, Op(2, 4, true, 5, "c", RegisterVerdict::kYes, 7, "")}), HasSubstr("two writes"));
  EXPECT_THAT(NotLinearizable({a, Op(2, 4, true, 0, "c", RegisterVerdict::kYes, 5, "")}), HasSubstr("twice"));
  EXPECT_THAT(NotLinearizable({a, Op(2, 4, false, 0, "", RegisterVerdict::kYes, 5, "z")}), HasSubstr("another value"));
  EXPECT_THAT(NotLinearizable({a, Op(2, 4, false, 0, "", RegisterVerdict::kYes, 9, "z")}), HasSubstr("never written"));
  EXPECT_THAT(NotLinearizable({a, Op(2, 4, true, 5, "z", RegisterVerdict::kNo, 5, "a")}),
              HasSubstr("though it expected"));
  const RegisterOperation lost = Op(2, 3, true, 5, "l", RegisterVerdict::kUnknown, 0, "");
  EXPECT_EQ(NotLinearizable({a, lost, Op(4, 5, false, 0, "", RegisterVerdict::kYes, 7, "l")}), "") << "it was done";
  EXPECT_EQ(NotLinearizable({a, lost, Op(4, 5, false, 0, "", RegisterVerdict::kYes, 5, "a")}), "") << "it was not";
}

}  // namespace
}  // namespace nekton
