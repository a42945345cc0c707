// The StateTransitionManager and its slow model side by side: random runs, compared after every input; a run that fails
// is cut down to the shortest that does.
#pragma once

#include <array>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "stm/stm.h"
#include "tests/stm_inputs.h"
#include "tests/stm_model.h"
#include "tests/stm_shrink.h"

namespace nekton {

struct StmSetting {
  const char* name;
  StmConfig config;
};

// Times in nanoseconds, like those of the inputs.
inline const std::array<StmSetting, 8> kStmSettings{{
    {"swim", {.max_future_skew = Duration(20), .max_age = Duration(400)}},
    {"mesh",
     {.demote_threshold = 3,
      .recovery_hold = Duration(9),
      .rumour_weight = 1,
      .verdicts = false,
      .revive = Revive::kHealthy,
      .max_future_skew = Duration(20),
      .max_age = Duration(90),
      .max_local_pause = Duration(5)}},
    {"mesh, strict recovery, verdicts",
     {.demote_threshold = 3,
      .recovery_threshold = 2,
      .recovery_hold = Duration(5),
      .rumour_weight = 1,
      .revive = Revive::kHealthy,
      .max_future_skew = Duration(0),
      .max_age = Duration(300)}},
    {"pair",
     {.demote_threshold = 1,
      .promote_threshold = 1,
      .rumour_weight = 0,
      .verdicts = false,
      .revive = Revive::kJoinOnly,
      .max_age = Duration(50),
      .max_local_pause = Duration(3)}},
    {"ten must agree",
     {.demote_threshold = 10,
      .promote_threshold = 3,
      .rumour_weight = 1,
      .max_future_skew = Duration(9),
      .max_age = Duration(2000)}},
    {"all ones, one nanosecond of pause",
     {.demote_threshold = 1,
      .promote_threshold = 1,
      .recovery_hold = Duration(1),
      .rumour_weight = 1,
      .revive = Revive::kHealthy,
      .max_age = Duration(40),
      .max_local_pause = Duration(1)}},
    {"little room",
     {.demote_threshold = 4,
      .rumour_weight = 2,
      .max_future_skew = Duration(20),
      .max_age = Duration(60),
      .max_records = 5}},
    {"no room",
     {.demote_threshold = 2,
      .rumour_weight = 2,
      .max_future_skew = Duration(3),
      .max_age = Duration(20),
      .max_local_pause = Duration(30),
      .max_records = 2}},
}};

// What all runs together have met: a comparison that never gets anywhere proves nothing.
struct StmCoverage {
  std::set<Outcome> outcomes;
  std::set<std::string> transitions;
  std::set<std::string> holds;  // what a hold was seen to be
  StmCounters met;              // those of all runs, added up
};

// All that the table allows.
inline std::set<std::string> AllTransitions() {
  return {"ACTIVE>ACTIVE restarted",
          "ACTIVE>INACTIVE left",
          "ACTIVE>INACTIVE replaced",
          "ACTIVE>SUSPECT demotion_threshold",
          "ACTIVE>SUSPECT gossip",
          "ACTIVE>SUSPECT refused",
          "INACTIVE>ACTIVE recovery_window_elapsed",
          "INACTIVE>ACTIVE refuted",
          "INACTIVE>ACTIVE restarted",
          "SUSPECT>ACTIVE promotion_threshold",
          "SUSPECT>ACTIVE refuted",
          "SUSPECT>ACTIVE restarted",
          "SUSPECT>INACTIVE confirm_dead_hold_elapsed",
          "SUSPECT>INACTIVE gossip",
          "SUSPECT>INACTIVE left",
          "SUSPECT>INACTIVE refused",
          "SUSPECT>INACTIVE replaced"};
}

class StmComparison {
 public:
  explicit StmComparison(const StmConfig& config, StmMistake mistake = StmMistake::kNone)
      : stm_(config), model_(config, mistake) {}

  // Gives `in` to both. Returns what differs after it, one thing a line; empty: nothing.
  std::string Step(const StmInput& in) {
    changes_.clear();
    model_.changes.clear();
    std::ostringstream out;
    Outcomes(out, Feed(stm_, in, changes_), FeedModel(in));
    Changes(out);
    Line(out, "NextDeadline", stm_text::Time(stm_.NextDeadline()), stm_text::Time(model_.NextDeadline()));
    Line(out, "records", stm_.records(), model_.records());
    Counters(out);
    for (PeerId peer = 0; peer < StmInputs::kPeers; ++peer) Peer(out, in.now, peer);
    return out.str();
  }

  Instant NextDeadline() const { return stm_.NextDeadline(); }

  void Collect(StmCoverage& coverage) const {
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      if (stm_.counters().outcomes[i] > 0) coverage.outcomes.insert(static_cast<Outcome>(i));
    }
    coverage.transitions.insert(transitions_.begin(), transitions_.end());
    coverage.holds.insert(holds_.begin(), holds_.end());
    coverage.met.records_displaced += stm_.counters().records_displaced;
    coverage.met.observers_displaced += stm_.counters().observers_displaced;
    coverage.met.witnesses_displaced += stm_.counters().witnesses_displaced;
    coverage.met.taken_back += stm_.counters().taken_back;
    coverage.met.flaps += stm_.counters().flaps;
    coverage.met.pauses += stm_.counters().pauses;
  }

 private:
  template <typename T>
  static void Line(std::ostream& out, const std::string& what, const T& got, const T& want) {
    if (!(got == want)) out << "  " << what << ": " << got << ", the model: " << want << "\n";
  }
  template <typename T>
  static void NameLine(std::ostream& out, const std::string& what, T got, T want) {
    Line(out, what, std::string(Name(got)), std::string(Name(want)));
  }

  std::optional<Outcome> FeedModel(const StmInput& in) {
    switch (in.kind) {
      case StmInput::Kind::kApply:
        return model_.Apply(in.now, in.said, in.key, in.terms);
      case StmInput::Kind::kRumour:
        return model_.Rumour(in.now, in.peer, in.key, in.word, in.terms);
      case StmInput::Kind::kVerdict:
        return model_.Verdict(in.now, in.peer, in.key, in.word, in.terms);
      case StmInput::Kind::kRefute:
        return model_.Refute(in.now, in.peer, in.key);
      case StmInput::Kind::kLeft:
        model_.Depart(in.now, in.peer, in.key, Transition::kLeft);
        break;
      case StmInput::Kind::kReplaced:
        model_.Depart(in.now, in.peer, in.key, Transition::kReplaced);
        break;
      case StmInput::Kind::kRestarted:
        model_.Restarted(in.now, in.peer, in.key);
        break;
      case StmInput::Kind::kBury:
        model_.Bury(in.now, in.peer, in.key);
        break;
      case StmInput::Kind::kForget:
        model_.Forget(in.peer);
        break;
      case StmInput::Kind::kPaused:
        model_.Paused(in.now, in.now.boot - in.from);
        break;
      case StmInput::Kind::kDeaf:
        model_.Deaf(in.now, in.from, in.to);
        break;
      case StmInput::Kind::kAdvance:
        model_.Advance(in.now);
        break;
    }
    return std::nullopt;
  }

  static void Outcomes(std::ostream& out, std::optional<Outcome> got, std::optional<Outcome> want) {
    if (got.has_value() && want.has_value()) NameLine(out, "outcome", *got, *want);
  }

  static std::string Text(const StateChange& c) {
    std::ostringstream out;
    out << "peer " << c.peer << " " << Name(c.from) << ">" << Name(c.to) << " " << Name(c.transition) << " by "
        << stm_text::Number(c.observer) << " key " << stm_text::Key(c.key) << " at " << stm_text::Time(c.at)
        << " lasted " << c.lasted.count();
    return out.str();
  }

  void Changes(std::ostream& out) {
    for (std::size_t i = 0; i < std::max(changes_.size(), model_.changes.size()); ++i) {
      const std::string got = i < changes_.size() ? Text(changes_[i]) : "nothing";
      const std::string want = i < model_.changes.size() ? Text(model_.changes[i]) : "nothing";
      Line(out, "change", got, want);
    }
    for (const StateChange& c : changes_) {
      transitions_.insert(std::string(Name(c.from)) + ">" + std::string(Name(c.to)) + " " +
                          std::string(Name(c.transition)));
    }
  }

  void Counters(std::ostream& out) const {
    const StmCounters& want = model_.counters();
    std::vector<std::uint64_t> wanted;
    want.ForEach([&](std::string_view, std::string_view, std::uint64_t value) { wanted.push_back(value); });
    std::size_t at = 0;
    stm_.counters().ForEach([&](std::string_view prefix, std::string_view name, std::uint64_t value) {
      if (value != wanted[at]) Line(out, std::string(prefix) + std::string(name), value, wanted[at]);
      ++at;
    });
  }

  void Peer(std::ostream& out, const Tick& now, PeerId peer) {
    std::ostringstream mine;
    NameLine(mine, "state", stm_.StateOf(peer), model_.StateOf(peer));
    const auto got = stm_.HoldOf(peer);
    const auto want = model_.HoldOf(peer);
    Line(mine, "has a hold", got.has_value(), want.has_value());
    if (got && want) {
      Line(mine, "since", stm_text::Time(got->since), stm_text::Time(want->since));
      Line(mine, "end", stm_text::Time(got->end), stm_text::Time(want->end));
      Line(mine, "running", got->running, want->running);
      Line(mine, "ours", got->own, want->own);
      Line(mine, "key", stm_text::Key(got->key), stm_text::Key(want->key));
    }
    const Explanation told = stm_.Explain(now, peer);
    Explanations(mine, told, model_.Explain(peer));
    if (told.hold) See(*told.hold);
    if (!mine.str().empty()) out << "  peer " << peer << ":\n" << mine.str();
  }

  void See(const Explanation::Hold& hold) {
    if (!hold.running) holds_.insert("cancelled");
    if (!hold.running) return;
    holds_.insert(hold.own ? "own" : "heard of");
    if (hold.awaits_signal) holds_.insert("awaits a signal");
    if (hold.condemned) holds_.insert("condemned");
    if (hold.refusals > hold.confirmers && hold.confirmers > 0) holds_.insert("refused");
    if (hold.confirmations > 0 && hold.confirmations < hold.confirmers) holds_.insert("confirmed by some");
    if (hold.confirmations >= hold.confirmers && hold.confirmers > 0) holds_.insert("confirmed by all");
  }

  static std::string Why(const Explanation& told) {
    return told.transition ? std::string(Name(*told.transition)) + " by " + stm_text::Number(told.observer) : "none";
  }

  static std::string Witnesses(std::vector<Witness> all) {
    std::sort(all.begin(), all.end(), [](const Witness& a, const Witness& b) { return a.observer < b.observer; });
    std::string text;
    for (const Witness& w : all) {
      text += " " + stm_text::Number(w.observer) + (w.counts ? "" : " silent") + (w.refused ? " refused" : "") +
              (w.verdict ? " verdict" : "") + ";";
    }
    return text;
  }

  static void Explanations(std::ostream& out, const Explanation& got, const Explanation& want) {
    NameLine(out, "explained state", got.state, want.state);
    Line(out, "recorded", got.recorded, want.recorded);
    Line(out, "departed", got.departed, want.departed);
    if (!got.recorded || !want.recorded) return;
    Line(out, "key", stm_text::Key(got.key), stm_text::Key(want.key));
    Line(out, "last transition", Why(got), Why(want));
    Line(out, "count", got.count, want.count);
    Line(out, "flaps", got.flaps, want.flaps);
    Line(out, "witnesses", Witnesses(got.witnesses), Witnesses(want.witnesses));
    if (!got.hold || !want.hold) return;
    Line(out, "explained running", got.hold->running, want.hold->running);
    Line(out, "own", got.hold->own, want.hold->own);
    Line(out, "awaits a signal", got.hold->awaits_signal, want.hold->awaits_signal);
    Line(out, "confirmations", got.hold->confirmations, want.hold->confirmations);
    Line(out, "confirmers", got.hold->confirmers, want.hold->confirmers);
    Line(out, "refusals", got.hold->refusals, want.hold->refusals);
    Line(out, "condemned", got.hold->condemned, want.hold->condemned);
  }

  Stm stm_;
  StmModel model_;
  std::vector<StateChange> changes_;
  std::set<std::string> transitions_;
  std::set<std::string> holds_;
};

// A run in which the two differ.
struct StmFailure {
  std::vector<StmInput> inputs;  // the last of them is where they part
  std::string difference;
};

// The difference after the last of `inputs`, or after the first at which there is one.
inline StmFailure RunBoth(const StmConfig& config, const std::vector<StmInput>& inputs, StmMistake mistake) {
  StmComparison comparison(config, mistake);
  StmFailure failure;
  for (const StmInput& in : inputs) {
    failure.inputs.push_back(in);
    failure.difference = comparison.Step(in);
    if (!failure.difference.empty()) break;
  }
  return failure;
}

// One random run of `steps` inputs; nothing if the two agree all the way, else the shortest that differs.
inline std::optional<StmFailure> RandomRun(const StmConfig& config, std::uint64_t seed, int steps, StmMistake mistake,
                                           StmCoverage& coverage) {
  StmInputs inputs(config, seed);
  StmComparison comparison(config, mistake);
  std::vector<StmInput> run;
  std::string difference;
  while (difference.empty() && steps-- > 0) {
    run.push_back(inputs.Next(comparison.NextDeadline()));
    difference = comparison.Step(run.back());
  }
  comparison.Collect(coverage);
  if (difference.empty()) return std::nullopt;
  const auto fails = [&](const std::vector<StmInput>& some) {
    return !RunBoth(config, some, mistake).difference.empty();
  };
  return RunBoth(config, Shrink(std::move(run), fails), mistake);
}

inline std::string Text(const StmFailure& failure) {
  std::string text = std::to_string(failure.inputs.size()) + " inputs:\n";
  for (const StmInput& in : failure.inputs) text += "  " + Text(in) + "\n";
  return text + "after which differ:\n" + failure.difference;
}

}  // namespace nekton
