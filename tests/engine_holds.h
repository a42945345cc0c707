// On the engine's bench m1 is suspected: by a round of ours, by a port that refuses, by what others say.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine_rig.h"

namespace nekton {

// What holds are with profile Lan: a member alone accuses in a group of so many, and so many confirm it.
struct HoldLengthCase {
  std::size_t members;  // ourselves and the accused among them
  std::size_t confirmations;
  Duration length;
};
inline constexpr HoldLengthCase kHoldLengths[] = {
    {2, 0, std::chrono::seconds(10)},               // nobody could confirm
    {3, 0, std::chrono::seconds(10)},               // one could
    {3, 1, std::chrono::milliseconds(2500)},        //
    {4, 0, std::chrono::seconds(10)},               // two
    {4, 1, std::chrono::nanoseconds(5268026848)},   // 10 s - 7.5 s * log(2) / log(3)
    {4, 2, std::chrono::milliseconds(2500)},        //
    {5, 0, std::chrono::seconds(10)},               // three, and never more
    {5, 1, std::chrono::milliseconds(6250)},        // 10 s - 7.5 s * log(2) / log(4)
    {5, 2, std::chrono::nanoseconds(4056390622)},   // 10 s - 7.5 s * log(3) / log(4)
    {5, 3, std::chrono::milliseconds(2500)},        //
    {13, 0, std::chrono::seconds(10)},              //
    {13, 1, std::chrono::milliseconds(6250)},       //
    {13, 2, std::chrono::nanoseconds(4056390622)},  //
    {13, 3, std::chrono::milliseconds(2500)},       //
    {13, 5, std::chrono::milliseconds(2500)},       //
};
constexpr Duration kLongest = std::chrono::seconds(10);
constexpr Duration kShortest = std::chrono::milliseconds(2500);
constexpr Duration kMargin = std::chrono::seconds(1);

// The holds of Lan without any round of our own: a period is an hour.
inline Config Quiet() {
  Config config = Rig::Lan();
  config.period = std::chrono::hours(1);
  config.tolerated_pause = config.period + std::chrono::seconds(2);
  config.hold_alpha = 0;
  return config;
}

inline void Kill(Peer& peer) { peer.answers = peer.answers_relays = peer.relays = false; }

// `count` members from m2 on.
inline Accusers FromM2(const Rig& rig, std::size_t count) {
  Accusers by;
  for (std::size_t i = 0; i < count; ++i) by.push_back(&rig.peers.at(1 + i));
  return by;
}

// The accusers say that m1's port refused them.
inline Update Refused(Update accusation) {
  for (std::size_t i = 0; i < accusation.accuser_count; ++i) accusation.accusers[i].refused = true;
  return accusation;
}

// Lets m1 die and our round at it fail; what was said and happened meanwhile is cleared away. m1 stays silent in the
// accusing round that begins in the same instant.
inline Instant SuspectByARound(Rig& rig) {
  Kill(rig[1]);
  while (rig.StateOf(rig[1]) != "SUSPECT 0") rig.Step();
  rig.Clear();
  return rig.now.boot;
}

// Its port refuses the first ping of our round.
inline Instant SuspectByRefusal(Rig& rig) {
  Kill(rig[1]);
  rig.NextRound(&rig[1]);
  rig.Report(rig[1].address, Trouble::kRefused);
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.Clear();
  return rig.now.boot;
}

// So many members accuse m1; we only hear of it.
inline Instant SuspectByHearsay(Rig& rig, std::size_t accusers = 1) {
  Kill(rig[1]);
  rig.Gossip(rig[2], {Suspect(rig[1], FromM2(rig, accusers))});
  EXPECT_EQ(rig.Events(), "suspected m1");
  rig.Clear();
  return rig.now.boot;
}

// m1 is SUSPECT until just before `end`, and INACTIVE then. Returns the event of it.
inline Event ExpectEnd(Rig& rig, Instant end, Transition why = Transition::kConfirmDeadHoldElapsed) {
  if (end > rig.now.boot) rig.RunUntil(end - Duration(1));
  EXPECT_EQ(rig.StateOf(rig[1]), "SUSPECT 0");
  rig.events.clear();
  rig.RunUntil(end);
  EXPECT_EQ(rig.StateOf(rig[1]), "INACTIVE 0");
  EXPECT_EQ(rig.events.size(), 1u);
  const Event event = rig.events.empty() ? Event{} : rig.events[0];
  EXPECT_EQ(event.kind, EventKind::kFailed);
  EXPECT_EQ(event.at, end);
  EXPECT_EQ(event.cause.transition, why) << Name(event.cause.transition);
  return event;
}

inline std::vector<Said> Questions(const Rig& rig) {
  std::vector<Said> found = rig.Sent(FrameType::kPing);
  std::erase_if(found, [](const Said& said) { return said.frame.sequence != kQuestionSequence; });
  return found;
}

// Whom an accusation names, "self" for us, sorted by name.
inline std::vector<std::string> AccusersIn(Rig& rig, const Update& update) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < update.accuser_count; ++i) {
    const std::uint64_t id = update.accusers[i].id;
    const Peer* peer = rig.FindId(id);
    names.push_back(id == rig.self.id() ? "self" : peer != nullptr ? peer->name : "?");
    if (update.accusers[i].refused) names.back() += " refused";
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The gossip that accuses m1: whom each frame names.
inline std::vector<std::vector<std::string>> Gossiped(Rig& rig) {
  std::vector<std::vector<std::string>> found;
  for (const Said& said : rig.Sent(FrameType::kGossip)) {
    if (said.to != rig[1].address && said.Accuses("m1")) found.push_back(AccusersIn(rig, *said.Of("m1")));
  }
  return found;
}

}  // namespace nekton
