// The laws of dissemination, seen from outside: what one member says on the wire. How often each piece of news is sent,
// that a newer one takes the place of an older, that the least sent goes first and nothing starves, and that none of it
// costs more in a larger group or behind a longer backlog.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "swim/dissemination.h"
#include "swim/tags.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// Gossip alone: no round falls into a test.
Config Quiet() {
  Config config = Rig::Lan();
  config.period = config.tolerated_pause = 1h;
  config.hold_alpha = 0;
  return config;
}

// Copies of what was said about the member at this incarnation or any, since `from`.
std::size_t Copies(const Rig& rig, const std::string& name, UpdateKind kind, std::uint64_t incarnation,
                   std::size_t from = 0) {
  std::size_t copies = 0;
  for (std::size_t i = from; i < rig.sent.size(); ++i) {
    for (const Update& update : rig.sent[i].updates) {
      copies += update.name == name && update.kind == kind && update.key.incarnation == incarnation ? 1 : 0;
    }
  }
  return copies;
}

// lambda * log10(N + 1), the logarithm rounded up.
std::size_t Limit(std::uint32_t lambda, std::size_t n) {
  return static_cast<std::size_t>(lambda * std::ceil(std::log10(static_cast<double>(n + 1))));
}

TEST(DisseminationLaw, EachPieceIsSentSoOftenAsTheSizeAsksForWhateverCarriesIt) {
  for (const bool probing : {false, true}) {
    for (const std::uint32_t lambda : {1u, 4u, 7u}) {
      for (const std::size_t n : {3u, 9u, 10u, 30u, 99u, 100u, 400u}) {  // members, self and the newcomer among them
        Config config = probing ? Rig::Lan() : Quiet();
        config.retransmit = lambda;
        Rig rig(config);
        rig.Know(n - 2);
        Peer& fresh = rig.NewPeer();
        rig.Gossip(rig[1], {Alive(fresh)});
        ASSERT_EQ(rig.engine->alive(), n);
        rig.Run(15s);
        const std::size_t copies = Copies(rig, fresh.name, UpdateKind::kAlive, 0);
        EXPECT_EQ(copies, Limit(lambda, n)) << "lambda " << lambda << ", N " << n << (probing ? ", probing" : "");
      }
    }
  }
}

TEST(DisseminationLaw, WhatIsHeardAgainIsNotSentAgain) {
  Rig rig(Quiet());
  rig.Know(30);
  Peer& fresh = rig.NewPeer();
  for (std::size_t i = 1; i <= 30; ++i) {
    rig.Gossip(rig[i], {Alive(fresh)});
    rig.Run(100ms);
  }
  rig.Run(15s);
  EXPECT_LE(Copies(rig, fresh.name, UpdateKind::kAlive, 0), Limit(4, 32));
}

TEST(DisseminationLaw, ANewerPieceTakesThePlaceOfTheOlderInFlight) {
  Config config = Quiet();
  config.retransmit = 20;
  Rig rig(config);
  rig.Know(60);
  const std::size_t limit = Limit(20, 61);
  std::size_t from = 0;
  // Each comes while the one before is in flight: few of its 40 copies are out.
  rig.Gossip(rig[2], {Alive(rig[1], 1)});
  for (const auto& [update, kind, incarnation] :
       {std::tuple(Suspect(rig[1], {&rig[2]}, 1), UpdateKind::kSuspect, 1u),
        std::tuple(Alive(rig[1], 2), UpdateKind::kAlive, 2u), std::tuple(Left(rig[1], 2), UpdateKind::kLeft, 2u)}) {
    from = rig.sent.size();
    rig.Gossip(rig[3], {update});
    rig.Run(50ms);
    for (std::size_t i = from; i < rig.sent.size(); ++i) {
      for (const Update& said : rig.sent[i].updates) {
        EXPECT_EQ(said.kind, kind);
        EXPECT_EQ(said.key.incarnation, incarnation);
      }
    }
    rig.Run(160ms);
  }
  rig.Run(10s);
  EXPECT_LT(Copies(rig, "m1", UpdateKind::kAlive, 1), limit);
  EXPECT_LT(Copies(rig, "m1", UpdateKind::kSuspect, 1), limit);
  EXPECT_LT(Copies(rig, "m1", UpdateKind::kAlive, 2), limit);
  EXPECT_EQ(Copies(rig, "m1", UpdateKind::kLeft, 2), limit) << "the newest has a count of its own";
}

// News of n members at once, all of one size, more than a datagram holds.
std::vector<std::string> HearOf(Rig& rig, std::size_t n) {
  std::vector<std::string> names;
  std::vector<Update> news;
  for (std::size_t i = 0; i < n; ++i) {
    names.push_back(rig.NewPeer().name);
    news.push_back(Alive(rig.peers.back()));
    if (news.size() < 15 && i + 1 < n) continue;
    rig.Gossip(rig[1], news);
    news.clear();
  }
  return names;
}

TEST(DisseminationLaw, TheLeastSentGoesFirstAndNothingStarves) {
  Rig rig(Quiet());
  rig.Know(100);
  std::map<std::string, std::size_t> sent;
  for (const std::string& name : HearOf(rig, 200)) sent[name] = 0;
  const std::size_t limit = Limit(4, 301);
  std::size_t next = 0;
  std::size_t full = 0;
  for (Instant end = rig.now.boot + 30s; rig.engine->NextWake() <= end;) {
    rig.Step();
    // What was heard of later has been in no frame before.
    for (; next < rig.sent.size(); ++next) {
      const Said& said = rig.sent[next];
      std::size_t most = 0;
      for (const Update& update : said.updates) {
        const auto it = sent.find(std::string(update.name));
        ASSERT_NE(it, sent.end());
        most = std::max(most, it->second);
        EXPECT_LT(it->second++, limit);
      }
      if (said.bytes->size() < 1300) continue;
      ++full;
      // Those that had to wait were sent no less often than the one in it that was sent most. (The first frames went
      // out before all was heard.)
      std::map<std::string, bool> in;
      for (const Update& update : said.updates) in[std::string(update.name)] = true;
      for (const auto& [name, count] : sent) {
        if (in.contains(name) || rig.sent[next].at == Rig::kStart) continue;
        EXPECT_GE(count, most) << name << " waits for one that was sent " << most << " times";
      }
    }
  }
  EXPECT_GT(full, 30u);
  for (const auto& [name, count] : sent) EXPECT_EQ(count, limit) << name;
}

// News keeps coming, faster than all of it can be sent as often as it should: each piece is sent at once all the same.
TEST(DisseminationLaw, UnderMoreThanItCanSayEveryPieceIsSaidSoon) {
  Config config = Quiet();
  config.members_max = 5000;
  Rig rig(config);
  rig.Know(100);
  std::map<std::string, Instant> heard;
  std::map<std::string, Instant> said;
  std::size_t next = 0;
  for (int step = 0; step < 100; ++step) {
    for (const std::string& name : HearOf(rig, 15)) heard[name] = rig.now.boot;
    rig.Run(50ms);  // 300 a second
    for (; next < rig.sent.size(); ++next) {
      for (const Update& update : rig.sent[next].updates) said.try_emplace(std::string(update.name), rig.sent[next].at);
    }
  }
  for (const auto& [name, at] : heard) {
    if (at + 500ms > rig.now.boot) continue;
    ASSERT_TRUE(said.contains(name)) << name;
    EXPECT_LE(said[name] - at, 500ms) << name;
  }
}

// The largest pieces among small ones: neither keeps the other from being sent.
TEST(DisseminationLaw, LargePiecesAndSmallOnesAllGetOut) {
  for (const std::size_t datagram : {512u, 1400u}) {
    Config config = Quiet();
    config.datagram_max = datagram;
    Rig rig(config);
    rig.Know(40);
    const std::string tags = EncodeTags({{"t", std::string(508, 'x')}}).value();
    std::vector<std::string> names;
    for (int i = 0; i < 30; ++i) {
      Peer& fresh = rig.NewPeer();
      if (i % 2 == 0) fresh.tags = tags;
      names.push_back(fresh.name);
      rig.Gossip(rig[1], {Alive(fresh)});
    }
    rig.Run(60s);
    for (const std::string& name : names) {
      EXPECT_EQ(Copies(rig, name, UpdateKind::kAlive, 0), Limit(4, 71)) << name << ", datagrams of " << datagram;
    }
  }
}

// ---- Cost: ratios of times taken side by side; the shortest of several, so that what else runs does not show.

double Seconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < 7; ++i) {
    const std::clock_t from = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
  }
  return best;
}

// A piece comes and a frame of ten goes, with so many pieces waiting.
double FillCost(std::uint32_t backlog) {
  Dissemination news;
  for (PeerId row = 0; row < backlog; ++row) news.Put(row);
  PeerId row = 0;
  return Seconds([&] {
    for (int i = 0; i < 20'000; ++i) {
      news.Put(row = (row + 1) % backlog);
      int room = 10;
      news.Fill(60, [&](PeerId) { return room-- > 0; });
    }
  });
}

TEST(DisseminationLaw, ALongerBacklogCostsNoMore) {
  const double small = FillCost(500);
  const double large = FillCost(50'000);
  EXPECT_LT(large, small * 10) << "of a hundred times as many";
}

// One update that is news is heard, and sent as often as it should be.
double NewsCost(std::size_t members) {
  Config config = Quiet();
  config.members_max = 100'000;
  Rig rig(config, false);
  rig.Know(members);
  std::uint64_t incarnation = 0;
  Outbox out(false);
  std::vector<std::vector<std::byte>> frames;
  for (std::size_t i = 1; i <= 2000; ++i) {
    if (i % 200 == 1) ++incarnation;
    Frame frame = Rig::Of(FrameType::kGossip);
    frame.label = LabelTag("");
    frame.sender = rig[1].id();
    frames.push_back(Encode(frame, {Alive(rig[2 + i % 200], incarnation)}));
  }
  double best = std::numeric_limits<double>::max();
  for (std::size_t batch = 0; batch < 10; ++batch) {
    const std::clock_t from = std::clock();
    for (std::size_t i = batch * 200; i < (batch + 1) * 200; ++i) {
      rig.engine->Receive(rig.now, rig[1].address, frames[i], out);
      out.Clear();
      rig.SetTime(std::max(rig.now.boot, rig.engine->NextWake()));
      rig.engine->Wake(rig.now, out);
      out.Clear();
    }
    best = std::min(best, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
  }
  EXPECT_EQ(rig.Count(Counter::kUpdatesApplied), members + 2000);
  return best;
}

TEST(DisseminationLaw, ALargerGroupCostsNoMore) {
  const double small = NewsCost(300);
  const double large = NewsCost(40'000);
  EXPECT_LT(large, small * 6) << "of more than a hundred times as many";
}

}  // namespace
}  // namespace nekton
