// The member table against a slow and obvious model: a list of rows, an owner per address, a set of who is still to be
// probed in this pass.
#include "swim/member_table.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "swim/message.h"
#include "swim/tags.h"

namespace nekton {
namespace {

constexpr std::size_t kRowsMax = 24;

Address At(std::uint32_t host) {
  return Address::V4(10, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host), 7946);
}

std::string TagsOf(std::uint32_t i) { return EncodeTags({{"zone", std::to_string(i)}}).value(); }

bool Counts(MemberStatus status) { return status == MemberStatus::kActive || status == MemberStatus::kSuspect; }

struct ModelRow {
  std::string name;
  Address address;
  LifeKey key;
  MemberStatus status = MemberStatus::kActive;
  bool detailed = false;
  std::string tags;
};

// A table with a self and `others` ACTIVE members.
std::unique_ptr<MemberTable> Group(std::uint32_t others, Random& random) {
  auto table = std::make_unique<MemberTable>(others + 100);
  for (std::uint32_t i = 0; i <= others; ++i) {
    table->Add("m" + std::to_string(i), At(i + 1), {1, 0}, MemberStatus::kActive, random);
  }
  return table;
}

// The model and the table, changed together.
class Twins {
 public:
  Twins() { Add("self", At(0), {7, 0}, MemberStatus::kActive); }

  MemberTable& table() { return table_; }
  Random& random() { return random_; }
  const std::map<PeerId, ModelRow>& rows() const { return rows_; }
  bool Knows(const std::string& name) const {
    return std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return row.second.name == name; });
  }
  PeerId AnyRow() { return std::next(rows_.begin(), random_.Below(static_cast<std::uint32_t>(rows_.size())))->first; }

  void Add(const std::string& name, const Address& address, LifeKey key, MemberStatus status) {
    const PeerId row = table_.Add(name, address, key, status, random_);
    if (rows_.size() == kRowsMax) {
      ASSERT_EQ(row, kNoPeer);
      return;
    }
    ASSERT_NE(row, kNoPeer);
    ASSERT_FALSE(rows_.contains(row)) << "a row that is in use was given again";
    rows_[row] = {name, address, key, status, false, ""};
    owner_[address] = row;
    if (Counts(status) && row != kSelf) pending_.insert(row);
  }
  void Remove(PeerId row) {
    table_.Remove(row);
    if (const auto owned = owner_.find(rows_[row].address); owned->second == row) owner_.erase(owned);
    rows_.erase(row);
    pending_.erase(row);
  }
  void SetStatus(PeerId row, MemberStatus status) {
    table_.SetStatus(row, status, random_);
    const bool before = Counts(rows_[row].status);
    rows_[row].status = status;
    if (before && !Counts(status)) pending_.erase(row);
    if (before || !Counts(status)) return;
    owner_[rows_[row].address] = row;
    if (row != kSelf) pending_.insert(row);
  }
  void SetKey(PeerId row, LifeKey key) {
    table_.SetKey(row, key);
    if (row != kSelf && rows_[row].key != key) rows_[row].detailed = false;
    rows_[row].key = key;
  }
  void SetAddress(PeerId row, const Address& address) {
    table_.SetAddress(row, address);
    if (const auto owned = owner_.find(rows_[row].address); owned != owner_.end() && owned->second == row) {
      owner_.erase(owned);
    }
    rows_[row].address = address;
    owner_[address] = row;
  }
  void SetDetails(PeerId row, const std::string& tags) {
    table_.SetDetails(row, tags, 1, 1);
    rows_[row].tags = tags;
    rows_[row].detailed = true;
  }
  // One step of the probe ring: the law is that nobody comes twice in a pass and nobody is left out of one.
  void Probe() {
    const PeerId row = table_.NextInRound(random_);
    const std::set<PeerId> ring = Ring();
    if (ring.empty()) {
      ASSERT_EQ(row, kNoPeer);
      return;
    }
    if (pending_.empty()) pending_ = ring;
    ASSERT_EQ(pending_.erase(row), 1u) << "row " << row << " came twice in a pass, or is not in the ring";
  }

  void Check() {
    ASSERT_EQ(table_.size(), rows_.size());
    ASSERT_EQ(table_.full(), rows_.size() == kRowsMax);
    ASSERT_LE(table_.capacity(), kRowsMax);
    std::size_t alive = 0;
    std::size_t present = 0;
    for (PeerId row = 0; row < kRowsMax; ++row) ASSERT_EQ(table_.used(row), rows_.contains(row)) << row;
    for (const auto& [row, is] : rows_) {
      ASSERT_EQ(table_.FindName(is.name), row);
      ASSERT_EQ(table_.FindId(MemberId(is.name, is.key.generation)), row);
      CheckRow(row, is);
      alive += Counts(is.status) ? 1 : 0;
      present += is.status != MemberStatus::kLeft ? 1 : 0;
    }
    ASSERT_EQ(table_.alive(), alive);
    ASSERT_EQ(table_.present(), present);
    for (std::uint32_t host = 0; host < 12; ++host) {
      const auto owned = owner_.find(At(host));
      ASSERT_EQ(table_.FindAddress(At(host)), owned == owner_.end() ? kNoPeer : owned->second);
    }
    const std::set<PeerId> ring = Ring();
    ASSERT_EQ(table_.ring_size(), ring.size());
    std::set<PeerId> seen;
    for (std::uint32_t i = 0; i < table_.ring_size(); ++i) seen.insert(table_.RingAt(i));
    ASSERT_EQ(seen, ring);
    ASSERT_EQ(table_.digest(), FoldedDigest());
  }

 private:
  void CheckRow(PeerId row, const ModelRow& is) {
    ASSERT_EQ(table_[row].key, is.key);
    ASSERT_EQ(table_[row].address, is.address);
    ASSERT_EQ(table_[row].status, is.status);
    ASSERT_EQ(table_[row].detailed, is.detailed);
    const MemberPtr info = table_.Info(row);
    ASSERT_EQ(info->name, is.name);
    ASSERT_EQ(info->address, is.address);
    ASSERT_EQ(info->key, is.key);
    ASSERT_EQ(info->status, is.status);
    ASSERT_EQ(info->self, row == kSelf);
    ASSERT_EQ(info->tags, DecodeTags(is.tags).value());
  }
  std::set<PeerId> Ring() const {
    std::set<PeerId> ring;
    for (const auto& [row, is] : rows_) {
      if (row != kSelf && Counts(is.status)) ring.insert(row);
    }
    return ring;
  }
  // The digest of a fresh table to which only what counts was added, in another order.
  std::uint32_t FoldedDigest() {
    std::vector<PeerId> order;
    for (const auto& [row, is] : rows_) {
      if (Counts(is.status)) order.push_back(row);
    }
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random_.Below(static_cast<std::uint32_t>(i))]);
    }
    MemberTable fresh(kRowsMax);
    for (const PeerId row : order) {
      const ModelRow& is = rows_[row];
      const PeerId added = fresh.Add(is.name, At(0), is.key, MemberStatus::kActive, random_);
      fresh.SetDetails(added, is.tags, 1, 1);
    }
    return fresh.digest();
  }

  Random random_{20240611};
  MemberTable table_{kRowsMax};
  std::map<PeerId, ModelRow> rows_;
  std::map<Address, PeerId> owner_;
  std::set<PeerId> pending_;  // still to be probed in this pass
};

TEST(MemberTableTest, AgreesWithASlowModelAfterEveryChange) {
  Twins twins;
  Random dice(5);
  const auto status = [&] { return static_cast<MemberStatus>(dice.Below(4)); };
  for (int step = 0; step < 6000; ++step) {
    const PeerId row = twins.AnyRow();
    const LifeKey key = twins.rows().at(row).key;
    switch (dice.Below(8)) {
      case 0:
      case 1: {
        const std::string name = "m" + std::to_string(dice.Below(40));
        if (!twins.Knows(name)) twins.Add(name, At(dice.Below(12)), {1 + dice.Below(5), dice.Below(3)}, status());
        break;
      }
      case 2:
        if (row != kSelf && dice.Below(2) == 0) twins.Remove(row);
        break;
      case 3:
        twins.SetStatus(row, status());
        break;
      case 4:
        twins.SetKey(row, {key.generation + dice.Below(2), key.incarnation + 1});
        break;
      case 5:
        twins.SetAddress(row, At(dice.Below(12)));
        break;
      case 6:
        twins.SetDetails(row, TagsOf(dice.Below(3)));
        break;
      default:
        for (std::uint32_t i = dice.Below(6); i > 0; --i) twins.Probe();
        break;
    }
    twins.Check();
    if (HasFatalFailure()) FAIL() << "at step " << step;
  }
}

TEST(MemberTableTest, EveryoneComesOncePerPassAndWithinTwoPassesLessOne) {
  Random random(1);
  for (std::uint32_t n = 1; n <= 40; ++n) {
    const auto table = Group(n, random);
    std::map<PeerId, std::uint32_t> last;
    for (std::uint32_t pass = 0; pass < 100; ++pass) {
      std::set<PeerId> seen;
      for (std::uint32_t i = 0; i < n; ++i) {
        const PeerId row = table->NextInRound(random);
        ASSERT_NE(row, kSelf);
        ASSERT_TRUE(seen.insert(row).second) << "twice in a pass at N = " << n;
        const std::uint32_t now = pass * n + i;
        if (pass > 0) {
          ASSERT_LE(now - last[row], 2 * n - 1);
        }
        last[row] = now;
      }
      ASSERT_EQ(seen.size(), n);
    }
  }
}

// Else each pass would meet the members in the order of the one before.
TEST(MemberTableTest, EveryPassHasAnOrderOfItsOwn) {
  Random random(1);
  const auto table = Group(8, random);
  std::set<std::vector<PeerId>> orders;
  for (int pass = 0; pass < 50; ++pass) {
    std::vector<PeerId> order;
    for (int i = 0; i < 8; ++i) order.push_back(table->NextInRound(random));
    orders.insert(order);
  }
  EXPECT_GE(orders.size(), 49u);  // 8! = 40320 orders: a second coincidence among 50 would be no chance
}

TEST(MemberTableTest, ANewcomerTakesAnyPlaceAmongThoseStillToCome) {
  Random random(3);
  std::map<int, int> places;
  for (int trial = 0; trial < 1000; ++trial) {
    const auto table = Group(9, random);
    for (int i = 0; i < 9 + 4; ++i) table->NextInRound(random);  // one pass, and four of the next: five to come
    const PeerId newcomer = table->Add("late", At(99), {1, 0}, MemberStatus::kActive, random);
    for (int place = 0; place < 6; ++place) {
      if (table->NextInRound(random) == newcomer) ++places[place];
    }
  }
  int all = 0;
  for (int place = 0; place < 6; ++place) {
    EXPECT_GT(places[place], 100) << "place " << place;  // 167 on average
    all += places[place];
  }
  EXPECT_EQ(all, 1000);
}

TEST(MemberTableTest, AnEmptyRingHasNobody) {
  Random random(1);
  const auto table = Group(1, random);
  EXPECT_EQ(table->NextInRound(random), 1u);
  EXPECT_EQ(table->PickRandom(random), 1u);
  table->SetStatus(1, MemberStatus::kInactive, random);
  EXPECT_EQ(table->ring_size(), 0u);
  EXPECT_EQ(table->NextInRound(random), kNoPeer);
  EXPECT_EQ(table->PickRandom(random), kNoPeer);
}

TEST(MemberTableTest, ARandomPickMayBeAnyoneOfTheRingAndNobodyElse) {
  Random random(1);
  const auto table = Group(6, random);
  table->SetStatus(2, MemberStatus::kSuspect, random);
  table->SetStatus(3, MemberStatus::kInactive, random);
  table->SetStatus(4, MemberStatus::kLeft, random);
  std::set<PeerId> picked;
  for (int i = 0; i < 300; ++i) picked.insert(table->PickRandom(random));
  EXPECT_EQ(picked, (std::set<PeerId>{1, 2, 5, 6}));
}

TEST(MemberTableTest, TheDigestHangsOnWhatIsPromisedAndOnNothingElse) {
  Random random(1);
  const auto table = Group(4, random);
  const std::uint32_t before = table->digest();

  table->SetStatus(2, MemberStatus::kSuspect, random);
  EXPECT_EQ(table->digest(), before) << "ACTIVE and SUSPECT count alike";
  table->SetAddress(2, At(50));
  EXPECT_EQ(table->digest(), before) << "an address does not count";

  const auto differs = [&](auto change, auto undo, const char* what) {
    change();
    EXPECT_NE(table->digest(), before) << what;
    undo();
    EXPECT_EQ(table->digest(), before) << what;
  };
  differs([&] { table->SetKey(2, {1, 1}); }, [&] { table->SetKey(2, {1, 0}); }, "incarnation");
  differs([&] { table->SetKey(2, {2, 0}); }, [&] { table->SetKey(2, {1, 0}); }, "generation");
  differs([&] { table->SetDetails(2, TagsOf(1), 1, 1); }, [&] { table->SetDetails(2, "", 1, 1); }, "tags");
  for (const MemberStatus gone : {MemberStatus::kInactive, MemberStatus::kLeft}) {
    differs([&] { table->SetStatus(2, gone, random); }, [&] { table->SetStatus(2, MemberStatus::kActive, random); },
            "a member that is gone");
  }
  PeerId added = kNoPeer;
  differs(
      [&] {
        added = table->Add("new", At(60), {1, 0}, MemberStatus::kActive, random);
      },
      [&] { table->Remove(added); }, "one more name");
}

// Where a death is each observer's own, no sync could mend that difference.
TEST(MemberTableTest, TheDigestMayBeOfTheDeadToo) {
  Random random(1);
  MemberTable table(8, /*dead_too=*/true);
  for (const char* name : {"self", "a", "b"}) {
    const auto host = static_cast<std::uint32_t>(table.size() + 1);
    table.Add(name, At(host), {1, 0}, MemberStatus::kActive, random);
  }
  const std::uint32_t before = table.digest();
  table.SetStatus(1, MemberStatus::kSuspect, random);
  table.SetStatus(1, MemberStatus::kInactive, random);
  EXPECT_EQ(table.digest(), before);
  const PeerId buried = table.Add("c", At(9), {1, 0}, MemberStatus::kInactive, random);
  EXPECT_NE(table.digest(), before);
  table.Remove(buried);
  EXPECT_EQ(table.digest(), before);
  table.SetStatus(1, MemberStatus::kLeft, random);
  EXPECT_NE(table.digest(), before);
}

// Two members that exchange their incarnations must not look like no change.
TEST(MemberTableTest, TheDigestKnowsWhoseIncarnationItIs) {
  Random random(1);
  const auto table = Group(3, random);
  table->SetKey(1, {1, 5});
  const std::uint32_t before = table->digest();
  table->SetKey(1, {1, 0});
  table->SetKey(2, {1, 5});
  EXPECT_NE(table->digest(), before);
}

TEST(MemberTableTest, TheVersionRisesWithEveryChangeOfARow) {
  Random random(1);
  const auto table = Group(2, random);
  std::uint64_t version = table->version();
  const auto rose = [&] { return std::exchange(version, table->version()) < table->version(); };
  table->SetStatus(1, MemberStatus::kSuspect, random);
  EXPECT_TRUE(rose());
  table->SetKey(1, {1, 1});
  EXPECT_TRUE(rose());
  table->SetAddress(1, At(70));
  EXPECT_TRUE(rose());
  table->SetDetails(1, TagsOf(1), 1, 1);
  EXPECT_TRUE(rose());
  const PeerId added = table->Add("new", At(71), {1, 0}, MemberStatus::kActive, random);
  EXPECT_TRUE(rose());
  table->Remove(added);
  EXPECT_TRUE(rose());

  table->SetStatus(1, MemberStatus::kSuspect, random);  // as it is
  table->NextInRound(random);
  table->Info(1);
  EXPECT_FALSE(rose());
}

TEST(MemberTableTest, InfoIsMadeAnewOnlyAfterAChangeAndNeverChanges) {
  Random random(1);
  const auto table = Group(2, random);
  const MemberPtr first = table->Info(1);
  EXPECT_EQ(table->Info(1), first);
  EXPECT_EQ(table->MakeInfo(1), first) << "what is kept is shared";
  table->SetStatus(1, MemberStatus::kSuspect, random);
  const MemberPtr made = table->MakeInfo(1);
  EXPECT_NE(table->MakeInfo(1), made) << "MakeInfo keeps nothing";
  const MemberPtr second = table->Info(1);
  EXPECT_NE(second, first);
  EXPECT_EQ(first->status, MemberStatus::kActive);
  EXPECT_EQ(second->status, MemberStatus::kSuspect);
  EXPECT_EQ(made->status, MemberStatus::kSuspect);
  table->Remove(1);
  EXPECT_EQ(second->name, "m1");
}

}  // namespace
}  // namespace nekton
