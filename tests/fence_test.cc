// Fencing tokens, and resources that refuse old ones: in memory and in SQLite by the same cases.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "lease/fenced_resource.h"
#include "tests/scratch_path.h"
#include "transport/store_sqlite_fence.h"

namespace nekton {
namespace {

using testing::HasSubstr;

FencedRequest By(std::string holder, FencingToken token, std::string id = "", std::uint64_t generation = 1) {
  FencedRequest request;
  request.claim = {.lease = "job", .holder = std::move(holder), .generation = generation, .token = token};
  request.id = std::move(id);
  return request;
}
FencingToken T(std::uint64_t counter, std::uint16_t era = 0) { return FencingToken::Of(era, counter); }

SigningKey KeyOf(unsigned char fill) {
  std::array<std::byte, 32> seed;
  seed.fill(std::byte{fill});
  return SigningKey(seed);
}

struct CloseSqlite {
  void operator()(sqlite3* connection) const { sqlite3_close(connection); }
};
using Connection = std::unique_ptr<sqlite3, CloseSqlite>;

Connection OpenDurable(const std::string& path) {
  sqlite3* raw = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  sqlite3_exec(raw, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE IF NOT EXISTS t (v INTEGER)",
               nullptr, nullptr, nullptr);
  return Connection(raw);
}
int Exec(sqlite3* connection, const std::string& sql) {
  return sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr);
}
int Number(sqlite3* connection, const std::string& sql) {
  int value = -1;
  sqlite3_exec(
      connection, sql.c_str(),
      [](void* out, int, char** text, char**) {
        *static_cast<int*>(out) = text[0] == nullptr ? -1 : std::stoi(text[0]);
        return 0;
      },
      &value, nullptr);
  return value;
}
std::string NewPath() { return ScratchPath("data.db"); }

// A resource that counts its writes, of either kind.
class Resource {
 public:
  Resource(bool sqlite, FenceOptions rules) {
    if (!sqlite) {
      memory_.emplace(rules);
      return;
    }
    connection_ = OpenDurable(NewPath());
    SqliteFence::Options options;
    options.rules = std::move(rules);
    options.record = [this](const std::string&) -> absl::StatusOr<FencingToken> { return record; };
    absl::StatusOr<SqliteFence> fence = SqliteFence::Open(connection_.get(), std::move(options));
    EXPECT_TRUE(fence.ok()) << fence.status();
    sqlite_.emplace(*std::move(fence));
  }
  FencedAnswer Apply(const FencedRequest& request) {
    if (memory_) {
      memory_->Confirm("job", record);
      return memory_->Apply(request, [this] { return absl::StrCat("write ", ++writes); });
    }
    return *sqlite_->Apply(request, [this](sqlite3* c) -> absl::StatusOr<std::string> {
      EXPECT_EQ(Exec(c, "INSERT INTO t VALUES (1)"), SQLITE_OK);
      return absl::StrCat("write ", ++writes);
    });
  }
  FencedAnswer Advance(const FencedRequest& request) {
    if (memory_) memory_->Confirm("job", record);
    return memory_ ? memory_->Advance(request) : *sqlite_->Advance(request);
  }
  int rows() const { return memory_ ? writes : Number(connection_.get(), "SELECT count(*) FROM t"); }

  FencingToken record;  // what the register holds
  int writes = 0;

 private:
  std::optional<FencedResource> memory_;
  Connection connection_;
  std::optional<SqliteFence> sqlite_;
};

class FenceTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, FenceTest, testing::Bool(),
                         [](const auto& i) { return std::string(i.param ? "Sqlite" : "Memory"); });

using enum FenceOutcome;

TEST_P(FenceTest, LowerIsStaleEqualPassesHigherIsRemembered) {
  Resource r(GetParam(), {});
  EXPECT_EQ(r.Apply(By("a", T(0))).outcome, kForged) << "0 is no token";
  for (const auto& [token, outcome] :
       {std::pair(T(5), kApplied), std::pair(T(7), kApplied), std::pair(T(5), kStale), std::pair(T(7), kApplied),
        std::pair(T(256), kApplied), std::pair(T(255), kStale), std::pair(T(1, 1), kApplied), std::pair(T(300), kStale),
        std::pair(T((std::uint64_t{1} << 48) - 1, 65535), kApplied), std::pair(T(2, 65534), kStale)}) {
    EXPECT_EQ(r.Apply(By("a", token)).outcome, outcome) << ToString(token);
  }
  EXPECT_EQ(r.rows(), 6);
  const FencedRequest old = By("a", T(3));
  const FencedAnswer stale = r.Apply(old);
  EXPECT_EQ(stale.current.highest, T((std::uint64_t{1} << 48) - 1, 65535));
  EXPECT_THAT(Explain(old, stale), HasSubstr("refused: token 0.3 of a is older than 65535.281474976710655 of a"));
}

TEST_P(FenceTest, OneTokenOfTwoHoldersIsASplitAuthority) {
  Resource r(GetParam(), {});
  EXPECT_EQ(r.Apply(By("a", T(5))).outcome, kApplied);
  const FencedAnswer split = r.Apply(By("b", T(5)));
  EXPECT_EQ(split.outcome, kSplitAuthority);
  EXPECT_EQ(split.current.holder, "a");
  EXPECT_EQ(r.Apply(By("a", T(5), "", 2)).outcome, kSplitAuthority) << "another life is another holder";
  EXPECT_EQ(r.Apply(By("a", T(5))).outcome, kApplied);
}

// consul, jepsen: a token that was only issued stops nobody.
TEST_P(FenceTest, AdvanceFencesBeforeTheFirstWrite) {
  Resource r(GetParam(), {});
  EXPECT_EQ(r.Apply(By("a", T(1))).outcome, kApplied);
  EXPECT_EQ(r.Apply(By("a", T(1))).outcome, kApplied) << "2 was issued meanwhile";
  EXPECT_EQ(r.Advance(By("b", T(2))).outcome, kApplied);
  EXPECT_EQ(r.Apply(By("a", T(1))).outcome, kStale);
  EXPECT_EQ(r.Advance(By("a", T(1))).outcome, kStale);
  EXPECT_EQ(r.rows(), 2);
}

TEST_P(FenceTest, ARequestIsAppliedOnceAndAStaleHolderGetsNoRememberedYes) {
  Resource r(GetParam(), {.label = "", .authority = {}, .confirm = false, .remembered = 3});
  EXPECT_EQ(r.Apply(By("a", T(1), "x")).result, "write 1");
  const FencedAnswer again = r.Apply(By("a", T(1), "x"));
  EXPECT_EQ(again.outcome, kRepeated);
  EXPECT_EQ(again.result, "write 1");
  // Its successor may repeat it, and is fenced in by that.
  EXPECT_EQ(r.Apply(By("b", T(2), "x")).outcome, kRepeated);
  EXPECT_EQ(r.Apply(By("a", T(1), "x")).outcome, kStale) << "fence before replay";
  EXPECT_EQ(r.rows(), 1);
  for (const char* id : {"1", "2", "3"}) EXPECT_EQ(r.Apply(By("b", T(2), id)).outcome, kApplied);
  EXPECT_EQ(r.Apply(By("b", T(2), "2")).outcome, kRepeated);
  EXPECT_EQ(r.Apply(By("b", T(2), "x")).outcome, kApplied) << "only the newest three are remembered";
  EXPECT_EQ(r.rows(), 5);
}

TEST_P(FenceTest, OnlySignedTokensPassWhereThereIsAnAuthority) {
  const SigningKey authority = KeyOf(1);
  Resource r(GetParam(), {.label = "group", .authority = authority.public_key(), .confirm = false, .remembered = 8});
  FencedRequest request = By("a", T(5));
  EXPECT_EQ(r.Apply(request).outcome, kForged);
  request.signature = SignClaim(KeyOf(2), "group", request.claim);
  EXPECT_EQ(r.Apply(request).outcome, kForged);
  request.signature = SignClaim(authority, "other group", request.claim);
  EXPECT_EQ(r.Apply(request).outcome, kForged);
  request.signature = SignClaim(authority, "group", request.claim);
  EXPECT_EQ(r.Apply(request).outcome, kApplied);
  for (const auto& change : std::array<std::function<void(LeaseClaim&)>, 4>{
           [](LeaseClaim& c) { c.token = T(1'000'000); }, [](LeaseClaim& c) { c.holder = "b"; },
           [](LeaseClaim& c) { c.generation = 9; }, [](LeaseClaim& c) { c.lease = "jo"; }}) {
    FencedRequest forged = request;
    change(forged.claim);
    EXPECT_EQ(r.Apply(forged).outcome, kForged);
  }
  EXPECT_EQ(r.rows(), 1);
}

TEST_P(FenceTest, ATokenAboveTheRecordIsNotBelieved) {
  Resource r(GetParam(), {.label = "", .authority = {}, .confirm = true, .remembered = 8});
  EXPECT_EQ(r.Apply(By("a", T(1))).outcome, kUnproven);
  r.record = T(3);
  EXPECT_EQ(r.Apply(By("a", T(3))).outcome, kApplied);
  EXPECT_EQ(r.Apply(By("mallory", T(1'000'000))).outcome, kUnproven) << "nobody can lock all others out";
  r.record = T(4);
  EXPECT_EQ(r.Advance(By("b", T(4))).outcome, kApplied);
  EXPECT_EQ(r.Apply(By("a", T(3))).outcome, kStale);
  EXPECT_EQ(r.rows(), 1);
}

TEST(FencedResourceTest, ItCannotBeMadeToRememberWithoutEnd) {
  FencedResource r{FenceOptions{}};
  FencedRequest request = By("a", T(1));
  for (std::size_t i = 0; i < FencedResource::kLeasesMax; ++i) {
    request.claim.lease = absl::StrCat("job", i);
    ASSERT_TRUE(r.Advance(request).ok());
  }
  request.claim.lease = "one more";
  EXPECT_EQ(r.Advance(request).outcome, kFull);
  request.claim.lease = "job7";
  EXPECT_TRUE(r.Advance(request).ok());
}

TEST(FencingTokenTest, TextAndBack) {
  for (const FencingToken token : {T(0), T(17), T(5, 3), T((std::uint64_t{1} << 48) - 1, 65535)}) {
    const absl::StatusOr<FencingToken> back = ParseFencingToken(ToString(token));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, token);
  }
  for (const char* bad :
       {"", "1", ".", "1.", ".1", "-1.2", "1.-2", "65536.1", "1.281474976710656", "1.2 ", " 1.2", "1.2.3"}) {
    EXPECT_FALSE(ParseFencingToken(bad).ok()) << bad;
  }
  EXPECT_LT(T(1'000), T(0, 1));
}

// ---- SQLite alone ----

// The process dies at every step of a handover's first write; whatever was answered is there, and nothing by halves.
TEST(SqliteFenceTest, FenceIdAndWriteCommitTogetherWhereverItDies) {
  for (int step = 0; step <= 5; ++step) {  // 0: in the middle of the user's own statements
    const std::string path = NewPath();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const Connection c = OpenDurable(path);
      SqliteFence::Options options;
      bool second = false;
      options.at_step = [&](int at) {
        if (second && at == step) raise(SIGKILL);
      };
      absl::StatusOr<SqliteFence> fence = SqliteFence::Open(c.get(), options);
      const auto write = [&](sqlite3* connection) -> absl::StatusOr<std::string> {
        Exec(connection, "INSERT INTO t VALUES (1)");
        if (second && step == 0) raise(SIGKILL);
        Exec(connection, "INSERT INTO t VALUES (2)");
        return "r";
      };
      if (!fence.ok() || !fence->Apply(By("a", T(1), "first"), write).ok()) _exit(3);
      second = true;
      fence->Apply(By("b", T(2), "second"), write).IgnoreError();
      _exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << step << ": " << status;
    const Connection c = OpenDurable(path);
    absl::StatusOr<SqliteFence> fence = SqliteFence::Open(c.get(), {});
    ASSERT_TRUE(fence.ok());
    const bool committed = step == 5;
    EXPECT_EQ(fence->state("job")->highest, T(committed ? 2 : 1)) << step;
    EXPECT_EQ(Number(c.get(), "SELECT count(*) FROM t"), committed ? 4 : 2) << step;
    // Repeated by whoever was not answered: applied once, whatever happened.
    const auto write = [](sqlite3* connection) -> absl::StatusOr<std::string> {
      Exec(connection, "INSERT INTO t VALUES (1), (2)");
      return "r";
    };
    EXPECT_EQ(fence->Apply(By("b", T(2), "second"), write)->outcome, committed ? kRepeated : kApplied);
    EXPECT_EQ(Number(c.get(), "SELECT count(*) FROM t"), 4);
    EXPECT_EQ(fence->Apply(By("a", T(1), "third"), write)->outcome, kStale);
  }
}

TEST(SqliteFenceTest, AnErrorOfTheUsersRollsAllBack) {
  const Connection c = OpenDurable(NewPath());
  absl::StatusOr<SqliteFence> fence = SqliteFence::Open(c.get(), {});
  ASSERT_TRUE(fence.ok());
  const absl::StatusOr<FencedAnswer> failed =
      fence->Apply(By("a", T(1), "x"), [](sqlite3* connection) -> absl::StatusOr<std::string> {
        Exec(connection, "INSERT INTO t VALUES (1)");
        return absl::AbortedError("changed my mind");
      });
  EXPECT_EQ(failed.status().message(), "changed my mind");
  EXPECT_EQ(fence->state("job")->highest, FencingToken{});
  EXPECT_EQ(Number(c.get(), "SELECT count(*) FROM t"), 0);
}

TEST(SqliteFenceTest, ItWorksInsideAUsersTransaction) {
  const Connection c = OpenDurable(NewPath());
  absl::StatusOr<SqliteFence> fence = SqliteFence::Open(c.get(), {});
  ASSERT_TRUE(fence.ok());
  const SqliteFence::Write write = [](sqlite3* connection) -> absl::StatusOr<std::string> {
    Exec(connection, "INSERT INTO t VALUES (2)");
    return "";
  };
  EXPECT_EQ(fence->ApplyInside(By("a", T(1)), write).status().code(), absl::StatusCode::kFailedPrecondition);
  for (const char* end : {"ROLLBACK", "COMMIT"}) {
    ASSERT_EQ(Exec(c.get(), "BEGIN IMMEDIATE; INSERT INTO t VALUES (1)"), SQLITE_OK);
    EXPECT_EQ(fence->Apply(By("a", T(1)), write).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(fence->ApplyInside(By("a", T(3)), write)->outcome, kApplied);
    ASSERT_EQ(Exec(c.get(), end), SQLITE_OK);
  }
  EXPECT_EQ(Number(c.get(), "SELECT count(*) FROM t"), 2);
  EXPECT_EQ(fence->state("job")->highest, T(3));
}

// The text alone, as a program without nekton would use it, agrees with the class.
TEST(SqliteFenceTest, TheSqlTextIsTheSameFence) {
  const Connection c = OpenDurable(NewPath());
  ASSERT_EQ(Exec(c.get(), kFenceSchemaSql), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(c.get(), kFenceSql, -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(c.get());
  const absl::Cleanup finalize = [&] { sqlite3_finalize(statement); };
  const auto passes = [&](const char* holder, int era, int counter, int generation) {
    Exec(c.get(), "BEGIN IMMEDIATE");
    sqlite3_reset(statement);
    sqlite3_bind_text(statement, 1, "job", -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 2, era);
    sqlite3_bind_int(statement, 3, counter);
    sqlite3_bind_text(statement, 4, holder, -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 5, generation);
    const bool row = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_reset(statement);
    Exec(c.get(), row ? "COMMIT" : "ROLLBACK");
    return row;
  };
  EXPECT_TRUE(passes("a", 0, 5, 1));
  EXPECT_TRUE(passes("a", 0, 5, 1));
  EXPECT_FALSE(passes("b", 0, 5, 1));
  EXPECT_FALSE(passes("a", 0, 5, 2));
  EXPECT_FALSE(passes("a", 0, 4, 1));
  EXPECT_TRUE(passes("b", 0, 6, 1));
  EXPECT_FALSE(passes("a", 0, 5, 1));
  EXPECT_TRUE(passes("a", 1, 0, 1));
  EXPECT_FALSE(passes("b", 0, 7, 1));
  absl::StatusOr<SqliteFence> fence = SqliteFence::Open(c.get(), {});
  ASSERT_TRUE(fence.ok());
  EXPECT_EQ(fence->state("job")->highest, T(0, 1));
  EXPECT_EQ(fence->Apply(By("b", T(7)), [](sqlite3*) -> absl::StatusOr<std::string> { return ""; })->outcome, kStale);
}

}  // namespace
}  // namespace nekton
