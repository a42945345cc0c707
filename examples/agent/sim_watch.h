// What the members of a simulated group made of each other, set against what really happened to them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "phi/time.h"
#include "transport/simulator.h"

namespace nekton {

class SimWatch {
 public:
  // Of one kill, as the others saw it. Times count from the kill.
  struct Kill {
    SimId id = kNobody;
    std::uint64_t generation = 0;
    Duration at{};
    std::optional<Duration> first_suspect;
    std::optional<Duration> first_confirm;
    std::optional<Duration> last_confirm;
    std::uint32_t suspected_by = 0;
    std::uint32_t confirmed_by = 0;
    std::size_t others = 0;  // live when it was killed
  };
  // Events about members whose process runs, by each observer.
  struct Mistakes {
    std::uint64_t suspicions = 0;
    std::uint64_t accusations = 0;  // suspicions from the observer's own probe rounds
    std::uint64_t inactive = 0;
  };

  explicit SimWatch(const Simulator* simulator) : simulator_(simulator) {}

  void Killed(SimId id);  // to be told before it is
  void Saw(const SimEvent& event);

  const std::vector<Kill>& kills() const { return kills_; }
  const Mistakes& of_running() const { return of_running_; }
  const Mistakes& of_paused() const { return of_paused_; }
  // The quickest and the slowest of all kills.
  std::optional<Duration> FirstSuspect() const;
  std::optional<Duration> LastConfirm() const;

 private:
  const Simulator* simulator_;
  std::vector<Kill> kills_;
  Mistakes of_running_;
  Mistakes of_paused_;
};

// The member that an event is about; kNobody where there is none.
SimId SubjectOf(const Event& event);

}  // namespace nekton
