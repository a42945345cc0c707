#include "transport/store_etcd_fence.h"

#include <algorithm>
#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "transport/store_etcd_http.h"

namespace nekton {
namespace {

using etcd::Json;
using etcd::Transfer;

constexpr int kTries = 8;
constexpr std::size_t kNumberSize = 8;

std::string BigEndian(std::uint64_t number) {
  std::string bytes(kNumberSize, '\0');
  for (std::size_t i = kNumberSize; i-- > 0; number >>= 8U) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

std::uint64_t FromBigEndian(const std::string& bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kNumberSize; ++i) number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

std::string Encode(const FenceState& state) {
  return absl::StrCat(BigEndian(state.highest.value), BigEndian(state.generation), state.holder);
}

}  // namespace

struct EtcdFence::Impl {
  Impl(EtcdOptions to, Options given) : etcd(std::move(to)), options(std::move(given)), multi(curl_multi_init()) {}
  ~Impl() { curl_multi_cleanup(multi); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  struct Seen {
    FenceState state;
    std::uint64_t fence_version = kAbsent;
    std::uint64_t done_version = kAbsent;
    Json done = Json::array();  // [id, result], the oldest first
  };

  // By a multi handle of our own, whose connections are kept.
  absl::StatusOr<Json> Post(const char* path, const Json& body) {
    std::string error;
    for (std::size_t i = 0; i < etcd.endpoints.size(); ++i) {
      Transfer transfer(etcd, endpoint, path, body, etcd.timeout);
      curl_multi_add_handle(multi, transfer.handle());
      CURLcode code = CURLE_OK;
      for (int running = 1; running > 0;) {
        curl_multi_perform(multi, &running);
        int left = 0;
        while (const CURLMsg* message = curl_multi_info_read(multi, &left)) code = message->data.result;
        if (running > 0) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
      }
      curl_multi_remove_handle(multi, transfer.handle());
      Transfer::Result result = transfer.Done(code);
      if (result.error.empty()) return std::move(result.answer);
      ++endpoint;
      error = std::move(result.error);
      if (result.arrived) break;
    }
    return absl::UnavailableError(error);
  }

  absl::StatusOr<Seen> Read(const std::string& lease) {
    const Json body = {{"success", Json::array({Json{{"request_range", etcd::RangeOf(FenceKey(lease))}},
                                                Json{{"request_range", etcd::RangeOf(DoneKey(lease))}}})}};
    const absl::StatusOr<Json> json = Post("/v3/kv/txn", body);
    if (!json.ok()) return json.status();
    const Json& responses = etcd::Field(*json, "responses");
    const RegisterAnswer fence = etcd::There(etcd::Field(etcd::At(responses, 0), "response_range"));
    const RegisterAnswer done = etcd::There(etcd::Field(etcd::At(responses, 1), "response_range"));
    Seen seen;
    seen.fence_version = fence.version;
    seen.done_version = done.version;
    if (fence.version != kAbsent) {
      if (fence.value.size() < 2 * kNumberSize) return absl::DataLossError("etcd: the fence is none");
      seen.state = {.highest = {FromBigEndian(fence.value, 0)},
                    .holder = fence.value.substr(2 * kNumberSize),
                    .generation = FromBigEndian(fence.value, kNumberSize)};
    }
    if (done.version != kAbsent) seen.done = Json::parse(done.value, nullptr, false);
    if (!seen.done.is_array()) return absl::DataLossError("etcd: the list of requests is none");
    return seen;
  }

  // Whether it was committed; not if somebody was faster.
  absl::StatusOr<bool> Write(const FencedRequest& request, const Seen& seen, const Puts& puts,
                             const std::string& result, bool apply) {
    const std::string& lease = request.claim.lease;
    Json change = Json::array({etcd::PutOf(FenceKey(lease), Encode(StateOf(request.claim)))});
    if (apply) {
      for (const auto& [key, value] : puts) change.push_back(etcd::PutOf(absl::StrCat(etcd.prefix, key), value));
      const std::size_t keep = std::min(options.rules.remembered, kRememberedMax);
      if (!request.id.empty() && keep > 0) {
        Json done = seen.done;
        done.push_back(Json::array({etcd::Base64(request.id), etcd::Base64(result)}));
        while (done.size() > keep) done.erase(0);
        change.push_back(etcd::PutOf(DoneKey(lease), done.dump()));
      }
    }
    const Json body = {{"compare", Json::array({etcd::VersionIs(FenceKey(lease), seen.fence_version),
                                                etcd::VersionIs(DoneKey(lease), seen.done_version)})},
                       {"success", std::move(change)}};
    const absl::StatusOr<Json> json = Post("/v3/kv/txn", body);
    if (!json.ok()) return json.status();
    const Json& succeeded = etcd::Field(*json, "succeeded");
    return succeeded.is_boolean() && succeeded.get<bool>();
  }

  absl::StatusOr<FencedAnswer> Apply(const FencedRequest& request, const Puts& puts, const std::string& result) {
    FencingToken confirmed;
    for (int i = 0; i < kTries; ++i) {
      const absl::StatusOr<Seen> seen = Read(request.claim.lease);
      if (!seen.ok()) return seen.status();
      FencedAnswer answer;
      answer.current = seen->state;
      answer.outcome = FenceVerdictOf(options.rules, seen->state, request, confirmed);
      if (answer.outcome == FenceOutcome::kUnproven && options.record && confirmed == FencingToken{}) {
        const absl::StatusOr<FencingToken> record = options.record(request.claim.lease);
        if (!record.ok()) return record.status();
        confirmed = *record;
        answer.outcome = FenceVerdictOf(options.rules, seen->state, request, confirmed);
      }
      if (answer.outcome != FenceOutcome::kApplied) return answer;
      answer.current = StateOf(request.claim);
      answer.result = result;
      const std::string id = etcd::Base64(request.id);
      for (const Json& entry : seen->done) {
        if (request.id.empty() || etcd::At(entry, 0) != id) continue;
        answer.outcome = FenceOutcome::kRepeated;
        answer.result = etcd::Bytes({{"result", etcd::At(entry, 1)}}, "result");
      }
      const bool apply = answer.outcome == FenceOutcome::kApplied;
      if (!apply && seen->state == answer.current) return answer;
      const absl::StatusOr<bool> written = Write(request, *seen, puts, result, apply);
      if (!written.ok()) return written.status();
      if (*written) return answer;
    }
    return absl::AbortedError("etcd: the fence changed under every attempt");
  }

  std::string FenceKey(const std::string& lease) const { return absl::StrCat(etcd.prefix, "fence/", lease); }
  std::string DoneKey(const std::string& lease) const { return absl::StrCat(etcd.prefix, "done/", lease); }

  EtcdOptions etcd;
  Options options;
  CURLM* const multi;
  std::size_t endpoint = 0;
};

EtcdFence::EtcdFence(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EtcdFence::EtcdFence(EtcdFence&&) noexcept = default;
EtcdFence& EtcdFence::operator=(EtcdFence&&) noexcept = default;
EtcdFence::~EtcdFence() = default;

absl::StatusOr<EtcdFence> EtcdFence::Open(EtcdOptions etcd, Options options) {
  const std::vector<std::string> problems = ProblemsOf(etcd);
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrCat("etcd: ", problems.front()));
  if (options.rules.confirm && !options.record && !options.rules.authority) {
    return absl::InvalidArgumentError("fence: confirm: needs `record`, a way to read the register, or an authority");
  }
  etcd::InitCurl();
  return EtcdFence(std::make_unique<Impl>(std::move(etcd), std::move(options)));
}

absl::StatusOr<FencedAnswer> EtcdFence::Apply(const FencedRequest& request, const Puts& puts,
                                              const std::string& result) {
  return impl_->Apply(request, puts, result);
}

absl::StatusOr<FencedAnswer> EtcdFence::Advance(const FencedRequest& request) {
  FencedRequest fence = request;
  fence.id.clear();
  return impl_->Apply(fence, {}, "");
}

}  // namespace nekton
