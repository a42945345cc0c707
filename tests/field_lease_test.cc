// Field: leases that two hold, that nobody gets back, that are believed in after they have ended, or whose end was told
// twice or never.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lease/fenced_resource.h"
#include "tests/lease_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr auto kAcquired = LeaseEventKind::kAcquired;
constexpr auto kLost = LeaseEventKind::kLost;
constexpr Duration kT = 10s;
// From the end of T to the takeover: the random part, and a request there and back.
constexpr Duration kMargin = 1100ms;

NamedLeaseOptions With(Duration duration, bool watched = true) {
  NamedLeaseOptions options;
  options.duration = duration;
  options.watched = watched;
  return options;
}

FencedRequest Shown(const LeaseRig& rig, std::uint32_t i) {
  const NamedLeaseOptions& o = rig.members[i].lease->options();
  FencedRequest request;
  request.claim = {.lease = o.name, .holder = o.holder, .generation = o.generation, .token = rig.members[i].token()};
  return request;
}
FenceOutcome Write(FencedResource& guard, const FencedRequest& request) {
  return guard.Apply(request, [] { return std::string("done"); }).outcome;
}

// ---- golang/go#24595, axboe/liburing#369, tokio-rs/tokio#3185: time asleep is not counted by the monotonic clock, so leases
// look valid after a resume. ----

TEST(FieldLease, ASuspendedHolderKnowsAtOnceThatItsLeaseIsOver) {
  LeaseRig rig;
  FencedResource guard{FenceOptions{}};
  const auto h = rig.Add(With(kT));
  const auto other = rig.Add(With(kT));
  rig.Acquire(h);
  rig.RunFor(1s);
  rig.Acquire(other);
  ASSERT_TRUE(rig.Held(h));
  EXPECT_EQ(Write(guard, Shown(rig, h)), FenceOutcome::kApplied);
  rig.Suspend(h, true);
  ASSERT_TRUE(rig.RunUntilHeld(other, kT + kMargin));
  guard.Advance(Shown(rig, other));
  rig.RunFor(60s - kT);
  // Its raw clock says that a second has passed; nobody has woken it up, and nothing has been told.
  EXPECT_FALSE(rig.Held(h)) << "asked before anything else runs";
  EXPECT_EQ(Write(guard, Shown(rig, h)), FenceOutcome::kStale);
  rig.Suspend(h, false);
  EXPECT_EQ(rig.members[h].Count(kLost), 1u);
  EXPECT_TRUE(rig.Held(other));
}

// ---- jepsen.io, etcd 3.4.3; bsm/redislock#93: a holder that was paused past its time goes on writing after somebody else
// took over. ----

TEST(FieldLease, APausedHolderIsRefusedByTheResourceAndHarmsNobodysLease) {
  for (const bool wrote_already : {true, false}) {
    LeaseRig rig;
    FencedResource guard{FenceOptions{}};
    const auto h1 = rig.Add(With(5s));
    const auto h2 = rig.Add(With(5s));
    rig.Acquire(h1);
    rig.RunFor(1s);
    rig.Acquire(h2);
    const FencedRequest old = Shown(rig, h1);
    EXPECT_EQ(Write(guard, old), FenceOutcome::kApplied);
    rig.Pause(h1);
    ASSERT_TRUE(rig.RunUntilHeld(h2, 8s));
    EXPECT_GT(rig.members[h2].token(), old.claim.token);
    if (wrote_already) {
      EXPECT_EQ(Write(guard, Shown(rig, h2)), FenceOutcome::kApplied);
    } else {
      guard.Advance(Shown(rig, h2));
    }
    rig.RunFor(1s);
    const FencedAnswer refused = guard.Apply(old, [] { return std::string(); });
    EXPECT_EQ(refused.outcome, FenceOutcome::kStale);
    EXPECT_EQ(Explain(old, refused), "refused: token 0.1 of m0 is older than 0.2 of m1");
    rig.Continue(h1);  // renews what it had
    EXPECT_EQ(rig.members[h1].Count(kLost), 1u);
    EXPECT_FALSE(rig.Release(h1)) << "there is nothing to give back";
    rig.RunFor(3s);
    EXPECT_TRUE(rig.Held(h2));
    EXPECT_EQ(rig.members[h2].Count(kLost), 0u);
  }
}

// ---- hashicorp/consul#18271, #1843; apache/curator#727: a holder that is cut off believes for minutes that it has the
// lock. ----

TEST(FieldLease, SilenceEndsALeaseByTheTimeOfTheLastGoodRenewalsSending) {
  LeaseRig rig;
  const auto h = rig.Add(With(kT));
  const auto other = rig.Add(With(kT));
  rig.Acquire(h);
  rig.RunFor(5s);
  rig.Acquire(other);
  rig.Delay(100ms);
  // The next renewal: sent at `sent`, answered 0.2 s later, and then everything is dropped.
  const std::uint64_t before = rig.members[h].sent;
  ASSERT_TRUE(rig.RunUntil(rig.now + 5s, [&] { return rig.members[h].sent > before; }));
  const Instant sent = rig.now;
  rig.RunFor(201ms);
  rig.members[h].cut = true;
  rig.RunUntil(sent + kT, [&] { return rig.members[h].Count(kLost) == 1; });
  EXPECT_EQ(rig.members[h].Count(kLost), 1u);
  EXPECT_EQ(rig.members[h].Count(LeaseEventKind::kAboutToLose), 1u);
  EXPECT_LE(rig.members[h].told.back().when - sent, UsableOf(kT) + 1ms);
  EXPECT_FALSE(rig.Held(h));
  ASSERT_TRUE(rig.RunUntilHeld(other, 5s));
  EXPECT_GT(rig.now - sent, kT);
}

// ---- leandromoreira/redlock-rb#36; mike-marcacci/node-redlock#274, #362, #313: extending or releasing an expired lock
// succeeds, hangs, or fails in the wrong way. The boundary itself is inside. ----

TEST(FieldLease, ARenewalCountsUpToTheBoundaryAndNotANanosecondLater) {
  const Duration usable = UsableOf(1s);
  for (const auto& [after, kept] : {std::pair(usable - 50ms, true), std::pair(usable, true),
                                    std::pair(usable + 1ns, false), std::pair(usable + 50ms, false)}) {
    NamedLeaseOptions options = With(1s);
    options.name = "job";
    options.holder = "h";
    NamedLease lease(options, 7);
    const auto at = [](Duration d) { return Tick{Instant(d), RawInstant(d), WallTime{}}; };
    MemoryTable table;
    LeaseOutbox out;
    const auto answer = [&](Duration when) {
      const RegisterRequest request = out.requests.back();
      const RegisterAnswer there = table.Do(request);
      out = {};
      lease.Answer(request.id, there, at(when), out);
    };
    lease.Acquire(at(0s), out);
    answer(0s);  // of the read
    ASSERT_EQ(out.requests.size(), 1u);
    answer(0s);
    ASSERT_EQ(out.events.size(), 1u);
    const std::shared_ptr<LeaseHold> hold = lease.hold();
    const FencingToken first = out.events[0].token;
    out = {};
    // Its first renewal is sent within T / 3, and answered now.
    for (Duration when = 1ms; out.requests.empty(); when += 1ms) lease.Wake(at(when), out);
    const RegisterRequest renewal = out.requests.back();
    const RegisterAnswer there = table.Do(renewal);
    ASSERT_EQ(there.verdict, RegisterVerdict::kYes);
    out = {};
    lease.Answer(renewal.id, there, at(after), out);
    EXPECT_EQ(hold->Holds(first, at(after)), kept) << after.count();
    EXPECT_EQ(lease.holds(), kept);
    if (kept) {
      for (const LeaseEvent& event : out.events) EXPECT_EQ(event.kind, LeaseEventKind::kAboutToLose);
      EXPECT_LT(hold->Left(at(after)), usable / 3 + 60ms) << "counted from its sending";
      continue;
    }
    ASSERT_EQ(out.events.size(), 1u);
    EXPECT_EQ(out.events[0].kind, kLost);
    EXPECT_EQ(out.events[0].reason, LossReason::kExpired);
    // What follows is a new acquisition, not the old one back.
    while (!lease.holds()) {
      ASSERT_FALSE(out.requests.empty());
      answer(after);
    }
    EXPECT_FALSE(hold->Holds(first, at(after)));
    EXPECT_EQ(out.events.back().token, FencingToken::Of(0, 2));
  }
}

TEST(FieldLease, ReleasingWhatHasExpiredSaysSoAtOnce) {
  LeaseRig rig;
  const auto h = rig.Add(With(2s));
  rig.Acquire(h);
  rig.RunFor(1s);
  rig.Pause(h);
  rig.members[h].cut = true;
  rig.RunFor(2100ms);
  const std::uint64_t sent = rig.members[h].sent;
  EXPECT_FALSE(rig.Release(h));
  EXPECT_EQ(rig.members[h].sent, sent);
  EXPECT_TRUE(rig.members[h].lease->idle());
}

TEST(FieldLease, ALeaseWhoseAnswerTookLongIsWorthOnlyTheRest) {
  LeaseRig rig;
  const auto h = rig.Add([] {
    NamedLeaseOptions o = With(2s, false);
    o.patience = 100ms;
    return o;
  }());
  rig.Acquire(h);
  ASSERT_TRUE(rig.RunUntil(rig.now + 1s, [&] { return rig.members[h].sent == 2; }));  // the take is sent
  const Instant sent = rig.now;
  rig.members[h].deaf = true;  // it is done, and nobody is told
  rig.RunFor(1500ms);
  EXPECT_FALSE(rig.Held(h));
  rig.members[h].deaf = false;
  ASSERT_TRUE(rig.RunUntilHeld(h, 300ms)) << "asked again, it finds its own nonce";
  const Duration left = rig.members[h].hold->Left(rig.TickOf(h));
  EXPECT_EQ(left, UsableOf(2s) - (rig.now - sent));
  EXPECT_LT(left, 500ms);
}

// ---- kubernetes/kubernetes#47671, #114872: a candidate with a short duration of its own steals a lease that was granted for
// longer. ----

TEST(FieldLease, OthersWaitForAsLongAsItWasGranted) {
  for (const bool renews : {true, false}) {
    LeaseRig rig;
    const auto h = rig.Add(With(30s));
    const auto other = rig.Add(With(kT));
    rig.Acquire(h);
    rig.RunFor(15s);
    rig.Acquire(other);
    // Right after a renewal.
    const std::uint64_t sent = rig.members[h].sent;
    ASSERT_TRUE(rig.RunUntil(rig.now + 30s, [&] { return rig.members[h].sent > sent; }));
    rig.RunFor(10ms);
    const Instant renewed = rig.now;
    rig.Pause(h);
    rig.RunFor(20s);
    EXPECT_FALSE(rig.Held(other));
    if (renews) {
      rig.Continue(h);
      rig.RunFor(1s);
      EXPECT_TRUE(rig.Held(h));
      EXPECT_EQ(rig.members[h].Count(kLost), 0u);
    } else {
      ASSERT_TRUE(rig.RunUntilHeld(other, 15s));
      EXPECT_GE(rig.now - renewed, 30s - 10ms);
    }
  }
}

// ---- kubernetes/client-go#448, kubernetes#120824; etcd-io/etcd#13294: recorded wall times let members with wrong clocks steal,
// or never get, a lease. ----

TEST(FieldLease, WallClocksDecideNothingAndDriftIsAllowedFor) {
  for (const double sign : {1.0, -1.0}) {
    LeaseRig rig;
    const auto h = rig.Add(With(kT));
    const auto other = rig.Add(With(kT));
    rig.members[h].wall = Duration(1h) * static_cast<int>(sign);
    rig.members[other].wall = Duration(1h) * static_cast<int>(-sign);
    rig.SetRate(h, 1 + 0.01 * sign);
    rig.SetRate(other, 1 - 0.01 * sign);
    rig.Acquire(h);
    rig.RunFor(2s);
    rig.Acquire(other);
    // While the holder lives nobody else gets it, and after its death not before its own end.
    for (int i = 0; i < 100; ++i) {
      rig.RunFor(500ms);
      ASSERT_TRUE(rig.Held(h));
      ASSERT_FALSE(rig.Held(other));
    }
    rig.members[h].cut = true;
    const Duration death = rig.TickOf(other).boot.time_since_epoch();
    ASSERT_TRUE(rig.RunUntil(rig.now + 20s, [&] {
      EXPECT_FALSE(rig.Held(h) && rig.Held(other));
      return rig.Held(other);
    }));
    const Duration waited = rig.TickOf(other).boot.time_since_epoch() - death;
    // It was renewed up to T / 3 before.
    EXPECT_GE(waited, kT - kT / 3 - 20ms);
    EXPECT_LE(waited, kT + kMargin);
  }
}

// ---- etcd-io/etcd#13294, #9888, #17132: each restart of the grantor renews all leases. Here nothing is counted there, so
// restarts cost nothing. ----

TEST(FieldLease, ARegisterThatRestartsAgainAndAgainProlongsNothing) {
  LeaseRig rig;
  const auto h = rig.Add(With(kT));
  const auto other = rig.Add(With(kT));
  rig.Acquire(h);
  rig.RunFor(100ms);
  rig.Acquire(other);
  rig.RunFor(100ms);
  rig.members[h].cut = true;
  const Instant death = rig.now;
  for (const Duration at : {4s, 8s, 12s}) {
    const bool before = rig.RunUntil(death + at, [&] { return rig.Held(other); });
    if (before) break;
    rig.store.Restart(rig.now + 100ms);
  }
  ASSERT_TRUE(rig.RunUntilHeld(other, 5s));
  EXPECT_GE(rig.now - death, kT - 200ms) << "never before the duration";
  EXPECT_LE(rig.now - death, kT + kMargin) << "and not after it and one margin";
}

// ---- etcd-io/etcd#15247: a leader that was stuck wakes up and undoes what others decided. Here that is a write that was
// under way for half a minute. ----

TEST(FieldLease, AWriteThatWasStuckForLongHasNoEffect) {
  LeaseRig rig;
  const auto a = rig.Add(With(kT));
  const auto b = rig.Add(With(kT));
  rig.Acquire(a);
  rig.RunFor(1s);
  rig.Acquire(b);
  rig.RunFor(1s);
  rig.members[a].cut = true;
  // b's takeover gets stuck, and its next attempt is faster.
  ASSERT_TRUE(rig.RunUntil(rig.now + 20s, [&] {
    const bool waits = rig.now - Instant{} < 11s;
    rig.Delay(waits ? Duration(1ms) : Duration(30s));
    return rig.members[b].sent > 1 && !waits;
  }));
  rig.Delay(1ms);
  ASSERT_TRUE(rig.RunUntilHeld(b, 5s));
  const FencingToken first = rig.members[b].token();
  ASSERT_TRUE(rig.Release(b));
  rig.RunFor(1s);
  rig.members[a].cut = false;
  ASSERT_TRUE(rig.RunUntilHeld(a, 10s));
  const FencingToken second = rig.members[a].token();
  EXPECT_GT(second, first);
  const std::size_t lost = rig.members[a].Count(kLost);
  rig.RunFor(60s);  // the stuck write has come
  EXPECT_TRUE(rig.Held(a));
  EXPECT_EQ(rig.members[a].Count(kLost), lost);
  EXPECT_EQ(rig.members[a].token(), second);
}

// ---- kubernetes/kubernetes#23731, #44887; hashicorp/consul#912: after one failed renewal a client gives up at once, or never
// reports the end. ----

TEST(FieldLease, ALateRenewalKeepsTheLeaseAndAnEndIsToldOnce) {
  NamedLeaseOptions options = With(kT);
  options.notice = 300ms;
  LeaseRig rig;
  const auto h = rig.Add(options);
  const auto other = rig.Add(options);
  rig.Acquire(h);
  rig.RunFor(20s);
  const std::size_t events = rig.members[h].told.size();
  // Fails from right after a renewal until 9 s later.
  const std::uint64_t sent = rig.members[h].sent;
  rig.RunUntil(rig.now + 5s, [&] { return rig.members[h].sent > sent; });
  rig.RunFor(10ms);
  rig.members[h].cut = true;
  rig.RunFor(8800ms);
  EXPECT_TRUE(rig.Held(h));
  rig.members[h].cut = false;
  rig.RunFor(20s);
  EXPECT_TRUE(rig.Held(h));
  EXPECT_EQ(rig.members[h].told.size(), events) << "kept, and nothing to tell";
  // For good.
  rig.members[h].cut = true;
  rig.RunFor(60s);
  EXPECT_EQ(rig.members[h].Count(kLost), 1u);
  EXPECT_EQ(rig.members[h].told.back().event.reason, LossReason::kExpired);
  // And told that it is another's: at once, and once.
  rig.members[h].cut = false;
  ASSERT_TRUE(rig.RunUntilHeld(h, 30s));
  LeaseRecord stolen = *rig.members[h].lease->record();
  stolen.holder = "thief";
  stolen.nonce = 99;
  RegisterRequest request;
  request.write = true;
  request.key = "job";
  request.expected = rig.store.table().Read("job").version;
  request.value = Encode(stolen);
  ASSERT_EQ(rig.store.table().Do(request).verdict, RegisterVerdict::kYes);
  const Instant theft = rig.now;
  rig.RunFor(9s);
  EXPECT_EQ(rig.members[h].Count(kLost), 2u);
  const LeaseRig::Told& lost = rig.members[h].told.back();
  EXPECT_EQ(lost.event.reason, LossReason::kTaken);
  EXPECT_EQ(lost.event.by, "thief");
  EXPECT_LE(lost.when - theft, kT / 3 + 10ms) << "by its next renewal";
  int balance = 0;
  for (const LeaseRig::Told& t : rig.members[h].told) {
    balance += t.event.kind == kAcquired ? 1 : t.event.kind == kLost ? -1 : 0;
    EXPECT_TRUE(balance == 0 || balance == 1);
  }
  EXPECT_FALSE(rig.Held(other));
}

// ---- hashicorp/consul#9469: all waiters try in the same instant. ----

TEST(FieldLease, HundredsOfWaitersMakeNoHerd) {
  for (const bool watched : {true, false}) {
    LeaseRig rig;
    const auto h = rig.Add(With(kT, watched));
    rig.Acquire(h);
    rig.RunFor(1s);
    for (int i = 0; i < 300; ++i) {
      const auto w = rig.Add(With(kT, watched));
      rig.Acquire(w);
      rig.RunFor(7ms);
    }
    rig.RunFor(30s);
    const auto winners = [&] {
      std::uint32_t held = 0;
      for (std::uint32_t i = 0; i < rig.members.size(); ++i) held += rig.Held(i) ? 1u : 0u;
      return held;
    };
    const auto holder = [&] {
      for (std::uint32_t i = 0; i < rig.members.size(); ++i) {
        if (rig.Held(i)) return i;
      }
      return std::uint32_t{0};
    };
    EXPECT_EQ(winners(), 1u);
    rig.sent_at.clear();
    rig.members[h].cut = true;  // it dies
    const Instant death = rig.now;
    rig.RunFor(2 * kT);
    EXPECT_EQ(winners(), 1u);
    EXPECT_NE(holder(), h);
    EXPECT_LT(MostWithin(rig.sent_at, 100ms), 30u) << watched;
    EXPECT_LT(rig.sent_at.size(), watched ? 800u : 3600u);
    // A release: again one, soon, and no herd.
    rig.sent_at.clear();
    const auto before = holder();
    const Instant released = rig.now;
    rig.Release(before);
    ASSERT_TRUE(rig.RunUntil(rig.now + 5s, [&] { return winners() == 1; }));
    EXPECT_LE(rig.now - released, watched ? Duration(100ms) : Duration(kT / 4));
    rig.RunFor(1s);
    EXPECT_LT(MostWithin(rig.sent_at, 100ms), 30u) << watched;
    EXPECT_GT(rig.now, death);
  }
}

TEST(FieldLease, RenewalsOfLeasesThatWereGrantedTogetherAreSpread) {
  LeaseRig rig;
  for (int i = 0; i < 300; ++i) {
    NamedLeaseOptions options = With(kT);
    options.name = absl::StrCat("job", i);
    rig.Acquire(rig.Add(options));
  }
  rig.RunFor(100ms);
  rig.sent_at.clear();
  rig.RunFor(kT / 3);
  EXPECT_GE(rig.sent_at.size(), 300u);
  EXPECT_GE(rig.sent_at.back() - rig.sent_at.front(), kT / 6);
  EXPECT_LT(MostWithin(rig.sent_at, 100ms), 30u);
  rig.RunFor(60s);
  rig.sent_at.clear();
  rig.RunFor(kT / 3);
  EXPECT_LT(MostWithin(rig.sent_at, 100ms), 30u) << "and stay so";
  for (std::uint32_t i = 0; i < 300; ++i) EXPECT_TRUE(rig.Held(i));
}

// ---- apache/curator#1193, #1121; vmware/pinniped#800; cilium/cilium#42920: a release is lost or done in the wrong order. ----

TEST(FieldLease, AReleaseEndsTheHoldFirstAndALostOneEndsByItself) {
  LeaseRig rig;
  const auto h = rig.Add(With(kT));
  const auto other = rig.Add(With(kT));
  rig.Acquire(h);
  rig.RunFor(1s);
  rig.Acquire(other);
  rig.RunFor(10ms);
  const std::shared_ptr<LeaseHold> hold = rig.members[h].hold;
  bool held_when_sent = true;
  rig.members[h].cut = true;
  rig.Do(h, [&](const Tick& tick, LeaseOutbox& out) {
    EXPECT_TRUE(rig.members[h].lease->Release(tick, out));
    EXPECT_EQ(out.requests.size(), 1u);
    held_when_sent = hold->Check(tick).has_value();  // nothing in the outbox has left yet
  });
  EXPECT_FALSE(held_when_sent);
  rig.RunFor(2s);
  EXPECT_FALSE(rig.Held(other)) << "nobody was told";
  ASSERT_TRUE(rig.RunUntilHeld(other, kT + kMargin)) << "it ends by itself";
  rig.RunFor(3s);
  EXPECT_GT(rig.members[h].sent, 3u) << "it went on trying";
  EXPECT_EQ(rig.members[h].told.back().event.kind, LeaseEventKind::kReleased);
  EXPECT_EQ(rig.members[h].told.back().event.reason, LossReason::kUnsettled);
  EXPECT_TRUE(rig.members[h].lease->idle());
}

TEST(FieldLease, WhoReleasesAndTakesAgainGetsAGreaterToken) {
  for (const Duration late : {Duration(1ms), Duration(20s)}) {
    LeaseRig rig;
    const auto h = rig.Add(With(kT));
    rig.Acquire(h);
    rig.RunFor(1s);
    const FencingToken first = rig.members[h].token();
    rig.Delay(late);  // of the release and its answer
    ASSERT_TRUE(rig.Release(h));
    rig.Acquire(h);
    EXPECT_FALSE(rig.Held(h)) << "never: you have it already";
    rig.RunFor(10ms);
    rig.Delay(1ms);
    ASSERT_TRUE(rig.RunUntilHeld(h, kT));
    EXPECT_GT(rig.members[h].token(), first);
    rig.RunFor(60s);
    EXPECT_TRUE(rig.Held(h)) << "the late release is of another version";
  }
}

// ---- etcd-io/etcd#10686; hashicorp/consul#1172: an expired lease stays for ever, or lasts twice its time. ----

TEST(FieldLease, TenThousandLeasesEndWhileNothingCanBeSentAndAllComeBack) {
  LeaseRig rig;
  constexpr std::uint32_t kLeases = 10'000;
  for (std::uint32_t i = 0; i < kLeases; ++i) {
    NamedLeaseOptions options = With(kT);
    options.name = absl::StrCat("job", i);
    rig.Acquire(rig.Add(options));
  }
  rig.RunFor(100ms);
  for (LeaseRig::Contender& m : rig.members) m.cut = true;
  rig.RunFor(30s);
  std::uint32_t held = 0;
  for (std::uint32_t i = 0; i < kLeases; ++i) {
    held += rig.Held(i) ? 1u : 0u;
    ASSERT_EQ(rig.members[i].Count(kLost), 1u) << i;
  }
  EXPECT_EQ(held, 0u);
  for (LeaseRig::Contender& m : rig.members) m.cut = false;
  rig.RunFor(kT + 1s);
  for (std::uint32_t i = 0; i < kLeases; ++i) ASSERT_TRUE(rig.Held(i)) << i;
}

TEST(FieldLease, ASingleLeaseInAnIdleSystemEndsAfterItsDurationAndAMargin) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    LeaseRig rig(seed);
    const auto h = rig.Add(With(kT));
    const auto other = rig.Add(With(kT));
    rig.Acquire(h);
    rig.RunFor(4ms);  // before any renewal
    ASSERT_TRUE(rig.Held(h));
    rig.members[h].cut = true;
    rig.Acquire(other);
    const Instant death = rig.now;
    ASSERT_TRUE(rig.RunUntilHeld(other, 2 * kT));
    EXPECT_GE(rig.now - death, kT);
    EXPECT_LE(rig.now - death, kT + 1s + 10ms);
  }
}

}  // namespace
}  // namespace nekton
