// Frames that a test reads off the wire of a simulated group, or forges in the name of one of its members.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "swim/wire.h"
#include "tests/cluster.h"

namespace nekton {

// What a datagram says; no label. False, and the test fails: it is malformed.
inline bool ReadDatagram(const SimDatagram& datagram, Frame* frame, std::vector<Update>* updates) {
  const Fault fault = DecodeDatagram(datagram.bytes, LabelTag(""), frame);
  EXPECT_EQ(fault, Fault::kNone) << "a member sent a bad frame";
  if (fault != Fault::kNone) return false;
  UpdateReader reader(frame->updates);
  for (Update update; reader.Next(&update);) updates->push_back(update);
  return true;
}

inline std::uint64_t IdOf(Cluster& c, SimId member) {
  return MemberId(c.sim().name(member), c.sim().generation(member));
}

// News of one of the group at its generation.
inline Update Claim(Cluster& c, UpdateKind kind, SimId subject, std::uint64_t incarnation) {
  Update update;
  update.kind = kind;
  update.name = c.sim().name(subject);
  update.address = c.sim().address(subject);
  update.key = {c.sim().generation(subject), incarnation};
  update.version_min = update.version_max = kProtocolVersion;
  return update;
}
inline Update Accuse(Cluster& c, UpdateKind kind, SimId subject, std::uint64_t incarnation, SimId by) {
  Update update = Claim(c, kind, subject, incarnation);
  update.accusers[update.accuser_count++] = {IdOf(c, by), false};
  return update;
}

// Hands it to a member as gossip of another.
inline void Tell(Cluster& c, SimId to, SimId from, const std::vector<Update>& updates) {
  Frame frame;
  frame.type = FrameType::kGossip;
  frame.label = LabelTag("");
  frame.sender = IdOf(c, from);
  std::vector<std::byte> bytes;
  FrameWriter writer(frame, 1400, bytes);
  for (const Update& update : updates) EXPECT_TRUE(writer.Add(update)) << update.name;
  writer.Finish();
  c.sim().Inject(to, c.sim().address(from), bytes);
}

}  // namespace nekton
