// On the engine's bench the members send heartbeats, as profile Mesh or Pair has it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine_rig.h"

namespace nekton {

inline constexpr Duration kMeshDeadline = std::chrono::seconds(30) + Duration(1);  // the first silence that convicts
inline constexpr Duration kPairDeadline = std::chrono::seconds(6);

inline Config OnBench(Config config, std::uint64_t seed = 1) {
  config.name = "self";
  config.generation = Rig::kGeneration;
  config.seed = seed;
  return config;
}
inline Config MeshConfig(std::uint64_t seed = 1) { return OnBench(Config::Mesh(), seed); }
inline Config PairConfig(std::uint64_t seed = 1) { return OnBench(Config::Pair(), seed); }

// How one played heartbeat differs from the next ordinary one.
struct BeatOf {
  std::uint8_t flags = 0;
  std::optional<std::uint32_t> sequence = {};   // else one more than its last
  std::optional<std::uint32_t> watermark = {};  // else all that was sent to it was heard
  std::vector<Update> tells = {};
  bool differs = false;  // its table is another
};

class BeatRig : public Rig {
 public:
  explicit BeatRig(const Config& with = MeshConfig(), bool wants_events = true) : Rig(with, wants_events) {}

  // So many members are known, each has got its first heartbeat, and has answered with its own.
  void Meet(std::size_t n) {
    Know(n);
    Wake();
    for (Peer& peer : peers) Beat(peer);
    Clear();
  }

  // A heartbeat of the member comes.
  void Beat(Peer& peer, const BeatOf& how = {}) {
    Look();
    Side& side = sides_[peer.name];
    Frame frame = Of(FrameType::kHeartbeat, how.sequence.value_or(side.sequence + 1));
    side.sequence = std::max(side.sequence, frame.sequence);
    frame.flags = how.flags;
    frame.watermark = how.watermark.value_or(side.seen);
    frame.digest = engine->digest() + (how.differs ? 1 : 0);
    Receive(peer, frame, how.tells);
  }
  // The member is started again: its own heartbeats begin anew, and it has seen none of ours.
  void Reborn(Peer& peer) {
    Look();
    ++peer.key.generation;
    peer.key.incarnation = 0;
    sides_[peer.name] = {0, 0, sent.size()};
  }
  // The highest sequence that was sent to it.
  std::uint32_t SeenBy(const Peer& peer) {
    Look();
    return sides_[peer.name].seen;
  }

  // Time passes; these members send a heartbeat every so often, all at once, the first of them after one interval, and
  // answer those that ask.
  void Live(Duration time, const std::vector<Peer*>& who, Duration every = std::chrono::seconds(10)) {
    const Instant end = now.boot + time;
    Instant next = now.boot + every;
    for (;;) {
      const Instant to = std::min(end, next);
      while (engine->NextWake() <= to) {
        const std::size_t from = sent.size();
        Step();
        AnswerThose(from, who);
      }
      SetTime(to);
      if (next <= end) {
        for (Peer* peer : who) {
          const std::size_t from = sent.size();
          Beat(*peer);
          AnswerThose(from, who);
        }
        next += every;
      }
      if (to == end) return;
    }
  }

  void Clear() {
    Look();
    Rig::Clear();
    for (auto& [name, side] : sides_) side.looked = 0;
  }

  std::vector<Said> BeatsTo(const Peer& peer) const { return SentTo(peer, FrameType::kHeartbeat); }
  // Those that ask for an answer, outside the rhythm.
  std::vector<Said> AsksTo(const Peer& peer) const {
    std::vector<Said> found = BeatsTo(peer);
    std::erase_if(found, [](const Said& said) { return said.frame.flags != (kFlagAsks | kFlagExtra); });
    return found;
  }
  // The instants of these, counted from `since`.
  static std::vector<Duration> Times(const std::vector<Said>& said, Instant since) {
    std::vector<Duration> times;
    for (const Said& one : said) times.push_back(one.at - since);
    return times;
  }
  // When our signals against the member were given, from `since` on: the last four at most.
  std::vector<Testimony> Signals(const Peer& peer) const {
    const auto explanation = engine->Explain(now, peer.name);
    if (!explanation.ok()) return {};
    std::vector<Testimony> signals = explanation->why.recent;
    std::erase_if(signals, [](const Testimony& said) { return said.signal == Signal::kHealthy; });
    std::sort(signals.begin(), signals.end(), [](const Testimony& a, const Testimony& b) { return a.at < b.at; });
    return signals;
  }
  bool HoldRuns(const Peer& peer) const {
    const auto explanation = engine->Explain(now, peer.name);
    return explanation.ok() && explanation->why.hold.has_value() && explanation->why.hold->running;
  }
  // The only event of this kind.
  Event Only(EventKind kind) const {
    Event found;
    int count = 0;
    for (const Event& event : events) {
      if (event.kind != kind) continue;
      found = event;
      ++count;
    }
    EXPECT_EQ(count, 1) << Name(kind);
    return found;
  }

 private:
  struct Side {
    std::uint32_t sequence = 0;  // of its own
    std::uint32_t seen = 0;      // of ours
    std::size_t looked = 0;      // how much of `sent`
  };

  void Look() {
    for (const Peer& peer : peers) {
      Side& side = sides_[peer.name];
      for (; side.looked < sent.size(); ++side.looked) {
        const Said& said = sent[side.looked];
        if (said.frame.type != FrameType::kHeartbeat || said.to != peer.address) continue;
        side.seen = std::max(side.seen, said.frame.sequence);
      }
    }
  }
  void AnswerThose(std::size_t from, const std::vector<Peer*>& who) {
    for (std::size_t i = from; i < sent.size(); ++i) {
      if (sent[i].frame.type != FrameType::kHeartbeat || (sent[i].frame.flags & kFlagAsks) == 0) continue;
      Peer* peer = Find(sent[i].to);
      if (peer != nullptr && std::find(who.begin(), who.end(), peer) != who.end()) Beat(*peer, {.flags = kFlagExtra});
    }
  }

  std::map<std::string, Side> sides_;
};

}  // namespace nekton
