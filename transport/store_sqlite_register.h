// The register in an SQLite file: durable, for the processes of one machine, or of one process that serves others.
//
// Each request is one transaction (BEGIN IMMEDIATE), on a thread of its own (transport/register_worker.h). The file is
// opened as transport/store_sqlite_file.h tells, and refused if it would not be durable. Versions come from one counter in
// the same file. A file that was restored from a backup must be opened with `restored` once: see Options.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lease/register.h"
#include "phi/time.h"
#include "transport/register_worker.h"

namespace nekton {

// Where a write is, for tests that end the process there.
enum class SqlitePhase : std::uint8_t { kBegun, kWritten, kCommitted };

struct SqliteRegisterOptions {
  std::string path;
  int busy_ms = 5000;
  // The file is a backup, and has been a copy of nothing for some time: who holds a lease now may not stand in it. Every
  // lease in it counts as held by somebody unknown, for as long as its duration or `longest_lease`, whichever is longer,
  // and new tokens are of the next era, above all that the lost file may have given.
  bool restored = false;
  Duration longest_lease = std::chrono::minutes(1);
  std::function<void(SqlitePhase)> at_phase;  // for tests
  RegisterWorker::Options worker;
};

absl::StatusOr<std::unique_ptr<Register>> OpenSqliteRegister(const SqliteRegisterOptions& options);

}  // namespace nekton
