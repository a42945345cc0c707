#include "swim/config.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "swim/address.h"
#include "swim/mail.h"
#include "swim/message.h"
#include "swim/quoted.h"
#include "swim/tags.h"
#include "swim/wire.h"

namespace nekton {
namespace {

using namespace std::chrono_literals;

// The profiles differ in these alone.
struct Timing {
  std::string_view profile;
  Duration period;
  Duration tolerated_pause;
  Duration hearer_margin;
  Duration forget_after;
  Duration max_local_pause;
  Duration gossip_interval;
  Duration isolation_after;
};

// Why these, and the defaults of Config that all profiles share (bench/results/tuning.jsonl and its picture):
//   tolerated_pause  the shortest hold is this less half a second. 2 s removed a third of the members that only stood
//                    still for 3 s; 4 s knows of a crash a second later and makes no fewer mistakes
//   attempts 8       at 30 % loss 1.4 false suspicions an hour and 4.1 datagrams a second; 5: 24 and 6.3, 3: 85 and 10.3,
//                    1, as in SWIM: 212 and 15; the time of a crash is the same
//   relays 2         1 costs 1 % less and suspects 2.4 times as often; 3 costs 3 % more
//   relay_after 0.5  relays from the second attempt on: 7.1 datagrams in place of 4.1, 0.25 false suspicions for 1.4
//   confirmers 3,    no other value was measurably better or worse without loss; four times the shortest hold is what a
//   hold_beta 4      member has that nobody confirms to be dead
//   corroborators 3  without: a crash is known 0.75 s later
constexpr Timing kLan = {"lan", 1s, 3s, 1s, 90s, 500ms, 200ms, 5s};
constexpr Timing kWan = {"wan", 5s, 12s, 3s, 300s, 1s, 500ms, 15s};
constexpr Timing kLocal = {"local", 500ms, 1500ms, 500ms, 30s, 250ms, 100ms, 2500ms};

constexpr std::uint32_t kAttemptsMax = 8;
constexpr std::uint32_t kRelaysMax = 8;
constexpr Duration kPeriodMin = 10ms;
static_assert(kPeriodMin / kAttemptsMax >= 1ms, "every attempt has a millisecond of its own");
constexpr Duration kDurationMax = 24h;
constexpr std::size_t kDatagramMin = 512;
constexpr std::size_t kDatagramMax = 65507;  // of UDP over IPv4
constexpr std::size_t kPingSize = 28 + kDigestPartSize;
constexpr std::size_t kMembersMax = 10000000;
constexpr std::size_t kBeatMembersMax = 64;
static_assert(kFixedMax < kDatagramMin);

// The longest hold of a hearer in a group of 10^`digits` members, with the hold factors that all profiles share.
constexpr Duration LongestHold(const Timing& t, int digits) {
  const Duration min = std::max(t.tolerated_pause - t.period + kHoldSlack, digits * t.period);
  return 4 * min + t.hearer_margin;
}

constexpr bool IsOrdered(const Timing& t) {
  return kPeriodMin <= t.period && t.period <= t.tolerated_pause &&  //
         t.hearer_margin < t.tolerated_pause &&                      // who only heard of it does not wait much longer
         t.max_local_pause <= t.period &&                            // a period that we slept through is a pause
         t.gossip_interval < t.period &&                             // gossip is quicker than probes
         t.period < t.isolation_after &&                             // one lost answer is no change
         t.isolation_after < t.forget_after &&                       // who is missed is not forgotten meanwhile
         LongestHold(t, 5) < t.forget_after;                         // a tombstone outlives every hold it may meet
}
static_assert(IsOrdered(kLan) && IsOrdered(kWan) && IsOrdered(kLocal));
static_assert(kLocal.period < kLan.period && kLan.period < kWan.period);

// The heartbeat profiles. A member that is not heard for a whole pause of ours is excused; what is told of others comes
// with heartbeats.
Config MakeBeats(std::string_view profile, const HeartbeatTiming& t, const StmConfig& stm) {
  Config config;
  config.profile = profile;
  config.monitoring = Monitoring::kHeartbeats;
  config.period = t.interval;
  config.phi_threshold = 8;
  config.jitter = t.jitter;
  config.suspect_after = t.suspect_after;
  config.fail_after = t.fail_after;
  config.misses = stm.demote_threshold;
  config.promote_threshold = stm.promote_threshold;
  config.rumour_weight = stm.rumour_weight;
  config.revive = stm.revive;
  config.recovery_hold = stm.recovery_hold;
  config.max_local_pause = stm.max_local_pause;
  config.hearer_margin = 0s;
  config.forget_after = 24h;
  config.isolation_after = std::chrono::duration_cast<std::chrono::seconds>(t.suspect_after);
  config.digest_patience = 6;
  config.members_max = kBeatMembersMax;
  return config;
}

Config Make(const Timing& t) {
  Config config;
  config.profile = t.profile;
  config.period = t.period;
  config.tolerated_pause = t.tolerated_pause;
  config.hearer_margin = t.hearer_margin;
  config.forget_after = t.forget_after;
  config.max_local_pause = t.max_local_pause;
  config.gossip_interval = t.gossip_interval;
  config.isolation_after = t.isolation_after;
  return config;
}

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

std::string Text(Duration d) { return absl::StrFormat("%.12g s", std::chrono::duration<double>(d).count()); }
std::string Text(double value) { return absl::StrCat(value); }
std::string Text(std::uint64_t value) { return absl::StrCat(value); }

// Collects the mistakes, one a line.
class Check {
 public:
  void Fail(std::string_view field, std::string_view value, std::string_view rule) {
    lines_.push_back(absl::StrCat(Absl(field), " = ", Absl(value), ": ", Absl(rule)));
  }

  template <typename T>
  void Range(std::string_view field, T value, T min, T max) {
    // Written so that a NaN fails.
    if (value >= min && value <= max) return;
    Fail(field, Text(value), absl::StrCat("must be from ", Text(min), " to ", Text(max)));
  }
  void Count(std::string_view field, std::uint64_t value, std::uint64_t min, std::uint64_t max) {
    Range(field, value, min, max);
  }
  void AtLeast(std::string_view field, Duration value, std::string_view other, Duration min) {
    if (value < min) Fail(field, Text(value), absl::StrCat("must not be below ", Absl(other), " = ", Text(min)));
  }
  void AtMost(std::string_view field, Duration value, std::string_view other, Duration max) {
    if (value > max) Fail(field, Text(value), absl::StrCat("must not be above ", Absl(other), " = ", Text(max)));
  }

  std::size_t mistakes() const { return lines_.size(); }
  absl::Status status() const {
    return lines_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
};

// Why `text` cannot be a seed; empty: it can. A name is resolved later, and may then fail.
std::string SeedMistake(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view host = text.substr(0, colon);
  const bool looks_numeric = host.find_first_not_of("0123456789.") == std::string_view::npos ||
                             host.find_first_of(":[]%") != std::string_view::npos;
  if (text.empty() || looks_numeric) {
    const absl::StatusOr<Address> address = Address::Parse(text);
    if (!address.ok()) return std::string(address.status().message());
    if (address->port == 0 || address->is_unspecified()) return "must have an address and a port to be reached at";
    return "";
  }
  if (colon == std::string_view::npos) return "the port is missing; write host:port";
  constexpr std::string_view kHostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  if (host.size() > 253 || host.find_first_not_of(kHostCharacters) != std::string_view::npos) {
    return "the host must be a numeric address or a DNS name";
  }
  // Lends the port rules of addresses to names.
  const absl::StatusOr<Address> port = Address::Parse(absl::StrCat("127.0.0.1", Absl(text.substr(colon))));
  if (!port.ok() || port->port == 0) return "the port must be a number from 1 to 65535";
  return "";
}

void CheckIdentity(const Config& c, Check& check) {
  if (!IsName(c.profile)) {
    check.Fail("profile", Quoted(c.profile), "must have 1-128 bytes, without spaces and control characters");
  }
  if (c.label.size() > kLabelMax) {
    check.Fail("label", Quoted(c.label), absl::StrCat("must not be longer than ", kLabelMax, " bytes"));
  }
  const auto is_control = [](char b) { return static_cast<unsigned char>(b) < ' ' || b == 0x7f; };
  if (std::any_of(c.label.begin(), c.label.end(), is_control)) {
    check.Fail("label", Quoted(c.label), "must have no control characters");
  }
  if (c.monitoring != Monitoring::kProbes && c.monitoring != Monitoring::kHeartbeats) {
    check.Fail("monitoring", absl::StrCat(static_cast<unsigned>(c.monitoring)), "must be probes or heartbeats");
  }
  if (c.detector != DetectorKind::kFixed && c.detector != DetectorKind::kPhi) {
    check.Fail("detector", absl::StrCat(static_cast<unsigned>(c.detector)), "no such detector; use fixed or phi");
  }
}

// Largest update about ourselves: the address may take its longest form, and the numbers grow.
std::size_t OwnRowSize(const Config& c, const std::string& tags) {
  Update own;
  own.name = c.name;
  own.address.ip = {0xfe, 0x80};
  own.address.scope = 1;
  own.address.port = 1;
  own.key = {~std::uint64_t{0}, ~std::uint64_t{0}};
  own.detailed = true;
  own.version_min = own.version_max = kProtocolVersion;
  own.tags = tags;
  return EncodedSize(own);
}

// What others hear of us: it must fit into one datagram.
void CheckOwnRow(const Config& c, Check& check) {
  const std::size_t before = check.mistakes();
  const absl::StatusOr<std::string> tags = EncodeTags(c.tags);
  if (!IsName(c.name)) {
    check.Fail("name", Quoted(c.name), "must have 1-128 bytes, without spaces and control characters");
  }
  if (!tags.ok()) check.Fail("tags", absl::StrCat(c.tags.size(), " tags"), std::string(tags.status().message()));
  const std::size_t sealed = c.sealing == Sealing::kOff ? 0 : kSealedBytes;
  check.Count("datagram_max", c.datagram_max, kDatagramMin + sealed, kDatagramMax);
  if (check.mistakes() != before) return;
  const std::size_t need = kPingSize + OwnRowSize(c, *tags) + sealed;
  if (c.datagram_max >= need) return;
  check.Fail("datagram_max", Text(std::uint64_t{c.datagram_max}),
             absl::StrCat("a ping that carries this name and these tags takes up to ", need, " bytes"));
}

void CheckSealing(const Config& c, Check& check) {
  if (c.sealing != Sealing::kOff && c.sealing != Sealing::kAccept && c.sealing != Sealing::kRequire) {
    check.Fail("sealing", absl::StrCat(static_cast<unsigned>(c.sealing)), "must be off, accept or require");
  }
  if (c.sealing == Sealing::kOff && !c.key_file.empty()) {
    check.Fail("key_file", Quoted(c.key_file), "has no use while sealing is off");
  }
  if (c.key_file.find('\0') != std::string::npos) check.Fail("key_file", Quoted(c.key_file), "must have no zero bytes");
}

void CheckAddresses(const Config& c, Check& check) {
  if (const auto bind = Address::Parse(c.bind); !bind.ok()) {
    check.Fail("bind", Quoted(c.bind), std::string(bind.status().message()));
  }
  if (!c.advertise.empty()) {
    const auto advertise = Address::Parse(c.advertise);
    if (!advertise.ok()) {
      check.Fail("advertise", Quoted(c.advertise), std::string(advertise.status().message()));
    } else if (advertise->is_unspecified() || advertise->port == 0) {
      check.Fail("advertise", Quoted(c.advertise), "must have an address and a port that others can reach");
    }
  }
  for (std::size_t i = 0; i < c.seeds.size(); ++i) {
    const std::string mistake = SeedMistake(c.seeds[i]);
    if (!mistake.empty()) check.Fail(absl::StrCat("seeds[", i, "]"), Quoted(c.seeds[i]), mistake);
  }
}

// `named` members, as many as the STM would hear, must be enough to commit a suspicion.
void CheckRumours(const Config& c, std::uint64_t named, const std::string& text, std::uint32_t threshold,
                  std::string_view field, Check& check) {
  if (c.rumour_weight == 0 || c.rumour_weight > threshold || c.rumour_weight * named >= threshold) return;
  check.Fail("rumour_weight", Text(std::uint64_t{c.rumour_weight}),
             absl::StrCat("the ", text, " members that an accusation can name must weigh ", Absl(field), " = ",
                          threshold, " together"));
}

// The order of the times of a heartbeat; each is in its own range.
void CheckBeatOrder(const Config& c, Check& check) {
  if (c.jitter >= c.period) {
    check.Fail("jitter", Text(c.jitter), absl::StrCat("must be below period = ", Text(c.period)));
  }
  if (c.suspect_after <= c.period + c.jitter) {
    check.Fail("suspect_after", Text(c.suspect_after),
               "must be above period + jitter: the next heartbeat of a healthy member is due before it is suspected");
  }
  if (c.fail_after <= c.suspect_after) {
    check.Fail("fail_after", Text(c.fail_after), absl::StrCat("must be above suspect_after = ", Text(c.suspect_after)));
  }
  if (c.repeat_after != Duration{}) check.AtMost("repeat_after", c.repeat_after, "period", c.period);
  check.AtMost("max_local_pause", c.max_local_pause, "period", c.period);
  check.AtLeast("forget_after", c.forget_after, "recovery_hold", c.recovery_hold + Duration(1));
}

void CheckBeats(const Config& c, Check& check) {
  check.Count("misses", c.misses, 1, 1000);
  check.Count("promote_threshold", c.promote_threshold, 1, 1000);
  check.Count("rumour_weight", c.rumour_weight, 0, std::max(c.misses, 1U));
  CheckRumours(c, kAccusersMax, absl::StrCat(kAccusersMax), c.misses, "misses", check);
  check.Range("phi_threshold", c.phi_threshold, 0.1, 16.0);
  check.Count("confirmers", c.confirmers, 0, kAccusersMax - 1);
  if (c.revive != Revive::kRefutation && c.revive != Revive::kHealthy && c.revive != Revive::kJoinOnly) {
    check.Fail("revive", absl::StrCat(static_cast<unsigned>(c.revive)), "no such rule");
  }
  check.Count("members_max", c.members_max, 2, kBeatMembersMax);
  const std::size_t before = check.mistakes();
  check.Range("max_local_pause", c.max_local_pause, Duration(1ms), kDurationMax);
  check.Range("period", c.period, kPeriodMin, Duration(1h));
  check.Range("jitter", c.jitter, Duration(0), kDurationMax);
  check.Range("acceptable_pause", c.acceptable_pause, Duration(0), kDurationMax);
  check.Range("suspect_after", c.suspect_after, Duration(1ms), 2 * kDurationMax);
  check.Range("fail_after", c.fail_after, Duration(1ms), 2 * kDurationMax);
  if (c.repeat_after != Duration{}) check.Range("repeat_after", c.repeat_after, Duration(1ms), kDurationMax);
  check.Range("recovery_hold", c.recovery_hold, Duration(0), kDurationMax);
  check.Range("forget_after", c.forget_after, Duration(1ms), 30 * kDurationMax);
  if (check.mistakes() == before) CheckBeatOrder(c, check);
}

void CheckProbing(const Config& c, Check& check) {
  if (c.probing != Probing::kRandom && c.probing != Probing::kStaggered) {
    check.Fail("probing", absl::StrCat(static_cast<unsigned>(c.probing)), "must be random or staggered");
  }
  check.Count("attempts", c.attempts, 1, kAttemptsMax);
  check.Count("relays", c.relays, 0, kRelaysMax);
  check.Range("relay_after", c.relay_after, 0.0, 1.0);
  check.Count("local_health_max", c.local_health_max, 0, 100);
  check.Count("corroborators", c.corroborators, 0, 8);
  check.Range("max_local_pause", c.max_local_pause, Duration(1ms), kDurationMax);
  check.AtMost("max_local_pause", c.max_local_pause, "period", c.period);
  check.Count("promote_threshold", c.promote_threshold, 1, 1000);
  if (c.rumour_weight < 1 || c.rumour_weight > c.attempts) {
    check.Fail("rumour_weight", Text(std::uint64_t{c.rumour_weight}),
               absl::StrCat("must be from 1 to attempts = ", c.attempts));
  }
  check.Range("phi_threshold", c.phi_threshold, 0.1, 16.0);
  if (c.confirmers < kAccusersMax) {
    CheckRumours(c, c.confirmers + 1, absl::StrCat("confirmers + 1 = ", c.confirmers + 1), c.attempts, "attempts",
                 check);
  }
  check.Count("confirmers", c.confirmers, 0, kAccusersMax - 1);
}

void CheckMail(const MailLimits& m, Check& check) {
  constexpr std::uint64_t kCountMax = 1'000'000;
  constexpr std::uint64_t kBytesMin = kMailBytesMax;  // of one
  constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40;
  check.Count("mail.open_per_member", m.open_per_member, 1, kCountMax);
  check.Count("mail.open", m.open, 1, kCountMax);
  check.Count("mail.open_bytes", m.open_bytes, kBytesMin, kBytesMax);
  check.Count("mail.served_per_member", m.served_per_member, 1, kCountMax);
  check.Count("mail.served", m.served, 1, kCountMax);
  check.Count("mail.served_bytes", m.served_bytes, kBytesMin, kBytesMax);
  check.Count("mail.known_per_member", m.known_per_member, m.served_per_member, kCountMax);
  check.Count("mail.known", m.known, m.served, kCountMax);
  check.Count("mail.answer_bytes_per_member", m.answer_bytes_per_member, 0, kBytesMax);
  check.Count("mail.answer_bytes", m.answer_bytes, 0, kBytesMax);
  check.Range("mail.keep", m.keep, Duration(0), Duration(1h));
  check.Range("mail.retry_after", m.retry_after, Duration(1ms), Duration(1h));
  check.Range("mail.retry_max", m.retry_max, m.retry_after, Duration(1h));
  check.Count("mail.retries_per_second", m.retries_per_second, 0, kCountMax);
}

// All that the length of a hold depends on, and the tombstone, which must outlive the longest.
void CheckHolds(const Config& c, Check& check) {
  const std::size_t before = check.mistakes();
  check.Range("period", c.period, kPeriodMin, Duration(1h));
  check.Range("tolerated_pause", c.tolerated_pause, Duration(0), kDurationMax);
  if (c.tolerated_pause != Duration{}) check.AtLeast("tolerated_pause", c.tolerated_pause, "period", c.period);
  check.Range("hold_alpha", c.hold_alpha, 0.0, 100.0);
  check.Range("hold_beta", c.hold_beta, 1.0, 100.0);
  check.Range("hearer_margin", c.hearer_margin, Duration(0), kDurationMax);
  check.Range("forget_after", c.forget_after, Duration(1ms), kDurationMax);
  check.Count("members_max", c.members_max, 2, kMembersMax);
  if (check.mistakes() != before) return;
  const double digits = std::log10(static_cast<double>(c.members_max));
  const double by_pause =
      c.tolerated_pause == Duration{} ? 0 : static_cast<double>((c.tolerated_pause - c.period + kHoldSlack).count());
  const double by_size = c.hold_alpha * digits * static_cast<double>(c.period.count());
  const double longest = c.hold_beta * std::max(by_pause, by_size) + static_cast<double>(c.hearer_margin.count());
  if (static_cast<double>(c.forget_after.count()) > longest) return;
  check.Fail("forget_after", Text(c.forget_after),
             absl::StrCat("must be longer than the longest hold, which is ", longest / 1e9,
                          " s with these tolerated_pause, hold_alpha, hold_beta, hearer_margin and members_max"));
}

void CheckDissemination(const Config& c, Check& check) {
  check.Count("retransmit", c.retransmit, 1, 100);
  check.Count("gossip_fanout", c.gossip_fanout, 1, 64);
  check.Range("gossip_interval", c.gossip_interval, Duration(1ms), kDurationMax);
  check.AtMost("gossip_interval", c.gossip_interval, "period", c.period);
  check.Count("digest_patience", c.digest_patience, 1, 1000);
  check.Range("broadcast_keep", c.broadcast_keep, Duration(1s), kBroadcastKeepMax);
}

void CheckJoining(const Config& c, Check& check) {
  check.Range("join_backoff_min", c.join_backoff_min, Duration(1ms), kDurationMax);
  check.Range("join_backoff_max", c.join_backoff_max, Duration(1ms), kDurationMax);
  check.AtLeast("join_backoff_max", c.join_backoff_max, "join_backoff_min", c.join_backoff_min);
  check.Range("seed_retry", c.seed_retry, Duration(1ms), kDurationMax);
  check.AtLeast("seed_retry", c.seed_retry, "join_backoff_min", c.join_backoff_min);
  check.Count("reconnect_periods", c.reconnect_periods, 1, 100000);
  check.Range("stream_timeout", c.stream_timeout, Duration(1ms), kDurationMax);
  check.Range("leave_timeout", c.leave_timeout, Duration(1ms), kDurationMax);
}

void CheckIsolation(const Config& c, Check& check) {
  if (!(c.isolation_share >= 0 && c.isolation_share < 1)) {
    check.Fail("isolation_share", Text(c.isolation_share), "must be at least 0 and below 1");
  }
  check.Range("isolation_after", c.isolation_after, Duration(0), kDurationMax);
  if (c.bootstrap_expect > c.members_max) {
    check.Fail("bootstrap_expect", Text(std::uint64_t{c.bootstrap_expect}),
               absl::StrCat("must not be above members_max = ", c.members_max));
  }
  if (!c.standalone) return;
  if (!c.seeds.empty()) check.Fail("seeds", absl::StrJoin(c.seeds, ", "), "a standalone node joins nobody");
  if (c.bootstrap_expect > 1) {
    check.Fail("bootstrap_expect", Text(std::uint64_t{c.bootstrap_expect}), "a standalone node is alone for good");
  }
}

}  // namespace

Config Config::Lan() { return Make(kLan); }
Config Config::Wan() { return Make(kWan); }
Config Config::Local() { return Make(kLocal); }
Config Config::Mesh() { return MakeBeats("mesh", kMeshTiming, kMeshStm); }
// A pair has one message between it and a suspicion, so what is lost is sent again well within the second that is left.
Config Config::Pair() {
  Config config = MakeBeats("pair", kPairTiming, kPairStm);
  config.repeat_after = 250ms;
  config.members_max = 2;
  return config;
}

absl::Status Config::Validate() const {
  Check check;
  CheckOwnRow(*this, check);
  CheckIdentity(*this, check);
  CheckSealing(*this, check);
  CheckAddresses(*this, check);
  if (beats()) {
    CheckBeats(*this, check);
  } else {
    CheckProbing(*this, check);
    CheckHolds(*this, check);
  }
  CheckDissemination(*this, check);
  CheckJoining(*this, check);
  CheckIsolation(*this, check);
  CheckMail(mail, check);
  return check.status();
}

// Pauses of our own are noticed by the engine, which knows when it was due.
StmConfig Config::Stm() const {
  if (beats()) {
    return {.demote_threshold = misses,
            .promote_threshold = promote_threshold,
            .recovery_hold = recovery_hold,
            .rumour_weight = rumour_weight,
            .verdicts = false,
            .revive = revive,
            .max_records = members_max};
  }
  return {.demote_threshold = attempts,
          .promote_threshold = promote_threshold,
          .rumour_weight = rumour_weight,
          .obey_verdicts = !rules.confirm_is_a_word,
          .doubt_the_doubted = rules.doubt_the_doubted,
          .max_records = members_max};
}

}  // namespace nekton
