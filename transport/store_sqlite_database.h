// An SQLite file that loses nothing that was committed: opened for one process alone, in WAL mode with synchronous=FULL,
// both read back. (With NORMAL a commit is not on the disk when it returns.) On a local disk; not on NFS.
//
// Not thread-safe: one call at a time. Included by store_sqlite_*.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace nekton {

// What a program keeps in a file: who refuses it, so that no file is taken for another.
struct SqliteSchema {
  std::int32_t application = 0;  // PRAGMA application_id
  int version = 1;               // PRAGMA user_version
  std::string_view tables;       // SQL that makes them
};

class SqliteDatabase {
 public:
  // Makes the file if there is none; its directory must be there. Every error names the path. FailedPrecondition: it
  // cannot be opened, belongs to another program, has a newer schema, or cannot be had in WAL mode with FULL. Unavailable:
  // another process, or another store in this one, has it open. DataLoss: it is damaged.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, const SqliteSchema& schema);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  class Statement;
  class Transaction;

  // One or several statements, without a result.
  absl::Status Run(const std::string& sql);
  // The first column of the first row.
  absl::StatusOr<std::string> Ask(const std::string& sql);
  // `result` of a call as a status that names the path; `what` was to be done.
  absl::Status Error(int result, std::string_view what) const;

  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }

 private:
  explicit SqliteDatabase(std::string path) : path_(std::move(path)) {}
  absl::Status Prepare(const SqliteSchema& schema);
  absl::Status Own(const SqliteSchema& schema);
  absl::Status Require(const std::string& pragma, std::string_view value);

  std::string path_;
  sqlite3* handle_ = nullptr;
};

// A prepared statement; its parameters count from 1, its columns from 0.
class SqliteDatabase::Statement {
 public:
  Statement(SqliteDatabase& database, const char* sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Bind(int index, std::int64_t value);
  Statement& Bind(int index, std::span<const std::byte> value);  // must stay until Step() has returned
  // True: there is a row.
  absl::StatusOr<bool> Step();
  std::int64_t Number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::vector<std::byte> Bytes(int column) const;

 private:
  SqliteDatabase& database_;
  sqlite3_stmt* statement_ = nullptr;
  int result_ = SQLITE_OK;  // the first error
};

// BEGIN IMMEDIATE; rolled back unless it was committed.
class SqliteDatabase::Transaction {
 public:
  explicit Transaction(SqliteDatabase& database) : database_(database) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  absl::Status Begin();
  absl::Status Commit();

 private:
  SqliteDatabase& database_;
  bool open_ = false;
};

}  // namespace nekton
