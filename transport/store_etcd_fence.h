// A fence in etcd: the comparison of tokens, the request's id and the user's own puts are one transaction (the rules:
// lease/fenced_resource.h). What is fenced are the keys that are written through it.
//
// Under `prefix`fence/LEASE stands the highest token as 8 bytes, big-endian, then the generation, the same, and the
// holder: programs without nekton can compare it in a transaction of their own (target VALUE; bytes compare like numbers
// there). Under `prefix`done/LEASE stand the newest request ids. Calls block, for at most the timeout of the options a few
// times over. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lease/fenced_resource.h"
#include "transport/store_etcd_register.h"

namespace nekton {

class EtcdFence {
 public:
  struct Options {
    FenceOptions rules;  // `remembered` is at most kRememberedMax here
    // With rules.confirm: reads the register, and says which token the lease's record has.
    std::function<absl::StatusOr<FencingToken>(const std::string& lease)> record;
  };
  static constexpr std::size_t kRememberedMax = 256;
  using Puts = std::vector<std::pair<std::string, std::string>>;  // keys, with `prefix` before them, and values

  static absl::StatusOr<EtcdFence> Open(EtcdOptions etcd, Options options);
  EtcdFence(EtcdFence&&) noexcept;
  EtcdFence& operator=(EtcdFence&&) noexcept;
  ~EtcdFence();

  // `result`: what a repetition of the request gets. Unavailable: it may have been done; repeat it with the same id.
  // Aborted: others were always faster.
  absl::StatusOr<FencedAnswer> Apply(const FencedRequest& request, const Puts& puts, const std::string& result = "");
  absl::StatusOr<FencedAnswer> Advance(const FencedRequest& request);

 private:
  struct Impl;
  explicit EtcdFence(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nekton
