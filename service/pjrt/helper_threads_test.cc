// Work on other threads: whose they are, what happens within it, and where a process forks.
#include "service/pjrt/helper_threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace xc::pjrt {
namespace {

std::thread::id ThreadOfACall() {
  std::thread::id id;
  CallElsewhere([&] { id = std::this_thread::get_id(); });
  return id;
}

TEST(HelperThreads, OneAfterTheOtherOnTheSameThread) {
  const std::thread::id first = ThreadOfACall();
  EXPECT_NE(first, std::this_thread::get_id());
  EXPECT_EQ(first, ThreadOfACall());
}

TEST(HelperThreads, CallsWithinCalls) {
  std::set<std::thread::id> ids = {std::this_thread::get_id()};
  CallElsewhere([&] {
    ids.insert(std::this_thread::get_id());
    CallElsewhere([&] {
      ids.insert(std::this_thread::get_id());
      CallElsewhere([&] { ids.insert(std::this_thread::get_id()); });
    });
  });
  EXPECT_EQ(ids.size(), 4u);
}

TEST(HelperThreads, CallsAtTheSameTime) {
  std::atomic<int> inside{0}, done{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < 100; ++j) CallElsewhere([&] { ++done; });
      // All are in such a call at once.
      CallElsewhere([&] {
        ++inside;
        while (inside < 8) std::this_thread::yield();
      });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 800);
}

TEST(HelperThreads, ExceptionsReachTheCaller) {
  EXPECT_THROW(CallElsewhere([] { throw std::runtime_error("wrong"); }), std::runtime_error);
  EXPECT_NO_THROW(ThreadOfACall());
}

TEST(HelperThreads, ChildrenHaveTheirOwn) {
  ThreadOfACall();
  const pid_t child = fork();
  if (child == 0) {
    bool done = false;
    CallElsewhere([&] { done = true; });
    _exit(done ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace xc::pjrt
