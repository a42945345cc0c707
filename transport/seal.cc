#include "transport/seal.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "swim/bytes.h"
#include "swim/message.h"

namespace nekton {
namespace {

// Challenges: as many at once as a large group that starts needs, and then at this rate; a flood of recorded frames gets
// no more answers than that.
constexpr std::int64_t kChallengesMax = 1024;
constexpr Duration kChallengeEvery = std::chrono::milliseconds(4);
constexpr std::size_t kOffersMax = 4096;
constexpr std::size_t kServedMax = 4096;
constexpr std::uint8_t kKnockEvery = 16;  // plain frames to one who does not answer it

std::uint64_t SenderId(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

std::array<std::byte, kSealTokenSize> EchoOf(const SealHeader& header) {
  std::array<std::byte, kSealTokenSize> echo{};
  std::copy_n(header.random.begin(), echo.size(), echo.begin());
  return echo;
}

}  // namespace

Seal::Seal(SealOptions options)
    : options_(std::move(options)),
      label_(LabelTag(options_.label)),
      self_(SenderId(options_.name)),
      peers_(options_.peers_max),
      offers_(kOffersMax),
      sessions_(options_.peers_max),
      newest_(options_.peers_max),
      served_(kServedMax),
      challenges_left_(kChallengesMax) {}

std::uint64_t Seal::NewToken() {
  std::array<std::byte, kSealTokenSize> bytes{};
  std::uint64_t token = 0;
  while (token == 0) {  // which stands for none
    options_.random(bytes);
    token = ByteReader(bytes).Fixed<std::uint64_t>();
  }
  offers_[token] = true;
  return token;
}

// One token for each address, for as long as it is good.
std::uint64_t Seal::OfferTo(const Address& to) {
  Peer& peer = peers_[to];
  if (peer.offer == 0 || (offers_.Find(peer.offer) == nullptr && sessions_.Find(peer.offer) == nullptr)) {
    peer.offer = NewToken();
  }
  return peer.offer;
}

SealHeader Seal::Header(SealKind kind, Peer& peer) {
  SealHeader header;
  header.kind = kind;
  header.label = label_;
  header.key = options_.keys.primary().id();
  header.sender = self_;
  header.generation = options_.generation;
  header.token = peer.token;
  options_.random(header.random);
  header.counter = ++peer.counter;
  return header;
}

// ---- datagrams

void Seal::Send(const Address& to, std::span<const std::byte> plain, Below& below) {
  if (options_.mode == Sealing::kAccept) {
    Peer& peer = peers_[to];
    if (!peer.seals) {
      Count(SealCounter::kPlainSent);
      const bool knocks = peer.plain_until_knock == 0;
      peer.plain_until_knock = knocks ? kKnockEvery : static_cast<std::uint8_t>(peer.plain_until_knock - 1);
      below.Send(to, plain);
      if (knocks) SendSealed(to, plain, kSealKnock, below);
      return;
    }
  }
  SendSealed(to, plain, 0, below);
}

// A knock carries nothing; `plain` is what is sent again if the other refuses plain frames.
void Seal::SendSealed(const Address& to, std::span<const std::byte> plain, std::uint8_t flags, Below& below) {
  const std::uint64_t offer = OfferTo(to);
  Peer& peer = peers_[to];
  SealHeader header = Header(SealKind::kData, peer);
  header.flags = flags;
  std::span<const std::byte> first;
  const auto offered = SealTokenBytes(offer);
  if (!peer.heard) {
    header.flags |= kSealOffers;
    first = offered;
  }
  Sent& sent = peer.sent[peer.next++ % kSentMax];
  sent.echo = EchoOf(header);
  sent.open = true;
  if (!peer.heard || peer.token == 0) {
    sent.plain.assign(plain.begin(), plain.end());
  } else {
    sent.plain.clear();
  }
  const std::span<const std::byte> said = (flags & kSealKnock) != 0 ? std::span<const std::byte>() : plain;
  SealDatagram(header, options_.keys.primary(), options_.label, first, said, &sealed_);
  Count(SealCounter::kSealed);
  below.Send(to, sealed_);
}

void Seal::Refuse(SealCounter why, const Address& from, std::string_view what) {
  Count(why);
  if (options_.on_refused) options_.on_refused(from, what);
}

// Reads the header and finds the key; the rest is still to be opened.
bool Seal::OpenHeader(const Address& from, std::span<const std::byte> bytes, SealHeader* header, const SealKey** key) {
  switch (ReadSealHeader(bytes, label_, header)) {
    case SealFault::kNone:
      break;
    case SealFault::kLabel:
      Refuse(SealCounter::kRefusedLabel, from, "seals its frames for another cluster");
      return false;
    case SealFault::kShort:
    case SealFault::kVersion:
    case SealFault::kKind:
      Count(SealCounter::kRefusedShort);
      return false;
  }
  *key = options_.keys.Find(header->key);
  if (*key != nullptr) return true;
  Refuse(SealCounter::kRefusedKey, from,
         absl::StrCat("seals its frames with key ", KeyIdText(header->key), ", which is not in our ring"));
  return false;
}

void Seal::Count(SealCounter counter) {
  ++counters_[counter];
  if (counter >= SealCounter::kRefusedPlain && counter <= SealCounter::kRefusedStream) refused_.Add(from_);
}

void Seal::OnDatagram(Instant now, const Address& from, std::span<const std::byte> bytes, Below& below,
                      Transport::Receiver& above) {
  from_ = from;
  if (!IsSealed(bytes)) {
    if (options_.mode == Sealing::kRequire) {
      return Refuse(SealCounter::kRefusedPlain, from, "does not seal its frames, which this group requires");
    }
    Count(SealCounter::kPlainTaken);
    // It may have gone back to sending plain frames; if it has only not heard of us yet, the knock tells it.
    if (Peer* peer = peers_.Find(from); peer != nullptr && peer->seals) {
      peer->seals = false;
      peer->plain_until_knock = 0;
    }
    return above.OnDatagram(from, bytes);
  }
  SealHeader header;
  const SealKey* key = nullptr;
  if (!OpenHeader(from, bytes, &header, &key)) return;
  if (header.kind != SealKind::kData && header.kind != SealKind::kChallenge) return Count(SealCounter::kRefusedShort);
  if (!OpenDatagram(bytes, *key, options_.label, &opened_)) {
    return Refuse(SealCounter::kRefusedForged, from, "sends frames that do not open with the key that they name");
  }
  if (header.kind == SealKind::kChallenge) return OnChallenge(from, header, below);
  OnData(now, from, header, below, above);
}

void Seal::OnData(Instant now, const Address& from, const SealHeader& header, Below& below,
                  Transport::Receiver& above) {
  const bool offers = (header.flags & kSealOffers) != 0;
  if (offers && opened_.size() < kSealTokenSize) return Count(SealCounter::kRefusedShort);
  if (!Proves(header)) {
    if (sessions_.Find(header.token) == nullptr) Challenge(now, from, header, below);
    return;
  }
  Count(SealCounter::kOpened);
  Peer& peer = peers_[from];
  peer.heard = true;
  peer.seals = true;
  std::span<const std::byte> plain = opened_;
  if (offers) {
    const auto token = ByteReader(plain).Fixed<std::uint64_t>();
    plain = plain.subspan(kSealTokenSize);
    if (token != 0 && token != peer.token) {
      peer.token = token;
      peer.counter = 0;
    }
  }
  if ((header.flags & kSealKnock) == 0) above.OnDatagram(from, plain);
}

// Whether a frame that has opened was said by a life that goes on, and is not a repetition. Counts why not.
bool Seal::Proves(const SealHeader& header) {
  Session* session = sessions_.Find(header.token);
  if (session == nullptr) {
    const bool offered = header.token != 0 && offers_.Find(header.token) != nullptr;
    const std::uint64_t* newest = newest_.Find(header.sender);
    if (!offered) {
      Count(newest != nullptr && header.generation < *newest ? SealCounter::kRefusedOldLife
                                                             : SealCounter::kRefusedUnproved);
      return false;
    }
    offers_.Erase(header.token);
    std::uint64_t& known = newest_[header.sender];
    if (header.generation > known) {
      known = header.generation;
      sessions_.EraseIf(
          [&](const Session& s) { return s.sender == header.sender && s.generation < header.generation; });
    }
    const std::uint64_t forgotten = sessions_.forgotten();
    session = &sessions_[header.token];
    counters_[SealCounter::kForgotten] += sessions_.forgotten() - forgotten;
    session->sender = header.sender;
    session->generation = header.generation;
    Count(SealCounter::kSendersProved);
  } else if (session->sender != header.sender || session->generation != header.generation) {
    Count(SealCounter::kRefusedForged);
    return false;
  }
  switch (session->window.Take(header.counter)) {
    case ReplayWindow::Verdict::kFresh:
      return true;
    case ReplayWindow::Verdict::kRepeated:
      Count(SealCounter::kRefusedRepeated);
      return false;
    case ReplayWindow::Verdict::kTooOld:
      Count(SealCounter::kRefusedTooOld);
      return false;
  }
  return false;
}

bool Seal::MayChallenge(Instant now) {
  if (now > challenges_at_) {
    const std::int64_t earned = (now - challenges_at_) / kChallengeEvery;
    if (earned > 0) {
      challenges_left_ = std::min(kChallengesMax, challenges_left_ + std::min(earned, kChallengesMax));
      challenges_at_ = now;
    }
  }
  if (challenges_left_ <= 0) {
    Count(SealCounter::kChallengesHeld);
    return false;
  }
  --challenges_left_;
  return true;
}

void Seal::Challenge(Instant now, const Address& to, const SealHeader& header, Below& below) {
  if (!MayChallenge(now)) return;
  // One that nobody bears yet: another life may be at that address now.
  Peer& peer = peers_[to];
  if (peer.offer == 0 || offers_.Find(peer.offer) == nullptr) peer.offer = NewToken();
  const std::uint64_t token = peer.offer;
  Peer nobody;  // a challenge bears no token: it is its echo that proves it
  SealHeader own = Header(SealKind::kChallenge, nobody);
  if (options_.mode == Sealing::kRequire) own.flags = kSealRequires;
  SealDatagram(own, options_.keys.primary(), options_.label, EchoOf(header), SealTokenBytes(token), &sealed_);
  Count(SealCounter::kChallenges);
  below.Send(to, sealed_);
}

void Seal::OnChallenge(const Address& from, const SealHeader& header, Below& below) {
  if (opened_.size() < 2 * kSealTokenSize) return Count(SealCounter::kRefusedShort);
  Peer* peer = peers_.Find(from);
  const auto answered = [&](const Sent& sent) {
    return sent.open && std::equal(sent.echo.begin(), sent.echo.end(), opened_.begin());
  };
  const auto found = peer == nullptr ? nullptr : std::find_if(peer->sent.begin(), peer->sent.end(), answered);
  if (peer == nullptr || found == peer->sent.end()) return Count(SealCounter::kRefusedChallenge);
  Count(SealCounter::kChallengesMet);
  const auto token = ByteReader(std::span<const std::byte>(opened_).subspan(kSealTokenSize)).Fixed<std::uint64_t>();
  const bool knew = peer->seals;
  peer->seals = true;
  if (token != peer->token) {
    peer->token = token;
    peer->counter = 0;
  }
  found->open = false;
  const std::vector<std::byte> again = std::move(found->plain);
  found->plain = {};
  // What went out in plain has arrived, unless the other refuses that.
  const bool arrived = options_.mode == Sealing::kAccept && !knew && (header.flags & kSealRequires) == 0;
  if (again.empty() || arrived) return;
  Count(SealCounter::kSentAgain);
  SendSealed(from, again, 0, below);
}

}  // namespace nekton
