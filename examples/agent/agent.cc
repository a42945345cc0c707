#include "examples/agent/agent.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "examples/agent/agent_leases.h"
#include "examples/agent/console.h"
#include "examples/agent/group_keys.h"
#include "examples/agent/line_input.h"
#include "examples/agent/words.h"
#include "swim/event_json.h"
#include "transport/node.h"
#ifdef NEKTON_HAS_ETCD
#include "transport/store_etcd_register.h"
#endif
#ifdef NEKTON_HAS_SQLITE
#include "transport/store_sqlite_register.h"
#include "transport/store_sqlite_view.h"
#endif

namespace nekton {
namespace {

constexpr int kFailed = 1;
constexpr int kInterruptedTwice = 130;

std::string Text(const Address& address) { return address.ToString(); }

// The clock of Evidence::at.
Instant Now() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

absl::StatusOr<std::shared_ptr<ViewStore>> OpenStore(const std::string& path) {
#ifdef NEKTON_HAS_SQLITE
  return SqliteViewStore::Open(path);
#else
  return absl::UnimplementedError(absl::StrCat("--store ", path, ": this program was built without SQLite"));
#endif
}

absl::StatusOr<std::shared_ptr<Register>> OpenRegister(const std::string& where) {
  absl::StatusOr<std::unique_ptr<Register>> opened =
      absl::UnimplementedError(absl::StrCat("--register ", where, ": this program was built without it"));
  if (where.rfind("http", 0) == 0) {
#ifdef NEKTON_HAS_ETCD
    EtcdOptions options;
    options.endpoints = absl::StrSplit(where, ',');
    options.timeout = std::chrono::milliseconds(500);  // below a third of the shortest lease
    opened = OpenEtcdRegister(std::move(options));
#endif
  } else {
#ifdef NEKTON_HAS_SQLITE
    SqliteRegisterOptions options;
    options.path = where;
    opened = OpenSqliteRegister(options);
#endif
  }
  if (!opened.ok()) return opened.status();
  return std::shared_ptr<Register>(*std::move(opened));
}

int Fail(std::string_view what) {
  std::fprintf(stderr, "nekton agent: %.*s\n", static_cast<int>(what.size()), what.data());
  return kFailed;
}

class Agent {
 public:
  explicit Agent(const AgentOptions& options)
      : options_(options), console_(options.json, options.config.name), printer_(&console_, options.evidence) {}
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  int Run();

 private:
  absl::Status Start();
  void WaitJoined();
  void PrintStarted();
  std::optional<int> Turn();  // waits for whatever comes next; a status ends the process
  void OnEvent(const Event& event);
  void OnSignal();
  void OnLine(const std::string& line);
  void AnswerMembers();
  void AnswerCounters();
  void AnswerExplain(const std::string& name);
  void AnswerWatch(const std::string& line);
  void AnswerUnwatch(const std::string& name);
  void AnswerLevel(const std::string& name);
  void AnswerTag(const std::string& line);
  void AnswerBroadcast(const std::string& line);
  void AnswerStatus(const char* answer, const std::string& name, const absl::Status& status,
                    const char* field = "member");
  void BeginLeave();
  void Notify();

  const AgentOptions& options_;
  Console console_;
  EvidencePrinter printer_;
  LineInput input_{STDIN_FILENO};
  int signals_ = -1;
  int notices_ = -1;  // an eventfd that the delivery thread writes
  std::unique_ptr<Node> node_;
  std::optional<AgentLeases> leases_;
  Subscription watch_;
  std::thread join_waiter_;   // only with --join-timeout
  absl::Status join_status_;  // read after not_joined_
  bool leaving_ = false;
  std::atomic<bool> not_joined_ = false;
  std::atomic<bool> left_ = false;
  std::atomic<bool> displaced_ = false;
  std::atomic<bool> expelled_ = false;
};

Agent::~Agent() {
  watch_.Cancel();
  if (node_ != nullptr) node_->Stop();  // the waiter ends; no callback comes any more
  if (join_waiter_.joinable()) join_waiter_.join();
  for (const int fd : {signals_, notices_}) {
    if (fd >= 0) close(fd);
  }
}

int Agent::Run() {
  std::signal(SIGPIPE, SIG_IGN);  // a peer or a reader that goes away is an error of the write
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before the node has threads
  signals_ = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  notices_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals_ < 0 || notices_ < 0) return Fail("the system gives no more descriptors");

  const absl::Status status = Start();
  if (!status.ok()) return Fail(OneLine(status.message()));
  for (;;) {
    if (const std::optional<int> result = Turn(); result.has_value()) return *result;
  }
}

absl::Status Agent::Start() {
  Config config = options_.config;
  // The seeds come after the subscription, so that what becomes of the very first attempt is heard.
  std::vector<std::string> seeds = std::move(config.seeds);
  config.seeds.clear();
  NodeOptions options;
  options.leases = options_.leases;
  options.evidence = [this](const Evidence& evidence) { printer_.Print(evidence); };
  if (!options_.store.empty()) {
    absl::StatusOr<std::shared_ptr<ViewStore>> store = OpenStore(options_.store);
    if (!store.ok()) return store.status();
    options.view_store = *std::move(store);
  }
  if (!options_.lease_register.empty()) {
    absl::StatusOr<std::shared_ptr<Register>> opened = OpenRegister(options_.lease_register);
    if (!opened.ok()) return opened.status();
    options.lease_register = *std::move(opened);
  }
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(std::move(config), std::move(options));
  if (!node.ok()) return node.status();
  node_ = *std::move(node);
  ServeGroupKeys(*node_);
  PrintStarted();
  const bool authority = options_.leases.enabled();
  if (!authority) printer_.Print({Now(), DisabledEvidence{}});
  leases_.emplace(node_.get(), &console_, &printer_, &options_.rights, authority);
  watch_ = node_->Subscribe([this](const Event& event) { OnEvent(event); }, SubscribeFrom::kSnapshot);
  if (!seeds.empty()) {
    if (absl::Status status = node_->Join(std::move(seeds)); !status.ok()) return status;
  }
  if (options_.join_timeout > Duration::zero()) join_waiter_ = std::thread([this] { WaitJoined(); });
  return absl::OkStatus();
}

void Agent::WaitJoined() {
  join_status_ = node_->WaitJoined(options_.join_timeout);
  if (!absl::IsDeadlineExceeded(join_status_)) return;
  not_joined_ = true;
  Notify();
}

void Agent::PrintStarted() {
  const MemberPtr self = node_->Members().self();
  const std::uint64_t generation = self == nullptr ? 0 : self->key.generation;
  const Config& config = options_.config;
  std::string text = config.standalone ? absl::StrCat(config.name, " stands alone")
                                       : absl::StrCat(config.name, " listens on ", Text(node_->local()));
  if (node_->advertised() != node_->local()) absl::StrAppend(&text, ", advertised as ", Text(node_->advertised()));
  absl::StrAppend(&text, " (profile ", config.profile, ", generation ", generation);
  if (!config.label.empty()) absl::StrAppend(&text, ", label ", config.label);
  console_.Print(absl::StrCat(text, ")"), {{"event", "started"},
                                           {"name", config.name},
                                           {"address", Text(node_->local())},
                                           {"advertised", Text(node_->advertised())},
                                           {"generation", generation},
                                           {"profile", config.profile},
                                           {"label", config.label},
                                           {"pid", getpid()}});
}

std::optional<int> Agent::Turn() {
  std::array<pollfd, 3> waits = {{{signals_, POLLIN, 0}, {notices_, POLLIN, 0}, {input_.fd(), POLLIN, 0}}};
  poll(waits.data(), waits.size(), -1);
  if (waits[0].revents != 0) OnSignal();
  std::uint64_t notices;
  if (waits[1].revents != 0 && read(notices_, &notices, sizeof notices) < 0) return Fail("cannot read an eventfd");
  if (waits[2].revents != 0) {
    for (const std::string& line : input_.Read()) OnLine(line);
  }
  if (left_) return 0;
  if (displaced_) return Fail("another process has taken our name; this one ends");
  if (expelled_) return Fail("this member was expelled; it ends");
  if (console_.failed()) BeginLeave();  // nobody reads what we say
  if (not_joined_ && !leaving_) {
    return Fail(absl::StrCat("not joined within --join-timeout: ", OneLine(join_status_.message())));
  }
  return std::nullopt;
}

void Agent::OnEvent(const Event& event) {
  std::string_view note;
  if (event.kind == EventKind::kJoinResult && !event.status.ok()) note = "it is retried";
  console_.Print(event, note);
  if (event.kind == EventKind::kDisplaced) displaced_ = true;
  if (event.kind == EventKind::kExpelled) expelled_ = true;
  Notify();
}

void Agent::Notify() {
  const std::uint64_t one = 1;
  // A counter that is full has been written to already.
  [[maybe_unused]] const ssize_t written = write(notices_, &one, sizeof one);
}

void Agent::OnSignal() {
  signalfd_siginfo signal;
  while (read(signals_, &signal, sizeof signal) == sizeof signal) {
    if (leaving_) std::_Exit(kInterruptedTwice);
    BeginLeave();
  }
}

void Agent::BeginLeave() {
  if (leaving_) return;
  leaving_ = true;
  console_.Print("leaving", {{"event", "leaving"}});
  const absl::Status status = node_->LeaveAsync(Duration::zero(), [this](const absl::Status&) {
    left_ = true;
    Notify();
  });
  if (!status.ok()) left_ = true;  // the node has stopped already
}

void Agent::OnLine(const std::string& line) {
  if (line.empty()) return;
  if (line == "members") return AnswerMembers();
  if (line == "counters") return AnswerCounters();
  if (line == "leave") return BeginLeave();
  for (const char* command : {"explain", "unwatch", "level", "untag"}) {
    if (line != command) continue;
    const std::string message = line == "untag"
                                    ? "untag needs the key of a tag: untag KEY"
                                    : absl::StrCat(command, " needs the name of a member: ", command, " NAME");
    return console_.Print(message, {{"answer", command}, {"message", message}});
  }
  if (line.starts_with("explain ")) return AnswerExplain(line.substr(8));
  if (line == "watch" || line.starts_with("watch ")) return AnswerWatch(line);
  if (line.starts_with("unwatch ")) return AnswerUnwatch(line.substr(8));
  if (line.starts_with("level ")) return AnswerLevel(line.substr(6));
  if (line == "tag" || line.starts_with("tag ")) return AnswerTag(line);
  if (line.starts_with("untag ")) return AnswerStatus("untag", line.substr(6), node_->EraseTag(line.substr(6)), "key");
  if (line == "broadcast" || line.starts_with("broadcast ")) return AnswerBroadcast(line);
  if (line == "keys" || line.starts_with("keys ")) {
    const absl::StatusOr<std::string> result =
        ChangeGroupKeys(*node_, line.substr(std::min<std::size_t>(line.size(), 5)));
    const std::string message = result.ok() ? *result : OneLine(result.status().message());
    return console_.Print(
        absl::StrCat("keys: ", message),
        {{"answer", "keys"}, {"result", Std(absl::StatusCodeToString(result.status().code()))}, {"message", message}});
  }
  if (leases_->OnLine(line)) return;
  if (line == "help") {
    const std::vector<std::string> commands = {
        "members",    "counters",      "explain NAME", "watch NAME MS LEVEL...", "unwatch NAME",
        "level NAME", "tag KEY=VALUE", "untag KEY",    "broadcast KEY TEXT",     "routes",
        "homes",      "stat OBJECT",   "get OBJECT",   "commit OBJECT TEXT",     "replay OBJECT",
        "leave",      "keys",          "help"};
    return console_.Print(absl::StrCat("commands: ", absl::StrJoin(commands, ", ")),
                          {{"answer", "help"}, {"commands", commands}});
  }
  console_.Print("unknown command; help lists them", {{"answer", "unknown"}, {"command", line}});
}

void Agent::AnswerMembers() {
  const MembersView view = node_->Members();
  std::ostringstream text;
  const Contact& contact = view.contact();
  text << view.Alive().size() << " ACTIVE of " << view.All().size() << " members; " << contact.reachable << " of "
       << contact.known << " reached" << (contact.isolated ? ", isolated" : "");
  Json members = Json::array();
  for (const MemberPtr& member : view.All()) {
    text << '\n' << "           " << *member << (member->self ? " (this one)" : "");
    members.push_back(Json::parse(ToJson(*member)));
  }
  console_.Print(text.str(), {{"answer", "members"},
                              {"active", view.Alive().size()},
                              {"reachable", contact.reachable},
                              {"known", contact.known},
                              {"isolated", contact.isolated},
                              {"members", std::move(members)}});
}

void Agent::AnswerCounters() {
  std::string text = "counters that are not 0";
  Json counters = Json::object();
  for (const CounterValue& counter : node_->Counters()) {
    const std::string& name = counter.name;
    counters[name] = counter.value;
    if (counter.value != 0) absl::StrAppend(&text, "\n           ", name, " ", counter.value);
  }
  console_.Print(text, {{"answer", "counters"}, {"counters", std::move(counters)}});
}

void Agent::AnswerExplain(const std::string& name) {
  const absl::StatusOr<MemberExplanation> why = node_->Explain(name);
  if (!why.ok()) {
    const std::string message = OneLine(why.status().message());
    return console_.Print(message, {{"answer", "explain"}, {"member", name}, {"message", message}});
  }
  std::string text = Describe(*why);
  absl::StrReplaceAll({{"\n", "\n           "}}, &text);
  console_.Print(text, {{"answer", "explain"}, {"member", name}, {"explanation", Json::parse(ToJson(*why))}});
}

// "watch beta 100 3 8": a pulse every 100 ms, events where the level passes 3 and 8.
void Agent::AnswerWatch(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  std::uint32_t interval_ms = 0;
  bool understood = words.size() >= 4 && absl::SimpleAtoi(words[2], &interval_ms);
  std::vector<double> thresholds;
  for (std::size_t i = 3; understood && i < words.size(); ++i) {
    understood = absl::SimpleAtod(words[i], &thresholds.emplace_back());
  }
  if (!understood) {
    const char* message = "watch needs a member, an interval in ms and levels: watch NAME MS LEVEL...";
    return console_.Print(message, {{"answer", "watch"}, {"message", message}});
  }
  AnswerStatus("watch", words[1], node_->Watch(words[1], std::chrono::milliseconds(interval_ms), thresholds));
}

void Agent::AnswerUnwatch(const std::string& name) { AnswerStatus("unwatch", name, node_->Unwatch(name)); }

void Agent::AnswerLevel(const std::string& name) {
  const absl::StatusOr<double> level = node_->Level(name);
  if (!level.ok()) return AnswerStatus("level", name, level.status());
  console_.Print(absl::StrCat("the level of ", name, " is ", absl::StrFormat("%.3f", *level)),
                 {{"answer", "level"}, {"member", name}, {"level", *level}});
}

// "tag role=db"
void Agent::AnswerTag(const std::string& line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos || equals <= 4) {
    const char* message = "tag needs a key and a value: tag KEY=VALUE";
    return console_.Print(message, {{"answer", "tag"}, {"message", message}});
  }
  const std::string key = line.substr(4, equals - 4);
  AnswerStatus("tag", key, node_->SetTag(key, line.substr(equals + 1)), "key");
}

// "broadcast config the text is the rest of the line"
void Agent::AnswerBroadcast(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
  if (words.size() < 2 || words[1].empty()) {
    const char* message = "broadcast needs a key, and may have a text: broadcast KEY TEXT";
    return console_.Print(message, {{"answer", "broadcast"}, {"message", message}});
  }
  AnswerStatus("broadcast", words[1], node_->Broadcast(words[1], words.size() == 3 ? words[2] : ""), "key");
}

void Agent::AnswerStatus(const char* answer, const std::string& name, const absl::Status& status, const char* field) {
  Json json = {{"answer", answer}, {field, name}, {"result", Std(absl::StatusCodeToString(status.code()))}};
  if (!status.ok()) json["message"] = OneLine(status.message());
  console_.Print(absl::StrCat(answer, " ", name, ": ", OneLine(status.ToString())), json);
}

}  // namespace

int RunAgent(const AgentOptions& options) { return Agent(options).Run(); }

}  // namespace nekton
