// The register in memory: a plain table, and the same table behind a network that delays, loses and forgets, on virtual
// time. Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lease/lease_record.h"
#include "lease/register.h"
#include "phi/time.h"
#include "swim/random.h"

namespace nekton {

class MemoryTable {
 public:
  RegisterAnswer Do(const RegisterRequest& request);  // kYes or kNo, at once
  RegisterAnswer Read(const std::string& key) const;
  std::uint64_t revision() const { return revision_; }
  // This table is a copy that was kept as a backup; now it is the table: see AfterRestore (lease/lease_record.h). `era`
  // must be above all before.
  void BeginAfterRestore(std::uint16_t era, Duration longest_lease);

 private:
  struct Entry {
    std::optional<std::string> value;  // nothing: deleted
    std::uint64_t version = kAbsent;
  };
  std::map<std::string, Entry> entries_;
  Entry unwritten_;  // what stands under keys that were never written
  std::uint64_t revision_ = 0;
};

// Between clients and a table. Each message is under way for a random time, or lost: then there is no answer at all, and
// it is the client that gives up. A lost request was not done, a lost reply's was.
class SimRegister {
 public:
  struct Faults {
    Duration delay_min{};
    Duration delay_max{};
    std::uint32_t lose_request_ppm = 0;
    std::uint32_t lose_reply_ppm = 0;
    // So many writes of a million are done whatever version they expect: a store that is no compare-and-set, to see that it
    // is found out.
    std::uint32_t careless_ppm = 0;
  };
  using Client = std::uint32_t;
  struct Delivery {
    Client client = 0;
    std::uint64_t id = 0;  // of the request; 0: a watch's news
    RegisterAnswer answer;
  };
  struct Load {
    std::uint64_t requests = 0;  // that reached the table
    std::uint64_t writes = 0;
    std::uint64_t lost = 0;
  };

  explicit SimRegister(std::uint64_t seed) : random_(seed) {}

  void set_faults(const Faults& faults) { faults_ = faults; }
  void Submit(Client client, RegisterRequest request, Instant now);
  void Watch(Client client, const std::string& key, Instant now);
  void Unwatch(Client client, const std::string& key);
  Instant NextWake() const { return flights_.empty() ? kNever : flights_.begin()->first.first; }
  // What has come about by `now`, oldest first.
  void Advance(Instant now, std::vector<Delivery>& out);
  // The store dies and is back `until` then: what is under way to it or from it until then is lost; the table stays.
  void Restart(Instant until) { down_until_ = until; }

  MemoryTable& table() { return table_; }
  const Load& load() const { return load_; }

 private:
  struct Flight {
    Client client = 0;
    bool reply = false;
    RegisterRequest request;
    RegisterAnswer answer;
  };
  Duration Delay();
  bool Lost(std::uint32_t ppm) { return ppm != 0 && random_.Below(1'000'000) < ppm; }
  void Put(Instant when, Flight flight) { flights_.emplace(std::pair(when, next_++), std::move(flight)); }
  void Arrive(Flight flight, Instant when);
  void Tell(const std::string& key, Instant when);

  Random random_;
  Faults faults_;
  MemoryTable table_;
  std::map<std::pair<Instant, std::uint64_t>, Flight> flights_;
  std::map<std::string, std::vector<Client>> watches_;
  std::uint64_t next_ = 0;
  Instant down_until_ = Instant::min();
  Load load_;
};

}  // namespace nekton
