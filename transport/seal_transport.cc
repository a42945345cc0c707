#include "transport/seal_transport.h"

#include <sodium.h>

#include <utility>

namespace nekton {
namespace {

SealOptions WithRandom(SealOptions options) {
  if (!options.random) options.random = SystemRandom;
  return options;
}

}  // namespace

void SystemRandom(std::span<std::byte> bytes) { randombytes_buf(bytes.data(), bytes.size()); }

Config BehindSeal(Config config) {
  if (config.sealing == Sealing::kOff) return config;
  config.sealing = Sealing::kOff;
  config.key_file.clear();
  config.datagram_max -= kSealedBytes;
  return config;
}

SealTransport::SealTransport(std::unique_ptr<Transport> below, SealOptions options, std::function<Instant()> clock)
    : below_(std::move(below)), seal_(WithRandom(std::move(options))), clock_(std::move(clock)) {}

void SealTransport::Open(Transport::Receiver* receiver) {
  receiver_ = receiver;
  below_->Open(this);
}

void SealTransport::Send(const Address& to, std::span<const std::byte> bytes) { seal_.Send(to, bytes, down_); }

void SealTransport::Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) {
  seal_.Exchange(clock_(), id, to, limit, std::move(request), down_);
}

void SealTransport::Reply(ExchangeId id, std::vector<std::byte> answer) { seal_.Reply(id, std::move(answer), down_); }

std::size_t SealTransport::mtu() const {
  const std::size_t below = below_->mtu();
  return below > kSealOverhead ? below - kSealOverhead : 0;
}

void SealTransport::OnDatagram(const Address& from, std::span<const std::byte> bytes) {
  seal_.OnDatagram(clock_(), from, bytes, down_, *receiver_);
}

void SealTransport::OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) {
  seal_.OnRequest(clock_(), from, id, bytes, busy, down_, *receiver_);
}

void SealTransport::OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) {
  seal_.OnAnswer(clock_(), id, status, bytes, down_, *receiver_);
}

void SealTransport::OnTrouble(const Address& about, Trouble trouble) { receiver_->OnTrouble(about, trouble); }

}  // namespace nekton
