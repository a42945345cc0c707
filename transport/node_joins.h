// The calls of Node::Join that have a timeout: seeds, names among them, to addresses; addresses to calls of the engine.
//
// The engine retries what it was given (swim/engine.h, Join::limit); names are looked up by Seeds; here both are put
// together, with one deadline. Takes the time as an argument and owns no timer. At most kMax calls. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "phi/time.h"
#include "swim/engine.h"
#include "transport/join_report.h"
#include "transport/seeds.h"

namespace nekton {

class NodeJoins {
 public:
  using Done = std::function<void(const JoinReport&)>;
  using Finished = std::pair<Done, JoinReport>;
  static constexpr std::size_t kMax = 64;

  // The seeds were added to `seeds` before. At kMax `done` gets ResourceExhausted.
  void Begin(Instant now, const std::vector<std::string>& texts, Duration limit, Done done, Seeds& seeds);
  // Looks at what the seeds have come to and orders the engine to join what is new.
  void Turn(Instant now, const Seeds& seeds, const std::function<bool(const Address&)>& is_own,
            const std::function<absl::Status(const Join&)>& order);
  // A kJoinDone of the engine.
  void Ended(const Event& event);
  // Those that are over, to be called. Empty functions are never among them.
  std::vector<Finished> TakeFinished(Instant now);
  std::vector<Done> TakeAll();  // to be dropped
  Instant next() const;         // when TakeFinished may have something though nothing has happened

 private:
  struct Entry {
    std::string seed;
    bool settled = false;  // a numeric one, or a name that was looked up
    absl::Status lookup;   // how
    std::vector<SeedResult> results;
  };
  struct Call {
    Instant until{};
    Done done;
    std::vector<Entry> entries;
    std::vector<std::uint64_t> open;  // calls of the engine
  };

  static void TurnEntry(Entry& entry, const Seeds& seeds, const std::function<bool(const Address&)>& is_own,
                        std::vector<Address>& fresh);
  static bool AnyOk(const Call& call);
  static bool AllForGood(const Call& call);
  static JoinReport Report(const Call& call);
  static void Set(Call& call, const Address& address, const absl::Status& status);

  std::vector<Call> calls_;
  std::vector<Finished> refused_;
  std::uint64_t last_id_ = 0;
};

}  // namespace nekton
