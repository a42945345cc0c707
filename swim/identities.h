// The names and tags of members, each kept once: of a group that is simulated in one process all tables share them.
//
// Not thread-safe; not movable. What Take has given out is valid until it was given back as often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"

namespace nekton {

// What is long or rarely looked at.
struct Identity {
  std::string name;
  std::string tags;  // encoded (swim/tags.h)
  std::uint8_t version_min = 0;
  std::uint8_t version_max = 0;
};

class Identities {
 public:
  Identities() = default;
  Identities(const Identities&) = delete;
  Identities& operator=(const Identities&) = delete;

  const Identity* Take(std::string_view name, std::string_view tags, std::uint8_t version_min,
                       std::uint8_t version_max);
  void Return(const Identity* identity);
  std::size_t size() const { return all_.size(); }

 private:
  struct Counted : Identity {
    std::size_t users = 0;
  };
  struct View {
    std::string_view name;
    std::string_view tags;
    std::uint8_t version_min;
    std::uint8_t version_max;
    friend bool operator==(const View&, const View&) = default;
  };
  static View Of(const std::unique_ptr<Counted>& one) {
    return {one->name, one->tags, one->version_min, one->version_max};
  }
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const View& view) const;
    std::size_t operator()(const std::unique_ptr<Counted>& one) const { return (*this)(Of(one)); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const std::unique_ptr<Counted>& a, const std::unique_ptr<Counted>& b) const {
      return Of(a) == Of(b);
    }
    bool operator()(const std::unique_ptr<Counted>& a, const View& b) const { return Of(a) == b; }
    bool operator()(const View& a, const std::unique_ptr<Counted>& b) const { return a == Of(b); }
  };

  absl::flat_hash_set<std::unique_ptr<Counted>, Hash, Equal> all_;
};

}  // namespace nekton
