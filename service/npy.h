// Reading and writing NumPy's .npy files as literals.
#ifndef XC_SERVICE_NPY_H_
#define XC_SERVICE_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/literal.h"

namespace xc {

// Parses the contents of a .npy file (versions 1 to 3; little endian or one-byte types; C or Fortran order). Types map
// to the element types of the same meaning. String arrays are refused: see ReadNpyStrings.
absl::StatusOr<Literal> ParseNpy(absl::string_view contents);
absl::StatusOr<Literal> ReadNpy(const std::string& path);

// One-dimensional views of string arrays (`S` and `U` types), elements in row-major order, and their dimensions.
struct NpyStrings {
  std::vector<int64_t> dims;
  std::vector<std::string> values;
};
absl::StatusOr<NpyStrings> ParseNpyStrings(absl::string_view contents);

// The contents of a .npy file of an array literal; of one with run-time sizes, what lies within them. Types that NumPy
// lacks are widened: bf16, f16-like narrow floats and f8 kinds to f32, 4-bit and narrower integers to int8 or uint8.
std::string ToNpy(const Literal& literal);
absl::Status WriteNpy(const std::string& path, const Literal& literal);

}  // namespace xc

#endif  // XC_SERVICE_NPY_H_
