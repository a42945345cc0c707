#include "transport/store_sqlite_fence.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/store_sqlite_file.h"

namespace nekton {

// Era and counter in columns of their own: a token of 64 bits is no number of SQLite's.
const char* const kFenceSchemaSql = R"(
CREATE TABLE IF NOT EXISTS nekton_fence (
  lease TEXT PRIMARY KEY, era INTEGER NOT NULL, counter INTEGER NOT NULL, holder TEXT NOT NULL,
  generation INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nekton_fence_done (
  number INTEGER PRIMARY KEY, lease TEXT NOT NULL, id TEXT NOT NULL, result BLOB NOT NULL, UNIQUE (lease, id)) STRICT;
)";

const char* const kFenceSql = R"(
INSERT INTO nekton_fence VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (lease) DO UPDATE
  SET era = excluded.era, counter = excluded.counter, holder = excluded.holder, generation = excluded.generation
  WHERE (excluded.era, excluded.counter) > (era, counter)
     OR (excluded.era, excluded.counter, excluded.holder, excluded.generation) = (era, counter, holder, generation)
RETURNING era, counter
)";

struct SqliteFence::Impl {
  Impl(SqliteFile opened, Options given) : file(std::move(opened)), options(std::move(given)) {}

  absl::Status Begin() {
    if (absl::Status made = file.Run(kFenceSchemaSql); !made.ok()) return made;
    const std::pair<SqliteStatement*, const char*> statements[] = {
        {&seen, "SELECT era, counter, holder, generation FROM nekton_fence WHERE lease = ?1"},
        {&raise, kFenceSql},
        {&done, "SELECT result FROM nekton_fence_done WHERE lease = ?1 AND id = ?2"},
        {&remember, "INSERT INTO nekton_fence_done (lease, id, result) VALUES (?1, ?2, ?3)"},
        {&forget,
         "DELETE FROM nekton_fence_done WHERE lease = ?1 AND number <= (SELECT number FROM nekton_fence_done "
         "WHERE lease = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)"},
    };
    for (const auto& [statement, sql] : statements) {
      absl::StatusOr<SqliteStatement> prepared = file.Prepare(sql);
      if (!prepared.ok()) return prepared.status();
      *statement = *std::move(prepared);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<FenceState> State(const std::string& lease) {
    absl::StatusOr<bool> row = seen.Reset().Bind(1, lease).Step();
    if (!row.ok()) return row.status();
    FenceState state;
    if (*row) {
      state.highest =
          FencingToken::Of(static_cast<std::uint16_t>(seen.Int(0)), static_cast<std::uint64_t>(seen.Int(1)));
      state.holder = seen.Bytes(2);
      state.generation = static_cast<std::uint64_t>(seen.Int(3));
    }
    seen.Reset();
    return state;
  }

  // Read before the transaction, for it may take long; 0 if it is not needed.
  absl::StatusOr<FencingToken> Confirmed(const FencedRequest& request) {
    if (!options.rules.confirm || !options.record || request.signature) return FencingToken{};
    const absl::StatusOr<FenceState> state = State(request.claim.lease);
    if (!state.ok()) return state.status();
    if (request.claim.token <= state->highest) return FencingToken{};
    return options.record(request.claim.lease);
  }

  absl::StatusOr<FencedAnswer> Inside(const FencedRequest& request, FencingToken confirmed, const Write& write) {
    FencedAnswer answer;
    absl::StatusOr<FenceState> state = State(request.claim.lease);
    if (!state.ok()) return state.status();
    answer.current = *std::move(state);
    answer.outcome = FenceVerdictOf(options.rules, answer.current, request, confirmed);
    if (answer.outcome != FenceOutcome::kApplied) return answer;
    At(2);
    if (absl::Status raised = Raise(request.claim); !raised.ok()) return raised;
    answer.current = StateOf(request.claim);
    At(3);
    const absl::StatusOr<bool> repeated = Repeated(request, answer);
    if (!repeated.ok()) return repeated.status();
    if (*repeated || !write) return answer;
    absl::StatusOr<std::string> result = write(file.get());
    if (!result.ok()) return result.status();
    answer.result = *std::move(result);
    At(4);
    if (absl::Status kept = Remember(request, answer.result); !kept.ok()) return kept;
    return answer;
  }

  absl::Status Raise(const LeaseClaim& claim) {
    raise.Reset()
        .Bind(1, claim.lease)
        .Bind(2, std::int64_t{claim.token.era()})
        .Bind(3, static_cast<std::int64_t>(claim.token.counter()))
        .Bind(4, claim.holder)
        .Bind(5, static_cast<std::int64_t>(claim.generation));
    const absl::StatusOr<bool> row = raise.Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::InternalError("sqlite: nekton_fence: refuses what it let pass");
    return raise.Run();
  }

  absl::StatusOr<bool> Repeated(const FencedRequest& request, FencedAnswer& answer) {
    if (request.id.empty()) return false;
    const absl::StatusOr<bool> row = done.Reset().Bind(1, request.claim.lease).Bind(2, request.id).Step();
    if (!row.ok()) return row.status();
    if (*row) {
      answer.outcome = FenceOutcome::kRepeated;
      answer.result = done.Bytes(0);
    }
    done.Reset();
    return *row;
  }

  absl::Status Remember(const FencedRequest& request, const std::string& result) {
    if (request.id.empty() || options.rules.remembered == 0) return absl::OkStatus();
    remember.Reset().Bind(1, request.claim.lease).Bind(2, request.id).BindBlob(3, result);
    if (absl::Status kept = remember.Run(); !kept.ok()) return kept;
    return forget.Reset()
        .Bind(1, request.claim.lease)
        .Bind(2, static_cast<std::int64_t>(options.rules.remembered))
        .Run();
  }

  absl::StatusOr<FencedAnswer> Whole(const FencedRequest& request, const Write& write) {
    if (file.InTransaction()) return absl::FailedPreconditionError("fence: the connection is inside a transaction");
    const absl::StatusOr<FencingToken> confirmed = Confirmed(request);
    if (!confirmed.ok()) return confirmed.status();
    absl::StatusOr<SqliteTransaction> transaction = SqliteTransaction::Begin(file);
    if (!transaction.ok()) return transaction.status();
    At(1);
    absl::StatusOr<FencedAnswer> answer = Inside(request, *confirmed, write);
    if (!answer.ok() || !answer->ok()) return answer;
    if (absl::Status committed = transaction->Commit(); !committed.ok()) return committed;
    At(5);
    return answer;
  }

  void At(int step) const {
    if (options.at_step) options.at_step(step);
  }

  SqliteFile file;
  Options options;
  SqliteStatement seen, raise, done, remember, forget;
};

SqliteFence::SqliteFence(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteFence::SqliteFence(SqliteFence&&) noexcept = default;
SqliteFence& SqliteFence::operator=(SqliteFence&&) noexcept = default;
SqliteFence::~SqliteFence() = default;

absl::StatusOr<SqliteFence> SqliteFence::Open(sqlite3* connection, Options options) {
  if (options.rules.confirm && !options.record && !options.rules.authority) {
    return absl::InvalidArgumentError("fence: confirm: needs `record`, a way to read the register, or an authority");
  }
  absl::StatusOr<SqliteFile> file = SqliteFile::Over(connection);
  if (!file.ok()) return file.status();
  auto impl = std::make_unique<Impl>(*std::move(file), std::move(options));
  if (absl::Status begun = impl->Begin(); !begun.ok()) return begun;
  return SqliteFence(std::move(impl));
}

absl::StatusOr<FencedAnswer> SqliteFence::Apply(const FencedRequest& request, const Write& write) {
  return impl_->Whole(request, write);
}

absl::StatusOr<FencedAnswer> SqliteFence::Advance(const FencedRequest& request) {
  FencedRequest fence = request;
  fence.id.clear();
  return impl_->Whole(fence, nullptr);
}

absl::StatusOr<FencedAnswer> SqliteFence::ApplyInside(const FencedRequest& request, const Write& write) {
  if (!impl_->file.InTransaction()) return absl::FailedPreconditionError("fence: the connection is in no transaction");
  const absl::StatusOr<FencingToken> confirmed = impl_->Confirmed(request);
  if (!confirmed.ok()) return confirmed.status();
  return impl_->Inside(request, *confirmed, write);
}

absl::StatusOr<FenceState> SqliteFence::state(const std::string& lease) const { return impl_->State(lease); }

}  // namespace nekton
