// Where a client sends the requests for an object: to its home by the view, or to where a home that holds the old lease
// has redirected us (MOVED). Bounded: the route that was used least recently makes room, and is worked out anew when it
// is needed again. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lease/fence.h"
#include "lease/homes.h"
#include "lease/object_id.h"
#include "lease/view.h"

namespace nekton {

struct Route {
  std::string home;              // empty: the view has no members
  std::uint64_t home_epoch = 0;  // that assigned it: the view's, or that of the lease move
  bool moved = false;            // not the home by the view: a redirection
  friend bool operator==(const Route&, const Route&) = default;
};

class RouteCache {
 public:
  static constexpr std::size_t kRoutesMax = 4096;
  // `routes_max`: at least 1.
  explicit RouteCache(std::size_t routes_max = kRoutesMax) : routes_max_(routes_max == 0 ? 1 : routes_max) {}

  // The route of an object: the cached one, or its home by the view, which is cached from then on.
  Route Find(const ObjectId& object);
  // A home that holds the old lease says that it moved. False, and nothing happens: the target is no member of the
  // view, or the move is not newer than the route.
  bool Redirect(const ObjectId& object, std::string_view home, std::uint64_t home_epoch);

  // Takes a higher epoch: one fence for each cached route whose home is no member any more, in the order of the objects;
  // these, and all that the view now homes elsewhere, are dropped and worked out anew. An epoch that is not higher
  // changes nothing and fences nothing.
  std::vector<Fence> Install(const View& view);

  std::uint64_t epoch() const { return homes_.epoch(); }
  std::size_t size() const { return by_object_.size(); }
  std::vector<std::pair<ObjectId, Route>> routes() const;  // in the order of the objects

 private:
  struct Entry {
    ObjectId object;
    Route route;
  };
  Route ByView(const ObjectId& object) const;
  void Put(const ObjectId& object, Route route);

  std::size_t routes_max_;
  Homes homes_;
  std::vector<std::string> members_;  // of the view, ascending
  std::list<Entry> entries_;          // the one used last first
  absl::flat_hash_map<ObjectId, std::list<Entry>::iterator> by_object_;
};

}  // namespace nekton
