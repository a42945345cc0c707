#include "transport/members_view.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <numeric>
#include <string_view>
#include <utility>

namespace nekton {

struct MembersView::Table {
  std::vector<MemberPtr> members;  // ACTIVE, then SUSPECT, then the rest
  std::size_t alive = 0;
  std::size_t routable = 0;
  MemberPtr self;
  std::uint64_t version = 0;
  Contact contact;
  mutable std::once_flag indexed;
  mutable std::vector<std::uint32_t> by_name;
};

MembersView::MembersView() : MembersView({}, 0) {}

MembersView::MembersView(std::vector<MemberPtr> members, std::uint64_t version, const Contact& contact) {
  auto table = std::make_shared<Table>();
  table->members = std::move(members);
  table->version = version;
  table->contact = contact;
  const auto has = [](MemberStatus status) { return [status](const MemberPtr& m) { return m->status == status; }; };
  auto& all = table->members;
  const auto alive = std::stable_partition(all.begin(), all.end(), has(MemberStatus::kActive));
  const auto routable = std::stable_partition(alive, all.end(), has(MemberStatus::kSuspect));
  table->alive = static_cast<std::size_t>(std::distance(all.begin(), alive));
  table->routable = static_cast<std::size_t>(std::distance(all.begin(), routable));
  const auto self = std::find_if(all.begin(), all.end(), [](const MemberPtr& m) { return m->self; });
  if (self != all.end()) table->self = *self;
  table_ = std::move(table);
}

MembersView::List MembersView::Alive() const { return List(table_, std::span(table_->members).first(table_->alive)); }
MembersView::List MembersView::Routable() const {
  return List(table_, std::span(table_->members).first(table_->routable));
}
MembersView::List MembersView::All() const { return List(table_, table_->members); }
const MemberPtr& MembersView::self() const { return table_->self; }
std::uint64_t MembersView::version() const { return table_->version; }
const Contact& MembersView::contact() const { return table_->contact; }

MemberPtr MembersView::Find(std::string_view name) const {
  const Table& t = *table_;
  std::call_once(t.indexed, [&t] {
    t.by_name.resize(t.members.size());
    std::iota(t.by_name.begin(), t.by_name.end(), 0U);
    std::sort(t.by_name.begin(), t.by_name.end(),
              [&t](std::uint32_t a, std::uint32_t b) { return t.members[a]->name < t.members[b]->name; });
  });
  const auto found =
      std::lower_bound(t.by_name.begin(), t.by_name.end(), name,
                       [&t](std::uint32_t index, std::string_view wanted) { return t.members[index]->name < wanted; });
  if (found == t.by_name.end() || t.members[*found]->name != name) return nullptr;
  return t.members[*found];
}

}  // namespace nekton
