// A module at several sizes, by code for all of them, by code of its own and by the interpreter.
#ifndef XC_TESTS_SIZES_CHECK_SIZES_H_
#define XC_TESTS_SIZES_CHECK_SIZES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace xc {

struct SizesOptions {
  uint64_t seed = 1;
  int sizes = 5;                 // at how many the module runs
  int most_symbols = 0;          // those that most sizes of the module depend on; 0: some at random
  bool near = false;             // sizes between half and one and a half of what they are, else small ones
  int64_t most_bytes = 1 << 20;  // of all values of the module
  bool interpreter = true;       // compare with it
  double seconds = 0;            // measure runs for as long at each size; 0: none
  // Of the last leaves of the parameters, where their sizes are what they were; others are made up.
  std::vector<std::shared_ptr<const Literal>> inputs;
  std::string dump;  // a folder for what compiling dumps; empty: none
};

// What became of one size.
struct SizeReport {
  std::string sizes;                      // "x.0=7 x.1=12"
  std::string wrong;                      // how results differ; empty: they agree
  std::string refused;                    // why code of its own was needed; empty: the code for all sizes served
  bool unstable = false;                  // code of its own and the interpreter differ: nothing follows
  double general_ms = 0, exact_ms = 0;    // the best runs
  double prepare_ms = 0, compile_ms = 0;  // to have the code for the size, from that for all sizes, and of its own
};

struct SizesReport {
  std::string none;  // why nothing was run; empty: something was
  int symbols = 0;
  std::vector<SizeReport> sizes;
};

// Errors are those of the module's own code.
absl::StatusOr<SizesReport> CheckSizes(std::unique_ptr<HloModule> module, const SizesOptions& options);

}  // namespace xc

#endif  // XC_TESTS_SIZES_CHECK_SIZES_H_
