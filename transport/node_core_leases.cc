// Views, homes and leases of a node: what is written, published and told of them.
#include <utility>

#include "transport/node_core.h"

namespace nekton {
namespace {

constexpr std::size_t kEvidenceWaitingMax = 4096;

}  // namespace

void NodeCore::SetEvidenceHandler(std::function<void(const Evidence&)> handler) { on_evidence_ = std::move(handler); }

std::shared_ptr<const HeldView> NodeCore::held_view() const {
  const std::lock_guard lock(mutex_);
  return held_view_;
}

// On the worker's thread, which tells the loop.
void NodeCore::WriteViews() {
  driver_.TakeStores(stores_);
  for (const Outbox::Store& store : std::exchange(stores_, {})) {
    absl::StatusOr<View> view = DecodeView(store.bytes);
    if (!view.ok() || view_store_ == nullptr) continue;  // it is the member's own, and only an authority has one
    if (store_worker_ == nullptr) store_worker_ = std::make_shared<StoreWorker>();
    const auto done = [core = weak_from_this()](StoreId id, absl::Status status) {
      const std::shared_ptr<NodeCore> self = core.lock();
      if (self == nullptr) return;
      const std::lock_guard lock(self->mutex_);
      self->stored_.emplace_back(id, std::move(status));
      if (!self->closed_) uv_async_send(&self->async_);
    };
    const absl::Status posted = store_worker_->Post(
        [to = view_store_, id = store.id, view = *std::move(view), done] { done(id, to->Write(view)); });
    if (!posted.ok()) done(store.id, posted);
  }
}

// Calls of a register never block.
void NodeCore::AskRegister() {
  for (RegisterRequest& request : driver_.TakeRegisterRequests()) {
    if (register_ == nullptr) continue;
    auto done = [mail = register_mail_, id = request.id](RegisterAnswer answer) { mail->Put(id, std::move(answer)); };
    if (request.write) {
      register_->CompareAndSet(std::move(request.key), request.expected, std::move(request.value), std::move(done));
    } else {
      register_->Read(std::move(request.key), std::move(done));
    }
  }
}

void NodeCore::HearRegister() {
  for (const auto& [id, answer] : register_mail_->Take()) driver_.Answered(id, answer);
}

// A loop of our own waits for a write that is under way, so that the store is free when the node is stopped. The user's
// does not: the worker then goes with its last piece of work.
void NodeCore::EndWriting() {
  const std::shared_ptr<StoreWorker> worker = std::move(store_worker_);
  if (worker == nullptr || !dispatch_) return;
  (void)worker->Post([worker] {});  // where no thread can be had none has to be waited for
}

void NodeCore::PublishLeases() {
  const LeaseRoom& room = *driver_.leases();
  const bool news = held_view_->view.head != room.view().head || held_view_->current != room.current();
  std::shared_ptr<const HeldView> held;
  if (news) held = std::make_shared<const HeldView>(HeldView{room.view(), room.homes(), room.current()});
  driver_.TakeEvidence(evidence_);
  std::uint64_t lost = 0;
  {
    const std::lock_guard lock(mutex_);
    if (news) held_view_ = held;
    lease_counters_ = room.counters();
  }
  for (Evidence& evidence : std::exchange(evidence_, {})) {
    if (!on_evidence_) break;
    if (evidence_waiting_->load() >= kEvidenceWaitingMax) {
      ++lost;
      continue;
    }
    evidence_waiting_->fetch_add(1);
    delivery_->Post([handler = on_evidence_, waiting = evidence_waiting_, what = std::move(evidence)] {
      waiting->fetch_sub(1);
      handler(what);
    });
  }
  if (lost == 0) return;
  const std::lock_guard lock(mutex_);
  evidence_lost_ += lost;
}

std::vector<std::pair<std::string, std::uint64_t>> NodeCore::LeaseNumbers() const {
  const std::lock_guard lock(mutex_);
  if (!lease_counters_.has_value()) return {};
  const LeaseCounters& c = *lease_counters_;
  return {{"lease_views", c.views},
          {"lease_fences", c.fences},
          {"lease_renewals", c.renewals},
          {"lease_pings", c.pings},
          {"lease_fetches", c.fetches},
          {"lease_deltas", c.deltas},
          {"lease_fetched_bytes", c.fetched_bytes},
          {"lease_granted", c.granted},
          {"lease_bad_signature", c.bad_signature},
          {"lease_lower_epoch", c.lower_epoch},
          {"lease_other_digest", c.other_digest},
          {"lease_bad_body", c.bad_body},
          {"lease_bad_deltas", c.bad_deltas},
          {"lease_bad_message", c.bad_message},
          {"lease_other_terms", c.other_terms},
          {"lease_stray_answers", c.stray_answers},
          {"lease_forged_answers", c.forged_answers},
          {"lease_evidence_lost", evidence_lost_}};
}

}  // namespace nekton
