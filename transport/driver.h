// A member and a transport put together: every input goes in with a reading of the clocks, and what it caused goes out.
//
// Belongs to no loop. Who owns it calls Wake() when NextWake() has come, and takes the events when it likes:
//
//   Driver driver(std::move(member), transport, ReadClocks);
//   transport.Open(&driver);
//   ... the loop: wait until driver.NextWake() or input; input first, then driver.Wake(); then driver.TakeEvents()
//
// Lives on the transport's thread. Both must outlive it, or the transport be closed before.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lease/member.h"
#include "transport/source_tally.h"
#include "transport/transport.h"

namespace nekton {

class Driver final : public Transport::Receiver {
 public:
  Driver(Member member, Transport& transport, std::function<Tick()> clock);

  void OnDatagram(const Address& from, std::span<const std::byte> bytes) override;
  void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override;
  void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override;
  void OnTrouble(const Address& about, Trouble trouble) override;

  void Wake();
  absl::Status Order(const Command& command);
  // A store of TakeStores() has ended.
  void Stored(StoreId id, const absl::Status& status);
  // And a request of TakeRegisterRequests().
  void Answered(std::uint64_t id, const RegisterAnswer& answer);
  absl::Status Move(const ObjectId& object, std::string_view to);
  LeaseRoom* leases() { return member_.leases(); }  // null: no authority
  Instant NextWake() const { return member_.NextWake(); }
  Tick Now() const { return clock_(); }

  // Appends what has happened since the last call, in order.
  void TakeEvents(std::vector<Event>& events);
  void TakeMail(std::vector<Mail>& mail);
  void TakeStores(std::vector<Outbox::Store>& stores);
  void TakeEvidence(std::vector<Evidence>& evidence);
  std::vector<RegisterRequest> TakeRegisterRequests() { return std::exchange(member_.register_requests(), {}); }
  const Member& member() const { return member_; }
  // Whose datagrams the member refused (bad_* of its counters).
  const SourceTally& refused() const { return refused_; }
  std::uint64_t inputs() const { return inputs_; }    // of the network, so far
  std::uint64_t changes() const { return changes_; }  // inputs of any kind, so far

 private:
  void Drain();

  Member member_;
  Transport& transport_;
  std::function<Tick()> clock_;
  Outbox out_;
  std::vector<Event> events_;
  std::vector<Mail> mail_;
  std::vector<Outbox::Store> stores_;
  SourceTally refused_;
  std::uint64_t inputs_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace nekton
