// Any bytes before a seal, and any fields and bodies properly sealed by one who has the key: nothing is harmed, what is not
// proved is not passed on, and each datagram counts at most once.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "swim/bytes.h"
#include "swim/message.h"
#include "swim/random.h"
#include "transport/seal.h"

namespace {

using namespace nekton;
using Raw = std::vector<std::byte>;

void Require(bool condition) {
  if (!condition) std::abort();
}

SealKey FuzzKey() {
  std::array<std::byte, SealKey::kSize> bytes{};
  bytes.fill(std::byte{7});
  return SealKey(bytes);
}

// A seal, and the network below and the member above it, which keep what it says.
class Bench final : public Seal::Below, public Transport::Receiver {
 public:
  explicit Bench(Sealing mode) : seal(Options(mode)) {}
  void Send(const Address& to, std::span<const std::byte> bytes) override {
    (void)to;
    sent.emplace_back(bytes.begin(), bytes.end());
  }
  void Exchange(ExchangeId, const Address&, Duration, Raw request) override { asked = std::move(request); }
  void Reply(ExchangeId, Raw answer) override { replied = std::move(answer); }
  void OnDatagram(const Address&, std::span<const std::byte>) override { ++delivered; }
  void OnRequest(const Address&, ExchangeId id, std::span<const std::byte> bytes, bool) override {
    ++delivered;
    seal.Reply(id, Raw(bytes.begin(), bytes.end()), *this);
  }
  void OnAnswer(ExchangeId, const absl::Status&, std::span<const std::byte>) override { ++answers; }
  void OnTrouble(const Address&, Trouble) override {}

  Seal seal;
  std::vector<Raw> sent;
  Raw asked;
  Raw replied;
  std::size_t delivered = 0;
  std::size_t answers = 0;

 private:
  static SealOptions Options(Sealing mode) {
    SealOptions options;
    options.name = "fuzz";
    options.mode = mode;
    options.peers_max = 32;
    Require(options.keys.Add(FuzzKey()).ok());
    options.random = [random = Random(1)](std::span<std::byte> bytes) mutable {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next() >> 56);
    };
    return options;
  }
};

const Address kPeer = Address::V4(10, 0, 0, 1, 1);

// Tokens that the seal has given out, as its challenges and offers tell; for frames that use them.
void Learn(const Bench& bench, std::vector<std::uint64_t>& tokens) {
  for (const Raw& frame : bench.sent) {
    SealHeader header;
    Raw plain;
    if (ReadSealHeader(frame, LabelTag(""), &header) != SealFault::kNone) continue;
    if (!OpenDatagram(frame, FuzzKey(), "", &plain)) continue;
    const bool challenge = header.kind == SealKind::kChallenge;
    if (!challenge && (header.flags & kSealOffers) == 0) continue;
    Require(plain.size() >= (challenge ? 16U : 8U));
    tokens.push_back(ByteReader(std::span<const std::byte>(plain).subspan(challenge ? 8 : 0)).Fixed<std::uint64_t>());
  }
}

// One step of the input: what to do, and with which bytes.
void Step(Bench& bench, std::vector<std::uint64_t>& tokens, Instant now, std::uint8_t what,
          std::span<const std::byte> bytes) {
  SealHeader header;
  header.label = LabelTag("");
  header.key = FuzzKey().id();
  ByteReader reader(bytes);
  header.flags = reader.Fixed<std::uint8_t>() & 15;
  header.sender = reader.Fixed<std::uint8_t>() & 3;
  header.generation = reader.Fixed<std::uint8_t>() & 3;
  header.counter = reader.Fixed<std::uint16_t>();
  const auto choice = reader.Fixed<std::uint8_t>();
  if (!tokens.empty() && choice != 0) header.token = tokens[choice % tokens.size()];
  const std::span<const std::byte> body = reader.rest();
  Raw sealed;
  switch (what % 8) {
    case 0:
      bench.seal.OnDatagram(now, kPeer, bytes, bench, bench);
      return;
    case 1:
      bench.seal.OnRequest(now, kPeer, 5, bytes, false, bench, bench);
      return;
    case 2:
      bench.seal.OnAnswer(now, 9, absl::OkStatus(), bytes, bench, bench);
      return;
    case 3: {
      header.kind = (choice & 1) != 0 ? SealKind::kChallenge : SealKind::kData;
      SealDatagram(header, FuzzKey(), "", {}, body, &sealed);
      const std::size_t before = bench.delivered;
      bench.seal.OnDatagram(now, kPeer, sealed, bench, bench);
      Require(bench.delivered <= before + (header.token != 0 ? 1 : 0));
      const std::size_t once = bench.delivered;
      bench.seal.OnDatagram(now, kPeer, sealed, bench, bench);
      Require(bench.delivered == once);
      return;
    }
    case 4: {
      header.kind = SealKind::kRequest;
      const std::size_t before = bench.delivered;
      bench.seal.OnRequest(now, kPeer, 6, SealStream(header, FuzzKey(), "", {}, body), false, bench, bench);
      Require(bench.delivered <= before + (header.token != 0 ? 1 : 0));
      return;
    }
    case 5:
      bench.seal.Exchange(now, 9, kPeer, std::chrono::seconds(1), Raw(body.begin(), body.end()), bench);
      return;
    case 6:
      header.kind = (choice & 1) != 0 ? SealKind::kAnswer : SealKind::kStreamChallenge;
      bench.seal.OnAnswer(
          now, 9, absl::OkStatus(),
          SealStream(header, FuzzKey(), "",
                     std::span<const std::byte>(bench.asked).first(std::min(bench.asked.size(), kSealHeaderSize)),
                     body),
          bench, bench);
      return;
    default:
      bench.seal.Send(kPeer, body, bench);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Raw bytes(size);
  if (size != 0) std::memcpy(bytes.data(), data, size);
  // As they are, to each reader.
  SealHeader header;
  Raw plain;
  (void)ReadSealHeader(
      bytes, size > 5 ? ByteReader(std::span<const std::byte>(bytes).subspan(2)).Fixed<std::uint32_t>() : 0, &header);
  Require(!OpenDatagram(bytes, FuzzKey(), "other", &plain) && plain.empty());
  Require(!OpenStream(bytes, FuzzKey(), "other", {}, &plain) && plain.empty());
  // As a script: what, length, bytes; and so on.
  if (size == 0) return 0;
  Bench bench(data[0] % 2 == 0 ? Sealing::kRequire : Sealing::kAccept);
  std::vector<std::uint64_t> tokens;
  std::span<const std::byte> rest = std::span<const std::byte>(bytes).subspan(1);
  Instant now(std::chrono::hours(1));
  for (int step = 0; step < 64 && rest.size() >= 2; ++step) {
    const auto what = std::to_integer<std::uint8_t>(rest[0]);
    const std::size_t length = std::min(std::to_integer<std::size_t>(rest[1]), rest.size() - 2);
    bench.sent.clear();
    Step(bench, tokens, now, what, rest.subspan(2, length));
    Learn(bench, tokens);
    rest = rest.subspan(2 + length);
    now += std::chrono::milliseconds(1);
  }
  Require(bench.seal.sessions() <= 32);
  return 0;
}
