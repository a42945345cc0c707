// Members that come and go for as long as one likes, ten of them alive at a time: what is left behind.
//
// For one .cc file of a test program (tests/count_allocations.h).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/count_allocations.h"

namespace nekton {

enum class ChurnKind : std::uint8_t {
  kLeave,    // each says goodbye, and another of a new name and address joins
  kCrash,    // each dies, and another of a new name and address joins
  kRestart,  // each dies, and comes back with its name
  kReturn,   // each says goodbye, and comes back with its name
  kMove,     // each dies, and comes back with its name at a new address
};

struct Churn {
  static constexpr std::size_t kAlive = 10;  // n0, who stays, among them
  // A crash takes up to a hold to be known.
  static Duration Pace(ChurnKind kind, const Config& config) {
    if (kind == ChurnKind::kLeave || kind == ChurnKind::kReturn) return std::chrono::seconds(1);
    return config.beats() ? config.fail_after + std::chrono::seconds(30) : std::chrono::seconds(3);
  }

  // What it was in a quarter of the steps.
  struct Quarter {
    std::size_t rows_max = 0;      // of n0
    std::uint64_t syncs = 0;       // that n0 served
    std::uint64_t sync_bytes = 0;  // and sent
    double bytes_per_sync() const { return static_cast<double>(sync_bytes) / static_cast<double>(syncs); }
  };
  std::vector<Quarter> quarters;
  std::uint64_t bytes_of_member = 0;  // what n0, who saw all of it, held in the end, when all was forgotten
  std::uint64_t bytes_of_all = 0;     // what the whole simulation held then
  std::uint64_t bytes_of_entry =
      0;  // of one member that was added and never started: the simulator keeps that for ever
  Duration joined = Duration::max();  // how long the last newcomer took until everyone knew it
};

class ChurnRun {
 public:
  ChurnRun(ChurnKind kind, const Config& config)
      : kind_(kind),
        config_(config),
        before_(bytes_live),
        c_({.nodes = Churn::kAlive, .config = config, .record = false}) {
    for (SimId id = 1; id < Churn::kAlive; ++id) slots_.push_back(id);
  }

  Churn Run(std::size_t steps) {
    Churn churn;
    EXPECT_TRUE(c_.Converge());
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const Counters before = c_.member(0).counters();
      Churn::Quarter its;
      for (std::size_t step = 0; step < steps / 4; ++step) {
        Step();
        its.rows_max = std::max(its.rows_max, c_.member(0).size());
      }
      const Counters& after = c_.member(0).counters();
      its.syncs = after[Counter::kSyncsServed] - before[Counter::kSyncsServed];
      its.sync_bytes = after[Counter::kSyncBytesSent] - before[Counter::kSyncBytesSent];
      churn.quarters.push_back(its);
    }
    Settle(&churn);
    return churn;
  }

 private:
  // The slot whose turn it is gets another process.
  void Step() {
    SimId& slot = slots_[turn_++ % slots_.size()];
    const bool says_goodbye = kind_ == ChurnKind::kLeave || kind_ == ChurnKind::kReturn;
    const bool same_name = kind_ != ChurnKind::kLeave && kind_ != ChurnKind::kCrash;
    if (says_goodbye) {
      c_.Leave(slot);
    } else {
      c_.Crash(slot, Port::kRefuses);
    }
    c_.RunFor(Churn::Pace(kind_, config_) / 2);
    EXPECT_EQ(c_.sim().state(slot), says_goodbye ? SimState::kLeft : SimState::kCrashed);
    if (same_name) {
      RestartOptions options;
      if (kind_ == ChurnKind::kMove) options.address = Address::V4(10, 200, 0, 0, static_cast<std::uint16_t>(++ports_));
      c_.Restart(slot, options);
    } else {
      c_.sim().Remove(slot);
      slot = c_.AddNode();
    }
    c_.RunFor(Churn::Pace(kind_, config_) / 2);
  }

  void Settle(Churn* churn) {
    using namespace std::chrono_literals;
    c_.RunFor(3min);  // everybody who went is forgotten, but where tombstones last a day
    EXPECT_TRUE(c_.Converge());
    EXPECT_LE(c_.member(0).size(), config_.beats() ? config_.members_max : Churn::kAlive);
    EXPECT_EQ(c_.member(0).alive(), Churn::kAlive);
    const Duration from = c_.now();
    c_.AddNode();
    EXPECT_TRUE(c_.Converge(10s));
    churn->joined = c_.now() - from;
    churn->bytes_of_all = bytes_live - before_;
    for (int i = 0; i < 200; ++i) c_.sim().Add(config_);
    churn->bytes_of_entry = (bytes_live - before_ - churn->bytes_of_all) / 200;
    // What its end gives back is what it held.
    const std::uint64_t before = bytes_live;
    c_.Crash(0);
    churn->bytes_of_member = before - bytes_live;
  }

  const ChurnKind kind_;
  const Config config_;
  const std::uint64_t before_;
  Cluster c_;
  std::vector<SimId> slots_;
  std::size_t turn_ = 0;
  std::uint32_t ports_ = 0;
};

// What `many` steps leave behind is what `few` do; the rows are those that the time until one is forgotten allows.
inline void ExpectChurnIsBounded(ChurnKind kind, std::size_t few, std::size_t many,
                                 const Config& config = Config::Lan()) {
  const Churn before = ChurnRun(kind, config).Run(few);
  const Churn churn = ChurnRun(kind, config).Run(many);
  const bool same_name = kind != ChurnKind::kLeave && kind != ChurnKind::kCrash;
  const Duration remembered = config.forget_after + std::chrono::seconds(20);  // the time to find a crash
  const std::size_t rows =
      Churn::kAlive + (same_name ? 0 : static_cast<std::size_t>(remembered / Churn::Pace(kind, config)));
  for (const Churn::Quarter& quarter : churn.quarters) {
    EXPECT_LE(quarter.rows_max, std::min(rows, config.members_max));
    EXPECT_LE(quarter.bytes_per_sync(), churn.quarters[0].bytes_per_sync() * 1.25);
    std::cout << "rows " << quarter.rows_max << ", syncs " << quarter.syncs << ", bytes per sync "
              << quarter.bytes_per_sync() << "\n";
  }
  std::cout << "bytes " << before.bytes_of_member << " after " << few << ", " << churn.bytes_of_member << " after "
            << many << "; joined after " << std::chrono::duration<double>(churn.joined).count() << " s\n";
  // Also of what members share: names and tags.
  const double grown = static_cast<double>(churn.bytes_of_all) - static_cast<double>(before.bytes_of_all);
  const double per_step = grown / static_cast<double>(many - few);
  std::cout << "of all " << before.bytes_of_all << ", then " << churn.bytes_of_all << ": " << per_step
            << " bytes a step; an entry takes " << churn.bytes_of_entry << "\n";
  // One that ran keeps a few bytes more than its entry, and vectors grow by doubling; a name and its tags that were left
  // behind would be 200 bytes.
  EXPECT_LE(per_step, same_name ? 4.0 : 110.0 + static_cast<double>(churn.bytes_of_entry));
  EXPECT_GT(before.bytes_of_member, 5'000u) << "it counts";
  EXPECT_LE(churn.bytes_of_member, before.bytes_of_member * 11 / 10);
}

}  // namespace nekton
