// Field: one sick observer makes a whole group suspect and refute. A member that hears little, or stands still again
// and again, or has lost everybody else, doubts itself; it harms nobody, and finds out in the end. And a helper's nack
// comes in time to say that it is not the asker who is deaf, and is no answer itself.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "swim/wire.h"
#include "tests/cluster.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr SimId kX = 7;

MemberLaw Hears(double share) {
  MemberLaw law;
  law.loss.rate = 1 - share;
  return law;
}

// What X has done from here on.
class Watched {
 public:
  Watched(Cluster& c, SimId x) : c_(c), x_(x) {
    c.sim().SetTap([this](const SimDatagram& datagram) { See(datagram); });
    rounds_ = Own(Counter::kRounds);
    suspicions_ = Own(Counter::kSuspicionsOwn);
  }
  ~Watched() { c_.sim().SetTap({}); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  std::uint64_t Rounds() const { return Own(Counter::kRounds) - rounds_; }
  std::uint64_t Suspicions() const { return Own(Counter::kSuspicionsOwn) - suspicions_; }
  std::uint64_t Messages() const { return messages_; }  // that say that X accuses somebody, by whomever

 private:
  std::uint64_t Own(Counter counter) const { return c_.member(x_).counters()[counter]; }
  void See(const SimDatagram& datagram) {
    if (datagram.moment != SimDatagram::Moment::kSent) return;
    Frame frame;
    ASSERT_EQ(DecodeDatagram(datagram.bytes, LabelTag(""), &frame), Fault::kNone);
    const std::uint64_t id = MemberId(c_.sim().name(x_), c_.sim().generation(x_));
    UpdateReader reader(frame.updates);
    for (Update update; reader.Next(&update);) {
      if (update.kind != UpdateKind::kSuspect) continue;
      const auto end = update.accusers.begin() + static_cast<std::ptrdiff_t>(update.accuser_count);
      const bool by_x = std::any_of(update.accusers.begin(), end, [&](const Accuser& a) { return a.id == id; });
      messages_ += by_x && datagram.from == x_ ? 1 : 0;
    }
  }

  Cluster& c_;
  const SimId x_;
  std::uint64_t rounds_ = 0;
  std::uint64_t suspicions_ = 0;
  std::uint64_t messages_ = 0;
};

// Deaths of others than X, seen by others than X.
std::size_t HarmedBy(const Cluster& c, SimId x) {
  std::size_t harmed = 0;
  for (const SimEvent& event : c.Events({.kind = EventKind::kFailed})) {
    if (event.member != x && event.event.member->name != "n" + std::to_string(x)) ++harmed;
  }
  return harmed;
}

struct Sickness {
  std::uint64_t rounds = 0;
  std::uint64_t suspicions = 0;
  std::uint64_t messages = 0;
  std::size_t harmed = 0;
};

// Of 40 members X is sick from 10 s to 130 s.
template <typename Make>
Sickness SickRun(std::uint64_t seed, const Config& config, Make sick) {
  // What streams carry is lost as well.
  Cluster c({.nodes = 40, .seed = seed, .config = config, .sim = {.lossy_streams = true}});
  EXPECT_TRUE(c.Converge(10s));
  c.sim().RunTo(10s);
  Watched watched(c, kX);
  sick(c);
  const Sickness found{watched.Rounds(), watched.Suspicions(), watched.Messages(), 0};
  c.network().SetIn(kX, {});
  c.RunFor(60s);
  EXPECT_TRUE(c.Converge(60s));
  return {found.rounds, found.suspicions, found.messages, HarmedBy(c, kX)};
}
void HearsATenth(Cluster& c) {
  c.network().SetIn(kX, Hears(0.1));
  c.RunFor(120s);
}
void StandsStill(Cluster& c) {
  for (int i = 0; i < 40; ++i) {
    c.Pause(kX);
    c.RunFor(2s);
    c.Resume(kX);
    c.RunFor(1s);
  }
}

TEST(FieldSick, AMemberThatHearsATenthHarmsNobodyAndDoubtsItself) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Sickness found = SickRun(seed, Config::Lan(), HearsATenth);
    EXPECT_EQ(found.harmed, 0u);
    EXPECT_LE(found.suspicions, 1u);
    EXPECT_LE(found.messages, 20u);
    EXPECT_LE(found.rounds, 108u) << "of 120 periods";
  }
}

TEST(FieldSick, AMemberThatStandsStillTwoSecondsOfThreeHarmsNobodyAndDoubtsItself) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Sickness found = SickRun(seed, Config::Lan(), StandsStill);
    EXPECT_EQ(found.harmed, 0u);
    EXPECT_LE(found.suspicions, 1u);
    EXPECT_LE(found.messages, 20u);
    EXPECT_LE(found.rounds, 60u) << "80 if it did not doubt itself: two in each second awake";
  }
}

// The bounds above can be missed: as in SWIM, whose members do not doubt themselves.
TEST(FieldSick, WithoutDoubtsTheSickMemberAccuses) {
  Config config = Config::Lan();
  config.attempts = config.rumour_weight = 1;
  config.stream_ping = false;
  config.local_health_max = 0;
  config.rules = {.void_deaf_rounds = false,
                  .excuse_deafness = false,
                  .confirm_is_a_word = false,
                  .refutation_ends_round = false,
                  .accusers_go_on = false,
                  .answer_stale_news = false,
                  .back_off = false};
  const Sickness found = SickRun(1, config, HearsATenth);
  EXPECT_EQ(found.rounds, 120u);
  EXPECT_GT(found.suspicions, 30u);
  EXPECT_GT(found.messages, 120u);
  EXPECT_GT(found.harmed, 0u);
}

// One that hears 30 % for five minutes.
TEST(FieldSick, ASemiDetachedMemberCausesNoFailureAmongTheHealthy) {
  for (const std::size_t nodes : {8u, 16u, 32u, 64u}) {
    Cluster c({.nodes = nodes, .seed = nodes, .sim = {.lossy_streams = true}});
    ASSERT_TRUE(c.Converge(60s));
    Watched watched(c, kX);
    c.network().SetIn(kX, Hears(0.3));
    c.RunFor(300s);
    c.network().SetIn(kX, {});
    EXPECT_LE(watched.Messages(), 20u);
    EXPECT_EQ(HarmedBy(c, kX), 0u);
    EXPECT_TRUE(c.Converge(60s));
  }
}

TEST(FieldSick, TheLoneSurvivorOfThreeLearnsItWithinFiveMinutes) {
  for (const Port port : {Port::kSilent, Port::kRefuses}) {
    for (SimId survivor = 0; survivor < 3; ++survivor) {
      Cluster c({.nodes = 3, .seed = 5 + survivor});
      ASSERT_TRUE(c.Converge(60s));
      c.RunFor(5s);
      const SimId others[] = {(survivor + 1) % 3, (survivor + 2) % 3};
      for (const SimId other : others) c.Crash(other, port);
      EXPECT_TRUE(c.RunUntil(
          [&] {
            return c.Count({.kind = EventKind::kFailed, .observer = survivor}) == 2u && c.member(survivor).alive() == 1;
          },
          5min));
    }
  }
}

// A, H and B; A's datagrams reach B through H alone. The ping of a round has half of the period, 0.9 s, and H the rest.
struct Helped {
  Helped() : c({.nodes = 3, .seed = 4, .config = OneTry()}) {
    EXPECT_TRUE(c.Converge(60s));
    c.RunFor(5s);
    c.sim().SetTap([this](const SimDatagram& datagram) { See(datagram); });
  }
  static Config OneTry() {
    Config config = Config::Lan();
    config.period = 1800ms;
    config.attempts = config.rumour_weight = 1;
    config.stream_ping = false;
    config.corroborators = 0;
    config.rules.excuse_deafness = false;
    config.tolerated_pause = 20s;  // B stays SUSPECT, and is probed, for long
    config.forget_after = 10min;
    return config;
  }
  void See(const SimDatagram& datagram) {
    Frame frame;
    ASSERT_EQ(DecodeDatagram(datagram.bytes, LabelTag(""), &frame), Fault::kNone);
    const bool sent = datagram.moment == SimDatagram::Moment::kSent;
    const bool came = datagram.moment == SimDatagram::Moment::kDelivered;
    if (sent && datagram.from == kA && frame.type == FrameType::kPingReq) asked.push_back(datagram.at);
    if (came && datagram.to == kA && frame.type == FrameType::kNack) nacked.push_back(datagram.at);
    if (came && datagram.to == kA && frame.type == FrameType::kRelayedAck) acked.push_back(datagram.at);
  }
  static constexpr SimId kA = 0;
  static constexpr SimId kB = 2;  // 1 is H
  Cluster c;
  std::vector<Duration> asked, nacked, acked;
};

TEST(FieldSickNack, OfADeadTargetComesBeforeTheAskersOwnDeadlineAndSparesItsHealth) {
  Helped h;
  h.c.Crash(Helped::kB);
  h.c.RunFor(18s);
  ASSERT_EQ(h.c.Sees(Helped::kA, Helped::kB), MemberStatus::kSuspect);
  ASSERT_GE(h.asked.size(), 5u);
  ASSERT_GE(h.nacked.size() + 1, h.asked.size());
  for (std::size_t i = 0; i < h.nacked.size(); ++i) {
    EXPECT_GT(h.nacked[i] - h.asked[i], 600ms) << "it waits for the answer";
    EXPECT_LT(h.nacked[i] - h.asked[i], 850ms) << "of 900 ms";
  }
  EXPECT_EQ(h.c.member(Helped::kA).counters()[Counter::kRoundsVoid], 0u);
  EXPECT_GE(h.c.member(Helped::kA).counters()[Counter::kRoundsFailed], 4u);
  for (std::size_t i = 1; i < h.asked.size(); ++i) {
    EXPECT_EQ(h.asked[i] - h.asked[i - 1], 1800ms) << "a round at B each period, and the period is what it was";
  }
}

TEST(FieldSickNack, IsNoAnswerAnAckThatComesLaterEndsTheRound) {
  Helped h;
  h.c.Cut(Helped::kA, Helped::kB, Traffic::kDatagrams);
  h.c.sim().SetSlowness(Helped::kB, {.fixed = 770ms});  // H nacks after 720 ms
  h.c.RunFor(60s);
  ASSERT_GE(h.acked.size(), 10u);
  ASSERT_GE(h.nacked.size(), h.acked.size());
  std::size_t after = 0;
  for (const Duration ack : h.acked) {
    after +=
        std::any_of(h.nacked.begin(), h.nacked.end(), [&](Duration nack) { return ack > nack && ack < nack + 100ms; });
  }
  EXPECT_EQ(after, h.acked.size());
  EXPECT_EQ(h.c.member(Helped::kA).counters()[Counter::kRoundsFailed], 0u);
  EXPECT_EQ(h.c.Count({.kind = EventKind::kSuspected, .observer = Helped::kA}), 0u);
}

}  // namespace
}  // namespace nekton
