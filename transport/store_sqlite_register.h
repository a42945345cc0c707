// The register in an SQLite file: durable, for the processes of one machine, or of one process that serves others.
//
// Each request is one transaction (BEGIN IMMEDIATE), on a thread of its own (transport/register_worker.h). The file is
// opened as transport/store_sqlite_file.h tells, and refused if it would not be durable. Versions come from one counter in
// the same file. A process that is stopped (SIGSTOP) inside a transaction keeps the lock until it goes on or ends: that is
// safe, and until then nobody takes anything over. A file that was restored from a backup must be opened with `restored_era` once: see the options.
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
  std::string path = {};
  int busy_ms = 5000;
  // Not 0: the file is a backup of a store that went on. Every lease in it counts as held by somebody unknown, for as long
  // as its duration or `longest_lease`, whichever is longer, and versions and tokens go on in this era. Count the restores:
  // it must be above the eras of all files that were in use (1 to 32,767). For one start only: with the same era the file is
  // refused the next time.
  std::uint16_t restored_era = 0;
  Duration longest_lease = std::chrono::minutes(1);
  std::function<void(SqlitePhase)> at_phase = {};  // for tests
  RegisterWorker::Options worker = {};
};

absl::StatusOr<std::unique_ptr<Register>> OpenSqliteRegister(const SqliteRegisterOptions& options);

}  // namespace nekton
