// What `nekton agent` does beyond liveness: it prints evidence, answers `routes` and `homes`, and uses objects.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "examples/agent/console.h"
#include "examples/objects/object_service.h"
#include "lease/capability.h"
#include "lease/evidence.h"
#include "transport/node.h"

namespace nekton {

// The lines of `nekton capability`: objects by name, with the right to use them.
using Rights = std::vector<std::pair<std::string, Capability>>;
inline constexpr std::size_t kRightsMax = 10'000;
// Errors name the file and the line.
absl::StatusOr<Rights> ReadRights(const std::string& path);

// Evidence as the agent prints it, if it does; the last rows about routes are kept for `routes`. Thread-safe.
class EvidencePrinter {
 public:
  static constexpr std::size_t kKept = 64;
  EvidencePrinter(Console* console, bool prints) : console_(console), prints_(prints) {}
  void Print(const Evidence& evidence);
  std::vector<std::string> kept() const;

 private:
  Console* console_;
  bool prints_;
  mutable std::mutex mutex_;
  std::deque<std::string> kept_;
};

// The commands. All but OnLine() run inside it.
class AgentLeases {
 public:
  // All outlive it. `authority`: the node has one.
  AgentLeases(Node* node, Console* console, EvidencePrinter* printer, const Rights* rights, bool authority);
  // False: it is none of these commands.
  bool OnLine(const std::string& line);

 private:
  void AnswerRoutes();
  void AnswerHomes();
  void Use(const std::string& command, const std::string& rest);
  ObjectService::Done Answering(const std::string& command, const std::string& object);
  void Refuse(const std::string& command, const std::string& message);
  const Capability* RightTo(const std::string& object) const;

  Node* node_;
  Console* console_;
  EvidencePrinter* printer_;
  const Rights* rights_;
  std::optional<ObjectService> objects_;  // none without an authority
};

}  // namespace nekton
