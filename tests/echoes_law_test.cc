// News that told nothing when it last came is not looked at again (swim/echoes.h). Nobody may be able to tell.
//
// Two engines hear the same. Each accusation that they hear names, beside the accusers, one whom nobody knows, and who
// so counts for nothing: the first engine hears of the same stranger each time, the second of another each time. So to
// the first a copy is a copy, and to the second no piece is like any it has heard. Whatever they say, tell and count
// must be equal, to the byte.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "swim/event_json.h"
#include "swim/random.h"
#include "tests/engine_rig.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::size_t kMembers = 16;
constexpr std::size_t kSubjects = 4;  // m1 to m4 are accused most of all
constexpr std::uint64_t kStranger = 0x5747a43;

bool Accuses(const Update& update) { return update.kind == UpdateKind::kSuspect || update.kind == UpdateKind::kDead; }

class Twins {
 public:
  explicit Twins(const Config& config) : config_(config), a(config), b(config) {
    for (Rig* rig : {&a, &b}) {
      rig->Know(kMembers);
      for (Peer& peer : rig->peers) peer.refutes = true;
    }
  }

  // To both.
  template <typename Input>
  void Both(Input input) {
    input(a);
    input(b);
  }
  void Gossip(const Peer& from, const std::vector<Update>& updates) {
    Receive(from, Rig::Of(FrameType::kGossip), updates);
  }
  void Receive(const Peer& from, const Frame& frame, const std::vector<Update>& updates) {
    const std::vector<Update> second = Another(updates);
    a.Receive(from, frame, With(updates));
    b.Receive(from, frame, second);
  }
  void Serve(const Peer& from, const std::vector<Update>& updates) {
    const std::vector<Update> second = Another(updates);
    a.Serve(from, Rig::Of(FrameType::kSync), With(updates));
    b.Serve(from, Rig::Of(FrameType::kSync), second);
  }
  void Answer(const Said& request, const Peer& from, const std::vector<Update>& updates) {
    const bool sync = request.frame.type == FrameType::kSync;
    const Frame frame = Rig::Of(sync ? FrameType::kSyncReply : FrameType::kAck, request.frame.sequence);
    const std::vector<Update> second = Another(updates);
    a.Answer(request, from, frame, With(updates));
    b.Answer(request, from, frame, second);
  }

  // Empty: equal. Both forget what they said.
  std::string Difference() {
    std::string text;
    if (a.engine->NextWake() != b.engine->NextWake()) {
      text += "next wake " + std::to_string((b.engine->NextWake() - a.engine->NextWake()).count()) + " ns later; ";
    }
    if (a.engine->Fingerprint() != b.engine->Fingerprint()) text += "fingerprint; ";
    Compare("datagrams", a.sent, b.sent, text);
    Compare("requests", a.requests, b.requests, text);
    Compare("replies", a.replies, b.replies, text);
    if (a.events.size() != b.events.size()) text += "number of events; ";
    for (std::size_t i = 0; i < std::min(a.events.size(), b.events.size()); ++i) {
      const std::string said = ToJson(a.events[i]);
      if (said != ToJson(b.events[i])) text += "event " + said + ", not " + ToJson(b.events[i]) + "; ";
    }
    for (std::size_t i = 0; i < Counters::size(); ++i) {
      const auto counter = static_cast<Counter>(i);
      if (a.Count(counter) == b.Count(counter)) continue;
      text += std::string(kCounterNames[i]) + " " + std::to_string(a.Count(counter)) + ", not " +
              std::to_string(b.Count(counter)) + "; ";
    }
    CompareStm(text);
    // One after the other: all of them would take most of the time.
    const std::string& name = a[1 + ++asked_ % kMembers].name;
    if (Why(a, name) != Why(b, name)) text += "explanation " + Why(a, name) + ", not " + Why(b, name) + "; ";
    if (a.engine->version() != b.engine->version()) text += "version; ";
    Both([](Rig& rig) { rig.Clear(); });
    return text;
  }
  // Words that the STM had to look at and that told it nothing.
  static std::uint64_t Duplicates(const Rig& rig) { return rig.engine->stm_counters().of(Outcome::kDuplicate); }

 private:
  const Config config_;

 public:
  Rig a, b;

 private:
  // The member whom nobody knows is named in the last place. Where a death is all that is known of a member, he is kept
  // and told on: there both must hear of the same.
  std::vector<Update> With(std::vector<Update> updates) const {
    for (Update& update : updates) {
      if (Accuses(update)) update.accusers[update.accuser_count++] = {kStranger, false};
    }
    return updates;
  }
  std::vector<Update> Another(std::vector<Update> updates) {
    updates = With(std::move(updates));
    for (Update& update : updates) {
      if (!Accuses(update) || !b.engine->Explain(b.now, update.name).ok()) continue;
      update.accusers[update.accuser_count - 1].id = kStranger + ++strangers_;
    }
    return updates;
  }
  static std::string Why(const Rig& rig, const std::string& name) {
    const auto why = rig.engine->Explain(rig.now, name);
    return why.ok() ? ToJson(*why) : why.status().ToString();
  }
  static void Compare(const char* what, const std::vector<Said>& first, const std::vector<Said>& second,
                      std::string& text) {
    if (first.size() != second.size()) text += std::string("number of ") + what + "; ";
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
      const Said& x = first[i];
      const Said& y = second[i];
      const bool same = x.at == y.at && x.to == y.to && x.id == y.id && x.limit == y.limit && x.empty == y.empty &&
                        (x.empty || *x.bytes == *y.bytes);
      if (!same) text += what + std::string(" at ") + std::to_string(i) + "; ";
    }
  }
  // All but what only counts words that told nothing.
  void CompareStm(std::string& text) const {
    std::vector<std::pair<std::string, std::uint64_t>> all[2];
    for (const Rig* rig : {&a, &b}) {
      rig->engine->stm_counters().ForEach([&](std::string_view prefix, std::string_view name, std::uint64_t value) {
        for (const Outcome idle :
             {Outcome::kDuplicate, Outcome::kZeroWeight, Outcome::kFull, Outcome::kLeft, Outcome::kOutranked}) {
          if (name == Name(idle)) return;
        }
        all[rig == &b].emplace_back(std::string(prefix) + std::string(name), value);
      });
    }
    for (std::size_t i = 0; i < all[0].size(); ++i) {
      if (all[0][i] == all[1][i]) continue;
      text +=
          all[0][i].first + " " + std::to_string(all[0][i].second) + ", not " + std::to_string(all[1][i].second) + "; ";
    }
  }

  std::uint64_t strangers_ = 0;
  std::size_t asked_ = 0;
};

// ---- The story. ----

Config Probing(std::uint64_t seed) {
  Config config = Rig::Lan(seed);
  config.corroborators = 3;
  config.local_health_max = seed % 2 == 0 ? 7 : 0;
  config.rules.excuse_deafness = true;
  config.tolerated_pause = 1500ms;
  config.hearer_margin = 500ms;
  config.hold_beta = 2;
  config.forget_after = 20s;
  config.reconnect_periods = 3;
  switch (seed % 8) {
    case 1:
      config.rumour_weight = 2;  // one word is not enough
      break;
    case 2:
      config.rules.doubt_the_doubted = false;
      break;
    case 3:
      config.rules.confirm_is_a_word = false;
      break;
    case 4:
      config.confirmers = 7;
      config.rules.back_off = false;
      break;
    case 5:
      config.confirmers = 1;
      config.probing = Probing::kStaggered;
      break;
    case 6:
      config.rumour_weight = 2;
      config.attempts = 3;
      break;
    case 7:  // no round of our own falls into the story, as in a large group: what is idle is soon forgotten
      config.period = config.tolerated_pause = 1h;
      config.hold_alpha = 0;
      config.rumour_weight = 2;
      break;
    default:
      break;
  }
  return config;
}

class Story {
 public:
  Story(const Config& config, std::uint64_t seed)
      : dice(seed), twins(config), all_(seed % 5 == 0), wordy_(seed % 4 == 1) {
    twins.Both([&](Rig& rig) {
      for (std::size_t i = 1; i <= kSubjects; ++i) rig[i].answers = rig[i].answers_relays = i % 2 == 0;
    });
  }

  std::uint32_t Below(std::size_t bound) { return dice.Below(static_cast<std::uint32_t>(bound)); }
  bool OneIn(std::uint32_t n) { return dice.Below(n) == 0; }
  Peer& Of(std::size_t i) { return twins.a[i]; }
  Peer& Anyone() { return Of(1 + Below(kMembers)); }
  // Some stories are about all members, so that there is always something new; some about few.
  std::size_t Subject() { return 1 + Below(all_ || OneIn(8) ? kMembers : kSubjects); }

  LifeKey Known(const Peer& peer) const {
    const MemberPtr member = twins.a.Member(peer.name);
    return member == nullptr ? peer.key : member->key;
  }
  Update New() {
    Peer subject = OneIn(40) ? twins.a.self : Of(Subject());
    subject.key = Known(subject);
    if (OneIn(25)) ++subject.key.incarnation;
    if (OneIn(25) && subject.key.incarnation > 0) --subject.key.incarnation;
    if (OneIn(150)) subject.key = {subject.key.generation + 1, 0};
    const UpdateKind kind = OneIn(4) ? UpdateKind::kDead : UpdateKind::kSuspect;
    return Named(About(kind, subject));
  }
  // By one to four members, some of them twice in this or that order; some are unknown, and we ourselves may be one.
  Update Named(Update update) {
    const std::uint32_t count = wordy_ ? 3 + Below(5) : OneIn(30) ? Below(8) : 1 + Below(4);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t id = OneIn(30) ? twins.a.self.id() : OneIn(30) ? 77 + Below(3) : IdOf(Anyone());
      update.accusers[update.accuser_count++] = {id, OneIn(4)};
    }
    // Views into what lives as long as the story does.
    const Peer* peer = twins.a.Find(update.address);
    update.name = peer != nullptr ? std::string_view(peer->name) : std::string_view(twins.a.self.name);
    return update;
  }
  std::uint64_t IdOf(const Peer& peer) const { return MemberId(peer.name, Known(peer).generation); }
  // Mostly what was said before, word for word.
  Update Any() {
    if (said_.empty() || OneIn(3)) {
      said_.push_back(New());
      if (said_.size() > 40) said_.erase(said_.begin());
      return said_.back();
    }
    return said_[OneIn(3) ? Below(said_.size()) : said_.size() - 1 - Below(std::min<std::size_t>(said_.size(), 6))];
  }
  std::vector<Update> Some() {
    std::vector<Update> updates;
    for (std::uint32_t n = 1 + Below(4); n > 0; --n) updates.push_back(Any());
    return updates;
  }

  void Own(bool newer) {
    Peer peer = Of(Subject());
    peer.key = Known(peer);
    if (newer) ++peer.key.incarnation;
    if (OneIn(6)) peer.key = {peer.key.generation + 1, 0};
    Update alive = OneIn(10) ? Left(peer) : Alive(peer);
    alive.name = twins.a.Find(peer.address)->name;
    twins.Gossip(Anyone(), {alive});
  }
  // An ack of what was not answered, late or in time.
  void LateAck() {
    if (pings_.empty()) return;
    const auto& [to, sequence] = pings_[Below(pings_.size())];
    if (Peer* peer = twins.a.Find(to); peer != nullptr) {
      twins.Receive(*peer, Rig::Of(FrameType::kAck, sequence), OneIn(2) ? Some() : std::vector<Update>{});
    }
  }
  void AnswerRequest() {
    if (requests_.empty()) return;
    const Said request = requests_[Below(requests_.size())];
    std::erase_if(requests_, [&](const Said& said) { return said.id == request.id; });
    Peer* peer = twins.a.Find(request.to);
    if (peer == nullptr || OneIn(2)) {
      twins.Both([&](Rig& rig) { rig.AnswerBytes(request.id, absl::UnavailableError("no"), {}); });
      return;
    }
    twins.Answer(request, *peer, request.frame.type == FrameType::kSync ? Some() : std::vector<Update>{});
  }
  void Toggle() {
    const std::size_t whom = Subject();
    const std::uint32_t what = Below(4);
    twins.Both([&](Rig& rig) {
      Peer& peer = rig[whom];
      bool& habit = what == 0 ? peer.answers : what == 1 ? peer.answers_relays : what == 2 ? peer.relays : peer.refutes;
      habit = !habit;
    });
  }
  void Observation() {
    PeerObservation said{.peer = Of(Subject()).name, .signal = OneIn(2) ? Signal::kHealthy : Signal::kSuspect};
    if (OneIn(2)) {
      said.observer = Anyone().name;
      said.timestamp = twins.a.now.wall;
    }
    said.sequence = said.nonce = ++observations_;
    twins.Both([&](Rig& rig) { (void)rig.Order(Observe{{said}}); });
  }
  // Many different accusations, more than there are seats, and then the last of them again.
  void Flood() {
    std::vector<Update> updates;
    const auto tell = [&] {
      twins.Gossip(Anyone(), updates);
      updates.clear();
    };
    for (int i = 0; i < 300; ++i) {
      updates.push_back(New());
      said_.push_back(updates.back());
      if (updates.size() == 12) tell();
    }
    said_.erase(said_.begin(), said_.end() - 40);
    for (const Update& update : said_) updates.push_back(update);
    updates.resize(10);
    tell();
  }
  void Everybody(bool answers) {
    twins.Both([&](Rig& rig) {
      for (Peer& peer : rig.peers) peer.answers = peer.answers_relays = peer.relays = answers;
    });
  }
  void Run(Duration d) {
    twins.Both([&](Rig& rig) { rig.Run(d); });
  }
  // Nobody at all is heard for a while, and then what was heard last is heard again.
  void CutOff() {
    const std::vector<Update> updates = Some();
    for (int i = 0; i < 2; ++i) twins.Gossip(Anyone(), updates);
    Everybody(false);
    Run(milliseconds(1500 + Below(2000)));
    twins.Gossip(Anyone(), updates);
    if (OneIn(2)) Everybody(true);
  }
  // Long enough for all that is idle to be forgotten. Nothing else happens.
  void Lull() {
    Everybody(true);
    Run(10s);
    std::vector<Update> updates = Some();
    twins.Gossip(Anyone(), updates);
    Run(1s);
    twins.Gossip(Anyone(), updates);
    Run(milliseconds(80'000 + Below(20'000)));
    twins.Gossip(Anyone(), updates);
  }

  void Step() {
    switch (Below(40)) {
      case 0:
      case 1:
        return Own(true);
      case 2:
        return Own(false);
      case 3:
      case 4:
      case 5:
        return LateAck();
      case 6:
      case 7:
        return AnswerRequest();
      case 8:
        return Toggle();
      case 9:
        return Observation();
      case 10:
        return OneIn(2) ? twins.Serve(Anyone(), Some()) : Report();
      case 11:  // nobody answers, or a pause of our own
        if (OneIn(4)) return Everybody(OneIn(3));
        if (OneIn(3)) return CutOff();
        return twins.Both([d = milliseconds(Below(1000))](Rig& rig) { rig.Pass(d); });
      case 12:  // late, but no pause
      case 13:
        return twins.Both([d = milliseconds(Below(200))](Rig& rig) { rig.Pass(d); });
      case 14:
        return Run(milliseconds(Below(4000)));
      case 15:
        return OneIn(30) ? Flood() : OneIn(15) ? Lull() : Run(1s);
      case 16:
      case 17:
      case 18:
      case 19:
      case 20:
        return Run(milliseconds(Below(300)));
      default:
        return Chatter();
    }
  }
  // The same from several.
  void Chatter() {
    const std::vector<Update> updates = Some();
    for (std::uint32_t n = 1 + Below(4); n > 0; --n) twins.Gossip(Anyone(), updates);
  }
  void Report() {
    const Address about = Of(Subject()).address;
    const Trouble trouble = OneIn(2) ? Trouble::kRefused : Trouble::kSendFailed;
    twins.Both([&](Rig& rig) { rig.Report(about, trouble); });
  }
  // What can be answered later.
  void Note() {
    for (const Said& said : twins.a.sent) {
      if (said.frame.type == FrameType::kPing) pings_.emplace_back(said.to, said.frame.sequence);
    }
    if (pings_.size() > 20) pings_.erase(pings_.begin(), pings_.end() - 20);
    requests_.insert(requests_.end(), twins.a.requests.begin(), twins.a.requests.end());
    for (const Event& event : twins.a.events) ++told[static_cast<std::size_t>(event.kind)];
  }

  Random dice;
  Twins twins;
  std::array<std::uint64_t, 32> told{};  // events by kind

 private:
  bool all_;
  bool wordy_;  // more accuse one than there is room for
  std::vector<Update> said_;
  std::vector<std::pair<Address, std::uint32_t>> pings_;
  std::vector<Said> requests_;
  std::uint64_t observations_ = 0;
};

struct Seen {
  std::uint64_t first = 0, second = 0;  // words without news that the engines had to look at
  std::array<std::uint64_t, 32> told{};
};

void Tell(const Config& config, std::uint64_t seed, int steps, Seen& seen) {
  Story story(config, seed);
  for (int step = 0; step < steps; ++step) {
    story.Step();
    story.Note();
    ASSERT_EQ(story.twins.Difference(), "") << "seed " << seed << ", step " << step;
  }
  seen.first += Twins::Duplicates(story.twins.a);
  seen.second += Twins::Duplicates(story.twins.b);
  for (std::size_t i = 0; i < seen.told.size(); ++i) seen.told[i] += story.told[i];
}

TEST(EchoesLaw, NobodyCanTellWhoLooksAtEveryCopy) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 240; ++seed) {
    Tell(Probing(seed), seed, 200, seen);
    if (HasFailure()) return;
  }
  EXPECT_GT(seen.second, 10'000u) << "the dice are of use";
  EXPECT_LT(seen.first * 2, seen.second) << "copies are known for what they are";
  for (const EventKind kind : {EventKind::kSuspected, EventKind::kRecovered, EventKind::kFailed, EventKind::kLeft,
                               EventKind::kRestarted, EventKind::kForgotten, EventKind::kAccused, EventKind::kPaused}) {
    EXPECT_GT(seen.told[static_cast<std::size_t>(kind)], 20u) << Name(kind);
  }
}

// What the law above would not notice: that nothing is ever known for a copy.
TEST(EchoesLaw, OnlyTheFirstOfManyCopiesIsLookedAt) {
  Twins twins(Probing(0));
  const std::vector<Update> updates = {Suspect(twins.a[1], {&twins.a[5], &twins.a[6], &twins.a[7]}),
                                       Dead(twins.a[2], {&twins.a[5], &twins.a[8]})};
  twins.Gossip(twins.a[9], updates);  // news
  twins.Gossip(twins.a[9], updates);  // and found to be none
  const std::uint64_t first = Twins::Duplicates(twins.a);
  const std::uint64_t second = Twins::Duplicates(twins.b);
  for (std::size_t i = 0; i < 100; ++i) twins.Gossip(twins.a[5 + i % 10], updates);
  EXPECT_EQ(Twins::Duplicates(twins.a), first);
  EXPECT_EQ(Twins::Duplicates(twins.b), second + 500);
  EXPECT_EQ(twins.Difference(), "");
}

// Where nothing happens to any member, so that no change of the table tells of it: time in which we were deaf makes a hold
// longer, and a copy that comes then moves the question.
TEST(EchoesLaw, NobodyCanTellAfterATimeOfDeafness) {
  std::uint64_t excused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random dice(seed);
    Config config = Probing(0);
    config.seed = seed;
    config.hold_beta = 3;
    Twins twins(config);
    const std::vector<Update> updates = {Suspect(twins.a[1], {&twins.a[5]})};
    for (int i = 0; i < 2; ++i) twins.Gossip(twins.a[6], updates);
    const Duration silence = milliseconds(1800 + dice.Below(1000));
    twins.Both([&](Rig& rig) {
      rig.Silence();
      rig.Run(silence);
    });
    for (int i = 0; i < 20; ++i) {
      twins.Gossip(twins.a[6], updates);
      ASSERT_EQ(twins.Difference(), "") << "seed " << seed << ", " << i;
      twins.Both([](Rig& rig) { rig.Run(100ms); });
    }
    excused += twins.a.engine->stm_counters().pauses;
  }
  EXPECT_GT(excused, 30u);
}

// And what is long idle is forgotten, so that a copy is news.
TEST(EchoesLaw, NobodyCanTellAfterWhatWasIdleIsForgotten) {
  const Duration max_age = StmConfig{}.max_age;
  for (const Duration wait : {max_age - 1s, max_age, max_age + 1s}) {
    Twins twins(Probing(7));
    const auto hear = [&](std::size_t by) { twins.Gossip(twins.a[9], {Suspect(twins.a[1], {&twins.a[by]})}); };
    for (int i = 0; i < 2; ++i) hear(5);
    twins.Both([&](Rig& rig) { rig.Run(wait); });
    for (const std::size_t by : {5u, 5u, 6u, 7u}) {
      hear(by);
      ASSERT_EQ(twins.Difference(), "");
    }
    EXPECT_EQ(twins.a.StateOf(twins.a[1]), "SUSPECT 0") << "of three, whose words weigh 2 each";
  }
}

TEST(EchoesLaw, NobodyCanTellWhereHeartbeatsDecide) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Config config = Config::Mesh();
    config.name = "self";
    config.generation = Rig::kGeneration;
    config.seed = seed;
    if (seed % 3 == 0) config.revive = Revive::kRefutation;
    Tell(config, seed, 150, seen);
    if (HasFailure()) return;
  }
  EXPECT_GT(seen.second, 1'000u) << "the dice are of use";
}

}  // namespace
}  // namespace nekton
