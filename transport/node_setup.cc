#include "transport/node_setup.h"

#include <uv.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "swim/message.h"
#include "transport/uv_clock.h"
#include "transport/uv_socket.h"

namespace nekton {
namespace {

// The first numeric seed that is on another machine.
const std::string* SeedElsewhere(const Config& config) {
  const auto elsewhere = [](const std::string& seed) {
    const auto address = Address::Parse(seed);
    return address.ok() && !IsLoopback(*address);
  };
  const auto found = std::find_if(config.seeds.begin(), config.seeds.end(), elsewhere);
  return found == config.seeds.end() ? nullptr : &*found;
}

// The keys that sealing needs: those that were handed in, or those of the file.
absl::Status FindKeys(const Config& config, Keyring* keys) {
  if (config.sealing == Sealing::kOff) {
    return keys->empty() ? absl::OkStatus()
                         : absl::InvalidArgumentError("sealing = off: there are keys, which have no use then");
  }
  if (config.key_file.empty()) {
    return keys->empty() ? absl::InvalidArgumentError("key_file = \"\": sealing needs a key") : absl::OkStatus();
  }
  if (!keys->empty()) return absl::InvalidArgumentError("key_file: there are keys without it, too; one of both");
  absl::StatusOr<Keyring> read = LoadKeyring(config.key_file);
  if (!read.ok()) return read.status();
  *keys = *std::move(read);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NodePlan> PlanNode(Config config, LeaseConfig leases, std::shared_ptr<ViewStore> view_store,
                                  Keyring keys, std::shared_ptr<Register> lease_register) {
  std::string mistakes;
  const auto add = [&mistakes](absl::string_view mistake) {
    absl::StrAppend(&mistakes, mistakes.empty() ? "" : "\n", mistake);
  };
  // The rooms below know no interfaces.
  for (std::string* address : {&config.bind, &config.advertise}) *address = WithNumericZone(*address);
  for (std::string& seed : config.seeds) seed = WithNumericZone(seed);
  if (const absl::Status status = config.Validate(); !status.ok()) add(status.message());
  if (const absl::Status status = FindKeys(config, &keys); !status.ok()) add(status.message());
  for (const std::string& mistake : ProblemsOf(leases, config)) add(mistake);
  if (leases.by_lease() && leases.signing.has_value() && lease_register == nullptr) {
    add("lease_register: a candidate for the authority needs one");
  }
  if (leases.by_lease() && view_store != nullptr) add("view_store: the view of candidates is kept in their register");
  if (!leases.by_lease() && leases.signing.has_value() && view_store == nullptr) {
    add("view_store: the authority needs one, to go on from after a restart");
  }
  const absl::StatusOr<Address> bind = Address::Parse(config.bind);
  const std::string* seed = SeedElsewhere(config);
  if (bind.ok() && IsLoopback(*bind) && config.advertise.empty() && seed != nullptr) {
    add(absl::StrCat("bind = \"", config.bind, "\": seed ", *seed,
                     " is on another machine, which cannot answer a loopback address"));
  }
  if (!mistakes.empty()) return absl::InvalidArgumentError(mistakes);
  const auto since_epoch = ReadClocks().wall.time_since_epoch();
  const auto now_ms = static_cast<std::uint64_t>(
      std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count(), 1));
  if (config.generation == 0) config.generation = now_ms;
  if (config.generation > now_ms + kGenerationAheadMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("generation = ", config.generation,
                     ": more than ten years ahead of the clock, no other member would believe it; it is a time in ms"));
  }
  if (config.seed == 0) {
    if (uv_random(nullptr, nullptr, &config.seed, sizeof(config.seed), 0, nullptr) != 0) config.seed = uv_hrtime();
    config.seed |= config.seed == 0 ? 1 : 0;
  }
  NodePlan plan{std::move(config), *bind, std::move(keys), nullptr, std::move(leases)};
  if (plan.leases.by_lease() && plan.leases.signing.has_value()) plan.lease_register = std::move(lease_register);
  if (plan.leases.signing.has_value() && !plan.leases.by_lease()) {
    absl::StatusOr<View> stored = view_store->Read();
    if (!stored.ok()) return stored.status();
    plan.view_store = std::move(view_store);
    plan.stored = *std::move(stored);
  }
  return plan;
}

Reachability ChooseAdvertised(const NodePlan& plan, const Address& local, const std::vector<Address>& interfaces) {
  Reachability out;
  if (!plan.config.advertise.empty()) {
    out.advertised = *Address::Parse(plan.config.advertise);  // checked with the rest of the configuration
    return out;
  }
  out.advertised = ReachableAddress(local, interfaces);
  if (!local.is_unspecified()) return out;
  const std::string chosen = absl::StrCat("bind is ", local.ToString(), " and advertise is not set: others are told ",
                                          out.advertised.ToString());
  const auto candidate = [&](const Address& a) { return !IsLoopback(a) && a.is_v4() == out.advertised.is_v4(); };
  const auto candidates = std::count_if(interfaces.begin(), interfaces.end(), candidate);
  if (IsLoopback(out.advertised)) {
    const std::string* seed = SeedElsewhere(plan.config);
    out.lines.emplace_back(seed != nullptr ? LogLevel::kWarning : LogLevel::kInfo,
                           absl::StrCat(chosen, ", which only this machine can reach",
                                        seed != nullptr ? absl::StrCat("; seed ", *seed, " cannot answer it") : ""));
  } else if (candidates > 1) {
    out.lines.emplace_back(LogLevel::kWarning,
                           absl::StrCat(chosen, ", one of ", candidates, " addresses of this machine"));
  } else {
    out.lines.emplace_back(LogLevel::kInfo, chosen);
  }
  return out;
}

}  // namespace nekton
