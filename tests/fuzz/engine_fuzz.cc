// An engine under any sequence of inputs: frames with right checksums and known senders, syncs, answers, troubles, orders,
// and time that goes any way. It must live, keep its bounds, and say nothing that its own decoder would refuse.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "swim/bytes.h"
#include "swim/engine.h"
#include "swim/wire.h"

namespace {

using namespace nekton;
using Raw = std::vector<std::byte>;

void Require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::uint64_t kGeneration = 1'700'000'000'000;
constexpr std::size_t kMembersMax = 16;

class Bench {
 public:
  explicit Bench(std::uint8_t flavour) : engine_(Make(flavour)) { Wake(); }

  void Step(std::uint8_t what, std::span<const std::byte> bytes) {
    now_ += std::chrono::milliseconds(10);
    ByteReader reader(bytes);
    const auto small = reader.Fixed<std::uint8_t>();
    switch (what % 12) {
      case 0:
      case 1:
        engine_.Receive(Now(), From(small), Frame(bytes, what % 12 == 1), out_);
        break;
      case 2:
      case 3:
        engine_.Serve(Now(), From(small), ++served_, Frame(bytes, what % 12 == 3), out_, small % 8 == 0);
        break;
      case 4:
        if (!open_.empty()) {
          const ExchangeId id = open_[small % open_.size()];
          std::erase(open_, id);
          engine_.Answer(Now(), id, absl::OkStatus(), Frame(bytes, true), out_);
        }
        break;
      case 5:
        if (!open_.empty()) {
          const ExchangeId id = open_.front();
          open_.pop_front();
          engine_.Answer(Now(), id, absl::Status(static_cast<absl::StatusCode>(1 + small % 16), "x"), {}, out_);
        }
        break;
      case 6:
        engine_.Report(Now(), From(small), static_cast<Trouble>(small % 4), out_);
        break;
      case 7:
        now_ += std::chrono::milliseconds(small * 50);
        Wake();
        break;
      case 8:
        engine_.Order(Now(), Join{{From(small), From(static_cast<std::uint8_t>(small + 1))}}, out_).IgnoreError();
        break;
      case 9:
        engine_.Order(Now(), SetTag{"k", std::string(small, 'v')}, out_).IgnoreError();
        break;
      case 10:
        engine_.Order(Now(), Broadcast{"b", std::string(reader.Text(reader.left()))}, out_).IgnoreError();
        break;
      default:
        if (small == 255) engine_.Order(Now(), Leave{}, out_).IgnoreError();
        Wake();
    }
    Look();
  }

 private:
  static Engine Make(std::uint8_t flavour) {
    Config config = flavour % 3 == 2 ? Config::Mesh() : Config::Lan();
    if (flavour % 3 == 1) config.detector = DetectorKind::kPhi;
    config.name = "self";
    config.generation = kGeneration;
    config.seed = 1;
    config.members_max = kMembersMax;
    auto made = Engine::Create(config, From(200));
    Require(made.ok());
    return *std::move(made);
  }
  static Address From(std::uint8_t number) { return Address::V4(10, 0, 0, number, 7946); }
  Tick Now() const {
    return {.boot = now_,
            .raw = RawInstant(now_.time_since_epoch()),
            .wall = WallTime(std::chrono::milliseconds(kGeneration) + now_.time_since_epoch())};
  }
  void Wake() { engine_.Wake(Now(), out_); }

  // The bytes as a frame of our cluster: label and checksum right; with `known` from a member that is there.
  Raw Frame(std::span<const std::byte> bytes, bool known) const {
    Raw frame(bytes.begin(), bytes.end());
    if (frame.size() < kBareFrameSize) return frame;
    const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) frame[at + i] = static_cast<std::byte>(value >> (8 * i));
    };
    frame[0] = (frame[0] & std::byte{15}) | std::byte{0x10};
    put(2, LabelTag(""), 4);
    if (known) {
      const std::vector<MemberPtr> members = engine_.Members();
      const MemberPtr& one = members[std::to_integer<std::size_t>(frame[6]) % members.size()];
      put(6, MemberId(one->name, one->key.generation), 8);
      put(14, one->key.incarnation, 2);
    }
    put(frame.size() - 4, XXH32(frame.data(), frame.size() - 4, 0), 4);
    return frame;
  }

  void Look() {
    nekton::Frame frame;
    for (const Outbox::Datagram& d : out_.datagrams()) {
      Require(DecodeDatagram(out_.bytes(d), LabelTag(""), &frame) == Fault::kNone);
      Require(d.size <= engine_.config().datagram_max);
    }
    for (const Outbox::Request& r : out_.requests()) {
      Require(DecodeStream(r.bytes, LabelTag(""), &frame) == Fault::kNone);
      open_.push_back(r.id);
    }
    for (const Outbox::Reply& r : out_.replies()) {
      Require(r.bytes.empty() || DecodeStream(r.bytes, LabelTag(""), &frame) == Fault::kNone);
    }
    out_.Clear();
    Require(engine_.size() <= kMembersMax);
    Require(engine_.Self() != nullptr);
  }

  Instant now_{std::chrono::seconds(1000)};
  Engine engine_;
  Outbox out_;
  ExchangeId served_ = 0;
  std::deque<ExchangeId> open_;
};

}  // namespace

// A script: flavour; then what, length (two bytes), bytes; and so on.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  Raw bytes(size);
  std::memcpy(bytes.data(), data, size);
  Bench bench(data[0]);
  std::span<const std::byte> rest = std::span<const std::byte>(bytes).subspan(1);
  for (int step = 0; step < 256 && rest.size() >= 3; ++step) {
    const auto what = std::to_integer<std::uint8_t>(rest[0]);
    const std::size_t wanted = ByteReader(rest.subspan(1)).Fixed<std::uint16_t>();
    const std::size_t length = std::min(wanted, rest.size() - 3);
    bench.Step(what, rest.subspan(3, length));
    rest = rest.subspan(3 + length);
  }
  return 0;
}
