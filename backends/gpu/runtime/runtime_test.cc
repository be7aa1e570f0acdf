// The runtime on the emulator: what works.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/graph.h"
#include "backends/gpu/runtime/module.h"
#include "backends/gpu/runtime/stream.h"
#include "backends/gpu/runtime/testing.h"

namespace xc::gpu {
namespace {

class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = Device::Open(0, true).value();
    stream_ = Stream::Make(device_).value();
    module_ = Module::Load(device_, kKernels).value();
  }
  absl::Status AddOne(const DeviceBuffer& buffer, uint32_t blocks, uint32_t threads, Stream* stream = nullptr) {
    const Kernel kernel = module_->GetKernel("add_one").value();
    uint64_t pointer = buffer.pointer();
    void* arguments[] = {&pointer};
    return (stream ? stream : stream_.get())->Launch(kernel, {{blocks, 1, 1}, {threads, 1, 1}, 0}, arguments);
  }
  std::vector<uint32_t> Fetch(const DeviceBuffer& buffer, Stream* stream = nullptr) {
    std::vector<uint32_t> values(static_cast<size_t>(buffer.bytes()) / 4);
    Stream* from = stream ? stream : stream_.get();
    EXPECT_TRUE(from->CopyToHost(values.data(), buffer.pointer(), buffer.bytes()).ok());
    EXPECT_TRUE(from->Synchronize().ok());
    return values;
  }
  std::shared_ptr<Device> device_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<Module> module_;
};

TEST_F(RuntimeTest, KnowsItsDevice) {
  EXPECT_EQ(device_->info().compute_capability, 90);
  EXPECT_EQ(device_->info().multiprocessors, 132);
  EXPECT_GT(device_->info().memory_bytes, int64_t{1} << 30);
  EXPECT_EQ(Device::Open(0, true).value(), device_);
  EXPECT_EQ(Device::Count(true).value(), 1);
}

TEST_F(RuntimeTest, CopiesLaunchesAndFills) {
  DeviceBuffer buffer = DeviceBuffer::Allocate(stream_, 4 * 256).value();
  ASSERT_TRUE(stream_->Fill32(buffer.pointer(), 5, 256).ok());
  ASSERT_TRUE(AddOne(buffer, 2, 128).ok());
  EXPECT_EQ(Fetch(buffer), std::vector<uint32_t>(256, 6));
  std::vector<uint32_t> values(256, 40);
  ASSERT_TRUE(stream_->CopyToDevice(buffer.pointer(), values.data(), buffer.bytes()).ok());
  values.assign(256, 0);  // what is not pinned has been copied
  ASSERT_TRUE(AddOne(buffer, 2, 128).ok());
  DeviceBuffer other = DeviceBuffer::Allocate(stream_, buffer.bytes()).value();
  ASSERT_TRUE(stream_->CopyOnDevice(other.pointer(), buffer.pointer(), buffer.bytes()).ok());
  EXPECT_EQ(Fetch(other), std::vector<uint32_t>(256, 41));
}

TEST_F(RuntimeTest, VariablesOfModules) {
  int64_t bytes = 0;
  const uint64_t address = module_->GetGlobal("counter", &bytes).value();
  EXPECT_EQ(bytes, 4);
  uint32_t value = 0;
  ASSERT_TRUE(stream_->CopyToHost(&value, address, 4).ok());
  ASSERT_TRUE(stream_->Synchronize().ok());
  EXPECT_EQ(value, 41);
  EXPECT_EQ(module_->GetGlobal("no", nullptr).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(module_->GetKernel("no").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RuntimeTest, WorkIsDoneWhenSomebodyWaits) {
  DeviceBuffer buffer = DeviceBuffer::Allocate(stream_, 4 * 32).value();
  PinnedBuffer pinned = PinnedBuffer::Allocate(device_, 4 * 32).value();
  uint32_t* values = static_cast<uint32_t*>(pinned.data());
  values[0] = 1;
  ASSERT_TRUE(stream_->Fill32(buffer.pointer(), 5, 32).ok());
  ASSERT_TRUE(stream_->CopyToHost(values, buffer.pointer(), buffer.bytes()).ok());
  EXPECT_EQ(values[0], 1);
  while (!stream_->Done().value()) {
  }
  EXPECT_EQ(values[0], 5);
}

TEST_F(RuntimeTest, EventsOrderStreams) {
  std::shared_ptr<Stream> second = Stream::Make(device_).value();
  DeviceBuffer buffer = DeviceBuffer::Allocate(stream_, 4 * 32).value();
  const std::unique_ptr<Event> start = Event::Make(device_).value(), filled = Event::Make(device_).value();
  ASSERT_TRUE(stream_->Record(*start).ok());
  ASSERT_TRUE(stream_->Fill32(buffer.pointer(), 5, 32).ok());
  ASSERT_TRUE(stream_->Record(*filled).ok());
  ASSERT_TRUE(second->Wait(*filled).ok());
  ASSERT_TRUE(AddOne(buffer, 1, 32, second.get()).ok());
  EXPECT_FALSE(filled->Done().value());
  EXPECT_EQ(Fetch(buffer, second.get()), std::vector<uint32_t>(32, 6));
  EXPECT_TRUE(filled->Done().value());
  EXPECT_GE(start->Until(*filled).value(), 0);
}

TEST_F(RuntimeTest, GraphsRepeatWhatWasCaptured) {
  DeviceBuffer buffer = DeviceBuffer::Allocate(stream_, 4 * 32).value();
  ASSERT_TRUE(stream_->Fill32(buffer.pointer(), 0, 32).ok());
  const std::unique_ptr<Graph> graph = Graph::Capture(stream_.get(), [&] {
                                         const absl::Status status = AddOne(buffer, 1, 32);
                                         return status.ok() ? AddOne(buffer, 1, 32) : status;
                                       }).value();
  EXPECT_EQ(graph->nodes(), 2);
  for (int n = 0; n < 3; ++n) ASSERT_TRUE(graph->Launch(stream_.get()).ok());
  EXPECT_EQ(Fetch(buffer), std::vector<uint32_t>(32, 6));
}

TEST_F(RuntimeTest, CaptureFailsWithItsReasonAndLeavesTheStream) {
  auto graph = Graph::Capture(stream_.get(), [] { return absl::CancelledError("not now"); });
  EXPECT_EQ(graph.status().message(), "not now");
  graph = Graph::Capture(stream_.get(), [&] { return stream_->Synchronize(); });
  EXPECT_FALSE(graph.ok());
  EXPECT_TRUE(stream_->Synchronize().ok());
}

TEST_F(RuntimeTest, SharedMemoryBeyondWhatABlockHas) {
  DeviceBuffer buffer = DeviceBuffer::Allocate(stream_, 4).value();
  uint64_t pointer = buffer.pointer();
  void* arguments[] = {&pointer};
  const Kernel kernel = module_->GetKernel("shared", 65536).value();
  ASSERT_TRUE(stream_->Launch(kernel, {{1, 1, 1}, {1, 1, 1}, 65536}, arguments).ok());
  EXPECT_EQ(Fetch(buffer)[0], 7);
  const absl::Status status = module_->GetKernel("shared", 1 << 20).status();
  EXPECT_NE(status.message().find("of which the device has 232448"), std::string::npos) << status;
}

TEST_F(RuntimeTest, MemoryIsCountedAndFreedInOrder) {
  EXPECT_EQ(device_->used_bytes(), 0);
  {
    DeviceBuffer a = DeviceBuffer::Allocate(stream_, 1000).value();
    DeviceBuffer b = DeviceBuffer::Allocate(stream_, 3000).value();
    EXPECT_EQ(device_->used_bytes(), 4000);
    DeviceBuffer c = std::move(a);
    EXPECT_EQ(a.pointer(), 0);
    EXPECT_EQ(device_->used_bytes(), 4000);
    EXPECT_EQ(c.pointer() % 256, 0);
    EXPECT_EQ(DeviceBuffer::Allocate(stream_, 0).value().pointer(), 0);
  }
  EXPECT_EQ(device_->used_bytes(), 0);
  EXPECT_EQ(device_->peak_bytes(), 4000);
}

}  // namespace
}  // namespace xc::gpu
