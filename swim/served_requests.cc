#include "swim/served_requests.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace nekton {
namespace {

using Stage = ServedRequest::State;

}  // namespace

ServedRequest* ServedRequests::Find(std::uint64_t peer, std::uint32_t number) {
  const auto it = by_key_.find(Key(peer, number));
  return it == by_key_.end() ? nullptr : &slots_[it->second];
}

ServedRequest* ServedRequests::FindId(std::uint64_t id) {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &slots_[it->second];
}

bool ServedRequests::IsPast(std::uint64_t peer, std::uint32_t number) const {
  const auto its = past_.find(peer);
  return its != past_.end() && static_cast<std::int32_t>(number - its->second) <= 0;
}

std::uint32_t ServedRequests::past(std::uint64_t peer) const {
  const auto its = past_.find(peer);
  return its == past_.end() ? 0 : its->second;
}

void ServedRequests::SetPast(std::uint64_t peer, std::uint32_t number) {
  const auto [its, fresh] = past_.try_emplace(peer, number);
  if (!fresh && static_cast<std::int32_t>(number - its->second) > 0) its->second = number;
}

void ServedRequests::BoundPast(absl::FunctionRef<bool(std::uint64_t peer)> is_known) {
  if (past_.size() <= std::max(past_enough_, limits_.known)) return;
  absl::erase_if(past_, [&](const auto& its) { return !is_known(its.first); });
  past_enough_ = 2 * past_.size();
}

std::string ServedRequests::Full(std::uint64_t peer, std::size_t bytes) const {
  const auto its = shares_.find(peer);
  const Share share = its == shares_.end() ? Share() : its->second;
  if (share.working >= limits_.served_per_member) {
    return absl::StrCat("overloaded: ", limits_.served_per_member,
                        " requests of this member wait "
                        "(MailLimits::served_per_member)");
  }
  if (working_ >= limits_.served) {
    return absl::StrCat("overloaded: ", limits_.served, " requests wait (MailLimits::served)");
  }
  if (bytes > limits_.served_bytes - std::min(working_bytes_, limits_.served_bytes)) {
    return absl::StrCat("overloaded: requests of ", working_bytes_, " bytes wait (MailLimits::served_bytes)");
  }
  if (share.known >= limits_.known_per_member) {
    return absl::StrCat("overloaded: ", limits_.known_per_member,
                        " requests of this member are remembered "
                        "(MailLimits::known_per_member)");
  }
  if (by_key_.size() >= limits_.known) {
    return absl::StrCat("overloaded: ", limits_.known, " requests are remembered (MailLimits::known)");
  }
  return "";
}

bool ServedRequests::Remembers(std::uint64_t peer) const {
  const auto its = shares_.find(peer);
  return by_key_.size() < limits_.known && (its == shares_.end() || its->second.known < limits_.known_per_member);
}

ServedRequest& ServedRequests::Add(std::uint64_t peer, std::uint32_t number, Instant deadline) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  ServedRequest& request = slots_[slot];
  request = ServedRequest{.id = ++last_id_, .peer = peer, .number = number, .deadline = deadline};
  by_key_[Key(peer, number)] = slot;
  by_id_[request.id] = slot;
  ++shares_[peer].known;
  return request;
}

ServedRequest& ServedRequests::Take(std::uint64_t peer, std::uint32_t number, Instant deadline, std::size_t bytes) {
  ServedRequest& request = Add(peer, number, deadline);
  request.state = Stage::kWorking;
  request.bytes = bytes;
  ++shares_[peer].working;
  ++working_;
  working_bytes_ += bytes;
  timers_.Set(SlotOf(request), deadline);
  return request;
}

void ServedRequests::TakeCancelled(std::uint64_t peer, std::uint32_t number, Instant now) {
  if (!Remembers(peer)) return SetPast(peer, number);
  ServedRequest& request = Add(peer, number, now);
  request.state = Stage::kOver;
  request.cancelled = true;
  timers_.Set(SlotOf(request), Later(now, limits_.keep));
}

void ServedRequests::StopWork(ServedRequest& request) {
  --shares_[request.peer].working;
  --working_;
  working_bytes_ -= request.bytes;
  request.bytes = 0;
  request.member = {};
  timers_.Set(SlotOf(request), Later(request.deadline, limits_.keep));
}

void ServedRequests::Answer(ServedRequest& request, std::uint8_t code, std::vector<std::byte> answer) {
  StopWork(request);
  request.state = Stage::kAnswered;
  request.code = code;
  request.answer = std::move(answer);
  shares_[request.peer].answer_bytes += request.answer.size();
  answer_bytes_ += request.answer.size();
  answered_.push_back(request.id);
  MakeRoom(request);
}

void ServedRequests::Over(ServedRequest& request, bool cancelled) {
  StopWork(request);
  request.state = Stage::kOver;
  request.cancelled = cancelled;
}

void ServedRequests::DropAnswer(ServedRequest& request) {
  shares_[request.peer].answer_bytes -= request.answer.size();
  answer_bytes_ -= request.answer.size();
  request.answer = {};
}

// The oldest answers go, but never the newest one. Who asks again for one that went is told so.
void ServedRequests::MakeRoom(const ServedRequest& newest) {
  while (!by_id_.contains(answered_.front())) answered_.pop_front();
  const Share& share = shares_[newest.peer];
  if (share.answer_bytes <= limits_.answer_bytes_per_member && answer_bytes_ <= limits_.answer_bytes) return;
  std::erase_if(answered_, [&](std::uint64_t id) {
    ServedRequest* request = FindId(id);
    if (request == nullptr) return true;
    if (request == &newest) return false;
    const bool its_share = request->peer == newest.peer && share.answer_bytes > limits_.answer_bytes_per_member;
    if (!its_share && answer_bytes_ <= limits_.answer_bytes) return false;
    DropAnswer(*request);
    request->forgotten = true;
    return true;
  });
}

void ServedRequests::Forget(std::uint32_t slot) {
  ServedRequest& request = slots_[slot];
  DropAnswer(request);
  SetPast(request.peer, request.number);
  by_key_.erase(Key(request.peer, request.number));
  by_id_.erase(request.id);
  if (const auto its = shares_.find(request.peer); --its->second.known == 0) shares_.erase(its);
  timers_.Cancel(slot);
  request = ServedRequest();
  free_.push_back(slot);
}

ServedRequest* ServedRequests::Expired(Instant now) {
  while (next() <= now) {
    const std::uint32_t slot = timers_.top().id;
    if (slots_[slot].state == Stage::kWorking) return &slots_[slot];
    Forget(slot);
  }
  return nullptr;
}

}  // namespace nekton
