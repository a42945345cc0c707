#include "transport/store_sqlite_register.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lease/lease_record.h"
#include "transport/store_sqlite_file.h"

namespace nekton {
namespace {

// A deleted key stays, without a value: its next version comes from the counter all the same, and in a file that was
// restored it is no key that was never written.
constexpr const char* kSchema = R"(
CREATE TABLE IF NOT EXISTS nekton_register (
  key TEXT PRIMARY KEY, value BLOB, version INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nekton_register_state (
  id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL,
  unwritten BLOB, unwritten_version INTEGER NOT NULL) STRICT;
INSERT INTO nekton_register_state VALUES (1, 0, NULL, 0) ON CONFLICT DO NOTHING;
)";

constexpr std::uint16_t kEraMax = 32767;  // a revision is a signed number here

RegisterAnswer Unknown(const absl::Status& status) {
  return {.verdict = RegisterVerdict::kUnknown, .version = kAbsent, .value = {}, .why = std::string(status.message())};
}

class SqliteBackend final : public RegisterBackend {
 public:
  static absl::StatusOr<std::unique_ptr<SqliteBackend>> Open(const SqliteRegisterOptions& options) {
    absl::StatusOr<SqliteFile> file = SqliteFile::Open({.path = options.path, .busy_ms = options.busy_ms});
    if (!file.ok()) return file.status();
    auto backend = std::unique_ptr<SqliteBackend>(new SqliteBackend(*std::move(file), options.at_phase));
    if (absl::Status ready = backend->Begin(options); !ready.ok()) return ready;
    return backend;
  }

  RegisterAnswer Do(const RegisterRequest& request) override {
    absl::StatusOr<RegisterAnswer> answer = request.write ? Write(request) : Read(request.key);
    return answer.ok() ? *std::move(answer) : Unknown(answer.status());
  }

  bool Changed() override {
    // Rises when another connection has committed; what this one does is looked at anyway.
    data_version_.Reset();
    const absl::StatusOr<bool> row = data_version_.Step();
    const std::int64_t version = row.ok() && *row ? data_version_.Int(0) : seen_version_ + 1;
    data_version_.Reset();
    const bool other = std::exchange(seen_version_, version) != version;
    return std::exchange(wrote_, false) || other;
  }

 private:
  SqliteBackend(SqliteFile file, std::function<void(SqlitePhase)> at_phase)
      : file_(std::move(file)), at_phase_(std::move(at_phase)) {}

  absl::Status Begin(const SqliteRegisterOptions& options) {
    absl::StatusOr<SqliteTransaction> transaction = SqliteTransaction::Begin(file_);
    if (!transaction.ok()) return transaction.status();
    if (absl::Status made = file_.Run(kSchema); !made.ok()) return made;
    const std::pair<SqliteStatement*, const char*> statements[] = {
        {&read_, "SELECT value, version FROM nekton_register WHERE key = ?1"},
        {&unwritten_, "SELECT unwritten, unwritten_version FROM nekton_register_state"},
        {&revise_, "UPDATE nekton_register_state SET revision = revision + 1 RETURNING revision"},
        {&write_,
         "INSERT INTO nekton_register VALUES (?1, ?2, ?3) "
         "ON CONFLICT (key) DO UPDATE SET value = ?2, version = ?3"},
        {&data_version_, "PRAGMA data_version"},
    };
    for (const auto& [statement, sql] : statements) {
      absl::StatusOr<SqliteStatement> prepared = file_.Prepare(sql);
      if (!prepared.ok()) return prepared.status();
      *statement = *std::move(prepared);
    }
    if (options.restored_era != 0) {
      absl::Status restored = Restore(options.restored_era, options.longest_lease);
      if (!restored.ok()) return restored;
    }
    return transaction->Commit();
  }

  absl::StatusOr<std::int64_t> NextRevision() {
    const absl::StatusOr<bool> row = revise_.Reset().Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::DataLossError("sqlite: nekton_register_state: its row is gone");
    const std::int64_t revision = revise_.Int(0);
    if (absl::Status ended = revise_.Run(); !ended.ok()) return ended;
    return revision;
  }

  absl::StatusOr<RegisterAnswer> Read(const std::string& key) {
    absl::StatusOr<bool> row = read_.Reset().Bind(1, key).Step();
    if (!row.ok()) return row.status();
    SqliteStatement* from = &read_;
    if (!*row) {
      row = unwritten_.Reset().Step();
      if (!row.ok()) return row.status();
      from = &unwritten_;
    }
    RegisterAnswer answer{.verdict = RegisterVerdict::kYes, .version = kAbsent, .value = {}, .why = {}};
    const bool there = *row && !from->IsNull(0);
    if (there) {
      answer.value = from->Bytes(0);
      answer.version = static_cast<std::uint64_t>(from->Int(1));
    }
    // Before the transaction ends: a statement that still runs would keep an old snapshot.
    read_.Reset();
    unwritten_.Reset();
    return answer;
  }

  absl::StatusOr<RegisterAnswer> Write(const RegisterRequest& request) {
    absl::StatusOr<SqliteTransaction> transaction = SqliteTransaction::Begin(file_);
    if (!transaction.ok()) return transaction.status();
    At(SqlitePhase::kBegun);
    absl::StatusOr<RegisterAnswer> there = Read(request.key);
    if (!there.ok()) return there;
    if (there->version != request.expected) {
      there->verdict = RegisterVerdict::kNo;
      return there;
    }
    const absl::StatusOr<std::int64_t> revision = NextRevision();
    if (!revision.ok()) return revision.status();
    if (absl::Status put = Put(request.key, request.value, *revision); !put.ok()) return put;
    At(SqlitePhase::kWritten);
    if (absl::Status committed = transaction->Commit(); !committed.ok()) return committed;
    At(SqlitePhase::kCommitted);
    wrote_ = true;
    return RegisterAnswer{.verdict = RegisterVerdict::kYes,
                          .version = request.value ? static_cast<std::uint64_t>(*revision) : kAbsent,
                          .value = {},
                          .why = {}};
  }

  absl::Status Put(const std::string& key, const std::optional<std::string>& value, std::int64_t revision) {
    write_.Reset().Bind(1, key).Bind(3, revision);
    if (value) {
      write_.BindBlob(2, *value);
    } else {
      write_.BindNull(2);
    }
    return write_.Run();
  }

  absl::Status Restore(std::uint16_t era, Duration longest) {
    absl::StatusOr<std::int64_t> revision = NextRevision();
    if (!revision.ok()) return revision.status();
    const std::uint16_t before = EraOf(static_cast<std::uint64_t>(*revision));
    if (era <= before || era > kEraMax) {
      return absl::InvalidArgumentError(absl::StrCat("restored_era: ", era, ": must be above ", before,
                                                     ", the era of the file, and at most ", kEraMax));
    }
    const std::uint64_t first = FirstRevisionOf(era);
    absl::StatusOr<SqliteStatement> raise = file_.Prepare("UPDATE nekton_register_state SET revision = ?1");
    if (!raise.ok()) return raise.status();
    if (absl::Status raised = raise->Bind(1, static_cast<std::int64_t>(first)).Run(); !raised.ok()) return raised;
    absl::StatusOr<SqliteStatement> all =
        file_.Prepare("SELECT key, value FROM nekton_register WHERE value IS NOT NULL");
    if (!all.ok()) return all.status();
    std::vector<std::pair<std::string, std::string>> rows;
    absl::StatusOr<bool> row = all->Step();
    for (; row.ok() && *row; row = all->Step()) rows.emplace_back(all->Bytes(0), all->Bytes(1));
    if (!row.ok()) return row.status();
    for (const auto& [key, value] : rows) {
      revision = NextRevision();
      if (!revision.ok()) return revision.status();
      if (absl::Status put = Put(key, AfterRestore(value, era, longest), *revision); !put.ok()) return put;
    }
    absl::StatusOr<SqliteStatement> rest =
        file_.Prepare("UPDATE nekton_register_state SET unwritten = ?1, unwritten_version = ?2, revision = ?2");
    if (!rest.ok()) return rest.status();
    revision = NextRevision();
    if (!revision.ok()) return revision.status();
    return rest->BindBlob(1, AfterRestore("", era, longest)).Bind(2, *revision).Run();
  }

  void At(SqlitePhase phase) const {
    if (at_phase_) at_phase_(phase);
  }

  const SqliteFile file_;
  const std::function<void(SqlitePhase)> at_phase_;
  SqliteStatement read_;
  SqliteStatement unwritten_;
  SqliteStatement revise_;
  SqliteStatement write_;
  SqliteStatement data_version_;
  std::int64_t seen_version_ = -1;
  bool wrote_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Register>> OpenSqliteRegister(const SqliteRegisterOptions& options) {
  absl::StatusOr<std::unique_ptr<SqliteBackend>> backend = SqliteBackend::Open(options);
  if (!backend.ok()) return backend.status();
  return std::make_unique<RegisterWorker>(*std::move(backend), options.worker);
}

}  // namespace nekton
