#include "bench/hardship/hardship.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/lifeguard/trial.h"

namespace nekton::bench {
namespace {

using namespace std::chrono_literals;

using Act = std::function<void(Scene&)>;
using Watch = std::function<void(const SimEvent&)>;

constexpr Duration kRest = 5s;  // before the trouble, once all know each other
constexpr Duration kLong = 10min;

// What a reader has to look into: a healthy member that was declared dead, or what never came.
void NoteViolation(std::uint64_t seed, Outcome* outcome) {
  if (outcome->dead_healthy == 0 && outcome->never == 0) return;
  outcome->violations.push_back(absl::StrCat("seed ", seed, ": ", outcome->dead_healthy, " dead events about healthy, ",
                                             outcome->dead_healthy_at_healthy, " at healthy",
                                             outcome->never > 0 ? "; never all knew" : ""));
}

std::uint64_t SaltOf(const std::string& name) {
  std::uint64_t salt = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) salt = (salt ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return salt;
}

Outcome Play(const Config& config, std::uint32_t members, std::uint64_t seed, std::uint64_t salt, const Act& act,
             const Watch& watch) {
  Group group(config, members, MixSeeds(seed, salt));
  if (!group.Gather()) {
    Outcome nothing;
    nothing.runs = nothing.ungathered = 1;
    return nothing;
  }
  group.sim().RunFor(kRest + group.UpTo(2s));
  Scene scene(&group, watch);
  act(scene);
  Outcome outcome = scene.Finish();
  NoteViolation(seed, &outcome);
  return outcome;
}

Hardship Case(const std::string& name, const std::string& what, std::uint64_t runs, std::uint32_t members, Act act) {
  return {.name = name,
          .what = what,
          .runs = runs,
          .large = false,
          .run = [salt = SaltOf(name), members, act = std::move(act)](const Config& config, std::uint64_t seed,
                                                                      const Watch& watch) {
            return Play(config, members, seed, salt, act, watch);
          }};
}

Act Freeze(double loss) {
  return [loss](Scene& scene) {
    scene.Suffer(scene.group().Choose((scene.group().size() + 5) / 10));
    scene.group().Lose(loss);
    scene.RunFor(5s);  // the loss alone
    scene.Begin();
    for (const SimId id : scene.sick()) scene.sim().Pause(id);
    scene.RunFor(3s);
    for (const SimId id : scene.sick()) scene.sim().Resume(id);
    scene.RunFor(15s);
  };
}

MemberLaw Losing(double rate) { return {.loss = {.rate = rate}}; }

Act Deaf(double loss) {
  return [loss](Scene& scene) {
    scene.Suffer(scene.group().Choose(1));
    scene.sim().network().SetIn(scene.sick()[0], Losing(loss));
    scene.Begin();
    scene.RunFor(kLong);
  };
}

void Lossy(Scene& scene) {
  scene.Suffer(scene.group().Choose(4));
  for (const SimId id : scene.sick()) {
    scene.sim().network().SetIn(id, Losing(0.8));
    scene.sim().network().SetOut(id, Losing(0.8));
  }
  scene.Begin();
  scene.RunFor(kLong);
}

enum class Way : std::uint8_t { kIn, kOut };

// Ten lose so much of what is sent to them, or of what they send.
Act LossyOneWay(Way way) {
  return [way](Scene& scene) {
    scene.Suffer(scene.group().Choose(10));
    SimNetwork& network = scene.sim().network();
    for (const SimId id : scene.sick())
      way == Way::kIn ? network.SetIn(id, Losing(0.8)) : network.SetOut(id, Losing(0.8));
    scene.Begin();
    scene.RunFor(kLong);
  };
}

// Ten hear nothing, or nothing of theirs is heard, 20 s of every 40.
Act FlipFlop(Way way) {
  return [way](Scene& scene) {
    scene.Suffer(scene.group().Choose(10));
    SimNetwork& network = scene.sim().network();
    scene.Begin();
    for (Duration passed{}; passed < kLong; passed += 40s) {
      for (const SimId id : scene.sick()) way == Way::kIn ? network.CutIn(id) : network.CutOut(id);
      scene.RunFor(20s);
      for (const SimId id : scene.sick()) network.Heal(id);
      scene.RunFor(20s);
    }
  };
}

// Two of all, both of them well, cannot talk; or one of them not to the other.
Act OnePair(bool both_ways) {
  return [both_ways](Scene& scene) {
    const std::vector<SimId> two = scene.group().Choose(2);
    scene.sim().network().CutOneWay(two[0], two[1]);
    if (both_ways) scene.sim().network().CutOneWay(two[1], two[0]);
    scene.Begin();
    scene.RunFor(kLong);
  };
}

// One is not heard by half of the others, or does not hear them, or all.
Act OneWayMember(Way way, double share) {
  return [=](Scene& scene) {
    scene.Suffer(scene.group().Choose(1));
    const SimId one = scene.sick()[0];
    std::uint32_t left = static_cast<std::uint32_t>(share * (scene.group().size() - 1) + 0.5);
    for (SimId id = 0; id < scene.group().size() && left > 0; ++id) {
      if (id == one) continue;
      way == Way::kIn ? scene.sim().network().CutOneWay(id, one) : scene.sim().network().CutOneWay(one, id);
      --left;
    }
    scene.Begin();
    scene.RunFor(kLong);
  };
}

Act Slow(std::uint32_t percent, Duration mean) {
  return [=](Scene& scene) {
    scene.Suffer(scene.group().Choose((scene.group().size() * percent + 50) / 100));
    for (const SimId id : scene.sick()) scene.sim().SetSlowness(id, {.fixed = {}, .random = mean, .wake = {}});
    scene.Begin();
    scene.RunFor(2min);
  };
}

Act Pairs(double share) {
  return [share](Scene& scene) {
    for (SimId a = 0; a < scene.group().size(); ++a) {
      for (SimId b = a + 1; b < scene.group().size(); ++b) {
        if (scene.group().random().Unit() < share) scene.sim().network().Cut(a, b);
      }
    }
    scene.Begin();
    scene.RunFor(kLong);
  };
}

Act Kill(std::uint32_t count, Duration limit) {
  return [=](Scene& scene) {
    scene.Suffer(scene.group().Choose(count));
    scene.Begin();
    for (const SimId id : scene.sick()) scene.sim().Crash(id);
    scene.AwaitAllDead(limit);
  };
}

void Stall(Scene& scene) {
  scene.Suffer(scene.group().Choose(1));
  scene.Begin();
  for (Duration passed{}; passed < kLong; passed += 3s) {
    scene.sim().Pause(scene.sick()[0]);
    scene.RunFor(2s);
    scene.sim().Resume(scene.sick()[0]);
    scene.RunFor(1s);
  }
}

Act LossEverywhere(double loss) {
  return [loss](Scene& scene) {
    scene.group().Lose(loss);
    scene.Begin();
    scene.RunFor(kLong);
  };
}

// 12 points of Lifeguard's Interval experiment, for the table that leaves rules out.
Outcome SomeIntervals(const Config& config, std::uint64_t seed, const Watch& watch) {
  Outcome sum;
  for (const std::uint32_t blocked : {8U, 32U}) {
    for (const std::uint32_t block_ms : {2048U, 16384U, 32768U}) {
      for (const std::uint32_t normal_ms : {64U, 1024U}) {
        Trial trial;
        trial.config = config;
        trial.point = {blocked, block_ms, normal_ms};
        trial.seed = seed;
        trial.watch = watch;
        const TrialResult result = RunTrial(trial);
        Outcome outcome;
        outcome.runs = 1;
        outcome.ungathered = result.gathered ? 0 : 1;
        outcome.sick = blocked;
        outcome.dead_healthy = result.false_positives;
        outcome.dead_healthy_at_healthy = result.false_positives_at_healthy;
        outcome.healthy_accused = result.healthy_suspected;
        if (block_ms >= 16384) outcome.times = result.first;
        outcome.load = result.load;
        outcome.member_hours = result.load.member_seconds / 3600;
        NoteViolation(seed, &outcome);
        for (std::string& violation : outcome.violations) violation = absl::StrCat(Name(trial.point), " ", violation);
        sum += outcome;
      }
    }
  }
  return sum;
}

// One-way faults. Those among 1000 are Rapid's (Suresh et al., USENIX ATC 2018, section 7).
void AddAsymmetric(std::vector<Hardship>* all) {
  all->push_back(Case("pair/8", "two of eight cannot talk, 10 min", 20, 8, OnePair(true)));
  all->push_back(Case("oneway/8", "one of eight cannot send to one other, 10 min", 20, 8, OnePair(false)));
  all->push_back(Case("deaf/8", "one of eight hears nobody, 10 min", 20, 8, OneWayMember(Way::kIn, 1)));
  all->push_back(Case("mute/8", "one of eight is heard by nobody, 10 min", 20, 8, OneWayMember(Way::kOut, 1)));
  all->push_back(Case("deaf/8/half", "one of eight does not hear four, 10 min", 20, 8, OneWayMember(Way::kIn, 0.5)));
  all->push_back(Case("mute/8/half", "one of eight is not heard by four, 10 min", 20, 8, OneWayMember(Way::kOut, 0.5)));
  const auto large = [&](const char* name, const char* what, Act act) {
    all->push_back(Case(name, what, 1, 1000, std::move(act)));
    all->back().large = true;
  };
  large("flip/1000/in", "10 of 1000 hear nothing 20 s of every 40, 10 min", FlipFlop(Way::kIn));
  large("flip/1000/out", "10 of 1000 are heard by nobody 20 s of every 40, 10 min", FlipFlop(Way::kOut));
  large("lossy/1000/in", "10 of 1000 lose 80 % of what is sent to them, 10 min", LossyOneWay(Way::kIn));
  large("lossy/1000/out", "10 of 1000 lose 80 % of what they send, 10 min", LossyOneWay(Way::kOut));
}

std::vector<Hardship> MakeAll() {
  std::vector<Hardship> all;
  for (const auto& [members, runs] : {std::pair(32U, 40U), std::pair(128U, 20U), std::pair(512U, 3U)}) {
    for (const double loss : {0.0, 0.05}) {
      all.push_back(Case(absl::StrCat("freeze/", members, loss > 0 ? "/loss" : ""),
                         absl::StrCat("10 % of ", members, " stand still for 3 s", loss > 0 ? ", 5 % loss" : ""), runs,
                         members, Freeze(loss)));
    }
  }
  all.push_back(Case("deaf/128", "one of 128 hears 30 % of what is sent to it, 10 min", 3, 128, Deaf(0.7)));
  all.push_back(Case("deaf/1000", "one of 1000, the same", 1, 1000, Deaf(0.7)));
  all.back().large = true;
  all.push_back(Case("lossy/32", "4 of 32 lose 80 % in both directions, 10 min", 5, 32, Lossy));
  all.push_back(Case("slow/tenth", "10 % of 128 handle each input Exp(2 s) late, 2 min", 3, 128, Slow(10, 2s)));
  all.push_back(Case("slow/half", "half of 128 handle each input Exp(1 s) late, 2 min", 3, 128, Slow(50, 1s)));
  for (const std::uint32_t members : {32U, 128U}) {
    for (const double share : {0.3, 0.5}) {
      all.push_back(Case(absl::StrCat("pairs/", members, "/", 100 * share),
                         absl::StrCat(100 * share, " % of the pairs of ", members, " cannot talk, 10 min"),
                         members == 32 ? 4 : 1, members, Pairs(share)));
    }
  }
  all.push_back(Case("quarter/128", "32 of 128 die at once; until all know", 20, 128, Kill(32, 2min)));
  all.push_back(Case("stall/128", "one of 128 stands still 2 s of every 3, 10 min", 3, 128, Stall));
  all.push_back(Case("deafer/128", "one of 128 hears 10 % of what is sent to it, 10 min", 3, 128, Deaf(0.9)));
  all.push_back(Case("survivor/3", "two of three die silently; until the third knows", 20, 3, Kill(2, 10min)));
  all.push_back(Case("crash/128", "one of 128 dies silently; until all know", 20, 128, Kill(1, 2min)));
  all.push_back(Case("loss/32", "30 % loss on every link of 32, 10 min", 4, 32, LossEverywhere(0.3)));
  AddAsymmetric(&all);
  all.push_back({.name = "interval/12",
                 .what = "12 points of Lifeguard's Interval experiment, blocked; times: first detection",
                 .runs = 1,
                 .large = true,
                 .run = SomeIntervals});
  return all;
}

}  // namespace

const std::vector<Hardship>& Hardships() {
  static const auto* const all = new std::vector<Hardship>(MakeAll());
  return *all;
}

const Hardship* FindHardship(const std::string& name) {
  for (const Hardship& hardship : Hardships()) {
    if (hardship.name == name) return &hardship;
  }
  return nullptr;
}

}  // namespace nekton::bench
