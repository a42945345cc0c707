#include "examples/agent/words.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace nekton {

absl::StatusOr<Config> ProfileOf(std::string_view name) {
  if (name == "lan") return Config::Lan();
  if (name == "wan") return Config::Wan();
  if (name == "local") return Config::Local();
  if (name == "mesh") return Config::Mesh();
  if (name == "pair") return Config::Pair();
  return absl::InvalidArgumentError(absl::StrCat(Quoted(name), ": no such profile; use lan, wan, local, mesh or pair"));
}

absl::StatusOr<DetectorKind> DetectorOf(std::string_view name) {
  if (name == "fixed") return DetectorKind::kFixed;
  if (name == "phi") return DetectorKind::kPhi;
  return absl::InvalidArgumentError(absl::StrCat(Quoted(name), ": no such detector; use fixed or phi"));
}

absl::StatusOr<Probing> ProbingOf(std::string_view name) {
  if (name == "random") return Probing::kRandom;
  if (name == "staggered") return Probing::kStaggered;
  return absl::InvalidArgumentError(absl::StrCat(Quoted(name), ": no such probing; use random or staggered"));
}

absl::StatusOr<Sealing> SealingOf(std::string_view name) {
  if (name == "off") return Sealing::kOff;
  if (name == "accept") return Sealing::kAccept;
  if (name == "require") return Sealing::kRequire;
  return absl::InvalidArgumentError(absl::StrCat(Quoted(name), ": no such sealing; use off, accept or require"));
}

std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", "; "}}); }

}  // namespace nekton
