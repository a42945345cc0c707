// Requests and answers over streams, ours and those of others, through a seal.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "swim/bytes.h"
#include "swim/message.h"
#include "swim/wire.h"
#include "transport/seal.h"

namespace nekton {

// ---- streams: ours

void Seal::Exchange(Instant now, ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> plain,
                    Below& below) {
  Open& open = open_[id];
  open.to = to;
  open.deadline = now + std::min(limit, Duration(std::chrono::hours(24)));
  open.plain = std::move(plain);
  open.sealed = options_.mode == Sealing::kRequire || peers_[to].seals;
  Begin(now, id, open, below);
}

void Seal::Begin(Instant now, ExchangeId id, Open& open, Below& below) {
  const Duration left = std::max<Duration>(open.deadline - now, std::chrono::milliseconds(1));
  if (!open.sealed) {
    Count(SealCounter::kPlainSent);
    return below.Exchange(id, open.to, left, open.plain);
  }
  const SealHeader header = Header(SealKind::kRequest, peers_[open.to]);
  std::vector<std::byte> request = SealStream(header, options_.keys.primary(), options_.label, {}, open.plain);
  std::copy_n(request.begin(), open.header.size(), open.header.begin());
  Count(SealCounter::kSealed);
  below.Exchange(id, open.to, left, std::move(request));
}

void Seal::Finish(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes,
                  Transport::Receiver& above) {
  open_.erase(id);
  above.OnAnswer(id, status, bytes);
}

absl::Status Seal::RefusedBy(const Address& to, SealRefusal code) const {
  const std::string who = to.ToString();
  switch (code) {
    case SealRefusal::kUnknownKey:
      return absl::FailedPreconditionError(absl::StrCat(who, ": does not have our key ",
                                                        KeyIdText(options_.keys.primary().id()),
                                                        "; is it the key of another group?"));
    case SealRefusal::kDoesNotOpen:
      return absl::FailedPreconditionError(absl::StrCat(who, ": could not open what we sealed"));
    case SealRefusal::kOtherCluster:
      return absl::FailedPreconditionError(absl::StrCat(who, ": belongs to another cluster"));
    case SealRefusal::kRepeated:
      return absl::UnavailableError(absl::StrCat(who, ": had our request before"));
  }
  return absl::UnavailableError(who);
}

void Seal::OnAnswer(Instant now, ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes,
                    Below& below, Transport::Receiver& above) {
  const auto found = open_.find(id);
  if (found == open_.end()) return above.OnAnswer(id, status, bytes);
  Open& open = found->second;
  from_ = open.to;
  if (!status.ok()) return Finish(id, status, {}, above);
  if (!IsSealed(bytes)) return OnPlainAnswer(now, id, bytes, below, above);
  SealRefusal code{};
  if (ReadSealRefusal(bytes, label_, &code)) {
    Count(SealCounter::kRefusedStream);
    return Finish(id, RefusedBy(open.to, code), {}, above);
  }
  SealHeader header;
  const SealKey* key = nullptr;
  if (OpenHeader(open.to, bytes, &header, &key)) {
    if (header.kind == SealKind::kStreamChallenge && OnStreamChallenge(now, id, open, bytes, *key, below)) return;
    if (open.sealed && header.kind == SealKind::kAnswer &&
        OpenStream(bytes, *key, options_.label, open.header, &opened_)) {
      Count(SealCounter::kOpened);
      const std::vector<std::byte> answer = std::exchange(opened_, {});
      return Finish(id, absl::OkStatus(), answer, above);
    }
    Count(SealCounter::kRefusedStream);
  }
  Finish(id, absl::UnavailableError(absl::StrCat(open.to.ToString(), ": what came is no answer to our request")), {},
         above);
}

// The other side has not our token: the same again with the one that it gives, or the first time sealed.
bool Seal::OnStreamChallenge(Instant now, ExchangeId id, Open& open, std::span<const std::byte> bytes,
                             const SealKey& key, Below& below) {
  constexpr std::uint32_t kTries = 2;
  if (!open.sealed || open.challenges >= kTries) return false;
  if (!OpenStream(bytes, key, options_.label, open.header, &opened_) || opened_.size() < kSealTokenSize) return false;
  const auto token = ByteReader(opened_).Fixed<std::uint64_t>();
  Peer& peer = peers_[open.to];
  peer.seals = true;
  if (token != peer.token) {
    peer.token = token;
    peer.counter = 0;
  }
  ++open.challenges;
  Count(SealCounter::kChallengesMet);
  Count(SealCounter::kSentAgain);
  Begin(now, id, open, below);
  return true;
}

void Seal::OnPlainAnswer(Instant now, ExchangeId id, std::span<const std::byte> bytes, Below& below,
                         Transport::Receiver& above) {
  Open& open = open_.find(id)->second;
  if (open.sealed) {
    Count(SealCounter::kRefusedPlain);
    return Finish(id,
                  absl::FailedPreconditionError(absl::StrCat(
                      open.to.ToString(), ": answers without sealing; it has no key, or is of another group")),
                  {}, above);
  }
  // It was asked in plain, and says that it refuses that.
  Frame frame;
  if (DecodeStream(bytes, label_, &frame) == Fault::kNone && frame.type == FrameType::kRefusal &&
      frame.refusal == Refusal::kSealed) {
    peers_[open.to].seals = true;
    open.sealed = true;
    return Begin(now, id, open, below);
  }
  Count(SealCounter::kPlainTaken);
  Finish(id, absl::OkStatus(), bytes, above);
}

// ---- streams: those of others

void Seal::ServePlain(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy, Below& below,
                      Transport::Receiver& above) {
  if (options_.mode == Sealing::kAccept) {
    Count(SealCounter::kPlainTaken);
    return above.OnRequest(from, id, bytes, busy);
  }
  Refuse(SealCounter::kRefusedPlain, from, "does not seal its requests, which this group requires");
  // In words that a member without sealing understands, if it is one.
  Frame request;
  if (DecodeStream(bytes, label_, &request) != Fault::kNone) return below.Reply(id, {});
  Frame refusal;
  refusal.type = FrameType::kRefusal;
  refusal.label = label_;
  refusal.sequence = request.sequence;
  refusal.refusal = Refusal::kSealed;
  refusal.text = "this group seals its frames: its key is needed";
  std::vector<std::byte> answer;
  FrameWriter(refusal, kFixedMax, answer).Finish();
  below.Reply(id, std::move(answer));
}

void Seal::OnRequest(Instant now, const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy,
                     Below& below, Transport::Receiver& above) {
  from_ = from;
  if (!IsSealed(bytes)) return ServePlain(from, id, bytes, busy, below, above);
  const auto refuse = [&](SealRefusal code) { below.Reply(id, WriteSealRefusal(label_, code)); };
  SealHeader header;
  const SealKey* key = nullptr;
  const std::uint64_t others = counters_[SealCounter::kRefusedLabel];
  const std::uint64_t unknown = counters_[SealCounter::kRefusedKey];
  if (!OpenHeader(from, bytes, &header, &key)) {
    if (counters_[SealCounter::kRefusedLabel] != others) return refuse(SealRefusal::kOtherCluster);
    if (counters_[SealCounter::kRefusedKey] != unknown) return refuse(SealRefusal::kUnknownKey);
    return below.Reply(id, {});
  }
  if (header.kind != SealKind::kRequest || !OpenStream(bytes, *key, options_.label, {}, &opened_)) {
    Refuse(SealCounter::kRefusedStream, from, "sends requests that do not open with the key that they name");
    return refuse(SealRefusal::kDoesNotOpen);
  }
  const std::span<const std::byte> bound = bytes.first(kSealHeaderSize);
  if (!Proves(header)) {
    if (sessions_.Find(header.token) != nullptr) return refuse(SealRefusal::kRepeated);
    if (!MayChallenge(now)) return below.Reply(id, {});
    Peer nobody;
    const SealHeader own = Header(SealKind::kStreamChallenge, nobody);
    Count(SealCounter::kChallenges);
    const auto token = SealTokenBytes(NewToken());
    return below.Reply(id, SealStream(own, options_.keys.primary(), options_.label, bound, token));
  }
  Count(SealCounter::kOpened);
  std::copy(bound.begin(), bound.end(), served_[id].begin());
  const std::vector<std::byte> plain = std::exchange(opened_, {});
  above.OnRequest(from, id, plain, busy);
}

void Seal::Reply(ExchangeId id, std::vector<std::byte> plain, Below& below) {
  const Bound* bound = served_.Find(id);
  if (bound == nullptr || plain.empty()) {
    served_.Erase(id);
    return below.Reply(id, std::move(plain));
  }
  Peer nobody;
  const SealHeader header = Header(SealKind::kAnswer, nobody);
  std::vector<std::byte> sealed = SealStream(header, options_.keys.primary(), options_.label, *bound, plain);
  served_.Erase(id);
  Count(SealCounter::kSealed);
  below.Reply(id, std::move(sealed));
}

}  // namespace nekton
