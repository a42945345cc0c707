#include "transport/seeds.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace nekton {

Seeds::Seeds(const Config& config, Resolver& resolver)
    : min_(config.join_backoff_min),
      max_(config.join_backoff_max),
      retry_(config.seed_retry),
      resolver_(resolver),
      random_(config.seed) {}

absl::Status Seeds::Add(const std::vector<std::string>& texts) {
  std::vector<Seed> added;
  const auto knows = [](const std::vector<Seed>& seeds, const std::string& text) {
    return std::any_of(seeds.begin(), seeds.end(), [&](const Seed& s) { return s.text == text; });
  };
  for (const std::string& text : texts) {
    if (knows(seeds_, text) || knows(added, text)) continue;
    Seed seed;
    seed.text = text;
    seed.interval = min_;
    if (const absl::StatusOr<Address> address = Address::Parse(text); address.ok()) {
      seed.numeric = true;
      seed.next = kNever;
      seed.given.push_back(*address);
    } else {
      const std::size_t colon = text.rfind(':');
      seed.host = text.substr(0, colon);
      // Lends the port rules of addresses to names.
      const auto port = Address::Parse(absl::StrCat("127.0.0.1", text.substr(std::min(colon, text.size()))));
      if (!port.ok()) return port.status();
      seed.port = port->port;
      seed.next = Instant::min();
    }
    added.push_back(std::move(seed));
  }
  if (seeds_.size() + added.size() > kMax) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kMax, " seeds"));
  }
  for (Seed& seed : added) {
    if (seed.numeric) fresh_.push_back(seed.given.front());
    seeds_.push_back(std::move(seed));
  }
  return absl::OkStatus();
}

void Seeds::Turn(Instant now, const Surroundings& around, std::vector<Address>& join, std::vector<Report>& reports) {
  for (const Address& address : std::exchange(fresh_, {})) {
    if (!around.is_own(address)) join.push_back(address);
  }
  for (const Resolver::Result& result : resolver_.Take()) {
    Take(seeds_[result.ticket], now, result, around, join, reports);
  }
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    Seed& seed = seeds_[i];
    if (seed.looking || seed.numeric) continue;
    if (around.alone) seed.next = std::min(seed.next, Later(now, max_ + max_ / 4));  // the others may have gone since
    if (seed.next > now) continue;
    if (!seed.hurried && std::any_of(seed.given.begin(), seed.given.end(), around.is_active)) {
      seed.next = Later(now, retry_);  // it does its duty
      continue;
    }
    seed.looking = resolver_.Begin(i, seed.host);
    if (!seed.looking) seed.next = Later(now, min_);
  }
}

void Seeds::Take(Seed& seed, Instant now, const Resolver::Result& result, const Surroundings& around,
                 std::vector<Address>& join, std::vector<Report>& reports) {
  seed.looking = seed.hurried = false;
  absl::Status status = result.addresses.status();
  if (status.ok() && result.addresses->empty()) status = absl::UnavailableError("the name has no address");
  std::string error;
  if (status.ok()) {
    for (Address address : *result.addresses) {
      address.port = seed.port;
      if (around.is_own(address)) continue;
      if (std::find(seed.given.begin(), seed.given.end(), address) != seed.given.end()) continue;
      if (seed.given.size() >= kAddressesMax) seed.given.erase(seed.given.begin());
      seed.given.push_back(address);
      join.push_back(address);
    }
  } else {
    error = absl::StrCat("seed ", seed.text, " does not resolve: ", status.message());
    status = absl::Status(status.code(), error);
  }
  reports.push_back({seed.text, status, seed.last_error != error});
  seed.last_error = std::move(error);
  Schedule(seed, now, status.ok(), around);
}

void Seeds::Schedule(Seed& seed, Instant now, bool resolved, const Surroundings& around) {
  Duration wait = retry_;
  if (around.alone || now < seed.hurry_until) {
    // A name that resolves but leads to nobody may lead elsewhere tomorrow; the engine tries what it leads to today.
    wait = resolved ? max_ : seed.interval;
    seed.interval = resolved ? min_ : std::min(2 * seed.interval, max_);
  } else {
    seed.interval = min_;
  }
  // Nodes that start together do not ask together for ever.
  const double jitter = 0.75 + 0.5 * random_.Unit();
  seed.next = Later(now, Duration(static_cast<Duration::rep>(static_cast<double>(wait.count()) * jitter)));
}

void Seeds::Hurry(const std::string& text, Instant until) {
  const auto seed = std::find_if(seeds_.begin(), seeds_.end(), [&](const Seed& s) { return s.text == text; });
  if (seed == seeds_.end() || seed->numeric) return;
  seed->hurry_until = std::max(seed->hurry_until, until);
  seed->hurried = true;
  seed->next = Instant::min();
  seed->interval = min_;
}

std::optional<Seeds::Known> Seeds::Look(const std::string& text) const {
  const auto seed = std::find_if(seeds_.begin(), seeds_.end(), [&](const Seed& s) { return s.text == text; });
  if (seed == seeds_.end()) return std::nullopt;
  return Known{seed->numeric, seed->hurried, seed->given, seed->last_error};
}

Instant Seeds::NextTurn() const {
  if (!fresh_.empty()) return Instant::min();
  Instant next = kNever;
  for (const Seed& seed : seeds_) {
    if (!seed.looking) next = std::min(next, seed.next);
  }
  return next;
}

}  // namespace nekton
