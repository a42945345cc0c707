#include "transport/store_sqlite_database.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/quoted.h"

namespace nekton {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

absl::StatusCode CodeOf(int result) {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

// A file that was made is found again after a power loss only if its directory has been written, too.
absl::Status SyncDirectory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  if (synced) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("store ", Quoted(path), ": cannot sync its directory"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path,
                                                                     const SqliteSchema& schema) {
  // SQLite takes an empty name, or one of these, for a database that goes with the process.
  if (path.empty() || path[0] == ':' || path.substr(0, 5) == "file:" || path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("store ", Quoted(path), ": must be the path of a file"));
  }
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path));
  const int result = sqlite3_open_v2(path.c_str(), &database->handle_,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  if (result != SQLITE_OK) return database->Error(result, "cannot be opened");
  if (absl::Status status = database->Prepare(schema); !status.ok()) return status;
  if (absl::Status status = SyncDirectory(path); !status.ok()) return status;
  return database;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(handle_); }

absl::Status SqliteDatabase::Prepare(const SqliteSchema& schema) {
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, 500);  // the one before us may be ending
  // Before the first access: then the file is ours until we close it, and nobody writes beside us.
  if (absl::Status status = Require("locking_mode=EXCLUSIVE", "exclusive"); !status.ok()) return status;
  // Whose it is, before anything in it is changed.
  if (absl::Status status = Own(schema); !status.ok()) return status;
  if (absl::Status status = Require("journal_mode=WAL", "wal"); !status.ok()) return status;
  if (absl::Status status = Run("PRAGMA synchronous=FULL"); !status.ok()) return status;
  if (absl::Status status = Require("synchronous", "2"); !status.ok()) return status;
  const absl::StatusOr<std::string> check = Ask("PRAGMA quick_check(1)");
  if (!check.ok()) return check.status();
  if (*check != "ok") return absl::DataLossError(absl::StrCat("store ", Quoted(path_), ": is damaged: ", *check));
  Transaction transaction(*this);
  if (absl::Status status = transaction.Begin(); !status.ok()) return status;
  const absl::StatusOr<std::string> version = Ask("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version != "0") return transaction.Commit();
  if (absl::Status status = Run(absl::StrCat("PRAGMA application_id=", schema.application,
                                             ";PRAGMA user_version=", schema.version, ";", Absl(schema.tables)));
      !status.ok()) {
    return status;
  }
  return transaction.Commit();
}

absl::Status SqliteDatabase::Own(const SqliteSchema& schema) {
  const absl::StatusOr<std::string> application = Ask("PRAGMA application_id");
  if (!application.ok()) return application.status();
  const absl::StatusOr<std::string> version = Ask("PRAGMA user_version");
  if (!version.ok()) return version.status();
  const absl::StatusOr<std::string> tables = Ask("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  const bool fresh = *application == "0" && *version == "0" && *tables == "0";
  if (fresh) return absl::OkStatus();
  if (*application != absl::StrCat(schema.application)) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", Quoted(path_), ": holds something else (application_id ", *application, ")"));
  }
  if (*version != absl::StrCat(schema.version)) {
    return absl::FailedPreconditionError(absl::StrCat("store ", Quoted(path_), ": has schema version ", *version,
                                                      ", this program knows ", schema.version));
  }
  return absl::OkStatus();
}

absl::Status SqliteDatabase::Require(const std::string& pragma, std::string_view value) {
  const absl::StatusOr<std::string> got = Ask("PRAGMA " + pragma);
  if (!got.ok()) return got.status();
  if (*got == value) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("store ", Quoted(path_), ": PRAGMA ", pragma, " gives ",
                                                    Quoted(*got), ", must be \"", Absl(value), "\""));
}

absl::Status SqliteDatabase::Run(const std::string& sql) {
  return Error(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), "cannot be written");
}

absl::StatusOr<std::string> SqliteDatabase::Ask(const std::string& sql) {
  Statement statement(*this, sql.c_str());
  const absl::StatusOr<bool> row = statement.Step();
  if (!row.ok()) return row.status();
  if (!*row) return std::string();
  const std::vector<std::byte> text = statement.Bytes(0);
  return std::string(reinterpret_cast<const char*>(text.data()), text.size());
}

absl::Status SqliteDatabase::Error(int result, std::string_view what) const {
  if (result == SQLITE_OK) return absl::OkStatus();
  const char* why = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(result);
  const bool busy = (result & 0xff) == SQLITE_BUSY;
  return absl::Status(CodeOf(result), absl::StrCat("store ", Quoted(path_), ": ", Absl(what), ": ",
                                                   busy ? "in use, perhaps by another process" : why));
}

SqliteDatabase::Statement::Statement(SqliteDatabase& database, const char* sql) : database_(database) {
  result_ = sqlite3_prepare_v2(database.handle(), sql, -1, &statement_, nullptr);
}

SqliteDatabase::Statement& SqliteDatabase::Statement::Bind(int index, std::int64_t value) {
  if (result_ == SQLITE_OK) result_ = sqlite3_bind_int64(statement_, index, value);
  return *this;
}

SqliteDatabase::Statement& SqliteDatabase::Statement::Bind(int index, std::span<const std::byte> value) {
  if (result_ == SQLITE_OK) {
    result_ = sqlite3_bind_blob64(statement_, index, value.data(), value.size(), SQLITE_STATIC);
  }
  return *this;
}

absl::StatusOr<bool> SqliteDatabase::Statement::Step() {
  if (result_ != SQLITE_OK) return database_.Error(result_, "cannot be read");
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return database_.Error(result, "cannot be used");
}

std::vector<std::byte> SqliteDatabase::Statement::Bytes(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::vector<std::byte>() : std::vector<std::byte>(data, data + size);
}

SqliteDatabase::Transaction::~Transaction() {
  if (open_) (void)sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

absl::Status SqliteDatabase::Transaction::Begin() {
  absl::Status status = database_.Run("BEGIN IMMEDIATE");
  open_ = status.ok();
  return status;
}

absl::Status SqliteDatabase::Transaction::Commit() {
  absl::Status status = database_.Run("COMMIT");
  if (status.ok()) open_ = false;
  return status;
}

}  // namespace nekton
