// The cache of news that told nothing: what makes two pieces the same, and when a copy is known for one.
#include "swim/echoes.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

constexpr std::uint64_t kSeed = 5;

Update Accusation() {
  Update update;
  update.kind = UpdateKind::kSuspect;
  update.name = "m1";
  update.address = Address::V4(10, 0, 0, 1, 7946);
  update.key = {100, 7};
  update.accuser_count = 3;
  update.accusers[0] = {11, false};
  update.accusers[1] = {12, false};
  update.accusers[2] = {13, false};
  return update;
}
std::uint64_t HashOf(const Update& update) { return Echoes::Hash(update, kSeed); }
std::uint64_t With(const std::function<void(Update&)>& change) {
  Update update = Accusation();
  change(update);
  return HashOf(update);
}

TEST(EchoesTest, WhateverDecidesWhatComesOfAPieceIsInItsHash) {
  const std::map<std::string, std::uint64_t> hashes = {
      {"as it is", HashOf(Accusation())},
      {"another seed", Echoes::Hash(Accusation(), kSeed + 1)},
      {"name", With([](Update& u) { u.name = "m2"; })},
      {"longer name", With([](Update& u) { u.name = "m11"; })},
      {"kind", With([](Update& u) { u.kind = UpdateKind::kDead; })},
      {"generation", With([](Update& u) { ++u.key.generation; })},
      {"incarnation", With([](Update& u) { ++u.key.incarnation; })},
      {"both numbers, the other way round", With([](Update& u) {
         u.key = {7, 100};
       })},
      {"first accuser", With([](Update& u) { u.accusers[0].id = 14; })},
      {"second accuser", With([](Update& u) { u.accusers[1].id = 14; })},
      {"last accuser", With([](Update& u) { u.accusers[2].id = 14; })},
      {"the high half of an id", With([](Update& u) { u.accusers[2].id |= std::uint64_t{1} << 63; })},
      {"first refused", With([](Update& u) { u.accusers[0].refused = true; })},
      {"second refused", With([](Update& u) { u.accusers[1].refused = true; })},
      {"last refused", With([](Update& u) { u.accusers[2].refused = true; })},
      {"no accusers", With([](Update& u) { u.accuser_count = 0; })},
      {"two accusers", With([](Update& u) { u.accuser_count = 2; })},
      {"four accusers, the last of id 0", With([](Update& u) { u.accuser_count = 4; })},
  };
  for (const auto& [one, hash] : hashes) {
    for (const auto& [other, its] : hashes) {
      EXPECT_TRUE(one == other || hash != its) << one << " and " << other;
    }
  }
}

TEST(EchoesTest, WhatDecidesNothingIsNotInIt) {
  const std::uint64_t hash = HashOf(Accusation());
  EXPECT_EQ(HashOf(Accusation()), hash);
  EXPECT_EQ(With([](Update& u) { u.age = std::chrono::seconds(3); }), hash);
  EXPECT_EQ(With([](Update& u) { u.address = Address::V4(10, 0, 0, 2, 7946); }), hash);
  EXPECT_EQ(With([](Update& u) { u.accusers[3] = {99, true}; }), hash) << "beyond the count";
  const std::string same = "m1";
  EXPECT_EQ(With([&](Update& u) { u.name = same; }), hash) << "wherever its bytes are";
}

TEST(EchoesTest, TheHashesOfManyPiecesDifferAndFillAllSeats) {
  std::set<std::uint64_t> hashes;
  std::set<std::uint64_t> seats;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t hash = With([&](Update& u) {
      u.key.incarnation = i % 10;
      u.accusers[0].id = i / 10 % 100;
      u.accusers[2].id = i / 1000;
    });
    EXPECT_NE(hash, 0u);
    hashes.insert(hash);
    seats.insert(hash % Echoes::kSeats);
  }
  EXPECT_EQ(hashes.size(), 10'000u);
  EXPECT_EQ(seats.size(), Echoes::kSeats);
}

class Cache {
 public:
  void Put(std::uint64_t hash, PeerId row) { echoes.Put(hash, row, versions[row]); }
  bool Has(std::uint64_t hash) {
    return echoes.Has(hash, [this](PeerId row) { return versions[row]; });
  }
  Echoes echoes;
  std::map<PeerId, std::uint64_t> versions;
};

TEST(EchoesTest, AnEmptyOneHasNothing) {
  Cache cache;
  for (std::uint64_t hash = 1; hash < 1000; ++hash) EXPECT_FALSE(cache.Has(hash));
  EXPECT_TRUE(cache.versions.empty()) << "no version is asked for";
  // Where a seat is empty the version of its row, nobody, is that of nothing, too.
  cache.Put(7, 1);
  for (std::uint64_t hash = 1; hash < 1000; ++hash) EXPECT_EQ(cache.Has(hash), hash == 7) << hash;
}

TEST(EchoesTest, WhatWasPutIsThereUntilTheVersionOfItsRowRises) {
  Cache cache;
  cache.versions = {{1, 10}, {2, 10}, {3, 11}};
  cache.Put(7, 1);
  EXPECT_TRUE(cache.Has(7));
  EXPECT_TRUE(cache.Has(7)) << "and again";
  cache.versions[2] = 99;
  EXPECT_TRUE(cache.Has(7)) << "another's";
  ++cache.versions[1];
  EXPECT_FALSE(cache.Has(7));
  cache.Put(7, 1);
  EXPECT_TRUE(cache.Has(7));
  cache.versions[1] = 0;
  EXPECT_FALSE(cache.Has(7)) << "any other version";
  cache.Put(7, 3);
  EXPECT_TRUE(cache.Has(7)) << "the row that it was put with last decides";
  cache.versions[3] = 12;
  EXPECT_FALSE(cache.Has(7));
}

TEST(EchoesTest, TheLastComerHasTheSeat) {
  Cache cache;
  cache.versions = {{1, 1}, {2, 2}};
  cache.Put(7, 1);
  cache.Put(8, 2);
  EXPECT_TRUE(cache.Has(7) && cache.Has(8)) << "a seat each";
  EXPECT_FALSE(cache.Has(7 + Echoes::kSeats)) << "of that seat, but another piece";
  cache.Put(7 + Echoes::kSeats, 2);
  EXPECT_TRUE(cache.Has(7 + Echoes::kSeats));
  EXPECT_FALSE(cache.Has(7));
  EXPECT_TRUE(cache.Has(8));
}

TEST(EchoesTest, CopiesAreApart) {
  Cache cache;
  cache.Put(7, 1);
  Cache copy = cache;
  copy.Put(7 + Echoes::kSeats, 1);
  EXPECT_TRUE(cache.Has(7));
  EXPECT_FALSE(copy.Has(7));
}

TEST(EchoesTest, AgreesWithASlowModel) {
  struct Seat {
    std::uint64_t hash, version;
    PeerId row;
  };
  Cache cache;
  std::map<std::uint64_t, Seat> model;
  Random dice(3);
  std::uint32_t hits = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t hash = 1 + dice.Below(3 * Echoes::kSeats);
    const PeerId row = dice.Below(5);
    if (dice.Below(20) == 0) ++cache.versions[row];
    const auto seat = model.find(hash % Echoes::kSeats);
    const bool known =
        seat != model.end() && seat->second.hash == hash && seat->second.version == cache.versions[seat->second.row];
    ASSERT_EQ(cache.Has(hash), known) << "at step " << step;
    hits += known ? 1 : 0;
    if (dice.Below(2) == 0) continue;
    cache.Put(hash, row);
    model[hash % Echoes::kSeats] = {hash, cache.versions[row], row};
  }
  EXPECT_GT(hits, 500u);
}

}  // namespace
}  // namespace nekton
