#include "examples/agent/group_keys.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPrefix = "nekton-keys ";
constexpr Duration kBudget = 5s;  // for one member

using Ids = std::vector<SealKey::Id>;

std::string Text(const Ids& ids) {
  return absl::StrJoin(ids, " ", [](std::string* out, SealKey::Id id) { out->append(KeyIdText(id)); });
}

std::vector<std::byte> ToBytes(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}
std::string ToText(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Applies one change here. Legal in a callback; `done` comes unless the returned status is not OK.
absl::Status Apply(Node& node, const std::string& verb, const std::string& what,
                   std::function<void(const absl::Status&)> done) {
  if (verb == "add") {
    const absl::StatusOr<SealKey> key = SealKey::Parse(what);
    return key.ok() ? node.AddKeyAsync(*key, std::move(done)) : key.status();
  }
  const absl::StatusOr<SealKey::Id> id = ParseKeyId(what);
  if (!id.ok()) return id.status();
  if (verb == "use") return node.UseKeyAsync(*id, std::move(done));
  if (verb == "remove") return node.RemoveKeyAsync(*id, std::move(done));
  return absl::InvalidArgumentError("keys: add, use or remove");
}

// The keys of another member, or what became of a change there.
absl::StatusOr<std::string> Ask(Node& node, const std::string& member, std::string_view words) {
  const std::string request =
      absl::StrCat(absl::string_view(kPrefix.data(), kPrefix.size()), absl::string_view(words.data(), words.size()));
  absl::StatusOr<std::vector<std::byte>> answer =
      node.Request(member, ToBytes(request), {.budget = kBudget, .idempotent = true});
  if (!answer.ok()) return answer.status();
  return ToText(*answer);
}

std::vector<std::string> Others(const Node& node) {
  std::vector<std::string> names;
  for (const MemberPtr& member : node.Members().Alive()) {
    if (!member->self) names.push_back(member->name);
  }
  return names;
}

// Who must not be left behind: every member, asked for its keys.
absl::Status CheckEveryone(Node& node, const std::string& verb, SealKey::Id id) {
  std::vector<std::string> against;
  const auto judge = [&](const std::string& name, const absl::StatusOr<std::string>& keys) {
    if (!keys.ok()) {
      against.push_back(absl::StrCat(name, " (", keys.status().message(), ")"));
      return;
    }
    const std::string wanted = KeyIdText(id);
    const std::vector<std::string> ids = absl::StrSplit(*keys, ' ');
    const bool has = std::find(ids.begin(), ids.end(), wanted) != ids.end();
    if (verb == "use" && !has) against.push_back(absl::StrCat(name, " (does not have it)"));
    if (verb == "remove" && ids.front() == wanted) against.push_back(absl::StrCat(name, " (seals with it)"));
  };
  const absl::StatusOr<Ids> own = node.Keys(kBudget);
  judge("this member", own.ok() ? absl::StatusOr<std::string>(Text(*own)) : own.status());
  for (const std::string& name : Others(node)) judge(name, Ask(node, name, "list"));
  if (against.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("nothing was changed, for it would cut members off: ", absl::StrJoin(against, ", ")));
}

absl::Status ApplyHere(Node& node, const std::string& verb, const std::string& what) {
  if (verb == "add") {
    const absl::StatusOr<SealKey> key = SealKey::Parse(what);
    return key.ok() ? node.AddKey(*key, kBudget) : key.status();
  }
  const absl::StatusOr<SealKey::Id> id = ParseKeyId(what);
  if (!id.ok()) return id.status();
  return verb == "use" ? node.UseKey(*id, kBudget) : node.RemoveKey(*id, kBudget);
}

}  // namespace

void ServeGroupKeys(Node& node) {
  node.OnRequest([&node](const Message& message, Responder given) {
    const std::string text = ToText(message.body);
    const auto responder = std::make_shared<Responder>(std::move(given));
    const auto answer = [responder](const absl::Status& status, std::string_view words) {
      (status.ok() ? responder->Answer(ToBytes(words)) : responder->Fail(status)).IgnoreError();
    };
    if (text.substr(0, kPrefix.size()) != kPrefix) return answer(absl::UnimplementedError("no such request"), "");
    const std::vector<std::string> words = absl::StrSplit(text.substr(kPrefix.size()), ' ');
    absl::Status taken;
    if (words[0] == "list") {
      taken = node.KeysAsync(
          [answer](const absl::StatusOr<Ids>& ids) { answer(ids.status(), ids.ok() ? Text(*ids) : ""); });
    } else {
      taken = Apply(node, words[0], words.size() > 1 ? words[1] : "",
                    [answer](const absl::Status& status) { answer(status, "done"); });
    }
    if (!taken.ok()) answer(taken, "");
  });
}

absl::StatusOr<std::string> ChangeGroupKeys(Node& node, std::string_view line) {
  std::vector<std::string> words = absl::StrSplit(absl::string_view(line.data(), line.size()), ' ', absl::SkipEmpty());
  if (words.empty()) {
    const absl::StatusOr<Ids> ids = node.Keys(kBudget);
    if (!ids.ok()) return ids.status();
    return absl::StrCat(Text(*ids), " (the first seals)");
  }
  if (words[0] == "new" && words.size() == 1) words = {"add", SealKey::Generate().ToHex()};
  const bool known = words[0] == "add" || words[0] == "use" || words[0] == "remove";
  if (!known || words.size() != 2) {
    return absl::InvalidArgumentError("keys, keys new, keys add HEX, keys use ID, keys remove ID");
  }
  if (words[0] != "add") {
    const absl::StatusOr<SealKey::Id> id = ParseKeyId(words[1]);
    if (!id.ok()) return id.status();
    if (absl::Status status = CheckEveryone(node, words[0], *id); !status.ok()) return status;
  }
  if (absl::Status status = ApplyHere(node, words[0], words[1]); !status.ok()) return status;
  std::size_t done = 1;
  std::vector<std::string> failed;
  for (const std::string& name : Others(node)) {
    const absl::StatusOr<std::string> result = Ask(node, name, absl::StrCat(words[0], " ", words[1]));
    if (result.ok()) {
      ++done;
    } else {
      failed.push_back(absl::StrCat(name, " (", result.status().message(), ")"));
    }
  }
  const std::string what = words[0] == "add" ? KeyIdText(SealKey::Parse(words[1])->id()) : words[1];
  if (failed.empty()) return absl::StrCat(words[0], " ", what, ": done at ", done, " members");
  return absl::UnavailableError(
      absl::StrCat(words[0], " ", what, ": done at ", done, " members, but not at ", absl::StrJoin(failed, ", ")));
}

}  // namespace nekton
