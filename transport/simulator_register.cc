// The simulator: the register of those who are candidates for the authority.

#include <utility>
#include <vector>

#include "transport/simulator_impl.h"

namespace nekton {

void Simulator::Impl::AskRegister(Process& process) {
  std::vector<RegisterRequest> requests = std::exchange(process.member->register_requests(), {});
  const std::shared_ptr<SimRegister> to = process.options.lease_register;
  if (to == nullptr) return;  // there is none: no answer ever comes
  if (process.register_life != process.life) {
    process.register_life = process.life;
    process.register_client = static_cast<SimRegister::Client>(register_clients_.size());
    register_clients_.emplace_back(process.id, process.life);
  }
  for (RegisterRequest& request : requests) to->Submit(process.register_client, std::move(request), Instant(now_));
  ScheduleRegister(to);
}

void Simulator::Impl::ScheduleRegister(const std::shared_ptr<SimRegister>& lease_register) {
  const Instant next = lease_register->NextWake();
  Instant& due = registers_.try_emplace(lease_register, kNever).first->second;
  if (next >= due) return;
  due = next;
  Schedule(next.time_since_epoch(), [this, lease_register, next] { TurnRegister(lease_register, next); });
}

void Simulator::Impl::TurnRegister(const std::shared_ptr<SimRegister>& lease_register, Instant due) {
  if (registers_[lease_register] != due) return;  // an earlier turn was scheduled since
  registers_[lease_register] = kNever;
  std::vector<SimRegister::Delivery> deliveries;
  lease_register->Advance(Instant(now_), deliveries);
  for (SimRegister::Delivery& delivery : deliveries) {
    const auto [id, life] = register_clients_[delivery.client];
    Process& process = *processes_[id];
    if (!process.member || process.life != life) continue;
    process.answers.emplace_back(delivery.id, std::move(delivery.answer));
    if (!process.paused) HearRegister(process);
  }
  ScheduleRegister(lease_register);
}

void Simulator::Impl::HearRegister(Process& process) {
  for (const auto& heard : std::exchange(process.answers, {})) {
    if (!process.member) return;
    Feed(process,
         [&heard](Member& its, const Tick& now, Outbox& out) { its.Answered(now, heard.first, heard.second, out); });
  }
}

}  // namespace nekton
