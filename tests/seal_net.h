// Seals that talk to each other over a network that loses nothing, and keeps all that was said.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "swim/random.h"
#include "tests/uv_fixture.h"
#include "transport/seal.h"

namespace nekton {

inline SealKey KeyOf(int number) {
  std::array<std::byte, SealKey::kSize> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number + static_cast<int>(i));
  return SealKey(bytes);
}
inline Keyring RingOf(std::initializer_list<int> numbers) {
  Keyring ring;
  for (const int number : numbers) EXPECT_TRUE(ring.Add(KeyOf(number)).ok());
  return ring;
}

class SealNet {
 public:
  struct Packet {
    Address from;
    Address to;
    std::vector<std::byte> bytes;
  };
  // One end: with or without a seal.
  class End final : public Seal::Below, public Recorder {
   public:
    End(SealNet& net, const Address& address) : net_(net), at(address) {}
    void Send(const Address& to, std::span<const std::byte> bytes) override {
      net_.wire.push_back({at, to, {bytes.begin(), bytes.end()}});
      net_.recorded.push_back(net_.wire.back());
    }
    void Exchange(ExchangeId id, const Address& to, Duration, std::vector<std::byte> request) override {
      ++exchanges;
      net_.requests.push_back({at, to, request});
      net_.Carry(*this, id, to, std::move(request));
    }
    void Reply(ExchangeId id, std::vector<std::byte> answer) override { net_.replies[id] = std::move(answer); }
    // What a member would do.
    void Say(const Address& to, const std::string& text) {
      if (seal) return seal->Send(to, Bytes(text), *this);
      Send(to, Bytes(text));
    }
    void Ask(ExchangeId id, const Address& to, const std::string& text) {
      if (seal) return seal->Exchange(net_.now, id, to, std::chrono::seconds(5), Bytes(text), *this);
      Exchange(id, to, std::chrono::seconds(5), Bytes(text));
    }
    void Take(const Address& from, std::span<const std::byte> bytes) {
      if (seal) return seal->OnDatagram(net_.now, from, bytes, *this, *this);
      OnDatagram(from, bytes);
    }
    std::vector<std::string> texts() const {
      std::vector<std::string> all;
      for (const Datagram& d : datagrams) all.push_back(d.bytes);
      return all;
    }
    std::uint64_t count(SealCounter c) const { return seal->counters()[c]; }

    std::unique_ptr<Seal> seal;
    std::size_t exchanges = 0;

   private:
    friend class SealNet;
    SealNet& net_;

   public:
    const Address at;
    std::string answer_with = "answer";
    std::vector<std::string> complaints;
  };

  // `mode` kOff: without a seal. A second call at the same number: a restart.
  End& Add(int number, Keyring keys, Sealing mode = Sealing::kRequire, std::uint64_t generation = 1,
           const std::string& label = "", std::size_t peers_max = 16384) {
    const Address at = Address::V4(10, 0, 0, static_cast<std::uint8_t>(number), 7946);
    auto end = std::make_unique<End>(*this, at);
    End& made = *end;
    if (mode != Sealing::kOff) {
      SealOptions options;
      options.label = label;
      options.name = "n" + std::to_string(number);
      options.generation = generation;
      options.mode = mode;
      options.keys = std::move(keys);
      options.peers_max = peers_max;
      options.random = [random = Random(++seed_)](std::span<std::byte> bytes) mutable {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next() >> 56);
      };
      options.on_refused = [&made](const Address&, std::string_view what) { made.complaints.emplace_back(what); };
      made.seal = std::make_unique<Seal>(std::move(options));
    }
    ends[at] = std::move(end);
    return made;
  }
  // Until nothing is on its way.
  void Deliver() {
    while (!wire.empty()) {
      const Packet packet = std::move(wire.front());
      wire.pop_front();
      if (const auto found = ends.find(packet.to); found != ends.end()) found->second->Take(packet.from, packet.bytes);
    }
  }

  Instant now = Instant(std::chrono::hours(1));
  std::map<Address, std::unique_ptr<End>> ends;
  std::deque<Packet> wire;
  std::vector<Packet> recorded;
  std::vector<Packet> requests;
  std::map<ExchangeId, std::vector<std::byte>> replies;
  std::function<void(std::vector<std::byte>& answer)> spoil;  // an answer on its way

 private:
  void Carry(End& client, ExchangeId id, const Address& to, std::vector<std::byte> request) {
    End& server = *ends.at(to);
    const ExchangeId served = ++served_;
    const std::size_t before = server.requests.size();
    if (server.seal) {
      server.seal->OnRequest(now, client.at, served, request, false, server, server);
    } else {
      server.OnRequest(client.at, served, request, false);
    }
    if (server.requests.size() > before) {
      if (server.seal) {
        server.seal->Reply(served, Bytes(server.answer_with), server);
      } else {
        server.Reply(served, Bytes(server.answer_with));
      }
    }
    std::vector<std::byte> answer = replies[served];
    if (spoil) spoil(answer);
    const absl::Status status = answer.empty() ? absl::UnavailableError("closed without an answer") : absl::OkStatus();
    if (client.seal) {
      client.seal->OnAnswer(now, id, status, answer, client, client);
    } else {
      client.OnAnswer(id, status, answer);
    }
  }

  ExchangeId served_ = 1000;
  std::uint64_t seed_ = 0;
};

}  // namespace nekton
