// The queue of runs: their order, who waits for whom, and what becomes of it where a process forks.
#include "service/pjrt/launch_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <vector>

namespace xc::pjrt {
namespace {

TEST(LaunchQueue, TasksRunInOrderWhileTheirCallersGoOn) {
  std::promise<void> open;
  std::vector<int> done;
  LaunchQueue& queue = LaunchQueue::Get();
  queue.Add([&] { open.get_future().wait(); });
  for (int i = 0; i < 5; ++i) queue.Add([&done, i] { done.push_back(i); });
  open.set_value();
  LaunchQueue::Drain();
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(LaunchQueue, CallersDoNotRunAheadWithoutBound) {
  std::promise<void> open;
  std::atomic<size_t> added{0};
  LaunchQueue& queue = LaunchQueue::Get();
  queue.Add([&] { open.get_future().wait(); });
  std::thread caller([&] {
    for (size_t i = 0; i < 2 * LaunchQueue::kMostWaiting; ++i) {
      queue.Add([] {});
      ++added;
    }
  });
  while (added < LaunchQueue::kMostWaiting) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(added, LaunchQueue::kMostWaiting);
  open.set_value();
  caller.join();
  LaunchQueue::Drain();
}

TEST(LaunchQueue, TasksMayAddOthers) {
  std::atomic<int> done{0};
  LaunchQueue& queue = LaunchQueue::Get();
  queue.Add([&] {
    for (size_t i = 0; i < LaunchQueue::kMostWaiting + 5; ++i) queue.Add([&] { ++done; });
    LaunchQueue::Drain();  // waits for nothing here
  });
  LaunchQueue::Drain();
  EXPECT_EQ(done, static_cast<int>(LaunchQueue::kMostWaiting) + 5);
}

TEST(LaunchQueue, ChildrenHaveTheirOwn) {
  std::atomic<bool> done{false};
  LaunchQueue::Get().Add([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    done = true;
  });
  const pid_t child = fork();
  if (child == 0) {
    bool own = false;
    LaunchQueue::Get().Add([&] { own = true; });
    LaunchQueue::Drain();
    _exit(done && own ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace xc::pjrt
