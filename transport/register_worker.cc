#include "transport/register_worker.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

RegisterAnswer Unknown(std::string why) {
  return {.verdict = RegisterVerdict::kUnknown, .version = kAbsent, .value = {}, .why = std::move(why)};
}

class LocalBackend final : public RegisterBackend {
 public:
  explicit LocalBackend(std::shared_ptr<SharedTable> table) : table_(std::move(table)) {}
  RegisterAnswer Do(const RegisterRequest& request) override { return table_->Do(request); }
  bool Changed() override { return std::exchange(seen_, table_->revision()) != seen_; }

 private:
  std::shared_ptr<SharedTable> table_;
  std::uint64_t seen_ = 0;
};

}  // namespace

std::unique_ptr<Register> MakeLocalRegister(std::shared_ptr<SharedTable> table) {
  RegisterWorker::Options options;
  options.watch_every = std::chrono::milliseconds(5);
  return std::make_unique<RegisterWorker>(std::make_unique<LocalBackend>(std::move(table)), options);
}

RegisterWorker::RegisterWorker(std::unique_ptr<RegisterBackend> backend, Options options)
    : backend_(std::move(backend)), options_(options), thread_([this] { Run(); }) {}

RegisterWorker::~RegisterWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  work_.notify_all();
  thread_.join();
  for (auto* queue : {&refused_, &queue_}) {
    for (Waiting& waiting : *queue) waiting.done(Unknown("the register is closed"));
  }
}

void RegisterWorker::Read(std::string key, Done done) {
  RegisterRequest request;
  request.key = std::move(key);
  Put(std::move(request), std::move(done));
}

void RegisterWorker::CompareAndSet(std::string key, std::uint64_t expected, std::optional<std::string> value,
                                   Done done) {
  RegisterRequest request;
  request.write = true;
  request.key = std::move(key);
  request.expected = expected;
  request.value = std::move(value);
  Put(std::move(request), std::move(done));
}

void RegisterWorker::Put(RegisterRequest request, Done done) {
  const bool bad = !ProblemOf(request).empty();
  {
    const std::lock_guard lock(mutex_);
    std::deque<Waiting>& queue = bad || queue_.size() >= options_.queue ? refused_ : queue_;
    // Who goes on asking a register that is this far behind gets no answer: the same as a lost one.
    if (queue.size() >= options_.queue) return;
    queue.push_back({.request = std::move(request), .done = std::move(done)});
  }
  work_.notify_one();
}

std::uint64_t RegisterWorker::Watch(std::string key, Changed changed) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (watches_.size() >= options_.watches) return 0;
    number = next_watch_++;
    watches_[number] = {
        .key = std::move(key), .changed = std::make_shared<Changed>(std::move(changed)), .told = std::nullopt};
    look_ = true;
    all_ = true;
  }
  work_.notify_one();
  return number;
}

void RegisterWorker::Unwatch(std::uint64_t watch) {
  const std::lock_guard lock(mutex_);
  watches_.erase(watch);
}

void RegisterWorker::Run() {
  Lock lock(mutex_);
  while (!stopped_) {
    const auto awake = [this] { return stopped_ || look_ || !queue_.empty() || !refused_.empty(); };
    if (watches_.empty()) {
      work_.wait(lock, awake);
    } else {
      work_.wait_until(lock, next_look_, awake);
    }
    if (stopped_) return;
    Serve(lock);
    if (!stopped_ && !watches_.empty() && (look_ || std::chrono::steady_clock::now() >= next_look_)) Look(lock);
    look_ = look_ && !watches_.empty();
  }
}

// One request of each kind.
void RegisterWorker::Serve(Lock& lock) {
  if (!refused_.empty()) {
    Waiting waiting = std::move(refused_.front());
    refused_.pop_front();
    lock.unlock();
    std::string why = ProblemOf(waiting.request);
    waiting.done(Unknown(why.empty() ? absl::StrCat("more than ", options_.queue, " requests wait") : std::move(why)));
    lock.lock();
  }
  if (!stopped_ && !queue_.empty()) {
    Waiting waiting = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    RegisterAnswer answer = backend_->Do(waiting.request);
    const bool wrote = waiting.request.write && answer.verdict == RegisterVerdict::kYes;
    waiting.done(std::move(answer));
    lock.lock();
    look_ = look_ || wrote;
  }
}

void RegisterWorker::Look(Lock& lock) {
  look_ = false;
  const bool all = std::exchange(all_, false);
  std::map<std::string, RegisterAnswer> there;
  for (const auto& [number, watched] : watches_) there.try_emplace(watched.key);
  lock.unlock();
  bool failed = false;
  const bool changed = backend_->Changed() || all;
  if (changed) {
    for (auto& [key, answer] : there) {
      RegisterRequest request;
      request.key = key;
      answer = backend_->Do(request);
      failed = failed || answer.verdict != RegisterVerdict::kYes;
    }
  }
  lock.lock();
  next_look_ = std::chrono::steady_clock::now() + options_.watch_every;
  if (!changed) return;
  all_ = all_ || failed;
  std::vector<std::pair<std::shared_ptr<Changed>, const RegisterAnswer*>> calls;
  for (auto& [number, watched] : watches_) {
    const auto found = there.find(watched.key);
    if (found == there.end() || found->second.verdict != RegisterVerdict::kYes) continue;
    if (watched.told == found->second.version) continue;
    watched.told = found->second.version;
    calls.emplace_back(watched.changed, &found->second);
  }
  lock.unlock();
  for (const auto& [call, answer] : calls) (*call)(*answer);
  lock.lock();
}

}  // namespace nekton
