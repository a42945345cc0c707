// What one node knew of the group at one moment: an immutable snapshot.
//
// A value: cheap to copy, legal in any thread and inside callbacks. It stays as it is while the group moves on; read
// Node::Members() again for a newer one. None of its lists is a quorum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "swim/event.h"

namespace nekton {

class MembersView {
 public:
  // A list that keeps its snapshot alive, so `for (const auto& m : node->Members().Alive())` is safe.
  class List {
   public:
    using value_type = MemberPtr;
    const MemberPtr* begin() const { return span_.data(); }
    const MemberPtr* end() const { return span_.data() + span_.size(); }
    const MemberPtr& operator[](std::size_t i) const { return span_[i]; }
    std::size_t size() const { return span_.size(); }
    bool empty() const { return span_.empty(); }

   private:
    friend class MembersView;
    List(std::shared_ptr<const void> keep, std::span<const MemberPtr> span) : keep_(std::move(keep)), span_(span) {}
    std::shared_ptr<const void> keep_;
    std::span<const MemberPtr> span_;
  };

  MembersView();  // of nobody: all lists are empty, self() is null
  // `members` as Engine::Members() gives them.
  MembersView(std::vector<MemberPtr> members, std::uint64_t version, const Contact& contact = {});

  // Each list is a prefix of the next. Within one state the order is the one in which members were first heard of, self
  // first.
  List Alive() const;     // ACTIVE
  List Routable() const;  // ACTIVE and SUSPECT
  List All() const;       // also INACTIVE and LEFT
  // The member of that name, whatever its state; null where there is none. The first call on a snapshot sorts an index
  // (O(N log N)), further ones cost O(log N).
  MemberPtr Find(std::string_view name) const;
  const MemberPtr& self() const;
  std::uint64_t version() const;   // rises with every change of a member
  const Contact& contact() const;  // how much of the group was reached

 private:
  struct Table;
  std::shared_ptr<const Table> table_;
};

}  // namespace nekton
