// The authority's view in an SQLite file: one row, replaced in a transaction that is on the disk when Write() returns.
//
// One process has the file at a time, and the next can open it as soon as that one is gone, however it ended. Beside
// `path` there is `path`-wal. Not thread-safe; on a StoreWorker, so that nothing waits for the disk.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lease/view.h"
#include "lease/view_store.h"

namespace nekton {

class SqliteDatabase;

class SqliteViewStore final : public ViewStore {
 public:
  // Makes the file if there is none; its directory must be there. Every error names the path. InvalidArgument: no path.
  // FailedPrecondition: it cannot be opened, holds something else, has the schema of another version, or its file system
  // cannot do what is needed (WAL, synchronous=FULL). Unavailable: another authority has it open. DataLoss: it is
  // damaged.
  static absl::StatusOr<std::unique_ptr<SqliteViewStore>> Open(const std::string& path);
  ~SqliteViewStore() override;

  // DataLoss: there is a view, and it cannot be read. Its signature is not looked at: the authority does that.
  absl::StatusOr<View> Read() override;
  // Also FailedPrecondition: the epoch is not above the stored one, and this is not the very view that is stored; then
  // nothing was changed.
  absl::Status Write(const View& view) override;

 private:
  explicit SqliteViewStore(std::unique_ptr<SqliteDatabase> database);
  absl::Status Refused(const View& view, const View& stored) const;

  std::unique_ptr<SqliteDatabase> database_;
};

}  // namespace nekton
