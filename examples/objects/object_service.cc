#include "examples/objects/object_service.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/objects/object_wire.h"

namespace nekton {
namespace {

Instant BootTime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

std::uint64_t WallNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

struct ObjectService::State : std::enable_shared_from_this<State> {
  explicit State(Node& of) : node(of), self(of.Members().self()->name) {}

  // One request of ours, from its beginning to its result.
  struct Errand {
    ObjectCall call;
    Result result;
    Instant deadline{};
    bool replay = false;  // it goes as it is
    Done done;
  };
  using ErrandPtr = std::shared_ptr<Errand>;
  using Answered = std::function<void(std::vector<std::byte> answer)>;

  // --- as a client
  void Begin(ObjectCall call, bool replay, Duration budget, Done done);
  void Leave(const ErrandPtr& errand, const std::string& home);
  void Send(const ErrandPtr& errand, const std::string& home);
  void SendFar(const ErrandPtr& errand, const std::string& home);
  void OnAnswer(const ErrandPtr& errand, std::span<const std::byte> bytes);
  void End(const ErrandPtr& errand, std::string_view status);
  ObjectCall NewCall(const Capability& right, Operation operation);

  // --- as a home
  void OnRequest(const Message& message, Responder responder);
  void Judge(const ObjectCall& call, Answered answered);
  ObjectAnswer Carry(const ObjectCall& call);

  struct Held {
    std::uint64_t version = 0;
    std::string value;
  };

  Node& node;
  const std::string self;
  std::mutex mutex;
  std::map<ObjectId, Held> held;                                 // what we are home to
  std::map<ObjectId, ObjectCall> last_commits;                   // of ours
  std::map<std::array<std::byte, 16>, std::uint64_t> last_used;  // request ids, by capability
};

// --- as a client

// Ids rise within a capability, also those of the next process that has it.
ObjectCall ObjectService::State::NewCall(const Capability& right, Operation operation) {
  ObjectCall call;
  call.request.capability = right;
  call.request.object = right.object;
  call.request.operation = operation;
  const std::lock_guard lock(mutex);
  std::uint64_t& last = last_used[right.id];
  call.request.request = last = std::max(last + 1, WallNanoseconds());
  return call;
}

void ObjectService::State::Begin(ObjectCall call, bool replay, Duration budget, Done done) {
  const auto errand = std::make_shared<Errand>();
  errand->replay = replay;
  errand->deadline = Later(BootTime(), budget);
  errand->done = std::move(done);
  errand->call = std::move(call);
  ResultEvidence& told = errand->result.evidence;
  told.request = errand->call.request.request;
  told.object = errand->call.request.object;
  told.operation = errand->call.request.operation;
  const absl::Status asked = node.RouteAsync(
      told.object, [state = shared_from_this(), errand](const Route& route) { state->Leave(errand, route.home); });
  if (!asked.ok()) End(errand, "no-route");
}

void ObjectService::State::Leave(const ErrandPtr& errand, const std::string& home) {
  ResultEvidence& told = errand->result.evidence;
  if (!errand->replay) errand->call.request.epoch = node.view()->epoch();
  told.epoch = errand->call.request.epoch;
  if (!errand->replay && told.operation == Operation::kCommit) {
    const std::lock_guard lock(mutex);
    if (last_commits.size() < kObjectsMax) last_commits[told.object] = errand->call;
  }
  Send(errand, home);
}

void ObjectService::State::Send(const ErrandPtr& errand, const std::string& home) {
  errand->result.evidence.home = home;
  if (home.empty()) return End(errand, "no-route");
  if (home != self) return SendFar(errand, home);
  ++errand->result.evidence.attempts;
  Judge(errand->call,
        [state = shared_from_this(), errand](std::vector<std::byte> answer) { state->OnAnswer(errand, answer); });
}

void ObjectService::State::SendFar(const ErrandPtr& errand, const std::string& home) {
  ResultEvidence& told = errand->result.evidence;
  // By a view that nobody can tell us the successor of: its homes may be none any more, and those that we reach without
  // the authority are as badly off as we are.
  const bool current = node.view()->current;
  if (!current && told.operation == Operation::kCommit) return End(errand, "no-authority");
  const MemberPtr member = node.Members().Find(home);
  if (member == nullptr || (member->status != MemberStatus::kActive && member->status != MemberStatus::kSuspect)) {
    return End(errand, current ? "unreachable" : "no-authority");
  }
  ++told.attempts;
  RequestOptions options;
  options.budget = std::max<Duration>(errand->deadline - BootTime(), std::chrono::milliseconds(1));
  const auto sent =
      node.RequestAsync(home, Encode(errand->call), options,
                        [state = shared_from_this(), errand](const absl::StatusOr<std::vector<std::byte>>& answer) {
                          if (answer.ok()) return state->OnAnswer(errand, *answer);
                          const bool late = absl::IsDeadlineExceeded(answer.status());
                          errand->result.evidence.timeouts += late ? 1 : 0;
                          state->End(errand, late ? "timeout" : "unreachable");
                        });
  if (!sent.ok()) End(errand, "unreachable");
}

void ObjectService::State::OnAnswer(const ErrandPtr& errand, std::span<const std::byte> bytes) {
  const std::optional<ObjectAnswer> answer = DecodeAnswer(bytes);
  if (!answer.has_value()) return End(errand, "bad-answer");
  ResultEvidence& told = errand->result.evidence;
  if (answer->verdict == Verdict::kMoved && !told.moved) {
    told.moved = true;                                                               // one, and no more
    node.RedirectAsync(told.object, answer->moved_to, answer->epoch).IgnoreError();  // for the next one
    return Send(errand, answer->moved_to);
  }
  errand->result.version = answer->version;
  errand->result.value = answer->value;
  End(errand, Name(answer->verdict));
}

void ObjectService::State::End(const ErrandPtr& errand, std::string_view status) {
  errand->result.evidence.status = status;
  errand->done(errand->result);
}

// --- as a home

void ObjectService::State::OnRequest(const Message& message, Responder responder) {
  const std::optional<ObjectCall> call = DecodeCall(message.body);
  if (!call.has_value()) {
    responder.Fail(absl::InvalidArgumentError("this is no request for an object")).IgnoreError();
    return;
  }
  Judge(*call, [to = std::make_shared<Responder>(std::move(responder))](std::vector<std::byte> answer) {
    to->Answer(std::move(answer)).IgnoreError();  // nobody waits for it any more
  });
}

void ObjectService::State::Judge(const ObjectCall& call, Answered answered) {
  const absl::Status asked = node.ServeAsync(
      call.request, [state = shared_from_this(), call] { return Encode(state->Carry(call)); },
      [answered](const ObjectDecision& decision) {
        if (decision.verdict == Verdict::kServe || decision.verdict == Verdict::kReplay) {
          return answered(decision.answer);  // of a repeated one the first answer
        }
        answered(Encode(ObjectAnswer{decision.verdict, decision.epoch, decision.moved_to, 0, {}}));
      });
  if (!asked.ok()) answered(Encode(ObjectAnswer{Verdict::kBusy, call.request.epoch, {}, 0, {}}));
}

// It may be done: do it. On the loop's thread, by the very leases that allow it; so it is quick.
ObjectAnswer ObjectService::State::Carry(const ObjectCall& call) {
  ObjectAnswer answer;
  answer.epoch = call.request.epoch;
  const std::lock_guard lock(mutex);
  const auto known = held.find(call.request.object);
  if (call.request.operation == Operation::kCommit) {
    if (known == held.end() && held.size() >= kObjectsMax) {
      answer.verdict = Verdict::kBusy;
      return answer;
    }
    Held& object = held[call.request.object];
    answer.version = ++object.version;
    object.value = call.value;
  } else if (known != held.end()) {
    answer.version = known->second.version;
    if (call.wants_value) answer.value = known->second.value;
  }
  return answer;
}

// ---

ObjectService::ObjectService(Node& node) : state_(std::make_shared<State>(node)) {
  node.OnRequest([state = state_](const Message& message, Responder responder) {
    state->OnRequest(message, std::move(responder));
  });
}

ObjectService::~ObjectService() { state_->node.OnRequest(nullptr); }

void ObjectService::Stat(const Capability& right, Done done, Duration budget) {
  state_->Begin(state_->NewCall(right, Operation::kStat), false, budget, std::move(done));
}

void ObjectService::Get(const Capability& right, Done done, Duration budget) {
  ObjectCall call = state_->NewCall(right, Operation::kStat);
  call.wants_value = true;
  state_->Begin(std::move(call), false, budget, std::move(done));
}

void ObjectService::Commit(const Capability& right, std::string value, Done done, Duration budget) {
  ObjectCall call = state_->NewCall(right, Operation::kCommit);
  call.value = std::move(value);
  state_->Begin(std::move(call), false, budget, std::move(done));
}

absl::Status ObjectService::Replay(const ObjectId& object, Done done, Duration budget) {
  std::optional<ObjectCall> call;
  {
    const std::lock_guard lock(state_->mutex);
    const auto known = state_->last_commits.find(object);
    if (known != state_->last_commits.end()) call = known->second;
  }
  if (!call.has_value()) return absl::NotFoundError("this service has committed nothing to the object");
  state_->Begin(*std::move(call), true, budget, std::move(done));
  return absl::OkStatus();
}

}  // namespace nekton
