#include "transport/decorators.h"

#include <algorithm>

namespace nekton {

void CountingTransport::Open(Transport::Receiver* receiver) {
  receiver_ = receiver;
  below_->Open(this);
}

void CountingTransport::Send(const Address& to, std::span<const std::byte> bytes) {
  ++counts_.datagrams_sent;
  counts_.bytes_sent += bytes.size();
  below_->Send(to, bytes);
}

void CountingTransport::Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) {
  ++counts_.exchanges;
  counts_.exchange_bytes += request.size();
  below_->Exchange(id, to, limit, std::move(request));
}

void CountingTransport::Reply(ExchangeId id, std::vector<std::byte> answer) {
  ++counts_.replies;
  counts_.exchange_bytes += answer.size();
  below_->Reply(id, std::move(answer));
}

void CountingTransport::OnDatagram(const Address& from, std::span<const std::byte> bytes) {
  ++counts_.datagrams_received;
  counts_.bytes_received += bytes.size();
  receiver_->OnDatagram(from, bytes);
}

void CountingTransport::OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) {
  ++counts_.served;
  counts_.exchange_bytes += bytes.size();
  receiver_->OnRequest(from, id, bytes, busy);
}

void CountingTransport::OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) {
  ++(status.ok() ? counts_.answers : counts_.failures);
  counts_.exchange_bytes += bytes.size();
  receiver_->OnAnswer(id, status, bytes);
}

void CountingTransport::OnTrouble(const Address& about, Trouble trouble) {
  ++counts_.troubles;
  receiver_->OnTrouble(about, trouble);
}

FaultTransport::FaultTransport(std::unique_ptr<Transport> below, std::uint64_t seed, Later later)
    : below_(std::move(below)), random_(seed), later_(std::move(later)) {}

FaultTransport::~FaultTransport() { *self_ = nullptr; }

void FaultTransport::Open(Transport::Receiver* receiver) {
  receiver_ = receiver;
  below_->Open(this);
}

void FaultTransport::Send(const Address& to, std::span<const std::byte> bytes) {
  SendOnce(to, bytes);
  if (Happens(faults_.duplicate)) SendOnce(to, bytes);
}

void FaultTransport::SendOnce(const Address& to, std::span<const std::byte> bytes) {
  if (IsCut(to) || Happens(faults_.loss_out)) {
    ++dropped_;
    return;
  }
  const Duration spread = std::max(faults_.delay_max - faults_.delay_min, Duration::zero());
  const Duration delay =
      faults_.delay_min + Duration(static_cast<Duration::rep>(static_cast<double>(spread.count()) * random_.Unit()));
  if (delay <= Duration::zero()) return below_->Send(to, bytes);
  later_(delay, [self = self_, to, kept = std::vector<std::byte>(bytes.begin(), bytes.end())] {
    FaultTransport* transport = *self;
    if (transport == nullptr || transport->receiver_ == nullptr) return;
    if (!transport->IsCut(to)) return transport->below_->Send(to, kept);
    ++transport->dropped_;
  });
}

void FaultTransport::Exchange(ExchangeId id, const Address& to, Duration limit, std::vector<std::byte> request) {
  if (!IsCut(to)) return below_->Exchange(id, to, limit, std::move(request));
  ++dropped_;
  later_(limit, [self = self_, id] {
    if (*self == nullptr || (*self)->receiver_ == nullptr) return;
    (*self)->receiver_->OnAnswer(id, absl::DeadlineExceededError("no answer in time: the link is cut"), {});
  });
}

void FaultTransport::Close(std::function<void()> done) {
  receiver_ = nullptr;
  below_->Close(std::move(done));
}

void FaultTransport::OnDatagram(const Address& from, std::span<const std::byte> bytes) {
  if (!IsCut(from) && !Happens(faults_.loss_in)) return receiver_->OnDatagram(from, bytes);
  ++dropped_;
}

void FaultTransport::OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) {
  if (!IsCut(from)) return receiver_->OnRequest(from, id, bytes, busy);
  ++dropped_;
  below_->Reply(id, {});
}

void FaultTransport::OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) {
  receiver_->OnAnswer(id, status, bytes);
}

void FaultTransport::OnTrouble(const Address& about, Trouble trouble) { receiver_->OnTrouble(about, trouble); }

}  // namespace nekton
