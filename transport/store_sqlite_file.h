// One open SQLite database, as nekton uses it: on a local disk, write-ahead log, every commit on the disk before it is
// told. Internal to the stores.
//
// Open() sets journal_mode=WAL and synchronous=FULL, reads both back, and refuses the file if either is not so: with
// NORMAL a commit may be lost with the power. Not for network file systems. Not thread-safe: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nekton {

// A prepared statement. Bind counts from 1, columns from 0.
class SqliteStatement {
 public:
  SqliteStatement() = default;
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement) {}
  SqliteStatement(SqliteStatement&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  SqliteStatement& operator=(SqliteStatement&& other) noexcept {
    std::swap(statement_, other.statement_);
    return *this;
  }
  ~SqliteStatement();

  SqliteStatement& Reset();  // before the first Bind
  SqliteStatement& Bind(int at, std::int64_t value);
  SqliteStatement& Bind(int at, std::string_view text);
  SqliteStatement& BindBlob(int at, std::string_view bytes);
  SqliteStatement& BindNull(int at);
  // Whether there is a row.
  absl::StatusOr<bool> Step();
  absl::Status Run();  // to the end; rows are passed over

  std::int64_t Int(int column) const;
  std::string Bytes(int column) const;
  bool IsNull(int column) const;

 private:
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteFile {
 public:
  struct Options {
    std::string path;
    int busy_ms = 5000;  // how long to wait for another's transaction
  };
  static absl::StatusOr<SqliteFile> Open(const Options& options);
  // Over a connection that stays the user's. FailedPrecondition if it is not WAL and FULL (or EXTRA).
  static absl::StatusOr<SqliteFile> Over(sqlite3* connection);

  absl::StatusOr<SqliteStatement> Prepare(std::string_view sql) const;
  absl::Status Run(const std::string& sql) const;
  sqlite3* get() const { return connection_.get(); }
  bool InTransaction() const;
  std::int64_t Changes() const;  // rows that the last statement changed

 private:
  struct Close {
    bool own;
    void operator()(sqlite3* connection) const;
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

// BEGIN IMMEDIATE, and ROLLBACK unless committed: the lock for writing is held from here on, so that what is read, the
// time included, is read by the only writer.
class SqliteTransaction {
 public:
  static absl::StatusOr<SqliteTransaction> Begin(const SqliteFile& file);
  SqliteTransaction(SqliteTransaction&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();
  absl::Status Commit();

 private:
  explicit SqliteTransaction(const SqliteFile* file) : file_(file) {}
  const SqliteFile* file_;
};

}  // namespace nekton
