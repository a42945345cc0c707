// One engine on a bench: a clock that is set, other members that are played, and everything that it says, decoded.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "swim/engine.h"
#include "swim/message.h"
#include "swim/probe_rounds.h"
#include "swim/wire.h"

namespace nekton {

// Another member, played by the test.
struct Peer {
  std::string name;
  Address address;
  LifeKey key;
  std::string tags = {};           // encoded
  bool answers = true;             // acks what reaches it directly
  bool answers_relays = true;      // acks the pings of relays
  bool relays = true;              // does what a ping-req asks; else it is silent
  bool refutes = false;            // answers an accusation with a higher incarnation
  bool stranger = false;           // marks its acks: it does not know us
  bool differs = false;            // marks its acks: its table is another
  std::vector<Update> tells = {};  // rides on its acks

  std::uint64_t id() const { return MemberId(name, key.generation); }
};

using Accusers = std::vector<const Peer*>;

inline Update About(UpdateKind kind, const Peer& peer, std::optional<std::uint64_t> incarnation = {}) {
  Update update;
  update.kind = kind;
  update.name = peer.name;
  update.address = peer.address;
  update.key = {peer.key.generation, incarnation.value_or(peer.key.incarnation)};
  return update;
}
inline Update Alive(const Peer& peer, std::optional<std::uint64_t> incarnation = {}) {
  Update update = About(UpdateKind::kAlive, peer, incarnation);
  update.detailed = true;
  update.tags = peer.tags;
  update.version_min = update.version_max = kProtocolVersion;
  return update;
}
inline Update Accused(UpdateKind kind, const Peer& peer, const Accusers& by, std::optional<std::uint64_t> incarnation) {
  Update update = About(kind, peer, incarnation);
  for (const Peer* accuser : by) update.accusers[update.accuser_count++] = {accuser->id(), false};
  return update;
}
inline Update Suspect(const Peer& peer, const Accusers& by, std::optional<std::uint64_t> incarnation = {}) {
  return Accused(UpdateKind::kSuspect, peer, by, incarnation);
}
inline Update Dead(const Peer& peer, const Accusers& by, std::optional<std::uint64_t> incarnation = {}) {
  return Accused(UpdateKind::kDead, peer, by, incarnation);
}
inline Update Left(const Peer& peer, std::optional<std::uint64_t> incarnation = {}) {
  return About(UpdateKind::kLeft, peer, incarnation);
}

inline std::vector<std::byte> Encode(const Frame& frame, const std::vector<Update>& updates,
                                     std::size_t limit = kSyncBytesMax) {
  std::vector<std::byte> bytes;
  FrameWriter writer(frame, limit, bytes);
  for (const Update& update : updates) EXPECT_TRUE(writer.Add(update)) << update.name;
  writer.Finish();
  return bytes;
}

// What the engine said: a datagram, a request or a reply. Copies share the bytes that the views point into.
struct Said {
  Instant at{};
  Address to;
  std::shared_ptr<const std::vector<std::byte>> bytes;
  Frame frame;
  std::vector<Update> updates;
  ExchangeId id = 0;   // of a request or reply
  Duration limit{};    // of a request
  bool empty = false;  // a reply that closes the stream without an answer

  const Update* Of(std::string_view name) const {
    const auto it = std::find_if(updates.begin(), updates.end(), [&](const Update& u) { return u.name == name; });
    return it == updates.end() ? nullptr : &*it;
  }
  bool Accuses(std::string_view name) const {
    const Update* update = Of(name);
    return update != nullptr && update->kind == UpdateKind::kSuspect;
  }
  bool is_round() const { return frame.type == FrameType::kPing && serial() != 0 && (frame.sequence >> 31) == 0; }
  std::uint32_t serial() const { return frame.sequence >> 3; }
  std::uint32_t attempt() const { return frame.sequence & 7; }
};

class Rig {
 public:
  static constexpr Instant kStart{std::chrono::seconds(1000)};
  static constexpr std::uint64_t kGeneration = 1'700'000'000'000;  // of everyone; the wall clock says the same

  static Config Lan(std::uint64_t seed = 1) {
    Config config = Config::Lan();
    config.name = "self";
    config.generation = kGeneration;
    config.seed = seed;
    // Few attempts, each of them with relays.
    config.attempts = config.rumour_weight = 5;
    config.relay_after = 0;
    // What answers to the silence of a rig, or acts on what others say, is tested where it is switched on.
    config.corroborators = 0;
    config.local_health_max = 0;
    config.rules.excuse_deafness = false;
    return config;
  }

  // The engine has had its first wake.
  explicit Rig(Config with = Lan(), bool wants_events = true, std::uint32_t host = 0)
      : config(std::move(with)), self{config.name, At(host), {config.generation, 0}}, out_(wants_events) {
    now.boot = kStart;
    now.wall = WallTime(std::chrono::milliseconds(kGeneration));
    engine.emplace(Engine::Create(config, self.address).value());
    Wake();
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  static Address At(std::uint32_t host) {
    return Address::V4(10, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host), 7946);
  }

  // A member that the engine does not know yet, "m1" and so on.
  Peer& NewPeer() {
    const std::size_t i = peers.size() + 1;
    return peers.emplace_back(Peer{"m" + std::to_string(i), At(static_cast<std::uint32_t>(i)), {kGeneration, 0}});
  }
  // Makes n of them known, as from a sync: nothing of it is news that the engine would spread. Says and events of it
  // are cleared away.
  void Know(std::size_t n) {
    std::vector<Update> rows;
    while (peers.size() < n) NewPeer();
    for (const Peer& peer : peers) rows.push_back(Alive(peer));
    Serve(peers.front(), Of(FrameType::kSync), rows);
    Clear();
  }
  Peer& operator[](std::size_t number) { return peers.at(number - 1); }  // (*)[1] is m1
  Peer* Find(const Address& address) {
    const auto it = std::find_if(peers.begin(), peers.end(), [&](const Peer& p) { return p.address == address; });
    return it == peers.end() ? nullptr : &*it;
  }
  Peer* FindId(std::uint64_t id) {
    const auto it = std::find_if(peers.begin(), peers.end(), [&](const Peer& p) { return p.id() == id; });
    return it == peers.end() ? nullptr : &*it;
  }
  void Silence() {
    for (Peer& peer : peers) peer.answers = peer.answers_relays = peer.relays = false;
  }

  // Time.
  Duration SinceStart() const { return now.boot - kStart; }
  void SetTime(Instant boot) {
    now.raw += boot - now.boot;
    now.wall += boot - now.boot;
    now.boot = boot;
  }
  void Pass(Duration d) { SetTime(now.boot + d); }  // without a wake
  void Wake() {
    engine->Wake(now, out_);
    Drain();
  }
  // On to the next wake.
  void Step() {
    SetTime(std::max(now.boot, engine->NextWake()));
    Wake();
  }
  // Wakes it whenever it asks for it; inclusive.
  void RunUntil(Instant until) {
    while (engine->NextWake() <= until) Step();
    SetTime(until);
  }
  void Run(Duration d) { RunUntil(now.boot + d); }
  // On until it sends the first ping of a round at `target` (null: at anyone); its index in `sent`.
  Said NextRound(const Peer* target = nullptr) {
    for (int steps = 0; steps < 100000; ++steps) {
      const std::size_t from = sent.size();
      Step();
      for (std::size_t i = from; i < sent.size(); ++i) {
        if (!sent[i].is_round() || sent[i].attempt() != 0) continue;
        if (target == nullptr || sent[i].to == target->address) return sent[i];
      }
    }
    ADD_FAILURE() << "no round began";
    return {};
  }

  // Input.
  static Frame Of(FrameType type, std::uint32_t sequence = 0) {
    Frame frame;
    frame.type = type;
    frame.sequence = sequence;
    frame.version_min = frame.version_max = kProtocolVersion;
    return frame;
  }
  void Receive(const Peer& from, const Frame& frame, const std::vector<Update>& updates = {}) {
    ReceiveBytes(from.address, EncodeFrom(from, frame, updates));
  }
  void ReceiveBytes(const Address& from, std::span<const std::byte> bytes) {
    engine->Receive(now, from, bytes, out_);
    Drain();
  }
  void Ack(const Peer& from, std::uint32_t sequence, const std::vector<Update>& updates = {}) {
    Receive(from, Of(FrameType::kAck, sequence), updates);
  }
  void Nack(const Peer& from, std::uint32_t sequence) { Receive(from, Of(FrameType::kNack, sequence)); }
  void RelayedAck(const Peer& from, std::uint32_t sequence, const Peer& target) {
    Frame frame = Of(FrameType::kRelayedAck, sequence);
    frame.target = target.id();
    Receive(from, frame);
  }
  void Gossip(const Peer& from, const std::vector<Update>& updates) { Receive(from, Of(FrameType::kGossip), updates); }
  // A request over a stream; what was answered.
  Said Serve(const Peer& from, Frame frame, const std::vector<Update>& updates) {
    frame.label_text = config.label;
    return ServeBytes(from.address, EncodeFrom(from, frame, updates));
  }
  // One whose answer may come later, in `replies`.
  void ServeLater(const Peer& from, const Frame& frame, const std::vector<Update>& updates) {
    engine->Serve(now, from.address, ++served_, EncodeFrom(from, frame, updates), out_);
    Drain();
  }
  Said ServeBytes(const Address& from, std::span<const std::byte> bytes, bool busy = false) {
    const std::size_t before = replies.size();
    engine->Serve(now, from, ++served_, bytes, out_, busy);
    Drain();
    EXPECT_EQ(replies.size(), before + 1);
    return replies.back();
  }
  void Answer(const Said& request, const Peer& from, const Frame& frame, const std::vector<Update>& updates = {}) {
    AnswerBytes(request.id, absl::OkStatus(), EncodeFrom(from, frame, updates));
  }
  void AnswerBytes(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) {
    engine->Answer(now, id, status, bytes, out_);
    Drain();
  }
  void Report(const Address& about, Trouble trouble) {
    engine->Report(now, about, trouble, out_);
    Drain();
  }
  void HoldProbes(bool hold) {
    engine->HoldProbes(now, hold, out_);
    Drain();
  }
  absl::Status Order(const Command& command) {
    const absl::Status status = engine->Order(now, command, out_);
    Drain();
    return status;
  }

  // What it says and knows.
  void Clear() {
    sent.clear();
    requests.clear();
    replies.clear();
    events.clear();
    mail.clear();
  }
  std::vector<Said> Sent(FrameType type) const {
    std::vector<Said> found;
    std::copy_if(sent.begin(), sent.end(), std::back_inserter(found),
                 [&](const Said& said) { return said.frame.type == type; });
    return found;
  }
  std::vector<Said> SentTo(const Peer& peer, FrameType type) const {
    std::vector<Said> found = Sent(type);
    std::erase_if(found, [&](const Said& said) { return said.to != peer.address; });
    return found;
  }
  // The first pings of rounds.
  std::vector<Said> Rounds() const {
    std::vector<Said> found = Sent(FrameType::kPing);
    std::erase_if(found, [](const Said& said) { return !said.is_round() || said.attempt() != 0; });
    return found;
  }
  // Does anything that was sent say this of the member?
  bool Spread(std::string_view name, UpdateKind kind) const {
    return std::any_of(sent.begin(), sent.end(), [&](const Said& said) {
      const Update* update = said.Of(name);
      return update != nullptr && update->kind == kind;
    });
  }
  // The events since the last call: "suspected m1, failed m1".
  std::string Events() {
    std::string text;
    for (const Event& event : std::exchange(events, {})) {
      if (!text.empty()) text += ", ";
      text += Name(event.kind);
      if (event.member != nullptr) text += " " + event.member->name;
    }
    return text;
  }
  MemberPtr Member(std::string_view name) const {
    for (const MemberPtr& member : engine->Members()) {
      if (member->name == name) return member;
    }
    return nullptr;
  }
  // "ACTIVE 3": status and incarnation; "" where it is unknown.
  std::string StateOf(const Peer& peer) const {
    const MemberPtr member = Member(peer.name);
    if (member == nullptr) return "";
    return std::string(Name(member->status)) + " " + std::to_string(member->key.incarnation);
  }
  std::uint64_t Count(Counter counter) const { return engine->counters()[counter]; }

  const Config config;
  const Peer self;
  Tick now;
  std::optional<Engine> engine;
  std::deque<Peer> peers;
  std::vector<Said> sent;      // datagrams
  std::vector<Said> requests;  // over streams
  std::vector<Said> replies;
  std::vector<Event> events;
  std::vector<nekton::Mail> mail;

 private:
  std::vector<std::byte> EncodeFrom(const Peer& from, Frame frame, const std::vector<Update>& updates) const {
    frame.label = LabelTag(config.label);
    frame.sender = from.id();
    frame.incarnation = static_cast<std::uint16_t>(from.key.incarnation);
    return Encode(frame, updates);
  }

  Said Read(std::span<const std::byte> bytes, bool stream) const {
    Said said;
    said.at = now.boot;
    said.bytes = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    const std::uint32_t label = LabelTag(config.label);
    const Fault fault =
        stream ? DecodeStream(*said.bytes, label, &said.frame) : DecodeDatagram(*said.bytes, label, &said.frame);
    EXPECT_EQ(fault, Fault::kNone) << "the engine sent a bad frame";
    UpdateReader reader(said.frame.updates);
    for (Update update; reader.Next(&update);) said.updates.push_back(update);
    return said;
  }

  // Takes what the last input caused, then lets the peers answer it.
  void Drain() {
    const std::size_t from = sent.size();
    for (const Outbox::Datagram& datagram : out_.datagrams()) {
      EXPECT_LE(datagram.size, config.datagram_max);
      sent.push_back(Read(out_.bytes(datagram), false));
      sent.back().to = datagram.to;
    }
    for (const Outbox::Request& request : out_.requests()) {
      requests.push_back(Read(request.bytes, true));
      requests.back().to = request.to;
      requests.back().id = request.id;
      requests.back().limit = request.limit;
    }
    for (const Outbox::Reply& reply : out_.replies()) {
      replies.push_back(reply.bytes.empty() ? Said{} : Read(reply.bytes, true));
      replies.back().id = reply.id;
      replies.back().empty = reply.bytes.empty();
    }
    events.insert(events.end(), out_.events().begin(), out_.events().end());
    mail.insert(mail.end(), out_.mail().begin(), out_.mail().end());
    out_.Clear();
    const std::size_t to = sent.size();
    for (std::size_t i = from; i < to; ++i) Play(Said(sent[i]));
  }

  void Play(const Said& said) {
    Peer* peer = Find(said.to);
    if (peer == nullptr) return;
    if (said.frame.type == FrameType::kPing && peer->answers) PlayAck(*peer, said);
    if (said.frame.type != FrameType::kPingReq || !peer->relays) return;
    const Peer* target = FindId(said.frame.target);
    if (target != nullptr && target->answers_relays) {
      RelayedAck(*peer, said.frame.sequence, *target);
    } else {
      Nack(*peer, said.frame.sequence);
    }
  }

  void PlayAck(Peer& peer, const Said& ping) {
    std::vector<Update> updates = peer.tells;
    const Update* about = ping.Of(peer.name);
    const bool accused = about != nullptr && about->kind != UpdateKind::kAlive;
    if (peer.refutes && accused && about->key >= peer.key) {
      peer.key.incarnation = about->key.incarnation + 1;
      updates.push_back(Alive(peer));
    }
    Frame ack = Of(FrameType::kAck, ping.frame.sequence);
    if (peer.stranger) ack.flags |= kFlagStranger;
    if (peer.differs) ack.flags |= kFlagDiffers;
    Receive(peer, ack, updates);
  }

  Outbox out_;
  ExchangeId served_ = 1000;
};

}  // namespace nekton
