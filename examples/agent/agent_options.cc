#include "examples/agent/agent_options.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "examples/agent/arguments.h"
#include "examples/agent/keys.h"
#include "examples/agent/speed.h"
#include "examples/agent/words.h"

namespace nekton {

const std::string_view kAgentHelp = R"(usage: nekton agent --name NAME [option...]

Runs one member of a group and prints every event with its cause, one a line.

  --name NAME           unique in the group, 1-128 bytes without spaces
  --bind ADDRESS:PORT   where to listen, UDP and TCP (default 0.0.0.0:7946); port 0: the system's choice
  --advertise A:P       what others are told; default: the bound address
  --join HOST:PORT      a seed, retried for ever; may be repeated
  --join-timeout TIME   ends with status 1 if nobody else is known by then, or fewer than --bootstrap-expect (default:
                        never)
  --bootstrap-expect N  the group has at least N members, this one included: while it reaches no more than half of them
                        it is isolated, even if it has met nobody yet (default 0: off)
  --standalone          alone for good: opens no socket and joins nobody
  --profile PROFILE     lan (default), wan or local: SWIM; mesh or pair: heartbeats, of up to 64 members. A mesh commits
                        SUSPECT within 30 to 90 s of the last heartbeat heard, a pair after 6 s (fixed detector)
  --label LABEL         name of the cluster, up to 64 bytes; members of another label are not heard
  --sealing MODE        off (default), accept or require: frames are encrypted, authenticated and good once. In a group
                        that runs: accept at every member, then require at every member
  --key-file FILE       of the group's keys, 64 hexadecimal digits a line, the first seals; mode 600. It follows what the
                        command keys changes
  --tag KEY=VALUE       may be repeated; 512 bytes together
  --generation N        of this start of the name; default: the time in ms
  --detector DETECTOR   fixed (default) or phi: when an attempt of a probe round, or a heartbeat, is overdue
  --probing PROBING     random (default): every other member in turn; staggered: five fixed ones, whose observers take
                        turns, so that no crash goes unprobed for longer than a period
  --authority NAME      the member that writes the membership view and grants leases; without it there are none
  --candidates A,B,...  instead: the members of which one is it, whoever holds a lease; when it dies another follows
  --authority-key KEY   its public key (nekton keygen), 64 hexadecimal digits
  --authority-secret FILE, --store FILE
                        of that member alone: its secret (nekton keygen), and where it keeps its view
  --authority-secret FILE, --register WHERE
                        of every candidate: the same secret, and where the lease and the view are: an SQLite file that all
                        of them reach (on one machine), or http://HOST:PORT of an etcd, several with commas between them
  --capabilities FILE   lines of `nekton capability`: the objects that stat, get, commit, replay and homes are about
  --evidence            prints every decision about members, the view and homes as a row of its own
  --speed K             all times of the protocol divided by K, 1 to 8 (default 1); the same in all members
  --json                one JSON object a line, with "time" (wall clock, UTC) and "observer" (NAME); times in "at_ns"
                        are CLOCK_BOOTTIME
  --help                this text

Commands on standard input, one a line: members, counters, explain NAME, leave, help; watch NAME MS LEVEL... (asks the
member for a pulse every MS milliseconds; an event tells when its level of suspicion passes a LEVEL), unwatch NAME,
level NAME; tag KEY=VALUE, untag KEY (our own tags); broadcast KEY TEXT (to every member, which is told of the latest of
each KEY); keys (those of this member), keys new, keys add HEX, keys use ID, keys remove ID (at every member; what would
cut a member off is refused); with --authority also routes, homes, stat OBJECT, get OBJECT, commit OBJECT TEXT, and replay
OBJECT (sends our last commit once more, as it was).
Ctrl-C or SIGTERM leaves the group; a second one ends the process at once.
Status: 0 after a leave, 1 failed, 2 wrong arguments, 130 ended by a second Ctrl-C.
)";

namespace {

absl::Status AddTag(std::string_view text, Config* config) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": must be KEY=VALUE"));
  }
  const bool added = config->tags.emplace(text.substr(0, equals), text.substr(equals + 1)).second;
  return added ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": key given twice"));
}

// What is worked out when all is read.
struct Named {
  std::string profile = "lan";
  std::string key;
  std::string secret;
  std::string capabilities;
  double speed = 1;
};

void DeclareLeases(Arguments* arguments, AgentOptions* options, Named* named) {
  arguments->Text("authority", &options->leases.authority);
  arguments->Each("candidates", [options](std::string_view names) {
    for (const absl::string_view name : absl::StrSplit(Absl(names), ',')) options->leases.candidates.emplace_back(name);
    return absl::OkStatus();
  });
  arguments->Text("register", &options->lease_register);
  arguments->Text("authority-key", &named->key);
  arguments->Text("authority-secret", &named->secret);
  arguments->Text("store", &options->store);
  arguments->Text("capabilities", &named->capabilities);
  arguments->Flag("evidence", &options->evidence);
  arguments->One("speed", [named](std::string_view text) {
    const bool number = absl::SimpleAtod(Absl(text), &named->speed) && named->speed >= 1 && named->speed <= kSpeedMax;
    return number ? absl::OkStatus()
                  : absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": must be from 1 to ", kSpeedMax));
  });
}

// Keys, rights and the authority of this member.
absl::Status FinishLeases(const Named& named, AgentOptions* options) {
  LeaseConfig& leases = options->leases;
  leases.terms = AtSpeed(leases.terms, named.speed);
  leases.seat = Duration(std::llround(static_cast<double>(leases.seat.count()) / named.speed));
  if (!leases.enabled()) {
    const bool any = !named.key.empty() || !named.secret.empty() || !options->store.empty() ||
                     !named.capabilities.empty() || !options->lease_register.empty();
    return any ? absl::InvalidArgumentError("--authority is missing") : absl::OkStatus();
  }
  const absl::StatusOr<PublicKey> key = ParsePublicKey(named.key);
  if (!key.ok()) return absl::InvalidArgumentError(absl::StrCat("--authority-key ", key.status().message()));
  leases.key = *key;
  const std::string& kept = leases.by_lease() ? options->lease_register : options->store;
  const std::string& other = leases.by_lease() ? options->store : options->lease_register;
  if (named.secret.empty() != kept.empty() || !other.empty()) {
    return absl::InvalidArgumentError(leases.by_lease()
                                          ? "--authority-secret and --register belong together, without --store"
                                          : "--authority-secret and --store belong together, without --register");
  }
  if (!named.secret.empty()) {
    const absl::StatusOr<SigningKey> secret = ReadKeyFile(named.secret);
    if (!secret.ok()) return absl::InvalidArgumentError(absl::StrCat("--authority-secret ", secret.status().message()));
    leases.signing = *secret;
  }
  if (!named.capabilities.empty()) {
    absl::StatusOr<Rights> rights = ReadRights(named.capabilities);
    if (!rights.ok()) return absl::InvalidArgumentError(absl::StrCat("--capabilities ", rights.status().message()));
    options->rights = *std::move(rights);
  }
  const std::vector<std::string> problems = ProblemsOf(leases, options->config);
  return problems.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
}

void Declare(Arguments* arguments, AgentOptions* options, Named* named) {
  Config* config = &options->config;
  arguments->Text("name", &config->name);
  arguments->Text("bind", &config->bind);
  arguments->Text("advertise", &config->advertise);
  arguments->Each("join", [config](std::string_view seed) {
    config->seeds.emplace_back(seed);
    return absl::OkStatus();
  });
  arguments->Time("join-timeout", &options->join_timeout);
  arguments->Text("profile", &named->profile);
  arguments->Text("label", &config->label);
  arguments->Text("key-file", &config->key_file);
  arguments->One("sealing", [config](std::string_view mode) {
    const absl::StatusOr<Sealing> sealing = SealingOf(mode);
    if (sealing.ok()) config->sealing = *sealing;
    return sealing.status();
  });
  arguments->Each("tag", [config](std::string_view tag) { return AddTag(tag, config); });
  arguments->Count("generation", 1, std::numeric_limits<std::uint64_t>::max(), &config->generation);
  arguments->One("detector", [config](std::string_view name) {
    const absl::StatusOr<DetectorKind> detector = DetectorOf(name);
    if (detector.ok()) config->detector = *detector;
    return detector.status();
  });
  arguments->One("probing", [config](std::string_view name) {
    const absl::StatusOr<Probing> probing = ProbingOf(name);
    if (probing.ok()) config->probing = *probing;
    return probing.status();
  });
  arguments->One("bootstrap-expect", [config](std::string_view text) {
    const absl::StatusOr<std::uint64_t> count = ParseCount(text, 0, std::numeric_limits<std::uint32_t>::max());
    if (count.ok()) config->bootstrap_expect = static_cast<std::uint32_t>(*count);
    return count.status();
  });
  arguments->Flag("standalone", &config->standalone);
  arguments->Flag("json", &options->json);
  DeclareLeases(arguments, options, named);
}

}  // namespace

absl::StatusOr<AgentOptions> ParseAgentOptions(std::span<const char* const> given) {
  // The first reading finds the profile, the second one changes it.
  AgentOptions options;
  Named named;
  Arguments arguments;
  Declare(&arguments, &options, &named);
  absl::Status status = arguments.Parse(given);
  if (!status.ok()) return status;
  options.help = arguments.help();
  if (options.help) return options;
  if (!arguments.given("name")) return absl::InvalidArgumentError("--name is missing");
  if (arguments.given("join-timeout") && options.join_timeout == Duration::zero()) {
    return absl::InvalidArgumentError("--join-timeout: must be above 0");
  }
  const absl::StatusOr<Config> config = ProfileOf(named.profile);
  if (!config.ok()) return absl::Status(config.status().code(), absl::StrCat("--profile ", config.status().message()));
  options = {};
  options.config = AtSpeed(*config, named.speed);
  named = {};
  Arguments again;
  Declare(&again, &options, &named);
  status = again.Parse(given);
  if (status.ok()) status = options.config.Validate();
  if (status.ok()) status = FinishLeases(named, &options);
  if (!status.ok()) return absl::InvalidArgumentError(OneLine(status.message()));
  return options;
}

}  // namespace nekton
