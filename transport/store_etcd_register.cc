#include "transport/store_etcd_register.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "transport/store_etcd_http.h"

namespace nekton {
namespace {

using etcd::Json;
using etcd::Transfer;
using Time = std::chrono::steady_clock::time_point;

// A watch is begun anew so often, in case its end was not noticed, and so long after it failed.
constexpr Duration kWatchAnew = std::chrono::seconds(60);
constexpr Duration kWatchAgain = std::chrono::milliseconds(250);

class EtcdRegister final : public Register {
 public:
  explicit EtcdRegister(EtcdOptions options) : options_(std::move(options)), multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.in_flight + options_.watches));
    thread_ = std::thread([this] { Run(); });
  }

  ~EtcdRegister() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    for (auto& [transfer, call] : calls_) curl_multi_remove_handle(multi_, transfer->handle());
    for (auto& [number, watch] : watches_) Drop(watch);
    for (auto& [transfer, call] : calls_) call.done(etcd::Unknown("the register is closed"));
    for (Call& call : queue_) call.done(etcd::Unknown("the register is closed"));
    calls_.clear();
    watches_.clear();
    curl_multi_cleanup(multi_);
  }

  void Read(std::string key, Done done) override {
    RegisterRequest request;
    request.key = std::move(key);
    Put(std::move(request), std::move(done));
  }

  void CompareAndSet(std::string key, std::uint64_t expected, std::optional<std::string> value, Done done) override {
    RegisterRequest request;
    request.write = true;
    request.key = std::move(key);
    request.expected = expected;
    request.value = std::move(value);
    Put(std::move(request), std::move(done));
  }

  std::uint64_t Watch(std::string key, Changed changed) override {
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      if (asked_watches_.size() >= options_.watches) return 0;
      number = next_watch_++;
      asked_watches_[number] = {std::move(key), std::make_shared<Changed>(std::move(changed))};
    }
    curl_multi_wakeup(multi_);
    return number;
  }

  void Unwatch(std::uint64_t watch) override {
    {
      const std::lock_guard lock(mutex_);
      asked_watches_.erase(watch);
    }
    curl_multi_wakeup(multi_);
  }

 private:
  struct Call {
    RegisterRequest request;
    Done done;
    std::string problem;
    std::size_t tries = 0;
    Time deadline{};
    std::unique_ptr<Transfer> transfer;
  };
  struct Asked {
    std::string key;
    std::shared_ptr<Changed> changed;
  };
  struct Watching {
    Asked asked;
    Time begin_at{};      // while nothing is under way
    bool reading = true;  // what is there; then its changes
    std::uint64_t revision = 0;
    std::unique_ptr<Transfer> transfer;
  };

  void Put(RegisterRequest request, Done done) {
    Call call;
    call.problem = ProblemOf(request);
    call.request = std::move(request);
    call.done = std::move(done);
    call.deadline = std::chrono::steady_clock::now() + options_.timeout;
    {
      const std::lock_guard lock(mutex_);
      // The same as a lost answer, for those who go on asking all the same.
      if (queue_.size() >= 2 * options_.queue) return;
      if (call.problem.empty() && queue_.size() >= options_.queue) {
        call.problem = absl::StrCat("more than ", options_.queue, " requests wait");
      }
      queue_.push_back(std::move(call));
    }
    curl_multi_wakeup(multi_);
  }

  void Run() {
    for (;;) {
      std::vector<Call> begin;
      {
        const std::lock_guard lock(mutex_);
        if (stopped_) return;
        while (!queue_.empty() && calls_.size() + begin.size() < options_.in_flight) {
          begin.push_back(std::move(queue_.front()));
          queue_.pop_front();
        }
        TakeWatches();
      }
      for (Call& call : begin) {
        if (call.problem.empty()) {
          Begin(std::move(call));
        } else {
          call.done(etcd::Unknown(call.problem));
        }
      }
      const int wait = BeginWatches();
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) End(message->easy_handle, message->data.result);
      }
      bool more = false;
      {
        const std::lock_guard lock(mutex_);
        more = !queue_.empty() && calls_.size() < options_.in_flight;
      }
      if (!more) curl_multi_poll(multi_, nullptr, 0, wait, nullptr);
    }
  }

  std::string Key(const RegisterRequest& request) const { return absl::StrCat(options_.prefix, request.key); }

  void Begin(Call call) {
    const Duration left = call.deadline - std::chrono::steady_clock::now();
    if (left <= Duration::zero()) {
      call.done(etcd::Unknown("etcd: no answer in time"));
      return;
    }
    const std::string key = Key(call.request);
    Json body = etcd::RangeOf(key);
    if (call.request.write) {
      const Json change = call.request.value ? etcd::PutOf(key, *call.request.value) : etcd::DeleteOf(key);
      body = {{"compare", Json::array({etcd::VersionIs(key, call.request.expected)})},
              {"success", Json::array({change})},
              {"failure", Json::array({Json{{"request_range", etcd::RangeOf(key)}}})}};
    }
    call.transfer =
        std::make_unique<Transfer>(options_, endpoint_, call.request.write ? "/v3/kv/txn" : "/v3/kv/range", body, left);
    ++call.tries;
    Transfer* const transfer = call.transfer.get();
    calls_.emplace(transfer, std::move(call));
    curl_multi_add_handle(multi_, transfer->handle());
  }

  void End(CURL* handle, CURLcode code) {
    void* owner = nullptr;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &owner);
    auto* const transfer = static_cast<Transfer*>(owner);
    curl_multi_remove_handle(multi_, handle);
    const auto found = calls_.find(transfer);
    if (found == calls_.end()) {
      EndWatch(transfer, code);
      return;
    }
    Call call = std::move(found->second);
    calls_.erase(found);
    const Transfer::Result result = call.transfer->Done(code);
    if (!result.error.empty()) {
      ++endpoint_;
      if (!result.arrived && call.tries < options_.endpoints.size()) {
        Begin(std::move(call));
        return;
      }
      call.done(etcd::Unknown(result.error));
      return;
    }
    call.done(AnswerOf(call.request, result.answer));
  }

  static RegisterAnswer AnswerOf(const RegisterRequest& request, const Json& json) {
    if (Number(etcd::Field(json, "header"), "revision") == 0)
      return etcd::Unknown("etcd: an answer without a revision");
    if (!request.write) return etcd::There(json);
    const Json& succeeded = etcd::Field(json, "succeeded");
    if (succeeded.is_boolean() && succeeded.get<bool>()) {
      return {.verdict = RegisterVerdict::kYes,
              .version = request.value ? Number(etcd::Field(json, "header"), "revision") : kAbsent,
              .value = {},
              .why = {}};
    }
    RegisterAnswer there = etcd::There(etcd::Field(etcd::At(etcd::Field(json, "responses"), 0), "response_range"));
    there.verdict = RegisterVerdict::kNo;
    return there;
  }

  // ---- Watches ----

  void TakeWatches() {
    for (auto it = watches_.begin(); it != watches_.end();) {
      if (asked_watches_.contains(it->first)) {
        ++it;
      } else {
        Drop(it->second);
        it = watches_.erase(it);
      }
    }
    for (const auto& [number, asked] : asked_watches_) {
      if (!watches_.contains(number)) watches_[number].asked = asked;
    }
  }

  void Drop(Watching& watch) {
    if (!watch.transfer) return;
    curl_multi_remove_handle(multi_, watch.transfer->handle());
    watch.transfer.reset();
  }

  // How long nothing else is to be done, in ms.
  int BeginWatches() {
    const Time now = std::chrono::steady_clock::now();
    auto wait = std::chrono::milliseconds(1000);
    for (auto& [number, watch] : watches_) {
      if (watch.transfer) continue;
      if (watch.begin_at > now) {
        wait = std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(watch.begin_at - now));
        continue;
      }
      const std::string key = absl::StrCat(options_.prefix, watch.asked.key);
      if (watch.reading) {
        watch.transfer =
            std::make_unique<Transfer>(options_, endpoint_, "/v3/kv/range", etcd::RangeOf(key), options_.timeout);
      } else {
        const Json body = {
            {"create_request", {{"key", etcd::Base64(key)}, {"start_revision", std::to_string(watch.revision + 1)}}}};
        watch.transfer = std::make_unique<Transfer>(options_, endpoint_, "/v3/watch", body, kWatchAnew);
        watch.transfer->on_data = [this, w = &watch] { TakeLines(*w); };
      }
      curl_multi_add_handle(multi_, watch.transfer->handle());
    }
    return static_cast<int>(wait.count());
  }

  // Whole lines of the stream, each a JSON object. A callback may ask for other watches, which changes no map here.
  void TakeLines(Watching& watch) {
    std::string& stream = watch.transfer->reply();
    std::size_t begin = 0;
    for (std::size_t end = stream.find('\n'); end != std::string::npos; end = stream.find('\n', begin)) {
      const Json line = Json::parse(stream.substr(begin, end - begin), nullptr, false);
      begin = end + 1;
      const Json& result = etcd::Field(line, "result");
      watch.revision = std::max(watch.revision, Number(etcd::Field(result, "header"), "revision"));
      if (etcd::Field(result, "canceled").is_boolean()) watch.revision = 0;  // read anew
      const Json& events = etcd::Field(result, "events");
      for (std::size_t i = 0; i < events.size(); ++i) {
        const Json& type = etcd::Field(events[i], "type");
        const bool deleted = type.is_string() && type.get_ref<const std::string&>() == "DELETE";
        RegisterAnswer answer =
            etcd::There(deleted ? Json() : Json{{"kvs", Json::array({etcd::Field(events[i], "kv")})}});
        (*watch.asked.changed)(answer);
      }
    }
    stream.erase(0, begin);
  }

  void EndWatch(const Transfer* transfer, CURLcode code) {
    const auto found = std::find_if(watches_.begin(), watches_.end(),
                                    [&](const auto& entry) { return entry.second.transfer.get() == transfer; });
    if (found == watches_.end()) return;
    Watching& watch = found->second;
    const std::unique_ptr<Transfer> ended = std::move(watch.transfer);
    watch.begin_at = std::chrono::steady_clock::now();
    if (watch.reading) {
      const Transfer::Result result = ended->Done(code);
      watch.revision = Number(etcd::Field(result.answer, "header"), "revision");
      if (watch.revision != 0) {
        watch.reading = false;
        (*watch.asked.changed)(etcd::There(result.answer));
        return;
      }
      ++endpoint_;
    } else if (code == CURLE_OPERATION_TIMEDOUT && watch.revision != 0) {
      watch.reading = true;  // at once
      return;
    } else {
      ++endpoint_;
    }
    watch.reading = true;
    watch.begin_at += kWatchAgain;
  }

  static std::uint64_t Number(const Json& object, const char* name) { return etcd::Number(object, name); }

  const EtcdOptions options_;
  CURLM* const multi_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::deque<Call> queue_;
  std::map<std::uint64_t, Asked> asked_watches_;
  std::uint64_t next_watch_ = 1;
  // The thread's own.
  std::size_t endpoint_ = 0;
  std::map<Transfer*, Call> calls_;
  std::map<std::uint64_t, Watching> watches_;
  std::thread thread_;
};

}  // namespace

std::vector<std::string> ProblemsOf(const EtcdOptions& options) {
  std::vector<std::string> problems;
  if (options.endpoints.empty()) problems.emplace_back("endpoints: there must be one at least");
  for (const std::string& endpoint : options.endpoints) {
    const bool scheme = absl::StartsWith(endpoint, "http://") || absl::StartsWith(endpoint, "https://");
    if (!scheme || endpoint.back() == '/') {
      problems.push_back(absl::StrCat("endpoints: \"", endpoint, "\": must be http://HOST:PORT or https://HOST:PORT"));
    }
  }
  if (options.timeout < std::chrono::milliseconds(1)) problems.emplace_back("timeout: must be 1 ms or more");
  if (options.in_flight == 0 || options.queue == 0) problems.emplace_back("queue, in_flight: must be 1 or more");
  return problems;
}

absl::StatusOr<std::unique_ptr<Register>> OpenEtcdRegister(EtcdOptions options) {
  const std::vector<std::string> problems = ProblemsOf(options);
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrCat("etcd: ", problems.front()));
  etcd::InitCurl();
  return std::make_unique<EtcdRegister>(std::move(options));
}

}  // namespace nekton
