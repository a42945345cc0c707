// What is done about a member that others accuse, or hold dead: hearers ask, corroborators look, the dead are tried.
#include <algorithm>

#include "swim/engine_impl.h"
#include "swim/tags.h"

namespace nekton {

// Half the margin before its hold ends a hearer asks (rule E), and at its end it looks whether it was answered (J).
void Engine::Impl::ScheduleQuestion(PeerId suspect) {
  if (config_.beats() || !config_.rules.accusers_go_on) return;  // with heartbeats everybody has evidence of its own
  const auto hold = stm_.HoldOf(suspect);
  if (hold.has_value() && hold->running) {
    const bool asked = questions_.StateOf(suspect) != OpenQuestions::State::kNone;
    row_timers_.Set(suspect, std::max(now_.boot, hold->end - (asked ? Duration{} : config_.hearer_margin / 2)));
  }
}

// The question is due, or it has been asked and the hold ends.
void Engine::Impl::QuestionTimer(Outbox& out, PeerId suspect) {
  row_timers_.Cancel(suspect);
  if (!HoldRuns(suspect)) return;
  const OpenQuestions::State state = questions_.StateOf(suspect);
  if (state == OpenQuestions::State::kAnswered) return;
  if (state == OpenQuestions::State::kNone) {
    ScheduleQuestion(suspect);  // a word may have been taken back since, so that the hold ends later
    if (row_timers_.Get(suspect) > now_.boot) return;
  } else if (stm_.HoldOf(suspect)->end <= now_.boot) {
    // Rule J: whom nobody answers does not hear what the suspect may have answered long ago, either.
    if (questions_.Times(suspect) >= kQuestionsMax) return;
    // A few quick ones first: the end may have come so suddenly that there was no time for an answer.
    const std::uint32_t doublings = std::min(questions_.Times(suspect) - 1, kAttemptsMax);
    stm_.Prolong(now_, suspect, std::min(config_.period / 2, config_.period / config_.attempts * (1 << doublings)));
    if (stm_.HoldOf(suspect)->end <= now_.boot) return;
  } else {
    return row_timers_.Set(suspect, stm_.HoldOf(suspect)->end);
  }
  AskAboutSuspect(out, suspect);
  if (config_.rules.await_answers) {
    row_timers_.Set(suspect, stm_.HoldOf(suspect)->end);
  } else {
    row_timers_.Cancel(suspect);
  }
}

// A hearer asks one named accuser and one random other before it believes: the acks bring what they know (rule F).
void Engine::Impl::AskAboutSuspect(Outbox& out, PeerId suspect) {
  absl::InlinedVector<PeerId, 2> asked;
  if (const Suspicion* suspicion = suspicions_.Find(suspect); suspicion != nullptr && !suspicion->accusers.empty()) {
    const std::uint32_t start = random_.Below(static_cast<std::uint32_t>(suspicion->accusers.size()));
    for (std::size_t i = 0; i < suspicion->accusers.size() && asked.empty(); ++i) {
      const PeerId accuser = table_.FindId(suspicion->accusers[(start + i) % suspicion->accusers.size()].id);
      if (accuser != kNoPeer && accuser != kSelf && table_[accuser].status == MemberStatus::kActive)
        asked.push_back(accuser);
    }
  }
  const PeerId other = PickActive([&](PeerId row) { return row != suspect && (asked.empty() || asked[0] != row); });
  if (other != kNoPeer) asked.push_back(other);
  Frame question = Header(FrameType::kPing, kQuestionSequence);
  question.digest = table_.digest();
  const PeerId forced[] = {suspect};
  absl::InlinedVector<std::uint64_t, OpenQuestions::kAsked> ids;
  for (const PeerId row : asked) {
    Send(out, table_[row].address, question, Purpose::kProbe, forced, true);
    ids.push_back(table_[row].id);
  }
  questions_.Asked(suspect, ids);
}

// The K ACTIVE members that follow the suspect's place on the ring of ids look at once when they first hear of it; those
// first whose zone is another than the accuser's, if that has one, for what is between two zones and deceives the accuser
// would deceive its neighbours, too. Who they are is the same wherever the tables are the same. So a live suspect hears of it by K + 1 paths within a round
// trip, and a dead one has K confirmations within a period, at a cost that does not grow with the group.
void Engine::Impl::Corroborate(Outbox& out, PeerId suspect, const Update& update) {
  if (config_.beats() || phase_ != Phase::kRunning || !IsCorroborator(suspect, update)) return;
  const bool refused = std::any_of(update.accusers.begin(), update.accusers.begin() + update.accuser_count,
                                   [](const Accuser& accuser) { return accuser.refused; });
  if (StartRound(out, suspect, now_.boot + Period(), refused) != nullptr) ++counters_[Counter::kCorroborations];
}

bool Engine::Impl::IsCorroborator(PeerId suspect, const Update& update) const {
  if (config_.corroborators == 0 || table_[kSelf].status != MemberStatus::kActive) return false;
  const std::uint64_t place = (table_[suspect].id ^ table_[suspect].key.incarnation) * 0x9e3779b97f4a7c15;
  const std::uint64_t mine = table_[kSelf].id - place;
  const PeerId accuser = update.accuser_count > 0 ? table_.FindId(update.accusers[0].id) : kNoPeer;
  const auto zone_of = [this](PeerId row) { return TagOf(table_[row].who->tags, kZoneTag); };
  const std::string_view zone = accuser == kNoPeer ? std::string_view() : zone_of(accuser);
  const auto is_elsewhere = [&](PeerId row) { return zone.empty() || (zone_of(row) != zone && !zone_of(row).empty()); };
  const bool elsewhere = is_elsewhere(kSelf);
  std::uint32_t before = 0;
  for (std::uint32_t i = 0; i < table_.ring_size(); ++i) {
    const PeerId row = table_.RingAt(i);
    if (row == suspect || row == accuser || table_[row].status != MemberStatus::kActive) continue;
    const bool nearer = table_[row].id - place < mine;
    const bool first = elsewhere ? nearer && is_elsewhere(row) : nearer || is_elsewhere(row);
    if (first && ++before == config_.corroborators) return false;
  }
  return true;
}

// One dead member every so many periods gets a ping that carries its death: if it lives, it refutes.
void Engine::Impl::TryDeadMember(Outbox& out) {
  if (dead_.empty()) return;
  dead_cursor_ %= dead_.size();
  const PeerId row = dead_[dead_cursor_++];
  Frame ping = Header(FrameType::kPing, kQuestionSequence);
  ping.digest = table_.digest();
  const PeerId forced[] = {row};
  Send(out, table_[row].address, ping, Purpose::kReconnect, forced, false);
}

}  // namespace nekton
