// A member's room for leases, and the authority's, under any sequence of inputs: mail of any bytes from anybody, heads,
// views and differences that the authority signed and others, answers to pings, stores that fail, members that come and go, and
// time that stands or leaps. It must live; no epoch may fall; nothing is told before it is stored; no lease is had by
// what the authority did not sign; and all that it says can be read.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lease/capability.h"
#include "lease/fetched_view.h"
#include "lease/lease_answer.h"
#include "lease/lease_room.h"
#include "swim/bytes.h"

namespace {

using namespace nekton;
using Raw = std::vector<std::byte>;
using Kind = LeaseMessage::Kind;

void Require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::size_t kNames = 8;

const SigningKey& Key() {
  static const SigningKey key(std::array<std::byte, 32>{});
  return key;
}

class Bench {
 public:
  explicit Bench(bool root) : root_(root) {
    LeaseConfig leases;
    leases.authority = "m0";
    leases.key = Key().public_key();
    if (root) leases.signing = Key();
    Config config = Config::Lan();
    config.name = root ? "m0" : "m1";
    config.generation = generation_;
    config.seed = 3;
    for (std::size_t i = 0; i < kNames; ++i) peers_[NameOf(i)] = {1, AddressOf(i), true};
    room_ = std::make_unique<LeaseRoom>(leases, config, AddressOf(root ? 0 : 1), View());
    LeaseOutput out;
    Require(room_->Begin(Now(), out).ok());
    Look(out);
    Turn();
  }

  void Step(std::uint8_t what, std::span<const std::byte> bytes) {
    now_ += std::chrono::milliseconds(10);
    ByteReader reader(bytes);
    const auto small = reader.Fixed<std::uint8_t>();
    const std::span<const std::byte> rest = reader.rest();
    switch (what % 16) {
      case 0:
        return Hear(small, rest);
      case 1: {
        LeaseOutput out;
        const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
        room_->HearHead(Now(), text, Peers(), out);
        return Look(out);
      }
      case 2:
        return HearSigned(small, reader);
      case 3:
        return Fetched(small, rest);
      case 4:
        return Answered(small, reader);
      case 5:
        now_ += std::chrono::milliseconds(small * 100);
        return Turn();
      case 6: {
        LeasePeer& peer = peers_[NameOf(small)];
        peer.alive = (small & 64) == 0;
        if ((small & 128) != 0) ++peer.generation;
        ++version_;
        return Turn();
      }
      case 7:
        room_->NewLife(Now(), ++generation_);
        granted_ = 0;
        return Turn();
      case 8:
        return Moved(small, reader);
      case 9:
        return StoredNow(small % 4 != 0);
      case 10:
        return Decide(small, reader);
      case 11:
      case 12:
        return Asked(small, reader, what % 16 == 11 ? Kind::kJoin : Kind::kPing);
      case 13:
        return Ask(small, reader);
      case 14: {
        LeaseOutput out;
        room_->Move(Now(), ObjectNamed(NameOf(small)), NameOf(small / 8), out).IgnoreError();
        return Look(out);
      }
      default:
        if (small == 255) room_->End();
        return Turn();
    }
  }

 private:
  static std::string NameOf(std::size_t i) { return absl::StrCat("m", i % kNames); }
  static Address AddressOf(std::size_t i) { return Address::V4(10, 0, 0, static_cast<std::uint8_t>(i + 1), 7946); }
  Tick Now() const { return {now_, RawInstant(now_.time_since_epoch()), WallTime(now_.time_since_epoch())}; }

  struct Table {
    const std::map<std::string, LeasePeer, std::less<>>* peers;
    std::optional<LeasePeer> operator()(std::string_view name) const {
      const auto at = peers->find(name);
      return at == peers->end() ? std::nullopt : std::optional(at->second);
    }
  };
  Table& Peers() { return table_; }

  void Turn() {
    LeaseOutput out;
    room_->Turn(Now(), Peers(), version_, out);
    Look(out);
  }

  Mail MailFrom(std::uint8_t from, std::span<const std::byte> body) {
    Mail mail;
    mail.inner = true;
    mail.member = NameOf(from);
    mail.generation = peers_[mail.member].generation;
    mail.body.assign(body.begin(), body.end());
    return mail;
  }
  void Hear(Mail mail) {
    LeaseOutput out;
    room_->Hear(Now(), mail, Peers(), out);
    Look(out);
  }
  void Hear(std::uint8_t small, std::span<const std::byte> body) {
    Mail mail = MailFrom(small, body);
    mail.kind = static_cast<MailKind>((small >> 4) % 4);
    if (mail.kind == MailKind::kRequest || (small & 8) != 0) mail.id = 1 + small;
    if (mail.kind == MailKind::kDone && asked_.has_value()) mail.id = *asked_;
    Hear(std::move(mail));
  }

  // A view of the members whose bits are set, in any epoch.
  View Signed(ByteReader& reader) {
    const auto bits = reader.Fixed<std::uint8_t>();
    const auto step = reader.Fixed<std::uint8_t>();
    std::vector<ViewMember> members;
    for (std::size_t i = 0; i < kNames; ++i) {
      if ((bits >> i & 1) == 0) continue;
      const std::uint64_t generation = !root_ && i == 1 ? generation_ : peers_[NameOf(i)].generation;
      members.push_back({NameOf(i), generation, AddressOf(i)});
    }
    const std::uint64_t epoch = room_->view().epoch() + step % 8;
    return SignView(Key(), "", epoch == 0 ? 1 : epoch, std::move(members), step > 127);
  }
  void HearSigned(std::uint8_t small, ByteReader& reader) {
    latest_ = Signed(reader);
    if (small == 7) latest_.head.signature.bytes[0] ^= std::byte{1};
    const auto head = EncodeViewHead(latest_.head);
    LeaseOutput out;
    room_->HearHead(Now(), {reinterpret_cast<const char*>(head.data()), head.size()}, Peers(), out);
    Look(out);
    Turn();
  }

  // What comes of the fetch that is under way.
  void Fetched(std::uint8_t small, std::span<const std::byte> rest) {
    if (!asked_.has_value()) return;
    Mail mail = MailFrom(0, rest);
    mail.kind = MailKind::kDone;
    mail.id = *std::exchange(asked_, std::nullopt);
    if (small % 4 == 0) mail.status = absl::UnavailableError("x");
    if (small % 4 == 1) mail.body = EncodeFetched(latest_);
    if (small % 4 == 2) {
      ViewDelta delta;
      delta.base = room_->view().epoch();
      delta.head = latest_.head;
      delta.ends_moves = latest_.ends_moves;
      for (std::size_t i = 0; i < kNames; ++i) {
        const ViewMember* member = latest_.Find(NameOf(i));
        ViewDelta::Change change;
        change.gone = member == nullptr;
        change.member = member == nullptr ? ViewMember{NameOf(i), 0, {}} : *member;
        delta.changes.push_back(change);
      }
      mail.body = EncodeFetched(delta);
      if (!rest.empty()) {  // and something wrong with it
        const std::size_t at = std::to_integer<std::size_t>(rest[0]) * 7 % mail.body.size();
        mail.body[at] ^= rest.size() > 1 ? rest[1] : std::byte{0};
      }
    }
    Hear(std::move(mail));
    Turn();
  }

  // The authority's answer to the last ping, with its signature or without.
  void Answered(std::uint8_t small, ByteReader& reader) {
    if (!ping_.has_value()) return;
    LeaseMessage answer;
    answer.kind = Kind::kAnswer;
    answer.nonce = ping_->nonce;
    answer.result = static_cast<LeaseMessage::Result>(small % 6);
    answer.epoch = room_->view().epoch() + reader.Fixed<std::uint8_t>() % 4;
    answer.settled = answer.epoch - std::min<std::uint64_t>(answer.epoch, reader.Fixed<std::uint8_t>() % 4);
    const AnswerTo to{root_ ? "m0" : "m1", generation_, ping_->write, ping_->drift_ppm};
    const bool true_one = small < 192;
    if (true_one) answer.signature = SignAnswer(Key(), "", to, answer);
    if (true_one && answer.result == LeaseMessage::Result::kRenewed) ++granted_;
    Hear(MailFrom(0, Encode(answer)));
  }

  void Moved(std::uint8_t small, ByteReader& reader) {
    LeaseMessage message;
    message.kind = small < 32 ? Kind::kMoved : Kind::kMove;
    message.move.object = ObjectNamed(NameOf(reader.Fixed<std::uint8_t>()));
    message.move.epoch = message.epoch = room_->view().epoch() - (small >= 250 && room_->view().epoch() != 0 ? 1 : 0);
    message.move.from = NameOf(reader.Fixed<std::uint8_t>());
    message.move.to = NameOf(reader.Fixed<std::uint8_t>());
    if (small < 240) message.move = SignMove(Key(), "", message.move);
    Hear(MailFrom(root_ ? small : 0, Encode(message)));
  }

  void StoredNow(bool works) {
    if (!storing_.has_value()) return;
    const std::uint64_t epoch = *std::exchange(storing_, std::nullopt);
    if (works) stored_ = epoch;
    LeaseOutput out;
    room_->Stored(Now(), epoch, works ? absl::OkStatus() : absl::UnavailableError("disk"), Peers(), out);
    Look(out);
    Turn();
  }

  void Asked(std::uint8_t small, ByteReader& reader, Kind kind) {
    LeaseMessage question;
    question.kind = kind;
    question.nonce = small;
    question.write = small == 9 ? Duration(1) : LeaseTerms().write;
    question.drift_ppm = LeaseTerms().drift_ppm;
    question.key = Key().public_key();
    const auto back = reader.Fixed<std::uint8_t>();
    question.head = back == 0 || root_ == false ? room_->view().head : Signed(reader).head;
    Hear(MailFrom(small, Encode(question)));
  }
  void Ask(std::uint8_t small, ByteReader& reader) {
    LeaseMessage question;
    question.kind = Kind::kFetch;
    const auto back = reader.Fixed<std::uint8_t>();
    question.epoch = room_->view().epoch() - std::min<std::uint64_t>(room_->view().epoch(), back);
    const auto held = heads_.find(question.epoch);
    if (held != heads_.end() && small % 2 == 0) question.digest = held->second.digest;
    Mail mail = MailFrom(small, Encode(question));
    mail.kind = MailKind::kRequest;
    mail.id = 5;
    Hear(std::move(mail));
  }

  void Decide(std::uint8_t small, ByteReader& reader) {
    ObjectRequest request;
    request.epoch = room_->view().epoch();
    request.object = ObjectNamed(NameOf(small));
    request.request = reader.Fixed<std::uint8_t>();
    request.operation = small % 2 == 0 ? Operation::kCommit : Operation::kStat;
    request.capability.object = request.object;
    request.capability.operations = OperationBit(request.operation);
    request.capability.expires = WallTime::max();
    if (small < 250) request.capability = SignCapability(Key(), "", request.capability);
    const bool serve = room_->Decide(Now(), request).verdict == Verdict::kServe;
    if (serve && request.operation == Operation::kCommit) Require(room_->leases().MayCommit(Now()));
    if (serve) room_->Served(request, {});
    (void)room_->Find(request.object);
  }

  void Look(const LeaseOutput& out) {
    for (const LeaseOutput::Letter& letter : out.letters) {
      const absl::StatusOr<LeaseMessage> message = DecodeLeaseMessage(letter.body);
      Require(message.ok());
      if (message->kind == Kind::kPing || message->kind == Kind::kJoin) ping_ = *message;
    }
    for (const LeaseOutput::Question& question : out.questions) {
      const absl::StatusOr<LeaseMessage> message = DecodeLeaseMessage(question.body);
      Require(message.ok() && message->kind == Kind::kFetch);
      asked_ = question.id;
    }
    for (const LeaseOutput::Answer& answer : out.answers) {
      if (answer.body.empty()) continue;
      const absl::StatusOr<FetchedView> fetched = DecodeFetched(answer.body);
      Require(fetched.ok() && HeadOf(*fetched) == room_->view().head);
    }
    if (out.store.has_value()) {
      Require(root_ && out.store->epoch() == stored_ + 1);
      storing_ = out.store->epoch();
    }
    if (out.say.has_value()) Require(root_ && out.say->epoch <= stored_);
    const View& view = room_->view();
    Require(view.epoch() >= epoch_);
    Require(!root_ || view.epoch() <= stored_);
    if (view.epoch() != epoch_) {
      Require(VerifyHead(Key().public_key(), "", view.head));
      Require(DigestOf(view.epoch(), view.members, view.ends_moves) == view.head.digest);
      heads_[view.epoch()] = view.head;
    }
    epoch_ = view.epoch();
    if (!root_ && granted_ == 0) Require(!room_->leases().WriteRuns(Now()) && !room_->leases().MayCommit(Now()));
  }

  const bool root_;
  std::uint64_t generation_ = 1;
  std::unique_ptr<LeaseRoom> room_;
  std::map<std::string, LeasePeer, std::less<>> peers_;
  Table table_{&peers_};
  std::uint64_t version_ = 1;
  Instant now_{std::chrono::seconds(1000)};
  View latest_;
  std::optional<LeaseMessage> ping_;      // the last that it sent
  std::optional<std::uint64_t> asked_;    // the fetch under way
  std::optional<std::uint64_t> storing_;  // and the store
  std::uint64_t stored_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t granted_ = 0;  // true answers that renew, in this life
  std::map<std::uint64_t, ViewHead> heads_;
};

}  // namespace

// A script: whether it is the authority; then what, length (one byte), bytes; and so on.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  Raw bytes(size);
  std::memcpy(bytes.data(), data, size);
  Bench bench((data[0] & 1) != 0);
  std::span<const std::byte> rest = std::span<const std::byte>(bytes).subspan(1);
  for (int step = 0; step < 256 && rest.size() >= 2; ++step) {
    const auto what = std::to_integer<std::uint8_t>(rest[0]);
    const std::size_t length = std::min(std::to_integer<std::size_t>(rest[1]), rest.size() - 2);
    bench.Step(what, rest.subspan(2, length));
    rest = rest.subspan(2 + length);
  }
  return 0;
}
