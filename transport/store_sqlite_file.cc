#include "transport/store_sqlite_file.h"

#include <sqlite3.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

absl::Status ErrorOf(sqlite3* connection, int code, const std::string& what) {
  const std::string text =
      absl::StrCat("sqlite: ", what, ": ", connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(text);
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(text);
    case SQLITE_CONSTRAINT:
      return absl::FailedPreconditionError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::StatusOr<std::string> Pragma(const SqliteFile& file, const char* name) {
  absl::StatusOr<SqliteStatement> statement = file.Prepare(absl::StrCat("PRAGMA ", name));
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return *row ? statement->Bytes(0) : std::string();
}

// 2 is FULL, 3 EXTRA.
absl::Status CheckDurable(const SqliteFile& file, const std::string& path) {
  const absl::StatusOr<std::string> mode = Pragma(file, "journal_mode");
  if (!mode.ok()) return mode.status();
  const absl::StatusOr<std::string> synchronous = Pragma(file, "synchronous");
  if (!synchronous.ok()) return synchronous.status();
  if (absl::AsciiStrToLower(*mode) != "wal") {
    return absl::FailedPreconditionError(absl::StrCat("sqlite: ", path, ": journal_mode is ", *mode, ", must be wal"));
  }
  if (*synchronous != "2" && *synchronous != "3") {
    return absl::FailedPreconditionError(
        absl::StrCat("sqlite: ", path, ": synchronous is ", *synchronous, ", must be 2 (FULL)"));
  }
  return absl::OkStatus();
}

}  // namespace

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

SqliteStatement& SqliteStatement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int at, std::int64_t value) {
  sqlite3_bind_int64(statement_, at, value);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int at, std::string_view text) {
  sqlite3_bind_text64(statement_, at, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(int at, std::string_view bytes) {
  sqlite3_bind_blob64(statement_, at, bytes.data() == nullptr ? "" : bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

SqliteStatement& SqliteStatement::BindNull(int at) {
  sqlite3_bind_null(statement_, at);
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return ErrorOf(sqlite3_db_handle(statement_), code, sqlite3_sql(statement_));
}

absl::Status SqliteStatement::Run() {
  absl::StatusOr<bool> row = Step();
  while (row.ok() && *row) row = Step();
  // A statement that is not at its end keeps the transaction open.
  sqlite3_reset(statement_);
  return row.status();
}

std::int64_t SqliteStatement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string SqliteStatement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (bytes == nullptr || size <= 0) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

bool SqliteStatement::IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

void SqliteFile::Close::operator()(sqlite3* connection) const {
  if (own) sqlite3_close_v2(connection);
}

absl::StatusOr<SqliteFile> SqliteFile::Open(const Options& options) {
  if (options.path.empty() || options.path == ":memory:") {
    return absl::InvalidArgumentError("sqlite: path: must name a file on a local disk");
  }
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(options.path.c_str(), &raw, flags, nullptr);
  SqliteFile file;
  file.connection_ = {raw, Close{.own = true}};
  if (code != SQLITE_OK) return ErrorOf(raw, code, options.path);
  sqlite3_busy_timeout(raw, options.busy_ms);
  if (absl::Status set = file.Run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"); !set.ok()) return set;
  if (absl::Status checked = CheckDurable(file, options.path); !checked.ok()) return checked;
  return file;
}

absl::StatusOr<SqliteFile> SqliteFile::Over(sqlite3* connection) {
  if (connection == nullptr) return absl::InvalidArgumentError("sqlite: connection: it is null");
  SqliteFile file;
  file.connection_ = {connection, Close{.own = false}};
  const char* path = sqlite3_db_filename(connection, "main");
  if (absl::Status checked = CheckDurable(file, path == nullptr ? "" : path); !checked.ok()) return checked;
  return file;
}

absl::StatusOr<SqliteStatement> SqliteFile::Prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return ErrorOf(connection_.get(), code, std::string(sql));
  return SqliteStatement(statement);
}

absl::Status SqliteFile::Run(const std::string& sql) const {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : ErrorOf(connection_.get(), code, sql);
}

bool SqliteFile::InTransaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

std::int64_t SqliteFile::Changes() const { return sqlite3_changes64(connection_.get()); }

absl::StatusOr<SqliteTransaction> SqliteTransaction::Begin(const SqliteFile& file) {
  if (absl::Status begun = file.Run("BEGIN IMMEDIATE"); !begun.ok()) return begun;
  return SqliteTransaction(&file);
}

SqliteTransaction::~SqliteTransaction() {
  // Some errors have rolled it back already.
  if (file_ != nullptr && file_->InTransaction()) file_->Run("ROLLBACK").IgnoreError();
}

absl::Status SqliteTransaction::Commit() {
  absl::Status committed = file_->Run("COMMIT");
  if (committed.ok()) file_ = nullptr;
  return committed;
}

}  // namespace nekton
