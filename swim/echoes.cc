#include "swim/echoes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

}  // namespace

std::uint64_t Echoes::Hash(const Update& update, std::uint64_t seed) {
  std::uint64_t hash = XXH3_64bits_withSeed(update.name.data(), update.name.size(), seed);
  hash = Mix(hash, static_cast<std::uint64_t>(update.kind) << 8 | update.accuser_count);
  hash = Mix(hash, update.key.generation);
  hash = Mix(hash, update.key.incarnation);
  for (std::size_t i = 0; i < update.accuser_count; ++i) {
    hash = Mix(hash, update.accusers[i].id);
    hash = Mix(hash, update.accusers[i].refused ? 1 : 0);
  }
  return hash != 0 ? hash : 1;
}

}  // namespace nekton
