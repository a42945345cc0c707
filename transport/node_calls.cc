// Calls that the loop's thread makes for others: they wait for it, or are told by a callback.
#include <map>
#include <memory>
#include <utility>

#include "transport/node_impl.h"

namespace nekton {
namespace {

// One call that the loop's thread makes for another, which waits for it.
class Call : public Waiter {
 public:
  explicit Call(std::function<void(Driver&)> work) : work_(std::move(work)) {}

  void Make(Driver& driver) { work_(driver); }

 private:
  const std::function<void(Driver&)> work_;
};

}  // namespace

absl::Status Node::Impl::Ask(std::string_view what, Duration timeout, std::function<void(Driver&)> work) {
  if (absl::Status status = CheckTimeout(timeout); !status.ok()) return status;
  if (delivery->OnDispatcher()) return WouldBlock(what);
  const auto call = std::make_shared<Call>(std::move(work));
  // Whoever drops the call unmade ends it, too.
  std::shared_ptr<Call> ends(call.get(), [call](Call* c) { c->End(false); });
  // Who has changed something reads it in Members() afterwards.
  const absl::Status taken = core->Call([ends](Driver& driver) { ends->Make(driver); }, [ends] { ends->End(true); });
  ends.reset();
  return taken.ok() ? call->Wait(timeout) : taken;
}

absl::Status Node::Impl::Order(std::string_view what, Duration timeout, Command order) {
  const auto result = std::make_shared<absl::Status>();
  const absl::Status asked =
      Ask(what, timeout, [result, order = std::move(order)](Driver& driver) { *result = driver.Order(order); });
  if (!asked.ok()) return asked;
  return std::move(*result);
}

absl::Status Node::Impl::OrderAsync(Command order, std::function<void(const absl::Status&)> done) {
  return AskAsync(std::move(done), [order = std::move(order)](Driver& driver) { return driver.Order(order); });
}

absl::Status Node::ObserveAsync(std::vector<PeerObservation> observations,
                                std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Observe{std::move(observations)}, std::move(done));
}

absl::Status Node::Observe(std::vector<PeerObservation> observations, Duration timeout) {
  return impl_->Order("Observe()", timeout, nekton::Observe{std::move(observations)});
}

absl::Status Node::ReconfigureAsync(nekton::Reconfigure changes, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(std::move(changes), std::move(done));
}

absl::Status Node::Reconfigure(nekton::Reconfigure changes, Duration timeout) {
  return impl_->Order("Reconfigure()", timeout, std::move(changes));
}

absl::Status Node::Reconfigure(DetectorKind detector) {
  const nekton::Reconfigure change{.detector = detector};
  // The configuration that we began with is sound, so that the mistake is this one's.
  if (const auto changed = Changed(impl_->core->config(), change); !changed.ok()) return changed.status();
  // It fails only where nothing is to be detected any more: after a leave or a displacement.
  return impl_->OrderAsync(change, nullptr);
}

absl::Status Node::MaintenanceAsync(std::string member, Duration duration,
                                    std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Maintenance{std::move(member), duration}, std::move(done));
}

absl::Status Node::Maintenance(std::string member, Duration duration, Duration timeout) {
  return impl_->Order("Maintenance()", timeout, nekton::Maintenance{std::move(member), duration});
}

absl::Status Node::ExpelAsync(std::string member, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Expel{std::move(member)}, std::move(done));
}

absl::Status Node::Expel(std::string member, Duration timeout) {
  return impl_->Order("Expel()", timeout, nekton::Expel{std::move(member)});
}

absl::Status Node::ExplainAsync(std::string name, std::function<void(const absl::StatusOr<MemberExplanation>&)> done) {
  return impl_->AskAsync(std::move(done), [name = std::move(name)](Driver& driver) {
    return driver.member().Explain(driver.Now(), name);
  });
}

absl::StatusOr<MemberExplanation> Node::Explain(std::string name, Duration timeout) {
  const auto result = std::make_shared<absl::StatusOr<MemberExplanation>>();
  const absl::Status asked = impl_->Ask("Explain()", timeout, [result, name = std::move(name)](Driver& driver) {
    *result = driver.member().Explain(driver.Now(), name);
  });
  if (!asked.ok()) return asked;
  return std::move(*result);
}

absl::Status Node::WatchAsync(std::string member, std::chrono::nanoseconds interval, std::vector<double> thresholds,
                              std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Watch{std::move(member), interval, std::move(thresholds)}, std::move(done));
}

absl::Status Node::Watch(std::string member, std::chrono::nanoseconds interval, std::vector<double> thresholds,
                         Duration timeout) {
  return impl_->Order("Watch()", timeout, nekton::Watch{std::move(member), interval, std::move(thresholds)});
}

absl::Status Node::UnwatchAsync(std::string member, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Unwatch{std::move(member)}, std::move(done));
}

absl::Status Node::Unwatch(std::string member, Duration timeout) {
  return impl_->Order("Unwatch()", timeout, nekton::Unwatch{std::move(member)});
}

absl::Status Node::LevelAsync(std::string member, std::function<void(const absl::StatusOr<double>&)> done) {
  return impl_->AskAsync(std::move(done), [member = std::move(member)](Driver& driver) {
    return driver.member().Level(driver.Now(), member);
  });
}

absl::StatusOr<double> Node::Level(std::string member, Duration timeout) {
  const auto result = std::make_shared<absl::StatusOr<double>>();
  const absl::Status asked = impl_->Ask("Level()", timeout, [result, member = std::move(member)](Driver& driver) {
    *result = driver.member().Level(driver.Now(), member);
  });
  if (!asked.ok()) return asked;
  return std::move(*result);
}

absl::Status Node::SetTagAsync(std::string key, std::string value, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::SetTag{std::move(key), std::move(value)}, std::move(done));
}

absl::Status Node::SetTag(std::string key, std::string value, Duration timeout) {
  return impl_->Order("SetTag()", timeout, nekton::SetTag{std::move(key), std::move(value)});
}

absl::Status Node::EraseTagAsync(std::string key, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::EraseTag{std::move(key)}, std::move(done));
}

absl::Status Node::EraseTag(std::string key, Duration timeout) {
  return impl_->Order("EraseTag()", timeout, nekton::EraseTag{std::move(key)});
}

absl::Status Node::SetTagsAsync(std::map<std::string, std::string> tags,
                                std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::SetTags{std::move(tags)}, std::move(done));
}

absl::Status Node::SetTags(std::map<std::string, std::string> tags, Duration timeout) {
  return impl_->Order("SetTags()", timeout, nekton::SetTags{std::move(tags)});
}

absl::Status Node::BroadcastAsync(std::string key, std::string bytes, std::function<void(const absl::Status&)> done) {
  return impl_->OrderAsync(nekton::Broadcast{std::move(key), std::move(bytes)}, std::move(done));
}

absl::Status Node::Broadcast(std::string key, std::string bytes, Duration timeout) {
  return impl_->Order("Broadcast()", timeout, nekton::Broadcast{std::move(key), std::move(bytes)});
}

absl::Status Node::HeldBroadcastsAsync(std::function<void(const std::vector<BroadcastInfo>&)> done) {
  return impl_->AskAsync(std::move(done), [](Driver& driver) { return driver.member().HeldBroadcasts(driver.Now()); });
}

absl::StatusOr<std::vector<BroadcastInfo>> Node::HeldBroadcasts(Duration timeout) {
  const auto held = std::make_shared<std::vector<BroadcastInfo>>();
  const absl::Status asked = impl_->Ask(
      "HeldBroadcasts()", timeout, [held](Driver& driver) { *held = driver.member().HeldBroadcasts(driver.Now()); });
  if (!asked.ok()) return asked;
  return std::move(*held);
}

}  // namespace nekton
