#include "lease/route_cache.h"

#include <algorithm>
#include <utility>

namespace nekton {

Route RouteCache::ByView(const ObjectId& object) const {
  return {std::string(homes_.HomeOf(object)), homes_.epoch(), false};
}

void RouteCache::Put(const ObjectId& object, Route route) {
  const auto known = by_object_.find(object);
  if (known != by_object_.end()) {
    known->second->route = std::move(route);
    entries_.splice(entries_.begin(), entries_, known->second);
    return;
  }
  if (by_object_.size() >= routes_max_) {
    by_object_.erase(entries_.back().object);
    entries_.pop_back();
  }
  entries_.push_front({object, std::move(route)});
  by_object_[object] = entries_.begin();
}

Route RouteCache::Find(const ObjectId& object) {
  const auto known = by_object_.find(object);
  if (known == by_object_.end()) {
    Put(object, ByView(object));
  } else {
    entries_.splice(entries_.begin(), entries_, known->second);
  }
  return entries_.front().route;
}

bool RouteCache::Redirect(const ObjectId& object, std::string_view home, std::uint64_t home_epoch) {
  if (!std::binary_search(members_.begin(), members_.end(), home)) return false;
  const Route now = Find(object);
  if (home_epoch < now.home_epoch || (home_epoch == now.home_epoch && now.moved)) return false;
  Put(object, {std::string(home), home_epoch, true});
  return true;
}

std::vector<Fence> RouteCache::Install(const View& view) {
  std::vector<Fence> fences;
  if (view.epoch() <= homes_.epoch()) return fences;
  homes_ = Homes(view);
  members_.clear();
  for (const ViewMember& member : view.members) members_.push_back(member.name);
  for (Entry& entry : entries_) {
    Route fresh = ByView(entry.object);
    const bool left = !std::binary_search(members_.begin(), members_.end(), entry.route.home);
    if (left && !entry.route.home.empty()) {
      fences.push_back({entry.object, entry.route.home, entry.route.home_epoch, fresh.home, fresh.home_epoch,
                        FenceReason::kLeftView});
    }
    entry.route = std::move(fresh);  // a confirmed view supersedes a redirection
  }
  std::sort(fences.begin(), fences.end(), [](const Fence& a, const Fence& b) { return a.object < b.object; });
  return fences;
}

std::vector<std::pair<ObjectId, Route>> RouteCache::routes() const {
  std::vector<std::pair<ObjectId, Route>> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.emplace_back(entry.object, entry.route);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

}  // namespace nekton
