// The events of a member, replayed into a model of what its user then knows, which is compared with what it holds.
//
// Every mistake is a line in mistakes(): an event that is no legal step of the state machine, one without a change, a key
// or a version that goes back, a broadcast that comes twice or after a newer one, and a table that the events do not tell
// of. One for each process: a restart begins with an empty one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lease/member.h"
#include "swim/event.h"

namespace nekton {

class EventReplay {
 public:
  void Take(const Event& event) {
    if (event.kind == EventKind::kBroadcast) return TakeBroadcast(event);
    if (!IsOfMember(event.kind)) return;
    ++changes_;
    if (event.member->self) return TakeOwn(event);
    TakeStep(event);
  }

  // What it holds now must be what the events told. Tombstones that it learned as such it tells nobody of.
  void Compare(const Member& engine) {
    std::set<std::string> held;
    for (const MemberPtr& row : engine.Members()) {
      if (row->self) {
        Expect(own_tags_.empty() || own_tags_.back() == row->tags, "its own tags", *row);
        continue;
      }
      held.insert(row->name);
      const auto known = rows_.find(row->name);
      const bool gone = row->status == MemberStatus::kInactive || row->status == MemberStatus::kLeft;
      if (known == rows_.end()) {
        Expect(gone, "no event told of it", *row);
        continue;
      }
      const MemberInfo& told = known->second;
      Expect(told.status == row->status, absl::StrCat("was told as ", Text(told)), *row);
      Expect(told.key <= row->key, "an older key than was told", *row);
      if (gone) continue;
      Expect(told.key.generation == row->key.generation, "no event told of this life", *row);
      Expect(told.tags == row->tags, absl::StrCat("other tags than ", Text(told)), *row);
      Expect(told.address == row->address, absl::StrCat("another address than ", Text(told)), *row);
    }
    for (const auto& [name, told] : rows_) Expect(held.contains(name), "is held no more, and no event said so", told);
    const bool changed = changes_ != compared_changes_;
    Expect(engine.version() >= compared_version_ && (!changed || engine.version() > compared_version_),
           absl::StrCat("the version was ", compared_version_, " and is ", engine.version()), *engine.Self());
    compared_changes_ = changes_;
    compared_version_ = engine.version();
  }

  std::size_t UpdatesOf(const std::string& name) const {
    const auto it = updates_.find(name);
    return it == updates_.end() ? 0 : it->second;
  }
  std::size_t steps() const { return changes_; }
  std::size_t Told(const std::string& key, const std::string& bytes) const { return told_.count({key, bytes}); }
  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  static bool IsOfMember(EventKind kind) {
    switch (kind) {
      case EventKind::kJoined:
      case EventKind::kSuspected:
      case EventKind::kRecovered:
      case EventKind::kFailed:
      case EventKind::kLeft:
      case EventKind::kRestarted:
      case EventKind::kReplaced:
      case EventKind::kUpdated:
      case EventKind::kForgotten:
        return true;
      default:
        return false;
    }
  }
  static std::string Text(const MemberInfo& member) {
    std::string text = absl::StrCat(member.name, " ", std::string(Name(member.status)), " at ",
                                    member.address.ToString(), " ", member.key.generation, ".", member.key.incarnation);
    for (const auto& [key, value] : member.tags) absl::StrAppend(&text, " ", key, "=", value);
    return text;
  }
  void Expect(bool right, const std::string& what, const MemberInfo& member) {
    if (!right) mistakes_.push_back(absl::StrCat(Text(member), ": ", what));
  }
  static bool Present(MemberStatus status) {
    return status == MemberStatus::kActive || status == MemberStatus::kSuspect;
  }

  void TakeOwn(const Event& event) {
    Expect(event.kind == EventKind::kUpdated, "its own row can only be updated", *event.member);
    Expect(own_tags_.empty() || own_tags_.back() != event.member->tags, "nothing was updated", *event.member);
    own_tags_.push_back(event.member->tags);
    ++updates_[event.member->name];
  }

  void TakeStep(const Event& event) {
    const MemberInfo& now = *event.member;
    const auto known = rows_.find(now.name);
    const bool fresh = known == rows_.end();
    const auto step = [&](bool legal) {
      Expect(legal,
             absl::StrCat("an illegal step: ", Describe(event), fresh ? "" : ", told as ",
                          fresh ? "" : Text(known->second)),
             now);
    };
    const MemberStatus before = event.before;
    const MemberStatus told = fresh ? before : known->second.status;
    if (event.kind == EventKind::kJoined) {
      step(fresh && now.status == MemberStatus::kActive);
    } else {
      step(before == told);              // it begins where the last one ended
      step(!fresh || !Present(before));  // only of the dead nothing may have been told
    }
    step(StepIsLegal(event, known == rows_.end() ? nullptr : &known->second));
    if (event.kind == EventKind::kUpdated) ++updates_[now.name];
    if (event.kind == EventKind::kForgotten) {
      if (!fresh) rows_.erase(known);
      last_at_.erase(now.name);
      return;
    }
    if (!fresh) Expect(known->second.key <= now.key, absl::StrCat("it was told as ", Text(known->second)), now);
    rows_[now.name] = now;
    last_at_[now.name] = event.at;
  }

  bool StepIsLegal(const Event& event, const MemberInfo* known) const {
    const MemberInfo& now = *event.member;
    const MemberStatus before = event.before;
    const MemberStatus after = now.status;
    switch (event.kind) {
      case EventKind::kJoined:
        return true;
      case EventKind::kSuspected:
        return before == MemberStatus::kActive && after == MemberStatus::kSuspect;
      case EventKind::kRecovered:
        return (before == MemberStatus::kSuspect || before == MemberStatus::kInactive) &&
               after == MemberStatus::kActive;
      case EventKind::kFailed:
        return Present(before) && after == MemberStatus::kInactive;
      case EventKind::kReplaced:
        return Present(before) && after == MemberStatus::kInactive;
      case EventKind::kLeft:
        return before != MemberStatus::kLeft && after == MemberStatus::kLeft;
      case EventKind::kRestarted:
        return after == MemberStatus::kActive &&
               (event.generation_before == 0 || event.generation_before < now.key.generation) &&
               (known == nullptr || known->key.generation < now.key.generation);
      case EventKind::kUpdated:
        // A suspect that refutes with new tags is told as recovered first, and that shows them.
        return Present(before) && before == after && known != nullptr &&
               (known->tags != now.tags || known->address != now.address || last_at_.at(now.name) == event.at);
      case EventKind::kForgotten:
        return !Present(before);
      default:
        return false;
    }
  }

  // Tests say "origin/life/number" with each: none comes twice, nor after a newer one of its origin's.
  void TakeBroadcast(const Event& event) {
    const BroadcastInfo& said = *event.broadcast;
    if (!told_.insert({said.key, said.bytes}).second) {
      mistakes_.push_back(absl::StrCat("told twice: ", said.key, " = ", said.bytes));
    }
    const std::size_t slash = said.bytes.rfind('/');
    const std::uint64_t number = std::stoull(said.bytes.substr(slash + 1));
    auto& newest = newest_[{said.key, said.bytes.substr(0, slash)}];
    if (number <= newest) mistakes_.push_back(absl::StrCat("after a newer one: ", said.key, " = ", said.bytes));
    newest = number;
  }

  std::map<std::string, MemberInfo> rows_;
  std::map<std::string, Instant> last_at_;  // of the last event of each
  std::map<std::string, std::size_t> updates_;
  std::vector<std::map<std::string, std::string>> own_tags_;
  std::set<std::pair<std::string, std::string>> told_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> newest_;
  std::size_t changes_ = 0;
  std::size_t compared_changes_ = 0;
  std::uint64_t compared_version_ = 0;
  std::vector<std::string> mistakes_;
};

}  // namespace nekton
