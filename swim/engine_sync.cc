// Making tables equal: all rows for a newcomer; of a large table only what differs, found by sums over its parts.
//
//   A => B  sync, sums: the sums of my 64 groups          B => A  reply, sums: the leaves of those that differ
//   A => B  sync, leaves: my rows of the leaves that differ         B => A  reply: my rows of them
//
// Both know the other's rows then. Either exchange may be lost: the next difference begins it anew.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "swim/bytes.h"
#include "swim/engine_impl.h"
#include "swim/table_sums.h"
#include "swim/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

// From so many rows on sums are cheaper than rows.
constexpr std::size_t kSumsFrom = 128;
// Where it is likely that tables are equal.
constexpr std::size_t kSumsOfQuestionFrom = 16;
// So many answers in a row that tell a newcomer nothing: then it asks no more.
constexpr std::uint32_t kIdleQuestions = 2;

}  // namespace

// Makes our table and another member's equal, one such exchange at a time.
void Engine::Impl::RepairWith(Outbox& out, PeerId row, bool reconnect) {
  if (repairing_ || now_.boot < next_repair_ || phase_ != Phase::kRunning || OnProbation()) return;
  repairing_ = true;
  next_repair_ = now_.boot + (reconnect || Outdated() ? config_.period : Patience());
  StartSync(out, {.errand = Errand::kRepair, .address = table_[row].address, .reconnect = reconnect});
}

// Our own row first, then the living, then the suspects as rumours, then the dead as confirms.
std::vector<std::byte> Engine::Impl::EncodeRows(Frame frame, const Leaves* only) const {
  frame.version_min = kProtocolVersion;
  frame.version_max = kProtocolVersion;
  std::vector<std::byte> bytes;
  FrameWriter writer(frame, kSyncBytesMax, bytes);
  writer.Add(NewsOf(kSelf));
  std::vector<PeerId> later;
  for (PeerId row = kSelf + 1; row < table_.capacity() && (only == nullptr || only->any()); ++row) {
    if (!table_.used(row) || (only != nullptr && !only->test(TableSums::LeafOf(table_[row].who->name)))) continue;
    const Update news = NewsOf(row);
    if (news.kind == UpdateKind::kAlive) {
      writer.Add(news);
    } else {
      later.push_back(row);
    }
  }
  for (const UpdateKind kind : {UpdateKind::kSuspect, UpdateKind::kDead, UpdateKind::kLeft}) {
    for (const PeerId row : later) {
      const Update news = NewsOf(row);
      if (news.kind == kind) writer.Add(news);
    }
  }
  AddPartsOfSync(writer, frame.type);
  writer.Finish();
  return bytes;
}

// A newcomer, or one that has slept or was alone for long, has nothing to tell but itself.
void Engine::Impl::StartSync(Outbox& out, const Exchange& exchange) {
  Frame frame = Header(FrameType::kSync, 0);
  if (exchange.join) {
    frame.flags |= kFlagJoin;
    frame.terms = terms_;
  }
  if (exchange.reconnect) frame.flags |= kFlagReunion;
  frame.label_text = config_.label;
  const std::size_t sums_from = exchange.errand == Errand::kQuestion ? kSumsOfQuestionFrom : kSumsFrom;
  const bool rows = exchange.join || table_.size() < sums_from;
  const std::vector<std::byte> sums = rows ? std::vector<std::byte>{} : TableSums(table_).Groups();
  if (!rows) frame.flags |= kFlagSums;
  frame.sums = sums;
  const Leaves none;
  SendSync(out, exchange, EncodeRows(frame, rows && !Outdated() ? nullptr : &none));
}

void Engine::Impl::SendSync(Outbox& out, const Exchange& exchange, std::vector<std::byte> bytes) {
  Outbox::Request request;
  request.id = ++last_exchange_;
  request.to = exchange.address;
  request.limit = config_.stream_timeout;
  request.bytes = std::move(bytes);
  ++counters_[Counter::kSyncRequestsSent];
  counters_[Counter::kSyncBytesSent] += request.bytes.size();
  MixFingerprint(XXH3_64bits(request.bytes.data(), request.bytes.size()));
  exchanges_[request.id] = exchange;
  out.Add(std::move(request));
}

void Engine::Impl::Joined() {
  if (joined_) return;
  joined_ = true;
  joined_at_ = now_.boot;
  Unsettle();
}

// Sums came back: true if rows of some leaves are to be exchanged now, and were asked for.
bool Engine::Impl::AskForLeaves(Outbox& out, const Exchange& exchange, const Frame& sums) {
  if ((sums.flags & kFlagSums) == 0 || exchange.leaves.any()) return false;
  if (phase_ != Phase::kRunning || OnProbation()) return false;
  Exchange next = exchange;
  std::vector<std::byte> list;
  for (const std::uint16_t leaf : TableSums(table_).DifferingLeaves(sums.groups, sums.sums)) {
    next.leaves.set(leaf);
    list.push_back(static_cast<std::byte>(leaf & 0xff));
    list.push_back(static_cast<std::byte>(leaf >> 8));
  }
  if (list.empty()) return false;
  Frame frame = Header(FrameType::kSync, 0);
  frame.flags = kFlagLeaves;
  if (exchange.reconnect) frame.flags |= kFlagReunion;
  frame.label_text = config_.label;
  frame.leaves = list;
  const Leaves none;
  SendSync(out, next, EncodeRows(frame, Outdated() ? &none : &next.leaves));
  return true;
}

// What we hold and the other, who was awake, does not know at all, was forgotten while we slept or were alone. (A table
// of less than half of ours is a newcomer's, which is still filling, and says nothing.)
void Engine::Impl::DropGhosts(Outbox& out, const Leaves& leaves, const Frame& frame) {
  absl::flat_hash_set<PeerId> known;
  UpdateReader reader(frame.updates);
  for (Update update; reader.Next(&update);) known.insert(table_.FindName(update.name));
  if (leaves.none() && 2 * known.size() < table_.alive()) return;
  for (PeerId row = kSelf + 1; row < table_.capacity(); ++row) {
    if (!table_.used(row) || known.contains(row)) continue;
    if (leaves.any() && !leaves.test(TableSums::LeafOf(table_[row].who->name))) continue;
    ForgetRow(out, row);
  }
  alone_until_ = Instant::min();
}

// Whoever joined after us is news that is still on its way while we may have missed it, and where many join at once that
// is much. So a newcomer asks its contact again, every half period, until it learns nothing new.
void Engine::Impl::AskAgain(const Address& contact, bool learned) {
  idle_questions_ = learned ? 0 : idle_questions_ + 1;
  if (idle_questions_ != kIdleQuestions) AskLater(contact);
}

void Engine::Impl::AskLater(const Address& contact) {
  if (config_.beats()) return;
  if (now_.boot - joined_at_ > config_.period * kUnsettledPeriods) return;
  const double half = static_cast<double>(config_.period.count()) / 2;
  next_question_ = now_.boot + Duration(static_cast<Duration::rep>(half * (0.75 + 0.5 * random_.Unit())));
  question_to_ = contact;
}

void Engine::Impl::QuestionDue(Outbox& out) {
  next_question_ = kNever;
  if (phase_ != Phase::kRunning || OnProbation() || !AddressAlive(question_to_)) return;
  StartSync(out, {.errand = Errand::kQuestion, .address = question_to_});
}

// The first row of a table is its owner's.
std::uint64_t Engine::Impl::GenerationOfSender(const Frame& frame) {
  Update first;
  const bool own =
      UpdateReader(frame.updates).Next(&first) && MemberId(first.name, first.key.generation) == frame.sender;
  return own ? first.key.generation : 0;
}

void Engine::Impl::OnSyncReply(Outbox& out, const Exchange& exchange, const Frame& frame) {
  HeardSomebody();
  const std::uint64_t before = table_.version();
  const bool newcomer = !joined_;
  if (newcomer && exchange.join) host_generation_ = GenerationOfSender(frame);
  ApplyUpdates(out, frame.updates, exchange.reconnect ? Source::kNews : Source::kCatchUp);
  const bool of_rows = (frame.flags & kFlagSums) == 0 && exchange.errand != Errand::kBroadcasts;
  if (Outdated() && phase_ == Phase::kRunning && of_rows) DropGhosts(out, exchange.leaves, frame);
  Joined();  // not before: see ApplyAboutSelf
  const bool learned = table_.version() != before || frame.groups != 0;
  if (exchange.errand == Errand::kQuestion || (newcomer && exchange.join)) AskAgain(exchange.address, learned);
  ProofOfLife(out, frame, table_.FindId(frame.sender));
  if (exchange.join) Readmit(out, table_.FindId(frame.sender));
  buried_ = false;  // a join is what it would ask for
  if (!answers_.empty() && phase_ == Phase::kRunning) {
    Send(out, exchange.address, Header(FrameType::kGossip, 0), Purpose::kGossip, answers_, false);
  }
}

// Not a newcomer's request, nor one of sums, nor of a member that is outdated itself.
bool Engine::Impl::TellsOfOthers(const Frame& request) {
  UpdateReader reader(request.updates);
  Update update;
  return (request.flags & kFlagJoin) == 0 && reader.Next(&update) && reader.Next(&update);
}

void Engine::Impl::ServeSync(Outbox& out, ExchangeId id, const Frame& frame, std::span<const std::byte> request) {
  Update sender;
  const bool named = UpdateReader(frame.updates).Next(&sender);
  if (!named || sender.kind != UpdateKind::kAlive || MemberId(sender.name, sender.key.generation) != frame.sender) {
    CountFault(static_cast<std::uint8_t>(Fault::kBody));
    out.Add(Outbox::Reply{id, {}});
    return;
  }
  if (!Admits(out, id, frame, sender)) return;
  if (NeedsProof(frame, sender)) return Examine(out, id, sender, request);
  Admit(out, id, frame);
}

void Engine::Impl::Admit(Outbox& out, ExchangeId id, const Frame& frame) {
  ++counters_[Counter::kSyncsServed];
  HeardSomebody();
  Joined();
  const bool news = (frame.flags & (kFlagJoin | kFlagReunion)) != 0;
  ApplyUpdates(out, frame.updates, news ? Source::kNews : Source::kCatchUp);
  if (phase_ == Phase::kGone) {
    out.Add(Outbox::Reply{id, {}});
    return;
  }
  ProofOfLife(out, frame, table_.FindId(frame.sender));
  if ((frame.flags & kFlagJoin) != 0) {
    Readmit(out, table_.FindId(frame.sender));
    alone_until_ = Instant::min();
  }
  if (Outdated() && TellsOfOthers(frame)) DropGhosts(out, LeavesOf(frame), frame);
  buried_ = false;  // the reply answers it
  Outbox::Reply reply{id, EncodeReply(frame)};
  counters_[Counter::kSyncBytesSent] += reply.bytes.size();
  MixFingerprint(XXH3_64bits(reply.bytes.data(), reply.bytes.size()));
  out.Add(std::move(reply));
}

Leaves Engine::Impl::LeavesOf(const Frame& frame) {
  Leaves leaves;
  ByteReader reader(frame.leaves);
  while ((frame.flags & kFlagLeaves) != 0 && reader.left() != 0) leaves.set(reader.Fixed<std::uint16_t>());
  return leaves;
}

std::vector<std::byte> Engine::Impl::EncodeReply(const Frame& request) const {
  Frame frame = Header(FrameType::kSyncReply, request.sequence);
  const Leaves asked = LeavesOf(request);
  if ((request.flags & kFlagLeaves) != 0) return EncodeRows(frame, &asked);
  if ((request.flags & kFlagSums) == 0) return EncodeRows(frame, nullptr);
  const TableSums ours(table_);
  frame.flags |= kFlagSums;
  frame.groups = ours.Differing(request.sums);
  const std::vector<std::byte> sums = ours.LeavesOf(frame.groups);
  frame.sums = sums;
  return EncodeRows(frame, &asked);
}

}  // namespace nekton
