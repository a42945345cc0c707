// Another configuration while a member runs: which fields, what it changes, and what it refuses.
#include "swim/reconfigure.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/terms.h"
#include "tests/cluster.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A value that is another, whatever it was, and that Config takes.
void Alter(std::string& v) { v += "x"; }
void Alter(std::vector<std::string>& v) { v.push_back("other:1"); }
void Alter(std::map<std::string, std::string>& v) { v["other"] = "tag"; }
void Alter(bool& v) { v = !v; }
void Alter(double& v) { v += 0.125; }
void Alter(std::uint32_t& v) { ++v; }
void Alter(std::uint64_t& v) { ++v; }
void Alter(Duration& v) { v += 1ms; }
void Alter(DetectorKind& v) { v = DetectorKind::kPhi; }
void Alter(Monitoring& v) { v = v == Monitoring::kProbes ? Monitoring::kHeartbeats : Monitoring::kProbes; }
void Alter(Probing& v) { v = Probing::kStaggered; }
void Alter(Sealing& v) { v = Sealing::kAccept; }
void Alter(Revive& v) { v = Revive::kJoinOnly; }
void Alter(Rules& v) { v.back_off = !v.back_off; }
void Alter(MailLimits& v) { ++v.open; }

std::optional<Instant> FirstOf(const Rig& rig, EventKind kind) {
  for (const Event& event : rig.events) {
    if (event.kind == kind) return event.at;
  }
  return std::nullopt;
}

// Names each field of a Config. Who adds one finds that this does not compile: give it a place here and a kind in
// swim/reconfigure.cc.
template <typename Visit>
void ForEachFieldOf(Config& config, Visit visit) {
  auto& [name, bind, advertise, seeds, label, sealing, key_file, tags, generation, seed, detector, profile, monitoring,
         period, phi_threshold, probing, attempts, relays, relay_after, stream_ping, nacks, local_health_max,
         corroborators, rules, jitter, suspect_after, fail_after, acceptable_pause, repeat_after, misses, revive,
         recovery_hold, promote_threshold, rumour_weight, tolerated_pause, hold_alpha, hold_beta, confirmers,
         hearer_margin, forget_after, retransmit, gossip_fanout, gossip_interval, digest_patience, broadcast_keep,
         join_backoff_min, join_backoff_max, seed_retry, reconnect_periods, stream_timeout, leave_timeout,
         isolation_share, isolation_after, bootstrap_expect, standalone, max_local_pause, datagram_max, members_max,
         mail] = config;
  visit("name", name);
  visit("bind", bind);
  visit("advertise", advertise);
  visit("seeds", seeds);
  visit("label", label);
  visit("sealing", sealing);
  visit("key_file", key_file);
  visit("tags", tags);
  visit("generation", generation);
  visit("seed", seed);
  visit("detector", detector);
  visit("profile", profile);
  visit("monitoring", monitoring);
  visit("period", period);
  visit("phi_threshold", phi_threshold);
  visit("probing", probing);
  visit("attempts", attempts);
  visit("relays", relays);
  visit("relay_after", relay_after);
  visit("stream_ping", stream_ping);
  visit("nacks", nacks);
  visit("local_health_max", local_health_max);
  visit("corroborators", corroborators);
  visit("rules", rules);
  visit("jitter", jitter);
  visit("suspect_after", suspect_after);
  visit("fail_after", fail_after);
  visit("acceptable_pause", acceptable_pause);
  visit("repeat_after", repeat_after);
  visit("misses", misses);
  visit("revive", revive);
  visit("recovery_hold", recovery_hold);
  visit("promote_threshold", promote_threshold);
  visit("rumour_weight", rumour_weight);
  visit("tolerated_pause", tolerated_pause);
  visit("hold_alpha", hold_alpha);
  visit("hold_beta", hold_beta);
  visit("confirmers", confirmers);
  visit("hearer_margin", hearer_margin);
  visit("forget_after", forget_after);
  visit("retransmit", retransmit);
  visit("gossip_fanout", gossip_fanout);
  visit("gossip_interval", gossip_interval);
  visit("digest_patience", digest_patience);
  visit("broadcast_keep", broadcast_keep);
  visit("join_backoff_min", join_backoff_min);
  visit("join_backoff_max", join_backoff_max);
  visit("seed_retry", seed_retry);
  visit("reconnect_periods", reconnect_periods);
  visit("stream_timeout", stream_timeout);
  visit("leave_timeout", leave_timeout);
  visit("isolation_share", isolation_share);
  visit("isolation_after", isolation_after);
  visit("bootstrap_expect", bootstrap_expect);
  visit("standalone", standalone);
  visit("max_local_pause", max_local_pause);
  visit("datagram_max", datagram_max);
  visit("members_max", members_max);
  visit("mail", mail);
}

const std::vector<std::string> kChangeable = {"detector",
                                              "period",
                                              "phi_threshold",
                                              "relays",
                                              "relay_after",
                                              "stream_ping",
                                              "local_health_max",
                                              "retransmit",
                                              "gossip_fanout",
                                              "gossip_interval",
                                              "digest_patience",
                                              "reconnect_periods",
                                              "isolation_share",
                                              "isolation_after",
                                              "max_local_pause",
                                              "members_max",
                                              "mail"};
const std::vector<std::string> kTerms = {
    "monitoring",      "probing",    "corroborators", "suspect_after", "fail_after",    "misses",      "revive",
    "tolerated_pause", "hold_alpha", "hold_beta",     "confirmers",    "hearer_margin", "forget_after"};

// The kind that each field has is the one that it behaves as: a term is in what joining members compare, and nothing else
// is; and what can be changed is turned into an order that makes the one Config of the other.
TEST(ReconfigureTest, EveryFieldHasItsKind) {
  Config base = Config::Lan();
  base.name = "alpha";
  Config mesh = Config::Mesh();
  mesh.name = "alpha";
  std::vector<std::string> names;
  std::vector<std::string> changeable;
  std::vector<std::string> terms;
  ForEachFieldOf(base, [&](const char* name, auto&) { names.emplace_back(name); });
  const std::vector<ConfigField> fields = ConfigFields();
  ASSERT_EQ(fields.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(fields[i].name, names[i]);
    const auto altered = [&](Config config) {
      ForEachFieldOf(config, [&](const std::string& name, auto& value) {
        if (name == names[i]) Alter(value);
      });
      return config;
    };
    const Config other = altered(base);
    ASSERT_NE(other, base) << names[i];
    const bool is_term = EncodeTerms(other) != EncodeTerms(base) || EncodeTerms(altered(mesh)) != EncodeTerms(mesh);
    const bool is_period = names[i] == "period";  // a term that may be changed
    EXPECT_EQ(is_term, fields[i].kind == FieldKind::kTerm || is_period) << names[i];
    const absl::StatusOr<Reconfigure> changes = Changes(base, other);
    EXPECT_EQ(changes.ok(), fields[i].kind == FieldKind::kChangeable) << names[i];
    if (changes.ok()) {
      changeable.push_back(names[i]);
      const absl::StatusOr<Config> changed = Changed(base, *changes);
      ASSERT_TRUE(changed.ok()) << changed.status();
      EXPECT_EQ(*changed, other) << names[i];
    } else {
      EXPECT_THAT(std::string(changes.status().message()), testing::StartsWith(names[i] + ": "));
      EXPECT_EQ(testing::Value(std::string(changes.status().message()), HasSubstr("a term of the group")), is_term);
      if (is_term) terms.push_back(names[i]);
    }
  }
  EXPECT_EQ(changeable, kChangeable);
  EXPECT_EQ(terms, kTerms);
}

TEST(ReconfigureTest, AllThatCannotBeChangedIsNamedAtOnce) {
  Config from = Config::Lan();
  Config to = from;
  to.hold_beta = 2;
  to.relays = 3;
  to.bind = "0.0.0.0:1";
  to.seeds = {"a:1"};
  to.tags = {{"a", "b"}};
  EXPECT_EQ(std::string(Changes(from, to).status().message()),
            "bind: it is fixed while a member runs: restart it with the new value\n"
            "seeds: it is fixed while a member runs: Join() takes further ones\n"
            "tags: it is fixed while a member runs: SetTags() changes them\n"
            "hold_beta: it is a term of the group: all members must be restarted with it");
}

TEST(ReconfigureTest, MistakesAreToldTogetherAndNothingIsApplied) {
  Rig rig;
  rig.Know(4);
  const Config before = rig.engine->config();
  const absl::Status status = rig.Order(Reconfigure{.detector = static_cast<DetectorKind>(9),
                                                    .relays = 99,
                                                    .gossip_fanout = 7,
                                                    .gossip_interval = 2s,
                                                    .members_max = 50});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* part : {"detector = 9", "relays = 99", "gossip_interval = 2 s", "members_max = 50"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_EQ(rig.engine->config(), before);
  EXPECT_TRUE(rig.Order(Reconfigure{}).ok());
  EXPECT_EQ(rig.engine->config(), before);
}

// With more rows allowed the dead have to be remembered for longer, as in a Config of this size from the beginning.
TEST(ReconfigureTest, WhatAFieldNeedsOfOthersIsLookedAtToo) {
  Config config = Rig::Lan();
  config.members_max = 10;
  config.forget_after = 11001ms;
  ASSERT_TRUE(config.Validate().ok());
  Rig rig(config);
  EXPECT_TRUE(rig.Order(Reconfigure{.members_max = 100}).ok());
  EXPECT_THAT(std::string(rig.Order(Reconfigure{.members_max = 100'000}).message()), HasSubstr("forget_after"));
  EXPECT_EQ(rig.engine->config().members_max, 100u);
}

TEST(ReconfigureTest, TheTableTakesMoreMembers) {
  Config config = Rig::Lan();
  config.members_max = 3;
  Rig rig(config);
  rig.Know(2);
  Peer& third = rig.NewPeer();
  rig.Gossip(rig[1], {Alive(third)});
  EXPECT_EQ(rig.Events(), "");
  ASSERT_TRUE(rig.Order(Reconfigure{.members_max = 4}).ok());
  rig.Gossip(rig[1], {Alive(third)});
  EXPECT_EQ(rig.Events(), "joined m3");
}

TEST(ReconfigureTest, GossipGoesToMoreMembersAndMoreOften) {
  const auto sends = [](const Reconfigure& change) {
    Rig rig;
    rig.Know(20);
    EXPECT_TRUE(rig.Order(change).ok());
    rig.Clear();
    EXPECT_TRUE(rig.Order(SetTag{"k", "v"}).ok());
    const std::size_t at_once = rig.Sent(FrameType::kGossip).size();
    rig.Run(400ms);
    return std::pair(at_once, rig.Sent(FrameType::kGossip).size());
  };
  EXPECT_EQ(sends({}), std::pair(std::size_t{3}, std::size_t{8})) << "two sends to twenty: 4 * 2, in rounds of three";
  EXPECT_EQ(sends({.gossip_fanout = 7}).first, 7u);
  EXPECT_EQ(sends({.retransmit = 1}).second, 2u);
}

TEST(ReconfigureTest, RelaysAndTheStreamFollow) {
  Rig rig;
  rig.Know(8);
  rig.Silence();
  ASSERT_TRUE(rig.Order(Reconfigure{.relays = 1, .relay_after = 0.5, .stream_ping = false}).ok());
  const Said first = rig.NextRound(&rig[1]);
  rig.Clear();
  rig.Run(300ms);
  EXPECT_TRUE(rig.Sent(FrameType::kPingReq).empty());
  rig.Run(1s);
  std::map<std::uint32_t, int> asked;
  for (const Said& said : rig.Sent(FrameType::kPingReq)) {
    if (said.serial() == first.serial()) ++asked[said.attempt()];
  }
  EXPECT_THAT(asked, testing::Not(testing::IsEmpty()));
  for (const auto& [attempt, relays] : asked) EXPECT_EQ(relays, 1) << attempt;
  EXPECT_TRUE(rig.requests.empty());
}

// Four of five are more than half, and not more than nine tenths.
TEST(ReconfigureTest, IsolationFollows) {
  Rig rig;
  rig.Know(4);
  ASSERT_TRUE(rig.Order(Reconfigure{.isolation_share = 0.9, .isolation_after = 2s}).ok());
  rig[1].answers = rig[1].answers_relays = rig[1].relays = false;
  rig.Run(30s);
  ASSERT_TRUE(FirstOf(rig, EventKind::kFailed).has_value());
  ASSERT_TRUE(FirstOf(rig, EventKind::kIsolated).has_value());
  EXPECT_EQ(*FirstOf(rig, EventKind::kIsolated) - *FirstOf(rig, EventKind::kFailed), 2s);
}

// Who convicts sooner sends its second attempt sooner.
TEST(ReconfigureTest, ThePhiThresholdFollows) {
  const auto attempts = [](double threshold) {
    Config config = Rig::Lan();
    config.detector = DetectorKind::kPhi;
    config.attempts = config.rumour_weight = 8;
    Rig rig(config);
    rig.Know(4);
    rig.Run(60s);
    rig.Silence();
    EXPECT_TRUE(rig.Order(Reconfigure{.phi_threshold = threshold}).ok());
    rig.NextRound();  // the open one keeps the later deadline
    const Instant began = rig.now.boot;
    const Said first = rig.NextRound();
    for (;;) {
      rig.Step();
      const Said& last = rig.sent.back();
      if (last.serial() == first.serial() && last.attempt() == 1) return rig.now.boot - std::max(began, first.at);
    }
  };
  EXPECT_LT(attempts(0.5), attempts(12.0));
}

TEST(ReconfigureTest, LimitsOfMailFollow) {
  Rig rig;
  rig.Know(2);
  std::uint64_t id = 0;
  const auto ask = [&] {
    Request request;
    request.id = ++id;
    request.member = "m1";
    request.budget = 60s;
    return rig.Order(request).code();
  };
  EXPECT_EQ(ask(), absl::StatusCode::kOk);
  MailLimits mail;
  mail.open_per_member = 2;
  ASSERT_TRUE(rig.Order(Reconfigure{.mail = mail}).ok());
  EXPECT_EQ(ask(), absl::StatusCode::kOk);
  EXPECT_EQ(ask(), absl::StatusCode::kResourceExhausted);
}

// In a group, all changed again and again while it runs and loses datagrams: nobody is accused, or noticed, for it.
TEST(ReconfigureScenario, NoHealthyMemberGetsAnEvent) {
  Cluster c({.nodes = 8, .seed = 5});
  ASSERT_TRUE(c.Converge());
  c.Lose(0.01);
  c.RunFor(30s);
  c.sim().ClearLog();
  for (int i = 0; i < 40; ++i) {
    const bool odd = i % 2 != 0;
    const Reconfigure change{.detector = odd ? DetectorKind::kPhi : DetectorKind::kFixed,
                             .phi_threshold = odd ? 2.0 : 4.0,
                             .relays = odd ? 1U : 3U,
                             .relay_after = odd ? 0.25 : 0.5,
                             .local_health_max = odd ? 3U : 7U,
                             .gossip_fanout = odd ? 2U : 4U,
                             .gossip_interval = odd ? 100ms : 300ms,
                             .isolation_share = odd ? 0.3 : 0.5,
                             .isolation_after = odd ? 3s : 6s,
                             .members_max = std::size_t{100'000}};
    for (SimId id = 0; id < c.size(); ++id) ASSERT_TRUE(c.sim().Order(id, change).ok());
    c.RunFor(3700ms);
  }
  EXPECT_EQ(c.Events({}).size(), 0u);
}

}  // namespace
}  // namespace nekton
