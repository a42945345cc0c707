#include "stm/deadlines.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/count_allocations.h"

namespace nekton {
namespace {

using Entry = Deadlines::Entry;

Instant Nanos(std::int64_t n) { return Instant(Duration(n)); }

TEST(DeadlinesTest, EmptyAtFirst) {
  Deadlines deadlines;
  EXPECT_TRUE(deadlines.empty());
  EXPECT_EQ(deadlines.size(), 0u);
  EXPECT_EQ(deadlines.Get(3), std::nullopt);
  EXPECT_FALSE(deadlines.Cancel(3));
}

TEST(DeadlinesTest, EqualInstantsComeInTheOrderOfTheirIds) {
  std::vector<std::uint32_t> ids{9, 2, 4'000'000'000, 7, 0, 5, 1, 8};
  for (int round = 0; round < 100; ++round) {
    Deadlines deadlines;
    for (const std::uint32_t id : ids) deadlines.Set(id, Nanos(5));
    std::vector<std::uint32_t> order;
    while (!deadlines.empty()) {
      order.push_back(deadlines.top().id);
      deadlines.Cancel(order.back());
    }
    EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 5, 7, 8, 9, 4'000'000'000}));
    std::next_permutation(ids.begin(), ids.end());
  }
}

TEST(DeadlinesTest, SetReplacesInBothDirections) {
  Deadlines deadlines;
  for (std::uint32_t id = 0; id < 10; ++id) deadlines.Set(id, Nanos(10 + id));
  deadlines.Set(9, Nanos(1));
  EXPECT_EQ(deadlines.top(), (Entry{9, Nanos(1)}));
  deadlines.Set(9, kNever);
  EXPECT_EQ(deadlines.top(), (Entry{0, Nanos(10)}));
  deadlines.Set(0, Nanos(13));  // ties with 3, and 0 is the lower id
  EXPECT_EQ(deadlines.top(), (Entry{1, Nanos(11)}));
  EXPECT_EQ(deadlines.size(), 10u);
  EXPECT_EQ(deadlines.Get(9), kNever);
  EXPECT_EQ(deadlines.Get(0), Nanos(13));
}

TEST(DeadlinesTest, MovesWithItsContents) {
  Deadlines from;
  from.Set(1, Nanos(2));
  from.Set(2, Nanos(1));
  Deadlines to = std::move(from);
  EXPECT_EQ(to.top(), (Entry{2, Nanos(1)}));
  EXPECT_TRUE(to.Cancel(2));
  EXPECT_EQ(to.Get(1), Nanos(2));
}

// The model: a map in which the earliest is looked for.
class Model {
 public:
  void Set(std::uint32_t id, Instant when) { instants_[id] = when; }
  bool Cancel(std::uint32_t id) { return instants_.erase(id) > 0; }
  Entry top() const {
    const auto least = std::min_element(instants_.begin(), instants_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second, a.first) < std::pair(b.second, b.first);
    });
    return {least->first, least->second};
  }
  const std::map<std::uint32_t, Instant>& all() const { return instants_; }

 private:
  std::map<std::uint32_t, Instant> instants_;
};

void Compare(std::uint64_t seed, std::uint64_t ids, std::uint64_t stride, std::uint64_t instants) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << ids << " ids, stride " << stride);
  std::mt19937_64 random(seed);
  Deadlines deadlines;
  Model model;
  for (int step = 0; step < 20'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % ids * stride);
    // Phases of growth and of decline, so that every size from none to all is met.
    const bool growing = step / 2000 % 2 == 0;
    if (random() % 8 < (growing ? 5u : 2u)) {
      const Instant when = Nanos(static_cast<std::int64_t>(random() % instants));
      deadlines.Set(id, when);
      model.Set(id, when);
    } else {
      ASSERT_EQ(deadlines.Cancel(id), model.Cancel(id)) << "step " << step;
    }
    ASSERT_EQ(deadlines.size(), model.all().size()) << "step " << step;
    ASSERT_EQ(deadlines.empty(), model.all().empty()) << "step " << step;
    if (!model.all().empty()) {
      ASSERT_EQ(deadlines.top(), model.top()) << "step " << step;
    }
    const auto found = model.all().find(id);
    ASSERT_EQ(deadlines.Get(id), found == model.all().end() ? std::nullopt : std::optional(found->second));
  }
  std::map<std::uint32_t, Instant> listed;
  for (const Entry& entry : deadlines.entries()) listed.emplace(entry.id, entry.when);
  EXPECT_EQ(listed, model.all());
  while (!model.all().empty()) {
    ASSERT_EQ(deadlines.top(), model.top());
    deadlines.Cancel(deadlines.top().id);
    model.Cancel(model.top().id);
  }
  EXPECT_TRUE(deadlines.empty());
}

TEST(DeadlinesTest, AgreesWithBruteForceOnFewIdsWithManyTies) { Compare(1, 8, 1, 4); }
TEST(DeadlinesTest, AgreesWithBruteForceOnManyIds) { Compare(2, 200, 1, 1'000'000'000); }
TEST(DeadlinesTest, AgreesWithBruteForceOnSparseIds) { Compare(3, 100, 40'000'000, 50); }

TEST(DeadlinesTest, AllocatesNothingOnceGrown) {
  Deadlines deadlines;
  std::mt19937_64 random(4);
  // Ids of a wide range come and go, at most 100 at a time: the table must also get rid of the traces of old ids.
  std::vector<std::uint32_t> live;
  const auto churn = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      if (live.size() == 100) {
        const std::size_t at = random() % live.size();
        deadlines.Cancel(live[at]);
        live[at] = live.back();
        live.pop_back();
      }
      const auto id = static_cast<std::uint32_t>(random() % 5'000'000);
      if (!deadlines.Get(id)) live.push_back(id);
      deadlines.Set(id, Nanos(static_cast<std::int64_t>(random() % 1000)));
    }
  };
  live.reserve(101);
  churn(10'000);
  const std::uint64_t before = allocations;
  churn(100'000);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(deadlines.size(), live.size());
}

}  // namespace
}  // namespace nekton
