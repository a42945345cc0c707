// The rows of evidence, read back by a parser that knows nothing of how they are written, and the same as JSON.
#include "lease/evidence.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cluster.h"

namespace nekton {
namespace {

using Json = nlohmann::json;
using testing::MatchesRegex;
using Fields = std::vector<std::pair<std::string, std::string>>;
using std::chrono::milliseconds;

struct Parsed {
  std::string area, kind;
  Fields fields;
};

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream in(text);
  while (std::getline(in, part, by)) parts.push_back(part);
  return parts;
}

// "area: kind key=value key=value"; nothing else passes.
std::optional<Parsed> Parse(const std::string& row) {
  static const std::regex kRow("(mesh-fail|mesh-route): ([a-z-]+)((?: [a-z_]+=[!-~]+)*)");
  std::smatch match;
  if (!std::regex_match(row, match, kRow)) return std::nullopt;
  Parsed parsed{match[1], match[2], {}};
  for (const std::string& field : Split(match[3].str().substr(match[3].length() == 0 ? 0 : 1), ' ')) {
    const std::size_t equals = field.find('=');
    parsed.fields.emplace_back(field.substr(0, equals), field.substr(equals + 1));
  }
  return parsed;
}

std::string Unescaped(const std::string& text) {
  if (text == "-") return "";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// What a row has to say: its area, kind, and fields in this order.
void ExpectRow(const Evidence& evidence, const std::string& area, const std::string& kind, const Fields& fields) {
  const std::string row = Row(evidence);
  const std::optional<Parsed> parsed = Parse(row);
  ASSERT_TRUE(parsed.has_value()) << row;
  EXPECT_EQ(parsed->area, area);
  EXPECT_EQ(parsed->kind, kind);
  EXPECT_EQ(parsed->fields, fields) << row;

  const Json json = Json::parse(ToJson(evidence));
  EXPECT_EQ(json["area"], area);
  EXPECT_EQ(json["evidence"], kind);
  EXPECT_EQ(json["at_ns"], evidence.at.time_since_epoch().count());
  EXPECT_EQ(json.size(), fields.size() + 3) << json;
  for (const auto& [key, value] : fields) {
    ASSERT_TRUE(json.contains(key)) << key << " in " << json;
    const Json& same = json[key];
    if (same.is_boolean()) {
      EXPECT_EQ(same.get<bool>() ? "1" : "0", value) << key;
    } else if (same.is_number()) {
      EXPECT_EQ(same.dump(), value) << key;
    } else if (same.is_array()) {
      std::vector<std::string> names;
      for (const std::string& name : Split(value, ',')) names.push_back(Unescaped(name));
      EXPECT_EQ(same.get<std::vector<std::string>>(), names) << key;
    } else {
      EXPECT_EQ(same.get<std::string>(), Unescaped(value)) << key;
    }
  }
}

Evidence At(Evidence::What what) { return {Instant(std::chrono::nanoseconds(1234567891234)), std::move(what)}; }

const SigningKey& Key() {
  static const SigningKey key(std::array<std::byte, 32>{std::byte{7}});
  return key;
}

View ViewOf(std::uint64_t epoch, const std::vector<std::string>& names) {
  std::vector<ViewMember> members;
  for (const std::string& name : names) members.push_back({name, 1, Address{}});
  return SignView(Key(), "test", epoch, std::move(members));
}

TEST(EvidenceTest, SuspectFailedRecovered) {
  using Kind = PeerEvidence::Kind;
  const std::pair<Kind, std::string> kinds[] = {
      {Kind::kSuspect, "suspect"}, {Kind::kFailed, "failed"}, {Kind::kRecovered, "recovered"}};
  for (const auto& [kind, word] : kinds) {
    ExpectRow(At(PeerEvidence{kind, "beta", 2}), "mesh-fail", word, {{"node", "beta"}, {"epoch", "2"}});
  }
  EXPECT_EQ(Row(At(PeerEvidence{Kind::kSuspect, "beta", 2})), "mesh-fail: suspect node=beta epoch=2");
}

TEST(EvidenceTest, RemovedAndJoinedNameTheWholeView) {
  const View view = ViewOf(3, {"gamma", "alpha"});
  const std::string digest = ToHex(view.head.digest);
  EXPECT_THAT(digest, MatchesRegex("[0-9a-f]{32}"));
  const Fields fields = {
      {"node", "beta"}, {"epoch", "3"}, {"members", "2"}, {"digest", digest}, {"snapshot", "alpha,gamma"}};
  ExpectRow(At(EvidenceOf(ViewEvidence::Kind::kRemoved, "beta", view)), "mesh-fail", "removed", fields);
  ExpectRow(At(EvidenceOf(ViewEvidence::Kind::kJoined, "beta", view)), "mesh-fail", "joined", fields);
}

TEST(EvidenceTest, TheSnapshotOfALargeViewIsCut) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("member-" + std::to_string(10'000 + i));
  const ViewEvidence removed = EvidenceOf(ViewEvidence::Kind::kRemoved, "beta", ViewOf(9, names));
  EXPECT_EQ(removed.members, 1000U);
  names.resize(ViewEvidence::kSnapshotMax);
  EXPECT_EQ(removed.snapshot, names);
}

TEST(EvidenceTest, TheAuthorityIsLostAndRestored) {
  ExpectRow(At(ContactEvidence{false, 2, "alpha", false, true}), "mesh-fail", "authority",
            {{"state", "lost"}, {"epoch", "2"}, {"root", "alpha"}, {"mutable", "0"}, {"reads", "lease"}});
  ExpectRow(At(ContactEvidence{true, 4, "", true, false}), "mesh-fail", "authority",
            {{"state", "restored"}, {"epoch", "4"}, {"mutable", "1"}});
}

TEST(EvidenceTest, DisabledByTheConfiguration) {
  EXPECT_EQ(Row(At(DisabledEvidence{})), "mesh-fail: disabled reason=config");
  ExpectRow(At(DisabledEvidence{}), "mesh-fail", "disabled", {{"reason", "config"}});
}

TEST(EvidenceTest, WhereAMemberStands) {
  ExpectRow(At(AuthorityEvidence{true, 2, true, std::chrono::microseconds(5'999'999)}), "mesh-route", "authority",
            {{"state", "current"}, {"epoch", "2"}, {"mutable", "1"}, {"write_lease_ms", "5999"}});
  for (const Duration left : {Duration(0), Duration(999'999), Duration(-1)}) {
    ExpectRow(At(AuthorityEvidence{false, 2, false, left}), "mesh-route", "authority",
              {{"state", "lost"}, {"epoch", "2"}, {"mutable", "0"}, {"write_lease_ms", "0"}});
  }
}

TEST(EvidenceTest, AFenceNamesBothHomesAndBothEpochs) {
  const ObjectId object = ObjectNamed("ledger");
  EXPECT_THAT(ToHex(object), MatchesRegex("[0-9a-f]{64}"));
  const std::pair<FenceReason, std::string> reasons[] = {{FenceReason::kLeftView, "left-view"},
                                                         {FenceReason::kLeaseLeftView, "lease-left-view"}};
  for (const auto& [reason, word] : reasons) {
    ExpectRow(At(Fence{object, "beta", 2, "alpha", 3, reason}), "mesh-route", "fence",
              {{"object", ToHex(object)},
               {"stale_home", "beta"},
               {"stale_home_epoch", "2"},
               {"home", "alpha"},
               {"home_epoch", "3"},
               {"reason", word}});
  }
  EXPECT_EQ(Parse(Row(At(Fence{object, "beta", 2, "", 3, FenceReason::kLeftView})))->fields[3].second, "-");
}

TEST(EvidenceTest, ResultsOfBothOperations) {
  ResultEvidence result{7, ObjectNamed("ledger"), "alpha", 3, 1, false, 0, Operation::kCommit, "served"};
  Fields fields = {{"request", "7"},    {"object", ToHex(result.object)},
                   {"home", "alpha"},   {"epoch", "3"},
                   {"attempts", "1"},   {"moved", "0"},
                   {"timeouts", "0"},   {"op", "commit"},
                   {"status", "served"}};
  ExpectRow(At(result), "mesh-route", "result", fields);
  result.moved = true;
  result.attempts = 2;
  result.timeouts = 1;
  result.operation = Operation::kStat;
  result.status = "not-home";
  fields[4].second = "2";
  fields[5].second = "1";
  fields[6].second = "1";
  fields[7].second = "stat";
  fields[8].second = "not-home";
  ExpectRow(At(result), "mesh-route", "result", fields);
}

TEST(EvidenceTest, CountersAreTheGatesAndTheCallers) {
  GateCounters gate;
  for (std::size_t i = 0; i < gate.by_verdict.size(); ++i) gate.by_verdict[i] = 1ULL << (4 * i);
  gate.commits = 5;
  const std::uint64_t stale = gate.of(Verdict::kStaleEpoch);
  const std::uint64_t replay = gate.of(Verdict::kReplay);
  const std::uint64_t moved = gate.of(Verdict::kMoved);
  const std::uint64_t refused = stale + gate.of(Verdict::kForbidden) + gate.of(Verdict::kNotHome) +
                                gate.of(Verdict::kNotCurrent) + gate.of(Verdict::kNoAuthority) +
                                gate.of(Verdict::kBusy);
  const auto fields = [&](const std::string& last) {
    return Fields{{"served", "1"},
                  {"refused", std::to_string(refused)},
                  {"moved", std::to_string(moved)},
                  {"fences", "6"},
                  {"commits", "5"},
                  {"replays", std::to_string(stale + replay)},
                  {"last_replay", last}};
  };
  ExpectRow(At(EvidenceOf(gate, 6, Verdict::kStaleEpoch)), "mesh-route", "counters", fields("stale-epoch"));
  ExpectRow(At(EvidenceOf(gate, 6, Verdict::kReplay)), "mesh-route", "counters", fields("replay"));
  ExpectRow(At(EvidenceOf(gate, 6, std::nullopt)), "mesh-route", "counters", fields("none"));
}

TEST(EvidenceTest, RefusedViewsSayWhy) {
  using Reason = RefusedViewEvidence::Reason;
  const View view = ViewOf(5, {"alpha"});
  const std::pair<Reason, std::string> reasons[] = {{Reason::kBadSignature, "bad-signature"},
                                                    {Reason::kLowerEpoch, "lower-epoch"},
                                                    {Reason::kOtherDigest, "other-digest"},
                                                    {Reason::kBadBody, "bad-body"}};
  for (const auto& [reason, word] : reasons) {
    ExpectRow(At(RefusedViewEvidence{reason, view.head, 6}), "mesh-fail", "view-refused",
              {{"epoch", "5"}, {"digest", ToHex(view.head.digest)}, {"reason", word}, {"current", "6"}});
  }
}

TEST(EvidenceTest, AStoreThatIsBehind) {
  ExpectRow(At(StoreBehindEvidence{3, 9}), "mesh-fail", "store-behind", {{"epoch", "3"}, {"seen", "9"}});
}

TEST(EvidenceTest, JoinsAndWhyTheyWereRefused) {
  using State = JoinEvidence::State;
  const std::pair<State, std::string> states[] = {
      {State::kAsked, "asked"}, {State::kAccepted, "accepted"}, {State::kRefused, "refused"}};
  for (const auto& [state, word] : states) {
    ExpectRow(At(JoinEvidence{state, "beta", 2, ""}), "mesh-fail", "join",
              {{"node", "beta"}, {"epoch", "2"}, {"state", word}});
  }
  ExpectRow(At(JoinEvidence{State::kRefused, "beta", 2, "view: full"}), "mesh-fail", "join",
            {{"node", "beta"}, {"epoch", "2"}, {"state", "refused"}, {"reason", "view:%20full"}});
}

// Names are the choice of others: no name makes a second field, row or list entry of itself, and each comes back.
TEST(EvidenceTest, NoNameBreaksARow) {
  std::vector<std::string> names = {"-",   "%",   "%2D",       "a b",
                                    "a,b", "a=b", "x epoch=9", "line\nmesh-fail: failed node=y"};
  for (int byte = 0; byte < 256; ++byte) names.push_back(std::string("n") + static_cast<char>(byte));
  for (const std::string& name : names) {
    const std::optional<Parsed> parsed = Parse(Row(At(PeerEvidence{PeerEvidence::Kind::kFailed, name, 1})));
    ASSERT_TRUE(parsed.has_value()) << name;
    ASSERT_EQ(parsed->fields.size(), 2U) << name;
    EXPECT_EQ(Unescaped(parsed->fields[0].second), name);
  }
  std::sort(names.begin(), names.end());
  ViewEvidence view;
  view.snapshot = names;
  const std::optional<Parsed> parsed = Parse(Row(At(view)));
  ASSERT_TRUE(parsed.has_value());
  std::vector<std::string> back;
  for (const std::string& name : Split(parsed->fields.back().second, ',')) back.push_back(Unescaped(name));
  EXPECT_EQ(back, names);
  EXPECT_TRUE(Json::accept(ToJson(At(view))));
}

// Who probes and hears nobody at all believes that it is deaf, and declares nobody dead for long; it says what it is worth
// without the authority as soon as its write lease has run out.
TEST(EvidenceTest, AnIsolatedMemberOfThreeSaysThatTheAuthorityIsLost) {
  using namespace std::chrono_literals;
  Cluster c({.nodes = 3, .seed = 5, .authority = true});
  const auto formed = [&] { return c.leases(2).view().members.size() == 3 && c.MayCommit(2); };
  ASSERT_TRUE(c.RunUntil(formed, 60s));
  c.RunFor(5s);
  const std::uint64_t epoch = c.leases(2).view().epoch();
  const Duration begin = c.now();
  c.Partition({{0, 1}, {2}});
  ASSERT_TRUE(c.RunUntil([&] { return !c.leases(2).current(); }, 6s));
  EXPECT_GT(c.now() - begin, 3s) << "it had been renewed at most a third of a lease before";
  EXPECT_FALSE(c.MayCommit(2));
  const auto rows = [&](const std::string& begins) {
    std::vector<std::string> found;
    for (const SimEvidence& evidence : c.sim().evidence()) {
      const std::string row = Row(evidence.evidence);
      if (evidence.member == 2 && row.starts_with(begins)) found.push_back(row);
    }
    return found;
  };
  EXPECT_EQ(rows("mesh-fail: authority"),
            std::vector<std::string>{"mesh-fail: authority state=lost epoch=" + std::to_string(epoch) +
                                     " root=n0 mutable=0 reads=lease"});
  c.RunFor(30s);
  EXPECT_EQ(c.leases(2).view().epoch(), epoch);
  EXPECT_THAT(rows("mesh-fail: removed"), testing::IsEmpty());
  c.Heal();
  ASSERT_TRUE(c.RunUntil([&] { return c.leases(2).current() && c.leases(2).view().members.size() == 3; }, 60s));
  EXPECT_EQ(rows("mesh-fail: authority").size(), 2U);
  EXPECT_THAT(rows("mesh-fail: authority").back(), testing::HasSubstr("state=restored"));
}

}  // namespace
}  // namespace nekton
