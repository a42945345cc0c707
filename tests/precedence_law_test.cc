// The laws of precedence, on histories made by dice: whatever the order in which news about members comes, and however
// often, the tables end up the same; nothing that is gone comes back by old news; and what is stale is answered.
#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "swim/random.h"
#include "swim/tags.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kKnown = 2;      // m1 and m2 are known from the beginning,
constexpr std::size_t kSubjects = 4;   // m3 and m4 are heard of by the news alone
constexpr std::size_t kObservers = 4;  // the next ones: ACTIVE all the time, so that their word counts
constexpr LifeKey kBase{Rig::kGeneration, 5};
constexpr Duration kHolds = 4s;  // no hold is longer

// No round of our own falls into a case: what is known is what was heard.
Config Patient(std::uint64_t seed) {
  Config config = Rig::Lan(seed);
  config.period = config.tolerated_pause = 1h;
  config.hold_alpha = 0;
  config.rules.await_answers = false;  // nobody answers here
  return config;
}

struct News {
  UpdateKind kind = UpdateKind::kAlive;
  std::size_t subject = 1;
  LifeKey key;
  std::size_t observer = 0;
  std::size_t second = 0;  // another one; 0: none
  auto Rank() const { return std::tuple(key, kind); }
};
std::string Text(LifeKey key) {
  return std::to_string(static_cast<std::int64_t>(key.generation - Rig::kGeneration)) + "." +
         std::to_string(key.incarnation);
}
std::ostream& operator<<(std::ostream& out, const News& news) {
  static constexpr const char* kKinds[] = {"", "alive", "suspect", "dead", "left"};
  return out << kKinds[static_cast<int>(news.kind)] << " m" << news.subject << " " << Text(news.key);
}
std::string Text(const std::vector<News>& all) {
  std::ostringstream out;
  for (const News& news : all) out << news << ", ";
  return out.str();
}

// The tags of a life change with every incarnation.
std::string TagsOf(LifeKey key) { return EncodeTags({{"life", Text(key)}}).value(); }

bool Gone(MemberStatus status) { return status == MemberStatus::kInactive || status == MemberStatus::kLeft; }
// As an update that says the same, in rank.
UpdateKind Says(MemberStatus status) {
  switch (status) {
    case MemberStatus::kActive:
      return UpdateKind::kAlive;
    case MemberStatus::kSuspect:
      return UpdateKind::kSuspect;
    case MemberStatus::kInactive:
      return UpdateKind::kDead;
    case MemberStatus::kLeft:
      return UpdateKind::kLeft;
  }
  return {};
}

struct State {
  MemberStatus status = MemberStatus::kActive;
  LifeKey key;
  std::optional<std::string> life;  // the tag; nullopt: none
  friend bool operator==(const State&, const State&) = default;
};
std::ostream& operator<<(std::ostream& out, const State& state) {
  return out << Name(state.status) << " " << Text(state.key) << " tagged " << state.life.value_or("-");
}
using Table = std::map<std::size_t, State>;

class Stage : public Rig {
 public:
  explicit Stage(std::uint64_t seed = 1) : Rig(Patient(seed), false) {
    for (std::size_t i = 0; i < kSubjects + kObservers; ++i) {
      Peer& peer = NewPeer();
      peer.answers = false;
      if (i >= kSubjects) continue;
      peer.key = kBase;
      tags_.push_back(TagsOf(kBase));
      peer.tags = tags_.back();
    }
    std::vector<Update> rows;
    for (std::size_t i = 1; i <= peers.size(); ++i) {
      if (i <= kKnown || i > kSubjects) rows.push_back(Alive((*this)[i]));
    }
    Serve((*this)[1], Of(FrameType::kSync), rows);
    Clear();
  }
  Peer& Observer(std::size_t i) { return (*this)[kSubjects + 1 + i % kObservers]; }

  Update Make(const News& news) {
    Peer subject = (*this)[news.subject];
    subject.key = news.key;
    subject.tags = tags_.emplace_back(TagsOf(news.key));
    Accusers by = {&Observer(news.observer)};
    if (news.second != 0) by.push_back(&Observer(news.observer + news.second));
    switch (news.kind) {
      case UpdateKind::kAlive: {
        Update alive = Alive(subject);
        alive.name = (*this)[news.subject].name;
        alive.tags = tags_.back();
        return alive;
      }
      case UpdateKind::kLeft: {
        Update left = Left(subject);
        left.name = (*this)[news.subject].name;
        return left;
      }
      default: {
        Update accused = Accused(news.kind, subject, by, {});
        accused.name = (*this)[news.subject].name;
        return accused;
      }
    }
  }
  void Hear(const News& news, std::size_t from = 0) { Gossip(Observer(from), {Make(news)}); }

  std::optional<State> Of(std::size_t subject) const {
    const MemberPtr member = Member("m" + std::to_string(subject));
    if (member == nullptr) return std::nullopt;
    State state{member->status, member->key, std::nullopt};
    for (const auto& [key, value] : member->tags) {
      if (key == "life") state.life = value;
    }
    return state;
  }
  using Rig::Of;
  Table Rows() const {
    Table table;
    for (std::size_t subject = 1; subject <= kSubjects; ++subject) {
      if (const auto state = Of(subject)) table[subject] = *state;
    }
    return table;
  }

 private:
  std::deque<std::string> tags_;
};

template <typename T>
void Shuffle(std::vector<T>& all, Random& dice) {
  for (std::size_t i = all.size(); i > 1; --i) {
    std::swap(all[i - 1], all[dice.Below(static_cast<std::uint32_t>(i))]);
  }
}

News Any(Random& dice) {
  static constexpr LifeKey kKeys[] = {{kBase.generation - 1, 9}, {kBase.generation, 4},    {kBase.generation, 5},
                                      {kBase.generation, 6},     {kBase.generation, 7},    {kBase.generation + 1, 0},
                                      {kBase.generation + 1, 1}, {kBase.generation + 2, 0}};
  News news;
  news.kind = static_cast<UpdateKind>(1 + dice.Below(4));
  news.subject = 1 + dice.Below(kSubjects);
  news.key = kKeys[dice.Below(std::size(kKeys))];
  news.observer = dice.Below(kObservers);
  news.second = dice.Below(kObservers);
  return news;
}

// What a member that lives by the rules gives cause for: it says alive at each of its incarnations, any of them may be
// accused, and the last of a life may be its leave.
std::vector<News> History(std::size_t subject, Random& dice) {
  std::vector<News> all;
  LifeKey key = kBase;
  if (dice.Below(4) == 0) key.incarnation -= 1;  // some of it is older than what we know
  const std::uint32_t lives = 1 + dice.Below(3);
  for (std::uint32_t life = 0; life < lives; ++life) {
    const std::uint32_t incarnations = 1 + dice.Below(3);
    for (std::uint32_t i = 0; i < incarnations; ++i) {
      all.push_back({UpdateKind::kAlive, subject, key, 0, 0});
      for (const UpdateKind kind : {UpdateKind::kSuspect, UpdateKind::kDead}) {
        if (dice.Below(3) == 0) all.push_back({kind, subject, key, dice.Below(kObservers), dice.Below(kObservers)});
      }
      if (i + 1 == incarnations && dice.Below(4) == 0) all.push_back({UpdateKind::kLeft, subject, key, 0, 0});
      ++key.incarnation;
    }
    key = {key.generation + 1, 0};
  }
  return all;
}
std::vector<News> Histories(Random& dice) {
  std::vector<News> all;
  for (std::size_t subject = 1; subject <= kSubjects; ++subject) {
    const std::vector<News> one = History(subject, dice);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// Hears all of it in any order, some of it again, several pieces in a frame and with time between them.
void HearAll(Stage& stage, std::vector<News> all, Random& dice, bool pauses) {
  const std::size_t once = all.size();
  for (std::size_t i = 0; i < once; ++i) {
    if (dice.Below(3) == 0) all.push_back(all[i]);
  }
  Shuffle(all, dice);
  for (std::size_t i = 0; i < all.size();) {
    std::vector<Update> frame;
    for (std::size_t n = 1 + dice.Below(3); n > 0 && i < all.size(); --n) frame.push_back(stage.Make(all[i++]));
    stage.Gossip(stage.Observer(dice.Below(kObservers)), frame);
    if (pauses && dice.Below(4) == 0) stage.Run(std::chrono::milliseconds(dice.Below(1500)));
  }
}

// The strongest piece holds, and an accusation has become a verdict.
Table Strongest(const std::vector<News>& all) {
  std::map<std::size_t, News> strongest;
  for (std::size_t subject = 1; subject <= kKnown; ++subject) {
    strongest[subject] = {UpdateKind::kAlive, subject, kBase, 0, 0};
  }
  for (const News& news : all) {
    const auto [it, fresh] = strongest.try_emplace(news.subject, news);
    if (it->second.Rank() < news.Rank()) it->second = news;
  }
  Table table;
  for (const auto& [subject, news] : strongest) {
    const MemberStatus status = news.kind == UpdateKind::kAlive  ? MemberStatus::kActive
                                : news.kind == UpdateKind::kLeft ? MemberStatus::kLeft
                                                                 : MemberStatus::kInactive;
    table[subject] = {status, news.key, Text(news.key)};
  }
  return table;
}
// Without the tags of the gone: nobody tells those.
Table Compared(Table table) {
  for (auto& [subject, state] : table) {
    if (Gone(state.status)) state.life = std::nullopt;
  }
  return table;
}

// An accusation of a later life that is heard before anything else of that life, by one who knows that the life before
// has left, is not kept: an accusation revives nobody, and a leave is no failure. It comes again, as gossip does.
TEST(PrecedenceLaw, HistoriesEndUpTheSameInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random dice(seed);
    const std::vector<News> all = Histories(dice);
    const Table expected = Compared(Strongest(all));
    for (const bool pauses : {false, true}) {
      Stage stage(seed);
      HearAll(stage, all, dice, pauses);
      HearAll(stage, all, dice, false);
      stage.Run(kHolds);
      ASSERT_EQ(Compared(stage.Rows()), expected) << "seed " << seed << ": " << Text(all);
    }
  }
}

// Without what comes again: only then may an accusation be missing, and only behind a leave.
TEST(PrecedenceLaw, HeardOnceTheyDifferOnlyWhereALeaveHidALaterAccusation) {
  for (std::uint64_t seed = 1; seed <= 800; ++seed) {
    Random dice(seed);
    const std::vector<News> all = Histories(dice);
    const Table expected = Compared(Strongest(all));
    Stage stage(seed);
    HearAll(stage, all, dice, seed % 2 == 0);
    stage.Run(kHolds);
    for (std::size_t subject = 1; subject <= kSubjects; ++subject) {
      const State& wanted = expected.at(subject);
      const std::optional<State> state = stage.Of(subject);
      ASSERT_TRUE(state.has_value());
      if (state->status == wanted.status && state->key == wanted.key) continue;
      const bool hidden = std::any_of(all.begin(), all.end(), [&](const News& news) {
        return news.subject == subject && news.kind == UpdateKind::kLeft && news.key.generation < wanted.key.generation;
      });
      EXPECT_TRUE(hidden) << "seed " << seed << ": m" << subject << " is " << *state << ": " << Text(all);
      EXPECT_EQ(wanted.status, MemberStatus::kInactive) << "seed " << seed << ": m" << subject << ": " << Text(all);
    }
    if (HasFailure()) return;
  }
}

// What must hold of one piece of news, whatever was heard before, forged and impossible news among it.
void ExpectLawful(const Stage& stage, const News& news, const std::optional<State>& before, const State& after,
                  const Address& from) {
  if (!before.has_value()) {
    EXPECT_EQ(Gone(after.status), news.kind >= UpdateKind::kDead) << "the unknown dead are tombstones at once";
    EXPECT_EQ(after.key, news.key);
    return;
  }
  EXPECT_GE(after.key, before->key);
  if (Gone(before->status) && !Gone(after.status)) {
    EXPECT_EQ(news.kind, UpdateKind::kAlive) << "nobody else revives it";
    EXPECT_GT(news.key, before->key) << "nothing old revives it";
  }
  if (before->status == MemberStatus::kInactive) {
    EXPECT_EQ(after.key, std::max(before->key, news.key));
  }
  if (!Gone(before->status) && news.kind != UpdateKind::kLeft) {
    EXPECT_FALSE(Gone(after.status)) << "a word is no verdict";
  }
  if (news.kind == UpdateKind::kLeft && news.key >= before->key) {
    EXPECT_EQ(after.status, MemberStatus::kLeft);
  }
  if (news.kind == UpdateKind::kAlive && news.key > before->key) {
    EXPECT_EQ(after.status, MemberStatus::kActive);
    EXPECT_EQ(after.key, news.key);
    EXPECT_EQ(after.life, Text(news.key));
  }
  const UpdateKind says = Says(before->status);
  if (std::tuple(news.key, news.kind) < std::tuple(before->key, says)) {
    EXPECT_EQ(std::tuple(after.status, after.key), std::tuple(before->status, before->key)) << "but for missing tags";
    const Update* told = nullptr;
    for (const Said& said : stage.sent) {
      if (said.to == from) told = said.Of("m" + std::to_string(news.subject));
    }
    ASSERT_NE(told, nullptr) << "stale news is answered";
    EXPECT_EQ(told->key, before->key);
    EXPECT_EQ(told->kind, says);
  }
}

TEST(PrecedenceLaw, EveryStepIsLawfulWhateverWasHeardBefore) {
  std::size_t revived = 0;
  std::size_t stale = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random dice(seed);
    Stage stage(seed);
    std::vector<News> story;
    for (int step = 0; step < 40; ++step) {
      if (dice.Below(4) == 0) stage.Run(std::chrono::milliseconds(dice.Below(4000)));
      const News news = story.emplace_back(Any(dice));
      const auto before = stage.Of(news.subject);
      const std::size_t from = dice.Below(kObservers);
      stage.Clear();
      stage.Hear(news, from);
      const auto after = stage.Of(news.subject);
      ASSERT_TRUE(after.has_value());
      ExpectLawful(stage, news, before, *after, stage.Observer(from).address);
      revived += before.has_value() && Gone(before->status) && !Gone(after->status) ? 1 : 0;
      stage.Hear(news, from + 1);
      EXPECT_EQ(*stage.Of(news.subject), *after) << "a copy changes nothing";
      stale += stage.Count(Counter::kUpdatesStale);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", step " << step << ": " << Text(story);
    }
  }
  EXPECT_GT(revived, 300u) << "the dice are of use";
  EXPECT_GT(stale, 300u);
}

// A tombstone keeps off all that is older than the strongest piece that was ever heard of it, for as long as it stands.
TEST(PrecedenceLaw, NoOldAliveBringsTheGoneBack) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random dice(seed);
    Stage stage(seed);
    const std::size_t subject = 1 + dice.Below(kSubjects);
    LifeKey top{};
    for (std::uint32_t i = 0; i < 6; ++i) {
      News news = Any(dice);
      news.subject = subject;
      if (news.kind == UpdateKind::kAlive) news.kind = UpdateKind::kDead;
      // A leave hides what is said of later lives; that is another law's.
      if (news.kind == UpdateKind::kLeft) news.kind = UpdateKind::kSuspect;
      top = std::max(top, news.key);
      stage.Hear(news);
      if (dice.Below(2) == 0) stage.Run(kHolds);
    }
    if (subject <= kKnown) top = std::max(top, kBase);
    stage.Run(kHolds);
    const bool accused = stage.Of(subject)->status == MemberStatus::kInactive;
    EXPECT_TRUE(accused || (subject <= kKnown && top == kBase)) << "seed " << seed;
    if (!accused) continue;
    for (const std::uint64_t back : {0u, 1u, 2u}) {
      if (top.incarnation < back) continue;
      stage.Hear({UpdateKind::kAlive, subject, {top.generation, top.incarnation - back}, 0, 0});
    }
    stage.Hear({UpdateKind::kAlive, subject, {top.generation - 1, top.incarnation + 100}, 0, 0});
    const auto state = stage.Of(subject);
    EXPECT_EQ(state->status, MemberStatus::kInactive) << "seed " << seed;
    EXPECT_EQ(state->key, top) << "seed " << seed;
    stage.Hear({UpdateKind::kAlive, subject, {top.generation, top.incarnation + 1}, 0, 0});
    EXPECT_EQ(stage.Of(subject)->status, MemberStatus::kActive) << "its own word does, seed " << seed;
  }
}

// We ourselves: every accusation is refuted, and where that ends is the same in any order.
TEST(PrecedenceLaw, OurOwnIncarnationEndsAboveEveryAccusationInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random dice(seed);
    Stage stage(seed);
    std::uint64_t expected = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
      Peer self = stage.self;
      self.key.incarnation = dice.Below(6);
      expected = std::max(expected, self.key.incarnation + 1);
      Update update =
          i % 3 == 2 ? Left(self)
                     : Accused(i % 3 == 0 ? UpdateKind::kSuspect : UpdateKind::kDead, self, {&stage.Observer(i)}, {});
      stage.Clear();
      const std::uint64_t before = stage.engine->Self()->key.incarnation;
      stage.Gossip(stage.Observer(i + 1), {update});
      const MemberPtr now = stage.engine->Self();
      EXPECT_EQ(now->key.incarnation, std::max(before, self.key.incarnation + 1)) << "seed " << seed;
      EXPECT_EQ(now->status, MemberStatus::kActive);
      ASSERT_FALSE(stage.SentTo(stage.Observer(i + 1), FrameType::kGossip).empty()) << "told at once";
    }
    EXPECT_EQ(stage.engine->Self()->key.incarnation, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace nekton
