// Relays of members that say in which zone they are: a broken link between two zones does not blind all of an attempt.
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "swim/tags.h"
#include "tests/cluster.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

TEST(ZoneTest, TheTagIsReadFromItsBytes) {
  const std::string bytes = *EncodeTags({{"a", "1"}, {"zone", "east"}, {"zz", ""}});
  EXPECT_EQ(TagOf(bytes, kZoneTag), "east");
  EXPECT_EQ(TagOf(bytes, "a"), "1");
  EXPECT_EQ(TagOf(bytes, "zz"), "");
  EXPECT_EQ(TagOf(bytes, "b"), "");
  EXPECT_EQ(TagOf("", kZoneTag), "");
  EXPECT_EQ(TagOf(bytes.substr(0, bytes.size() - 1), kZoneTag), "") << "these are no tags";
}

// Ours and the target's zone, and those of the others, one letter each ('-': none).
struct Layout {
  char ours;
  std::string others;  // m1 is the target
};

// The zones of the relays that each attempt of many rounds asked, in their order: "ca".
std::map<std::string, int> Asked(const Layout& layout, std::uint32_t relays = 2) {
  const auto tags = [](char zone) {
    return zone == '-' ? std::map<std::string, std::string>{} : std::map<std::string, std::string>{{"zone", {zone}}};
  };
  Config config = Rig::Lan();
  config.tags = tags(layout.ours);
  config.relays = relays;
  Rig rig(config);
  while (rig.peers.size() < layout.others.size()) {
    Peer& peer = rig.NewPeer();
    peer.tags = *EncodeTags(tags(layout.others[rig.peers.size() - 1]));
  }
  rig.Know(layout.others.size());
  rig[1].answers = rig[1].answers_relays = false;
  rig[1].refutes = true;
  std::map<std::string, int> asked;
  for (int round = 0; round < 20; ++round) {
    const Said first = rig.NextRound(&rig[1]);
    rig.Clear();
    rig.Run(999ms);
    std::string zones;
    for (const Said& said : rig.Sent(FrameType::kPingReq)) {
      if (said.serial() != first.serial() || said.attempt() != 1) continue;
      zones += layout.others[static_cast<std::size_t>(std::stoi(rig.Find(said.to)->name.substr(1))) - 1];
    }
    ++asked[zones];
    Peer& target = rig[1];
    target.key.incarnation = rig.Member("m1")->key.incarnation + 1;
    rig.Gossip(rig[2], {Alive(target)});
  }
  return asked;
}

std::string Keys(const std::map<std::string, int>& asked) {
  std::string keys;
  for (const auto& [zones, times] : asked) absl::StrAppend(&keys, keys.empty() ? "" : " ", zones);
  return keys;
}

TEST(ZoneRelays, OneGoesAroundTheLinkAndOneIsBesideTheTarget) { EXPECT_EQ(Keys(Asked({'a', "baaaabbbc"})), "cb"); }
TEST(ZoneRelays, OfTwoZonesBothAreTheTargets) { EXPECT_EQ(Keys(Asked({'a', "baaaabbb"})), "bb"); }
TEST(ZoneRelays, OfATargetBesideUsOneIsElsewhere) { EXPECT_EQ(Keys(Asked({'a', "aaaaabbb"})), "ba"); }
TEST(ZoneRelays, ALoneRelayGoesAround) { EXPECT_EQ(Keys(Asked({'a', "baaaabbbc"}, 1)), "c"); }
TEST(ZoneRelays, WhereThereIsNoneAnybodyDoes) {
  EXPECT_EQ(Keys(Asked({'a', "baaaa"})), "aa");
  EXPECT_EQ(Keys(Asked({'a', "aaaaa"})), "aa");
}
TEST(ZoneRelays, WhoHasNoZoneOrMeetsNoneAsksAnybody) {
  const auto all = Asked({'-', "baaaabbbc"});
  EXPECT_GT(all.size(), 3u) << Keys(all);
  EXPECT_EQ(Keys(Asked({'a', "-----"})), "--");
}

// Three zones, and the link between two of them is broken for good. Whom its link does not reach is reached around it.
std::size_t SuspicionsAroundABrokenLink(bool zones) {
  Cluster c({.nodes = 30, .seed = 8});
  const auto zone = [](SimId id) { return id < 12 ? 'a' : id < 24 ? 'b' : 'c'; };
  EXPECT_TRUE(c.Converge());
  for (SimId id = 0; zones && id < 30; ++id) {
    EXPECT_TRUE(c.sim().Order(id, SetTag{std::string(kZoneTag), std::string(1, zone(id))}).ok());
  }
  c.RunFor(10s);
  for (SimId a = 0; a < 12; ++a) {
    for (SimId b = 12; b < 24; ++b) c.Cut(a, b);
  }
  const std::size_t before = c.Count(EventKind::kSuspected);
  c.RunFor(120s);
  return c.Count(EventKind::kSuspected) - before;
}

TEST(ZoneRelays, ABrokenLinkBetweenTwoZonesAccusesNobody) {
  EXPECT_EQ(SuspicionsAroundABrokenLink(true), 0u);
  EXPECT_GT(SuspicionsAroundABrokenLink(false), 20u) << "with relays by chance";
}

}  // namespace
}  // namespace nekton
