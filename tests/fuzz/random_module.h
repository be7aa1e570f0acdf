// Random modules: valid by construction, the same for a seed on every machine, with inputs and with a bound on how far
// apart two right results may be.
#ifndef XC_TESTS_FUZZ_RANDOM_MODULE_H_
#define XC_TESTS_FUZZ_RANDOM_MODULE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/literal.h"
#include "hlo/module.h"

namespace xc {

// Two right values x and y of an element have |x - y| <= absolute + relative * |x|; where both are 0 they are equal bit
// for bit, any NaN being equal to any NaN.
struct ErrorBound {
  double absolute = 0, relative = 0;
  bool exact() const { return absolute == 0 && relative == 0; }
};

struct RandomModule {
  std::unique_ptr<HloModule> module;
  std::vector<Literal> inputs;     // one per leaf of the parameters
  std::vector<ErrorBound> bounds;  // one per leaf of the result
};

struct RandomModuleOptions {
  int64_t max_steps = 8;  // groups of operations; most are one op
  int64_t max_elements = 160;
};

// An error means a fault of the generator, of shape inference or of the interpreter, which evaluates every op as it is
// made: results are kept out of the places where their error would matter (comparisons, conversions to integers,
// sorts).
absl::StatusOr<RandomModule> MakeRandomModule(uint64_t seed, const RandomModuleOptions& options = {});

// Runs a random module on the interpreter, on the platform (cpu, or gpu by its emulator) without optimization passes
// and with all; also prints it and reads it back. "" if all agree, else what differs.
std::string CheckRandomModule(const RandomModule& random, absl::string_view platform = "cpu");

}  // namespace xc

#endif  // XC_TESTS_FUZZ_RANDOM_MODULE_H_
