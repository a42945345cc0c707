#include "swim/requests.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

constexpr Duration kBackoffMin = std::chrono::milliseconds(5);

}  // namespace

absl::Status Requests::Room(std::uint64_t id, const std::string& member, std::size_t bytes) const {
  if (by_id_.contains(id)) {
    return absl::AlreadyExistsError(absl::StrCat("id = ", id, ": a request with it has not ended"));
  }
  if (by_number_.size() >= limits_.open) {
    return absl::ResourceExhaustedError(absl::StrCat(limits_.open, " requests are open (MailLimits::open)"));
  }
  const auto its = per_member_.find(member);
  if ((its == per_member_.end() ? 0 : its->second) >= limits_.open_per_member) {
    return absl::ResourceExhaustedError(
        absl::StrCat(limits_.open_per_member, " requests to ", member, " are open (MailLimits::open_per_member)"));
  }
  if (bytes > limits_.open_bytes - std::min(bytes_, limits_.open_bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("open requests have ", bytes_, " bytes of at most ",
                                                     limits_.open_bytes, " (MailLimits::open_bytes), and this one ",
                                                     bytes));
  }
  return absl::OkStatus();
}

std::uint32_t Requests::NextNumber() {
  do {
    ++last_number_;
  } while (last_number_ == 0 || by_number_.contains(last_number_));  // 0: messages that nobody answers
  return last_number_;
}

void Requests::Renumber(OpenRequest& request, std::uint32_t past) {
  const std::uint32_t slot = SlotOf(request);
  by_number_.erase(request.number);
  if (static_cast<std::int32_t>(past - last_number_) > 0) last_number_ = past;
  request.number = NextNumber();
  by_number_[request.number] = slot;
}

OpenRequest& Requests::Open(OpenRequest request, Instant now) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  request.number = NextNumber();
  request.used = true;
  request.begun = now;
  request.backoff = std::max(kBackoffMin, std::min(limits_.retry_after, (request.deadline - now) / 5));
  by_id_[request.id] = slot;
  by_number_[request.number] = slot;
  ++per_member_[request.member];
  bytes_ += request.body.size();
  slots_[slot] = std::move(request);
  AtDeadline(slots_[slot]);
  return slots_[slot];
}

OpenRequest* Requests::FindId(std::uint64_t id) {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &slots_[it->second];
}

OpenRequest* Requests::FindNumber(std::uint32_t number) {
  const auto it = by_number_.find(number);
  return it == by_number_.end() ? nullptr : &slots_[it->second];
}

void Requests::Cancel(OpenRequest& request) {
  request.cancelled = true;
  by_id_.erase(request.id);
  bytes_ -= request.body.size();
  request.body = {};
}

void Requests::Close(OpenRequest& request) {
  const std::uint32_t slot = SlotOf(request);
  if (!request.cancelled) by_id_.erase(request.id);
  by_number_.erase(request.number);
  if (const auto its = per_member_.find(request.member); --its->second == 0) per_member_.erase(its);
  bytes_ -= request.body.size();
  timers_.Cancel(slot);
  request = OpenRequest();
  free_.push_back(slot);
}

void Requests::Later(OpenRequest& request, Instant now) {
  const double wait = static_cast<double>(request.backoff.count()) * (0.75 + 0.5 * random_.Unit());
  request.backoff = std::max(request.backoff, std::min(2 * request.backoff, limits_.retry_max));
  timers_.Set(SlotOf(request),
              std::min(request.deadline, nekton::Later(now, Duration(static_cast<Duration::rep>(wait)))));
}

void Requests::AtDeadline(OpenRequest& request) { timers_.Set(SlotOf(request), request.deadline); }

void Requests::AtOnce(OpenRequest& request, Instant now) {
  timers_.Set(SlotOf(request), std::min(now, request.deadline));
}

}  // namespace nekton
