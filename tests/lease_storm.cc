#include "tests/lease_storm.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lease/authority.h"
#include "lease/home_leases.h"
#include "lease/route_cache.h"
#include "swim/random.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr int kObjects = 6;
constexpr Duration kTurmoil = 180s;  // so long faults happen
constexpr Duration kCalm = 60s;      // and so long all may take to be one again
constexpr LeaseTerms kTerms{};

SigningKey Key() {
  std::array<std::byte, 32> seed{};
  seed[0] = std::byte{1};
  return SigningKey(seed);
}

ObjectId Object(int i) { return ObjectNamed(absl::StrCat("object ", i)); }

// A machine's clocks, as they run against true time.
struct Clocks {
  Duration true_at{};
  Duration boot = 1000s;
  Duration raw = 500s;
  double raw_rate = 1;
  double slew = 1;  // of boot time, against raw
  bool suspended = false;
  Tick At(Duration now) {
    const auto passed = static_cast<double>((now - true_at).count());
    true_at = now;
    const auto of = [](double ns) { return Duration(static_cast<Duration::rep>(ns)); };
    boot += of(passed * (suspended ? raw_rate : raw_rate * slew));
    raw += suspended ? Duration::zero() : of(passed * raw_rate);
    return {Instant(boot), RawInstant(raw), WallTime(boot)};
  }
};

struct Process {
  std::string name;
  std::uint64_t generation = 0;  // 0: down
  Clocks clocks;
  bool frozen = false;
  std::unique_ptr<HomeLeases> leases;
  std::unique_ptr<Authority> authority;  // of the root
  std::optional<View> view;
  RouteCache routes;
  Duration next_ping{};
  std::deque<std::function<void()>> waiting;  // what came while it was frozen
};

class Storm {
 public:
  Storm(std::uint64_t seed, BrokenRule broken) : random_(seed), broken_(broken) {
    const std::size_t members = 2 + random_.Below(5);
    for (std::size_t i = 0; i <= members; ++i) {
      Process& p = all_.emplace_back();
      p.name = i == 0 ? "root" : absl::StrCat("m", i);
      const double drift = static_cast<double>(kTerms.drift_ppm) * 1e-6 * (broken == BrokenRule::kWildClocks ? 20 : 1);
      p.clocks.raw_rate = 1 + drift * (2 * random_.Unit() - 1);
      Start(p);
    }
  }

  StormResult Run() {
    while (now_ < kTurmoil + kCalm) {
      if (now_ < kTurmoil) Fault();
      if (now_ >= kTurmoil && !calm_) Calm();
      StepTo(now_ + Duration(1 + random_.Below(100'000'000)));
      Check();
    }
    result_.healed = OneView();
    return std::move(result_);
  }

 private:
  using Message = std::function<void()>;

  bool Chance(double share) { return random_.Unit() < share; }
  Process& Root() { return all_[0]; }
  Process& Some() { return all_[1 + random_.Below(static_cast<std::uint32_t>(all_.size() - 1))]; }
  Tick Now(Process& p) { return p.clocks.At(now_); }
  bool Runs(const Process& p) const { return p.generation != 0 && !p.frozen && !p.clocks.suspended; }

  void Violated(std::string what) {
    if (result_.violations.size() < 10)
      result_.violations.push_back(absl::StrCat(now_.count() / 1'000'000, " ms: ", what));
  }

  void Start(Process& p) {
    (void)Now(p);
    p.clocks.suspended = false;
    p.generation = ++generations_;
    p.frozen = false;
    LeaseTerms terms = kTerms;
    if (broken_ == BrokenRule::kLongWriteLease) terms.write = 2 * terms.write;
    p.leases = std::make_unique<HomeLeases>(p.name, p.generation, terms);
    p.leases->SetAuthority(true);
    p.view.reset();
    p.routes = RouteCache();
    p.next_ping = now_;
    p.waiting.clear();
    if (&p != &Root()) return;
    p.authority = std::make_unique<Authority>(Key(), "group", kTerms, ViewMember{p.name, p.generation, {}});
    AuthorityOutput out;
    if (!p.authority->Begin(Now(p), stored_, out).ok()) Violated("the store was not its own");
    Take(out);
  }

  void Stop(Process& p) {
    p.generation = 0;
    p.leases.reset();
    p.authority.reset();
    p.waiting.clear();
    p.frozen = false;
  }

  // --- messages

  void Send(Process& from, Process& to, Message what) {
    if (cut_.contains({from.name, to.name}) || Chance(calm_ ? 0 : 0.1)) {
      ++result_.lost;
      return;
    }
    Duration delay = Duration(500'000 + random_.Below(20'000'000));
    if (!calm_ && Chance(0.05)) {
      delay = Duration(static_cast<Duration::rep>(random_.Unit() * 1e10));
      ++result_.late;
    }
    Process* target = &to;
    const std::uint64_t life = to.generation;
    flights_.emplace(now_ + delay, [this, target, life, what = std::move(what)] {
      if (target->generation != life || life == 0) return;
      if (Runs(*target)) return what();
      target->waiting.push_back(what);
    });
  }

  void Install(Process& p, const View& view) {
    if (!VerifyHead(Key().public_key(), "group", view.head)) return Violated("a view with a bad signature");
    const auto [known, fresh] = digests_.emplace(view.epoch(), view.head.digest);
    if (!fresh && known->second != view.head.digest) Violated(absl::StrCat("epoch ", view.epoch(), " was used twice"));
    if (p.view && view.epoch() <= p.view->epoch()) return;
    changed_ = true;
    p.view = view;
    p.leases->Install(view);
    p.routes.Install(view);
    for (const auto& [object, route] : p.routes.routes()) {
      if (view.Find(route.home) == nullptr) Violated(absl::StrCat("a route to ", route.home, ", which left"));
    }
  }

  void Push(Process& to, const View& view) {
    Send(Root(), to, [this, &to, view] { Install(to, view); });
  }

  void Take(AuthorityOutput& out) {
    if (out.announce) {
      ++result_.views;
      Install(Root(), *out.announce);
      for (std::size_t i = 1; i < all_.size(); ++i) {
        if (all_[i].generation != 0) Push(all_[i], *out.announce);
      }
    }
    if (!out.store) return;
    const View view = *out.store;
    const std::uint64_t life = Root().generation;
    flights_.emplace(now_ + Duration(random_.Below(30'000'000)), [this, view, life] {
      const bool works = calm_ || !Chance(0.1);
      if (works && (broken_ != BrokenRule::kForgetfulStore || Chance(0.5))) stored_ = view;
      if (Root().generation != life || !Runs(Root())) return Lose(view, works, life);
      TellStored(view, works);
    });
  }
  // The write ended while the authority stood still: it hears of it later, if it lives.
  void Lose(const View& view, bool works, std::uint64_t life) {
    if (Root().generation != life) return;
    Root().waiting.push_back([this, view, works] { TellStored(view, works); });
  }
  void TellStored(const View& view, bool works) {
    AuthorityOutput out;
    Root().authority->Stored(Now(Root()), view.epoch(), works ? absl::OkStatus() : absl::UnavailableError("disk"), out);
    Take(out);
  }

  void Ping(Process& p) {
    p.next_ping = now_ + kTerms.renew_every();
    const Tick tick = Now(p);
    const ViewMember member{p.name, p.generation, {}};
    const ViewMember* in_view = p.view ? p.view->Find(p.name) : nullptr;
    if (in_view == nullptr || in_view->generation != p.generation) {
      Send(p, Root(), [this, &p, member] {
        AuthorityOutput out;
        // A refusal tells nothing: it asks again.
        const bool taken = Root().authority->Join(Now(Root()), member, out).ok();
        Take(out);
        if (taken && Root().authority->view().Find(member.name) != nullptr) Push(p, Root().authority->view());
      });
      return;
    }
    const Duration stamp = p.leases->Stamp(tick);
    const std::uint64_t epoch = p.view->epoch();
    Send(p, Root(), [this, &p, member, stamp, epoch] {
      Authority& authority = *Root().authority;
      const LeaseGrant grant = authority.Renew(Now(Root()), member.name, member.generation, epoch);
      if (epoch < grant.epoch) Push(p, authority.view());
      if (!grant.renewed) return;
      Send(Root(), p, [this, &p, stamp, grant] {
        const Tick heard = Now(p);
        const Duration since = broken_ == BrokenRule::kCountsFromTheAnswer ? p.leases->Stamp(heard) : stamp;
        changed_ = true;
        p.leases->Renew(heard, since, grant.epoch, broken_ == BrokenRule::kNobodySettles ? grant.epoch : grant.settled);
      });
    });
  }

  void Turn(Process& p) {
    if (!Runs(p)) return;
    const Tick tick = Now(p);
    p.leases->Advance(tick);
    for (int i = 0; i < kObjects; ++i) p.routes.Find(Object(i));
    if (&p != &Root()) {
      if (now_ >= p.next_ping) Ping(p);
      return;
    }
    p.leases->RenewOwn(tick, p.authority->settled());
    if (p.authority->NextWake() > tick.boot && !Chance(0.1)) return;
    AuthorityOutput out;
    p.authority->Wake(tick, out);
    Take(out);
  }

  // --- faults

  void Verdict(const Process& p, std::uint64_t life) {
    if (!Runs(Root())) return;
    AuthorityOutput out;
    Root().authority->Gone(Now(Root()), p.name, life, out);
    Take(out);
  }

  void Fault() {
    if (!Chance(0.02)) return;
    switch (random_.Below(8)) {
      case 0: {  // a crash, found out soon or late, and perhaps a restart before that
        Process& p = Some();
        if (p.generation == 0) return;
        const std::uint64_t life = p.generation;
        Stop(p);
        ++result_.crashes;
        After(1s + Random(8s), [this, &p, life] { Verdict(p, life); });
        After(Random(20s), [this, &p] {
          if (p.generation == 0) Start(p);
        });
        return;
      }
      case 1: {
        ++result_.authority_crashes;
        if (Root().generation == 0) return;
        Stop(Root());
        After(Random(15s), [this] { Start(Root()); });
        return;
      }
      case 2: {
        Process& p = all_[random_.Below(static_cast<std::uint32_t>(all_.size()))];
        if (!Runs(p)) return;
        p.frozen = true;
        ++result_.freezes;
        const std::uint64_t life = p.generation;
        if (&p != &Root() && Chance(0.5)) After(Random(6s), [this, &p, life] { Verdict(p, life); });
        After(Random(15s), [this, &p, life] { Thaw(p, life); });
        return;
      }
      case 3: {
        Process& p = all_[random_.Below(static_cast<std::uint32_t>(all_.size()))];
        if (!Runs(p)) return;
        (void)Now(p);
        p.clocks.suspended = true;
        ++result_.suspends;
        const std::uint64_t life = p.generation;
        if (&p != &Root() && Chance(0.5)) After(Random(6s), [this, &p, life] { Verdict(p, life); });
        After(Random(15s), [this, &p, life] { Thaw(p, life); });
        return;
      }
      case 4: {
        Process& p = Some();
        ++result_.cuts;
        const bool both = Chance(0.7);
        const bool up = Chance(0.5);
        if (both || up) cut_.insert({p.name, "root"});
        if (both || !up) cut_.insert({"root", p.name});
        const std::uint64_t life = p.generation;
        if (Chance(0.7)) After(Random(8s), [this, &p, life] { Verdict(p, life); });
        After(Random(25s), [this, &p] {
          cut_.erase({p.name, "root"});
          cut_.erase({"root", p.name});
        });
        return;
      }
      case 5: {  // the detector is wrong, and takes it back, or not
        Process& p = Some();
        const std::uint64_t life = p.generation;
        ++result_.wrong_verdicts;
        Verdict(p, life);
        if (Chance(0.5)) {
          After(Random(3s), [this, &p, life] {
            if (Runs(Root())) Root().authority->Back(Now(Root()), p.name, life);
          });
        }
        return;
      }
      case 6: {  // the wall clock is corrected
        Process& p = all_[random_.Below(static_cast<std::uint32_t>(all_.size()))];
        (void)Now(p);
        p.clocks.slew = 0.9 + 0.2 * random_.Unit();
        return;
      }
      default: {  // it knows that it has lost the authority
        Process& p = Some();
        if (p.generation != 0) p.leases->SetAuthority(Chance(0.5));
        return;
      }
    }
  }

  void Thaw(Process& p, std::uint64_t life) {
    if (p.generation != life) return;
    changed_ = true;
    (void)Now(p);
    p.clocks.suspended = false;
    p.frozen = false;
    // Input that waited comes before timers.
    std::deque<std::function<void()>> waiting = std::exchange(p.waiting, {});
    for (const Message& what : waiting) {
      if (p.generation == life) what();
    }
  }

  void Calm() {
    calm_ = true;
    cut_.clear();
    for (Process& p : all_) {
      if (p.generation == 0) {
        Start(p);
      } else {
        Thaw(p, p.generation);
      }
      p.leases->SetAuthority(true);
    }
  }

  Duration Random(Duration below) {
    return Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(below.count())));
  }
  void After(Duration time, Message what) { flights_.emplace(now_ + time, std::move(what)); }

  // --- time and truth

  void StepTo(Duration time) {
    while (!flights_.empty() && flights_.begin()->first <= time) {
      now_ = std::max(now_, flights_.begin()->first);
      const Message what = std::move(flights_.begin()->second);
      flights_.erase(flights_.begin());
      what();
      if (std::exchange(changed_, false)) Check();
    }
    now_ = time;
    for (Process& p : all_) Turn(p);
  }

  void Check() {
    ++result_.checks;
    for (int i = 0; i < kObjects; ++i) {
      const ObjectId object = Object(i);
      const Process* holder = nullptr;
      for (Process& p : all_) {
        // A frozen process cannot act; whatever it decided before, it decides anew when it goes on.
        if (!Runs(p) || p.leases->Find(object).state != HomeState::kActive || !p.leases->MayCommit(Now(p))) continue;
        if (holder != nullptr) {
          Violated(absl::StrCat("both ", holder->name, " (epoch ", holder->view->epoch(), ") and ", p.name, " (epoch ",
                                p.view->epoch(), ") commit to object ", i));
        }
        holder = &p;
        ++result_.committable;
        std::uint64_t& highest = accepted_[i];
        if (p.view->epoch() < highest) {
          Violated(absl::StrCat("object ", i, ": a commit of epoch ", p.view->epoch(), " after one of ", highest));
        }
        highest = std::max(highest, p.view->epoch());
      }
    }
  }

  bool OneView() {
    for (const Process& p : all_) {
      if (!p.view || p.view->head != Root().view->head) return false;
      const ViewMember* in_view = p.view->Find(p.name);
      if (in_view == nullptr || in_view->generation != p.generation) return false;
    }
    return true;
  }

  nekton::Random random_;
  BrokenRule broken_;
  Duration now_{};
  bool calm_ = false;
  bool changed_ = false;  // somebody may commit who could not before
  std::uint64_t generations_ = 0;
  std::deque<Process> all_;  // the root first; they do not move
  std::multimap<Duration, Message> flights_;
  std::set<std::pair<std::string, std::string>> cut_;
  View stored_;
  std::map<std::uint64_t, ViewDigest> digests_;
  std::map<int, std::uint64_t> accepted_;
  StormResult result_;
};

}  // namespace

StormResult RunLeaseStorm(std::uint64_t seed, BrokenRule broken) { return Storm(seed, broken).Run(); }

}  // namespace nekton
