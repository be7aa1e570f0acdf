// The runtime on the emulator: what fails, each as a status that says so; the process and the device live on.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/driver.h"
#include "backends/gpu/runtime/fault_testing.h"
#include "backends/gpu/runtime/module.h"
#include "backends/gpu/runtime/stream.h"
#include "backends/gpu/runtime/testing.h"

namespace xc::gpu {
namespace {

std::string Beside(const std::string& name) { return BuiltLibrary("runtime", name); }

TEST(FaultsTest, NoDriver) {
  ExpectStatus(OpenDriver("/nowhere/libcuda.so.1").status(), absl::StatusCode::kUnavailable, "no CUDA driver: ");
}

TEST(FaultsTest, NotADriver) {
  ExpectStatus(OpenDriver("libm.so.6").status(), absl::StatusCode::kUnavailable, "is no CUDA driver");
}

TEST(FaultsTest, DriverTooOld) {
  ExpectStatus(OpenDriver(Beside("libold_driver.so")).status(), absl::StatusCode::kUnavailable,
               "too old: " + Beside("libold_driver.so") + " is for CUDA 11.4, needed is 12.0");
}

TEST(FaultsTest, DriverWithoutAFunction) {
  ExpectStatus(OpenDriver(Beside("libpartial_driver.so")).status(), absl::StatusCode::kUnavailable,
               "(CUDA 12.4) lacks the function cuGetErrorName");
}

// What the emulator is asked to do wrong; it reads the environment in cuInit.
class PlantedTest : public testing::Test {
 protected:
  // A driver that is opened while it has no device is refused.
  void SetUp() override { ASSERT_TRUE(OpenDriver(EmulatorLibrary()).ok()); }
  void TearDown() override {
    for (const char* name : {"XC_GPU_EMULATOR_FAIL", "XC_GPU_EMULATOR_DEVICES", "XC_GPU_EMULATOR_MEMORY"})
      unsetenv(name);
    Plant(nullptr, nullptr);
  }
  void Plant(const char* name, const char* value) {
    if (name != nullptr) setenv(name, value, 1);
    ASSERT_TRUE(OpenDriver(EmulatorLibrary()).ok());
    OpenDriver(EmulatorLibrary()).value()->cuInit(0);
  }
};

TEST_F(PlantedTest, NoDevice) {
  Plant("XC_GPU_EMULATOR_DEVICES", "0");
  ExpectStatus(Device::Open(0, true).status(), absl::StatusCode::kUnavailable, "finds no GPU");
}

TEST_F(PlantedTest, NoSuchDevice) {
  Plant(nullptr, nullptr);
  ExpectStatus(Device::Open(3, true).status(), absl::StatusCode::kUnavailable, "there is no GPU 3: the driver finds 1");
}

TEST_F(PlantedTest, OutOfMemory) {
  Plant("XC_GPU_EMULATOR_MEMORY", "100000");
  std::shared_ptr<Device> device = Device::Open(0, true).value();
  std::shared_ptr<Stream> stream = Stream::Make(device).value();
  DeviceBuffer first = DeviceBuffer::Allocate(stream, 60000).value();
  ExpectStatus(DeviceBuffer::Allocate(stream, 60000).status(), absl::StatusCode::kResourceExhausted,
               "allocating 60000 bytes on GPU 0, where 60000 of ours are in use");
  EXPECT_EQ(device->used_bytes(), 60000);
  first.Reset();
  EXPECT_TRUE(DeviceBuffer::Allocate(stream, 60000).ok());
}

TEST_F(PlantedTest, BeyondTheLimit) {
  Plant(nullptr, nullptr);
  std::shared_ptr<Device> device = Device::Open(0, true).value();
  std::shared_ptr<Stream> stream = Stream::Make(device).value();
  device->set_limit_bytes(1000);
  ExpectStatus(DeviceBuffer::Allocate(stream, 2000).status(), absl::StatusCode::kResourceExhausted,
               "the limit (XC_GPU_MEMORY_LIMIT) is 1000");
  EXPECT_TRUE(DeviceBuffer::Allocate(stream, 1000).ok());
}

// Any call can fail: the status says what was tried.
TEST_F(PlantedTest, EachCall) {
  const auto run = []() -> absl::Status {
    auto device = Device::Open(0, true);
    if (!device.ok()) return device.status();
    auto stream = Stream::Make(*device);
    if (!stream.ok()) return stream.status();
    auto module = Module::Load(*device, kKernels);
    if (!module.ok()) return module.status();
    auto kernel = (*module)->GetKernel("add_one");
    if (!kernel.ok()) return kernel.status();
    auto buffer = DeviceBuffer::Allocate(*stream, 128);
    if (!buffer.ok()) return buffer.status();
    uint64_t pointer = buffer->pointer();
    void* arguments[] = {&pointer};
    uint32_t values[32] = {};
    absl::Status status = (*stream)->CopyToDevice(pointer, values, 128);
    if (status.ok()) status = (*stream)->Launch(*kernel, {{1, 1, 1}, {32, 1, 1}, 0}, arguments);
    if (status.ok()) status = (*stream)->CopyToHost(values, pointer, 128);
    if (status.ok()) status = (*stream)->Synchronize();
    if (status.ok() && values[31] != 1) status = absl::DataLossError("wrong result");
    return status;
  };
  Plant(nullptr, nullptr);
  EXPECT_TRUE(run().ok()) << run();
  constexpr struct {
    const char* call;
    const char* text;
  } kCalls[] = {
      {"cuDeviceGetCount", "counting GPUs"},
      {"cuDeviceGet", "opening GPU 0"},
      {"cuDevicePrimaryCtxRetain", "making a context on GPU 0"},
      {"cuStreamCreate", "making a stream"},
      {"cuModuleLoadDataEx", "loading code"},
      {"cuModuleGetFunction", "looking for kernel add_one"},
      {"cuMemAllocAsync", "allocating 128 bytes"},
      {"cuMemcpyHtoDAsync_v2", "copying to the device"},
      {"cuLaunchKernel", "launching kernel add_one, grid 1x1x1, block 32x1x1"},
      {"cuMemcpyDtoHAsync_v2", "copying from the device"},
      {"cuStreamSynchronize", "running on the device"},
  };
  for (const auto& [call, text] : kCalls) {
    Plant("XC_GPU_EMULATOR_FAIL", (std::string(call) + ":1:801").c_str());
    ExpectStatus(run(), absl::StatusCode::kUnimplemented, text);
    unsetenv("XC_GPU_EMULATOR_FAIL");
    Plant(nullptr, nullptr);
    EXPECT_TRUE(run().ok()) << call << ": " << run();
  }
}

TEST_F(PlantedTest, BadCode) {
  Plant(nullptr, nullptr);
  std::shared_ptr<Device> device = Device::Open(0, true).value();
  ExpectStatus(Module::Load(device, "hello").status(), absl::StatusCode::kInternal, "loading code: PTX line 1: ");
  ExpectStatus(Module::Load(device,
                            "\x7f"
                            "ELF")
                   .status(),
               absl::StatusCode::kUnimplemented, "the emulator runs PTX");
  ExpectStatus(Module::Load(device, ".version 8.3\n.target sm_100a\n.address_size 64\n").status(),
               absl::StatusCode::kUnimplemented, "PTX for sm_100a does not run on sm_90");
}

TEST_F(PlantedTest, FaultOfAKernelLosesTheDeviceAndItIsOpenedAnew) {
  Plant(nullptr, nullptr);
  for (const char* name : {"trap", "wild"}) {
    std::shared_ptr<Device> device = Device::Open(0, true).value();
    std::shared_ptr<Stream> stream = Stream::Make(device).value();
    std::shared_ptr<Module> module = Module::Load(device, kKernels).value();
    DeviceBuffer buffer = DeviceBuffer::Allocate(stream, 128).value();
    uint64_t pointer = buffer.pointer();
    void* arguments[] = {&pointer};
    ASSERT_TRUE(stream->Launch(module->GetKernel(name).value(), {}, arguments).ok());
    const absl::Status status = stream->Synchronize();
    ExpectStatus(status, absl::StatusCode::kInternal, std::string("kernel ") + name + ", PTX line ");
    EXPECT_TRUE(device->lost());
    ExpectStatus(stream->Synchronize(), absl::StatusCode::kInternal, "is lost");
    ExpectStatus(Module::Load(device, kKernels).status(), absl::StatusCode::kInternal, "is lost");
    ExpectStatus(DeviceBuffer::Allocate(stream, 1).status(), absl::StatusCode::kInternal, "is lost");
    // While the old handles still exist.
    std::shared_ptr<Device> again = Device::Open(0, true).value();
    EXPECT_NE(again, device);
    EXPECT_TRUE(Stream::Make(again).value()->Synchronize().ok());
  }
}

TEST_F(PlantedTest, HardwareThatFails) {
  Plant("XC_GPU_EMULATOR_FAIL", "cuStreamSynchronize:1:214");
  std::shared_ptr<Device> device = Device::Open(0, true).value();
  std::shared_ptr<Stream> stream = Stream::Make(device).value();
  EXPECT_EQ(stream->Synchronize().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(device->lost());
}

TEST_F(PlantedTest, LaunchThatCannotBe) {
  Plant(nullptr, nullptr);
  std::shared_ptr<Device> device = Device::Open(0, true).value();
  std::shared_ptr<Stream> stream = Stream::Make(device).value();
  std::shared_ptr<Module> module = Module::Load(device, kKernels).value();
  const Kernel kernel = module->GetKernel("trap").value();
  EXPECT_EQ(stream->Launch(kernel, {{1, 1, 1}, {2048, 1, 1}, 0}, {}).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(stream->Launch(kernel, {{1, 1, 1}, {32, 1, 1}, 1 << 20}, {}).code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(device->lost());
  EXPECT_TRUE(stream->Synchronize().ok());
}

}  // namespace
}  // namespace xc::gpu
