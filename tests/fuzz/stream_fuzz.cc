// Any bytes, in any pieces, on a stream: the receiver of frames takes the frame that they begin with, or none.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "swim/message.h"
#include "transport/uv_frame.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using nekton::FrameStep;
  if (size < 2) return 0;
  const std::size_t piece = data[0] + std::size_t{1};
  const std::size_t budget_max = data[1] % 4 == 0 ? 20'000 : nekton::kSyncBytesMax;
  data += 2;
  size -= 2;
  int ends[2];
  Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  nekton::ByteBudget budget(budget_max);
  {
    nekton::FrameReceiver receiver(budget);
    FrameStep step = FrameStep::kMore;
    std::size_t at = 0;
    while (at < size && step == FrameStep::kMore) {
      const std::size_t count = std::min(piece, size - at);
      Require(send(ends[0], data + at, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count));
      at += count;
      step = receiver.Read(ends[1]);
      Require(budget.used() <= budget_max && receiver.bytes().size() <= std::max<std::size_t>(2 * at, 16384));
    }
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < 4 && i < size; ++i) length |= std::uint32_t{data[i]} << (8 * i);
    if (step == FrameStep::kComplete) {
      Require(size >= 4 && length >= 1 && length <= nekton::kSyncBytesMax && size - 4 >= length);
      Require(receiver.bytes().size() == length && std::memcmp(receiver.bytes().data(), data + 4, length) == 0);
    } else if (step == FrameStep::kBadLength) {
      const bool tls = size >= 6 && data[0] == 0x16 && data[1] == 3 && data[5] == 1;
      Require(length == 0 || length > nekton::kSyncBytesMax || tls);
    } else if (step == FrameStep::kMore) {
      close(ends[0]);
      ends[0] = -1;
      const FrameStep last = receiver.Read(ends[1]);
      Require(last == FrameStep::kEof || last == FrameStep::kBadLength || last == FrameStep::kOverBudget);
    }
  }
  Require(budget.used() == 0);
  for (const int fd : ends) {
    if (fd >= 0) close(fd);
  }
  return 0;
}
