// Bound pairs, addresses and interfaces.
#include "transport/uv_socket.h"

#include <set>

#include "tests/uv_fixture.h"
#include "transport/uv_transport.h"

namespace nekton {
namespace {

using testing::HasSubstr;

TEST(UvSocketTest, ASecondBinderOfThePortIsToldSo) {
  auto first = BindPair(Any());
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = BindPair(first->address);
  EXPECT_TRUE(absl::IsAlreadyExists(second.status()));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("address in use: " + first->address.ToString()));
  first->datagram.Reset();
  const auto third = BindPair(first->address);
  EXPECT_TRUE(absl::IsAlreadyExists(third.status())) << "the stream half alone blocks the port, too";
  first->stream.Reset();
  EXPECT_TRUE(BindPair(first->address).ok());
}

TEST(UvSocketTest, AnAddressOfNobodyIsAnErrorInWords) {
  const auto pair = BindPair(Address::V4(203, 0, 113, 7, 7946));
  EXPECT_TRUE(absl::IsFailedPrecondition(pair.status()));
  EXPECT_THAT(std::string(pair.status().message()), HasSubstr("cannot bind 203.0.113.7:7946 (UDP): "));
}

TEST(UvSocketTest, PortZeroIsOnePortForBoth) {
  std::vector<BoundPair> pairs;
  std::set<std::uint16_t> ports;
  for (int i = 0; i < 100; ++i) {
    auto pair = BindPair(Any());
    ASSERT_TRUE(pair.ok()) << pair.status();
    for (const Socket* socket : {&pair->datagram, &pair->stream}) {
      sockaddr_storage storage{};
      socklen_t size = sizeof(storage);
      ASSERT_EQ(getsockname(socket->fd(), reinterpret_cast<sockaddr*>(&storage), &size), 0);
      EXPECT_EQ(FromSockaddr(reinterpret_cast<sockaddr*>(&storage)), pair->address);
    }
    EXPECT_NE(pair->address.port, 0);
    ports.insert(pair->address.port);
    pairs.push_back(*std::move(pair));
  }
  EXPECT_EQ(ports.size(), 100U);
}

// A process that sets SO_REUSEADDR must not be able to take our datagrams.
using UvSocketStealTest = UvTest;
TEST_F(UvSocketStealTest, NobodyStealsTheDatagramsOfARunningTransport) {
  auto transport = UvTransport::Create(&loop_, Any());
  ASSERT_TRUE(transport.ok());
  Recorder recorder;
  (*transport)->Open(&recorder);
  Socket thief(socket(AF_INET, SOCK_DGRAM, 0));
  const int on = 1;
  ASSERT_EQ(setsockopt(thief.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
  sockaddr_storage storage{};
  const socklen_t size = ToSockaddr((*transport)->local(), true, &storage);
  EXPECT_NE(bind(thief.fd(), reinterpret_cast<sockaddr*>(&storage), size), 0);
  EXPECT_EQ(errno, EADDRINUSE);
}

TEST(UvSocketTest, AddressesSurviveTheWayThroughTheKernelsForm) {
  for (const char* text : {"1.2.3.4:5", "127.0.0.1:65535", "[2001:db8::1]:7946", "[fe80::1%2]:7946"}) {
    const Address address = Address::Parse(text).value();
    sockaddr_storage storage{};
    ASSERT_NE(ToSockaddr(address, false, &storage), 0U) << text;
    EXPECT_EQ(FromSockaddr(reinterpret_cast<sockaddr*>(&storage)), address) << text;
    if (address.is_v4()) {
      ASSERT_NE(ToSockaddr(address, true, &storage), 0U) << text;
      EXPECT_EQ(FromSockaddr(reinterpret_cast<sockaddr*>(&storage)), address) << text;
    } else {
      EXPECT_EQ(ToSockaddr(address, true, &storage), 0U) << text;
    }
  }
  sockaddr unix_domain{};
  unix_domain.sa_family = AF_UNIX;
  EXPECT_EQ(FromSockaddr(&unix_domain), Address());
}

TEST(UvSocketTest, TheScopeOfAGlobalAddressIsNoPartOfIt) {
  Address address = Address::Parse("[2001:db8::1]:7946").value();
  sockaddr_storage storage{};
  ToSockaddr(address, false, &storage);
  reinterpret_cast<sockaddr_in6*>(&storage)->sin6_scope_id = 3;
  EXPECT_EQ(FromSockaddr(reinterpret_cast<sockaddr*>(&storage)), address);
}

TEST(UvSocketTest, AWildcardIsAdvertisedAsAnAddressOfAnInterface) {
  const auto at = [](const char* text) { return Address::Parse(text).value(); };
  const auto v4 = at("192.0.2.1:0"), v6 = at("[2001:db8::1]:0"), local = at("[fe80::1%2]:0"), loop = at("127.0.0.1:0");
  const auto loop6 = at("[::1]:0");
  const auto any4 = at("0.0.0.0:7946"), any6 = at("[::]:7946");
  EXPECT_EQ(ReachableAddress(any4, {v6, v4, loop}), at("192.0.2.1:7946"));
  EXPECT_EQ(ReachableAddress(any4, {v6, loop6, loop}), at("127.0.0.1:7946"));
  EXPECT_EQ(ReachableAddress(any6, {local, v4, v6, loop6}), at("[2001:db8::1]:7946"));
  EXPECT_EQ(ReachableAddress(any6, {local, v4, loop6}), at("192.0.2.1:7946"));
  EXPECT_EQ(ReachableAddress(any4, {}), at("127.0.0.1:7946"));
  EXPECT_EQ(ReachableAddress(at("10.0.0.1:7946"), {v4}), at("10.0.0.1:7946")) << "a definite address is kept";
}

TEST(UvSocketTest, InterfacesAreListedLoopbackLast) {
  const std::vector<Address> found = InterfaceAddresses();
  ASSERT_FALSE(found.empty());
  bool loopback = false;
  for (const Address& a : found) {
    EXPECT_EQ(a.port, 0);
    EXPECT_FALSE(a.is_unspecified());
    EXPECT_TRUE(!loopback || IsLoopback(a)) << a.ToString();
    loopback = IsLoopback(a);
  }
  EXPECT_TRUE(loopback) << "every machine has 127.0.0.1";
}

}  // namespace
}  // namespace nekton
