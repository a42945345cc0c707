// The rules of the house (ARCHITECTURE.md), kept by reading the source tree itself.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/house_rules.h"
#include "tests/source_dir.h"

namespace nekton::house {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const fs::path kRoot = SourceDir();
constexpr std::size_t kLongestFile = 500;

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct File {
  std::string path;  // from the root
  std::string text;
};

// The files of the tree, without git's own and what it ignores.
std::vector<File> TreeFiles() {
  std::vector<std::string> skip = IgnoredNames(Read(kRoot / ".gitignore"));
  skip.emplace_back(".git");
  std::vector<File> files;
  for (const auto& top : fs::directory_iterator(kRoot)) {
    if (std::find(skip.begin(), skip.end(), top.path().filename().string()) != skip.end()) continue;
    std::vector<fs::path> paths;
    if (top.is_regular_file()) paths.push_back(top.path());
    if (top.is_directory()) {
      for (const auto& entry : fs::recursive_directory_iterator(top.path())) {
        if (entry.is_regular_file()) paths.push_back(entry.path());
      }
    }
    for (const fs::path& path : paths) files.push_back({path.lexically_relative(kRoot).generic_string(), Read(path)});
  }
  return files;
}

std::vector<File> RoomSources() {
  std::vector<File> files;
  for (const char* room : {"phi", "stm", "swim", "lease", "transport"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      files.push_back({entry.path().lexically_relative(kRoot).generic_string(), Read(entry.path())});
    }
  }
  return files;
}

TEST(HouseTest, RoomsIncludeDownwardAndPureRoomsTouchNothing) {
  const std::vector<File> files = RoomSources();
  ASSERT_FALSE(files.empty());
  for (const File& file : files) EXPECT_THAT(Trespasses(file.path, file.text), IsEmpty());
}

TEST(HouseTest, FilesOfRoomsAreShort) {
  for (const File& file : RoomSources()) EXPECT_LE(CountLines(file.text), kLongestFile) << file.path;
}

TEST(HouseTest, TopLevelHasOnlyTheAgreedNames) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kRoot)) names.push_back(entry.path().filename().string());
  EXPECT_THAT(UnknownNames(names, Read(kRoot / ".gitignore")), IsEmpty());
}

TEST(HouseTest, NoWordAboutTheWorkplace) {
  for (const File& file : TreeFiles()) EXPECT_THAT(WorkplaceWords(file.text), IsEmpty()) << file.path;
}

// The rules themselves, on made-up text.

TEST(HouseRulesTest, RefusesAnUpwardInclude) {
  const auto found = Trespasses("stm/stm.cc", "#include \"phi/time.h\"\n#include \"swim/engine.h\"\n");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], HasSubstr("stm/stm.cc:2: an include goes downward only: swim/engine.h"));
  EXPECT_THAT(Trespasses("phi/a.h", "#include <lease/member.h>"), SizeIs(1));
  EXPECT_THAT(Trespasses("lease/a.h", "  #  include \"transport/transport.h\""), SizeIs(1));
}

TEST(HouseRulesTest, AllowsItsOwnRoomAndThoseBelow) {
  EXPECT_THAT(Trespasses("swim/engine.cc",
                         "#include <vector>\n#include \"absl/status/status.h\"\n"
                         "#include \"swim/wire.h\"\n#include \"stm/stm.h\"\n"),
              IsEmpty());
}

TEST(HouseRulesTest, RefusesGuestsAndRelativePaths) {
  EXPECT_THAT(Trespasses("transport/hub.cc", "#include \"tests/cluster.h\"\n"), SizeIs(1));
  EXPECT_THAT(Trespasses("swim/a.cc", "#include \"../phi/time.h\"\n"), SizeIs(1));
}

TEST(HouseRulesTest, RefusesTheWorldInPureRooms) {
  for (const char* header :
       {"uv.h", "thread", "mutex", "random", "sys/socket.h", "netinet/in.h", "arpa/inet.h", "sys/time.h", "unistd.h",
        "condition_variable", "absl/random/random.h", "absl/synchronization/mutex.h", "absl/time/clock.h"}) {
    const std::string text = std::string("#include <") + header + ">\n";
    for (const char* path : {"phi/a.cc", "stm/a.h", "swim/a.cc", "lease/a.h"}) {
      EXPECT_THAT(Trespasses(path, text), SizeIs(1)) << text;
    }
  }
  EXPECT_THAT(Trespasses("swim/a.cc", "#include \"swim/random.h\"\n#include <string>\n"), IsEmpty());
  EXPECT_THAT(Trespasses("transport/hub.cc", "#include <mutex>\n#include <sys/socket.h>\n"), IsEmpty());
}

TEST(HouseRulesTest, OnlyTheShellKnowsLibuv) {
  EXPECT_THAT(Trespasses("transport/simulator.cc", "#include <uv.h>\n"), SizeIs(1));
  EXPECT_THAT(Trespasses("transport/simulator.cc", "#include \"transport/uv_transport.h\"\n"), SizeIs(1));
  EXPECT_THAT(Trespasses("transport/uv_transport.cc", "#include <uv.h>\n#include \"transport/hub.h\"\n"), IsEmpty());
  EXPECT_THAT(Trespasses("transport/node.cc", "#include <uv.h>\n#include \"transport/uv_transport.h\"\n"), IsEmpty());
}

TEST(HouseRulesTest, OnlyOneFileIncludesBoost) {
  const std::string include = "#include <boost/math/special_functions/gamma.hpp>\n";
  EXPECT_TRUE(Trespasses("phi/boost_math.cc", include).empty());
  for (const char* path : {"phi/tail.cc", "phi/boost_math.h", "swim/engine.cc", "transport/node.cc"}) {
    EXPECT_EQ(Trespasses(path, include).size(), 1U) << path;
  }
}

TEST(HouseRulesTest, RefusesClocksChanceAndEnvironmentInPureRooms) {
  for (const char* line :
       {"auto t = std::chrono::steady_clock::now();", "auto t = Clock::now ();", "std::random_device device;",
        "const char* home = getenv(\"HOME\");", "std::getenv(\"X\");", "int x = std::rand();", "srand(1);",
        "auto t = time(nullptr);", "auto t = ::time(NULL);", "t = std::time(&out);", "gettimeofday(&tv, nullptr);",
        "clock_gettime(CLOCK_MONOTONIC, &ts);", "auto t = std::clock();"}) {
    EXPECT_THAT(Trespasses("swim/a.cc", line), SizeIs(1)) << line;
    EXPECT_THAT(Trespasses("transport/a.cc", line), IsEmpty()) << line;
  }
}

TEST(HouseRulesTest, LetsHarmlessTextPass) {
  for (const char* line :
       {"// never call steady_clock::now() here", "/* #include <thread> */", "Log(\"std::rand() and ::now()\");",
        "Duration time() const;", "const Tick& now, int operand(0);", "x = tick.time(0);", "if (hour_time(0)) {}",
        "auto n = 1'000'000; // std::getenv", "const char* raw = R\"(\" ::now( )\";", "char q = '\"'; // ::now("}) {
    EXPECT_THAT(Trespasses("swim/a.cc", line), IsEmpty()) << line;
  }
}

TEST(HouseRulesTest, AStringThatLooksLikeACommentHidesNothing) {
  EXPECT_THAT(Trespasses("swim/a.cc", "auto url = \"http://x\"; auto t = C::now();"), SizeIs(1));
  EXPECT_THAT(Trespasses("swim/a.cc", "char c = '\"'; auto t = C::now(); char d = '\"';"), SizeIs(1));
  EXPECT_THAT(Trespasses("swim/a.cc", "auto n = 1'000; auto t = C::now(); auto m = 2'000;"), SizeIs(1));
  EXPECT_THAT(Trespasses("swim/a.cc", "/* a\n b */ auto t = C::now();"), ElementsAre(HasSubstr("swim/a.cc:2:")));
}

TEST(HouseRulesTest, FindsUnknownNames) {
  EXPECT_THAT(UnknownNames({"swim", "notes.txt", "build", ".git"}, "# comment\n/build/\n*.o\n"),
              ElementsAre("notes.txt"));
  EXPECT_THAT(UnknownNames({"build"}, ""), ElementsAre("build"));
}

TEST(HouseRulesTest, FindsWorkplaceWords) {
  EXPECT_THAT(WorkplaceWords(std::string("see /wo") + "rk/main"), SizeIs(1));
  EXPECT_THAT(WorkplaceWords(std::string("a Sub") + "agent wrote ../sh" + "ared"), SizeIs(2));
  EXPECT_THAT(WorkplaceWords("network/shared work"), IsEmpty());
}

TEST(HouseRulesTest, CountsLines) {
  EXPECT_EQ(CountLines(""), 0U);
  EXPECT_EQ(CountLines("a"), 1U);
  EXPECT_EQ(CountLines("a\n"), 1U);
  EXPECT_EQ(CountLines("a\nb"), 2U);
}

}  // namespace
}  // namespace nekton::house
