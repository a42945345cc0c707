// The part of a node that lives on the loop. It belongs to its handles: it stays until the last of them is closed,
// which may be later than the Node.
//
// The order rule: libuv runs timers before it polls, but what waits in the sockets must be heard before anything is
// judged by time (a process that was stopped finds both). So the timer only notes that a wake is due; the loop takes
// further turns, without blocking, until one brought no input (at most kDrainTurns), and wakes the engine after its
// poll.
#pragma once

#include <uv.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lease/evidence.h"
#include "lease/held_view.h"
#include "lease/lease_counters.h"
#include "lease/view_store.h"
#include "stm/stm_counters.h"
#include "swim/counters.h"
#include "transport/delivery.h"
#include "transport/driver.h"
#include "transport/node_joins.h"
#include "transport/node_mail.h"
#include "transport/node_register_mail.h"
#include "transport/node_setup.h"
#include "transport/resolver.h"
#include "transport/seal_transport.h"
#include "transport/seeds.h"
#include "transport/store_worker.h"
#include "transport/uv_transport.h"

namespace nekton {

class NodeCore : public std::enable_shared_from_this<NodeCore>, private Transport::Receiver {
 public:
  struct Numbers {
    Counters engine;
    StmCounters stm;
    TransportCounters transport;
    std::uint64_t lookups = 0;
    std::uint64_t lookups_failed = 0;
    SealCounters seal;
    SourceTally refused;  // by the engine
    SourceTally refused_by_seal;
  };

  // On the loop's thread, or before it runs. `dispatch`: callbacks run on the loop, too. On an error the loop may have
  // handles left that close in its next turns.
  static absl::StatusOr<std::shared_ptr<NodeCore>> Open(uv_loop_t* loop, NodePlan plan, ResolveFunction resolve,
                                                        std::shared_ptr<Delivery> delivery, bool dispatch);

  // Thread-safe. FailedPrecondition once closed.
  absl::Status Join(const std::vector<std::string>& seeds);  // checked ones; ResourceExhausted: none was taken
  // The same, and `done` is called once, on the loop's thread, after what led to it was published; it is dropped if the
  // node is closed first. `limit` > 0.
  absl::Status Join(const std::vector<std::string>& seeds, Duration limit, NodeJoins::Done done);
  absl::Status Leave(Duration timeout);  // the first call counts
  // In a turn of the loop; dropped if the node is closed first. ResourceExhausted when 1,024 wait. `told` is called in
  // the same turn, on the loop's thread, after what came of the work was published.
  absl::Status Call(std::function<void(Driver&)> work, std::function<void()> told = nullptr);
  void Poke();          // the loop takes a turn
  void RequestClose();  // in a turn of the loop
  Numbers numbers() const;
  const Config& config() const { return config_; }
  bool has_leases() const { return has_leases_; }        // an authority is configured
  bool by_candidates() const { return by_candidates_; }  // namely one of several
  // Before its loop runs. Called where all callbacks are.
  void SetEvidenceHandler(std::function<void(const Evidence&)> handler);
  // Before its loop runs; called on the loop's thread with the name of a member that is SUSPECT, INACTIVE or gone, and must
  // not block.
  void SetDoubtHandler(std::function<void(const std::string&)> handler) { on_doubt_ = std::move(handler); }
  std::shared_ptr<const HeldView> held_view() const;
  std::vector<std::pair<std::string, std::uint64_t>> LeaseNumbers() const;  // none without an authority
  NodeMail& mail() { return *mail_; }
  SealTransport* seal() { return seal_; }  // on the loop's thread; null: frames are plain
  const Address& local() const { return local_; }
  const Address& advertised() const { return advertised_; }

  NodeCore(uv_loop_t* loop, NodePlan plan, ResolveFunction resolve, std::shared_ptr<Delivery> delivery, bool dispatch,
           std::unique_ptr<Transport> transport, Member member, const Address& advertised);

 private:
  static constexpr int kDrainTurns = 64;
  static constexpr std::size_t kCallsMax = 1024;
  struct CallOfLoop {
    std::function<void(Driver&)> work;
    std::function<void()> told;  // may be empty
  };

  static absl::StatusOr<std::shared_ptr<NodeCore>> OpenLone(uv_loop_t* loop, NodePlan plan, ResolveFunction resolve,
                                                            std::shared_ptr<Delivery> delivery, bool dispatch);
  absl::Status OpenHandles();
  Numbers CurrentNumbers() const;
  void OnDatagram(const Address& from, std::span<const std::byte> bytes) override;
  void OnRequest(const Address& from, ExchangeId id, std::span<const std::byte> bytes, bool busy) override;
  void OnAnswer(ExchangeId id, const absl::Status& status, std::span<const std::byte> bytes) override;
  void OnTrouble(const Address& about, Trouble trouble) override;
  // OnCheck() comes in this turn of the loop. It is not asked for otherwise: what a thousand nodes on one loop would do in
  // each turn, for nothing, is most of what they would do.
  void Stir();
  void OnTimer();
  void OnCheck();
  void OnAsync();
  bool Drained();
  void TurnSeeds();
  void EndJoins();
  void Flush();
  void Publish();
  // Views, homes and leases: node_core_leases.cc.
  void WriteViews();
  void AskRegister();
  void HearRegister();
  void PublishLeases();
  void EndWriting();
  void Notice(const Event& event);
  void Stranger(const Address& from, std::string_view what);
  void Log(LogLevel level, std::string line);
  void Rearm();
  void Close();
  void PartClosed();
  bool IsOwn(const Address& address, const std::vector<Address>& interfaces) const;

  const Config config_;
  const bool has_leases_;
  const bool by_candidates_;
  const Address advertised_;
  const bool dispatch_;
  uv_loop_t* const loop_;
  std::shared_ptr<Delivery> delivery_;
  const std::shared_ptr<NodeMail> mail_;
  std::unique_ptr<Transport> transport_;
  const TransportCounters* socket_counters_ = nullptr;  // of the sockets; null: there are none
  SealTransport* seal_ = nullptr;                       // where the transport is one
  const Address local_;
  Driver driver_;
  std::unique_ptr<Resolver> resolver_;
  Seeds seeds_;
  NodeJoins joins_;

  uv_timer_t timer_{};
  uv_idle_t idle_{};
  uv_check_t check_{};
  uv_async_t async_{};
  int open_parts_ = 0;
  bool closing_ = false;
  std::shared_ptr<NodeCore> self_;

  bool due_ = false;  // a wake is due, when the input is drained
  int turns_ = 0;
  std::uint64_t drained_inputs_ = 0;
  std::uint64_t flushed_changes_ = 0;
  bool dirty_ = true;        // something to flush that the driver does not know of
  bool seeds_dirty_ = true;  // seeds to look at whatever the time is
  Instant armed_ = kNever;   // what the timer is set for
  std::vector<Event> events_;
  std::vector<Mail> incoming_;
  std::vector<std::function<void()>> told_;  // of the calls that were made since the last Publish()
  std::vector<Outbox::Store> stores_;
  std::vector<Evidence> evidence_;
  std::function<void(const Evidence&)> on_evidence_;
  std::function<void(const std::string&)> on_doubt_;
  const std::shared_ptr<std::atomic<std::size_t>> evidence_waiting_ = std::make_shared<std::atomic<std::size_t>>(0);
  const std::shared_ptr<ViewStore> view_store_;
  std::shared_ptr<StoreWorker> store_worker_;  // from the first write on
  const std::shared_ptr<Register> register_;   // of a candidate; else null
  std::shared_ptr<RegisterMail> register_mail_;
  MembersView view_;
  std::uint64_t lookups_ = 0;
  std::uint64_t lookups_failed_ = 0;
  std::map<Address, absl::StatusCode> join_codes_;  // as last logged; bounded
  std::map<Address, Instant> strangers_;            // when last logged; bounded

  mutable std::mutex mutex_;  // over what follows
  bool closed_ = false;       // the async handle must not be used any more
  std::set<std::string> known_seeds_;
  std::vector<std::string> new_seeds_;
  std::optional<Duration> leave_;
  std::vector<CallOfLoop> calls_;
  std::vector<std::pair<StoreId, absl::Status>> stored_;
  std::shared_ptr<const HeldView> held_view_ = std::make_shared<const HeldView>();
  std::optional<LeaseCounters> lease_counters_;
  std::uint64_t evidence_lost_ = 0;
  bool leave_taken_ = false;
  bool close_wanted_ = false;
  Numbers numbers_;
};

}  // namespace nekton
