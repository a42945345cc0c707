// Contenders for named leases and their register on one virtual clock, each step of it as a test wants it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lease/memory_register.h"
#include "lease/named_lease.h"

namespace nekton {

class LeaseRig {
 public:
  struct Told {
    Instant when{};  // true time
    LeaseEvent event;
  };
  struct Contender {
    std::unique_ptr<NamedLease> lease;
    std::vector<Told> told;
    std::shared_ptr<LeaseHold> hold;
    FencingToken last_token;
    bool cut = false;     // nothing reaches the register, nothing comes from it
    bool paused = false;  // what comes waits
    bool deaf = false;    // the register hears it, it hears nothing
    double rate = 1;      // of both clocks
    bool suspended = false;
    Duration wall{};  // how wrong its wall clock is
    std::uint64_t sent = 0;
    std::vector<SimRegister::Delivery> inbox;

    // Events of one kind.
    std::size_t Count(LeaseEventKind kind) const {
      return static_cast<std::size_t>(
          std::count_if(told.begin(), told.end(), [kind](const Told& t) { return t.event.kind == kind; }));
    }
    FencingToken token() const { return last_token; }

   private:
    friend class LeaseRig;
    Instant since{};
    Tick at{Instant(std::chrono::seconds(5000)), RawInstant(std::chrono::seconds(4000)), WallTime{}};
    Instant due = kNever;
  };

  explicit LeaseRig(std::uint64_t seed = 1) : store(seed), seed_(seed * 1'000'003) {
    Delay(std::chrono::milliseconds(1));
  }

  std::uint32_t Add(NamedLeaseOptions options) {
    if (options.name.empty()) options.name = "job";
    const auto i = static_cast<std::uint32_t>(members.size());
    if (options.holder.empty()) options.holder = absl::StrCat("m", i);
    const bool watched = options.watched;
    const std::string key = options.name;
    const std::vector<std::string> problems = ProblemsOf(options);
    if (!problems.empty()) std::abort();
    Contender& m = members.emplace_back();
    m.since = now;
    m.lease = std::make_unique<NamedLease>(std::move(options), seed_++);
    m.hold = m.lease->hold();
    if (watched) store.Watch(i, key, now);
    return i;
  }
  // Each way.
  void Delay(Duration each) { store.set_faults({.delay_min = each, .delay_max = each}); }

  Tick TickOf(std::uint32_t i) const {
    const Contender& m = members[i];
    const auto passed = Duration(static_cast<Duration::rep>(static_cast<double>((now - m.since).count()) * m.rate));
    Tick tick = m.at;
    tick.boot += passed;
    if (!m.suspended) tick.raw += passed;
    tick.wall = WallTime(now.time_since_epoch() + m.wall);
    return tick;
  }
  void SetRate(std::uint32_t i, double rate) {
    Rebase(i);
    members[i].rate = rate;
    Schedule(i);
  }
  void Suspend(std::uint32_t i, bool suspended) {
    Rebase(i);
    members[i].suspended = suspended;
    suspended ? Pause(i) : Continue(i);
  }
  void Pause(std::uint32_t i) { members[i].paused = true; }
  // The inbox first, as a shell does.
  void Continue(std::uint32_t i) {
    members[i].paused = false;
    for (SimRegister::Delivery& d : std::exchange(members[i].inbox, {})) Deliver(d);
    Do(i, [&](const Tick& tick, LeaseOutbox& out) { members[i].lease->Wake(tick, out); });
  }

  void Acquire(std::uint32_t i) {
    Do(i, [&](const Tick& tick, LeaseOutbox& out) { members[i].lease->Acquire(tick, out); });
  }
  bool Release(std::uint32_t i) {
    bool gave = false;
    Do(i, [&](const Tick& tick, LeaseOutbox& out) { gave = members[i].lease->Release(tick, out); });
    return gave;
  }
  void Do(std::uint32_t i, const std::function<void(const Tick&, LeaseOutbox&)>& what) {
    LeaseOutbox out;
    what(TickOf(i), out);
    Contender& m = members[i];
    for (RegisterRequest& request : out.requests) {
      ++m.sent;
      sent_at.push_back(now);
      if (!m.cut) store.Submit(i, std::move(request), now);
    }
    for (LeaseEvent& event : out.events) {
      if (event.kind == LeaseEventKind::kAcquired) m.last_token = event.token;
      m.told.push_back({now, std::move(event)});
    }
    Schedule(i);
  }
  bool Held(std::uint32_t i) const { return members[i].hold->Check(TickOf(i)).has_value(); }

  void RunFor(Duration time) {
    RunUntil(now + time, [] { return false; });
  }
  // False if it was not so by then.
  bool RunUntil(Instant end, const std::function<bool()>& done) {
    while (!done()) {
      const Instant next = std::min(store.NextWake(), due_.empty() ? kNever : due_.begin()->first);
      if (next > end) {
        now = end;
        return done();
      }
      now = std::max(now, next);
      std::vector<SimRegister::Delivery> deliveries;
      store.Advance(now, deliveries);
      for (SimRegister::Delivery& d : deliveries) Deliver(d);
      while (!due_.empty() && due_.begin()->first <= now) {
        const std::uint32_t i = due_.begin()->second;
        due_.erase(due_.begin());
        members[i].due = kNever;
        if (members[i].paused) continue;
        Do(i, [&](const Tick& tick, LeaseOutbox& out) { members[i].lease->Wake(tick, out); });
      }
    }
    return true;
  }
  bool RunUntilHeld(std::uint32_t i, Duration limit) {
    return RunUntil(now + limit, [&] { return Held(i); });
  }

  Instant now{};
  SimRegister store;
  std::vector<Contender> members;
  std::vector<Instant> sent_at;  // every request

 private:
  void Rebase(std::uint32_t i) {
    const Tick tick = TickOf(i);
    members[i].at = tick;
    members[i].since = now;
  }
  void Deliver(SimRegister::Delivery& d) {
    Contender& m = members[d.client];
    if (m.cut || m.deaf) return;
    if (m.paused) {
      m.inbox.push_back(std::move(d));
      return;
    }
    Do(d.client, [&](const Tick& tick, LeaseOutbox& out) {
      if (d.id == 0) {
        m.lease->Observe(d.answer, tick, out);
      } else {
        m.lease->Answer(d.id, d.answer, tick, out);
      }
    });
  }
  void Schedule(std::uint32_t i) {
    Contender& m = members[i];
    due_.erase({m.due, i});
    const Instant boot = m.lease->NextWake();
    if (boot == kNever) {
      m.due = kNever;
      return;
    }
    const auto in = static_cast<Duration::rep>(static_cast<double>((boot - TickOf(i).boot).count()) / m.rate);
    m.due = now + Duration(in + 1);
    due_.insert({m.due, i});
  }

  std::uint64_t seed_;
  std::set<std::pair<Instant, std::uint32_t>> due_;
};

// The most that fall into any span of this length.
inline std::size_t MostWithin(std::vector<Instant> times, Duration span) {
  std::sort(times.begin(), times.end());
  std::size_t most = 0;
  for (std::size_t from = 0, to = 0; to < times.size(); ++to) {
    while (times[to] - times[from] >= span) ++from;
    most = std::max(most, to - from + 1);
  }
  return most;
}

}  // namespace nekton
