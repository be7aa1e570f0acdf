// The order in which tasks of the background run.
#include "jit/launch/compile_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <new>
#include <string>
#include <vector>

namespace xc {
namespace {

using ::testing::ElementsAre;

// A queue whose thread waits until Go, and the order in which its tasks ran.
class CompileQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto begun = std::make_shared<std::promise<void>>();
    std::future<void> waits = begun->get_future();
    queue_.Add(nullptr, nullptr, [this, begun] {
      begun->set_value();
      go_.get_future().wait();
    });
    waits.wait();
  }
  void TearDown() override {
    if (!gone_) Go();
  }

  Demand Asked(int64_t calls) { return std::make_shared<std::atomic<int64_t>>(calls); }
  bool Add(const std::string& name, Demand demand, const void* owner = nullptr) {
    return queue_.Add(owner, std::move(demand), [this, name] { ran_.push_back(name); });
  }
  void Go() {
    gone_ = true;
    go_.set_value();
    queue_.Drain();
  }

  std::promise<void> go_;
  bool gone_ = false;
  std::vector<std::string> ran_;
  CompileQueue queue_;
};

TEST_F(CompileQueueTest, WhatWasAskedForMostGoesFirst) {
  Demand rare = Asked(1), often = Asked(1);
  Add("rare", rare);
  Add("nobody waits", nullptr);
  Add("often", often);
  Add("as rare", Asked(1));
  *often += 99;  // while it waits
  Go();
  EXPECT_THAT(ran_, ElementsAre("often", "rare", "nobody waits", "as rare"))
      << "the fourth turn, the first task's included, is the oldest task's";
}

TEST_F(CompileQueueTest, NoTaskWaitsForEver) {
  Add("rare", Asked(1));
  for (int i = 0; i < 10; ++i) Add("often", Asked(100));
  Go();
  ASSERT_EQ(ran_.size(), 11);
  EXPECT_EQ(std::find(ran_.begin(), ran_.end(), "rare") - ran_.begin(), 2);
}

TEST_F(CompileQueueTest, AnExceptionEndsItsTaskAlone) {
  queue_.Add(nullptr, nullptr, [] { throw std::bad_alloc(); });
  Add("next", nullptr);
  Go();
  EXPECT_THAT(ran_, ElementsAre("next"));
}

TEST_F(CompileQueueTest, AFullQueueTakesNoMore) {
  int owner = 0;
  for (size_t i = 0; i < CompileQueue::kMaxTasks; ++i) EXPECT_TRUE(Add("first", nullptr, &owner));
  EXPECT_FALSE(Add("second", Asked(1000)));
  queue_.Cancel(&owner);
  EXPECT_TRUE(Add("third", nullptr));
  Go();
  EXPECT_THAT(ran_, ElementsAre("third"));
  queue_.Stop();
  EXPECT_FALSE(Add("fourth", nullptr));
}

}  // namespace
}  // namespace xc
