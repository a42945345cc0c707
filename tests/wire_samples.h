// Frames of every type and form as values. tests/data/wire_golden.txt has the same as bytes, under the same names.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "swim/wire.h"

namespace nekton {

inline constexpr std::uint32_t kSampleLabel = 0x11223344;

struct WireSample {
  std::string name;
  bool stream = false;  // how it travels
  Frame frame;          // `updates` is empty here
  std::vector<Update> updates;
  std::vector<BroadcastPart> parts = {};  // behind the updates
};

std::vector<WireSample> WireSamples();
// Alive, alive without details, suspect, dead, left.
std::vector<Update> UpdateSamples();
// A broadcast, the smallest, a digest, ids held, ids wanted.
std::vector<BroadcastPart> PartSamples();

// The finished bytes of a frame with these updates; they fit.
std::vector<std::byte> Encode(const Frame& frame, std::span<const Update> updates = {},
                              std::span<const BroadcastPart> parts = {});
inline std::vector<std::byte> Encode(const WireSample& sample) {
  return Encode(sample.frame, sample.updates, sample.parts);
}
Fault DecodeAs(bool stream, std::span<const std::byte> bytes, Frame* frame);
// The updates of a decoded frame that we know.
std::vector<Update> ReadAll(const Frame& frame);

// All parts for broadcasts of a decoded frame, each as the bytes that it is written with.
std::vector<std::vector<std::byte>> ReadAllParts(const Frame& frame);
std::vector<std::byte> Encode(const BroadcastPart& part);

// Replaces the last four bytes by the right checksum of those before.
void Reseal(std::vector<std::byte>& bytes);

}  // namespace nekton
