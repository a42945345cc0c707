// What goes over streams: joining, making tables equal, and the last try of a probe round.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/engine_impl.h"
#include "swim/wire.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nekton {
namespace {

absl::Status ToStatus(const Frame& refusal) {
  const absl::string_view text(refusal.text.data(), refusal.text.size());
  switch (refusal.refusal) {
    case Refusal::kNameInUse:
      return absl::AlreadyExistsError(text);
    case Refusal::kBusy:
      return absl::UnavailableError(text);
    case Refusal::kVersion:
      return absl::UnimplementedError(text);
    case Refusal::kFull:
      return absl::ResourceExhaustedError(text);
    case Refusal::kOtherCluster:
    case Refusal::kImplausible:
      return absl::FailedPreconditionError(text);
  }
  return absl::UnknownError(text);
}

}  // namespace

absl::Status Engine::Impl::TakeContacts(Outbox& out, const Join& join) {
  if (phase_ == Phase::kLeaving) return absl::FailedPreconditionError("the member is leaving");
  for (const Address& address : join.addresses) {
    if (address.port == 0 || address.is_unspecified()) {
      return absl::InvalidArgumentError(
          absl::StrCat("addresses: ", address.ToString(), " cannot be reached: no address or no port"));
    }
  }
  absl::Status status = absl::OkStatus();
  for (const Address& address : join.addresses) {
    if (address == table_[kSelf].address) continue;
    if (!contacts_.Add(address, now_.boot)) {
      status =
          absl::ResourceExhaustedError(absl::StrCat("addresses: more than ", Contacts::kContactsMax, " given to Join; ",
                                                    address.ToString(), " and those after it are left out"));
      break;
    }
  }
  ContactsDue(out);
  return status;
}

bool Engine::Impl::AddressAlive(const Address& address) const {
  const PeerId row = table_.FindAddress(address);
  return row != kNoPeer && table_.IsAlive(row);
}

void Engine::Impl::ContactsDue(Outbox& out) {
  if (phase_ != Phase::kRunning) {  // who leaves looks for nobody
    next_contact_ = kNever;
    return;
  }
  auto& all = contacts_.all();
  const bool lost = std::none_of(all.begin(), all.end(), [&](const Contact& c) { return AddressAlive(c.address); });
  for (Contact& contact : all) {
    if (contact.next == kNever) continue;
    // With every seed gone the slow rhythm becomes the quick one.
    if (lost && contact.next > now_.boot + config_.join_backoff_max * 2) contact.next = now_.boot;
    if (contact.next > now_.boot) continue;
    if (AddressAlive(contact.address)) {
      contact.next = now_.boot + config_.seed_retry;
      contact.backoff = {};
      continue;
    }
    contact.next = kNever;
    const bool join = !joined_ || JoinOnly();
    StartSync(out, {Errand::kContact, contact.address, 0, join, joined_});
  }
  next_contact_ = contacts_.next();
}

void Engine::Impl::ContactDone(Outbox& out, const Exchange& exchange, const absl::Status& status) {
  Contact* contact = contacts_.Find(exchange.address);
  if (contact == nullptr) return;
  const auto& all = contacts_.all();
  const bool any = std::any_of(all.begin(), all.end(), [&](const Contact& c) { return AddressAlive(c.address); });
  if (status.ok() || any) {
    contact->next = now_.boot + config_.seed_retry;
    contact->backoff = {};
  } else {
    contact->next =
        now_.boot + Contacts::Backoff(*contact, config_.join_backoff_min, config_.join_backoff_max, random_);
  }
  next_contact_ = contacts_.next();
  const bool told = contact->tried && contact->last == status.code();
  contact->tried = true;
  contact->last = status.code();
  if (told || !out.wants_events()) return;
  Event event;
  event.kind = EventKind::kJoinResult;
  event.at = now_.boot;
  event.address = exchange.address;
  event.status = status;
  out.Add(std::move(event));
}

// Makes our table and another member's equal, one such exchange at a time.
void Engine::Impl::RepairWith(Outbox& out, PeerId row, bool reconnect) {
  if (repairing_ || now_.boot < next_repair_ || phase_ != Phase::kRunning) return;
  repairing_ = true;
  next_repair_ = now_.boot + (reconnect ? config_.period : Patience());
  StartSync(out, {Errand::kRepair, table_[row].address, 0, false, reconnect});
}

std::vector<std::byte> Engine::Impl::EncodeRows(Frame frame) const {
  frame.version_min = kProtocolVersion;
  frame.version_max = kProtocolVersion;
  std::vector<std::byte> bytes;
  FrameWriter writer(frame, kSyncBytesMax, bytes);
  writer.Add(NewsOf(kSelf));
  // The living first, then the suspects as rumours, then the dead as confirms.
  for (const UpdateKind kind : {UpdateKind::kAlive, UpdateKind::kSuspect, UpdateKind::kDead, UpdateKind::kLeft}) {
    for (PeerId row = kSelf + 1; row < table_.capacity(); ++row) {
      if (!table_.used(row)) continue;
      const Update news = NewsOf(row);
      if (news.kind == kind) writer.Add(news);
    }
  }
  writer.Finish();
  return bytes;
}

void Engine::Impl::StartSync(Outbox& out, const Exchange& exchange) {
  Frame frame = Header(FrameType::kSync, 0);
  if (exchange.join) frame.flags |= kFlagJoin;
  if (exchange.reconnect) frame.flags |= kFlagReunion;
  frame.label_text = config_.label;
  Outbox::Request request;
  request.id = ++last_exchange_;
  request.to = exchange.address;
  request.limit = config_.stream_timeout;
  request.bytes = EncodeRows(frame);
  ++counters_[Counter::kSyncRequestsSent];
  counters_[Counter::kSyncBytesSent] += request.bytes.size();
  MixFingerprint(XXH3_64bits(request.bytes.data(), request.bytes.size()));
  exchanges_[request.id] = exchange;
  out.Add(std::move(request));
}

void Engine::Impl::Answer(const Tick& now, ExchangeId id, const absl::Status& status, std::span<const std::byte> answer,
                          Outbox& out) {
  if (!Begin(now, out)) return;
  const auto it = exchanges_.find(id);
  if (it == exchanges_.end()) return Finish(out);
  const Exchange exchange = it->second;
  exchanges_.erase(it);
  absl::Status result = status;
  Frame frame;
  if (status.ok()) {
    const Fault fault = DecodeStream(answer, label_, &frame);
    if (fault != Fault::kNone) {
      CountFault(static_cast<std::uint8_t>(fault));
      result = fault == Fault::kLabel
                   ? absl::FailedPreconditionError(absl::StrCat("other cluster: ", exchange.address.ToString(),
                                                                " answers, but under another label"))
                   : absl::DataLossError(absl::StrCat(exchange.address.ToString(), " answered with a malformed frame"));
    } else if (frame.type == FrameType::kRefusal) {
      result = ToStatus(frame);
    }
  }
  if (exchange.errand == Errand::kStreamPing) {
    if (result.ok() && frame.type == FrameType::kAck) OnStreamAck(out, exchange, frame);
  } else {
    if (result.ok() && frame.type != FrameType::kSyncReply) result = absl::DataLossError("not an answer to a sync");
    if (exchange.errand == Errand::kRepair) repairing_ = false;
    if (result.ok()) {
      OnSyncReply(out, exchange, frame);
    } else {
      ++counters_[Counter::kSyncsFailed];
    }
    if (exchange.errand == Errand::kContact) ContactDone(out, exchange, result);
  }
  Finish(out);
}

void Engine::Impl::OnStreamAck(Outbox& out, const Exchange& exchange, const Frame& frame) {
  HeardSomebody();
  ApplyUpdates(out, frame.updates, Source::kNews);
  if (phase_ == Phase::kGone) return;
  std::uint32_t attempt;
  ProbeRound* round = rounds_.Find(exchange.sequence, &attempt);
  if (round == nullptr || round->target_id != frame.sender || frame.sequence != exchange.sequence) {
    ++counters_[Counter::kAcksStray];
    return;
  }
  Acked(out, *round, attempt, /*direct=*/true, /*stream=*/true);
}

void Engine::Impl::Joined() {
  if (joined_) return;
  joined_ = true;
  joined_at_ = now_.boot;
}

void Engine::Impl::OnSyncReply(Outbox& out, const Exchange& exchange, const Frame& frame) {
  HeardSomebody();
  ApplyUpdates(out, frame.updates, exchange.reconnect ? Source::kNews : Source::kCatchUp);
  Joined();  // not before: see ApplyAboutSelf
  ProofOfLife(out, frame, table_.FindId(frame.sender));
  if (exchange.join) Readmit(out, table_.FindId(frame.sender));
  buried_ = false;  // a join is what it would ask for
  if (!answers_.empty() && phase_ == Phase::kRunning) {
    Send(out, exchange.address, Header(FrameType::kGossip, 0), Purpose::kGossip, answers_, false);
  }
}

void Engine::Impl::Serve(const Tick& now, const Address& from, ExchangeId id, std::span<const std::byte> request,
                         Outbox& out) {
  if (phase_ == Phase::kGone) {
    out.Add(Outbox::Reply{id, {}});
    return;
  }
  Frame frame;
  Fault fault = DecodeStream(request, label_, &frame);
  const bool asks = frame.type == FrameType::kSync || frame.type == FrameType::kPing;
  if (fault == Fault::kNone && !asks) fault = Fault::kType;
  if (fault != Fault::kNone) {  // it changes nothing, our own state of being late included
    CountFault(static_cast<std::uint8_t>(fault));
    if (fault == Fault::kLabel) {
      NoticeForeigner(out, from, now.boot);
      Refuse(out, id, Refusal::kOtherCluster, "this member belongs to another cluster");
    } else if (fault == Fault::kVersion) {
      Refuse(out, id, Refusal::kVersion, "no protocol version in common");
    } else {
      out.Add(Outbox::Reply{id, {}});
    }
    return;
  }
  Begin(now, out);
  if (frame.type == FrameType::kSync) {
    ServeSync(out, id, frame);
  } else {
    ServePing(out, id, frame);
  }
  Finish(out);
}

void Engine::Impl::ServePing(Outbox& out, ExchangeId id, const Frame& frame) {
  HeardSomebody();
  ApplyUpdates(out, frame.updates, Source::kNews);
  if (phase_ == Phase::kGone) {
    out.Add(Outbox::Reply{id, {}});
    return;
  }
  NoticeSender(frame, table_.FindId(frame.sender));
  Outbox::Reply reply;
  reply.id = id;
  FrameWriter writer(Header(FrameType::kAck, frame.sequence), config_.datagram_max, reply.bytes);
  for (const PeerId row : answers_) writer.Add(NewsOf(row));
  MixFingerprint(writer.Finish());
  out.Add(std::move(reply));
}

void Engine::Impl::ServeSync(Outbox& out, ExchangeId id, const Frame& frame) {
  Update sender;
  const bool named = UpdateReader(frame.updates).Next(&sender);
  if (!named || sender.kind != UpdateKind::kAlive || MemberId(sender.name, sender.key.generation) != frame.sender) {
    CountFault(static_cast<std::uint8_t>(Fault::kBody));
    out.Add(Outbox::Reply{id, {}});
    return;
  }
  if (phase_ == Phase::kLeaving) return Refuse(out, id, Refusal::kBusy, "this member is leaving");
  if (frame.version_min > kProtocolVersion || frame.version_max < kProtocolVersion) {
    return Refuse(out, id, Refusal::kVersion, "no protocol version in common");
  }
  const PeerId row = table_.FindName(sender.name);
  if (!Plausible(sender, row)) {
    ++counters_[Counter::kUpdatesRefused];
    return Refuse(out, id, Refusal::kImplausible,
                  absl::StrCat("generation ", sender.key.generation, ", incarnation ", sender.key.incarnation,
                               ": too far ahead of what this member knows (generations are times in ms)"));
  }
  if ((frame.flags & kFlagJoin) != 0) {
    if (row == kNoPeer && table_.full() && !(config_.beats() && OldestTombstone() != kNoPeer)) {
      ++counters_[Counter::kMembersRefused];
      return Refuse(out, id, Refusal::kFull, absl::StrCat("the member table is full: ", config_.members_max, " rows"));
    }
    // A name belongs to who is alive under it; a restart comes from the same address.
    if (row != kNoPeer && table_[row].address != sender.address && table_.IsAlive(row)) {
      if (conflicts_.Due(row, now_.boot)) {
        Emit(out, EventKind::kNameConflict, row, table_[row].status, {}, sender.address);
      }
      return Refuse(out, id, Refusal::kNameInUse,
                    absl::StrCat("name in use: \"", absl::string_view(sender.name.data(), sender.name.size()),
                                 "\" is alive at ", table_[row].address.ToString()));
    }
  }
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
  if ((frame.flags & kFlagJoin) != 0) Readmit(out, table_.FindId(frame.sender));
  buried_ = false;  // the reply answers it
  Outbox::Reply reply{id, EncodeRows(Header(FrameType::kSyncReply, frame.sequence))};
  counters_[Counter::kSyncBytesSent] += reply.bytes.size();
  MixFingerprint(XXH3_64bits(reply.bytes.data(), reply.bytes.size()));
  out.Add(std::move(reply));
}

void Engine::Impl::Refuse(Outbox& out, ExchangeId id, Refusal refusal, std::string_view text) {
  Frame frame = Header(FrameType::kRefusal, 0);
  frame.refusal = refusal;
  frame.text = text;
  Outbox::Reply reply;
  reply.id = id;
  FrameWriter writer(frame, config_.datagram_max, reply.bytes);
  MixFingerprint(writer.Finish());
  out.Add(std::move(reply));
}

}  // namespace nekton
