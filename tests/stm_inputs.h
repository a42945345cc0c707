// One input of the StateTransitionManager as a value, so that a run can be kept, replayed, cut short and printed.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "stm/stm.h"

namespace nekton {

struct StmInput {
  enum class Kind {
    kApply,
    kRumour,
    kVerdict,
    kRefute,
    kLeft,
    kReplaced,
    kRestarted,
    kBury,
    kForget,
    kPaused,
    kDeaf,
    kAdvance
  };
  Kind kind = Kind::kAdvance;
  Tick now{};
  PeerId peer = kNoPeer;
  LifeKey key{};
  HoldTerms terms{};
  Observation said{};  // kApply
  Word word{};         // kRumour, kVerdict
  Instant from{};      // kDeaf; kPaused: until now
  Instant to{};
};

// Gives it to the manager. The outcome is that of the calls that return one.
inline std::optional<Outcome> Feed(Stm& stm, const StmInput& in, std::vector<StateChange>& changes) {
  switch (in.kind) {
    case StmInput::Kind::kApply:
      return stm.Apply(in.now, in.said, in.key, in.terms, changes);
    case StmInput::Kind::kRumour:
      return stm.Rumour(in.now, in.peer, in.key, in.word, in.terms, changes);
    case StmInput::Kind::kVerdict:
      return stm.Verdict(in.now, in.peer, in.key, in.word, in.terms, changes);
    case StmInput::Kind::kRefute:
      return stm.Refute(in.now, in.peer, in.key, changes);
    case StmInput::Kind::kLeft:
      stm.Left(in.now, in.peer, in.key, changes);
      break;
    case StmInput::Kind::kReplaced:
      stm.Replaced(in.now, in.peer, in.key, changes);
      break;
    case StmInput::Kind::kRestarted:
      stm.Restarted(in.now, in.peer, in.key, changes);
      break;
    case StmInput::Kind::kBury:
      stm.Bury(in.now, in.peer, in.key);
      break;
    case StmInput::Kind::kForget:
      stm.Forget(in.peer);
      break;
    case StmInput::Kind::kPaused:
      stm.Paused(in.now, in.now.boot - in.from);
      break;
    case StmInput::Kind::kDeaf:
      stm.Deaf(in.now, in.from, in.to);
      break;
    case StmInput::Kind::kAdvance:
      stm.Advance(in.now, changes);
      break;
  }
  return std::nullopt;
}

namespace stm_text {

inline std::string Number(PeerId peer) { return peer == kNoPeer ? "nobody" : std::to_string(peer); }
inline std::string Time(Instant when) {
  return when == kNever ? "never" : std::to_string(when.time_since_epoch().count());
}
inline std::string Key(LifeKey key) {
  return "(" + std::to_string(key.generation) + ", " + std::to_string(key.incarnation) + ")";
}
inline std::string Terms(const HoldTerms& t) {
  return "{min " + std::to_string(t.min.count()) + ", max " + std::to_string(t.max.count()) + ", confirmers " +
         std::to_string(t.confirmers) + ", margin " + std::to_string(t.margin.count()) + ", refused " +
         std::to_string(t.refused.count()) + "}";
}
inline std::string ToldText(const StmInput& in) {
  return " peer " + Number(in.peer) + " key " + Key(in.key) + " by " + Number(in.word.observer) +
         (in.word.refused ? " (refused) " : " ") + Terms(in.terms);
}
inline std::string SaidText(const StmInput& in) {
  const Observation& said = in.said;
  std::string text = " peer " + Number(said.peer) + " by " + Number(said.observer) + " " +
                     std::string(Name(said.signal)) + (said.reason == Reason::kRefused ? " (refused)" : "") +
                     " epoch " + std::to_string(said.epoch) + " sequence " + std::to_string(said.sequence) + " nonce " +
                     std::to_string(said.nonce) + " weight " + std::to_string(said.weight);
  if (said.timestamp) {
    text += " made at wall" + std::string(*said.timestamp < in.now.wall ? " - " : " + ") +
            std::to_string(std::chrono::abs(*said.timestamp - in.now.wall).count());
  }
  return text + " key " + Key(in.key) + " " + Terms(in.terms);
}

}  // namespace stm_text

// On one line, for people.
inline std::string Text(const StmInput& in) {
  using namespace stm_text;  // NOLINT: the names above
  const std::string at = "at " + Time(in.now.boot) + " ";
  const std::string whom = " peer " + Number(in.peer) + " key " + Key(in.key);
  switch (in.kind) {
    case StmInput::Kind::kApply:
      return at + "Apply" + SaidText(in);
    case StmInput::Kind::kRumour:
      return at + "Rumour" + ToldText(in);
    case StmInput::Kind::kVerdict:
      return at + "Verdict" + ToldText(in);
    case StmInput::Kind::kRefute:
      return at + "Refute" + whom;
    case StmInput::Kind::kLeft:
      return at + "Left" + whom;
    case StmInput::Kind::kReplaced:
      return at + "Replaced" + whom;
    case StmInput::Kind::kRestarted:
      return at + "Restarted" + whom;
    case StmInput::Kind::kBury:
      return at + "Bury" + whom;
    case StmInput::Kind::kForget:
      return at + "Forget peer " + Number(in.peer);
    case StmInput::Kind::kPaused:
      return at + "Paused since " + Time(in.from);
    case StmInput::Kind::kDeaf:
      return at + "Deaf " + Time(in.from) + " - " + Time(in.to);
    case StmInput::Kind::kAdvance:
      return at + "Advance";
  }
  return "unknown";
}

// Draws inputs. Each run draws its habits first (how fast time goes, how much of what is said), so that different runs
// get to different places; time is counted in single nanoseconds, so that every boundary is met exactly and one to
// either side.
class StmInputs {
 public:
  static constexpr PeerId kPeers = 10;
  static constexpr PeerId kUs = 99;

  StmInputs(const StmConfig& config, std::uint64_t seed) : random_(seed), config_(config) {
    slowness_ = 2 + Draw(12);
    crowd_ = 1 + Draw(30);
    hot_ = 1 + Draw(3);
    refusing_ = Draw(3) == 0 ? 1 : 4;
    silence_ = Draw(3) == 0 ? 30 : 2;
    cheer_ = Draw(3) == 0 ? 5 : 33;
    unrest_ = Draw(2) == 0 ? 5 : 60;
    terms_ = Terms();
    for (std::uint32_t& share : shares_) share = Draw(4) == 0 ? 0 : 1 + Draw(12);
    shares_[0] += 6;
    shares_[static_cast<std::size_t>(StmInput::Kind::kAdvance)] += 2;
  }

  // `due`: when something is to happen next; sometimes the time goes there, or just beside.
  StmInput Next(Instant due) {
    Pass(due);
    if (Draw(12) == 0 && !past_.empty()) return Again();
    StmInput in{.now = now_, .peer = APeer(), .key = AKey(), .terms = Draw(10) == 0 ? Terms() : terms_};
    in.kind = AKind();
    in.word = {.observer = AWitness(), .refused = Draw(refusing_) == 0};
    if (in.kind == StmInput::Kind::kApply) in.said = Signalled(in);
    in.to = now_.boot + Duration(1) - Duration(Draw(6));
    in.from = in.to - Duration(Draw(9)) + Duration(1);
    if (in.kind == StmInput::Kind::kPaused) in.from = now_.boot - Duration(Draw(9)) + Duration(1);
    past_.push_back(in);
    return in;
  }

 private:
  std::uint32_t Draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  void Pass(Instant due) {
    if (Draw(slowness_) == 0) Go(Duration(Draw(4)));
    if (Draw(40) == 0 && due != kNever && due > now_.boot) Go(due - now_.boot + Duration(Draw(3)) - Duration(1));
    if (Draw(150) == 0) Go(config_.max_age < Duration(1000) ? config_.max_age / 2 : Duration(20));
    if (Draw(60) == 0) now_.wall += Duration(Draw(60)) - Duration(30);
  }
  void Go(Duration by) {
    now_.boot += by;
    now_.wall += by;
  }

  // One that was given before, perhaps with another time of receipt and other terms only.
  StmInput Again() {
    StmInput in = past_[past_.size() - 1 - Draw(static_cast<std::uint32_t>(std::min<std::size_t>(past_.size(), 60)))];
    in.now = now_;
    if (in.kind == StmInput::Kind::kApply && Draw(4) == 0) ++in.said.nonce;
    return in;
  }

  StmInput::Kind AKind() {
    std::uint32_t all = 0;
    for (const std::uint32_t share : shares_) all += share;
    std::uint32_t at = Draw(all);
    std::size_t kind = 0;
    while (at >= shares_[kind]) at -= shares_[kind++];
    const auto drawn = static_cast<StmInput::Kind>(kind);
    // These end what the others built up, so they come seldom.
    const bool rare = drawn >= StmInput::Kind::kLeft && drawn <= StmInput::Kind::kDeaf;
    return rare && Draw(4) != 0 ? StmInput::Kind::kApply : drawn;
  }

  PeerId APeer() { return Draw(300) == 0 ? kNoPeer : Draw(5) == 0 ? Draw(kPeers) : Draw(hot_); }
  PeerId AWitness() { return Draw(100) == 0 ? kNoPeer : Draw(kPeers + crowd_); }

  // Most keys lie close to each other; the range moves up slowly, so that new ones never end.
  LifeKey AKey() {
    const std::uint64_t at = base_ + (Draw(unrest_) == 0 ? Draw(5) : 2);
    if (Draw(50 * unrest_) == 0) ++base_;
    return {at / 8, at % 8};
  }

  HoldTerms Terms() {
    HoldTerms terms{.min = Duration(Draw(9)), .max = {}, .confirmers = Draw(5), .margin = Duration(Draw(4))};
    terms.max = terms.min + Duration(Draw(6) == 0 ? Draw(1'000'000'000) : Draw(14));
    terms.refused = Duration(Draw(6));
    return terms;
  }

  Observation Signalled(const StmInput& in) {
    const bool own = Draw(silence_) == 0;
    Observation said{.peer = in.peer, .observer = own ? kUs : AWitness()};
    const std::uint32_t signal = Draw(100);
    said.signal = signal < cheer_ ? Signal::kHealthy : signal < 90 ? Signal::kSuspect : static_cast<Signal>(Draw(4));
    said.reason = Draw(refusing_) == 0 ? Reason::kRefused : Reason::kProbeTimeout;
    said.weight = Draw(40) == 0 ? 0 : Draw(6) == 0 ? 1 + Draw(4) : 1;
    said.epoch = in.key.generation + (Draw(40) == 0 ? 1 : 0) - (in.key.generation > 0 && Draw(40) == 0 ? 1 : 0);
    said.sequence = Draw(12) == 0 ? sequence_ - Draw(3) : ++sequence_;
    said.nonce = random_() % 1000;
    if (own == (Draw(50) != 0)) return said;
    said.timestamp = now_.wall - Duration(Draw(4));
    if (Draw(20) == 0) said.timestamp = now_.wall + config_.max_future_skew + Duration(Draw(3)) - Duration(1);
    if (Draw(20) == 0) said.timestamp = now_.wall - config_.max_age + Duration(Draw(3)) - Duration(1);
    return said;
  }

  std::mt19937_64 random_;
  StmConfig config_;
  std::uint32_t slowness_;
  std::uint32_t crowd_;
  std::uint32_t hot_;
  std::uint32_t unrest_;    // the larger, the rarer are other keys
  std::uint32_t refusing_;  // the larger, the rarer are refused ports
  std::uint32_t silence_;   // the larger, the rarer do we speak ourselves
  std::uint32_t cheer_;     // percent of the signals that are kHealthy
  HoldTerms terms_;
  std::array<std::uint32_t, 12> shares_{};
  std::uint64_t base_ = 0;
  std::uint64_t sequence_ = 10;
  Tick now_{.boot = Instant(Duration(1000)), .wall = WallTime(Duration(1'000'000'000))};
  std::vector<StmInput> past_;
};

}  // namespace nekton
