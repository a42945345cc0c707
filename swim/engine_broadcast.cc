// Broadcasts: said, heard, passed on beside the news of members, and mended where all copies were lost.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "swim/bytes.h"
#include "swim/engine_impl.h"
#include "swim/wire.h"

namespace nekton {
namespace {

// Of the room in a datagram that has to carry news of members and broadcasts, what is first leaves this to the other.
constexpr std::size_t kShare = 4;

// No member holds more; what a hostile frame has beyond is not looked at.
void ReadIds(std::span<const std::byte> bytes, Broadcasts::Ids& ids) {
  ByteReader reader(bytes);
  while (reader.left() != 0 && ids.size() < kBroadcastKeysMax) ids.insert(reader.Fixed<std::uint64_t>());
}

void AddIds(FrameWriter& writer, PartKind kind, const std::vector<std::uint64_t>& ids) {
  std::vector<std::byte> bytes(ids.size() * sizeof(std::uint64_t));
  ByteWriter to(bytes.data());
  for (const std::uint64_t id : ids) to.Fixed(id);
  const std::size_t step = kPartIdsMax * sizeof(std::uint64_t);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    BroadcastPart part;
    part.kind = kind;
    part.ids = std::span(bytes).subspan(at, std::min(step, bytes.size() - at));
    writer.Add(part);
  }
}

// The same broadcast with the largest numbers that it may be sent with.
BroadcastPart AtItsLargest(BroadcastPart part) {
  part.counter = kBroadcastCounterMax - 1;
  part.age = part.left = kBroadcastKeepMax;
  return part;
}

BroadcastInfo InfoOf(const BroadcastPart& part, bool replayed) {
  return {.origin = std::string(part.origin),
          .generation = part.generation,
          .key = std::string(part.key),
          .bytes = std::string(part.bytes),
          .replayed = replayed};
}

}  // namespace

std::vector<BroadcastInfo> Engine::Impl::HeldBroadcasts(const Tick& now) const {
  std::vector<BroadcastInfo> held;
  broadcasts_.ForEach(now.boot, [&](std::uint64_t, const BroadcastPart& part) {
    if (part.left > Duration{} && !IsReserved(part.key)) held.push_back(InfoOf(part, /*replayed=*/true));
  });
  return held;
}

absl::Status Engine::Impl::TakeBroadcast(Outbox& out, const Broadcast& order) {
  if (phase_ == Phase::kLeaving) return absl::FailedPreconditionError("the member is leaving");
  if (order.key.empty() || order.key.size() > kBroadcastKeyMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("key: it has ", order.key.size(), " bytes, 1 to ", kBroadcastKeyMax, " are allowed"));
  }
  if (IsReserved(order.key)) {
    return absl::InvalidArgumentError("key: it begins with a byte 0, as the group's own keys do");
  }
  const std::size_t size = order.key.size() + order.bytes.size();
  if (size > kBroadcastBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes: with the key they are ", size, ", at most ", kBroadcastBytesMax, " are allowed"));
  }
  return SayBroadcast(out, order.key, order.bytes, config_.broadcast_keep);
}

absl::Status Engine::Impl::SayBroadcast(Outbox& out, std::string_view key, std::string_view bytes, Duration keep) {
  BroadcastPart part;
  part.key = key;
  part.origin = table_[kSelf].who->name;
  part.generation = table_[kSelf].key.generation;
  part.left = keep;
  part.bytes = bytes;
  const std::size_t need = kBareFrameSize + EncodedSize(AtItsLargest(part));
  if (need > config_.datagram_max) {
    return absl::InvalidArgumentError(absl::StrCat("bytes: a datagram with these ", key.size() + bytes.size(),
                                                   " of key and bytes takes up to ", need,
                                                   ", and datagram_max = ", config_.datagram_max));
  }
  if (absl::Status status = broadcasts_.Say(now_.boot, part); !status.ok()) return status;
  ++counters_[Counter::kBroadcastsOwn];
  counters_[Counter::kBroadcastsDisplaced] = broadcasts_.displaced();
  TellOfBroadcast(out, part, /*replayed=*/false);
  return absl::OkStatus();
}

void Engine::Impl::ApplyParts(Outbox& out, std::span<const std::byte> updates, Source source) {
  PartReader reader(updates);
  BroadcastPart part;
  while (phase_ != Phase::kGone && reader.Next(&part)) {
    switch (part.kind) {
      case PartKind::kBroadcast:
        HearBroadcast(out, part, source);
        break;
      case PartKind::kDigest:
        heard_parts_.digest = part.digest;
        break;
      case PartKind::kHeld:
        ReadIds(part.ids, heard_parts_.held);
        break;
      case PartKind::kWanted:
        ReadIds(part.ids, heard_parts_.wanted);
        break;
    }
  }
}

// What waited for us while we stood still is older than it says. If it still lasts the next comparison brings it.
// Of what it learns as it joins a newcomer tells nobody: who let it in has.
void Engine::Impl::HearBroadcast(Outbox& out, const BroadcastPart& part, Source source) {
  if (stale_input_) {
    ++counters_[Counter::kBroadcastsStale];
    return;
  }
  if (IsAbsurd(part)) {
    ++counters_[Counter::kBroadcastsRefused];
    return;
  }
  const bool fits = kBareFrameSize + EncodedSize(AtItsLargest(part)) <= config_.datagram_max;  // else a sync brings it
  switch (broadcasts_.Take(now_.boot, part, source == Source::kNews && fits)) {
    case Broadcasts::Verdict::kNews:
      ++counters_[Counter::kBroadcastsHeard];
      counters_[Counter::kBroadcastsDisplaced] = broadcasts_.displaced();
      return TellOfBroadcast(out, part, source == Source::kCatchUp && !joined_);
    case Broadcasts::Verdict::kKnown:
      ++counters_[Counter::kBroadcastsKnown];
      return;
    case Broadcasts::Verdict::kStale:
      ++counters_[Counter::kBroadcastsStale];
      return;
    case Broadcasts::Verdict::kRefused:
      ++counters_[Counter::kBroadcastsRefused];
      return;
  }
}

void Engine::Impl::TellOfBroadcast(Outbox& out, const BroadcastPart& part, bool replayed) {
  MixFingerprint(Broadcasts::IdOf(part));
  if (IsInnerKey(part.key)) {
    out.inner_broadcasts().emplace_back(part.bytes);
    return;
  }
  if (IsReserved(part.key)) return HeardNotice(out, part);
  if (!out.wants_events()) return;
  Event event;
  event.kind = EventKind::kBroadcast;
  event.at = now_.boot;
  if (const PeerId row = table_.FindName(part.origin); row != kNoPeer) event.member = table_.MakeInfo(row);
  event.broadcast = std::make_shared<const BroadcastInfo>(InfoOf(part, replayed));
  out.Add(std::move(event));
}

// Of news of members and broadcasts neither starves: in every other datagram one of them is first, and begins nothing more
// when only a quarter of the room is left. So each has more than a quarter of two datagrams, whatever the sizes are.
void Engine::Impl::Piggyback(FrameWriter& writer) {
  const bool both = !news_.empty() && broadcasts_.has_news();
  if (both) broadcasts_first_ = !broadcasts_first_;
  const std::size_t leave = both ? writer.room() / kShare : 0;
  if (both && broadcasts_first_) {
    AddBroadcastsUntil(writer, leave);
    AddNewsUntil(writer, 0);
  } else {
    AddNewsUntil(writer, leave);
    AddBroadcastsUntil(writer, 0);
  }
}

void Engine::Impl::AddNewsUntil(FrameWriter& writer, std::size_t leave) {
  if (news_.empty()) return;
  const std::size_t before = writer.size();
  news_.Fill(SendsPerUpdate(), [&](PeerId row) { return writer.room() > leave && AddNews(writer, NewsOf(row)); });
  counters_[Counter::kNewsBytesSent] += writer.size() - before;
}

void Engine::Impl::AddBroadcastsUntil(FrameWriter& writer, std::size_t leave) {
  if (!broadcasts_.has_news()) return;
  const std::size_t before = writer.size();
  broadcasts_.Fill(now_.boot, SendsPerUpdate(),
                   [&](const BroadcastPart& part) { return writer.room() > leave && writer.Add(part); });
  counters_[Counter::kBroadcastBytesSent] += writer.size() - before;
}

// Who holds none says nothing: it costs what it cost before there were broadcasts.
void Engine::Impl::AddDigest(FrameWriter& writer) {
  if (broadcasts_.digest() == 0) return;
  BroadcastPart part;
  part.kind = PartKind::kDigest;
  part.digest = broadcasts_.digest();
  writer.Add(part);
  counters_[Counter::kBroadcastBytesSent] += kDigestPartSize;
}

// Where broadcasts are said all the time two members differ now and then for a moment, so one ack is not enough.
void Engine::Impl::CompareBroadcasts(Outbox& out, bool differ, PeerId sender) {
  if (!differ) {
    differing_ = 0;
    return;
  }
  if (sender == kNoPeer || ++differing_ < kDifferingMax || phase_ != Phase::kRunning) return;
  if (mending_broadcasts_ || now_.boot < next_broadcast_sync_) return;
  differing_ = 0;
  SyncBroadcasts(out, table_[sender].address, /*reunion=*/false);
}

// A sync of no rows but our own, which must not be told while we wait with our refutation.
void Engine::Impl::SyncBroadcasts(Outbox& out, const Address& with, bool reunion) {
  if (phase_ != Phase::kRunning || OnProbation()) return;
  mending_broadcasts_ = true;
  next_broadcast_sync_ = now_.boot + config_.period * kSettlePeriods;
  Frame frame = Header(FrameType::kSync, 0);
  frame.flags = kFlagLeaves;
  if (reunion) frame.flags |= kFlagReunion;
  frame.label_text = config_.label;
  const Leaves none;
  ++counters_[Counter::kBroadcastSyncsSent];
  SendSync(out, {.errand = Errand::kBroadcasts, .address = with}, EncodeRows(frame, &none));
}

// Every sync says what its sender holds; every reply brings what that one lacks, says what has ended, and asks for what we
// lack. Syncs that answer such a question bring it.
void Engine::Impl::AddPartsOfSync(FrameWriter& writer, FrameType type) const {
  const bool asks = type == FrameType::kSync;
  std::vector<std::uint64_t> ids;  // ours, or those that we lack
  Broadcasts::Ids lacked = heard_parts_.held;
  broadcasts_.ForEach(now_.boot, [&](std::uint64_t id, const BroadcastPart& part) {
    if (asks) ids.push_back(id);
    const bool known = lacked.erase(id) != 0;
    if (asks ? heard_parts_.wanted.contains(id) : !known) writer.Add(part);
  });
  broadcasts_.ForEachRemembered(now_.boot, [&](std::uint64_t id, BroadcastPart part) {
    if (lacked.erase(id) == 0 || asks || part.left > Duration{}) return;
    part.bytes = {};
    writer.Add(part);
  });
  if (!asks) {
    ids.assign(lacked.begin(), lacked.end());
    std::sort(ids.begin(), ids.end());
  }
  AddIds(writer, asks ? PartKind::kHeld : PartKind::kWanted, ids);
}

}  // namespace nekton
