// Field: frames of more than 255 parts, or with a part above 64 KiB, reach the peer damaged, for a count has one byte
// and a length two.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Config Patient() {
  Config config = Rig::Lan();
  config.period = config.tolerated_pause = 1h;
  config.hold_alpha = 0;
  return config;
}

// n members that the rig knows besides, and what they tell of themselves.
std::vector<Update> Crowd(Rig& rig, std::size_t n) {
  std::vector<Update> rows;
  for (std::size_t i = 0; i < n; ++i) rig.NewPeer();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t host = i + 1;
    rig.peers[i].address = Address::V4(10, static_cast<std::uint8_t>(1 + (host >> 16)),
                                       static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host), 7946);
    rows.push_back(Alive(rig.peers[i]));
  }
  return rows;
}

std::uint64_t Bad(const Rig& rig) {
  std::uint64_t bad = rig.Count(Counter::kUpdatesRefused) + rig.Count(Counter::kUpdatesUnknownKind);
  for (const Counter c : {Counter::kBadShort, Counter::kBadLabel, Counter::kBadVersion, Counter::kBadChecksum,
                          Counter::kBadType, Counter::kBadBody}) {
    bad += rig.Count(c);
  }
  return bad;
}

TEST(FieldParts, MoreUpdatesThanAByteCountsAreSplitOverDatagramsWhole) {
  for (const std::size_t n : {256u, 300u}) {
    Rig from(Patient());
    const std::vector<Update> rows = Crowd(from, n);
    from.Gossip(from[1], rows);  // one frame brings all of them
    ASSERT_EQ(from.engine->size(), n + 1);
    from.Silence();
    from.Run(60s);
    Config other = Patient();
    other.name = "other";
    Rig to(other, true, 60000);
    ASSERT_FALSE(from.sent.empty());
    for (const Said& said : from.sent) to.ReceiveBytes(from.self.address, *said.bytes);  // each at most 1,400 bytes
    EXPECT_EQ(to.engine->size(), n + 1) << "they, and itself";
    EXPECT_EQ(Bad(to), 0u);
  }
}

TEST(FieldParts, SeventyThousandRowsArriveWholeInOneSync) {
  constexpr std::size_t kRows = 70000;
  Rig from(Patient(), false);
  const std::vector<Update> rows = Crowd(from, kRows);
  const Said reply = from.Serve(from[1], Rig::Of(FrameType::kSync), rows);
  EXPECT_EQ(reply.updates.size(), kRows + 1);
  Config other = Patient();
  other.name = "other";
  Rig to(other, false, 60000);
  ASSERT_TRUE(to.Order(Join{{from.self.address}}).ok());
  ASSERT_EQ(to.requests.size(), 1u);
  to.AnswerBytes(to.requests[0].id, absl::OkStatus(), *reply.bytes);
  EXPECT_EQ(to.engine->size(), kRows + 2);
  EXPECT_EQ(to.engine->alive(), kRows + 2);
  EXPECT_EQ(Bad(to), 0u);
}

TEST(FieldParts, WhatIsTooLargeIsAnErrorOfTheCall) {
  Rig rig(Patient());
  const absl::Status tag = rig.Order(SetTag{"k", std::string(65536, 'x')});
  EXPECT_EQ(tag.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tag.message()), HasSubstr("at most 512"));
  const absl::Status broadcast = rig.Order(Broadcast{"k", std::string(65536, 'x')});
  EXPECT_EQ(broadcast.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(broadcast.message()), HasSubstr("at most 1024"));
}

}  // namespace
}  // namespace nekton
