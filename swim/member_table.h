// The rows of all members: found in O(1) by wire id, name or address, picked at random in O(1), probed in a shuffled
// round.
//
// It keeps what the engine decides; it decides nothing. Row 0 is ourselves. Not thread-safe; not movable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "stm/life_key.h"
#include "stm/state.h"
#include "swim/address.h"
#include "swim/event.h"
#include "swim/identities.h"
#include "swim/random.h"

namespace nekton {

inline constexpr PeerId kSelf = 0;

// One member: 64 bytes, name and tags apart. Change fields that an index or a sum hangs on through the table.
struct Row {
  std::uint64_t id = 0;  // MemberId(name, key.generation)
  LifeKey key;
  Address address;
  const Identity* who = nullptr;  // null: the row is free
  std::uint32_t ring = kNoPeer;   // position in the probe ring; kNoPeer: not in it
  MemberStatus status = MemberStatus::kActive;
  bool detailed = false;  // its tags are known as they are at this key
};
static_assert(sizeof(Row) <= 64);

class MemberTable {
 public:
  // `dead_too`: the digest is also over INACTIVE rows.
  // `identities`: where names and tags are kept; null: here.
  explicit MemberTable(std::size_t rows_max, bool dead_too = false, std::shared_ptr<Identities> identities = nullptr);
  ~MemberTable();
  MemberTable(const MemberTable&) = delete;
  MemberTable& operator=(const MemberTable&) = delete;

  const Row& operator[](PeerId row) const { return rows_[row]; }
  bool used(PeerId row) const { return row < rows_.size() && rows_[row].who != nullptr; }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(rows_.size()); }  // rows, free ones among them
  std::size_t size() const { return by_name_.size(); }
  bool IsAlive(PeerId row) const { return Counts(rows_[row].status); }  // ACTIVE or SUSPECT
  // ACTIVE and SUSPECT, self included.
  std::uint32_t alive() const { return alive_; }
  // All but the LEFT, self included.
  std::uint32_t present() const { return static_cast<std::uint32_t>(size()) - left_; }
  bool full() const { return size() >= rows_max_; }
  void RaiseMax(std::size_t rows_max) { rows_max_ = std::max(rows_max_, rows_max); }  // a smaller one is ignored

  PeerId FindId(std::uint64_t id) const;
  PeerId FindName(std::string_view name) const;
  // The member that was last heard to own the address.
  PeerId FindAddress(const Address& address) const;

  // A new row; kNoPeer when full. The first one added is self. The name must be new.
  PeerId Add(std::string_view name, const Address& address, LifeKey key, MemberStatus status, Random& random);
  void Remove(PeerId row);
  void SetStatus(PeerId row, MemberStatus status, Random& random);
  // Of another than ourselves, the tags may be others at another key: it is not detailed until they are set.
  void SetKey(PeerId row, LifeKey key);
  void SetAddress(PeerId row, const Address& address);
  void SetDetails(PeerId row, std::string_view tags, std::uint8_t version_min, std::uint8_t version_max);

  // Others that are ACTIVE or SUSPECT: whom to probe, relay through and gossip with.
  std::uint32_t ring_size() const { return static_cast<std::uint32_t>(ring_.size()); }
  // The next of the shuffled round: every one of the ring once before the order is shuffled anew. kNoPeer: none.
  PeerId NextInRound(Random& random);
  // Uniform over the ring; kNoPeer: empty.
  PeerId PickRandom(Random& random) const;
  // The ring member at `position` modulo its size (for bounded scans from a random start).
  PeerId RingAt(std::uint32_t position) const { return ring_[position % ring_.size()]; }

  // Order-free sum over the ACTIVE and SUSPECT rows of (name, generation, incarnation, tags). With heartbeats over the
  // INACTIVE, too, for a death is each observer's own there, and no difference that a sync could mend.
  std::uint32_t digest() const { return static_cast<std::uint32_t>(digest_ ^ (digest_ >> 32)); }
  // The row's summand in it; 0 where it does not count.
  std::uint64_t Term(PeerId row) const { return Term(rows_[row]); }
  // Rises with every change of a row.
  std::uint64_t version() const { return version_; }

  // The row as users see it, made anew only after a change.
  MemberPtr Info(PeerId row);
  // The same without keeping it: for events of engines whose tables nobody reads.
  MemberPtr MakeInfo(PeerId row) const;

 private:
  struct IdHash {
    using is_transparent = void;
    const std::vector<Row>* rows;
    std::size_t operator()(PeerId row) const { return (*rows)[row].id; }
    std::size_t operator()(std::uint64_t id) const { return id; }
  };
  struct IdEqual {
    using is_transparent = void;
    const std::vector<Row>* rows;
    bool operator()(PeerId a, PeerId b) const { return a == b; }
    bool operator()(PeerId a, std::uint64_t id) const { return (*rows)[a].id == id; }
    bool operator()(std::uint64_t id, PeerId b) const { return (*rows)[b].id == id; }
  };
  struct NameHash {
    using is_transparent = void;
    const std::vector<Row>* rows;
    std::size_t operator()(PeerId row) const { return (*this)(std::string_view((*rows)[row].who->name)); }
    std::size_t operator()(std::string_view name) const;
  };
  struct NameEqual {
    using is_transparent = void;
    const std::vector<Row>* rows;
    bool operator()(PeerId a, PeerId b) const { return a == b; }
    bool operator()(PeerId a, std::string_view name) const { return (*rows)[a].who->name == name; }
    bool operator()(std::string_view name, PeerId b) const { return (*rows)[b].who->name == name; }
  };
  struct AddressHash {
    using is_transparent = void;
    const std::vector<Row>* rows;
    std::size_t operator()(PeerId row) const { return (*rows)[row].address.Hash(); }
    std::size_t operator()(const Address& address) const { return address.Hash(); }
  };
  struct AddressEqual {
    using is_transparent = void;
    const std::vector<Row>* rows;
    bool operator()(PeerId a, PeerId b) const { return (*rows)[a].address == (*rows)[b].address; }
    bool operator()(PeerId a, const Address& address) const { return (*rows)[a].address == address; }
    bool operator()(const Address& address, PeerId b) const { return (*rows)[b].address == address; }
  };

  static bool Counts(MemberStatus status) {
    return status == MemberStatus::kActive || status == MemberStatus::kSuspect;
  }
  std::uint64_t Term(const Row& row) const;
  void Changed(PeerId row);
  void EnterRing(PeerId row, Random& random);
  void LeaveRing(PeerId row);
  void Own(PeerId row);     // makes the row the owner of its address
  void Disown(PeerId row);  // if it is

  const std::shared_ptr<Identities> identities_;
  std::vector<MemberPtr> shown_;  // by row: what was last shown to a user; null when it has changed since
  std::size_t rows_max_;
  bool dead_too_;
  std::vector<Row> rows_;
  std::vector<PeerId> free_;
  absl::flat_hash_set<PeerId, IdHash, IdEqual> by_id_;
  absl::flat_hash_set<PeerId, NameHash, NameEqual> by_name_;
  absl::flat_hash_set<PeerId, AddressHash, AddressEqual> by_address_;
  std::vector<PeerId> ring_;
  std::uint32_t cursor_ = 0;  // ring_[0, cursor_) were probed in this round
  std::uint32_t alive_ = 0;
  std::uint32_t left_ = 0;
  std::uint64_t digest_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace nekton
