// Sizes as plans hold them: numbers of elements, bytes and operations.
#ifndef XC_BACKENDS_PLAN_SIZE_H_
#define XC_BACKENDS_PLAN_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace xc::plan {

// An expression over the sizes that a run knows. All are constants today: code is planned for shapes that are known.
// Whoever reads one as a number says so by `constant`, so that the places that rest on it can be found.
class Size {
 public:
  Size(int64_t constant = 0) : constant_(constant) {}  // NOLINT: numbers are sizes
  int64_t constant() const { return constant_; }
  bool operator==(const Size&) const = default;
  std::string ToString() const { return absl::StrCat(constant_); }

 private:
  int64_t constant_;
};

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_SIZE_H_
