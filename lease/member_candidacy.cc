// A member that is a candidate: what its register says, and what that makes of its room.
#include <iterator>
#include <string>
#include <utility>

#include "lease/member.h"

namespace nekton {

void Member::Answered(const Tick& now, std::uint64_t id, const RegisterAnswer& answer, Outbox& out) {
  if (candidacy_ == nullptr || !begun_) return;
  CandidacyOutput todo;
  candidacy_->Answer(now, id, answer, todo);
  Heed(now, todo, out);
  After(now, out.events().size(), out);
}

// What has come to its time. Who leaves hands the seat over at once.
void Member::Contend(const Tick& now, Outbox& out) {
  CandidacyOutput todo;
  if (room_->over() && !std::exchange(stood_down_, true)) {
    candidacy_->End(now, todo);
  } else if (now.boot >= candidacy_->NextWake()) {
    candidacy_->Wake(now, todo);
  }
  Heed(now, todo, out);
  LeaseOutput output;
  room_->CheckMandate(now, output);
  Do(now, output, out);
}

void Member::Heed(const Tick& now, CandidacyOutput& todo, Outbox& out) {
  std::move(todo.requests.begin(), todo.requests.end(), std::back_inserter(register_requests_));
  LeaseOutput output;
  if (todo.lost) room_->Unseat(now, output);
  if (todo.taken.has_value() && !room_->Seat(now, std::move(todo.taken->mandate), todo.taken->view, output).ok()) {
    // What stands in the register is not this group's: nothing that we could do about it.
    CandidacyOutput ended;
    candidacy_->End(now, ended);
    stood_down_ = true;
    std::move(ended.requests.begin(), ended.requests.end(), std::back_inserter(register_requests_));
  }
  if (todo.stored.has_value()) {
    room_->Stored(
        now, todo.stored->epoch, todo.stored->status, [this](std::string_view name) { return Peer(name); }, output);
  }
  if (candidacy_->holder() != believed_) {
    believed_ = std::string(candidacy_->holder());
    room_->Believe(now, believed_);
  }
  Do(now, output, out);
}

}  // namespace nekton
