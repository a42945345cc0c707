// A loop of its own for tests of what runs on one, and raw sockets to talk to it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "swim/address.h"
#include "transport/transport.h"
#include "transport/uv_socket.h"

namespace nekton {

inline std::vector<std::byte> Bytes(const std::string& text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}
inline std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Address Any() { return Address::V4(127, 0, 0, 1, 0); }

inline std::size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class UvTest : public testing::Test {
 protected:
  UvTest() {
    // The first loop of a process opens descriptors that libuv never closes.
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
    descriptors_ = OpenDescriptors();
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    // Turns the loop while nothing else happens, so that RunUntil can look at its deadline.
    EXPECT_EQ(uv_timer_init(&loop_, &pulse_), 0);
    uv_timer_start(
        &pulse_, [](uv_timer_t*) {}, 5, 5);
  }
  // Everything a test made is closed by then: the loop closes at once, and no descriptor is left.
  void TearDown() override {
    uv_close(reinterpret_cast<uv_handle_t*>(&pulse_), nullptr);
    EXPECT_TRUE(RunUntil([this] { return uv_loop_alive(&loop_) == 0; })) << "handles are left";
    EXPECT_EQ(uv_loop_close(&loop_), 0);
    EXPECT_EQ(OpenDescriptors(), descriptors_);
  }
  // Runs the loop until `done`; false after a time in which the slowest machine would have done it.
  bool RunUntil(const std::function<bool()>& done, std::uint64_t seconds = 60) {
    const std::uint64_t end = uv_hrtime() + seconds * 1000000000;
    while (!done()) {
      if (uv_hrtime() > end) return false;
      uv_run(&loop_, UV_RUN_ONCE);
    }
    return true;
  }
  void RunTurns(int turns) {
    for (int i = 0; i < turns; ++i) uv_run(&loop_, UV_RUN_NOWAIT);
  }
  // Lets time pass while the loop stands still, as in a stopped process.
  static void StandStillUntil(std::uint64_t hrtime) {
    while (uv_hrtime() < hrtime) usleep(1000);
  }

  uv_loop_t loop_{};

 private:
  std::size_t descriptors_ = 0;
  uv_timer_t pulse_{};
};

// Writes down what it is told, and optionally does something about it.
struct Recorder : Transport::Receiver {
  struct Datagram {
    Address from;
    std::string bytes;
  };
  struct Request {
    Address from;
    ExchangeId id;
    std::string bytes;
    bool busy = false;
  };
  struct Answer {
    ExchangeId id;
    absl::Status status;
    std::string bytes;
  };

  void OnDatagram(const Address& from, std::span<const std::byte> bytes) override {
    datagrams.push_back({from, Text(bytes)});
    if (on_datagram) on_datagram();
  }
  void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override {
    requests.push_back({from, id, Text(bytes), busy});
    if (on_request) on_request(id);
  }
  void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override {
    answers.push_back({id, status, Text(bytes)});
    if (on_answer) on_answer();
  }
  void OnTrouble(const Address& about, Trouble trouble) override {
    troubles.emplace_back(about, trouble);
    answers_before_trouble = answers.size();
  }
  std::size_t calls() const { return datagrams.size() + requests.size() + answers.size() + troubles.size(); }

  std::vector<Datagram> datagrams;
  std::vector<Request> requests;
  std::vector<Answer> answers;
  std::vector<std::pair<Address, Trouble>> troubles;
  std::size_t answers_before_trouble = 0;
  std::function<void()> on_datagram;
  std::function<void(ExchangeId)> on_request;
  std::function<void()> on_answer;
};

// A blocking socket, as a stranger would use it.
class RawSocket {
 public:
  explicit RawSocket(int type) : socket_(socket(AF_INET, type | SOCK_CLOEXEC, 0)) { Bind(Any()); }
  explicit RawSocket(Socket socket) : socket_(std::move(socket)) {}
  void Bind(const Address& to) {
    sockaddr_storage storage{};
    const socklen_t size = ToSockaddr(to, true, &storage);
    EXPECT_EQ(bind(fd(), reinterpret_cast<sockaddr*>(&storage), size), 0);
  }
  void Connect(const Address& to) {
    sockaddr_storage storage{};
    const socklen_t size = ToSockaddr(to, true, &storage);
    EXPECT_EQ(connect(fd(), reinterpret_cast<sockaddr*>(&storage), size), 0) << to.ToString();
  }
  void SendTo(const Address& to, const std::string& text) {
    sockaddr_storage storage{};
    const socklen_t size = ToSockaddr(to, true, &storage);
    EXPECT_EQ(sendto(fd(), text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&storage), size),
              static_cast<ssize_t>(text.size()));
  }
  void Write(const std::string& text) {
    EXPECT_EQ(send(fd(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  RawSocket Accept() { return RawSocket(Socket(accept(fd(), nullptr, nullptr))); }
  // True once the other side has closed the stream (what it sent before is thrown away).
  bool Closed() {
    std::array<char, 4096> sink{};
    ssize_t got = 0;
    do got = recv(fd(), sink.data(), sink.size(), MSG_DONTWAIT);
    while (got > 0);
    return got == 0 || errno != EAGAIN;
  }
  void Reset() {  // with an RST
    const linger hard{1, 0};
    setsockopt(fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    socket_.Reset();
  }
  Address local() const {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    getsockname(fd(), reinterpret_cast<sockaddr*>(&storage), &size);
    return FromSockaddr(reinterpret_cast<sockaddr*>(&storage));
  }
  int fd() const { return socket_.fd(); }

 private:
  Socket socket_;
};

inline std::string Framed(const std::string& body, std::size_t length) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(length >> (8 * i)));
  return out + body;
}
inline std::string Framed(const std::string& body) { return Framed(body, body.size()); }

}  // namespace nekton
