#include "transport/sim_streams.h"

#include <utility>

namespace nekton {
namespace {

constexpr Duration kSynPatience = std::chrono::seconds(1);
constexpr Duration kDataPatience = std::chrono::milliseconds(200);
constexpr std::size_t kKeptBytes = 4096;  // capacity that a free exchange keeps

constexpr std::uint32_t SlotOf(std::uint64_t handle) { return static_cast<std::uint32_t>(handle); }

void Recycle(std::vector<std::byte>& bytes) {
  bytes.clear();
  if (bytes.capacity() > kKeptBytes) bytes = {};
}

}  // namespace

absl::Status StatusOf(StreamEnd end) {
  switch (end) {
    case StreamEnd::kAnswered:
      return absl::OkStatus();
    case StreamEnd::kRefused:
      return absl::UnavailableError("connection refused");
    case StreamEnd::kReset:
      return absl::UnavailableError("connection reset");
    case StreamEnd::kClosed:
      return absl::UnavailableError("closed without an answer");
    case StreamEnd::kExpired:
      return absl::DeadlineExceededError("no answer in time");
  }
  return absl::InternalError("unknown end of a stream");
}

SimStreams::Exchange& SimStreams::Take(std::uint64_t* handle) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(exchanges_.size()));
    exchanges_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  Exchange& exchange = exchanges_[slot];
  exchange.phase = Phase::kOpen;
  ++open_;
  *handle = (std::uint64_t{++exchange.serial} << 32) | slot;
  return exchange;
}

SimStreams::Exchange* SimStreams::Find(std::uint64_t handle) {
  if (SlotOf(handle) >= exchanges_.size()) return nullptr;
  Exchange& exchange = exchanges_[SlotOf(handle)];
  return exchange.phase != Phase::kFree && exchange.serial == handle >> 32 ? &exchange : nullptr;
}

void SimStreams::Free(Exchange& exchange) {
  exchange.phase = Phase::kFree;
  exchange.server = exchange.client = kNobody;
  exchange.done = nullptr;
  Recycle(exchange.request);
  Recycle(exchange.answer);
  --open_;
  free_.push_back(static_cast<std::uint32_t>(&exchange - exchanges_.data()));
}

std::uint64_t SimStreams::Open(SimId client, std::uint32_t life, const Address& client_address,
                               Outbox::Request request) {
  std::uint64_t handle = 0;
  Exchange& exchange = Take(&handle);
  exchange.client = client;
  exchange.client_life = life;
  exchange.client_address = client_address;
  exchange.server_address = request.to;
  exchange.id = request.id;
  exchange.request = std::move(request.bytes);
  world_->Schedule(handle, Step::kExpire, world_->StreamTime() + request.limit);
  return handle;
}

void SimStreams::Connect(std::uint64_t handle) {
  Exchange* exchange = Find(handle);
  if (exchange == nullptr || exchange->phase != Phase::kOpen) return;
  exchange->phase = Phase::kConnecting;
  exchange->patience = kSynPatience;
  SendAndWatch(*exchange, handle);
}

void SimStreams::OpenFromOutside(const Listener& server, const Address& client, std::span<const std::byte> request,
                                 OnAnswer done) {
  if (server.kind != Listener::Kind::kAccepts) {
    if (done) done(StatusOf(StreamEnd::kRefused), {});
    return;
  }
  std::uint64_t handle = 0;
  Exchange& exchange = Take(&handle);
  exchange.phase = Phase::kServing;
  exchange.server = server.member;
  exchange.server_life = server.life;
  exchange.done = std::move(done);
  world_->Deliver(server.member, client, handle, {request.begin(), request.end()});
}

void SimStreams::Reply(ExchangeId id, std::vector<std::byte> answer) {
  Exchange* exchange = Find(id);
  if (exchange == nullptr || exchange->phase != Phase::kServing) return;
  exchange->ending = answer.empty() ? Step::kClosed : Step::kAnswer;
  exchange->answer = std::move(answer);
  if (exchange->client == kNobody) {
    return Finish(*exchange, exchange->ending == Step::kAnswer ? StreamEnd::kAnswered : StreamEnd::kClosed);
  }
  exchange->phase = Phase::kAnswering;
  exchange->patience = kDataPatience;
  SendAndWatch(*exchange, id);
}

void SimStreams::Stop(SimId member, std::uint32_t life, bool resets) {
  for (std::uint32_t slot = 0; slot < exchanges_.size(); ++slot) {
    Exchange& exchange = exchanges_[slot];
    if (exchange.phase == Phase::kFree) continue;
    const std::uint64_t handle = (std::uint64_t{exchange.serial} << 32) | slot;
    if (exchange.client == member && exchange.client_life == life) {
      Free(exchange);
    } else if (exchange.server == member && exchange.server_life == life) {
      if (exchange.client == kNobody) {
        Finish(exchange, StreamEnd::kReset);
      } else if (resets && exchange.phase != Phase::kAnswering) {  // what it has written is its machine's to send
        Send(member, exchange.client, handle, Step::kReset);
      }
    }
  }
}

void SimStreams::Send(SimId from, SimId to, std::uint64_t handle, Step step) {
  const SimNetwork::Fate fate = world_->SendSegment(from, to);
  if (fate.drop == Drop::kNone) world_->Schedule(handle, step, world_->StreamTime() + fate.delay);
}

void SimStreams::SendAndWatch(Exchange& exchange, std::uint64_t handle) {
  Step again = Step::kResendSyn;
  switch (exchange.phase) {
    case Phase::kConnecting:
      Send(exchange.client, world_->ListenerAt(exchange.server_address).member, handle, Step::kSyn);
      break;
    case Phase::kRequesting:
      Send(exchange.client, exchange.server, handle, Step::kRequest);
      again = Step::kResendRequest;
      break;
    default:
      Send(exchange.server, exchange.client, handle, exchange.ending);
      again = Step::kResendAnswer;
      break;
  }
  world_->Schedule(handle, again, world_->StreamTime() + exchange.patience);
  exchange.patience *= 2;
}

void SimStreams::Resend(Exchange& exchange, std::uint64_t handle, Phase phase, Step step) {
  if (exchange.phase != phase) return;  // it got through
  const bool able = phase == Phase::kAnswering
                        ? world_->ListenerAt(exchange.server_address).kind != Listener::Kind::kSilent
                        : world_->Reachable(exchange.client, exchange.client_life);
  if (!able) return world_->Schedule(handle, step, world_->StreamTime() + exchange.patience);
  world_->CountResend();
  SendAndWatch(exchange, handle);
}

void SimStreams::OnSyn(Exchange& exchange, std::uint64_t handle) {
  if (exchange.phase != Phase::kConnecting) return;
  const Listener listener = world_->ListenerAt(exchange.server_address);
  if (listener.kind == Listener::Kind::kSilent) return;
  exchange.server = listener.member;
  exchange.server_life = listener.life;
  const bool accepts = listener.kind == Listener::Kind::kAccepts;
  Send(listener.member, exchange.client, handle, accepts ? Step::kSynAck : Step::kRefusal);
}

void SimStreams::OnSynAck(Exchange& exchange, std::uint64_t handle) {
  if (exchange.phase != Phase::kConnecting) return;
  exchange.phase = Phase::kRequesting;
  exchange.patience = kDataPatience;
  SendAndWatch(exchange, handle);
}

void SimStreams::OnRequest(Exchange& exchange, std::uint64_t handle) {
  if (exchange.phase != Phase::kRequesting) return;
  if (!world_->Reachable(exchange.server, exchange.server_life)) {
    // A suspended or dead machine says nothing; a living one knows of no such stream.
    if (world_->ListenerAt(exchange.server_address).kind != Listener::Kind::kSilent) {
      Send(exchange.server, exchange.client, handle, Step::kReset);
    }
    return;
  }
  exchange.phase = Phase::kServing;
  world_->Deliver(exchange.server, exchange.client_address, handle, std::move(exchange.request));
}

void SimStreams::Advance(std::uint64_t handle, Step step) {
  Exchange* exchange = Find(handle);
  if (exchange == nullptr) return;
  const bool to_client = step == Step::kSynAck || step == Step::kRefusal || step == Step::kAnswer ||
                         step == Step::kClosed || step == Step::kReset;
  if (to_client && !world_->Reachable(exchange->client, exchange->client_life)) return;
  switch (step) {
    case Step::kSyn:
      return OnSyn(*exchange, handle);
    case Step::kSynAck:
      return OnSynAck(*exchange, handle);
    case Step::kRequest:
      return OnRequest(*exchange, handle);
    case Step::kRefusal:
      if (exchange->phase == Phase::kConnecting) Finish(*exchange, StreamEnd::kRefused);
      return;
    case Step::kAnswer:
      return Finish(*exchange, StreamEnd::kAnswered);
    case Step::kClosed:
      return Finish(*exchange, StreamEnd::kClosed);
    case Step::kReset:
      return Finish(*exchange, StreamEnd::kReset);
    case Step::kResendSyn:
      return Resend(*exchange, handle, Phase::kConnecting, step);
    case Step::kResendRequest:
      return Resend(*exchange, handle, Phase::kRequesting, step);
    case Step::kResendAnswer:
      return Resend(*exchange, handle, Phase::kAnswering, step);
    case Step::kExpire:
      return Finish(*exchange, StreamEnd::kExpired);
  }
}

void SimStreams::Finish(Exchange& exchange, StreamEnd end) {
  // All is moved out first: what comes of it may open streams and move the table.
  const SimId client = exchange.client;
  const std::uint32_t life = exchange.client_life;
  const ExchangeId id = exchange.id;
  const Address server = exchange.server_address;
  std::vector<std::byte> answer;
  if (end == StreamEnd::kAnswered) answer = std::move(exchange.answer);
  const OnAnswer done = std::move(exchange.done);
  Free(exchange);
  if (client != kNobody) {
    world_->End(client, life, id, server, end, std::move(answer));
  } else if (done) {
    done(StatusOf(end), answer);
  }
}

}  // namespace nekton
