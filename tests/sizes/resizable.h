// Modules at other sizes than those that they have: every dimension of every parameter is made a symbol as far as the
// ops allow, and all that follows from them is worked out.
#ifndef XC_TESTS_SIZES_RESIZABLE_H_
#define XC_TESTS_SIZES_RESIZABLE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "tests/sizes/size_expression.h"

namespace xc {

class Resizable {
 public:
  // Unimplemented: the module has sizes that only its run knows. `module` is kept.
  static absl::StatusOr<Resizable> Of(std::unique_ptr<HloModule> module);

  // Sizes that may be others, each by itself.
  struct Symbol {
    int id;
    int64_t original;
    std::string where;  // "x.1", the first parameter's dimension that depends on it; empty: it is no parameter's
  };
  const std::vector<Symbol>& symbols() const { return symbols_; }
  // The module with these sizes of symbols (by id; others stay), verified. An error: sizes below what an op needs, such
  // as a slice's end.
  absl::StatusOr<std::unique_ptr<HloModule>> Resized(const std::map<int, int64_t>& values) const;
  // How many sizes of the module's values depend on the symbol.
  int64_t Uses(int id) const;

  // The sizes of each leaf of an instruction's shape.
  using Leaf = std::vector<SizeExpression>;
  using Leaves = std::vector<Leaf>;

 private:
  friend class SizeRules;
  // The numbers in attributes that are sizes.
  struct Numbers {
    Leaf slice_starts, slice_limits, sizes, windows;
  };
  std::unique_ptr<HloModule> module_;
  UnknownSizes unknown_;
  absl::flat_hash_map<int64_t, Leaves> leaves_;  // by instruction id
  absl::flat_hash_map<int64_t, Numbers> numbers_;
  std::vector<Symbol> symbols_;
};

}  // namespace xc

#endif  // XC_TESTS_SIZES_RESIZABLE_H_
