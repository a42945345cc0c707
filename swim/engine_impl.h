// The engine's inside. Include it from swim/engine*.cc only.
//
//   engine.cc           the contract: each input is begun, handled, finished; wake and its timers
//   engine_frames.cc    frames out and in: ping, ack, ping-req, relayed ack, nack, gossip
//   engine_probe.cc     the probe rounds
//   engine_stuck.cc     a prober that is stuck in a send, for simulations
//   engine_doubt.cc     what is done about members that others accuse, and about the dead
//   engine_beat.cc      heartbeats, where members send them to each other instead
//   engine_updates.cc   news about members: which holds, and what the STM makes of it
//   engine_commit.cc    what the STM has committed, carried out and told
//   engine_stream.cc    whom to join, exchanges over streams, stream pings
//   engine_sync.cc      making tables equal
//   engine_admit.cc     who may join under which name
//   engine_leave.cc     saying goodbye
//   engine_observe.cc   what the application has seen, and why a member is in its state
//   engine_watch.cc     levels of suspicion from pulses, and pulses for who watches us
//   engine_tags.cc      our own tags, and (engine_reconfigure.cc) our configuration, changed while we run
//   engine_broadcast.cc broadcasts: said, heard, passed on, mended
//   engine_notice.cc    members in maintenance, and expelled ones
//   engine_mail.h       messages and requests to other members, and theirs to us
#pragma once

#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "phi/detector.h"
#include "phi/fixed_deadline.h"
#include "stm/deadlines.h"
#include "stm/stm.h"
#include "swim/beat.h"
#include "swim/broadcasts.h"
#include "swim/companions.h"
#include "swim/dissemination.h"
#include "swim/echoes.h"
#include "swim/engine.h"
#include "swim/exchange.h"
#include "swim/foreigners.h"
#include "swim/isolation.h"
#include "swim/join_addresses.h"
#include "swim/join_calls.h"
#include "swim/link.h"
#include "swim/local_health.h"
#include "swim/member_table.h"
#include "swim/message.h"
#include "swim/open_questions.h"
#include "swim/probation.h"
#include "swim/probe_rounds.h"
#include "swim/random.h"
#include "swim/refutations.h"
#include "swim/relays.h"
#include "swim/reminders.h"
#include "swim/stagger.h"
#include "swim/suspicions.h"
#include "swim/table_sums.h"
#include "swim/terms.h"
#include "swim/watchers.h"
#include "swim/watches.h"
#include "swim/wire.h"

namespace nekton {

class Engine::Impl {
 public:
  Impl(const Config& config, const Address& self, std::shared_ptr<Identities> identities);
  ~Impl();

  // The contract; see Engine.
  void Receive(const Tick& now, const Address& from, std::span<const std::byte> datagram, Outbox& out);
  void Serve(const Tick& now, const Address& from, ExchangeId id, std::span<const std::byte> request, Outbox& out,
             bool busy);
  void Answer(const Tick& now, ExchangeId id, const absl::Status& status, std::span<const std::byte> answer,
              Outbox& out);
  void Report(const Tick& now, const Address& about, Trouble trouble, Outbox& out);
  void Wake(const Tick& now, Outbox& out);
  absl::Status Order(const Tick& now, const Command& command, Outbox& out);
  void HoldProbes(const Tick& now, bool hold, Outbox& out);
  Instant NextWake() const { return wake_; }
  std::uint64_t Fingerprint() const { return fingerprint_; }
  const Counters& counters() const { return counters_; }
  const StmCounters& stm_counters() const { return stm_.counters(); }
  absl::StatusOr<MemberExplanation> Explain(const Tick& now, std::string_view name);
  absl::StatusOr<double> Level(const Tick& now, std::string_view member);
  MemberTable& table() { return table_; }
  const MemberTable& table() const { return table_; }
  const Contact& contact() const { return isolation_.contact(); }
  std::vector<BroadcastInfo> HeldBroadcasts(const Tick& now) const;

 private:
  friend class Engine;
  class MailDesk;

  enum class Phase : std::uint8_t { kIdle, kRunning, kLeaving, kGone };
  enum class Purpose : std::uint8_t { kProbe, kRelay, kGossip, kReconnect, kHeartbeat, kWatch, kMail };
  // Where an update came from, for how it is passed on and answered.
  enum class Source : std::uint8_t {
    kNews,     // to be passed on
    kCatchUp,  // a sync that made up for what only we had missed
  };
  static constexpr std::size_t kAdmissionsMax = 8;  // beyond: busy
  // So many attempts to join at once, so that dead seeds, however many, leave streams for the rest of us.
  static constexpr std::size_t kContactsAtOnce = 32;
  using Rows = absl::InlinedVector<PeerId, 16>;
  // After so long a broadcast that somebody lacks is a difference, and so many acks in a row that say so are believed.
  static constexpr int kSettlePeriods = 2;
  static constexpr std::uint32_t kDifferingMax = 2;
  // So long deafness excuses (rules A and B). Then it is the others who are gone: a lone survivor learns it in the end.
  static constexpr int kDeafPeriodsMax = 60;
  // So many rounds are to be answered until we reach the others again. One answer is not enough: where a few are cut off
  // from many together, one of the few answers now and then.
  static constexpr std::uint32_t kUnansweredMax = 3;
  static constexpr int kUnsettledPeriods = 10;  // so long a member is new, its table not settled after it met somebody
  static constexpr int kVoidPeriods = 5;        // see Companions
  static constexpr int kOldPeriods = 10;        // see IsOld
  static constexpr std::uint32_t kQuestionsMax = 2 * kDeafPeriodsMax;  // about one suspect, one each half period
  static constexpr std::size_t kExtraRoundsMax = 8;                    // at the accused, beside the regular one (E)

  // --- engine.cc
  bool Begin(const Tick& now, Outbox& out);  // false: we are gone, the input is ignored
  void Finish(Outbox& out);
  void NoticePause(Outbox& out, Duration overshoot);
  bool NoticeDeafness();
  void HeardSomebody();
  void NoticeContact(Outbox& out);
  Instant ComputeWake() const;
  void RunTimers(Outbox& out);
  void GossipIfDue(Outbox& out);

  // --- engine_frames.cc
  Frame Header(FrameType type, std::uint32_t sequence) const;
  // Sends a frame with `forced` rows' news first, then, if asked, what is to be disseminated. To the accused, and to
  // who asks it for us, a forced SUSPECT's accusation goes also while its hold is cancelled; to others it does not.
  void Send(Outbox& out, const Address& to, const Frame& frame, Purpose purpose, std::span<const PeerId> forced,
            bool piggyback);
  bool AddNews(FrameWriter& writer, Update news) const;
  void SendGossipTo(Outbox& out, PeerId row, std::span<const PeerId> forced);
  void CountFault(std::uint8_t fault);
  void NoticeForeigner(Outbox& out, const Address& from, Instant now);
  void OnPing(Outbox& out, const Address& from, const Frame& frame, PeerId sender);
  void OnAck(Outbox& out, const Frame& frame);
  void OnPingReq(Outbox& out, const Address& from, const Frame& frame);
  void OnRelayedAck(Outbox& out, const Frame& frame);
  void OnNack(const Frame& frame);
  void RelayAck(Outbox& out, const Frame& frame);
  void NackDue(Outbox& out);
  // Rows whose news the sender of a frame needs: it holds older news, or is accused here.
  void NoticeSender(const Frame& frame, PeerId sender);
  void OnStranger(Outbox& out, PeerId sender);
  void CompareTables(Outbox& out, bool differs, PeerId sender);
  void Unsettle() { unsettled_until_ = now_.boot + config_.period * kUnsettledPeriods; }
  Duration Patience() const;
  void AnswerLater(PeerId row);
  Update NewsOf(PeerId row) const;       // as we would tell it now
  Update SuspicionOf(PeerId row) const;  // the accusation, also while its hold is cancelled
  void MixFingerprint(std::uint64_t value);
  std::uint32_t SendsPerUpdate() const;

  // --- engine_probe.cc
  Detector* DetectorOf(DetectorKind kind);
  static std::unique_ptr<Detector> MakePhi(const Config& config);
  void Learn(PeerId target, Instant opened, std::uint32_t beats = 1);
  void Unlearn(PeerId row);
  Instant AttemptDue(const ProbeRound& round, Instant sent) const;
  Duration Length(const ProbeRound& round) const;
  bool RelaysDue(const ProbeRound& round) const;
  void PeriodTick(Outbox& out);
  void ProbeNext(Outbox& out);
  void TurnsDue(Outbox& out);
  bool HasOwnRounds(PeerId target) const;
  ProbeRound* StartRound(Outbox& out, PeerId target, Instant end, bool stream_first = false);
  Duration Period() const;
  void RoundsDue(Outbox& out);
  void Judge(const ProbeRound& round);
  void Corroborate(Outbox& out, PeerId suspect, const Update& update);
  bool IsCorroborator(PeerId suspect, const Update& update) const;
  void SendAttempt(Outbox& out, ProbeRound& round);
  void AskRelays(Outbox& out, ProbeRound& round, std::uint32_t sequence);
  void SendStreamPing(Outbox& out, ProbeRound& round, std::uint32_t sequence);
  void Acked(Outbox& out, ProbeRound& round, std::uint32_t attempt, bool direct, bool stream);
  void EndRound(Outbox& out, ProbeRound& round);
  void FailRound(Outbox& out, ProbeRound& round);
  bool Accuse(PeerId target, bool refused);
  void Waver(PeerId target);
  void RefutedDuringRound(PeerId target);
  void ScheduleQuestion(PeerId suspect);
  void QuestionTimer(Outbox& out, PeerId suspect);
  void AskAboutSuspect(Outbox& out, PeerId suspect);
  void TryDeadMember(Outbox& out);
  PeerId PickActive(absl::FunctionRef<bool(PeerId)> fits);
  PeerId PickRelay(const ProbeRound& round, std::uint32_t nth);
  PeerId PickByZone(const ProbeRound& round, std::uint32_t nth, absl::FunctionRef<bool(PeerId)> fits);
  Observation Own(PeerId peer, Signal signal, Reason reason, std::uint32_t weight);
  Reason RoundReason(const ProbeRound& round) const;
  Cause RoundCause(const ProbeRound& round) const;
  bool HoldRuns(PeerId row) const;

  // --- engine_stuck.cc
  // A round that is open is stuck in a send, or waits for its end: a prober that does one after the other begins none.
  bool ProberStuck() const { return probes_held_ && rounds_.NextDue() != kNever; }
  void EndStuckRound(Outbox& out, ProbeRound& round);

  // --- engine_beat.cc
  void OpenLink(PeerId row);
  void RenewLink(PeerId row);
  void CloseLink(PeerId row);
  bool JoinOnly() const;
  bool Convicted(PeerId row) const;
  Instant SilenceEnd(PeerId row) const;
  Duration BeatDeadline() const;
  Duration AskInterval() const;
  bool BothWays() const;
  void ScheduleBeat(PeerId row);
  void ScheduleBeats();
  void BeatsDue(Outbox& out);
  void SendBeat(Outbox& out, PeerId row, std::uint8_t flags);
  void CheckBeat(Outbox& out, PeerId row);
  void Convict(PeerId row);
  void Acquit(PeerId row);
  Reason SilenceReason() const;
  void Testify(Outbox& out, PeerId row, Signal signal, Reason reason);
  void Spread(PeerId row);
  void ProofOfLife(Outbox& out, const Frame& frame, PeerId sender);
  void OnHeartbeat(Outbox& out, const Address& from, const Frame& frame, PeerId sender);
  void TransportGone(Outbox& out, const Address& about, Reason reason);
  void Rejoin(Outbox& out, PeerId through);
  void Readmit(Outbox& out, PeerId row);
  PeerId OldestTombstone() const;

  // --- engine_updates.cc
  void ApplyUpdates(Outbox& out, std::span<const std::byte> updates, Source source);
  void ApplyUpdate(Outbox& out, const Update& update, Source source);
  std::uint64_t VersionOf(PeerId row) const {
    return table_.version() + stm_.VersionOf(row) + suspicions_.VersionOf(row);
  }
  void ApplyAboutSelf(Outbox& out, const Update& update);
  void ApplyUnknown(Outbox& out, const Update& update, Source source);
  void ApplyNewLife(Outbox& out, PeerId row, const Update& update, Source source);
  void ApplyNewer(Outbox& out, PeerId row, const Update& update, Source source);
  bool ApplySame(Outbox& out, PeerId row, const Update& update, Source source);
  bool ApplyAccusation(Outbox& out, PeerId row, const Update& update, Source source);
  void ApplyLeft(Outbox& out, PeerId row, const Update& update, Source source);
  bool IsGeneration(std::uint64_t generation, PeerId row) const;  // one that a life of this member may have
  bool Plausible(const Update& update, PeerId row) const;
  bool TakeAddress(Outbox& out, PeerId row, const Update& update);
  bool YieldAddress(Outbox& out, const Update& update);
  void TakeDetails(PeerId row, const Update& update);
  void MergeAccusers(PeerId row, const Update& update);
  std::uint32_t Confidence(PeerId observer) const;
  bool HasWitness(PeerId row, const Update& update) const;
  void LookOurselves(PeerId row);
  std::uint64_t FormerGeneration(PeerId row) const;
  bool OnProbation() const;
  void HoldBack(const Update& update);
  void ReturnIfDue(Outbox& out);
  void Refute(Outbox& out, std::uint64_t incarnation, const Update* accusation);
  void BecomeGeneration(std::uint64_t generation);
  void Displaced(Outbox& out, const Update& update);

  // --- engine_commit.cc
  HoldTerms Terms(bool own = false) const;
  // Carries out what the STM committed (changes_): each with its event, timers and dissemination.
  void Commit(Outbox& out, const Cause* own_cause = nullptr);
  void Committed(Outbox& out, const StateChange& change, const Cause* own_cause);
  void SetTombstone(PeerId row, Duration age);
  Duration AgeOfVerdict(PeerId row) const;
  void NoticeAge(PeerId row, const Update& update);
  // A verdict or a leave of so long ago that the tombstones of it would end at noticeably different times. With
  // heartbeats a death is each observer's own.
  bool IsOld(const Update& update) const { return !config_.beats() && update.age >= kOldPeriods * config_.period; }
  void ForgetRow(Outbox& out, PeerId row);
  void PassOn(PeerId row, Source source);
  void TimersOfRows(Outbox& out);
  void Emit(Outbox& out, EventKind kind, PeerId row, MemberStatus before, Cause cause, const Address& address = {});
  std::vector<std::string> AccuserNames(PeerId row) const;

  // --- engine_stream.cc
  absl::Status TakeContacts(Outbox& out, const Join& join);
  absl::Status CheckJoin(const Join& join) const;
  void ContactsDue(Outbox& out);
  void TryContact(Outbox& out, JoinAddress& contact);
  void EndJoinCalls(Outbox& out, const absl::Status* all = nullptr);  // those that are over; or all, with this status
  void ContactDone(Outbox& out, const Exchange& exchange, const absl::Status& status);
  void OnStreamAck(Outbox& out, const Exchange& exchange, const Frame& frame);
  void ServePing(Outbox& out, ExchangeId id, const Frame& frame);
  void Refuse(Outbox& out, ExchangeId id, Refusal refusal, std::string_view text);
  bool AddressAlive(const Address& address) const;

  // --- engine_sync.cc
  void RepairWith(Outbox& out, PeerId row, bool reconnect);
  // We slept for so long that what we hold is old: we listen, and tell nobody, until tables agree.
  bool Pulls() const { return now_.boot < pulls_until_; }
  // We have heard nobody for so long that others may have forgotten whom we hold. Until one of their tables has told us
  // who is there, or a newcomer has taken ours, we tell of nobody but ourselves.
  bool IsAlone() const {
    return !config_.beats() && now_.boot - heard_ > config_.forget_after / 3 && table_.size() > 1;
  }
  bool Alone() const { return now_.boot < alone_until_ || IsAlone(); }
  bool Outdated() const { return Pulls() || Alone(); }
  std::vector<std::byte> EncodeRows(Frame frame, const Leaves* only) const;  // null: all
  std::vector<std::byte> EncodeReply(const Frame& request) const;
  void StartSync(Outbox& out, const Exchange& exchange);
  void SendSync(Outbox& out, const Exchange& exchange, std::vector<std::byte> bytes);
  bool AskForLeaves(Outbox& out, const Exchange& exchange, const Frame& sums);
  static Leaves LeavesOf(const Frame& frame);  // that it asks for; none: all
  static bool TellsOfOthers(const Frame& request);
  void DropGhosts(Outbox& out, const Leaves& leaves, const Frame& frame);
  void AskAgain(const Address& contact, bool learned);
  void AskLater(const Address& contact);
  void QuestionDue(Outbox& out);
  void Joined();
  static std::uint64_t GenerationOfSender(const Frame& frame);
  void OnSyncReply(Outbox& out, const Exchange& exchange, const Frame& frame);
  void ServeSync(Outbox& out, ExchangeId id, const Frame& frame, std::span<const std::byte> request);
  void Admit(Outbox& out, ExchangeId id, const Frame& frame);

  // --- engine_admit.cc
  bool Admits(Outbox& out, ExchangeId id, const Frame& frame, const Update& sender);
  bool NeedsProof(const Frame& frame, const Update& sender) const;
  void Examine(Outbox& out, ExchangeId id, const Update& sender, std::span<const std::byte> request);
  void RefuseName(Outbox& out, ExchangeId id, PeerId row, const Address& newcomer);
  void AdmissionsDue(Outbox& out);
  void Conclude(Outbox& out, const Admission& admission, bool acked, bool failed);

  // --- engine_observe.cc
  absl::Status TakeObservations(Outbox& out, const Observe& observe);
  absl::StatusOr<Observation> Understand(const PeerObservation& said);

  // --- engine_watch.cc
  absl::StatusOr<PeerId> Watchable(std::string_view member) const;
  absl::Status TakeWatch(Outbox& out, const nekton::Watch& order);
  absl::Status TakeUnwatch(Outbox& out, const Unwatch& order);
  bool IsCurrent(const Frame& frame, PeerId sender) const;
  void OnWatch(Outbox& out, const Address& from, const Frame& frame, PeerId sender);
  void OnPulse(Outbox& out, const Frame& frame, PeerId sender);
  void AskForPulses(Outbox& out, PeerId row, WatchedMember& watched);
  void SendToWatched(Outbox& out, PeerId row, const Frame& frame);
  void PulsesDue(Outbox& out);
  void WatchesDue(Outbox& out);
  void SettleWatch(Outbox& out, PeerId row, WatchedMember& watched);
  void ExcuseWatches(Duration pause);
  void SwapWatches(Outbox& out, DetectorKind detector);
  void RestartWatches(Outbox& out, PeerId row);
  void SuspendWatches(PeerId row);
  void ResumeWatches(Outbox& out, PeerId row);
  void CloseWatches(Outbox& out, PeerId row, const char* why);
  void EndAllWatches(Outbox& out);
  void EndWatch(Outbox& out, PeerId row, absl::Status why);
  void TellEnded(Outbox& out, PeerId row, absl::Status why);
  void TellOfWatch(Outbox& out, PeerId row, Event event);

  // --- engine_reconfigure.cc, engine_tags.cc
  absl::Status TakeConfig(Outbox& out, const Reconfigure& order);
  absl::Status TakeTag(Outbox& out, const SetTag& order);
  absl::Status TakeTag(Outbox& out, const EraseTag& order);
  absl::Status TakeTags(Outbox& out, std::map<std::string, std::string> tags);
  std::map<std::string, std::string> OwnTags() const;

  // --- engine_broadcast.cc
  absl::Status TakeBroadcast(Outbox& out, const Broadcast& order);
  absl::Status SayBroadcast(Outbox& out, std::string_view key, std::string_view bytes, Duration keep);
  void ApplyParts(Outbox& out, std::span<const std::byte> updates, Source source);
  void HearBroadcast(Outbox& out, const BroadcastPart& part, Source source);
  void TellOfBroadcast(Outbox& out, const BroadcastPart& part, bool replayed);
  void Piggyback(FrameWriter& writer);
  void AddNewsUntil(FrameWriter& writer, std::size_t leave);
  void AddBroadcastsUntil(FrameWriter& writer, std::size_t leave);
  void AddDigest(FrameWriter& writer);
  void CompareBroadcasts(Outbox& out, bool differ, PeerId sender);
  void SyncBroadcasts(Outbox& out, const Address& with, bool reunion);
  void AddPartsOfSync(FrameWriter& writer, FrameType type) const;

  // --- engine_notice.cc
  std::optional<BroadcastPart> FindNotice(Notice::Kind kind, std::string_view name, Instant now) const;
  std::optional<NoticeInfo> Said(Instant now, Notice::Kind kind, PeerId row) const;
  absl::StatusOr<PeerId> Concerned(std::string_view member) const;
  absl::Status TakeMaintenance(Outbox& out, const Maintenance& order);
  absl::Status TakeExpel(Outbox& out, const Expel& order);
  bool IsAbsurd(const BroadcastPart& part) const;
  void HeardNotice(Outbox& out, const BroadcastPart& part);
  void SpareRow(PeerId row, const Notice& notice, const BroadcastPart& part);
  void NoticesOf(PeerId row);
  void Expelled(Outbox& out, PeerId row, const Notice& notice, const BroadcastPart& part);
  bool IsExpelled(std::string_view name, std::uint64_t generation) const;
  bool AddExpulsion(FrameWriter& writer, PeerId row) const;

  // --- engine_mail.h
  MailDesk& Mailing();  // made when it is first needed

  // --- engine_leave.cc
  absl::Status BeginLeave(Outbox& out, const Leave& leave);
  void LeaveTick(Outbox& out);
  void Farewell(Outbox& out);
  void HeardFarewell(Outbox& out, std::uint64_t sender);
  void FinishLeave(Outbox& out);

  Config config_;  // changed by TakeConfig alone
  const std::uint32_t label_;
  Duration period_before_ = config_.period;  // the one before the last change while we ran; else the same
  std::vector<std::byte> terms_;
  Random random_;
  MemberTable table_;
  Stm stm_;
  // Both are fed, so that a swap finds what it needs.
  FixedDeadline fixed_;
  const std::unique_ptr<Detector> phi_;
  Detector* detector_;                   // the one that is asked
  Instant swapped_at_ = Instant::min();  // when that was changed
  std::vector<Beat> beats_;              // by row; those with a timer are in use
  Deadlines beat_timers_;
  Watches watches_;
  Watchers watchers_;
  Dissemination news_;
  Broadcasts broadcasts_;
  bool broadcasts_first_ = false;  // in the next datagram that has to carry of both
  ProbeRounds rounds_;
  Stagger stagger_;
  Relays relays_;
  Suspicions suspicions_;
  OpenQuestions questions_;
  Echoes echoes_;
  Refutations refutations_;
  LocalHealth health_;
  Probation probation_;
  Companions companions_;                // kept in times of void rounds alone
  Instant void_until_ = Instant::min();  // so long the last void round makes us ask them
  Isolation isolation_;
  JoinAddresses join_addresses_;
  JoinCalls join_calls_;
  Foreigners foreigners_;
  Deadlines row_timers_;      // SUSPECT heard of: when to ask; INACTIVE, LEFT: when to forget
  std::vector<PeerId> dead_;  // INACTIVE rows to be tried again, in the order of their verdicts
  std::size_t dead_cursor_ = 0;
  Rows looks_;  // accused by nobody who counts: each gets a round in the next period; at most kExtraRoundsMax
  absl::flat_hash_map<ExchangeId, Exchange> exchanges_;
  std::vector<Admission> admissions_;
  std::unique_ptr<MailDesk> mail_;  // null: there has been no mail
  Reminders stream_only_;
  Reminders conflicts_;
  Counters counters_;

  Phase phase_ = Phase::kIdle;
  Tick now_;
  Instant wake_ = Instant::min();
  std::uint64_t fingerprint_ = 0;
  std::uint64_t observation_sequence_ = 0;
  ExchangeId last_exchange_ = 0;
  Instant joined_at_{};
  std::uint64_t host_generation_ = 0;         // of who let us in: tells the time to one whose own clock is years behind
  Instant unsettled_until_ = Instant::min();  // since we joined, or another did or came back from the dead
  bool joined_ = false;                       // at least one sync as a newcomer succeeded
  bool slept_long_ = false;                   // long enough to have been declared dead meanwhile
  Instant pulls_until_ = Instant::min();
  Instant alone_until_ = Instant::min();
  std::uint64_t periods_ = 0;
  Instant heard_{};               // when anybody was last heard; time that we slept does not count
  Instant deaf_until_{};          // so far a gap without anybody is taken into account
  Instant partner_heard_{};       // when a member was, by a frame of any kind: of use where there is but one other
  std::uint32_t unanswered_ = 0;  // void rounds of ours, less the answered ones since; up to kUnansweredMax
  bool buried_ = false;           // by an update of the frame in hand
  bool probes_held_ = false;      // HoldProbes
  bool stale_input_ = false;      // what comes waited while we stood still, until the next wake

  Instant next_period_ = kNever;
  Instant next_gossip_ = kNever;  // kNever: nothing to send
  Instant last_gossip_ = Instant::min();
  Instant gossip_due_{};  // without rule G: no sooner than this
  Instant next_contact_ = kNever;
  std::uint64_t quiet_version_ = 0;  // the table's version at quiet_since_
  Instant quiet_since_{};
  bool repairing_ = false;  // a repair exchange is under way
  Instant next_repair_{};
  Instant next_introduction_{};
  std::uint32_t differing_ = 0;      // acks in a row that say that broadcasts differ
  bool mending_broadcasts_ = false;  // an exchange for it is under way
  Instant next_broadcast_sync_{};
  Instant next_question_ = kNever;  // of a newcomer, to who let it in
  Address question_to_;
  std::uint32_t idle_questions_ = 0;

  Instant leave_until_ = kNever;
  Instant next_farewell_ = kNever;
  std::vector<PeerId> farewell_open_;  // have not acknowledged our leave
  std::uint32_t farewell_heard_ = 0;
  std::uint32_t farewell_enough_ = 0;

  // Scratch, reused by every input.
  std::uint64_t former_generation_ = 0;  // of the member in hand, for its kRestarted
  std::vector<StateChange> changes_;
  Rows answers_;  // rows whose news goes back to the sender of the frame in hand
  HeardParts heard_parts_;
};

}  // namespace nekton
