#include "bench/common/acquaintance.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "swim/message.h"
#include "swim/wire.h"

namespace nekton::bench {
namespace {

Update NewsOf(const Simulator& sim, SimId id) {
  Update news;
  news.name = sim.name(id);
  news.address = sim.address(id);
  news.key = {sim.generation(id), 0};
  news.detailed = true;
  news.version_min = news.version_max = kProtocolVersion;
  return news;
}

// What `sender` would send if it knew all members: itself first.
std::vector<std::byte> SyncFrom(const Simulator& sim, SimId sender) {
  Frame frame;
  frame.type = FrameType::kSync;
  frame.label = LabelTag("");
  frame.sender = MemberId(sim.name(sender), sim.generation(sender));
  frame.version_min = frame.version_max = kProtocolVersion;
  std::vector<std::byte> bytes;
  FrameWriter writer(frame, kSyncBytesMax, bytes);
  writer.Add(NewsOf(sim, sender));
  for (SimId id = 0; id < sim.size(); ++id) {
    if (id != sender) writer.Add(NewsOf(sim, id));
  }
  writer.Finish();
  return bytes;
}

}  // namespace

bool Acquaint(Simulator* sim) {
  const auto size = static_cast<SimId>(sim->size());
  for (SimId id = 0; id < size; ++id) {
    if (!sim->Start(id).ok()) return false;
  }
  if (size < 2) return size == 1;
  const std::vector<std::byte> from_first = SyncFrom(*sim, 0);
  const std::vector<std::byte> from_second = SyncFrom(*sim, 1);
  const auto ignore = [](const absl::Status&, std::span<const std::byte>) {};
  for (SimId id = 0; id < size; ++id) {
    const SimId sender = id == 0 ? 1 : 0;
    sim->InjectRequest(id, sim->address(sender), sender == 0 ? from_first : from_second, ignore);
  }
  return sim->Converged();
}

}  // namespace nekton::bench
