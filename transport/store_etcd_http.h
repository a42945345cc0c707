// Requests to etcd's JSON gateway: what they are made of, and what comes back. Internal to the stores in etcd.
//
// The gateway writes 64-bit integers as strings, keys and values in base64, and leaves out what is false, zero or empty.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lease/register.h"
#include "transport/store_etcd_register.h"

namespace nekton::etcd {

using Json = nlohmann::json;

std::string Base64(const std::string& bytes);
std::uint64_t Number(const Json& object, const char* name);  // 0 if it is not there
std::string Bytes(const Json& object, const char* name);     // decoded
const Json& Field(const Json& object, const char* name);     // null if it is not there
const Json& At(const Json& array, std::size_t index);        // the same

Json RangeOf(const std::string& key);
Json VersionIs(const std::string& key, std::uint64_t version);  // a comparison
Json PutOf(const std::string& key, const std::string& value);   // for a transaction
Json DeleteOf(const std::string& key);
// What stands there, of a range's response.
RegisterAnswer There(const Json& range);
RegisterAnswer Unknown(std::string why);

// One POST. The body is given by a function that cannot go back, so that libcurl, which repeats a request by itself when a
// connection that was kept turns out to be closed, does not repeat what may have arrived.
class Transfer {
 public:
  Transfer(const EtcdOptions& options, std::size_t endpoint, const std::string& path, const Json& body,
           Duration timeout);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  CURL* handle() const { return handle_; }
  std::string& reply() { return reply_; }
  // Called when more of the reply has come.
  std::function<void()> on_data;

  // After its end: the answer; an error says whether the request can have arrived.
  struct Result {
    Json answer;
    std::string error;    // empty if there is an answer
    bool arrived = true;  // perhaps; false: certainly not
  };
  Result Done(CURLcode code) const;

 private:
  static std::size_t Write(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t Read(char* data, std::size_t size, std::size_t count, void* self);

  CURL* handle_;
  curl_slist* headers_ = nullptr;
  std::string url_;
  std::string body_;
  std::size_t sent_ = 0;
  std::string reply_;
};

// libcurl's global state, once for the process.
void InitCurl();

}  // namespace nekton::etcd
