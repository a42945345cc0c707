// Views, homes and leases.
#include <memory>
#include <utility>

#include "transport/node_impl.h"

namespace nekton {
namespace {

ObjectDecision Decided(Driver& driver, const ObjectRequest& request) {
  LeaseRoom& room = *driver.leases();
  const Tick now = driver.Now();
  Decision decision = room.Decide(now, request);
  ObjectDecision made;
  made.verdict = decision.verdict;
  made.epoch = decision.epoch;
  made.moved_to = std::move(decision.moved_to);
  made.answer.assign(decision.answer.begin(), decision.answer.end());
  made.detail = std::move(decision.detail);
  if (made.verdict == Verdict::kServe) {
    made.read_left = room.leases().ReadLeft(now);
    made.write_left = room.leases().WriteLeft(now);
  }
  return made;
}

LeaseStanding StandingOf(Driver& driver) {
  const LeaseRoom& room = *driver.leases();
  const Tick now = driver.Now();
  return {room.Standing(now), room.leases().ReadLeft(now), room.Totals(), room.counters(), room.routes().routes()};
}

}  // namespace

absl::Status Node::CheckLeases() const {
  if (impl_->core->has_leases()) return absl::OkStatus();
  return absl::FailedPreconditionError("no authority is configured (NodeOptions::leases)");
}

std::shared_ptr<const HeldView> Node::view() const { return impl_->core->held_view(); }

absl::Status Node::RouteAsync(ObjectId object, std::function<void(const Route&)> done) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  return impl_->AskAsync(std::move(done), [object](Driver& driver) { return driver.leases()->Find(object); });
}

absl::StatusOr<Route> Node::FindRoute(ObjectId object, Duration timeout) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  const auto route = std::make_shared<Route>();
  const absl::Status asked =
      impl_->Ask("FindRoute()", timeout, [route, object](Driver& driver) { *route = driver.leases()->Find(object); });
  if (!asked.ok()) return asked;
  return std::move(*route);
}

absl::Status Node::RedirectAsync(ObjectId object, std::string home, std::uint64_t home_epoch,
                                 std::function<void(bool)> done) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  std::function<void(const bool&)> told;
  if (done) told = [done = std::move(done)](const bool& took) { done(took); };
  return impl_->AskAsync(std::move(told), [object, home = std::move(home), home_epoch](Driver& driver) {
    return driver.leases()->Redirect(object, home, home_epoch);
  });
}

absl::Status Node::DecideAsync(ObjectRequest request, std::function<void(const ObjectDecision&)> done) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  return impl_->AskAsync(std::move(done),
                         [request = std::move(request)](Driver& driver) { return Decided(driver, request); });
}

absl::Status Node::ServedAsync(ObjectRequest request, std::vector<std::byte> answer) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  return impl_->core->Call([request = std::move(request), answer = std::move(answer)](Driver& driver) {
    driver.leases()->Served(request, answer);
  });
}

absl::Status Node::ServeAsync(ObjectRequest request, std::function<std::vector<std::byte>()> serve,
                              std::function<void(const ObjectDecision&)> done) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  return impl_->AskAsync(std::move(done), [request = std::move(request), serve = std::move(serve)](Driver& driver) {
    ObjectDecision decision = Decided(driver, request);
    if (decision.verdict != Verdict::kServe) return decision;
    decision.answer = serve();
    driver.leases()->Served(request, decision.answer);
    return decision;
  });
}

absl::Status Node::StandingAsync(std::function<void(const LeaseStanding&)> done) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  return impl_->AskAsync(std::move(done), StandingOf);
}

absl::StatusOr<LeaseStanding> Node::Standing(Duration timeout) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  const auto standing = std::make_shared<LeaseStanding>();
  const absl::Status asked =
      impl_->Ask("Standing()", timeout, [standing](Driver& driver) { *standing = StandingOf(driver); });
  if (!asked.ok()) return asked;
  return std::move(*standing);
}

absl::Status Node::MoveAsync(ObjectId object, std::string to, std::function<void(const absl::Status&)> done) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  return impl_->AskAsync(std::move(done),
                         [object, to = std::move(to)](Driver& driver) { return driver.Move(object, to); });
}

absl::Status Node::Move(ObjectId object, std::string to, Duration timeout) {
  if (absl::Status status = CheckLeases(); !status.ok()) return status;
  const auto result = std::make_shared<absl::Status>();
  const absl::Status asked = impl_->Ask(
      "Move()", timeout, [result, object, to = std::move(to)](Driver& driver) { *result = driver.Move(object, to); });
  if (!asked.ok()) return asked;
  return std::move(*result);
}

}  // namespace nekton
