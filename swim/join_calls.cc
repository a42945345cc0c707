#include "swim/join_calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

constexpr std::size_t kNamedMax = 16;  // addresses in a text

bool AnyOk(const JoinCalls::Call& call) {
  return std::any_of(call.outcomes.begin(), call.outcomes.end(), [](const JoinOutcome& o) { return o.status.ok(); });
}

bool AllForGood(const JoinCalls::Call& call) {
  return std::all_of(call.outcomes.begin(), call.outcomes.end(),
                     [](const JoinOutcome& o) { return IsForGood(o.status); });
}

}  // namespace

bool IsForGood(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsUnimplemented(status);
}

std::string JoinFailureText(std::span<const JoinOutcome> outcomes) {
  std::string text = "no address let us in";
  for (std::size_t i = 0; i < outcomes.size() && i < kNamedMax; ++i) {
    absl::StrAppend(&text, i == 0 ? ": " : "; ", outcomes[i].address.ToString(), ": ", outcomes[i].status.message());
  }
  if (outcomes.size() > kNamedMax) absl::StrAppend(&text, "; and ", outcomes.size() - kNamedMax, " more");
  return text;
}

void JoinCalls::Begin(std::uint64_t id, Instant until, std::span<const Address> addresses) {
  Call call;
  call.id = id;
  call.until = until;
  for (const Address& address : addresses) {
    const bool known = std::any_of(call.outcomes.begin(), call.outcomes.end(),
                                   [&](const JoinOutcome& o) { return o.address == address; });
    if (!known) call.outcomes.push_back({address, absl::DeadlineExceededError("no answer in time")});
  }
  calls_.push_back(std::move(call));
}

bool JoinCalls::Awaits(const Address& address) const {
  return std::any_of(calls_.begin(), calls_.end(), [&](const Call& call) {
    return std::any_of(call.outcomes.begin(), call.outcomes.end(),
                       [&](const JoinOutcome& o) { return o.address == address; });
  });
}

void JoinCalls::Result(const Address& address, const absl::Status& status) {
  for (Call& call : calls_) {
    for (JoinOutcome& outcome : call.outcomes) {
      if (outcome.address == address) outcome.status = status;
    }
  }
}

std::optional<JoinCalls::Call> JoinCalls::TakeOver(Instant now) {
  const auto over = std::find_if(calls_.begin(), calls_.end(), [now](const Call& call) {
    return call.until <= now || AnyOk(call) || AllForGood(call);
  });
  if (over == calls_.end()) return std::nullopt;
  Call call = std::move(*over);
  calls_.erase(over);
  if (AnyOk(call)) return call;
  const absl::StatusCode code =
      AllForGood(call) ? call.outcomes.front().status.code() : absl::StatusCode::kDeadlineExceeded;
  call.status = absl::Status(code, JoinFailureText(call.outcomes));
  return call;
}

std::optional<JoinCalls::Call> JoinCalls::TakeOpen(const absl::Status& status) {
  if (calls_.empty()) return std::nullopt;
  Call call = std::move(calls_.front());
  calls_.erase(calls_.begin());
  call.status = status;
  return call;
}

Instant JoinCalls::next() const {
  Instant next = kNever;
  for (const Call& call : calls_) next = std::min(next, call.until);
  return next;
}

}  // namespace nekton
