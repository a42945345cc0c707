#include "transport/node_joins.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "swim/join_calls.h"

namespace nekton {
namespace {

constexpr std::size_t kNamedMax = 16;  // results in a text

absl::Status NotYet() { return absl::DeadlineExceededError("no answer in time"); }
absl::Status Ourselves() { return absl::FailedPreconditionError("this is our own address"); }

std::string FailureText(const std::vector<SeedResult>& results) {
  std::string text = "no address let us in";
  for (std::size_t i = 0; i < results.size() && i < kNamedMax; ++i) {
    const SeedResult& result = results[i];
    const std::string address = result.address.port == 0 ? "" : result.address.ToString();
    absl::StrAppend(&text, i == 0 ? ": " : "; ", result.seed,
                    address.empty() || address == result.seed ? "" : absl::StrCat(" (", address, ")"), ": ",
                    result.status.message());
  }
  if (results.size() > kNamedMax) absl::StrAppend(&text, "; and ", results.size() - kNamedMax, " more");
  return text;
}

}  // namespace

void NodeJoins::Begin(Instant now, const std::vector<std::string>& texts, Duration limit, Done done, Seeds& seeds) {
  if (calls_.size() >= kMax) {
    JoinReport report;
    report.status = absl::ResourceExhaustedError(absl::StrCat("more than ", kMax, " calls of Join wait"));
    refused_.emplace_back(std::move(done), std::move(report));
    return;
  }
  Call& call = calls_.emplace_back();
  call.until = Later(now, limit);
  call.done = std::move(done);
  for (const std::string& text : texts) {
    const bool known =
        std::any_of(call.entries.begin(), call.entries.end(), [&](const Entry& e) { return e.seed == text; });
    if (known) continue;
    seeds.Hurry(text, call.until);
    Entry& entry = call.entries.emplace_back();
    entry.seed = text;
    entry.lookup = absl::DeadlineExceededError("the name was not looked up in time");
  }
}

void NodeJoins::TurnEntry(Entry& entry, const Seeds& seeds, const std::function<bool(const Address&)>& is_own,
                          std::vector<Address>& fresh) {
  const std::optional<Seeds::Known> known = seeds.Look(entry.seed);
  if (!known.has_value()) return;
  entry.settled = !known->looking;
  if (!known->looking && !known->numeric) {
    entry.lookup = known->error.empty() ? Ourselves() : absl::UnavailableError(known->error);
  }
  for (const Address& address : known->addresses) {
    const bool taken = std::any_of(entry.results.begin(), entry.results.end(),
                                   [&](const SeedResult& r) { return r.address == address; });
    if (taken) continue;
    const bool own = is_own(address);
    entry.results.push_back({entry.seed, address, own ? Ourselves() : NotYet()});
    if (!own) fresh.push_back(address);
  }
}

void NodeJoins::Turn(Instant now, const Seeds& seeds, const std::function<bool(const Address&)>& is_own,
                     const std::function<absl::Status(const Join&)>& order) {
  for (Call& call : calls_) {
    if (call.until <= now) continue;
    Join join;
    for (Entry& entry : call.entries) TurnEntry(entry, seeds, is_own, join.addresses);
    if (join.addresses.empty()) continue;
    join.limit = call.until - now;
    join.call = ++last_id_;
    const absl::Status status = order(join);
    if (status.ok()) {
      call.open.push_back(join.call);
    } else {
      for (const Address& address : join.addresses) Set(call, address, status);
    }
  }
}

void NodeJoins::Set(Call& call, const Address& address, const absl::Status& status) {
  for (Entry& entry : call.entries) {
    for (SeedResult& result : entry.results) {
      if (result.address == address) result.status = status;
    }
  }
}

void NodeJoins::Ended(const Event& event) {
  for (Call& call : calls_) {
    if (std::erase(call.open, event.call) == 0) continue;
    const bool cancelled = absl::IsCancelled(event.status);
    for (const JoinOutcome& outcome : event.outcomes) {
      // Who leaves, or was displaced, joins nobody any more.
      Set(call, outcome.address, cancelled ? absl::FailedPreconditionError(event.status.message()) : outcome.status);
    }
  }
}

bool NodeJoins::AnyOk(const Call& call) {
  return std::any_of(call.entries.begin(), call.entries.end(), [](const Entry& entry) {
    return std::any_of(entry.results.begin(), entry.results.end(), [](const SeedResult& r) { return r.status.ok(); });
  });
}

bool NodeJoins::AllForGood(const Call& call) {
  return std::all_of(call.entries.begin(), call.entries.end(), [](const Entry& entry) {
    if (!entry.settled) return false;
    if (entry.results.empty()) return IsForGood(entry.lookup);
    return std::all_of(entry.results.begin(), entry.results.end(),
                       [](const SeedResult& r) { return IsForGood(r.status); });
  });
}

JoinReport NodeJoins::Report(const Call& call) {
  JoinReport report;
  for (const Entry& entry : call.entries) {
    if (entry.results.empty()) report.results.push_back({entry.seed, Address(), entry.lookup});
    report.results.insert(report.results.end(), entry.results.begin(), entry.results.end());
  }
  if (AnyOk(call)) return report;
  const absl::StatusCode code =
      AllForGood(call) ? report.results.front().status.code() : absl::StatusCode::kDeadlineExceeded;
  report.status = absl::Status(code, FailureText(report.results));
  return report;
}

std::vector<NodeJoins::Finished> NodeJoins::TakeFinished(Instant now) {
  std::vector<Finished> finished = std::exchange(refused_, {});
  for (std::size_t i = 0; i < calls_.size();) {
    Call& call = calls_[i];
    // The engine's calls end with the deadline, too, and tell what they know.
    const bool over = AnyOk(call) || (call.open.empty() && (call.until <= now || AllForGood(call)));
    if (!over) {
      ++i;
      continue;
    }
    JoinReport report = Report(call);
    finished.emplace_back(std::move(call.done), std::move(report));
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::erase_if(finished, [](const Finished& one) { return one.first == nullptr; });
  return finished;
}

std::vector<NodeJoins::Done> NodeJoins::TakeAll() {
  std::vector<Done> all;
  for (Call& call : calls_) all.push_back(std::move(call.done));
  for (Finished& one : refused_) all.push_back(std::move(one.first));
  calls_.clear();
  refused_.clear();
  return all;
}

Instant NodeJoins::next() const {
  if (!refused_.empty()) return Instant::min();
  Instant next = kNever;
  for (const Call& call : calls_) {
    if (call.open.empty()) next = std::min(next, call.until);
  }
  return next;
}

}  // namespace nekton
