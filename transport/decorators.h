// Decorators: transports around transports. Both may be put around any, also around each other and the sealed one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "swim/random.h"
#include "transport/transport.h"

namespace nekton {

// Counts what passes, both ways.
class CountingTransport final : public Transport, private Transport::Receiver {
 public:
  struct Counts {
    std::uint64_t datagrams_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t datagrams_received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t exchanges = 0;
    std::uint64_t exchange_bytes = 0;  // of requests and answers, ours and others'
    std::uint64_t answers = 0;         // that were OK
    std::uint64_t failures = 0;        // exchanges that ended otherwise
    std::uint64_t served = 0;
    std::uint64_t replies = 0;
    std::uint64_t troubles = 0;
  };
  explicit CountingTransport(std::unique_ptr<Transport> below) : below_(std::move(below)) {}

  void Open(Transport::Receiver* receiver) override;
  void Send(const Address& to, std::span<const std::byte> bytes) override;
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override;
  void Reply(ExchangeId id, std::vector<std::byte> answer) override;
  Address local() const override { return below_->local(); }
  std::size_t mtu() const override { return below_->mtu(); }
  void Close(std::function<void()> done) override { below_->Close(std::move(done)); }
  const Counts& counts() const { return counts_; }

 private:
  void OnDatagram(const Address& from, std::span<const std::byte> bytes) override;
  void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override;
  void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override;
  void OnTrouble(const Address& about, Trouble trouble) override;

  std::unique_ptr<Transport> below_;
  Transport::Receiver* receiver_ = nullptr;
  Counts counts_;
};

// Faults of a network, by a seed: the same calls meet the same luck.
class FaultTransport final : public Transport, private Transport::Receiver {
 public:
  struct Faults {
    double loss_out = 0;  // probabilities, of datagrams
    double loss_in = 0;
    double duplicate = 0;  // of what is sent
    Duration delay_min{};  // of each datagram that is sent, uniform; so a later one may overtake
    Duration delay_max{};
  };
  // Calls the second after the first, on the transport's thread, from no call of ours.
  using Later = std::function<void(Duration, std::function<void()>)>;

  FaultTransport(std::unique_ptr<Transport> below, std::uint64_t seed, Later later);
  ~FaultTransport() override;

  void SetFaults(const Faults& faults) { faults_ = faults; }
  // Nothing goes to this address (Transport::local() of the other side), and no datagram comes from it; our exchanges with it
  // end when their time is up. Requests of the other side come from other ports on most transports, and so pass: who wants
  // them stopped cuts there, too.
  void Cut(const Address& other) { cut_.insert(other); }
  void Heal(const Address& other) { cut_.erase(other); }
  void HealAll() { cut_.clear(); }
  std::uint64_t dropped() const { return dropped_; }

  void Open(Transport::Receiver* receiver) override;
  void Send(const Address& to, std::span<const std::byte> bytes) override;
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override;
  void Reply(ExchangeId id, std::vector<std::byte> answer) override { below_->Reply(id, std::move(answer)); }
  Address local() const override { return below_->local(); }
  std::size_t mtu() const override { return below_->mtu(); }
  void Close(std::function<void()> done) override;

 private:
  void OnDatagram(const Address& from, std::span<const std::byte> bytes) override;
  void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override;
  void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override;
  void OnTrouble(const Address& about, Trouble trouble) override;
  void SendOnce(const Address& to, std::span<const std::byte> bytes);
  bool Happens(double probability) { return probability > 0 && random_.Unit() < probability; }
  bool IsCut(const Address& other) const { return cut_.contains(other); }

  std::unique_ptr<Transport> below_;
  Random random_;
  Later later_;
  Faults faults_;
  std::set<Address> cut_;
  std::uint64_t dropped_ = 0;
  Transport::Receiver* receiver_ = nullptr;
  // What is called later finds out whether there still is somebody.
  std::shared_ptr<FaultTransport*> self_ = std::make_shared<FaultTransport*>(this);
};

}  // namespace nekton
