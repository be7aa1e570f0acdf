// When code for all sizes is made for a further shape.
#include "jit/launch/general_times.h"

#include <gtest/gtest.h>

namespace xc {
namespace {

TEST(GeneralTimes, OneShapeIsTriedBeforeAnythingIsKnown) {
  GeneralTimes times;
  EXPECT_TRUE(times.Pays(10, 1));
  EXPECT_FALSE(times.PaysInCall(10));
  times.Made(1000);
  EXPECT_FALSE(times.Pays(10, 1)) << "it has not come back";
  EXPECT_TRUE(times.Pays(10, 2));
  EXPECT_FALSE(times.PaysInCall(10)) << "what the host takes is not known";
}

TEST(GeneralTimes, AFewCallsWaitBeforeCodeHasRun) {
  GeneralTimes times;
  times.Made(1000);
  times.HostRan(10, 500);
  EXPECT_FALSE(times.PaysInCall(10)) << "making it takes longer than the host";
  EXPECT_TRUE(times.PaysInCall(100));
  EXPECT_TRUE(times.PaysInCall(100));
  EXPECT_TRUE(times.PaysInCall(100));
  EXPECT_FALSE(times.PaysInCall(100));
}

TEST(GeneralTimes, CallsWaitWhereMakingAndRunningTakeLess) {
  GeneralTimes times;
  times.Made(1000);
  // The host: 500 and 10 for each element; code: 4 for each.
  for (int64_t elements : {100, 200, 400, 50, 300}) {
    times.HostRan(elements, 500 + 10 * elements);
    times.Ran(elements, 4 * elements);
  }
  EXPECT_FALSE(times.PaysInCall(70));
  EXPECT_TRUE(times.PaysInCall(100));
  EXPECT_FALSE(times.Pays(70, 1));
  EXPECT_TRUE(times.Pays(70, 2));
  EXPECT_TRUE(times.Pays(10, 2));
}

TEST(GeneralTimes, CodeThatIsNotQuickerIsNotMade) {
  GeneralTimes times;
  times.Made(1);
  times.HostRan(10, 100);
  times.Ran(10, 200);
  EXPECT_FALSE(times.PaysInCall(10));
  EXPECT_FALSE(times.Pays(10, 1000));
}

TEST(GeneralTimes, ACallThatWasInterruptedCountsLittle) {
  GeneralTimes times;
  times.Made(1000);
  for (int64_t i = 0; i < 20; ++i) times.HostRan(10, 100);
  times.HostRan(10, 1'000'000);
  times.Ran(10, 50);
  EXPECT_FALSE(times.PaysInCall(10));
}

}  // namespace
}  // namespace xc
