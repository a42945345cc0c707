#include "swim/config.h"

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Config Named() {
  Config config = Config::Lan();
  config.name = "alpha";
  return config;
}

std::vector<std::string> Mistakes(const Config& config) {
  const absl::Status status = config.Validate();
  if (!status.ok()) {
    EXPECT_TRUE(absl::IsInvalidArgument(status));
  }
  std::vector<std::string> lines;
  std::istringstream in{std::string(status.message())};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ConfigTest, LanIsTheDefault) {
  EXPECT_EQ(Config::Lan(), Config{});
  EXPECT_THAT(Mistakes(Config{}), ElementsAre(StartsWith("name = \"\": ")));
}

TEST(ConfigTest, ShippedProfiles) {
  const Config lan = Config::Lan();
  EXPECT_EQ(lan.period, 1s);
  EXPECT_EQ(lan.tolerated_pause, 3s);
  EXPECT_EQ(lan.hearer_margin, 1s);
  EXPECT_EQ(lan.forget_after, 90s);
  EXPECT_EQ(lan.max_local_pause, 500ms);
  EXPECT_EQ(lan.isolation_share, 0.5);
  EXPECT_EQ(lan.isolation_after, 5s);
  EXPECT_EQ(lan.bootstrap_expect, 0U);
  EXPECT_FALSE(lan.standalone);
  const Config wan = Config::Wan();
  EXPECT_EQ(wan.profile, "wan");
  EXPECT_EQ(wan.period, 5s);
  EXPECT_EQ(wan.tolerated_pause, 12s);
  EXPECT_EQ(wan.hearer_margin, 3s);
  EXPECT_EQ(wan.forget_after, 300s);
  EXPECT_EQ(wan.max_local_pause, 1s);
  EXPECT_EQ(wan.isolation_after, 15s);
  const Config local = Config::Local();
  EXPECT_EQ(local.profile, "local");
  EXPECT_EQ(local.period, 500ms);
  EXPECT_EQ(local.tolerated_pause, 1500ms);
  EXPECT_EQ(local.hearer_margin, 500ms);
  EXPECT_EQ(local.forget_after, 30s);
  EXPECT_EQ(local.max_local_pause, 250ms);
  EXPECT_EQ(local.isolation_after, 2500ms);
  for (Config config : {lan, wan, local}) {
    EXPECT_EQ(config.attempts, 8U);
    EXPECT_EQ(config.rumour_weight, 8U);
    config.name = "alpha";
    EXPECT_THAT(Mistakes(config), IsEmpty()) << config.profile;
  }
}

TEST(ConfigTest, TheStmGetsItsThresholds) {
  Config config = Named();
  config.attempts = 3;
  config.promote_threshold = 4;
  config.rumour_weight = 2;
  const StmConfig stm = config.Stm();
  EXPECT_EQ(stm.demote_threshold, 3U);
  EXPECT_EQ(stm.promote_threshold, 4U);
  EXPECT_EQ(stm.rumour_weight, 2U);
  EXPECT_EQ(stm.revive, Revive::kRefutation);
  EXPECT_EQ(stm.recovery_hold, 0s);
  EXPECT_EQ(stm.recovery_threshold, 1U);
}

TEST(ConfigTest, AllMistakesAtOnceOnePerLine) {
  Config config = Named();
  config.name = "al pha";
  config.bind = "localhost:1";
  config.advertise = "0.0.0.0:7946";
  config.seeds = {"10.0.0.2:7946", "nowhere", "10.0.0.300:1"};
  config.detector = static_cast<DetectorKind>(9);
  config.relays = 9;
  config.forget_after = 5s;
  config.datagram_max = 100;
  EXPECT_THAT(Mistakes(config),
              testing::UnorderedElementsAre(
                  StartsWith("name = \"al pha\": must have 1-128 bytes"), StartsWith("bind = "),
                  StartsWith("advertise = \"0.0.0.0:7946\": "), StartsWith("seeds[1] = \"nowhere\": "),
                  StartsWith("seeds[2] = \"10.0.0.300:1\": "), "detector = 9: no such detector; use fixed or phi",
                  "relays = 9: must be from 0 to 8", "datagram_max = 100: must be from 512 to 65507",
                  StartsWith("forget_after = 5 s: ")));
}

// One wrong value gives one line that begins with its field; the nearest right value gives none.
struct Case {
  std::string line;  // the beginning of the only line; empty: the configuration is sound
  std::function<void(Config&)> change;
};

TEST(ConfigTest, EveryBoundary) {
  const Case cases[] = {
      {"", [](Config& c) { c.name = std::string(128, 'n'); }},
      {"name = ", [](Config& c) { c.name = std::string(129, 'n'); }},
      {"name = \"a\\n\": ", [](Config& c) { c.name = "a\n"; }},
      {"", [](Config& c) { c.name = "d\u00e9lta"; }},
      {"profile = ", [](Config& c) { c.profile = ""; }},
      {"", [](Config& c) { c.label = std::string(64, 'l'); }},
      {"label = ", [](Config& c) { c.label = std::string(65, 'l'); }},
      {"label = ", [](Config& c) { c.label = "a\x1b"; }},
      {"tags = 1 tags: they take 513 bytes",
       [](Config& c) {
         c.tags = {{"k", std::string(509, 'v')}};
       }},
      {"",
       [](Config& c) {
         c.tags = {{"k", std::string(508, 'v')}};
       }},
      {"tags = 1 tags: a tag has an empty key",
       [](Config& c) {
         c.tags = {{"", "v"}};
       }},
      {"monitoring = 7: must be probes or heartbeats", [](Config& c) { c.monitoring = static_cast<Monitoring>(7); }},
      {"detector = 7: ", [](Config& c) { c.detector = static_cast<DetectorKind>(7); }},
      {"bind = \"\": address '': empty", [](Config& c) { c.bind = ""; }},
      {"bind = \"1.2.3.4\": ", [](Config& c) { c.bind = "1.2.3.4"; }},
      {"", [](Config& c) { c.bind = "[::]:0"; }},
      {"advertise = \"1.2.3.4:0\": ", [](Config& c) { c.advertise = "1.2.3.4:0"; }},
      {"advertise = \"[::]:1\": ", [](Config& c) { c.advertise = "[::]:1"; }},
      {"", [](Config& c) { c.advertise = "1.2.3.4:1"; }},
      {"", [](Config& c) { c.period = 10ms, c.gossip_interval = 10ms, c.max_local_pause = 10ms; }},
      {"period = 0.009 s: must be from 0.01 s to 3600 s",
       [](Config& c) { c.period = 9ms, c.gossip_interval = 9ms, c.max_local_pause = 9ms; }},
      {"attempts = 9: must be from 1 to 8", [](Config& c) { c.attempts = 9; }},
      {"", [](Config& c) { c.attempts = c.rumour_weight = 7; }},
      {"", [](Config& c) { c.attempts = c.rumour_weight = 1; }},
      {"", [](Config& c) { c.relays = 0; }},
      {"relay_after = 1.5: must be from 0 to 1", [](Config& c) { c.relay_after = 1.5; }},
      {"relay_after = nan: ", [](Config& c) { c.relay_after = std::nan(""); }},
      {"local_health_max = 101: ", [](Config& c) { c.local_health_max = 101; }},
      {"corroborators = 9: ", [](Config& c) { c.corroborators = 9; }},
      {"", [](Config& c) { c.corroborators = c.local_health_max = 0; }},
      {"rumour_weight = 9: must be from 1 to attempts = 8", [](Config& c) { c.rumour_weight = 9; }},
      {"rumour_weight = 1: the confirmers + 1 = 4 members that an accusation can name must weigh attempts = 8 together",
       [](Config& c) { c.rumour_weight = 1; }},
      {"", [](Config& c) { c.attempts = 4, c.rumour_weight = 1; }},
      {"phi_threshold = 0.05: ", [](Config& c) { c.phi_threshold = 0.05; }},
      {"phi_threshold = 17: ", [](Config& c) { c.phi_threshold = 17; }},
      {"phi_threshold = nan: ", [](Config& c) { c.phi_threshold = std::nan(""); }},
      {"", [](Config& c) { c.detector = DetectorKind::kPhi; }},
      {"rumour_weight = 0: ", [](Config& c) { c.rumour_weight = 0; }},
      {"promote_threshold = 0: ", [](Config& c) { c.promote_threshold = 0; }},
      {"tolerated_pause = 0.999999999 s: must not be below period = 1 s",
       [](Config& c) { c.tolerated_pause = 1s - 1ns; }},
      {"", [](Config& c) { c.tolerated_pause = 1s; }},
      {"hold_alpha = -1: ", [](Config& c) { c.hold_alpha = -1; }},
      {"hold_alpha = nan: ", [](Config& c) { c.hold_alpha = std::numeric_limits<double>::quiet_NaN(); }},
      {"hold_beta = 0.5: ", [](Config& c) { c.hold_beta = 0.5; }},
      {"hold_beta = inf: ", [](Config& c) { c.hold_beta = std::numeric_limits<double>::infinity(); }},
      {"", [](Config& c) { c.hold_beta = 1; }},
      {"confirmers = 8: must be from 0 to 7", [](Config& c) { c.confirmers = 8; }},
      {"", [](Config& c) { c.confirmers = 7; }},
      {"hearer_margin = -1 s: ", [](Config& c) { c.hearer_margin = -1s; }},
      {"", [](Config& c) { c.hearer_margin = 0s; }},
      // 100,000 members: 4 * 5 periods and the margin.
      {"forget_after = 21 s: must be longer than the longest hold, which is 21 s",
       [](Config& c) { c.forget_after = 21s; }},
      {"", [](Config& c) { c.forget_after = 21s + 1us; }},
      {"retransmit = 0: ", [](Config& c) { c.retransmit = 0; }},
      {"gossip_fanout = 0: ", [](Config& c) { c.gossip_fanout = 0; }},
      {"gossip_interval = 1.000000001 s: must not be above period = 1 s",
       [](Config& c) { c.gossip_interval = 1s + 1ns; }},
      {"gossip_interval = 0 s: ", [](Config& c) { c.gossip_interval = 0s; }},
      {"digest_patience = 0: ", [](Config& c) { c.digest_patience = 0; }},
      {"broadcast_keep = 0.999999999 s: ", [](Config& c) { c.broadcast_keep = 1s - 1ns; }},
      {"broadcast_keep = 86401 s: ", [](Config& c) { c.broadcast_keep = 24h + 1s; }},
      {"join_backoff_min = 0 s: ", [](Config& c) { c.join_backoff_min = 0s; }},
      {"join_backoff_max = 0.249 s: must not be below join_backoff_min = 0.25 s",
       [](Config& c) { c.join_backoff_max = 249ms; }},
      {"seed_retry = 0.249 s: ", [](Config& c) { c.seed_retry = 249ms; }},
      {"reconnect_periods = 0: ", [](Config& c) { c.reconnect_periods = 0; }},
      {"stream_timeout = 0 s: ", [](Config& c) { c.stream_timeout = 0s; }},
      {"leave_timeout = 0 s: ", [](Config& c) { c.leave_timeout = 0s; }},
      {"max_local_pause = 1.000000001 s: must not be above period = 1 s",
       [](Config& c) { c.max_local_pause = 1s + 1ns; }},
      {"", [](Config& c) { c.max_local_pause = 1s; }},
      {"datagram_max = 511: ", [](Config& c) { c.datagram_max = 511; }},
      {"datagram_max = 65508: ", [](Config& c) { c.datagram_max = 65508; }},
      {"", [](Config& c) { c.datagram_max = 512; }},
      {"isolation_share = 1: must be at least 0 and below 1", [](Config& c) { c.isolation_share = 1; }},
      {"isolation_share = -0.5: ", [](Config& c) { c.isolation_share = -0.5; }},
      {"isolation_share = nan: ", [](Config& c) { c.isolation_share = std::nan(""); }},
      {"", [](Config& c) { c.isolation_share = 0; }},
      {"isolation_after = -1 s: ", [](Config& c) { c.isolation_after = -1s; }},
      {"isolation_after = 86401 s: ", [](Config& c) { c.isolation_after = 24h + 1s; }},
      {"", [](Config& c) { c.isolation_after = 0s; }},
      {"bootstrap_expect = 3: must not be above members_max = 2",
       [](Config& c) { c.members_max = 2, c.bootstrap_expect = 3; }},
      {"", [](Config& c) { c.bootstrap_expect = 100000; }},
      {"", [](Config& c) { c.standalone = true, c.bootstrap_expect = 1; }},
      {"bootstrap_expect = 2: a standalone node is alone for good",
       [](Config& c) { c.standalone = true, c.bootstrap_expect = 2; }},
      {"seeds = 10.0.0.2:1, b:2: a standalone node joins nobody",
       [](Config& c) {
         c.standalone = true;
         c.seeds = {"10.0.0.2:1", "b:2"};
       }},
      {"members_max = 1: ", [](Config& c) { c.members_max = 1; }},
      {"", [](Config& c) { c.members_max = 2; }},
  };
  for (const Case& test : cases) {
    Config config = Named();
    test.change(config);
    if (test.line.empty()) {
      EXPECT_THAT(Mistakes(config), IsEmpty());
    } else {
      EXPECT_THAT(Mistakes(config), ElementsAre(StartsWith(test.line)));
    }
  }
}

TEST(ConfigTest, OurOwnRowFitsIntoOneDatagram) {
  Config config = Named();
  config.name = std::string(128, 'n');
  config.tags = {{"k", std::string(508, 'v')}};
  config.datagram_max = 726;
  EXPECT_THAT(Mistakes(config), IsEmpty());
  config.datagram_max = 725;
  EXPECT_THAT(Mistakes(config), ElementsAre("datagram_max = 725: a ping that carries this name and these tags takes up "
                                            "to 726 bytes"));
}

TEST(ConfigTest, Seeds) {
  Config config = Named();
  config.seeds = {"10.0.0.2:7946", "[2001:db8::1]:1", "[fe80::1%2]:1", "cluster.internal:65535", "a_b-c:1", "10a.0:1"};
  EXPECT_THAT(Mistakes(config), IsEmpty());
  for (const char* seed : {"",       "host",        "host:", "host:0",         "host:65536", "host:x",   ":1",
                           "a b:1",  "h\n:1",       "h/x:1", "10.0.0.2",       "10.0.0.2:0", "10.0.0:1", "0.0.0.0:1",
                           "[::]:1", "2001:db8::1", "[::1",  "[fe80::1%lo]:1", "[host]:1",   "host:1:2"}) {
    config.seeds = {seed};
    EXPECT_THAT(Mistakes(config), ElementsAre(StartsWith("seeds[0] = "))) << seed;
  }
  config.seeds = {std::string(253, 'h') + ":1"};
  EXPECT_THAT(Mistakes(config), IsEmpty());
  config.seeds = {std::string(254, 'h') + ":1"};
  EXPECT_THAT(Mistakes(config), ElementsAre(HasSubstr("the host must be")));
}

// ---- Heartbeats. ----

Config NamedMesh() {
  Config config = Config::Mesh();
  config.name = "alpha";
  return config;
}
Config NamedPair() {
  Config config = Config::Pair();
  config.name = "alpha";
  return config;
}

TEST(ConfigTest, TheMesh) {
  const Config mesh = NamedMesh();
  EXPECT_THAT(Mistakes(mesh), IsEmpty());
  EXPECT_EQ(mesh.profile, "mesh");
  EXPECT_TRUE(mesh.beats());
  EXPECT_EQ(mesh.detector, DetectorKind::kFixed);
  EXPECT_EQ(mesh.period, 10s);
  EXPECT_EQ(mesh.jitter, 2s);
  EXPECT_EQ(mesh.suspect_after, 30s + 1ns);
  EXPECT_EQ(mesh.fail_after - mesh.suspect_after, 90s) << "the hold";
  EXPECT_EQ(mesh.acceptable_pause, 0s);
  EXPECT_EQ(mesh.repeat_after, 0s);
  EXPECT_EQ(mesh.misses, 3u);
  EXPECT_EQ(mesh.promote_threshold, 2u);
  EXPECT_EQ(mesh.rumour_weight, 1u);
  EXPECT_EQ(mesh.revive, Revive::kHealthy);
  EXPECT_EQ(mesh.recovery_hold, 90s);
  EXPECT_EQ(mesh.forget_after, 24h);
  EXPECT_EQ(mesh.phi_threshold, 8);
  EXPECT_EQ(mesh.max_local_pause, 2s);
  EXPECT_EQ(mesh.isolation_after, 30s);
  EXPECT_EQ(mesh.digest_patience * mesh.period, 60s);
  EXPECT_EQ(mesh.members_max, 64u);
}

TEST(ConfigTest, ThePair) {
  const Config pair = NamedPair();
  EXPECT_THAT(Mistakes(pair), IsEmpty());
  EXPECT_EQ(pair.profile, "pair");
  EXPECT_TRUE(pair.beats());
  EXPECT_EQ(pair.detector, DetectorKind::kFixed);
  EXPECT_EQ(pair.period, 5s);
  EXPECT_EQ(pair.jitter, 0s);
  EXPECT_EQ(pair.suspect_after, 6s);
  EXPECT_EQ(pair.fail_after, 12s);
  EXPECT_EQ(pair.acceptable_pause, 0s);
  EXPECT_EQ(pair.repeat_after, 250ms);
  EXPECT_EQ(pair.misses, 1u);
  EXPECT_EQ(pair.promote_threshold, 1u);
  EXPECT_EQ(pair.rumour_weight, 0u);
  EXPECT_EQ(pair.revive, Revive::kJoinOnly);
  EXPECT_EQ(pair.recovery_hold, 0s);
  EXPECT_EQ(pair.forget_after, 24h);
  EXPECT_EQ(pair.phi_threshold, 8);
  EXPECT_EQ(pair.max_local_pause, 500ms);
  EXPECT_EQ(pair.isolation_after, 6s);
}

TEST(ConfigTest, TheStmOfHeartbeats) {
  const StmConfig mesh = Config::Mesh().Stm();
  EXPECT_EQ(mesh.demote_threshold, 3u);
  EXPECT_EQ(mesh.promote_threshold, 2u);
  EXPECT_EQ(mesh.recovery_threshold, 1u);
  EXPECT_EQ(mesh.recovery_hold, 90s);
  EXPECT_EQ(mesh.rumour_weight, 1u);
  EXPECT_FALSE(mesh.verdicts);
  EXPECT_EQ(mesh.revive, Revive::kHealthy);
  EXPECT_EQ(mesh.max_records, 64u);
  const StmConfig pair = Config::Pair().Stm();
  EXPECT_EQ(pair.demote_threshold, 1u);
  EXPECT_EQ(pair.promote_threshold, 1u);
  EXPECT_EQ(pair.rumour_weight, 0u);
  EXPECT_FALSE(pair.verdicts);
  EXPECT_EQ(pair.revive, Revive::kJoinOnly);
}

TEST(ConfigTest, EveryBoundaryOfHeartbeats) {
  const Case cases[] = {
      {"isolation_share = 1: ", [](Config& c) { c.isolation_share = 1; }},
      {"bootstrap_expect = 65: must not be above members_max = 64", [](Config& c) { c.bootstrap_expect = 65; }},
      {"max_local_pause = 0 s: ", [](Config& c) { c.max_local_pause = 0s; }},
      {"max_local_pause = 10.000000001 s: must not be above period = 10 s",
       [](Config& c) { c.max_local_pause = 10s + 1ns; }},
      {"", [](Config& c) { c.max_local_pause = 10s; }},
      {"misses = 0: must be from 1 to 1000", [](Config& c) { c.misses = 0; }},
      {"", [](Config& c) { c.misses = 1; }},
      {"misses = 1001: ", [](Config& c) { c.misses = 1001, c.rumour_weight = 1000; }},
      {"", [](Config& c) { c.misses = c.rumour_weight = 1000; }},
      {"promote_threshold = 0: ", [](Config& c) { c.promote_threshold = 0; }},
      {"promote_threshold = 1001: ", [](Config& c) { c.promote_threshold = 1001; }},
      {"rumour_weight = 4: must be from 0 to 3", [](Config& c) { c.rumour_weight = 4; }},
      {"", [](Config& c) { c.rumour_weight = 3; }},
      {"", [](Config& c) { c.rumour_weight = 0; }},
      {"phi_threshold = 0.05: ", [](Config& c) { c.phi_threshold = 0.05; }},
      {"phi_threshold = nan: ", [](Config& c) { c.phi_threshold = std::nan(""); }},
      {"confirmers = 8: ", [](Config& c) { c.confirmers = 8; }},
      {"period = 0.009999999 s: ",
       [](Config& c) { c.period = 10ms - 1ns, c.jitter = 0s, c.max_local_pause = c.gossip_interval = 5ms; }},
      {"", [](Config& c) { c.period = 10ms, c.jitter = 0s, c.max_local_pause = c.gossip_interval = 5ms; }},
      {"period = 3600.001 s: ", [](Config& c) { c.period = 1h + 1ms, c.suspect_after = 3h, c.fail_after = 4h; }},
      {"jitter = -1 s: ", [](Config& c) { c.jitter = -1s; }},
      {"jitter = 10 s: must be below period = 10 s", [](Config& c) { c.jitter = 10s; }},
      {"", [](Config& c) { c.jitter = 10s - 1ns; }},
      {"acceptable_pause = -1 s: ", [](Config& c) { c.acceptable_pause = -1s; }},
      {"", [](Config& c) { c.acceptable_pause = 1h; }},
      {"suspect_after = 12 s: must be above period + jitter", [](Config& c) { c.suspect_after = 12s; }},
      {"", [](Config& c) { c.suspect_after = 12s + 1ns; }},
      {"suspect_after = -1 s: ", [](Config& c) { c.suspect_after = -1s; }},
      {"fail_after = 30.000000001 s: must be above suspect_after = 30.000000001 s",
       [](Config& c) { c.fail_after = c.suspect_after; }},
      {"", [](Config& c) { c.fail_after = c.suspect_after + 1ns; }},
      {"fail_after = 172800.001 s: ", [](Config& c) { c.fail_after = 48h + 1ms; }},
      {"repeat_after = 0.000999999 s: ", [](Config& c) { c.repeat_after = 1ms - 1ns; }},
      {"repeat_after = -1 s: ", [](Config& c) { c.repeat_after = -1s; }},
      {"", [](Config& c) { c.repeat_after = 10s; }},
      {"repeat_after = 10.000000001 s: must not be above period = 10 s", [](Config& c) { c.repeat_after = 10s + 1ns; }},
      {"revive = 9: no such rule", [](Config& c) { c.revive = static_cast<Revive>(9); }},
      {"", [](Config& c) { c.revive = Revive::kRefutation; }},
      {"recovery_hold = -1 s: ", [](Config& c) { c.recovery_hold = -1s; }},
      {"forget_after = 90 s: must not be below recovery_hold", [](Config& c) { c.forget_after = 90s; }},
      {"", [](Config& c) { c.forget_after = 90s + 1ns; }},
      {"forget_after = 2592000.001 s: ", [](Config& c) { c.forget_after = 720h + 1ms; }},
      {"members_max = 1: ", [](Config& c) { c.members_max = 1; }},
      {"", [](Config& c) { c.members_max = 2; }},
      {"members_max = 65: must be from 2 to 64", [](Config& c) { c.members_max = 65; }},
      // What only probing looks at.
      {"", [](Config& c) { c.attempts = 0, c.relays = 99, c.tolerated_pause = 0s, c.hold_alpha = -1; }},
  };
  for (const Case& test : cases) {
    Config config = NamedMesh();
    test.change(config);
    if (test.line.empty()) {
      EXPECT_THAT(Mistakes(config), IsEmpty());
      EXPECT_TRUE(config.Stm().Validate().ok()) << config.Stm().Validate();
    } else {
      EXPECT_THAT(Mistakes(config), ElementsAre(StartsWith(test.line)));
    }
  }
}

TEST(ConfigTest, TheOrderOfThePairHoldsAtItsEdges) {
  Config config = NamedPair();
  config.suspect_after = 5s;
  EXPECT_THAT(Mistakes(config), ElementsAre(StartsWith("suspect_after = 5 s: ")));
  config.suspect_after = 5s + 1ns;
  EXPECT_THAT(Mistakes(config), IsEmpty());
  config.jitter = 1ns;
  EXPECT_THAT(Mistakes(config), ElementsAre(StartsWith("suspect_after = 5.000000001 s: ")));
}

TEST(ConfigTest, AllMistakesOfHeartbeatsAtOnce) {
  Config config = NamedMesh();
  config.name = "al pha";
  config.max_local_pause = 11s;
  config.misses = 0;
  config.promote_threshold = 0;
  config.phi_threshold = 99;
  config.jitter = 10s;
  config.suspect_after = 1s;
  config.fail_after = 1s;
  config.repeat_after = 11s;
  config.revive = static_cast<Revive>(9);
  config.recovery_hold = 2h;
  config.forget_after = 1h;
  config.members_max = 100;
  config.join_backoff_min = 0s;
  EXPECT_THAT(Mistakes(config),
              testing::UnorderedElementsAre(StartsWith("name = "), StartsWith("max_local_pause = 11 s: "),
                                            StartsWith("misses = 0: "), StartsWith("promote_threshold = 0: "),
                                            StartsWith("phi_threshold = 99: "), StartsWith("jitter = 10 s: "),
                                            StartsWith("suspect_after = 1 s: "), StartsWith("fail_after = 1 s: "),
                                            StartsWith("repeat_after = 11 s: "), StartsWith("revive = 9: "),
                                            StartsWith("forget_after = 3600 s: "), StartsWith("members_max = 100: "),
                                            StartsWith("join_backoff_min = 0 s: ")));
}

// The STM keeps so many members' words and no more: rumours of less weight could never be enough, and it would be given
// a configuration that it does not take.
TEST(ConfigTest, RumoursThatCouldNeverBeEnoughAreAMistake) {
  Config config = NamedMesh();
  config.misses = 8;
  EXPECT_THAT(Mistakes(config), IsEmpty());
  EXPECT_TRUE(config.Stm().Validate().ok());
  config.misses = 9;
  ASSERT_FALSE(config.Stm().Validate().ok());
  EXPECT_THAT(Mistakes(config), ElementsAre(StartsWith("rumour_weight = 1: ")));
}

// Sealed datagrams are larger, and stay within the bound all the same.
TEST(ConfigTest, SealingNeedsRoomAndItsFieldsFitTogether) {
  Config config = Config::Lan();
  config.name = "alpha";
  config.key_file = "/etc/nekton/keys";
  EXPECT_THAT(Mistakes(config), ElementsAre(StartsWith("key_file = ")));
  config.sealing = Sealing::kRequire;
  EXPECT_THAT(Mistakes(config), IsEmpty());
  config.datagram_max = 512 + kSealedBytes;
  EXPECT_THAT(Mistakes(config), IsEmpty());
  --config.datagram_max;
  EXPECT_THAT(Mistakes(config), ElementsAre(StartsWith("datagram_max = 593")));
  config.sealing = static_cast<Sealing>(7);
  config.key_file = std::string("a\0b", 3);
  EXPECT_THAT(Mistakes(config),
              ElementsAre(StartsWith("datagram_max = "), StartsWith("sealing = 7"), StartsWith("key_file = ")));
}

TEST(ConfigTest, TheLongestTimesAreMistakesToo) {
  Config config = NamedMesh();
  config.period = config.jitter = config.suspect_after = config.recovery_hold = Duration::max();
  EXPECT_THAT(Mistakes(config), testing::IsSupersetOf({StartsWith("period = "), StartsWith("jitter = "),
                                                       StartsWith("recovery_hold = ")}));
}

}  // namespace
}  // namespace nekton
