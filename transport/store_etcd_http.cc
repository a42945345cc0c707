#include "transport/store_etcd_http.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace nekton::etcd {
namespace {

const Json kNull;
constexpr std::size_t kReplyMax = 4U << 20U;

long Milliseconds(Duration time) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

void InitCurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

std::string Base64(const std::string& bytes) { return absl::Base64Escape(bytes); }

const Json& Field(const Json& object, const char* name) {
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

const Json& At(const Json& array, std::size_t index) {
  return array.is_array() && index < array.size() ? array[index] : kNull;
}

std::uint64_t Number(const Json& object, const char* name) {
  const Json& field = Field(object, name);
  if (field.is_number_unsigned()) return field.get<std::uint64_t>();
  if (!field.is_string()) return 0;
  const auto& text = field.get_ref<const std::string&>();
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string Bytes(const Json& object, const char* name) {
  const Json& field = Field(object, name);
  std::string bytes;
  if (field.is_string() && !absl::Base64Unescape(field.get_ref<const std::string&>(), &bytes)) bytes.clear();
  return bytes;
}

Json RangeOf(const std::string& key) { return {{"key", Base64(key)}}; }

Json VersionIs(const std::string& key, std::uint64_t version) {
  if (version == kAbsent) {
    return {{"key", Base64(key)}, {"target", "CREATE"}, {"result", "EQUAL"}, {"create_revision", "0"}};
  }
  return {{"key", Base64(key)}, {"target", "MOD"}, {"result", "EQUAL"}, {"mod_revision", std::to_string(version)}};
}

Json PutOf(const std::string& key, const std::string& value) {
  return {{"request_put", {{"key", Base64(key)}, {"value", Base64(value)}}}};
}

Json DeleteOf(const std::string& key) { return {{"request_delete_range", {{"key", Base64(key)}}}}; }

RegisterAnswer There(const Json& range) {
  RegisterAnswer answer{.verdict = RegisterVerdict::kYes, .version = kAbsent, .value = {}, .why = {}};
  const Json& kv = At(Field(range, "kvs"), 0);
  if (kv.is_null()) return answer;
  answer.version = Number(kv, "mod_revision");
  answer.value = Bytes(kv, "value");
  return answer;
}

RegisterAnswer Unknown(std::string why) {
  return {.verdict = RegisterVerdict::kUnknown, .version = kAbsent, .value = {}, .why = std::move(why)};
}

Transfer::Transfer(const EtcdOptions& options, std::size_t endpoint, const std::string& path, const Json& body,
                   Duration timeout)
    : handle_(curl_easy_init()),
      url_(absl::StrCat(options.endpoints[endpoint % options.endpoints.size()], path)),
      body_(body.dump()) {
  headers_ = curl_slist_append(headers_, "Content-Type: application/json");
  headers_ = curl_slist_append(headers_, "Expect:");  // no wait for a go-ahead
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle_, option, value); };
  set(CURLOPT_URL, url_.c_str());
  set(CURLOPT_HTTPHEADER, headers_);
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDSIZE, static_cast<long>(body_.size()));
  set(CURLOPT_READFUNCTION, &Transfer::Read);
  set(CURLOPT_READDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &Transfer::Write);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_PROXY, "");  // of the environment: it is not meant for this
  set(CURLOPT_TIMEOUT_MS, std::max(1L, Milliseconds(timeout)));
  set(CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, Milliseconds(std::min(timeout, options.timeout)) / 2));
  if (!options.ca.empty()) set(CURLOPT_CAINFO, options.ca.c_str());
  if (!options.certificate.empty()) set(CURLOPT_SSLCERT, options.certificate.c_str());
  if (!options.key.empty()) set(CURLOPT_SSLKEY, options.key.c_str());
}

Transfer::~Transfer() {
  curl_easy_cleanup(handle_);
  curl_slist_free_all(headers_);
}

std::size_t Transfer::Write(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t bytes = size * count;
  if (transfer.reply_.size() + bytes > kReplyMax) return 0;  // ends it with an error
  transfer.reply_.append(data, bytes);
  if (transfer.on_data) transfer.on_data();
  return bytes;
}

std::size_t Transfer::Read(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t bytes = std::min(size * count, transfer.body_.size() - transfer.sent_);
  std::memcpy(data, transfer.body_.data() + transfer.sent_, bytes);
  transfer.sent_ += bytes;
  return bytes;
}

Transfer::Result Transfer::Done(CURLcode code) const {
  if (code != CURLE_OK) {
    return {.answer = {}, .error = absl::StrCat("etcd: ", url_, ": ", curl_easy_strerror(code)), .arrived = sent_ != 0};
  }
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  Json answer = Json::parse(reply_, nullptr, false);
  if (status == 200 && answer.is_object()) return {.answer = std::move(answer), .error = {}, .arrived = true};
  const Json& error = Field(answer, "error");
  return {.answer = {},
          .error = absl::StrCat("etcd: ", url_, ": status ", status, " ",
                                error.is_string() ? error.get_ref<const std::string&>() : reply_.substr(0, 200)),
          .arrived = true};
}

}  // namespace nekton::etcd
