// What the members of a group made of each other while some of them suffered anomalies, counted as the Lifeguard paper
// counts (section V-E).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "phi/time.h"
#include "swim/event.h"
#include "transport/sim_network.h"

namespace nekton::bench {

class Tally {
 public:
  // Of a group in which all hold all ACTIVE. `sick`: the members that suffer the anomalies, all at the same times.
  Tally(std::uint32_t members, const std::vector<SimId>& sick);

  void Begin(Duration now);  // an anomaly begins
  void End();                // it is over
  void Saw(Duration at, SimId observer, const Event& event);
  void Finish();  // nothing more comes

  // Failure events about members outside the sick set: at any observer, and at observers outside it (FP, FP-).
  std::uint64_t false_positives() const { return false_positives_; }
  std::uint64_t false_positives_at_healthy() const { return false_positives_at_healthy_; }
  std::uint32_t healthy_suspected() const;  // members outside the sick set that anyone suspected at least once

  // Of anomalies, each sick member's apart:
  std::uint64_t anomalies() const { return anomalies_; }
  // whose victim a healthy observer declared dead, in it or before the next one began
  std::uint64_t removed() const { return removed_; }
  // that no healthy observer noticed while they lasted, though none held their victim dead when they began
  std::uint64_t missed() const { return missed_; }
  // Seconds from the beginning of an anomaly to the first failure event at a healthy observer, and until all of these
  // hold its victim dead; both while it lasts, and of anomalies alone at whose beginning none did.
  const std::vector<double>& first_detections() const { return first_; }
  const std::vector<double>& full_disseminations() const { return full_; }

  bool AllActive() const { return troubled_ == 0; }  // every observer holds everybody ACTIVE

 private:
  enum class View : std::uint8_t { kActive, kSuspect, kDead };
  struct Anomaly {  // of one sick member, the latest
    bool counts = false;
    bool noticed = false;
    bool removed = false;
    bool everywhere = false;
  };

  View& ViewOf(SimId observer, SimId subject) { return views_[std::size_t{observer} * members_ + subject]; }
  void Set(SimId observer, SimId subject, View view);
  void Failed(Duration at, SimId observer, SimId subject);
  void Close();  // the anomalies that were counted last

  std::uint32_t members_;
  std::uint32_t healthy_ = 0;
  std::vector<bool> sick_;
  std::vector<View> views_;
  std::vector<std::uint32_t> dead_at_;  // healthy observers that hold it dead, by subject
  std::size_t troubled_ = 0;            // views that are not ACTIVE
  std::vector<bool> suspected_;
  std::vector<Anomaly> latest_;  // by member
  std::optional<Duration> began_;
  bool lasts_ = false;
  std::uint64_t false_positives_ = 0;
  std::uint64_t false_positives_at_healthy_ = 0;
  std::uint64_t anomalies_ = 0;
  std::uint64_t removed_ = 0;
  std::uint64_t missed_ = 0;
  std::vector<double> first_;
  std::vector<double> full_;
};

}  // namespace nekton::bench
