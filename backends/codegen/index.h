// Multi-dimensional positions of one or several lanes, and arithmetic on them.
#ifndef XC_BACKENDS_CODEGEN_INDEX_H_
#define XC_BACKENDS_CODEGEN_INDEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "hlo/shape.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace xc::codegen {

// One coordinate: lane l is at base + l * stride, or at vec[l] if `vec` is there. `base` is an integer of the index
// type, `vec` a vector of such.
struct Term {
  llvm::Value* base = nullptr;
  int64_t stride = 0;
  llvm::Value* vec = nullptr;
  // The base is a multiple of the number of lanes and the stride is 1.
  bool aligned = false;
  bool uniform() const { return vec == nullptr && stride == 0; }
};

// A position in an array. `dims` has one term per dimension, unless the position is known only by `linear`, its place
// in the memory order `order` (minor to major) of an array with dimensions `sizes`.
struct Index {
  std::vector<Term> dims;
  std::optional<Term> linear;
  std::vector<int64_t> order;
  std::vector<int64_t> sizes;
  bool has_dims() const { return !dims.empty() || !linear.has_value(); }
};

// Builds index arithmetic with simple folding and reuse of equal results. Results made inside a scope are forgotten at
// its end, since they need not dominate what follows.
class IndexArithmetic {
 public:
  // `bits`: of the index type, 64 or 32.
  IndexArithmetic(llvm::IRBuilderBase& builder, int lanes, int bits = 64) : b_(builder), lanes_(lanes), bits_(bits) {}
  using V = llvm::Value*;

  V Const(int64_t value);
  V Add(V x, V y) { return Op('+', x, y); }
  V Sub(V x, V y) { return Op('-', x, y); }
  V Mul(V x, V y) { return Op('*', x, y); }
  V Div(V x, int64_t y) { return Op('/', x, Const(y)); }  // of non-negative numbers
  V Rem(V x, int64_t y) { return Op('%', x, Const(y)); }
  V Min(V x, V y) { return Op('<', x, y); }
  V Max(V x, V y) { return Op('>', x, y); }
  // A vector of the index type (or the scalar, with one lane) with every lane's value.
  V Lanes(const Term& term);

  Term Uniform(V base) { return {base, 0, nullptr, false}; }
  Term Constant(int64_t value) { return Uniform(Const(value)); }
  Term Add(const Term& x, const Term& y);
  Term Scale(const Term& x, int64_t factor);
  Term AddConst(const Term& x, int64_t value);
  Term Negate(const Term& x) { return Scale(x, -1); }
  // The term limited to [0, high]; `high` >= 0.
  Term Clamp(const Term& x, int64_t high);
  // Quotient and remainder of a non-negative term.
  std::pair<Term, Term> DivRem(const Term& x, int64_t divisor);

  // Σ dims[i] * strides[i].
  Term Linearize(const std::vector<Term>& dims, const std::vector<int64_t>& strides);
  // Coordinates of place `linear` of an array in memory order `order` (minor to major).
  std::vector<Term> Delinearize(const Term& linear, const std::vector<int64_t>& sizes,
                                const std::vector<int64_t>& order);
  // Coordinates in `to` of the element that row-major reshape moves from `from`'s coordinates: dimension groups of
  // equal products are kept apart.
  std::vector<Term> Reshape(const std::vector<Term>& dims, const std::vector<int64_t>& from,
                            const std::vector<int64_t>& to);

  int lanes() const { return lanes_; }
  int bits() const { return bits_; }
  using Key = std::tuple<char, V, V>;
  // Of each operation its results, numbered in the order in which they were made. There may be several where the code
  // serves several sizes: numbers that are equal now need not be.
  using Memo = std::map<Key, absl::InlinedVector<std::pair<int64_t, V>, 1>>;
  Memo Snapshot() const { return memo_; }
  void Restore(Memo memo) { memo_ = std::move(memo); }

 private:
  V Op(char op, V x, V y);
  // The latest result of the operation; null: there is none.
  V Recall(const Key& key);
  V Remember(const Key& key, V value);
  llvm::IRBuilderBase& b_;
  int lanes_;
  int bits_;
  Memo memo_;
  int64_t results_ = 0;
};

// The position in an array of `shape`, which has one element for each row, of the row with the coordinates `row`: one
// for each dimension of more than one element.
Index RowPosition(const Shape& shape, const std::vector<Term>& row, IndexArithmetic& index);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_INDEX_H_
