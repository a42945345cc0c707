// What was measured, as rows: one JSON object each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/papers/bootstrap.h"
#include "bench/papers/faults.h"
#include "bench/papers/known.h"
#include "bench/papers/load_floor.h"
#include "bench/papers/mass_restart.h"
#include "bench/papers/shrink.h"
#include "bench/papers/spread.h"

namespace nekton::bench {

using Row = nlohmann::ordered_json;

// Runs of consecutive seeds, the first of which the plan has.
Row BootstrapRow(std::string_view protocol, const BootstrapPlan& plan, const std::vector<Bootstrap>& runs);
Row SpreadRow(std::string_view protocol, const SpreadPlan& plan, const std::vector<Spread>& runs);
Row ShrinkRow(std::string_view protocol, const ShrinkPlan& plan, const std::vector<Shrink>& runs);
// Of one run.
Row FaultsRow(std::string_view protocol, const FaultsPlan& plan, const Faults& faults);
Row LoadFloorRow(std::string_view protocol, const LoadFloorPlan& plan, const LoadFloor& floor);

// One side of a known failure, with "right".
Row HealSide(const Heal& heal);
Row RestartSide(const MassRestart& restart);
Row SemiSide(const Semi& semi);
// Both, with what is said of the case in `row`.
Row KnownRow(std::string_view name, std::uint32_t nodes, std::uint64_t seed, const Row& parameters, const Row& baseline,
             const Row& nekton);

}  // namespace nekton::bench
