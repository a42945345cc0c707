// What a group must agree on: each term that differs is named, and nothing else counts.
#include "swim/terms.h"

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swim/message.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

std::string Differ(const Config& theirs, const Config& ours) {
  return DifferentTerms(EncodeTerms(theirs), EncodeTerms(ours));
}

TEST(Terms, EveryTermIsNamed) {
  const std::vector<std::pair<std::string, std::function<void(Config&)>>> changes = {
      {"probing: 0 here, 1 there", [](Config& c) { c.probing = Probing::kStaggered; }},
      {"period: 1 s here, 2 s there", [](Config& c) { c.period = 2s; }},
      {"tolerated_pause: 3 s here, 4.5 s there", [](Config& c) { c.tolerated_pause = 4500ms; }},
      {"hold_alpha: 1 here, 1.25 there", [](Config& c) { c.hold_alpha = 1.25; }},
      {"hold_beta: 4 here, 3 there", [](Config& c) { c.hold_beta = 3; }},
      {"confirmers: 3 here, 2 there", [](Config& c) { c.confirmers = 2; }},
      {"corroborators: 3 here, 1 there", [](Config& c) { c.corroborators = 1; }},
      {"hearer_margin: 1 s here, ", [](Config& c) { c.hearer_margin = 500ms; }},
      {"forget_after: 90 s here, 91 s there", [](Config& c) { c.forget_after = 91s; }},
  };
  for (const auto& [words, change] : changes) {
    Config other = Config::Lan();
    change(other);
    EXPECT_THAT(Differ(other, Config::Lan()), StartsWith(words));
  }
  Config mesh = Config::Mesh();
  mesh.suspect_after += 1s;
  EXPECT_THAT(Differ(mesh, Config::Mesh()), StartsWith("suspect_after: "));
  EXPECT_THAT(Differ(Config::Mesh(), Config::Lan()), StartsWith("monitoring: 0 here, 1 there"));
}

TEST(Terms, WhatMayDifferIsNone) {
  Config other = Config::Lan();
  other.name = "x";
  other.seeds = {"a:1"};
  other.detector = DetectorKind::kPhi;
  other.phi_threshold = 5;
  other.attempts = 5;
  other.relays = 3;
  other.tags = {{"a", "b"}};
  other.suspect_after = 5s;  // of no use to probes
  EXPECT_EQ(Differ(other, Config::Lan()), "");
}

TEST(Terms, OnlyWhatBothKnowIsCompared) {
  const std::vector<std::byte> all = EncodeTerms(Config::Lan());
  EXPECT_LE(all.size(), kTermsMax);
  EXPECT_EQ(DifferentTerms({}, all), "");
  std::vector<std::byte> more = all;
  more.push_back(std::byte{7});
  EXPECT_EQ(DifferentTerms(more, all), "");
  EXPECT_EQ(DifferentTerms(std::span(all).first(3), all), "");
}

TEST(Terms, ManyDifferencesFitIntoARefusal) {
  const std::string words = Differ(Config::Wan(), Config::Local());
  EXPECT_LE(words.size(), kRefusalTextMax);
  EXPECT_THAT(words, HasSubstr("period: 0.5 s here, 5 s there; "));
}

}  // namespace
}  // namespace nekton
