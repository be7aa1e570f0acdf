// The process may end while the library is made ready, whichever thread ends it.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "backends/runtime/onednn.h"
#include "gtest/gtest.h"

namespace xc {
namespace {

// This process has not opened the library, so that each child opens it anew.
TEST(OneDnnExit, AnyThreadMayEndTheProcess) {
  std::mt19937 random(1);
  for (int round = 0; round < 80; ++round) {
    const auto delay = std::chrono::microseconds(random() % 40000);
    const bool first_ends = round % 2 == 1;
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      const auto end = [delay] {
        std::this_thread::sleep_for(delay);
        std::exit(0);
      };
      std::thread([&] { first_ends ? onednn::PrepareProducts() : end(); }).detach();
      first_ends ? end() : onednn::PrepareProducts();
      pause();
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "round " << round << ", after " << delay.count() << " us";
  }
}

}  // namespace
}  // namespace xc
