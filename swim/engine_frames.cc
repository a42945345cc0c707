// Frames out and in.
#include <algorithm>
#include <utility>

#include "swim/engine_impl.h"
#include "swim/engine_mail.h"
#include "swim/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
Frame Engine::Impl::Header(FrameType type, std::uint32_t sequence) const {
  const Row& self = table_[kSelf];
  Frame frame;
  frame.type = type;
  frame.label = label_;
  frame.sender = self.id;
  frame.incarnation = static_cast<std::uint16_t>(self.key.incarnation);
  frame.sequence = sequence;
  return frame;
}

void Engine::Impl::MixFingerprint(std::uint64_t value) {
  fingerprint_ = (fingerprint_ ^ value) * 0x9e3779b97f4a7c15;
  fingerprint_ ^= fingerprint_ >> 29;
}

// lambda * log10(N + 1), rounded up: the whole power of ten is enough of a logarithm, and the same on every machine.
// A copy reaches a member by chance, so L copies from each of N members leave N e^-L of them out: with whole digits at most
// one update in thirty misses somebody, who learns it when tables are compared.
std::uint32_t Engine::Impl::SendsPerUpdate() const {
  std::uint32_t digits = 1;
  for (std::uint64_t power = 10; power < std::uint64_t{table_.alive()} + 1; power *= 10) ++digits;
  return std::clamp(config_.retransmit * digits, std::uint32_t{1}, Dissemination::kSendsMax);
}

// A row whose tags are too long for our datagrams goes without them: a sync brings those.
bool Engine::Impl::AddNews(FrameWriter& writer, Update news) const {
  if (news.detailed && EncodedSize(news) > config_.datagram_max - kFixedMax) news.detailed = false;
  return writer.Add(news);
}

void Engine::Impl::Send(Outbox& out, const Address& to, const Frame& frame, Purpose purpose,
                        std::span<const PeerId> forced, bool piggyback) {
  const std::size_t offset = out.arena().size();
  FrameWriter writer(frame, config_.datagram_max, out.arena());
  const bool probes = frame.type == FrameType::kPing || frame.type == FrameType::kPingReq;
  if (frame.type == FrameType::kPing || frame.type == FrameType::kHeartbeat) AddDigest(writer);
  for (const PeerId row : forced) {
    if (Alone() && row != kSelf && table_[row].address != to) continue;
    if (AddExpulsion(writer, row)) continue;
    const bool accuse = table_[row].status == MemberStatus::kSuspect && (probes || table_[row].address == to);
    AddNews(writer, accuse ? SuspicionOf(row) : NewsOf(row));
  }
  if (piggyback && !Alone()) Piggyback(writer);
  const std::uint32_t checksum = writer.Finish();
  out.AddDatagram(to, offset);
  const std::size_t size = out.arena().size() - offset;
  static constexpr Counter kSent[][2] = {{Counter::kProbeDatagramsSent, Counter::kProbeBytesSent},
                                         {Counter::kRelayDatagramsSent, Counter::kRelayBytesSent},
                                         {Counter::kGossipDatagramsSent, Counter::kGossipBytesSent},
                                         {Counter::kReconnectDatagramsSent, Counter::kReconnectBytesSent},
                                         {Counter::kHeartbeatDatagramsSent, Counter::kHeartbeatBytesSent},
                                         {Counter::kWatchDatagramsSent, Counter::kWatchBytesSent},
                                         {Counter::kMailDatagramsSent, Counter::kMailBytesSent}};
  ++counters_[kSent[static_cast<std::size_t>(purpose)][0]];
  counters_[kSent[static_cast<std::size_t>(purpose)][1]] += size;
  MixFingerprint(to.Hash() ^ (std::uint64_t{checksum} << 32 | size));
  MixFingerprint(static_cast<std::uint64_t>(now_.boot.time_since_epoch().count()));
}

void Engine::Impl::SendGossipTo(Outbox& out, PeerId row, std::span<const PeerId> forced) {
  Send(out, table_[row].address, Header(FrameType::kGossip, 0), Purpose::kGossip, forced, true);
}

Update Engine::Impl::NewsOf(PeerId row) const {
  const Row& r = table_[row];
  // A suspicion whose hold was cancelled is passed on no more.
  if (r.status == MemberStatus::kSuspect && HoldRuns(row)) return SuspicionOf(row);
  Update update;
  update.name = r.who->name;
  update.address = r.address;
  update.key = r.key;
  switch (r.status) {
    case MemberStatus::kActive:
    case MemberStatus::kSuspect:
      update.kind = UpdateKind::kAlive;
      update.detailed = r.detailed;
      update.tags = r.who->tags;
      update.version_min = r.who->version_min;
      update.version_max = r.who->version_max;
      return update;
    case MemberStatus::kInactive:
      update = SuspicionOf(row);
      update.kind = UpdateKind::kDead;
      break;
    case MemberStatus::kLeft:
      update.kind = UpdateKind::kLeft;
      break;
  }
  const auto forget = row_timers_.Get(row);  // none: it is ourselves, leaving just now
  if (forget.has_value()) update.age = std::max(Duration{}, now_.boot - (*forget - config_.forget_after));
  return update;
}

Update Engine::Impl::SuspicionOf(PeerId row) const {
  const Row& r = table_[row];
  Update update;
  update.kind = UpdateKind::kSuspect;
  update.name = r.who->name;
  update.address = r.address;
  update.key = r.key;
  if (const Suspicion* suspicion = suspicions_.Find(row); suspicion != nullptr) {
    update.accuser_count = suspicion->accusers.size();
    std::copy(suspicion->accusers.begin(), suspicion->accusers.end(), update.accusers.begin());
    if (suspicion->verdict != kNever) {  // others have made it long ago, and who has forgotten it is to know its age
      update.kind = UpdateKind::kDead;
      update.age = AgeOfVerdict(row);
    }
  }
  return update;
}

void Engine::Impl::AnswerLater(PeerId row) {
  if (!config_.rules.answer_stale_news) return;
  if (answers_.size() < answers_.capacity() && std::find(answers_.begin(), answers_.end(), row) == answers_.end()) {
    answers_.push_back(row);
  }
}

void Engine::Impl::CountFault(std::uint8_t fault) {
  static constexpr Counter kFaults[] = {
      Counter::kDatagramsReceived, Counter::kBadShort, Counter::kBadLabel, Counter::kBadVersion,
      Counter::kBadChecksum,       Counter::kBadType,  Counter::kBadBody};
  ++counters_[kFaults[fault]];
}

void Engine::Impl::NoticeForeigner(Outbox& out, const Address& from, Instant now) {
  if (!out.wants_events() || !foreigners_.Report(from, now)) return;
  Event event;
  event.kind = EventKind::kForeign;
  event.at = now;
  event.address = from;
  out.Add(std::move(event));
}

void Engine::Impl::Receive(const Tick& now, const Address& from, std::span<const std::byte> datagram, Outbox& out) {
  if (phase_ == Phase::kGone) return;
  Frame frame;
  const Fault fault = DecodeDatagram(datagram, label_, &frame);
  if (fault != Fault::kNone) {  // it changes nothing, our own state of being late included
    CountFault(static_cast<std::uint8_t>(fault));
    if (fault == Fault::kLabel) NoticeForeigner(out, from, now.boot);
    return;
  }
  if (!Begin(now, out)) return;
  ++counters_[Counter::kDatagramsReceived];
  counters_[Counter::kBytesReceived] += datagram.size();
  const PeerId before = table_.FindId(frame.sender);
  if (before == kSelf) return Finish(out);  // our own frame, come back
  // These are of levels, or the user's, and no evidence.
  if (frame.type == FrameType::kWatch) {
    OnWatch(out, from, frame, before);
    return Finish(out);
  }
  if (frame.type == FrameType::kPulse) {
    OnPulse(out, frame, before);
    return Finish(out);
  }
  if (frame.type == FrameType::kMail) {
    Mailing().Receive(out, from, frame, before);
    return Finish(out);
  }
  HeardSomebody();
  const std::uint64_t refused = counters_[Counter::kUpdatesRefused];
  if (!frame.updates.empty()) ApplyUpdates(out, frame.updates, Source::kNews);
  if (phase_ == Phase::kGone) return Finish(out);  // displaced: silent from here on
  const PeerId sender = frame.updates.empty() ? before : table_.FindId(frame.sender);
  if (sender != kNoPeer) partner_heard_ = now.boot;
  if (now.boot < void_until_ && sender != kNoPeer) companions_.Heard(sender, now.boot);
  ProofOfLife(out, frame, sender);
  // What is refused here stays different; to answer it would bring the same again, and so on for ever.
  if (counters_[Counter::kUpdatesRefused] == refused) NoticeSender(frame, sender);
  if (std::exchange(buried_, false)) Rejoin(out, sender);
  switch (frame.type) {
    case FrameType::kPing:
      OnPing(out, from, frame, sender);
      break;
    case FrameType::kAck:
      OnAck(out, frame);
      break;
    case FrameType::kPingReq:
      OnPingReq(out, from, frame);
      break;
    case FrameType::kRelayedAck:
      OnRelayedAck(out, frame);
      break;
    case FrameType::kNack:
      OnNack(frame);
      break;
    case FrameType::kHeartbeat:
      OnHeartbeat(out, from, frame, sender);
      break;
    default:
      break;
  }
  const bool answered = frame.type == FrameType::kPing || frame.type == FrameType::kHeartbeat;
  // Of two that hold each other dead, and neither of whom refutes yet, each would answer the other's answers.
  if (!answered && !answers_.empty() && !OnProbation()) {
    Send(out, from, Header(FrameType::kGossip, 0), Purpose::kGossip, answers_, false);
  }
  // Of two neither of whom knows the other's present life one has to begin: we know at least who was there before.
  if ((frame.flags & kFlagStranger) != 0) OnStranger(out, sender != kNoPeer ? sender : table_.FindAddress(from));
  if (frame.type == FrameType::kAck) {
    CompareTables(out, (frame.flags & kFlagDiffers) != 0, sender);
    CompareBroadcasts(out, (frame.flags & kFlagOtherBroadcasts) != 0, sender);
  }
  Finish(out);
}

// Rule F, for the sender itself: tell it that it is accused or held dead here, or that its incarnation is not the one
// we know (if ours is the older one it answers with the newer).
void Engine::Impl::NoticeSender(const Frame& frame, PeerId sender) {
  if (sender == kNoPeer) return;
  const Row& row = table_[sender];
  const bool other_incarnation = frame.incarnation != static_cast<std::uint16_t>(row.key.incarnation);
  // Where heartbeats alone revive, there is nothing for a dead one to refute.
  const bool buried =
      row.status == MemberStatus::kInactive &&
      (!config_.beats() || config_.revive != Revive::kHealthy || IsExpelled(row.who->name, row.key.generation));
  const bool accused = row.status == MemberStatus::kSuspect || buried;
  // Of two that hold each other dead each would answer the other's answers.
  if (config_.beats() && frame.type != FrameType::kHeartbeat && frame.type != FrameType::kPing) return;
  const bool returned = row.status == MemberStatus::kLeft && other_incarnation;
  if (returned || (row.status != MemberStatus::kLeft && (accused || other_incarnation))) AnswerLater(sender);
}

void Engine::Impl::OnPing(Outbox& out, const Address& from, const Frame& frame, PeerId sender) {
  Frame ack = Header(FrameType::kAck, frame.sequence);
  if (sender == kNoPeer) ack.flags |= kFlagStranger;
  if (frame.digest != table_.digest()) ack.flags |= kFlagDiffers;
  if (heard_parts_.digest != broadcasts_.digest()) ack.flags |= kFlagOtherBroadcasts;
  if (config_.probing == Probing::kStaggered && ProbeRounds::IsFirst(frame.sequence)) {
    ack.shift = stagger_.ShiftFor(frame.sender, now_.boot, config_.period);
    if (ack.shift != 0) ack.flags |= kFlagShift;
  }
  Send(out, from, ack, Purpose::kProbe, answers_, true);
}

void Engine::Impl::OnAck(Outbox& out, const Frame& frame) {
  if ((frame.sequence & Relays::kMark) != 0) return RelayAck(out, frame);
  if (frame.sequence == kQuestionSequence) return questions_.AnsweredBy(frame.sender);
  if (frame.sequence == kFarewellSequence) return HeardFarewell(out, frame.sender);
  std::uint32_t attempt;
  ProbeRound* round = rounds_.Find(frame.sequence, &attempt);
  if (round == nullptr || round->target_id != frame.sender) {
    ++counters_[Counter::kAcksStray];
    return;
  }
  if (round->in_turn && attempt == 0) stagger_.Shift(round->target, frame.shift, config_.period);
  Acked(out, *round, attempt, /*direct=*/true, /*stream=*/false);
}

void Engine::Impl::OnPingReq(Outbox& out, const Address& from, const Frame& frame) {
  Relayed* entry = relays_.Open(now_.boot);
  if (entry == nullptr || frame.budget <= Duration{}) {
    ++counters_[Counter::kRelaysRefused];
    Send(out, from, Header(FrameType::kNack, frame.sequence), Purpose::kRelay, {}, true);
    return;
  }
  const PeerId target = table_.FindId(frame.target);
  entry->sequence = frame.sequence;
  entry->asker = frame.sender;
  entry->asker_address = from;
  entry->target = frame.target;
  entry->nack_at = now_.boot + frame.budget / 5 * 4;
  entry->end = now_.boot + frame.budget;
  relays_.Schedule(entry->nack_at);
  Frame ping = Header(FrameType::kPing, Relays::Sequence(*entry));
  ping.digest = table_.digest();
  const bool suspect = target != kNoPeer && table_[target].status == MemberStatus::kSuspect;
  entry->accused = suspect;
  const PeerId forced[] = {target};
  Send(out, frame.target_address, ping, Purpose::kRelay, std::span(forced, suspect ? 1 : 0), true);
}

void Engine::Impl::RelayAck(Outbox& out, const Frame& frame) {
  Relayed* entry = relays_.Find(frame.sequence, now_.boot);
  if (entry == nullptr || entry->target != frame.sender) {
    ++counters_[Counter::kAcksStray];
    return;
  }
  entry->open = false;
  Frame ack = Header(FrameType::kRelayedAck, entry->sequence);
  ack.target = entry->target;
  // Whoever asked about a suspect needs its refutation most.
  const PeerId target = table_.FindId(entry->target);
  const PeerId forced[] = {target};
  Send(out, entry->asker_address, ack, Purpose::kRelay, std::span(forced, entry->accused && target != kNoPeer ? 1 : 0),
       true);
}

void Engine::Impl::OnRelayedAck(Outbox& out, const Frame& frame) {
  std::uint32_t attempt;
  ProbeRound* round = rounds_.Find(frame.sequence, &attempt);
  if (round == nullptr || round->target_id != frame.target || !round->HasAsked(frame.sender)) {
    ++counters_[Counter::kAcksStray];
    return;
  }
  round->Answered(frame.sender);
  Acked(out, *round, attempt, /*direct=*/false, /*stream=*/false);
}

void Engine::Impl::OnNack(const Frame& frame) {
  std::uint32_t attempt;
  ProbeRound* round = rounds_.Find(frame.sequence, &attempt);
  if (round == nullptr || !round->HasAsked(frame.sender)) {
    ++counters_[Counter::kAcksStray];
    return;
  }
  ++counters_[Counter::kNacksReceived];
  round->Answered(frame.sender);
}

void Engine::Impl::NackDue(Outbox& out) {
  relays_.Due(now_.boot, [&](const Relayed& entry) {
    if (!config_.nacks) return;
    Send(out, entry.asker_address, Header(FrameType::kNack, entry.sequence), Purpose::kRelay, {}, true);
  });
}

// We are unknown to somebody: one frame with our own row makes us known. After a long sleep of ours it means that the
// group has buried and forgotten us, so we come back as a newer life of ourselves.
void Engine::Impl::OnStranger(Outbox& out, PeerId sender) {
  if (sender == kNoPeer || phase_ != Phase::kRunning || now_.boot < next_introduction_ || OnProbation()) return;
  next_introduction_ = now_.boot + config_.gossip_interval / 4;
  if (slept_long_ && joined_) Refute(out, table_[kSelf].key.incarnation, nullptr);
  const PeerId forced[] = {kSelf};
  SendGossipTo(out, sender, forced);
}

// The tables of a newcomer, and of those who meet others (again), are the likeliest to lack something: they look sooner.
Duration Engine::Impl::Patience() const {
  return now_.boot < unsettled_until_ ? config_.period : config_.period * config_.digest_patience;
}

// Anti-entropy: tables that stay different while ours is quiet are made equal by a sync.
void Engine::Impl::CompareTables(Outbox& out, bool differs, PeerId sender) {
  if (table_.version() != quiet_version_) {
    quiet_version_ = table_.version();
    quiet_since_ = now_.boot;
  }
  if (!differs) pulls_until_ = alone_until_ = Instant::min();
  // One that we hold dead has news for us once it has refuted that.
  if (!differs || sender == kNoPeer || !table_.IsAlive(sender) || phase_ != Phase::kRunning) return;
  if (now_.boot - quiet_since_ < Patience() && !Outdated()) return;
  RepairWith(out, sender, /*reconnect=*/false);
}

}  // namespace nekton
