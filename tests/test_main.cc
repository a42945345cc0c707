// The main of every test.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef __SANITIZE_THREAD__
// Debian's libabsl_status counts the holders of a status with atomics that the sanitizer does not see: when two threads
// held one, the last to let it go seems to race with the other.
extern "C" const char* __tsan_default_suppressions() { return "race:absl::*::Status::Unref\n"; }
#endif

int main(int argc, char** argv) {
  // A peer that closes its stream must show as an error of the write, as it does in a host that ignores the signal.
  std::signal(SIGPIPE, SIG_IGN);
  // Death tests fork; with threads around only the re-executing style is safe.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
