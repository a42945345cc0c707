// The first answer to each request, so that a repeated request is not carried out again: it gets the same answer.
//
// Ids belong to a capability and rise: of each capability the last kWindow requests are kept, and what is older than
// those is refused as forgotten, so that it is never carried out twice. Bounded: kCapabilitiesMax capabilities; the room of
// one is free again when it has expired. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lease/capability.h"
#include "phi/time.h"

namespace nekton {

class FirstAnswers {
 public:
  static constexpr std::size_t kWindow = 64;
  static constexpr std::size_t kCapabilitiesMax = 4096;
  static constexpr std::size_t kAnswerMax = 65'536;  // bytes; a longer one is the caller's mistake and not kept

  enum class Found : std::uint8_t {
    kNew,        // never seen: Begin() it
    kUnderWay,   // it is being carried out
    kAnswered,   // here is its answer
    kForgotten,  // older than what is kept
    kFull,       // no room for another capability
  };

  Found Look(const Capability& capability, std::uint64_t request, WallTime now);
  // The answer of one that Look() found kAnswered; valid until the next Begin or End.
  std::span<const std::byte> AnswerTo(const Capability& capability, std::uint64_t request) const;
  // It is carried out now. Only after Look() said kNew.
  void Begin(const Capability& capability, std::uint64_t request);
  void End(const Capability& capability, std::uint64_t request, std::span<const std::byte> answer);

  std::size_t size() const { return known_.size(); }

 private:
  using Id = std::array<std::byte, 16>;
  struct Request {
    std::uint64_t id = 0;
    bool done = false;
    std::vector<std::byte> answer;
  };
  struct Known {
    WallTime expires{};
    std::uint64_t floor = 0;  // what is not above it, and not kept, was forgotten
    std::deque<Request> requests;
  };
  void Sweep(WallTime now);

  absl::flat_hash_map<Id, Known> known_;
};

}  // namespace nekton
