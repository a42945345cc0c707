// Whether the thread sanitizer, with tests/tsan_suppressions.txt, tells apart two threads that use one descriptor from two
// that were given the same number one after the other, where the close between was not seen.
//
//   descriptors reused    every way to make a descriptor after every other; nothing may be reported
//   descriptors shared    one thread closes what the other one writes to; that has to be reported
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string_view>
#include <thread>

namespace {

int Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  syscall(SYS_close, ends[1]);
  return ends[0];
}

// The sanitizer does not see this one at all.
int Temporary() {
  char path[] = "/tmp/nekton_descriptors_XXXXXX";
  const int fd = mkostemp(path, O_CLOEXEC);
  unlink(path);
  return fd;
}

using Maker = int (*)();
constexpr Maker kMakers[] = {[] { return socket(AF_INET, SOCK_DGRAM, 0); },
                             [] { return epoll_create1(EPOLL_CLOEXEC); },
                             [] { return eventfd(0, EFD_CLOEXEC); },
                             [] { return open("/dev/null", O_RDWR | O_CLOEXEC); },
                             [] { return dup(0); },
                             Pipe,
                             Temporary};

// As libuv does it: by the bare system call.
void CloseUnseen(int fd) { syscall(SYS_close, fd); }

bool Reuse(Maker first, Maker second) {
  // An order, but none that the sanitizer takes for one.
  std::atomic<int> made{-1};
  std::atomic<bool> same{false};
  std::thread one([&] {
    const int fd = first();
    CloseUnseen(fd);
    made.store(fd, std::memory_order_relaxed);
  });
  std::thread other([&] {
    while (made.load(std::memory_order_relaxed) < 0) std::this_thread::yield();
    const int fd = second();
    (void)!write(fd, "", 0);
    same.store(fd == made.load(std::memory_order_relaxed), std::memory_order_relaxed);
    CloseUnseen(fd);
  });
  one.join();
  other.join();
  return same.load();
}

void Share() {
  const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::atomic<bool> wrote{false};
  std::thread writer([&] {
    (void)!write(fd, "x", 1);
    wrote.store(true, std::memory_order_relaxed);
  });
  while (!wrote.load(std::memory_order_relaxed)) std::this_thread::yield();
  close(fd);
  writer.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "shared") {
    Share();
    return 0;
  }
  if (what != "reused") return 2;
  for (const Maker first : kMakers) {
    for (const Maker second : kMakers) {
      if (!Reuse(first, second)) return 3;  // another number: nothing was tried
    }
  }
  return 0;
}
