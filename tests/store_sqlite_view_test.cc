// The authority's view in SQLite: what was confirmed is there whatever happened, and epochs never go back.
#include "transport/store_sqlite_view.h"

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "transport/store_sqlite_database.h"

namespace nekton {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

// One that any test, and any child of it, makes of the same epoch.
View ViewOf(std::uint64_t epoch, const std::string& more = "") {
  static const SigningKey key(std::array<std::byte, 32>{std::byte{3}});
  std::vector<ViewMember> members = {{"alpha", 17, Address::V4(127, 0, 0, 1, 7946)}};
  members.push_back({absl::StrCat("member-", epoch, more), epoch, Address::V4(127, 0, 0, 1, 7947)});
  return SignView(key, "test", epoch, std::move(members));
}

void ExpectIs(const absl::StatusOr<View>& got, const View& wanted) {
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->head, wanted.head);
  EXPECT_EQ(got->members, wanted.members);
}

class SqliteViewStoreTest : public testing::Test {
 protected:
  SqliteViewStoreTest() {
    std::string name = testing::TempDir() + "nekton-view-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
    path_ = directory_ + "/authority.db";
  }
  ~SqliteViewStoreTest() override {
    for (const std::string& file : {path_, path_ + "-wal", path_ + "-shm", path_ + "-journal"}) {
      std::filesystem::remove(file);
    }
    std::filesystem::remove(directory_);
  }

  std::unique_ptr<SqliteViewStore> Open() const {
    auto store = SqliteViewStore::Open(path_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  // Past the store.
  void Sql(const std::string& sql) const {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
    char* why = nullptr;
    EXPECT_EQ(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, &why), SQLITE_OK) << why;
    sqlite3_free(why);
    sqlite3_close(raw);
  }
  void ExpectRefused(StatusCode code, const std::string& why) const {
    const auto store = SqliteViewStore::Open(path_);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.status().code(), code) << store.status();
    EXPECT_THAT(std::string(store.status().message()), HasSubstr(why));
    EXPECT_THAT(std::string(store.status().message()), HasSubstr(path_));
  }

  std::string directory_;
  std::string path_;
};

TEST_F(SqliteViewStoreTest, AFreshStoreHoldsNothing) {
  const auto view = Open()->Read();
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->epoch(), 0U);
}

TEST_F(SqliteViewStoreTest, WhatWasStoredIsThereAgain) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->Write(ViewOf(1)).ok());
    ASSERT_TRUE(store->Write(ViewOf(7)).ok());
    ExpectIs(store->Read(), ViewOf(7));
  }
  ExpectIs(Open()->Read(), ViewOf(7));
}

TEST_F(SqliteViewStoreTest, EpochsNeverGoBack) {
  const auto store = Open();
  ASSERT_TRUE(store->Write(ViewOf(5)).ok());
  for (const View& other : {ViewOf(4), ViewOf(1), ViewOf(5, "-another")}) {
    const absl::Status status = store->Write(other);
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is not above the stored one, 5"));
  }
  EXPECT_EQ(store->Write(View()).code(), StatusCode::kInvalidArgument);
  ExpectIs(store->Read(), ViewOf(5));
  EXPECT_TRUE(store->Write(ViewOf(5)).ok()) << "the very same may be stored again";
  EXPECT_TRUE(store->Write(ViewOf(6)).ok());
}

TEST_F(SqliteViewStoreTest, OneAuthorityAtATime) {
  const auto first = Open();
  ASSERT_TRUE(first->Write(ViewOf(1)).ok());
  ExpectRefused(StatusCode::kUnavailable, "in use");
}

TEST_F(SqliteViewStoreTest, TheFileIsWhatItHasToBe) {
  const auto database = SqliteDatabase::Open(path_, {1, 1, "CREATE TABLE t (a INTEGER) STRICT"});
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ((*database)->Ask("PRAGMA journal_mode").value(), "wal");
  EXPECT_EQ((*database)->Ask("PRAGMA synchronous").value(), "2");
  EXPECT_EQ((*database)->Ask("PRAGMA locking_mode").value(), "exclusive");
}

TEST_F(SqliteViewStoreTest, PathsThatAreNoFileAreRefusedByName) {
  for (const std::string& path : {std::string(), std::string(":memory:"), std::string("file:x?mode=memory")}) {
    EXPECT_EQ(SqliteViewStore::Open(path).status().code(), StatusCode::kInvalidArgument) << path;
  }
  const std::string there = path_;
  path_ = directory_ + "/no/such/place.db";
  ExpectRefused(StatusCode::kFailedPrecondition, "cannot be opened");
  path_ = directory_;
  ExpectRefused(StatusCode::kFailedPrecondition, "cannot be opened");
  path_ = there;
}

TEST_F(SqliteViewStoreTest, AFileOfSomethingElseIsLeftAlone) {
  const std::string text(4096, 'x');
  std::ofstream(path_) << text;
  ExpectRefused(StatusCode::kDataLoss, "not a database");
  std::ifstream again(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(again), {}), text);
}

TEST_F(SqliteViewStoreTest, ADatabaseOfAnotherProgramIsRefused) {
  Sql("CREATE TABLE theirs (a)");
  ExpectRefused(StatusCode::kFailedPrecondition, "holds something else");
}

TEST_F(SqliteViewStoreTest, AnotherSchemaIsRefused) {
  ASSERT_TRUE(Open()->Write(ViewOf(1)).ok());
  Sql("PRAGMA user_version=2");
  ExpectRefused(StatusCode::kFailedPrecondition, "has schema version 2, this program knows 1");
}

TEST_F(SqliteViewStoreTest, ADamagedViewIsNotTakenForNone) {
  ASSERT_TRUE(Open()->Write(ViewOf(3)).ok());
  Sql("UPDATE view SET epoch = 2");
  ExpectRefused(StatusCode::kDataLoss, "it is of another epoch");
  Sql("UPDATE view SET epoch = 3, bytes = zeroblob(40)");
  ExpectRefused(StatusCode::kDataLoss, "the view in it is damaged");
}

TEST_F(SqliteViewStoreTest, ADamagedFileIsNotTakenForAFreshOne) {
  ASSERT_TRUE(Open()->Write(ViewOf(3)).ok());
  Sql("PRAGMA wal_checkpoint(TRUNCATE)");
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);  // the second page: the table
  file << std::string(4096, '\xff');
  file.close();
  const auto store = SqliteViewStore::Open(path_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), StatusCode::kDataLoss) << store.status();
}

// A child stores one epoch after another, and says of each that it is stored; it is killed at any instant.
TEST_F(SqliteViewStoreTest, WhatWasConfirmedIsThereAfterSigkill) {
  std::mt19937 random(20261130);
  std::uint64_t before = 0;
  std::uint64_t stored = 0;
  for (int round = 0; round < 30; ++round) {
    std::array<int, 2> ends;
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = SqliteViewStore::Open(path_);
      if (!store.ok()) _exit(3);
      const auto last = (*store)->Read();
      if (!last.ok()) _exit(4);
      for (std::uint64_t epoch = last->epoch() + 1;; ++epoch) {
        if (!(*store)->Write(ViewOf(epoch)).ok()) _exit(5);
        if (write(ends[1], &epoch, sizeof(epoch)) != sizeof(epoch)) _exit(6);
      }
    }
    close(ends[1]);
    std::uint64_t confirmed = before;
    std::uint64_t epoch = 0;
    const auto hear = [&] {
      if (read(ends[0], &epoch, sizeof(epoch)) != sizeof(epoch)) return false;
      EXPECT_EQ(epoch, confirmed + 1);
      confirmed = epoch;
      ++stored;
      return true;
    };
    // After so many, and somewhere within the next: also while it makes the file, or reads what the one before left.
    for (auto left = random() % 12; left > 0 && hear(); --left) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2'000));
    kill(child, SIGKILL);
    while (hear()) {
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended with " << WEXITSTATUS(status);
    const auto view = Open()->Read();
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_GE(view->epoch(), confirmed);
    EXPECT_LE(view->epoch(), confirmed + 1) << "one may have been written and not confirmed";
    if (view->epoch() != 0) ExpectIs(*view, ViewOf(view->epoch()));
    before = view->epoch();
  }
  EXPECT_GT(stored, 0U);
  RecordProperty("stored", static_cast<int>(stored));
}

// The disk is full: the store says so, holds what it held, and goes on when there is room.
TEST_F(SqliteViewStoreTest, AFullDiskIsAnErrorAndNothingIsLost) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto store = SqliteViewStore::Open(path_);
    if (!store.ok() || !(*store)->Write(ViewOf(1)).ok()) _exit(3);
    const rlimit none = {1, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) _exit(4);
    if ((*store)->Write(ViewOf(2)).ok()) _exit(5);
    if ((*store)->Read()->epoch() != 1) _exit(6);
    const rlimit room = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &room) != 0) _exit(7);
    if (!(*store)->Write(ViewOf(2)).ok()) _exit(8);
    _exit((*store)->Read()->epoch() == 2 ? 0 : 9);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ExpectIs(Open()->Read(), ViewOf(2));
}

}  // namespace
}  // namespace nekton
