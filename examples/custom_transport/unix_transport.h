// A transport of one's own: Unix datagram sockets in a folder, one file for each member, named after its address. All that
// a member needs of a network, in about a hundred lines; tests/conformance_test.cc holds it to what transport.h promises.
//
// Every packet begins with what it is and an id. A datagram that finds a full queue is lost, as on a network; requests and
// answers, which must not be, wait until there is room. The owner of the loop polls fd() and calls Turn().
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "transport/transport.h"

namespace example {

using nekton::Address;
using nekton::ExchangeId;
using nekton::Instant;

class UnixTransport final : public nekton::Transport {
 public:
  UnixTransport(std::string folder, const Address& address, std::function<Instant()> clock)
      : folder_(std::move(folder)), local_(address), clock_(std::move(clock)) {
    const sockaddr_un name = Name(local_);
    if (bind(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) local_ = {};  // in use
  }
  ~UnixTransport() override { End(); }
  int fd() const { return fd_; }

  void Open(Receiver* receiver) override { receiver_ = receiver; }
  void Send(const Address& to, std::span<const std::byte> bytes) override {
    if (bytes.size() <= mtu()) Write(to, Packed(kDatagram, 0, bytes));
  }
  void Exchange(ExchangeId id, const Address& to, nekton::Duration limit, std::vector<std::byte> request) override {
    const bool fits = request.size() <= kRequestMax;
    open_[id] = {clock_() + limit, absl::DeadlineExceededError("no answer in time"), to};
    if (fits && Write(to, Packed(kRequest, id, request), true)) return;
    // No callback from inside a call: it is overdue at once.
    open_[id] = {Instant::min(), fits ? absl::UnavailableError("nobody there") : absl::ResourceExhaustedError("size"),
                 to};
  }
  void Reply(ExchangeId id, std::vector<std::byte> answer) override {
    const auto asker = served_.extract(id);
    if (!asker.empty()) Write(asker.mapped().first, Packed(kAnswer, asker.mapped().second, answer), true);
  }
  Address local() const override { return local_; }
  std::size_t mtu() const override { return 65507; }
  void Close(std::function<void()> done) override { End(), done_ = std::move(done); }

  // Hands over what has come, then ends what is overdue.
  void Turn() {
    if (const auto done = std::exchange(done_, {})) return done();
    while (!waiting_.empty() && Write(waiting_.front().first, waiting_.front().second)) waiting_.pop_front();
    static std::array<std::byte, kRequestMax + kHead> buffer;
    for (sockaddr_un from{}; receiver_ != nullptr;) {
      socklen_t size = sizeof(from);
      const ssize_t got = recvfrom(fd_, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (got < static_cast<ssize_t>(kHead)) break;
      const auto sender = Address::Parse(std::filesystem::path(from.sun_path).filename().string());
      if (sender.ok()) Hand(*sender, std::span(buffer).first(static_cast<std::size_t>(got)));
    }
    for (auto it = open_.begin(); receiver_ != nullptr && it != open_.end();) {
      it = it->second.deadline > clock_() ? std::next(it) : Fail(it->first);
    }
  }

 private:
  static constexpr std::size_t kHead = 9, kRequestMax = 150'000;
  static constexpr std::byte kDatagram{0}, kRequest{1}, kAnswer{2};
  struct Asked {
    Instant deadline;
    absl::Status status;  // if it ends without an answer
    Address to;
  };

  sockaddr_un Name(const Address& address) const {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, (folder_ + "/" + address.ToString()).c_str(), sizeof(name.sun_path) - 1);
    return name;
  }
  static std::vector<std::byte> Packed(std::byte what, ExchangeId id, std::span<const std::byte> bytes) {
    std::vector<std::byte> packet(kHead + bytes.size());
    packet[0] = what;
    std::memcpy(packet.data() + 1, &id, sizeof(id));
    std::copy(bytes.begin(), bytes.end(), packet.begin() + kHead);
    return packet;
  }
  // False: nobody is there, or (without `wait`) there is no room now.
  bool Write(const Address& to, const std::vector<std::byte>& packet, bool wait = false) {
    const sockaddr_un name = Name(to);
    const auto* raw = reinterpret_cast<const sockaddr*>(&name);
    if (sendto(fd_, packet.data(), packet.size(), 0, raw, sizeof(name)) >= 0) return true;
    if (wait && errno == EAGAIN) waiting_.emplace_back(to, packet);
    return errno == EAGAIN ? wait : !wait;  // who has gone gets nothing, and is waited for no longer
  }
  void Hand(const Address& from, std::span<const std::byte> packet) {
    ExchangeId id = 0;
    std::memcpy(&id, packet.data() + 1, sizeof(id));
    const std::span<const std::byte> bytes = packet.subspan(kHead);
    if (packet[0] == kDatagram) return receiver_->OnDatagram(from, bytes);
    if (packet[0] == kRequest) {
      served_[++last_served_] = {from, id};
      return receiver_->OnRequest(from, last_served_, bytes, false);
    }
    if (open_.erase(id) == 0) return;  // too late
    receiver_->OnAnswer(id, bytes.empty() ? absl::UnavailableError("closed") : absl::OkStatus(), bytes);
  }
  std::map<ExchangeId, Asked>::iterator Fail(ExchangeId id) {
    const Asked asked = open_.extract(id).mapped();
    if (absl::IsUnavailable(asked.status)) receiver_->OnTrouble(asked.to, nekton::Trouble::kRefused);
    if (receiver_ != nullptr) receiver_->OnAnswer(id, asked.status, {});
    return open_.begin();
  }
  void End() {
    if (fd_ < 0) return;
    for (const auto& [id, asker] : served_) Write(asker.first, Packed(kAnswer, asker.second, {}));
    close(std::exchange(fd_, -1));
    if (local_.port != 0) unlink(Name(local_).sun_path);
    receiver_ = nullptr;
  }

  const std::string folder_;
  Address local_;
  std::function<Instant()> clock_;
  int fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  Receiver* receiver_ = nullptr;
  std::map<ExchangeId, Asked> open_;                             // ours
  std::map<ExchangeId, std::pair<Address, ExchangeId>> served_;  // others': who asks, and its id there
  ExchangeId last_served_ = 0;
  std::deque<std::pair<Address, std::vector<std::byte>>> waiting_;
  std::function<void()> done_;
};

}  // namespace example
