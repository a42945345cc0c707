// The bytes of sealed frames, keys and rings, and the window.
#include "transport/seal_frame.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "swim/random.h"
#include "tests/seal_net.h"
#include "tests/source_dir.h"
#include "transport/recent_map.h"
#include "transport/seal_window.h"

namespace nekton {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint32_t kLabelTag = 0x11223344;

std::map<std::string, std::vector<std::byte>> Golden() {
  std::ifstream in(SourceDir() + "/tests/data/seal_golden.txt");
  EXPECT_TRUE(in.is_open());
  std::map<std::string, std::vector<std::byte>> golden;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::string name;
    std::string way;
    std::string hex;
    std::istringstream(line) >> name >> way >> hex;
    golden[name] = Bytes(absl::HexStringToBytes(hex));
  }
  return golden;
}

SealHeader Sample(SealKind kind, std::uint8_t flags, std::uint64_t token, std::uint64_t counter) {
  SealHeader header;
  header.kind = kind;
  header.flags = flags;
  header.label = kLabelTag;
  header.key = KeyOf(1).id();
  header.sender = 0x0102030405060708;
  header.generation = 0x1112131415161718;
  header.token = token;
  for (std::size_t i = 0; i < header.random.size(); ++i) header.random[i] = static_cast<std::byte>(0x40 + i);
  header.counter = counter;
  return header;
}

// The vectors were made by other hands (a script over libsodium), so both ways are checked.
TEST(SealFrame, DatagramsAreTheBytesOfTheFormat) {
  struct Case {
    const char* name;
    SealHeader header;
    std::string body;
  };
  const std::string offer = absl::HexStringToBytes("b8b7b6b5b4b3b2b1");
  const std::string given = absl::HexStringToBytes("c8c7c6c5c4c3c2c1");
  for (const Case& c : {Case{"data", Sample(SealKind::kData, 0, 0xa1a2a3a4a5a6a7a8, 7), "ping"},
                        Case{"data_offer", Sample(SealKind::kData, kSealOffers, 0, 1), offer + "ping"},
                        Case{"knock", Sample(SealKind::kData, kSealOffers | kSealKnock, 0, 1), offer},
                        Case{"challenge", Sample(SealKind::kChallenge, kSealRequires, 0, 1), "`abcdefg" + given}}) {
    const auto golden = Golden()[c.name];
    std::vector<std::byte> sealed;
    SealDatagram(c.header, KeyOf(1), "blue", {}, Bytes(c.body), &sealed);
    EXPECT_EQ(sealed, golden) << c.name;
    SealHeader read;
    ASSERT_EQ(ReadSealHeader(golden, kLabelTag, &read), SealFault::kNone);
    EXPECT_EQ(read, c.header);
    std::vector<std::byte> plain;
    ASSERT_TRUE(OpenDatagram(golden, KeyOf(1), "blue", &plain));
    EXPECT_EQ(Text(plain), c.body);
  }
}

TEST(SealFrame, StreamsAreTheBytesOfTheFormat) {
  auto golden = Golden();
  const auto check = [&](const char* name, const SealHeader& header, const std::string& body,
                         const std::vector<std::byte>& bound) {
    EXPECT_EQ(SealStream(header, KeyOf(1), "blue", bound, Bytes(body)), golden[name]) << name;
    std::vector<std::byte> plain;
    ASSERT_TRUE(OpenStream(golden[name], KeyOf(1), "blue", bound, &plain)) << name;
    EXPECT_EQ(Text(plain), body);
  };
  std::vector<std::byte> request = golden["request"];
  request.resize(kSealHeaderSize);
  check("request", Sample(SealKind::kRequest, 0, 0xa1a2a3a4a5a6a7a8, 8), "sync", {});
  check("empty_request", Sample(SealKind::kRequest, 0, 0xa1a2a3a4a5a6a7a8, 9), "", {});
  check("answer", Sample(SealKind::kAnswer, 0, 0, 1), "reply", request);
  check("stream_challenge", Sample(SealKind::kStreamChallenge, 0, 0, 1), absl::HexStringToBytes("c8c7c6c5c4c3c2c1"),
        request);
  EXPECT_EQ(WriteSealRefusal(kLabelTag, SealRefusal::kUnknownKey), golden["refusal"]);
  SealRefusal code{};
  EXPECT_TRUE(ReadSealRefusal(golden["refusal"], kLabelTag, &code));
  EXPECT_EQ(code, SealRefusal::kUnknownKey);
}

TEST(SealFrame, AHeaderIsRefusedByItsFault) {
  const auto golden = Golden()["data"];
  SealHeader header;
  const auto fault = [&](std::size_t at, unsigned value) {
    auto bytes = golden;
    bytes[at] = static_cast<std::byte>(value);
    return ReadSealHeader(bytes, kLabelTag, &header);
  };
  EXPECT_EQ(fault(0, 0x11), SealFault::kShort) << "a plain frame";
  EXPECT_EQ(fault(0, 0xe0), SealFault::kKind);
  EXPECT_EQ(fault(0, 0xe6), SealFault::kKind);
  EXPECT_EQ(fault(0, 0xef), SealFault::kKind);
  EXPECT_EQ(fault(1, 0x20), SealFault::kVersion);
  EXPECT_EQ(fault(2, 0x00), SealFault::kLabel);
  for (std::size_t size = 0; size < kSealHeaderSize + kSealTagSize; ++size) {
    EXPECT_EQ(ReadSealHeader(std::span(golden).first(size), kLabelTag, &header), SealFault::kShort);
  }
}

// ---- the window

TEST(ReplayWindow, TakesEachCounterOnceInAnyOrderWithin1024) {
  ReplayWindow window;
  std::set<std::uint64_t> taken;
  Random random(1);
  std::uint64_t highest = 0;
  for (int i = 0; i < 200'000; ++i) {
    // Around the highest so far, sometimes far ahead.
    const std::uint64_t ahead = random.Below(1000) == 0 ? random.Below(5000) : random.Below(8);
    const std::uint64_t back = random.Below(1200);
    const std::uint64_t counter = highest + ahead > back ? highest + ahead - back : 0;
    ReplayWindow::Verdict want = ReplayWindow::Verdict::kFresh;
    if (counter == 0 || counter + 1024 <= highest) {
      want = ReplayWindow::Verdict::kTooOld;
    } else if (taken.contains(counter)) {
      want = ReplayWindow::Verdict::kRepeated;
    }
    ASSERT_EQ(window.Take(counter), want) << counter << " at " << highest;
    if (want != ReplayWindow::Verdict::kFresh) continue;
    taken.insert(counter);
    highest = std::max(highest, counter);
  }
  EXPECT_EQ(window.Take(~std::uint64_t{0}), ReplayWindow::Verdict::kFresh);
  EXPECT_EQ(window.Take(~std::uint64_t{0}), ReplayWindow::Verdict::kRepeated);
  EXPECT_EQ(window.Take(1), ReplayWindow::Verdict::kTooOld);
}

TEST(RecentMap, HasAtMostItsBoundAndTheHalfThatWasUsedLast) {
  RecentMap<int, int> map(100);
  for (int i = 0; i < 10'000; ++i) {
    map[i] = i;
    ASSERT_LE(map.size(), 100U);
    for (int back = 0; back < std::min(i, 40); ++back) ASSERT_NE(map.Find(i - back), nullptr) << i << ' ' << back;
  }
  EXPECT_EQ(map.Find(5), nullptr);
  map.EraseIf([](int value) { return value % 2 == 0; });
  EXPECT_EQ(map.Find(9998), nullptr);
  ASSERT_NE(map.Find(9999), nullptr);
  EXPECT_EQ(*map.Find(9999), 9999);
}

// ---- keys

TEST(SealKey, ReadsAndWritesHexadecimal) {
  const SealKey key = KeyOf(1);
  EXPECT_EQ(key.ToHex(), "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20");
  const auto again = SealKey::Parse(key.ToHex());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == key);
  EXPECT_EQ(again->id(), key.id());
  EXPECT_EQ(*ParseKeyId(KeyIdText(key.id())), key.id());
  EXPECT_FALSE(ParseKeyId("12").ok());
  EXPECT_FALSE(ParseKeyId("1234567g").ok());
  for (const std::string& bad : {std::string(), std::string("abc"), std::string(63, 'a'), std::string(65, 'a'),
                                 std::string(63, 'a') + "g", std::string(64, '0')}) {
    const auto parsed = SealKey::Parse(bad);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << bad;
    if (bad.size() < 10) continue;
    EXPECT_THAT(parsed.status().message(), Not(HasSubstr(bad.substr(0, 10)))) << "a secret, maybe";
  }
  EXPECT_FALSE(SealKey::Generate() == SealKey::Generate());
}

TEST(Keyring, TheFirstSealsAndItCannotBeRemoved) {
  Keyring ring;
  EXPECT_TRUE(ring.Add(KeyOf(1)).ok());
  EXPECT_TRUE(ring.Add(KeyOf(2)).ok());
  EXPECT_TRUE(ring.Add(KeyOf(1)).ok()) << "it is there";
  EXPECT_THAT(ring.ids(), ElementsAre(KeyOf(1).id(), KeyOf(2).id()));
  EXPECT_EQ(ring.Remove(KeyOf(1).id()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ring.Remove(77).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ring.Use(77).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(ring.Use(KeyOf(2).id()).ok());
  EXPECT_TRUE(ring.primary() == KeyOf(2));
  EXPECT_TRUE(ring.Remove(KeyOf(1).id()).ok());
  EXPECT_EQ(ring.Find(KeyOf(1).id()), nullptr);
  for (int i = 3; i < 30; ++i) {
    const bool room = ring.keys().size() < Keyring::kMax;
    EXPECT_EQ(ring.Add(KeyOf(i)).code(), room ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(ring.keys().size(), Keyring::kMax);
}

class KeyFile : public testing::Test {
 protected:
  KeyFile() {
    std::string folder = testing::TempDir() + "nekton_keys_XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder + "/keys";
  }
  ~KeyFile() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  void Write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  std::string folder_;
  std::string path_;
};

TEST_F(KeyFile, IsReadWithCommentsAndWrittenForItsOwnerAlone) {
  Write(absl::StrCat("# of the blue group\n\n  ", KeyOf(2).ToHex(), "  \n", KeyOf(1).ToHex()));
  const auto ring = LoadKeyring(path_);
  ASSERT_TRUE(ring.ok()) << ring.status();
  EXPECT_THAT(ring->ids(), ElementsAre(KeyOf(2).id(), KeyOf(1).id()));
  ASSERT_TRUE(SaveKeyring(path_, RingOf({3, 2})).ok());
  struct stat about {};
  ASSERT_EQ(stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  const auto again = LoadKeyring(path_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(again->ids(), ElementsAre(KeyOf(3).id(), KeyOf(2).id()));
}

TEST_F(KeyFile, WhoElseMayReadItIsAMistake) {
  for (const mode_t mode : {0640U, 0604U, 0660U, 0644U, 0601U}) {
    Write(KeyOf(1).ToHex(), mode);
    const auto ring = LoadKeyring(path_);
    EXPECT_EQ(ring.status().code(), absl::StatusCode::kPermissionDenied) << mode;
    EXPECT_THAT(ring.status().message(), HasSubstr(path_));
  }
}

TEST_F(KeyFile, EveryMistakeIsNamedByItsLine) {
  EXPECT_EQ(LoadKeyring(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadKeyring(folder_).status().code(), absl::StatusCode::kFailedPrecondition) << "a folder";
  Write("# nothing\n");
  EXPECT_THAT(LoadKeyring(path_).status().message(), HasSubstr("no key"));
  Write(absl::StrCat("short\n", KeyOf(1).ToHex(), "\n", std::string(64, 'z'), "\n"));
  const std::string text(LoadKeyring(path_).status().message());
  EXPECT_THAT(text, HasSubstr("line 1:"));
  EXPECT_THAT(text, HasSubstr("line 3:"));
  EXPECT_THAT(text, Not(HasSubstr("line 2:")));
  EXPECT_THAT(text, Not(HasSubstr("zzz"))) << "it may be a secret";
  Write(std::string(70'000, '#'));
  EXPECT_THAT(LoadKeyring(path_).status().message(), HasSubstr("larger"));
}

}  // namespace
}  // namespace nekton
