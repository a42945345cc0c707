#include "transport/store_sqlite_view.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "swim/quoted.h"
#include "transport/store_sqlite_database.h"

namespace nekton {
namespace {

// "nkVW". The epoch is a column of its own, so that people can read it.
constexpr SqliteSchema kSchema = {0x6e6b5657, 1,
                                  "CREATE TABLE view (one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL,"
                                  " bytes BLOB NOT NULL) STRICT"};
constexpr std::uint64_t kEpochMax = std::numeric_limits<std::int64_t>::max();  // an INTEGER has a sign

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteViewStore>> SqliteViewStore::Open(const std::string& path) {
  auto database = SqliteDatabase::Open(path, kSchema);
  if (!database.ok()) return database.status();
  std::unique_ptr<SqliteViewStore> store(new SqliteViewStore(*std::move(database)));
  if (const absl::StatusOr<View> stored = store->Read(); !stored.ok()) return stored.status();
  return store;
}

SqliteViewStore::SqliteViewStore(std::unique_ptr<SqliteDatabase> database) : database_(std::move(database)) {}
SqliteViewStore::~SqliteViewStore() = default;

absl::StatusOr<View> SqliteViewStore::Read() {
  SqliteDatabase::Statement select(*database_, "SELECT epoch, bytes FROM view");
  const absl::StatusOr<bool> row = select.Step();
  if (!row.ok()) return row.status();
  if (!*row) return View();
  absl::StatusOr<View> view = DecodeView(select.Bytes(1));
  const auto damaged = [this](absl::string_view why) {
    return absl::DataLossError(absl::StrCat("store ", Quoted(database_->path()), ": the view in it is damaged: ", why));
  };
  if (!view.ok()) return damaged(view.status().message());
  if (static_cast<std::int64_t>(view->epoch()) != select.Number(0)) return damaged("it is of another epoch");
  return view;
}

absl::Status SqliteViewStore::Refused(const View& view, const View& stored) const {
  return absl::FailedPreconditionError(absl::StrCat("store ", Quoted(database_->path()), ": epoch ", view.epoch(),
                                                    " is not above the stored one, ", stored.epoch()));
}

absl::Status SqliteViewStore::Write(const View& view) {
  if (view.epoch() == 0 || view.epoch() > kEpochMax) {
    return absl::InvalidArgumentError(absl::StrCat("epoch ", view.epoch(), ": must be from 1 to ", kEpochMax));
  }
  const std::vector<std::byte> bytes = EncodeView(view);
  SqliteDatabase::Transaction transaction(*database_);
  if (absl::Status status = transaction.Begin(); !status.ok()) return status;
  const absl::StatusOr<View> stored = Read();
  if (!stored.ok()) return stored.status();
  if (stored->epoch() == view.epoch() && EncodeView(*stored) == bytes) return absl::OkStatus();
  if (stored->epoch() >= view.epoch()) return Refused(view, *stored);
  {
    SqliteDatabase::Statement replace(*database_, "INSERT OR REPLACE INTO view VALUES (1, ?, ?)");
    replace.Bind(1, static_cast<std::int64_t>(view.epoch())).Bind(2, bytes);
    if (const absl::StatusOr<bool> done = replace.Step(); !done.ok()) return done.status();
  }
  return transaction.Commit();
}

}  // namespace nekton
