// Thousands come and go: nothing is left of them. The same in long: churn_slow_test.cc.
#include "tests/churn.h"

namespace nekton {
namespace {

TEST(Churn, OfTwoThousandThatLeaveNothingIsLeft) { ExpectChurnIsBounded(ChurnKind::kLeave, 500, 2000); }
TEST(Churn, OfThoseThatCrashNothingIsLeft) { ExpectChurnIsBounded(ChurnKind::kCrash, 200, 800); }
TEST(Churn, OfFormerLivesNothingIsLeft) { ExpectChurnIsBounded(ChurnKind::kRestart, 200, 800); }
TEST(Churn, OfFormerStaysNothingIsLeft) { ExpectChurnIsBounded(ChurnKind::kReturn, 500, 2000); }
// Tombstones last a day there, and the oldest makes room.
TEST(Churn, InAMeshOnlyTheLatestAreLeft) { ExpectChurnIsBounded(ChurnKind::kLeave, 500, 2000, Config::Mesh()); }
TEST(Churn, OfFormerAddressesNothingIsLeft) { ExpectChurnIsBounded(ChurnKind::kMove, 400, 1600); }

}  // namespace
}  // namespace nekton
