// Twenty thousand come and go (churn_test.cc in long).
#include "tests/churn.h"

namespace nekton {
namespace {

constexpr std::size_t kMany = 20'000;

TEST(ChurnSlow, Leaves) { ExpectChurnIsBounded(ChurnKind::kLeave, 1000, kMany); }
TEST(ChurnSlow, Crashes) { ExpectChurnIsBounded(ChurnKind::kCrash, 1000, kMany); }
TEST(ChurnSlow, Restarts) { ExpectChurnIsBounded(ChurnKind::kRestart, 1000, kMany); }
TEST(ChurnSlow, Returns) { ExpectChurnIsBounded(ChurnKind::kReturn, 1000, kMany); }
TEST(ChurnSlow, Moves) { ExpectChurnIsBounded(ChurnKind::kMove, 1000, kMany); }

// Two minutes and a half each: after a day or two all that is kept for later use has reached its size.
TEST(ChurnSlow, MeshCrashes) { ExpectChurnIsBounded(ChurnKind::kCrash, 1200, 2400, Config::Mesh()); }

}  // namespace
}  // namespace nekton
