// Every example runs to its end by itself and says what it saw.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nekton {
namespace {

using testing::HasSubstr;

struct Ended {
  int status = -1;
  std::string output;
};

Ended RunExample(const std::string& name, const std::string& arguments = "") {
  Ended run;
  const std::string command = absl::StrCat(NEKTON_BINARY_DIR, "/bin/", name, " ", arguments, " 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return run;
  std::array<char, 4096> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) run.output.append(piece.data(), got);
  const int ended = pclose(pipe);
  run.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return run;
}

class ExamplesTest : public testing::TestWithParam<const char*> {};

TEST_P(ExamplesTest, ExplainsItselfAndRefusesWhatItDoesNotKnow) {
  const Ended help = RunExample(GetParam(), "--help");
  EXPECT_EQ(help.status, 0) << help.output;
  EXPECT_THAT(help.output, HasSubstr(GetParam()));
  EXPECT_NE(RunExample(GetParam(), "--no-such-flag").status, 0);
}

INSTANTIATE_TEST_SUITE_P(All, ExamplesTest,
                         testing::Values("hello", "chat", "embed_uv", "bare_engine", "objects", "embed_epoll",
                                         "custom_transport"));

TEST(ExampleRunTest, HelloSeesAMemberComeAndGo) {
  const Ended run = RunExample("hello");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("beta knows: alpha"));
  EXPECT_THAT(run.output, HasSubstr("hello: joined and left"));
}

TEST(ExampleRunTest, ChatTalksByAllTheWaysThatThereAre) {
  const Ended run = RunExample("chat");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("alpha knows who shouts: beta"));
  EXPECT_THAT(run.output, HasSubstr("the topic is plankton"));
  EXPECT_THAT(run.output, HasSubstr("beta hears from alpha: hello"));
  EXPECT_THAT(run.output, HasSubstr("alpha is answered: QUIET WORDS"));
  EXPECT_THAT(run.output, HasSubstr("chat: everything arrived"));
}

TEST(ExampleRunTest, EmbedUvKeepsItsOwnTimerAndClosesItsLoop) {
  const Ended run = RunExample("embed_uv");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("embed_uv: a member joined"));
  EXPECT_THAT(run.output, HasSubstr("the loop closed with 0"));
}

TEST(ExampleRunTest, EmbedEpollRunsInAnotherLoop) {
  const Ended run = RunExample("embed_epoll");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("alpha knows 2 members, beta knows 2; the program's own timer went on"));
}

TEST(ExampleRunTest, CustomTransportNeedsNoNetwork) {
  const Ended run = RunExample("custom_transport");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("alpha knows 2 members, beta 2"));
}

// What a program loads, by the dynamic linker itself.
std::string LibrariesOf(const std::string& name) {
  std::string text;
  FILE* pipe = popen(absl::StrCat("ldd ", NEKTON_BINARY_DIR, "/bin/", name, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
  pclose(pipe);
  return text;
}

TEST(ExampleRunTest, WhatDoesWithoutLibuvDoesNotLinkIt) {
  ASSERT_THAT(LibrariesOf("embed_uv"), HasSubstr("libuv")) << "else this test can see nothing";
  for (const char* name : {"bare_engine", "embed_epoll", "custom_transport"}) {
    EXPECT_THAT(LibrariesOf(name), HasSubstr("libc.so")) << name;
    EXPECT_THAT(LibrariesOf(name), testing::Not(HasSubstr("libuv"))) << name;
  }
}

TEST(ExampleRunTest, BareEngineJoinsTwoMembersWithoutLibuv) {
  const Ended run = RunExample("bare_engine");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("alpha knows 2 members, beta knows 2, and both have probed each other"));
}

TEST(ExampleRunTest, ObjectsAreTakenOverByAnother) {
  const Ended run = RunExample("objects");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("alpha: mesh-fail: removed node=gamma"));
  EXPECT_THAT(run.output, HasSubstr("alpha: mesh-route: fence object="));
  EXPECT_THAT(run.output, HasSubstr("took over from gamma"));
}

}  // namespace
}  // namespace nekton
