// A program of StableHLO that leaves sizes open, and the sizes that damaged programs are read for.
#ifndef XC_TESTS_FUZZ_OPEN_SIZE_SEEDS_H_
#define XC_TESTS_FUZZ_OPEN_SIZE_SEEDS_H_

#include <string>
#include <vector>

#include "hlo/text/parser.h"

namespace xc {

std::string OpenSizeSeed();
// The same program as bytecode.
std::string OpenSizeBytecodeSeed();

// Options that read elided constants of this size at most, and argument i with sizes of i + 2 where they are open.
inline ParseOptions MutantOptions(int64_t max_elided_bytes) {
  ParseOptions options;
  options.max_elided_bytes = max_elided_bytes;
  options.argument_shape = [](int64_t argument, const Shape& type) -> absl::StatusOr<Shape> {
    std::vector<int64_t> dims = type.dims();
    for (int64_t& size : dims) {
      if (size == Shape::kUnknownSize) size = argument + 2;
    }
    return Shape(type.type(), dims);
  };
  return options;
}

}  // namespace xc

#endif  // XC_TESTS_FUZZ_OPEN_SIZE_SEEDS_H_
