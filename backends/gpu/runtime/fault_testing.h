// For tests of faults: what a status says, and libraries that were built to be wrong.
#ifndef XC_BACKENDS_GPU_RUNTIME_FAULT_TESTING_H_
#define XC_BACKENDS_GPU_RUNTIME_FAULT_TESTING_H_

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "backends/gpu/runtime/driver.h"

namespace xc::gpu {

inline void ExpectStatus(const absl::Status& status, absl::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_NE(std::string(status.message()).find(text), std::string::npos) << status;
}

// The library `name` of the build's `folder`, which lies beside the emulator's.
inline std::string BuiltLibrary(const std::string& folder, const std::string& name) {
  const std::string emulator = EmulatorLibrary();
  return emulator.substr(0, emulator.rfind("/emulator/")) + "/" + folder + "/" + name;
}

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_RUNTIME_FAULT_TESTING_H_
