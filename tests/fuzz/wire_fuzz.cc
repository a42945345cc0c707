// Any bytes as a frame: judged without harm, and what is accepted survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "swim/tags.h"
#include "swim/wire.h"

namespace {

using nekton::Fault;
using nekton::Frame;
using nekton::Update;
using nekton::UpdateReader;
using Bytes = std::vector<std::byte>;

void Require(bool condition) {
  if (!condition) std::abort();
}

Fault Decode(bool stream, const Bytes& bytes, std::uint32_t label, Frame* frame) {
  return stream ? nekton::DecodeStream(bytes, label, frame) : nekton::DecodeDatagram(bytes, label, frame);
}

// Without the updates and fields that only a later version knows.
Bytes EncodeAgain(const Frame& frame) {
  Bytes bytes;
  nekton::FrameWriter writer(frame, nekton::kSyncBytesMax, bytes);
  UpdateReader reader(frame.updates);
  for (Update update; reader.Next(&update);) {
    if (update.detailed) Require(nekton::DecodeTags(update.tags).ok());
    Require(writer.Add(update));
  }
  nekton::PartReader parts(frame.updates);
  for (nekton::BroadcastPart part; parts.Next(&part);) Require(writer.Add(part));
  writer.Finish();
  return bytes;
}

void Judge(bool stream, const Bytes& bytes, std::uint32_t label) {
  Frame frame;
  if (Decode(stream, bytes, label, &frame) != Fault::kNone) return;
  const Bytes once = EncodeAgain(frame);
  Require(once.size() <= bytes.size());
  Frame again;
  Require(Decode(stream, once, label, &again) == Fault::kNone);
  Require(EncodeAgain(again) == once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(size);
  if (size != 0) std::memcpy(bytes.data(), data, size);
  // The label that the input bears, so that it is never the reason.
  std::uint32_t label = 0;
  for (std::size_t i = 0; i < 4 && i + 2 < size; ++i) label |= std::uint32_t{data[i + 2]} << (8 * i);
  for (const bool stream : {false, true}) Judge(stream, bytes, label);
  // No search finds checksums: the same again with the right one.
  if (size >= 4) {
    const std::uint32_t checksum = XXH32(bytes.data(), size - 4, 0);
    for (std::size_t i = 0; i < 4; ++i) bytes[size - 4 + i] = static_cast<std::byte>(checksum >> (8 * i));
    for (const bool stream : {false, true}) Judge(stream, bytes, label);
  }
  UpdateReader reader(bytes);
  for (Update update; reader.Next(&update);) Require(nekton::EncodedSize(update) != 0);
  nekton::PartReader parts(bytes);
  for (nekton::BroadcastPart part; parts.Next(&part);) Require(nekton::EncodedSize(part) != 0);
  return 0;
}
