#include "tests/member_storm.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lease/lease_answer.h"
#include "lease/lease_message.h"
#include "lease/view_store.h"
#include "swim/random.h"
#include "swim/wire.h"
#include "tests/cluster.h"
#include "tests/wire_samples.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

constexpr int kObjects = 6;
constexpr Duration kTurmoil = 90s;  // so long faults happen
constexpr Duration kCalm = 240s;    // and at most so long all may take to be one again
constexpr std::int64_t kDrift = LeaseTerms().drift_ppm;

ObjectId Object(int i) {
  static const std::vector<ObjectId> objects = [] {
    std::vector<ObjectId> all;
    for (int n = 0; n < kObjects; ++n) all.push_back(ObjectNamed(absl::StrCat("object ", n)));
    return all;
  }();
  return objects[static_cast<std::size_t>(i)];
}

// Fails now and then; or forgets what it was told.
class StormStore final : public ViewStore {
 public:
  StormStore(Random& random, BrokenGround ground, MemberStormResult& result)
      : random_(random), ground_(ground), result_(result) {}
  absl::StatusOr<View> Read() override { return view_; }
  absl::Status Write(const View& view) override {
    if (!calm && random_.Below(10) == 0) {
      ++result_.store_failures;
      if (random_.Below(2) == 0) view_ = view;  // it was written, and nobody can tell
      return absl::UnavailableError("disk");
    }
    if (ground_ != BrokenGround::kForgetfulStore || random_.Below(2) == 0) view_ = view;
    return absl::OkStatus();
  }
  const View& view() const { return view_; }
  bool calm = false;

 private:
  Random& random_;
  BrokenGround ground_;
  MemberStormResult& result_;
  View view_;
};

class MemberStorm {
 public:
  MemberStorm(std::uint64_t seed, BrokenGround ground, StormAuthority authority)
      : random_(seed), ground_(ground), by_lease_(authority == StormAuthority::kCandidates), sim_(OptionsOf(seed)) {
    register_ = std::make_shared<SimRegister>(seed);
    if (by_lease_) Trouble();
    store_ = std::make_shared<StormStore>(random_, ground, result_);
    Config config = Config::Lan();
    config.seeds = {"10.0.0.1:7946", "10.0.0.2:7946"};
    if (by_lease_) config.seeds.push_back("10.0.0.3:7946");
    const SimId members = 3 + random_.Below(3);
    for (SimId id = 0; id < members; ++id) {
      SimMemberOptions options;
      if (by_lease_) {
        options.leases.candidates = {"n0", "n1", "n2"};
      } else {
        options.leases.authority = "n0";
      }
      options.leases.key = ClusterKey().public_key();
      if (ground == BrokenGround::kNoMargin) options.leases.terms.drift_ppm = 0;
      if (by_lease_ && id < 3) {
        options.leases.signing = ClusterKey();
        options.lease_register = register_;
      } else if (id == 0) {
        options.leases.signing = ClusterKey();
        options.store = store_;
      }
      sim_.Add(config, options);
      const std::int64_t drift = kDrift * (ground == BrokenGround::kWildClocks ? 20 : 1);
      sim_.SetClockRate(id, static_cast<std::int64_t>((2 * random_.Unit() - 1) * static_cast<double>(drift)));
      (void)sim_.Start(id);
      seen_.emplace_back();
    }
    if (ground == BrokenGround::kForgedAnswers || ground == BrokenGround::kStolenKey) {
      sim_.SetTap([this, ground](const SimDatagram& d) { Forge(d, ground == BrokenGround::kStolenKey); });
    }
  }

  MemberStormResult Run() {
    ScheduleFault();
    while (sim_.now() < kTurmoil && sim_.Step()) Check();
    Calm();
    const Duration end = sim_.now() + kCalm;
    while (sim_.now() < end && !(result_.healed = Healed()) && sim_.Step()) Check();
    if (!result_.healed) result_.state = State();
    for (SimId id = 0; id < sim_.size(); ++id) {
      if (sim_.leases(id) != nullptr) result_.refused += sim_.leases(id)->counters().forged_answers;
    }
    return std::move(result_);
  }

 private:
  struct Seen {
    std::uint64_t life = 0;  // generation
    std::uint64_t epoch = 0;
    std::uint64_t fences = 0;
    std::map<ObjectId, std::string> routes;
  };

  static SimOptions OptionsOf(std::uint64_t seed) {
    SimOptions options;
    options.seed = seed;
    options.link.loss.rate = 0.01 * static_cast<double>(seed % 4);
    options.log_max = 0;
    return options;
  }

  Duration Some(Duration below) {
    return Duration(static_cast<Duration::rep>(random_.Unit() * static_cast<double>(below.count())));
  }
  // Who is the authority, or thinks so, the last one if there are more; kNobody: none is.
  SimId Root() {
    if (!by_lease_) return 0;
    SimId root = kNobody;
    for (SimId id = 0; id < 3; ++id) {
      if (sim_.leases(id) != nullptr && sim_.leases(id)->root() != nullptr) root = id;
    }
    return root;
  }
  // The network of the register: good, bad, or gone for a while.
  void Trouble() {
    SimRegister::Faults faults;
    faults.delay_min = 1ms;
    faults.delay_max = 20ms;
    if (!calm_ && random_.Below(3) == 0) {
      faults.delay_max = Some(12s);
      faults.lose_request_ppm = random_.Below(400'000);
      faults.lose_reply_ppm = random_.Below(400'000);
      ++result_.register_troubles;
    }
    if (ground_ == BrokenGround::kNoCompareAndSet) faults.careless_ppm = 300'000;
    register_->set_faults(faults);
  }
  SimId Anybody() { return random_.Below(static_cast<std::uint32_t>(sim_.size())); }
  bool Acts(SimId id) const { return sim_.member(id) != nullptr && !sim_.paused(id); }
  void Violated(std::string what) {
    if (result_.violations.size() < 10) {
      result_.violations.push_back(absl::StrCat(sim_.now().count() / 1'000'000, " ms: ", what));
    }
  }

  // --- faults

  void ScheduleFault() {
    sim_.At(sim_.now() + 500ms + Some(6s), [this] {
      if (sim_.now() >= kTurmoil) return;
      Fault();
      ScheduleFault();
    });
  }
  void After(Duration time, std::function<void()> what) {
    sim_.At(sim_.now() + time, [this, what = std::move(what)] {
      if (!calm_) what();
    });
  }

  void Fault() {
    SimId id = Anybody();
    const SimId root = Root();
    if (by_lease_ && root != kNobody && random_.Below(3) == 0) id = root;
    switch (random_.Below(by_lease_ ? 11 : 9)) {
      case 0:
      case 1:
        return CrashAndRestart(!by_lease_ && random_.Below(4) == 0 ? 0 : id);
      case 2:
        return Freeze(id);
      case 9:
        return Trouble();
      case 10:
        register_->Restart(Instant(sim_.now() + Some(15s)));
        ++result_.register_troubles;
        return;
      case 3: {
        const SimId other = Anybody();
        const bool one_way = random_.Below(2) == 0;
        if (other == id) return;
        ++(one_way ? result_.one_way_cuts : result_.cuts);
        one_way ? sim_.network().CutOneWay(id, other) : sim_.network().Cut(id, other);
        return After(Some(25s), [this, id, other] { sim_.network().Heal(id, other); });
      }
      case 4: {
        const bool out = random_.Below(2) == 0;
        ++result_.one_way_cuts;
        out ? sim_.network().CutOut(id) : sim_.network().CutIn(id);
        return After(Some(20s), [this, id] { sim_.network().Heal(id); });
      }
      case 5:
        return Split();
      case 6:
        ++result_.wall_steps;
        return sim_.StepWall(id, Some(2h) - 1h);
      case 7: {
        const SimId by = Anybody();
        if (id == 0 || by == id || random_.Below(2) == 0) return;
        if (sim_.Order(by, Expel{sim_.name(id)}).ok()) ++result_.expulsions;
        return After(Some(15s), [this, id] { Revive(id); });
      }
      default: {
        const int object = static_cast<int>(random_.Below(kObjects));
        if (root == kNobody || !sim_.Move(root, Object(object), sim_.name(id)).ok()) return;
        ++result_.moves;
        moved_in_ = sim_.leases(root)->view().epoch();
        return;
      }
    }
  }

  void CrashAndRestart(SimId id) {
    if (sim_.member(id) == nullptr) return;
    ++(id == Root() ? result_.authority_crashes : result_.crashes);
    sim_.Crash(id, random_.Below(2) == 0 ? Port::kRefuses : Port::kSilent);
    After(Some(20s), [this, id] { Revive(id); });
  }

  // Who does not run, or not as a member any more, begins a new life.
  void Revive(SimId id) {
    if (sim_.live(id) || sim_.paused(id)) return;
    if (sim_.member(id) != nullptr) sim_.Crash(id, Port::kRefuses);
    RestartOptions options;
    // Generations that go back are for the failure detector to get over, and for the storms of one authority.
    options.memory = by_lease_ || random_.Below(4) != 0;
    result_.forgetful_restarts += options.memory ? 0 : 1;
    (void)sim_.Restart(id, options);
  }

  void Freeze(SimId id) {
    if (!Acts(id)) return;
    const bool suspended = random_.Below(2) == 0;
    ++(suspended ? result_.suspends : result_.freezes);
    sim_.Pause(id, {.kind = suspended ? PauseOptions::Kind::kSuspended : PauseOptions::Kind::kFrozen,
                    .keep_input = random_.Below(2) == 0});
    After(Some(20s), [this, id] {
      if (sim_.paused(id)) sim_.Resume(id);
    });
  }

  void Split() {
    ++result_.partitions;
    std::vector<std::vector<SimId>> groups(2);
    for (SimId id = 0; id < sim_.size(); ++id) groups[random_.Below(2)].push_back(id);
    sim_.network().Partition(groups);
    After(Some(30s), [this] { sim_.network().HealPartition(); });
  }

  void Calm() {
    calm_ = store_->calm = true;
    if (by_lease_) Trouble();
    sim_.network().HealAll();
    for (SimId id = 0; id < sim_.size(); ++id) {
      if (sim_.paused(id)) sim_.Resume(id);
    }
    ReviveAll();
  }
  // One that has yet to learn that it is no member any more is revived when it has.
  void ReviveAll() {
    for (SimId id = 0; id < sim_.size(); ++id) Revive(id);
    sim_.At(sim_.now() + 1s, [this] { ReviveAll(); });
  }

  // The authority's answer to each ping, whoever it reaches.
  void Forge(const SimDatagram& datagram, bool with_key) {
    if (datagram.moment != SimDatagram::Moment::kSent || datagram.to != 0 || datagram.from == kNobody) return;
    Frame frame;
    if (DecodeDatagram(datagram.bytes, LabelTag(""), &frame) != Fault::kNone || frame.type != FrameType::kMail) return;
    const absl::StatusOr<LeaseMessage> ping = DecodeLeaseMessage(frame.body);
    if (!ping.ok() || ping->kind != LeaseMessage::Kind::kPing || !Acts(datagram.from)) return;
    LeaseMessage answer;
    answer.kind = LeaseMessage::Kind::kAnswer;
    answer.nonce = ping->nonce;
    answer.epoch = answer.settled = ping->head.epoch;
    const AnswerTo target{sim_.name(datagram.from), sim_.generation(datagram.from), ping->write, ping->drift_ppm};
    std::array<std::byte, 32> other{};
    answer.signature = SignAnswer(with_key ? ClusterKey() : SigningKey(other), "", target, answer);
    ++result_.forged;
    const std::vector<std::byte> body = Encode(answer);
    Frame forged;
    forged.type = FrameType::kMail;
    forged.flags = kFlagInner;
    forged.label = frame.label;
    forged.sender = MemberId("n0", sim_.generation(0));
    forged.target = frame.sender;
    forged.letter = Letter::kMessage;
    forged.body = body;
    const SimId to = datagram.from;
    sim_.At(sim_.now() + 1ms, [this, to, bytes = Encode(forged)] {
      if (Acts(to)) sim_.Inject(to, sim_.address(0), bytes);
    });
  }

  // --- what has to hold

  void Check() {
    ++result_.checks;
    bool changed = committers_.size() != sim_.size();
    committers_.resize(sim_.size());
    for (SimId id = 0; id < sim_.size(); ++id) {
      LeaseRoom* room = sim_.leases(id);
      std::uint64_t epoch = 0;
      if (room != nullptr) {
        if (room->view().epoch() != seen_[id].epoch || sim_.generation(id) != seen_[id].life) CheckView(id, *room);
        // A frozen process cannot act; whatever it decided before, it decides anew when it goes on.
        if (!sim_.paused(id) && room->leases().MayCommit(sim_.Clock(id))) epoch = room->view().epoch();
      }
      changed |= committers_[id] != epoch;
      committers_[id] = epoch;
      result_.committable += epoch != 0 ? 1 : 0;
    }
    if (by_lease_) CheckSeat();
    if (changed || (moved_in_ != 0 && !digests_.empty() && digests_.rbegin()->first == moved_in_)) CheckCommits();
  }

  // At no instant two that may act as the authority: who could, by its own clock, if it had an input now.
  void CheckSeat() {
    SimId sits = kNobody;
    for (SimId id = 0; id < 3; ++id) {
      LeaseRoom* room = sim_.leases(id);
      const bool has_root = room != nullptr && room->root() != nullptr;
      if (has_root && !seated_[id]) {
        seated_[id] = true;
        if (last_seat_ != id) ++result_.successions;
        last_seat_ = id;
      }
      if (!has_root && std::exchange(seated_[id], false) && room != nullptr) ++result_.deposed;
      if (!has_root || sim_.paused(id) || !room->HasMandate(sim_.Clock(id))) continue;
      if (sits != kNobody)
        Violated(absl::StrCat("both ", sim_.name(sits), " and ", sim_.name(id), " are the authority"));
      sits = id;
    }
  }

  // Who could commit to what: never two to one object, and never under an older epoch than before.
  void CheckCommits() {
    ++result_.overlaps;
    for (int i = 0; i < kObjects; ++i) {
      SimId holder = kNobody;
      for (SimId id = 0; id < sim_.size(); ++id) {
        if (committers_[id] == 0) continue;
        if (Leases(id).Find(Object(i)).state != HomeState::kActive) continue;
        if (holder != kNobody) {
          Violated(absl::StrCat("both ", sim_.name(holder), " (epoch ", committers_[holder], ") and ", sim_.name(id),
                                " (epoch ", committers_[id], ") commit to object ", i));
        }
        holder = id;
        if (committers_[id] < accepted_[i]) {
          Violated(absl::StrCat("object ", i, ": a commit of epoch ", committers_[id], " after one of ", accepted_[i]));
        }
        accepted_[i] = std::max(accepted_[i], committers_[id]);
      }
    }
  }
  HomeLeases& Leases(SimId id) { return const_cast<HomeLeases&>(sim_.leases(id)->leases()); }

  // A view that somebody installed, or a new life.
  void CheckView(SimId id, LeaseRoom& room) {
    Seen& seen = seen_[id];
    const View& view = room.view();
    if (sim_.generation(id) != seen.life) {
      seen = {};
      seen.life = sim_.generation(id);
    }
    if (view.epoch() < seen.epoch) Violated(absl::StrCat(sim_.name(id), " goes back to epoch ", view.epoch()));
    if (view.epoch() != 0) {
      const auto [known, fresh] = digests_.try_emplace(view.epoch(), view.head.digest);
      result_.views += fresh ? 1 : 0;
      if (!fresh && known->second != view.head.digest) Violated(absl::StrCat("two views of epoch ", view.epoch()));
    }
    std::uint64_t left = 0;
    for (const auto& [object, home] : seen.routes) left += view.Find(home) == nullptr ? 1 : 0;
    std::uint64_t stale = 0;
    for (const auto& [object, route] : room.routes().routes()) stale += view.Find(route.home) == nullptr ? 1 : 0;
    if (stale != 0) Violated(absl::StrCat(sim_.name(id), " holds routes to who left"));
    if (room.counters().fences - seen.fences < left) Violated(absl::StrCat(sim_.name(id), " fences too little"));
    result_.fences += room.counters().fences - seen.fences;
    seen.epoch = view.epoch();
    seen.fences = room.counters().fences;
    seen.routes.clear();
    for (int i = 0; i < kObjects && view.epoch() != 0; ++i) seen.routes[Object(i)] = room.Find(Object(i)).home;
  }

  bool Healed() {
    if (sim_.leases(0) == nullptr || Root() == kNobody) return false;
    const View& view = sim_.leases(0)->view();
    if (view.members.size() != sim_.size()) return false;
    for (SimId id = 0; id < sim_.size(); ++id) {
      LeaseRoom* room = sim_.leases(id);
      if (room == nullptr || room->view().head != view.head) return false;
      const ViewMember* its = view.Find(sim_.name(id));
      if (its == nullptr || its->generation != room->generation()) return false;
      if (!room->leases().MayCommit(sim_.Clock(id))) return false;
    }
    return true;
  }

  std::string State() {
    std::string state = absl::StrCat(", ", result_.expulsions, " expulsions");
    for (SimId id = 0; id < sim_.size(); ++id) {
      absl::StrAppend(&state, "\n", sim_.name(id), sim_.live(id) ? "" : " is not live");
      const LeaseRoom* room = sim_.leases(id);
      if (room == nullptr) continue;
      absl::StrAppend(&state, " generation ", room->generation(), ", commits ",
                      room->leases().MayCommit(sim_.Clock(id)), ", contact ", room->current(), ", settled ",
                      room->leases().settled(), ", pings ", room->counters().pings, ", renewals ",
                      room->counters().renewals, ", epoch ", room->view().epoch(), ":");
      for (const ViewMember& its : room->view().members) absl::StrAppend(&state, " ", its.name, "/", its.generation);
      absl::StrAppend(&state, "; sees");
      for (const MemberPtr& row : sim_.member(id)->Members()) {
        const std::string_view status = Name(row->status);
        absl::StrAppend(&state, " ", row->name, "/", row->key.generation, " ",
                        absl::string_view(status.data(), status.size()));
      }
    }
    return state;
  }

  nekton::Random random_;
  const BrokenGround ground_;
  const bool by_lease_;
  MemberStormResult result_;
  std::shared_ptr<SimRegister> register_;
  std::array<bool, 3> seated_{};
  SimId last_seat_ = kNobody;
  std::shared_ptr<StormStore> store_;
  bool calm_ = false;
  Simulator sim_;
  std::uint64_t moved_in_ = 0;             // the epoch in which an object was moved last
  std::vector<std::uint64_t> committers_;  // by member: the epoch under which it may commit; 0: it may not
  std::vector<Seen> seen_;
  std::map<std::uint64_t, ViewDigest> digests_;
  std::map<int, std::uint64_t> accepted_;
};

}  // namespace

MemberStormResult RunMemberStorm(std::uint64_t seed, BrokenGround ground, StormAuthority authority) {
  return MemberStorm(seed, ground, authority).Run();
}

}  // namespace nekton
