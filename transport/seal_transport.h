// A decorator: any transport, sealed (transport/seal.h).
//
// Its mtu is that of the transport below less kSealOverhead, and the largest request or answer is smaller by what sealing
// adds (SEAL.md). Thread and callbacks as the transport's.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "transport/seal.h"
#include "transport/transport.h"

namespace nekton {

class SealTransport final : public Transport, private Transport::Receiver {
 public:
  // `clock`: any that does not go back. `options.random` empty: the system's randomness.
  SealTransport(std::unique_ptr<Transport> below, SealOptions options, std::function<Instant()> clock);

  void Open(Transport::Receiver* receiver) override;
  void Send(const Address& to, std::span<const std::byte> bytes) override;
  void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override;
  void Reply(ExchangeId id, std::vector<std::byte> answer) override;
  Address local() const override { return below_->local(); }
  std::size_t mtu() const override;
  void Close(std::function<void()> done) override { below_->Close(std::move(done)); }

  Seal& seal() { return seal_; }
  const Seal& seal() const { return seal_; }

 private:
  // Of the transport below.
  void OnDatagram(const Address& from, std::span<const std::byte> bytes) override;
  void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override;
  void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override;
  void OnTrouble(const Address& about, Trouble trouble) override;

  // What the seal sends: to the transport below. A class of its own, for the names are those of the transport.
  class Down final : public Seal::Below {
   public:
    explicit Down(Transport& below) : below_(below) {}
    void Send(const Address& to, std::span<const std::byte> bytes) override { below_.Send(to, bytes); }
    void Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) override {
      below_.Exchange(id, to, limit, std::move(request));
    }
    void Reply(ExchangeId id, std::vector<std::byte> answer) override { below_.Reply(id, std::move(answer)); }

   private:
    Transport& below_;
  };

  std::unique_ptr<Transport> below_;
  Down down_{*below_};
  Seal seal_;
  std::function<Instant()> clock_;
  Transport::Receiver* receiver_ = nullptr;
};

// What the member behind a seal is to be configured with: its datagrams leave room for what sealing adds.
Config BehindSeal(Config config);
// The randomness of the system, fit for SealOptions::random.
void SystemRandom(std::span<std::byte> bytes);

}  // namespace nekton
