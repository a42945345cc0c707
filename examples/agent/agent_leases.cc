#include "examples/agent/agent_leases.h"

#include <time.h>

#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "examples/agent/words.h"
#include "examples/objects/object_wire.h"
#include "lease/held_view.h"
#include "swim/quoted.h"

namespace nekton {
namespace {

constexpr std::string_view kIndent = "\n           ";

Instant BootTime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

std::string RowOf(const std::string& object, const Route& route) {
  return absl::StrCat("mesh-route: entry object=", object, " home=", route.home.empty() ? "-" : route.home,
                      " home_epoch=", route.home_epoch, " moved=", route.moved ? 1 : 0);
}

}  // namespace

absl::StatusOr<Rights> ReadRights(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(Quoted(path), ": cannot be read"));
  Rights rights;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty()) continue;
    const std::pair<std::string, std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const absl::StatusOr<Capability> right = ParseCapability(words.second);
    const auto wrong = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(path), " line ", number, ": ", why));
    };
    if (!right.ok()) return wrong(right.status().message());
    if (right->object != ObjectNamed(words.first)) return wrong("it is for another object than it says");
    if (rights.size() == kRightsMax) return wrong(absl::StrCat("more than ", kRightsMax));
    rights.emplace_back(words.first, *right);
  }
  return rights;
}

void EvidencePrinter::Print(const Evidence& evidence) {
  const std::string row = Row(evidence);
  if (prints_) console_->Print(evidence, row);
  if (!row.starts_with("mesh-route: fence") && !row.starts_with("mesh-route: result")) return;
  const std::lock_guard lock(mutex_);
  kept_.push_back(row);
  if (kept_.size() > kKept) kept_.pop_front();
}

std::vector<std::string> EvidencePrinter::kept() const {
  const std::lock_guard lock(mutex_);
  return {kept_.begin(), kept_.end()};
}

AgentLeases::AgentLeases(Node* node, Console* console, EvidencePrinter* printer, const Rights* rights, bool authority)
    : node_(node), console_(console), printer_(printer), rights_(rights) {
  if (authority) objects_.emplace(*node);
}

bool AgentLeases::OnLine(const std::string& line) {
  const std::size_t blank = line.find(' ');
  const std::string command = line.substr(0, blank);
  const std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
  const bool asks = line == "routes" || line == "homes";
  const bool uses = command == "stat" || command == "get" || command == "commit" || command == "replay";
  if (!asks && !uses) return false;
  if (!objects_.has_value()) {
    Refuse(command, "this member has no authority (--authority)");
  } else if (line == "routes") {
    AnswerRoutes();
  } else if (line == "homes") {
    AnswerHomes();
  } else {
    Use(command, rest);
  }
  return true;
}

void AgentLeases::Refuse(const std::string& command, const std::string& message) {
  console_->Print(message, {{"answer", command}, {"message", message}});
}

void AgentLeases::AnswerRoutes() {
  const absl::StatusOr<LeaseStanding> standing = node_->Standing();
  if (!standing.ok()) return Refuse("routes", OneLine(standing.status().message()));
  std::vector<std::string> rows = {Row({BootTime(), standing->authority})};
  Json routes = Json::array();
  for (const auto& [object, route] : standing->routes) {
    rows.push_back(RowOf(ToHex(object), route));
    routes.push_back(
        {{"object", ToHex(object)}, {"home", route.home}, {"home_epoch", route.home_epoch}, {"moved", route.moved}});
  }
  for (std::string& row : printer_->kept()) rows.push_back(std::move(row));
  rows.push_back(Row({BootTime(), standing->totals}));
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(standing->read_left).count();
  console_->Print(absl::StrJoin(rows, Absl(kIndent)),
                  {{"answer", "routes"},
                   {"authority", Json::parse(ToJson({BootTime(), standing->authority}))},
                   {"read_lease_ms", ms},
                   {"routes", std::move(routes)},
                   {"counters", Json::parse(ToJson({BootTime(), standing->totals}))},
                   {"rows", rows}});
}

void AgentLeases::AnswerHomes() {
  const absl::StatusOr<LeaseStanding> standing = node_->Standing();
  if (!standing.ok()) return Refuse("homes", OneLine(standing.status().message()));
  const std::shared_ptr<const HeldView> view = node_->view();
  const MemberPtr self = node_->Members().self();
  // What a request there would find.
  const auto state = [&](const std::string& home) {
    if (home.empty()) return "nobody";
    if (self == nullptr || home != self->name) return view->current ? "remote" : "no-authority";
    if (standing->authority.may_commit) return "active";
    return standing->read_left > Duration::zero() ? "read-only" : "not-current";
  };
  std::vector<std::string> rows;
  Json homes = Json::array();
  for (const auto& [name, right] : *rights_) {
    const std::string home = view->HomeOf(right.object);
    const std::string object = ToHex(right.object);
    rows.push_back(absl::StrCat("mesh-homes: object=", object, " home=", home.empty() ? "-" : home,
                                " epoch=", view->epoch(), " state=", state(home)));
    homes.push_back(
        {{"name", name}, {"object", object}, {"home", home}, {"epoch", view->epoch()}, {"state", state(home)}});
  }
  std::vector<std::string> members;
  for (const ViewMember& member : view->view.members) members.push_back(member.name);
  const std::string digest = ToHex(view->view.head.digest);
  rows.insert(rows.begin(),
              absl::StrCat("mesh-homes: view epoch=", view->epoch(), " members=", members.size(), " digest=", digest));
  console_->Print(absl::StrJoin(rows, Absl(kIndent)), {{"answer", "homes"},
                                                       {"epoch", view->epoch()},
                                                       {"digest", digest},
                                                       {"current", view->current},
                                                       {"members", members},
                                                       {"homes", std::move(homes)},
                                                       {"rows", rows}});
}

const Capability* AgentLeases::RightTo(const std::string& object) const {
  for (const auto& [name, right] : *rights_) {
    if (name == object) return &right;
  }
  return nullptr;
}

ObjectService::Done AgentLeases::Answering(const std::string& command, const std::string& object) {
  return [console = console_, printer = printer_, command, object](const ObjectService::Result& result) {
    const Evidence evidence{BootTime(), result.evidence};
    printer->Print(evidence);
    std::string text = absl::StrCat(command, " ", object, ": ", result.evidence.status, ", version ", result.version);
    if (command == "get") absl::StrAppend(&text, ", ", Quoted(result.value));
    Json json = {{"answer", command},
                 {"object", object},
                 {"status", result.evidence.status},
                 {"version", result.version},
                 {"row", Row(evidence)}};
    if (command == "get") json["value"] = result.value;
    console->Print(text, json);
  };
}

// "commit ledger the value is the rest of the line"
void AgentLeases::Use(const std::string& command, const std::string& rest) {
  const std::pair<std::string, std::string> words = absl::StrSplit(rest, absl::MaxSplits(' ', 1));
  const auto& [object, value] = words;
  const Capability* right = RightTo(object);
  if (right == nullptr) {
    return Refuse(command, absl::StrCat(command, " needs an object of --capabilities: ", command, " OBJECT",
                                        command == "commit" ? " TEXT" : ""));
  }
  ObjectService::Done done = Answering(command, object);
  if (command == "stat") return objects_->Stat(*right, std::move(done));
  if (command == "get") return objects_->Get(*right, std::move(done));
  if (command == "commit") return objects_->Commit(*right, value, std::move(done));
  const absl::Status status = objects_->Replay(right->object, std::move(done));
  if (!status.ok()) Refuse(command, OneLine(status.message()));
}

}  // namespace nekton
