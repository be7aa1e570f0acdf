// What an xc_executable is.
#ifndef XC_SERVICE_C_EXECUTABLE_H_
#define XC_SERVICE_C_EXECUTABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "hlo/base/timeline.h"
#include "service/xc.h"

struct xc_executable {
  std::shared_ptr<const xc::Executable> executable;
  std::vector<xc_shape> inputs, outputs;
  std::string name;                          // of the module
  std::vector<xc::Timeline::Span> compiled;  // what compiling took, if it was compiled with profile=1
};

namespace xc {

// With descriptions of its inputs and outputs.
std::unique_ptr<xc_executable> MakeCExecutable(std::shared_ptr<const Executable> compiled);

}  // namespace xc

#endif  // XC_SERVICE_C_EXECUTABLE_H_
