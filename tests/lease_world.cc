#include "tests/lease_world.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// A machine's two clocks over true time, straight between changes.
class Clocks {
 public:
  void Change(Instant now, double boot_rate, double raw_rate) {
    at_ = Read(now);
    since_ = now;
    boot_rate_ = boot_rate;
    raw_rate_ = raw_rate;
  }
  Tick Read(Instant now) const {
    const double passed = static_cast<double>((now - since_).count());
    Tick tick = at_;
    tick.boot += Duration(static_cast<Duration::rep>(passed * boot_rate_));
    tick.raw += Duration(static_cast<Duration::rep>(passed * raw_rate_));
    return tick;
  }
  Instant TrueTimeOf(Instant boot) const {
    if (boot == kNever) return kNever;
    return since_ + Duration(static_cast<Duration::rep>(static_cast<double>((boot - at_.boot).count()) / boot_rate_)) +
           1us;
  }

 private:
  Instant since_{};
  Tick at_{Instant(1000s), RawInstant(900s), WallTime{}};
  double boot_rate_ = 1;
  double raw_rate_ = 1;
};

struct Contender {
  std::string name;
  std::uint64_t generation = 1;
  std::unique_ptr<NamedLease> lease;
  Clocks clocks;
  double raw_rate = 1;
  bool asleep = false;
  bool dead = false;
  Instant busy_until{};  // asleep or dead
  Instant act_at{};
  Instant woke_at = Instant(-1s);
  std::vector<SimRegister::Delivery> inbox;
  std::shared_ptr<LeaseHold> hold;  // the last that it was told
  bool believes = false;            // between acquired and lost or release
  FencingToken token;
  // kCountsFromAnswer: by its own count.
  Duration counted_from{};
  LeaseClock own_clock;
  std::map<std::uint64_t, bool> writes;  // requests under way that write
};

struct Write {
  std::uint32_t member = 0;
  FencedRequest request;
  bool advance = false;
};

class World {
 public:
  explicit World(const LeaseWorldOptions& options)
      : o_(options), random_(options.seed), register_(random_.Next()), resource_(FenceOptions{}) {
    members_.resize(o_.members);
    for (std::uint32_t i = 0; i < o_.members; ++i) {
      members_[i].name = absl::StrCat("m", i);
      members_[i].act_at = now_ + Part(o_.duration);
      Drift(members_[i]);
      Start(i);
    }
  }

  LeaseWorldResult Run() {
    // Bounded in time, too: where nobody can get the lease any more the test is to see it.
    const Instant end = Instant(o_.duration * static_cast<Duration::rep>(40 * o_.acquisitions));
    while (result_.acquisitions < o_.acquisitions && now_ < end) Turn();
    result_.simulated = now_ - Instant{};
    result_.lost_messages = register_.load().lost;
    return result_;
  }

 private:
  Duration Part(Duration of) {
    return Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(of.count())));
  }
  bool Chance(std::uint32_t percent) { return random_.Below(100) < percent; }
  double Rate(std::int64_t ppm) {
    const double part = o_.extreme ? (Chance(50) ? 1.0 : -1.0) : random_.Unit() * 2 - 1;
    return part * static_cast<double>(ppm) * 1e-6;
  }

  void Drift(Contender& m) {
    m.raw_rate = 1 + Rate(o_.drift_ppm);
    m.clocks.Change(now_, m.raw_rate * (1 + Rate(o_.slew_ppm)), m.raw_rate);
  }

  void Start(std::uint32_t i) {
    Contender& m = members_[i];
    NamedLeaseOptions options;
    options.name = "job";
    options.holder = m.name;
    options.generation = m.generation;
    options.duration = o_.duration;
    options.drift_ppm = o_.variant == LeaseVariant::kNoDriftMargin ? 0 : o_.rho_ppm;
    options.watched = o_.watched;
    m.lease = std::make_unique<NamedLease>(options, random_.Next());
    m.hold = nullptr;
    m.believes = false;
    m.own_clock = LeaseClock{};
    m.writes.clear();
    if (o_.watched) register_.Watch(i, "job", now_);
  }

  Tick TickOf(const Contender& m) const {
    Tick tick = m.clocks.Read(now_);
    if (o_.variant == LeaseVariant::kBootClockOnly) tick.raw = RawInstant(tick.boot.time_since_epoch());
    return tick;
  }

  // By its own clocks, whether or not it is awake to look.
  bool Holds(const Contender& m) const {
    if (!m.believes) return false;
    if (o_.variant == LeaseVariant::kCountsFromAnswer) {
      return m.own_clock.Longer(TickOf(m)) - m.counted_from <= UsableOf(o_.duration, o_.rho_ppm);
    }
    return m.hold->Holds(m.token, TickOf(m));
  }

  void CheckAlone(std::uint32_t i) {
    if (!Holds(members_[i])) return;
    for (std::uint32_t j = 0; j < members_.size(); ++j) {
      if (j != i && Holds(members_[j])) ++result_.two_holders;
    }
  }

  void Turn() {
    Instant next = register_.NextWake();
    for (const Contender& m : members_) {
      const bool away = m.asleep || m.dead;
      const Instant wake = away ? m.busy_until : std::min(m.act_at, m.clocks.TrueTimeOf(m.lease->NextWake()));
      next = std::min(next, wake);
    }
    if (!writes_.empty()) next = std::min(next, writes_.begin()->first);
    now_ = std::max(now_, next);
    while (!writes_.empty() && writes_.begin()->first <= now_) Arrive(writes_.extract(writes_.begin()).mapped());
    deliveries_.clear();
    register_.Advance(now_, deliveries_);
    for (SimRegister::Delivery& delivery : deliveries_) {
      Contender& m = members_[delivery.client];
      if (m.asleep) {
        m.inbox.push_back(std::move(delivery));
      } else if (!m.dead) {
        Deliver(delivery.client, delivery);
      }
    }
    for (std::uint32_t i = 0; i < members_.size(); ++i) TurnOf(i);
    if (random_.Below(400) == 0) Disturb();
  }

  void TurnOf(std::uint32_t i) {
    Contender& m = members_[i];
    if (m.asleep || m.dead) {
      if (now_ >= m.busy_until) Return(i);
      return;
    }
    if (m.clocks.TrueTimeOf(m.lease->NextWake()) <= now_) {
      LeaseOutbox out;
      m.lease->Wake(TickOf(m), out);
      ++result_.wakes;
      if (out.requests.empty() && out.events.empty() && now_ - m.woke_at < 1ms) ++result_.idle_wakes;
      m.woke_at = now_;
      Take(i, out);
    }
    if (now_ >= m.act_at) Act(i);
  }

  void Return(std::uint32_t i) {
    Contender& m = members_[i];
    Drift(m);
    m.act_at = now_ + Part(o_.duration / 2);
    if (std::exchange(m.dead, false)) {
      ++m.generation;
      Start(i);
      return;
    }
    m.asleep = false;
    CheckAlone(i);
    // It goes on where it was: it had looked, and now it writes.
    if (m.believes) SendWrite(i, false);
    if (Chance(50)) {
      LeaseOutbox out;
      m.lease->Wake(TickOf(m), out);
      Take(i, out);
    }
    for (SimRegister::Delivery& delivery : std::exchange(m.inbox, {})) Deliver(i, delivery);
  }

  void Deliver(std::uint32_t i, SimRegister::Delivery& delivery) {
    Contender& m = members_[i];
    if (o_.variant == LeaseVariant::kNoObserverWait && delivery.answer.version != kAbsent) {
      absl::StatusOr<LeaseRecord> record = DecodeLeaseRecord(delivery.answer.value);
      if (record.ok() && record->holder != m.name) {
        record->duration = kLeaseDurationMin;
        delivery.answer.value = Encode(*record);
      }
    }
    LeaseOutbox out;
    const Tick tick = TickOf(m);
    m.own_clock.Advance(tick);
    if (delivery.id == 0) {
      m.lease->Observe(delivery.answer, tick, out);
    } else {
      if (m.writes.erase(delivery.id) != 0 && delivery.answer.verdict == RegisterVerdict::kYes) {
        m.counted_from = m.own_clock.Longer(tick);
      }
      m.lease->Answer(delivery.id, delivery.answer, tick, out);
    }
    Take(i, out);
  }

  void Take(std::uint32_t i, LeaseOutbox& out) {
    Contender& m = members_[i];
    for (RegisterRequest& request : out.requests) {
      if (request.write) m.writes[request.id] = true;
      register_.Submit(i, std::move(request), now_);
    }
    for (const LeaseEvent& event : out.events) Tell(i, event);
    CheckAlone(i);
  }

  void Tell(std::uint32_t i, const LeaseEvent& event) {
    Contender& m = members_[i];
    switch (event.kind) {
      case LeaseEventKind::kAcquired:
        ++result_.acquisitions;
        if (m.believes) ++result_.bad_order;
        m.believes = true;
        m.hold = m.lease->hold();
        m.token = event.token;
        // A restored register forgets what it gave; the era keeps tokens apart all the same.
        if (!tokens_.empty() && event.token < tokens_.rbegin()->first) ++result_.lower_tokens;
        if (!tokens_.emplace(event.token, i).second) ++result_.repeated_tokens;
        SendWrite(i, true);
        break;
      case LeaseEventKind::kLost:
        ++result_.losses;
        if (!std::exchange(m.believes, false) || event.token != m.token) ++result_.bad_order;
        break;
      case LeaseEventKind::kReleased:
        ++result_.releases;
        break;
      case LeaseEventKind::kAboutToLose:
        if (!m.believes) ++result_.bad_order;
        break;
    }
  }

  void Act(std::uint32_t i) {
    Contender& m = members_[i];
    m.act_at = now_ + Part(o_.duration / 2);
    const std::uint32_t what = random_.Below(100);
    LeaseOutbox out;
    if (what < 6) {
      ++result_.pauses;
      m.asleep = true;
      m.busy_until = now_ + Part(o_.duration * 2);
      // A suspended machine's raw clock stands still; its boot clock runs as its oscillator does.
      if (what < 2) m.clocks.Change(now_, m.raw_rate, 0.0);
    } else if (what < 8) {
      ++result_.crashes;
      m.dead = true;
      m.believes = false;
      m.lease.reset();
      m.inbox.clear();
      register_.Unwatch(i, "job");
      m.busy_until = now_ + Part(o_.duration * 2);
    } else if (!m.lease->wanted()) {
      m.lease->Acquire(TickOf(m), out);
    } else if (what < (m.believes ? 50u : 12u)) {
      if (m.lease->Release(TickOf(m), out)) m.believes = false;
      if (Chance(30)) m.lease->Acquire(TickOf(m), out);
    } else if (m.believes && Holds(m)) {
      SendWrite(i, false);
    } else if (what > 97) {
      m.lease->Hint(TickOf(m), out);
    }
    if (m.lease != nullptr) Take(i, out);
  }

  void SendWrite(std::uint32_t i, bool advance) {
    const Contender& m = members_[i];
    Write write{.member = i, .request = {}, .advance = advance};
    write.request.claim = {.lease = "job", .holder = m.name, .generation = m.generation, .token = m.token};
    const Duration late = Chance(5) ? Part(o_.duration * 2) : Part(50ms);
    writes_.emplace(now_ + late, std::move(write));
  }

  void Arrive(const Write& write) {
    bool accepted = true;
    if (o_.variant != LeaseVariant::kNoFence) {
      const FencedAnswer answer = write.advance ? resource_.Advance(write.request)
                                                : resource_.Apply(write.request, [] { return std::string(); });
      accepted = answer.ok();
      // Whoever is refused for a lower token has to move above it.
      Contender& m = members_[write.member];
      if (!accepted && !m.asleep && !m.dead && m.generation == write.request.claim.generation) {
        LeaseOutbox out;
        m.lease->RaiseAbove(answer.current.highest, TickOf(m), out);
        Take(write.member, out);
      }
    }
    ++(accepted ? result_.accepted_writes : result_.refused_writes);
    if (!accepted) return;
    const LeaseClaim& claim = write.request.claim;
    const auto who = std::pair(claim.holder, claim.generation);
    const bool first = claim.token > highest_;
    if (claim.token < highest_ || (!first && who != highest_holder_)) ++result_.stale_writes;
    if (first) highest_holder_ = who;
    highest_ = std::max(highest_, claim.token);
  }

  // What happens to the register and to its network.
  void Disturb() {
    switch (random_.Below(12)) {
      case 0:
        register_.Restart(now_ + Part(o_.duration));
        break;
      case 1:
        backup_ = register_.table();
        break;
      case 2: {
        if (!o_.restores || !backup_) break;
        ++result_.restores;
        register_.table() = *backup_;
        if (o_.variant != LeaseVariant::kRawRestore) register_.table().BeginAfterRestore(++era_, o_.duration);
        register_.Restart(now_ + Part(1s));
        break;
      }
      default: {
        SimRegister::Faults faults;
        const bool bad = Chance(40);
        faults.delay_max = bad ? Part(o_.duration) : Part(100ms);
        if (bad) faults.lose_request_ppm = random_.Below(400'000);
        if (bad) faults.lose_reply_ppm = random_.Below(400'000);
        register_.set_faults(faults);
        for (Contender& m : members_) {
          if (!m.dead && !m.asleep) Drift(m);
        }
      }
    }
  }

  const LeaseWorldOptions o_;
  Random random_;
  SimRegister register_;
  FencedResource resource_;
  Instant now_{};
  std::vector<Contender> members_;
  std::vector<SimRegister::Delivery> deliveries_;
  std::multimap<Instant, Write> writes_;
  std::map<FencingToken, std::uint32_t> tokens_;
  std::optional<MemoryTable> backup_;
  std::uint16_t era_ = 0;
  FencingToken highest_;
  std::pair<std::string, std::uint64_t> highest_holder_;
  LeaseWorldResult result_;
};

}  // namespace

void LeaseWorldResult::Add(const LeaseWorldResult& other) {
  acquisitions += other.acquisitions;
  losses += other.losses;
  releases += other.releases;
  two_holders += other.two_holders;
  stale_writes += other.stale_writes;
  refused_writes += other.refused_writes;
  accepted_writes += other.accepted_writes;
  repeated_tokens += other.repeated_tokens;
  lower_tokens += other.lower_tokens;
  bad_order += other.bad_order;
  pauses += other.pauses;
  crashes += other.crashes;
  restores += other.restores;
  lost_messages += other.lost_messages;
  wakes += other.wakes;
  idle_wakes += other.idle_wakes;
  simulated += other.simulated;
}

LeaseWorldResult RunLeaseWorld(const LeaseWorldOptions& options) { return World(options).Run(); }

}  // namespace nekton
