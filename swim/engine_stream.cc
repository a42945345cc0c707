// What goes over streams: who is tried in order to join, the exchanges, and the last try of a probe round.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/engine_impl.h"
#include "swim/engine_mail.h"
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
    case Refusal::kTerms:
    case Refusal::kSealed:
      return absl::FailedPreconditionError(text);
  }
  return absl::UnknownError(text);
}

}  // namespace

absl::Status Engine::Impl::CheckJoin(const Join& join) const {
  if (phase_ == Phase::kLeaving) return absl::FailedPreconditionError("the member is leaving");
  for (const Address& address : join.addresses) {
    if (address.port == 0 || address.is_unspecified()) {
      return absl::InvalidArgumentError(
          absl::StrCat("addresses: ", address.ToString(), " cannot be reached: no address or no port"));
    }
  }
  if (join.limit < Duration{}) return absl::InvalidArgumentError("limit: must not be negative");
  if (join.limit == Duration{}) return absl::OkStatus();
  if (join.addresses.empty()) return absl::InvalidArgumentError("addresses: none, and so nothing to wait for");
  if (join_calls_.full()) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", JoinCalls::kMax, " calls of Join at a time"));
  }
  std::size_t fresh = 0;
  for (const Address& address : join.addresses) fresh += join_addresses_.Find(address) == nullptr ? 1 : 0;
  if (join_addresses_.size() + fresh > JoinAddresses::kMax) {
    return absl::ResourceExhaustedError(absl::StrCat("addresses: more than ", JoinAddresses::kMax, " given to Join"));
  }
  return absl::OkStatus();
}

absl::Status Engine::Impl::TakeContacts(Outbox& out, const Join& join) {
  absl::Status status = CheckJoin(join);
  if (!status.ok()) return status;
  const bool awaited = join.limit > Duration{};
  if (awaited) {
    join_calls_.Begin(join.call, Later(now_.boot, join.limit), join.addresses);
    join_calls_.Result(table_[kSelf].address, absl::FailedPreconditionError("this is our own address"));
  }
  for (const Address& address : join.addresses) {
    if (address == table_[kSelf].address) continue;
    if (!join_addresses_.Add(address, now_.boot)) {
      status =
          absl::ResourceExhaustedError(absl::StrCat("addresses: more than ", JoinAddresses::kMax, " given to Join; ",
                                                    address.ToString(), " and those after it are left out"));
      break;
    }
    if (awaited) join_addresses_.Find(address)->backoff = {};
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
  auto& all = join_addresses_.all();
  const bool lost = std::none_of(all.begin(), all.end(), [&](const JoinAddress& c) { return AddressAlive(c.address); });
  for (JoinAddress& contact : all) {
    // With every seed gone the slow rhythm becomes the quick one.
    const bool slow = contact.next != kNever && contact.next > now_.boot + config_.join_backoff_max * 2;
    if (lost && slow) contact.next = now_.boot;
  }
  std::size_t under_way = join_addresses_.under_way();
  for (;;) {
    JoinAddress* contact = under_way < kContactsAtOnce ? join_addresses_.Earliest() : nullptr;
    if (contact == nullptr || contact->next > now_.boot) break;
    TryContact(out, *contact);
    under_way += contact->next == kNever ? 1 : 0;
  }
  // At the bound the next one has its turn when one of them has ended.
  next_contact_ = under_way < kContactsAtOnce ? join_addresses_.next() : kNever;
  EndJoinCalls(out);  // some may be members by now, or have been all along
}

void Engine::Impl::TryContact(Outbox& out, JoinAddress& contact) {
  if (AddressAlive(contact.address)) {
    contact.next = now_.boot + config_.seed_retry;
    contact.backoff = {};
    join_calls_.Result(contact.address, absl::OkStatus());
    return;
  }
  if (OnProbation()) {
    contact.next = now_.boot + config_.join_backoff_max;
    return;
  }
  contact.next = kNever;
  const bool join = !joined_ || JoinOnly();
  StartSync(out, {.errand = Errand::kContact, .address = contact.address, .join = join, .reconnect = joined_});
}

void Engine::Impl::EndJoinCalls(Outbox& out, const absl::Status* all) {
  for (;;) {
    std::optional<JoinCalls::Call> call = all != nullptr ? join_calls_.TakeOpen(*all) : join_calls_.TakeOver(now_.boot);
    if (!call.has_value()) return;
    MixFingerprint(call->id ^ static_cast<std::uint64_t>(call->status.code()) << 32);
    if (!out.wants_events()) continue;
    Event event;
    event.kind = EventKind::kJoinDone;
    event.at = now_.boot;
    event.status = std::move(call->status);
    event.call = call->id;
    event.outcomes = std::move(call->outcomes);
    out.Add(std::move(event));
  }
}

void Engine::Impl::ContactDone(Outbox& out, const Exchange& exchange, const absl::Status& status) {
  JoinAddress* contact = join_addresses_.Find(exchange.address);
  if (contact == nullptr) return;
  join_calls_.Result(exchange.address, status);
  const auto& all = join_addresses_.all();
  const bool any = std::any_of(all.begin(), all.end(), [&](const JoinAddress& c) { return AddressAlive(c.address); });
  if (status.ok() || (any && !join_calls_.Awaits(exchange.address))) {
    contact->next = now_.boot + config_.seed_retry;
    contact->backoff = {};
  } else {
    contact->next =
        now_.boot + JoinAddresses::Backoff(*contact, config_.join_backoff_min, config_.join_backoff_max, random_);
  }
  next_contact_ = join_addresses_.next();
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
  } else if (exchange.errand == Errand::kMail || exchange.errand == Errand::kMailAnswer) {
    Mailing().Exchanged(out, exchange, result, frame);
  } else {
    if (result.ok() && frame.type != FrameType::kSyncReply) result = absl::DataLossError("not an answer to a sync");
    if (result.ok()) {
      OnSyncReply(out, exchange, frame);
      if (AskForLeaves(out, exchange, frame)) return Finish(out);
      // What it brings is news to others where that of the exchange before was.
      if (!heard_parts_.wanted.empty()) SyncBroadcasts(out, exchange.address, exchange.join || exchange.reconnect);
    } else {
      ++counters_[Counter::kSyncsFailed];
    }
    if (exchange.errand == Errand::kRepair) repairing_ = false;
    if (exchange.errand == Errand::kBroadcasts) mending_broadcasts_ = false;
    if (exchange.errand == Errand::kContact) {
      ContactDone(out, exchange, result);
      EndJoinCalls(out);
    }
    // Where it was let in may be busy: the newcomer's question is asked again.
    if (exchange.errand == Errand::kQuestion && !result.ok()) AskLater(exchange.address);
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

void Engine::Impl::Serve(const Tick& now, const Address& from, ExchangeId id, std::span<const std::byte> request,
                         Outbox& out, bool busy) {
  if (phase_ == Phase::kGone) {
    out.Add(Outbox::Reply{id, {}});
    return;
  }
  Frame frame;
  Fault fault = DecodeStream(request, label_, &frame);
  const bool asks = frame.type == FrameType::kSync || frame.type == FrameType::kPing || frame.type == FrameType::kMail;
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
  if (frame.type == FrameType::kSync && busy) {
    ++counters_[Counter::kSyncsDeclined];
    Refuse(out, id, Refusal::kBusy, "this member answers as many others as it can at once; come again");
  } else if (frame.type == FrameType::kSync) {
    ServeSync(out, id, frame, request);
  } else if (frame.type == FrameType::kMail) {
    Mailing().Serve(out, id, frame);
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
  for (const PeerId row : answers_) {
    if (!AddExpulsion(writer, row)) writer.Add(NewsOf(row));
  }
  MixFingerprint(writer.Finish());
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
