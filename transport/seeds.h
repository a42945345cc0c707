// The seeds of a node: which addresses to try, when to look a name up again.
//
// Numeric seeds are handed over at once. A name is looked up in the background, all its addresses are handed over, and
// it is looked up again, for ever: with growing intervals while we are alone, and every seed_retry
// where another member is there, but not while one of the name's addresses is an ACTIVE member. Addresses of our own
// are left out: nobody joins through himself. The engine retries the addresses it was given; names are ours.
//
// Takes the time as an argument and owns no timer. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/address.h"
#include "swim/config.h"
#include "swim/random.h"
#include "transport/resolver.h"

namespace nekton {

class Seeds {
 public:
  // What the rest of the node knows.
  struct Surroundings {
    bool alone = true;                              // no other member is ACTIVE or SUSPECT
    std::function<bool(const Address&)> is_active;  // an ACTIVE member has it
    std::function<bool(const Address&)> is_own;     // it is an address of ours, port included
  };
  // What became of one look-up.
  struct Report {
    std::string seed;
    absl::Status status;  // not OK: it does not resolve
    bool news = false;    // differs from the last time: worth a line in a log
  };
  // What one of them has come to. Valid until the next Turn or Add.
  struct Known {
    bool numeric = false;
    bool looking = false;  // no look-up has ended since it was added or hurried
    std::span<const Address> addresses;
    std::string error;  // of the last look-up; empty: it resolved
  };
  static constexpr std::size_t kMax = 1024;
  static constexpr std::size_t kAddressesMax = 64;  // remembered of one name, the oldest forgotten first

  // `resolver` outlives it.
  Seeds(const Config& config, Resolver& resolver);

  // `texts` were checked (Config::Validate). Known ones are taken once. ResourceExhausted beyond kMax: none is taken.
  absl::Status Add(const std::vector<std::string>& texts);
  // Begins the look-ups that are due and takes in those that ended. Appends addresses that are to be joined, each once
  // per name that gave it, and one report per look-up that ended.
  void Turn(Instant now, const Surroundings& around, std::vector<Address>& join, std::vector<Report>& reports);
  Instant NextTurn() const;
  // A name is looked up in the next turn, and again, as long as it does not resolve, in the rhythm of who is alone.
  void Hurry(const std::string& text, Instant until);
  std::optional<Known> Look(const std::string& text) const;

 private:
  struct Seed {
    std::string text;
    std::string host;
    std::uint16_t port = 0;
    bool numeric = false;
    bool looking = false;
    Instant next{};
    Duration interval{};
    Instant hurry_until = Instant::min();
    bool hurried = false;  // and no look-up has ended since; it counts as one that is not begun yet
    std::vector<Address> given;
    std::string last_error;
  };

  void Take(Seed& seed, Instant now, const Resolver::Result& result, const Surroundings& around,
            std::vector<Address>& join, std::vector<Report>& reports);
  void Schedule(Seed& seed, Instant now, bool resolved, const Surroundings& around);

  const Duration min_, max_, retry_;
  Resolver& resolver_;
  Random random_;
  std::vector<Seed> seeds_;
  std::vector<Address> fresh_;  // numeric ones not handed over yet
};

}  // namespace nekton
