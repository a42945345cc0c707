// What is passed on next, and how often: against a slow model that sorts.
#include "swim/dissemination.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/random.h"

namespace nekton {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Sends all that is offered; returns it in order.
std::vector<PeerId> FillAll(Dissemination& news, std::uint32_t sends) {
  std::vector<PeerId> offered;
  news.Fill(sends, [&](PeerId row) {
    offered.push_back(row);
    return true;
  });
  return offered;
}

// How many misses end a call: measured, for the model below. The header promises only that there is such a bound.
std::uint32_t MissesOf(std::uint32_t pieces) {
  Dissemination news;
  for (PeerId row = 0; row < pieces; ++row) news.Put(row);
  std::uint32_t offered = 0;
  news.Fill(8, [&](PeerId) {
    ++offered;
    return false;
  });
  return offered;
}

TEST(DisseminationTest, NothingPutNothingOffered) {
  Dissemination news;
  EXPECT_TRUE(news.empty());
  EXPECT_THAT(FillAll(news, 4), IsEmpty());
}

TEST(DisseminationTest, APieceIsSentSoOftenAndThenDone) {
  for (const std::uint32_t sends : {1u, 2u, 4u, 12u, Dissemination::kSendsMax}) {
    Dissemination news;
    news.Put(7);
    for (std::uint32_t i = 0; i < sends; ++i) {
      EXPECT_TRUE(news.Has(7));
      EXPECT_THAT(FillAll(news, sends), ElementsAre(7)) << i << " of " << sends;
    }
    EXPECT_FALSE(news.Has(7));
    EXPECT_TRUE(news.empty());
    EXPECT_THAT(FillAll(news, sends), IsEmpty());
  }
}

TEST(DisseminationTest, LeastSentComesFirst) {
  Dissemination news;
  news.Put(1);
  FillAll(news, 4);
  news.Put(2);
  FillAll(news, 4);
  news.Put(3);
  EXPECT_THAT(FillAll(news, 4), ElementsAre(3, 2, 1));
}

TEST(DisseminationTest, EachPieceIsOfferedOnceACall) {
  Dissemination news;
  for (PeerId row = 0; row < 50; ++row) {
    news.Put(row);
    if (row % 7 == 0) FillAll(news, 20);
  }
  std::multiset<PeerId> offered;
  for (const PeerId row : FillAll(news, 20)) offered.insert(row);
  EXPECT_EQ(offered.size(), 50u);
  for (PeerId row = 0; row < 50; ++row) EXPECT_EQ(offered.count(row), 1u) << row;
}

TEST(DisseminationTest, ANewerPieceReplacesTheOlderAndStartsItsCountAnew) {
  Dissemination news;
  news.Put(1);
  news.Put(2);
  for (int i = 0; i < 3; ++i) FillAll(news, 4);
  news.Put(1);
  EXPECT_EQ(news.size(), 2u) << "one piece per member";
  EXPECT_THAT(FillAll(news, 4), ElementsAre(1, 2));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(FillAll(news, 4), ElementsAre(1)) << "2 is done, 1 began anew";
  EXPECT_TRUE(news.empty());
}

TEST(DisseminationTest, ADroppedPieceIsOfferedNoMore) {
  Dissemination news;
  news.Put(1);
  news.Put(2);
  news.Drop(1);
  news.Drop(1);
  news.Drop(9);
  EXPECT_FALSE(news.Has(1));
  EXPECT_THAT(FillAll(news, 4), ElementsAre(2));
}

TEST(DisseminationTest, WhatDoesNotFitIsNotCountedAsSent) {
  Dissemination news;
  news.Put(1);
  for (int i = 0; i < 100; ++i) news.Fill(1, [](PeerId) { return false; });
  EXPECT_THAT(FillAll(news, 1), ElementsAre(1));
}

// Else a full datagram would cost a walk over the whole backlog.
TEST(DisseminationTest, ACallEndsAfterAFewMissesWhateverTheBacklog) {
  const std::uint32_t misses = MissesOf(100);
  EXPECT_GE(misses, 1u);
  EXPECT_LT(misses, 100u);
  EXPECT_EQ(MissesOf(10000), misses);
  EXPECT_EQ(MissesOf(misses - 1), misses - 1);
}

// A list in the order of the last change; to offer is to sort it by the number of sends, stably.
class Model {
 public:
  explicit Model(std::uint32_t misses_max) : misses_max_(misses_max) {}

  void Drop(PeerId row) {
    std::erase_if(pieces_, [&](const Piece& piece) { return piece.row == row; });
  }
  void Put(PeerId row) {
    Drop(row);
    pieces_.push_back({row, 0});
  }
  std::size_t size() const { return pieces_.size(); }

  template <typename Fits>
  void Fill(std::uint32_t sends, Fits fits) {
    std::vector<Piece> order = pieces_;
    std::stable_sort(order.begin(), order.end(), [](const Piece& a, const Piece& b) { return a.sent < b.sent; });
    std::uint32_t misses = 0;
    for (const Piece& piece : order) {
      if (fits(piece.row)) {
        Drop(piece.row);
        if (piece.sent + 1 < sends) pieces_.push_back({piece.row, piece.sent + 1});
      } else if (++misses == misses_max_) {
        return;
      }
    }
  }

 private:
  struct Piece {
    PeerId row;
    std::uint32_t sent;
  };
  std::uint32_t misses_max_;
  std::vector<Piece> pieces_;
};

TEST(DisseminationTest, AgreesWithASlowModel) {
  Random dice(42);
  Dissemination news;
  Model model(MissesOf(100));
  for (int step = 0; step < 20000; ++step) {
    const PeerId row = dice.Below(60);
    switch (dice.Below(8)) {
      case 0:
        news.Drop(row);
        model.Drop(row);
        break;
      case 1:
      case 2:
      case 3:
        news.Put(row);
        model.Put(row);
        break;
      default: {
        const std::uint32_t sends = 1 + dice.Below(Dissemination::kSendsMax);
        const std::uint32_t room = dice.Below(20);
        const std::uint32_t bad = dice.Below(5);  // a fifth of the rows never fits
        std::vector<PeerId> offered[2];
        const auto fits = [&](std::vector<PeerId>& list) {
          return [&, sent = 0u](PeerId piece) mutable {
            list.push_back(piece);
            if (sent == room || piece % 5 == bad) return false;
            ++sent;
            return true;
          };
        };
        news.Fill(sends, fits(offered[0]));
        model.Fill(sends, fits(offered[1]));
        ASSERT_EQ(offered[0], offered[1]) << "at step " << step;
        break;
      }
    }
    ASSERT_EQ(news.size(), model.size());
  }
}

}  // namespace
}  // namespace nekton
