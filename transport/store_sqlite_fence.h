// A fence inside the user's own SQLite database: the comparison of tokens, the request's id and the user's own writes
// commit in one transaction, or none of them does (the rules: lease/fenced_resource.h).
//
// Works on a connection of the user's, which must be WAL and synchronous=FULL (FailedPrecondition otherwise: with less, what
// was fenced may come back with the power). One thread at a time, as the connection itself. The connection must outlive it.
// For programs that use their database without nekton the same is to be had as SQL text: kFenceSchemaSql once, then
// kFenceSql as the first statement of every transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lease/fenced_resource.h"

struct sqlite3;

namespace nekton {

// Creates the tables. nekton_fence has one row for each lease, nekton_fence_done one for each request id.
extern const char* const kFenceSchemaSql;
// Within BEGIN IMMEDIATE: ?1 lease, ?2 era, ?3 counter, ?4 holder, ?5 generation (an integer). One row: go on. No row:
// ROLLBACK, the token is stale or another holder's. It compares alone; it neither authenticates nor knows request ids.
extern const char* const kFenceSql;

class SqliteFence {
 public:
  struct Options {
    FenceOptions rules;
    // With rules.confirm: reads the register, and says which token the lease's record has. Called outside of the
    // transaction, and only for a token above all that were seen.
    std::function<absl::StatusOr<FencingToken>(const std::string& lease)> record;
    std::function<void(int step)> at_step;  // for tests that end the process there: 1 to 5
  };
  // The user's statements. An error rolls all back, the fence included, and is handed on.
  using Write = std::function<absl::StatusOr<std::string>(sqlite3*)>;

  static absl::StatusOr<SqliteFence> Open(sqlite3* connection, Options options);
  SqliteFence(SqliteFence&&) noexcept;
  SqliteFence& operator=(SqliteFence&&) noexcept;
  ~SqliteFence();

  // BEGIN IMMEDIATE, the rules, `write`, COMMIT. FailedPrecondition inside a transaction; Unavailable when another one
  // keeps the lock longer than the connection's busy timeout. After any error nothing was written, except that after one
  // of COMMIT itself the write may be there: repeat it with the same id.
  absl::StatusOr<FencedAnswer> Apply(const FencedRequest& request, const Write& write);
  absl::StatusOr<FencedAnswer> Advance(const FencedRequest& request);
  // The same inside a transaction that the user began with BEGIN IMMEDIATE, and commits if the answer is kApplied.
  absl::StatusOr<FencedAnswer> ApplyInside(const FencedRequest& request, const Write& write);
  absl::StatusOr<FenceState> state(const std::string& lease) const;

 private:
  struct Impl;
  explicit SqliteFence(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nekton
