#include "swim/identities.h"

#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {

std::size_t Identities::Hash::operator()(const View& view) const {
  return XXH3_64bits_withSeed(view.tags.data(), view.tags.size(), XXH3_64bits(view.name.data(), view.name.size())) ^
         (std::size_t{view.version_min} << 8 | view.version_max);
}

const Identity* Identities::Take(std::string_view name, std::string_view tags, std::uint8_t version_min,
                                 std::uint8_t version_max) {
  const View view{name, tags, version_min, version_max};
  auto it = all_.find(view);
  if (it == all_.end()) {
    auto fresh = std::make_unique<Counted>();
    fresh->name = name;
    fresh->tags = tags;
    fresh->version_min = version_min;
    fresh->version_max = version_max;
    it = all_.insert(std::move(fresh)).first;
  }
  ++(*it)->users;
  return it->get();
}

void Identities::Return(const Identity* identity) {
  const auto it = all_.find(View{identity->name, identity->tags, identity->version_min, identity->version_max});
  if (--(*it)->users == 0) all_.erase(it);
}

}  // namespace nekton
