// Index arithmetic as LLVM code.
#include "backends/codegen/index.h"

#include <algorithm>

#include "hlo/base/choices.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {
using V = llvm::Value*;

std::optional<int64_t> ConstantOf(V v) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(v)) return c->getSExtValue();
  return std::nullopt;
}

// What an operation with a known operand is: an operand, or zero.
enum class Fold { kNone, kLeft, kRight, kZero };

Fold FoldOf(char op, std::optional<int64_t> x, std::optional<int64_t> y) {
  if (y == 0 && (op == '+' || op == '-')) return Fold::kLeft;
  if (x == 0 && op == '+') return Fold::kRight;
  if (y == 1 && (op == '*' || op == '/')) return Fold::kLeft;
  if (x == 1 && op == '*') return Fold::kRight;
  if (y == 0 && op == '*') return Fold::kRight;
  if (x == 0 && (op == '*' || op == '/' || op == '%')) return Fold::kLeft;
  if (y == 1 && op == '%') return Fold::kZero;
  return Fold::kNone;
}

// Whether the operation is what the fold says; there may be several.
bool IsFold(char op, std::optional<int64_t> x, std::optional<int64_t> y, Fold fold) {
  switch (fold) {
    case Fold::kNone:
      return true;
    case Fold::kLeft:
      return (y == 0 && (op == '+' || op == '-')) || (y == 1 && (op == '*' || op == '/')) ||
             (x == 0 && (op == '*' || op == '/' || op == '%'));
    case Fold::kRight:
      return (x == 0 && op == '+') || (x == 1 && op == '*') || (y == 0 && op == '*');
    case Fold::kZero:
      return y == 1 && op == '%';
  }
  return false;
}

// The fold, or that of the first sample where it is one here as well.
Fold ChooseFold(char op, std::optional<int64_t> x, std::optional<int64_t> y) {
  const Fold natural = FoldOf(op, x, y);
  if (!ForAllSizes()) return natural;
  return static_cast<Fold>(
      Choices::current()->Checked(static_cast<int64_t>(natural), static_cast<int64_t>(Fold::kNone),
                                  [&](int64_t chosen) { return IsFold(op, x, y, static_cast<Fold>(chosen)); }));
}

// Dimensions `i` up to *i_end of one shape that become `j` up to *j_end of another one: larger groups than those that
// these sizes have are right as well.
void ChooseGroup(const std::vector<int64_t>& from, const std::vector<int64_t>& to, size_t i, size_t j, size_t* i_end,
                 size_t* j_end) {
  if (!ForAllSizes()) return;
  // All that is left is a group whatever the sizes are.
  constexpr int64_t kRank = 1 << 16;
  const int64_t natural = static_cast<int64_t>(*i_end) * kRank + static_cast<int64_t>(*j_end);
  const int64_t whole = static_cast<int64_t>(from.size()) * kRank + static_cast<int64_t>(to.size());
  const int64_t chosen = Choices::current()->Checked(natural, whole, [&](int64_t ends) {
    const size_t end_i = ends / kRank, end_j = ends % kRank;
    if (end_i < i || end_i > from.size() || end_j < j || end_j > to.size() || end_i + end_j == i + j) return false;
    int64_t p = 1, q = 1;
    for (size_t k = i; k < end_i; ++k) p *= from[k];
    for (size_t k = j; k < end_j; ++k) q *= to[k];
    return p == q;
  });
  *i_end = chosen / kRank;
  *j_end = chosen % kRank;
}

}  // namespace

V IndexArithmetic::Const(int64_t value) { return b_.getIntN(bits_, value); }

V IndexArithmetic::Op(char op, V x, V y) {
  if (x->getType() != y->getType()) {  // a scalar beside a vector
    if (!x->getType()->isVectorTy()) x = b_.CreateVectorSplat(lanes_, x);
    if (!y->getType()->isVectorTy()) y = b_.CreateVectorSplat(lanes_, y);
  }
  switch (ChooseFold(op, ConstantOf(x), ConstantOf(y))) {
    case Fold::kNone:
      break;
    case Fold::kLeft:
      return x;
    case Fold::kRight:
      return y;
    case Fold::kZero:
      return Const(0);
  }
  if (V known = Recall({op, x, y})) return known;
  V result = nullptr;
  switch (op) {
    case '+':
      result = b_.CreateAdd(x, y);
      break;
    case '-':
      result = b_.CreateSub(x, y);
      break;
    case '*':
      result = b_.CreateMul(x, y);
      break;
    case '/':
      result = b_.CreateUDiv(x, y);
      break;
    case '%':
      result = b_.CreateURem(x, y);
      break;
    case '<':
      result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
      break;
    case '>':
      result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
      break;
  }
  return Remember({op, x, y}, result);
}

V IndexArithmetic::Recall(const Key& key) {
  const auto it = memo_.find(key);
  const int64_t last = it == memo_.end() ? 0 : it->second.back().first;
  const auto numbered = [&](int64_t wanted) -> V {
    if (it == memo_.end()) return nullptr;
    for (const auto& [number, value] : it->second) {
      if (number == wanted) return value;
    }
    return nullptr;
  };
  if (!ForAllSizes()) return numbered(last);
  return numbered(Choices::current()->Checked(last, 0, [&](int64_t wanted) { return numbered(wanted) != nullptr; }));
}

V IndexArithmetic::Remember(const Key& key, V value) {
  memo_[key].push_back({++results_, value});
  return value;
}

V IndexArithmetic::Lanes(const Term& term) {
  if (term.vec != nullptr) return term.vec;
  if (lanes_ == 1) return term.base;
  const Key key = {'v', term.base, Const(term.stride)};
  if (V known = Recall(key)) return known;
  V result = b_.CreateVectorSplat(lanes_, term.base);
  if (term.stride != 0) {
    std::vector<llvm::Constant*> steps;
    for (int i = 0; i < lanes_; ++i) steps.push_back(b_.getIntN(bits_, i * term.stride));
    result = b_.CreateAdd(result, llvm::ConstantVector::get(steps));
  }
  return Remember(key, result);
}

Term IndexArithmetic::Add(const Term& x, const Term& y) {
  if (x.vec == nullptr && y.vec == nullptr) {
    Term sum{Add(x.base, y.base), x.stride + y.stride, nullptr, false};
    auto multiple = [&](const Term& t) {
      std::optional<int64_t> c = ConstantOf(t.base);
      return c.has_value() && *c % lanes_ == 0 && t.stride == 0;
    };
    sum.aligned = ChooseSafe(sum.stride == 1 && ((x.aligned && multiple(y)) || (y.aligned && multiple(x))));
    return sum;
  }
  return {nullptr, 0, Add(Lanes(x), Lanes(y)), false};
}

Term IndexArithmetic::AddConst(const Term& x, int64_t value) {
  return ChooseSafe(value == 0) ? x : Add(x, Constant(value));
}

Term IndexArithmetic::Scale(const Term& x, int64_t factor) {
  if (ChooseSafe(factor == 1)) return x;
  if (x.vec != nullptr) return {nullptr, 0, Mul(x.vec, Const(factor)), false};
  return {Mul(x.base, Const(factor)), x.stride * factor, nullptr, false};
}

Term IndexArithmetic::Clamp(const Term& x, int64_t high) {
  if (x.uniform()) return Uniform(Min(Max(x.base, Const(0)), Const(high)));
  return {nullptr, 0, Min(Max(Lanes(x), Const(0)), Const(high)), false};
}

std::pair<Term, Term> IndexArithmetic::DivRem(const Term& x, int64_t divisor) {
  if (ChooseSafe(divisor == 1)) return {x, Constant(0)};
  if (x.uniform()) return {Uniform(Div(x.base, divisor)), Uniform(Rem(x.base, divisor))};
  // Lanes that stay within one multiple of the divisor keep their form.
  if (x.aligned && ChooseSafe(divisor % lanes_ == 0)) {
    return {Uniform(Div(x.base, divisor)), Term{Rem(x.base, divisor), 1, nullptr, true}};
  }
  V v = Lanes(x);
  return {Term{nullptr, 0, Div(v, divisor), false}, Term{nullptr, 0, Rem(v, divisor), false}};
}

Term IndexArithmetic::Linearize(const std::vector<Term>& dims, const std::vector<int64_t>& strides) {
  Term sum = Constant(0);
  int64_t known = 0;  // joins last, so that places which differ by a constant share all before it
  // Aligned if one aligned term runs along the lanes and all others are multiples of the lanes.
  bool aligned = true;
  int running = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::optional<int64_t> c = dims[i].uniform() ? ConstantOf(dims[i].base) : std::nullopt;
    if (c.has_value() && !ForAllSizes()) {
      known += *c * strides[i];
    } else {
      sum = Add(sum, Scale(dims[i], strides[i]));
    }
    if (dims[i].uniform()) {
      aligned &= strides[i] % lanes_ == 0 || (c.has_value() && (*c % lanes_) * (strides[i] % lanes_) % lanes_ == 0);
    } else if (dims[i].aligned && strides[i] == 1) {
      ++running;
    } else {
      aligned = false;
    }
  }
  if (known != 0) sum = AddConst(sum, known);
  sum.aligned = ChooseSafe(aligned && running == 1 && sum.stride == 1);
  return sum;
}

std::vector<Term> IndexArithmetic::Delinearize(const Term& linear, const std::vector<int64_t>& sizes,
                                               const std::vector<int64_t>& order) {
  std::vector<Term> dims(sizes.size(), Constant(0));
  Term rest = linear;
  // The most major dimension with more than one element takes what is left.
  size_t last = 0;
  std::vector<bool> single(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    single[i] = ChooseSafe(sizes[order[i]] <= 1);
    if (!single[i]) last = i;
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t d = order[i];
    if (single[i]) continue;
    if (i == last) {
      dims[d] = rest;
      break;
    }
    auto [quotient, remainder] = DivRem(rest, sizes[d]);
    dims[d] = remainder;
    rest = quotient;
  }
  return dims;
}

std::vector<Term> IndexArithmetic::Reshape(const std::vector<Term>& dims, const std::vector<int64_t>& from,
                                           const std::vector<int64_t>& to) {
  std::vector<Term> out(to.size(), Constant(0));
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t i_end = i, j_end = j;
    int64_t p = 1, q = 1;
    // Extends the smaller side until both products agree.
    if (i_end < from.size()) p *= from[i_end++];
    if (j_end < to.size()) q *= to[j_end++];
    while (p != q) {
      if (p < q && i_end < from.size()) {
        p *= from[i_end++];
      } else if (j_end < to.size()) {
        q *= to[j_end++];
      } else {
        break;
      }
    }
    ChooseGroup(from, to, i, j, &i_end, &j_end);
    if (i_end - i == 1 && j_end - j == 1) {
      out[j] = dims[i];
    } else {
      std::vector<Term> group(dims.begin() + i, dims.begin() + i_end);
      std::vector<int64_t> strides(group.size(), 1);
      for (int k = static_cast<int>(group.size()) - 2; k >= 0; --k) strides[k] = strides[k + 1] * from[i + k + 1];
      std::vector<int64_t> sizes(to.begin() + j, to.begin() + j_end), order;
      for (int k = static_cast<int>(sizes.size()) - 1; k >= 0; --k) order.push_back(k);
      std::vector<Term> parts = Delinearize(Linearize(group, strides), sizes, order);
      std::copy(parts.begin(), parts.end(), out.begin() + j);
    }
    i = i_end;
    j = j_end;
  }
  return out;
}

Index RowPosition(const Shape& shape, const std::vector<Term>& row, IndexArithmetic& index) {
  Index position;
  size_t next = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    position.dims.push_back(shape.dim(d) == 1 ? index.Constant(0) : row[next++]);
  }
  return position;
}

}  // namespace xc::codegen
