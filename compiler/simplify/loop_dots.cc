// Products that a loop makes of one slice of an array in each round, like that of a recurrent layer's input at each
// time with its weights. Nothing in them waits for the round before, so one product of the whole array before the loop
// makes them all: it reads the weights once, has rows for every kernel and thread, and the rounds read slices of it. A
// slice of the product is the product of the slice whatever the index is, since both have as many slices and clamp
// alike.
#include <algorithm>

#include "compiler/make.h"
#include "compiler/simplify/plain_loop.h"
#include "compiler/simplify/simplify.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

// What the products of a loop may take: what stays in a cache, since writing and reading them again would else take
// longer than what is gained. Products of a few rows wait for their weights in each round: they may take more, and as
// much as large weights.
constexpr double kMaxBytes = 4 << 20, kMaxBytesOfFewRows = 16 << 20;
constexpr int64_t kFewRows = 4;
// Shorter sums cost less than writing and reading their results once more.
constexpr int64_t kMinSum = 16;

// A product that can be hoisted.
struct SliceDot {
  HloInstruction* dot;
  int side;               // which operand is made from the slice
  HloInstruction* slice;  // of one element along `dimension`, of all along the others
  int64_t dimension;
  std::vector<HloInstruction*> steps;  // reshapes and conversions between slice and product, in order

  int64_t slices() const { return slice->operand(0)->shape().dim(dimension); }
  HloInstruction* other() const { return dot->operand(1 - side); }
};

Int64List WithLeading(int64_t size, const Int64List& dims) {
  Int64List result = {size};
  result.insert(result.end(), dims.begin(), dims.end());
  return result;
}

Int64List Shifted(Int64List dims) {
  for (int64_t& d : dims) ++d;
  return dims;
}

// How many products each sum of a dot has.
int64_t SumLength(const HloInstruction* dot, int side) {
  const DotDims& dims = dot->dot_dims();
  int64_t length = 1;
  for (int64_t d : side == 0 ? dims.lhs_contracting : dims.rhs_contracting) {
    length *= dot->operand(side)->shape().dim(d);
  }
  return length;
}

// The product with operand `side` as a slice; nothing if it is none.
std::optional<SliceDot> AsSliceDot(HloInstruction* dot, int side, const InvariantCode& code) {
  SliceDot p{dot, side};
  const DotDims& dims = dot->dot_dims();
  const HloInstruction* operand = dot->operand(side);
  if (!dims.lhs_batch.empty() || !code.Contains(p.other()) || !p.other()->shape().IsArray()) return {};
  const int64_t sum = SumLength(dot, side);
  if (ChooseAny(sum < kMinSum)) return {};
  // As the right operand it becomes the left one, which is right where its free dimensions have nothing to exchange.
  if (side == 1 && operand->shape().ElementCount() != sum) return {};
  p.slice = dot->operand(side);
  while (p.slice->opcode() == HloOpcode::kReshape || p.slice->opcode() == HloOpcode::kConvert) {
    if (!MayMove(p.slice)) return {};
    p.steps.insert(p.steps.begin(), p.slice);
    p.slice = p.slice->operand(0);
  }
  if (p.slice->opcode() != HloOpcode::kDynamicSlice || !MayMove(p.slice)) return {};
  if (!code.Contains(p.slice->operand(0)) || p.slice->operand(0)->shape().is_dynamic()) return {};
  const Int64List &whole = p.slice->operand(0)->shape().dims(), &part = p.slice->shape().dims();
  p.dimension = 0;
  while (p.dimension < static_cast<int64_t>(whole.size()) && whole[p.dimension] == 1) ++p.dimension;
  for (int64_t d = 0; d < static_cast<int64_t>(whole.size()); ++d) {
    if (part[d] != (d == p.dimension ? 1 : whole[d])) return {};
  }
  if (p.dimension == static_cast<int64_t>(whole.size())) return {};
  return p;
}

// Bytes of the product of the whole array, and of that array in another type.
double BytesOf(const SliceDot& p) {
  double bytes = p.dot->shape().ByteSize();
  for (const HloInstruction* step : p.steps) {
    if (step->opcode() == HloOpcode::kConvert) bytes += step->shape().ByteSize();
  }
  return bytes * p.slices();
}

// What it may take.
double MaxBytes(const SliceDot& p) {
  // Elements of the result over those of the other operand: rows over the length of a sum.
  const double per_weight = static_cast<double>(p.dot->shape().ElementCount()) / p.other()->shape().ElementCount();
  if (per_weight * SumLength(p.dot, p.side) > kFewRows) return kMaxBytes;
  return std::max(kMaxBytesOfFewRows, 2.0 * p.other()->shape().ByteSize());
}

// The product of the whole array, before the loop: slices first.
HloInstruction* MakeWhole(const SliceDot& p, InvariantCode& code) {
  const int64_t n = p.slices();
  HloInstruction* x = code.CloneBefore(p.slice->operand(0));
  x = make::Reshape(x, WithLeading(n, p.slice->shape().dims()));
  for (const HloInstruction* step : p.steps) {
    x = step->opcode() == HloOpcode::kConvert ? make::Convert(x, step->type())
                                              : make::Reshape(x, WithLeading(n, step->shape().dims()));
  }
  const Shape shape(p.dot->type(), WithLeading(n, p.dot->shape().dims()));
  HloInstruction* other = code.CloneBefore(p.other());
  HloInstruction* whole = x->parent()->Add(p.dot->CloneWith(shape, {x, other}));
  DotDims dims = p.dot->dot_dims();
  if (p.side == 1) std::swap(dims.lhs_contracting, dims.rhs_contracting);
  dims.lhs_contracting = Shifted(dims.lhs_contracting);
  whole->set_attr<AttrKind::kDotDims>(dims);
  if (const auto* precision = p.dot->FindAttr<AttrKind::kOperandPrecision>();
      p.side == 1 && precision != nullptr && precision->size() == 2) {
    whole->set_attr<AttrKind::kOperandPrecision>({(*precision)[1], (*precision)[0]});
  }
  return whole;
}

// The dot's value as a slice of `whole`, which the body reads.
HloInstruction* ReadSlice(const SliceDot& p, HloInstruction* whole) {
  HloComputation* body = whole->parent();
  HloInstruction* index = p.slice->operand(1 + p.dimension);
  std::vector<HloInstruction*> operands(1 + whole->shape().rank());
  operands[0] = whole;
  operands[1] = index;
  if (operands.size() > 2) {
    std::fill(operands.begin() + 2, operands.end(), make::ScalarInt(body, index->type(), 0));
  }
  const Int64List sizes = WithLeading(1, p.dot->shape().dims());
  HloInstruction* slice = body->Add(HloOpcode::kDynamicSlice, Shape(p.dot->type(), sizes), operands);
  slice->set_attr<AttrKind::kDynamicSliceSizes>(sizes);
  return make::Reshape(slice, p.dot->shape().dims());
}

// Whether one product of a whole array serves both.
bool SameWhole(const SliceDot& a, const SliceDot& b) {
  if (a.side != b.side || a.dimension != b.dimension || a.slice->operand(0) != b.slice->operand(0) ||
      a.other() != b.other() || a.dot->shape() != b.dot->shape() || a.steps.size() != b.steps.size() ||
      !SameAttributes(a.dot, b.dot)) {
    return false;
  }
  for (size_t i = 0; i < a.steps.size(); ++i) {
    if (a.steps[i]->shape() != b.steps[i]->shape()) return false;
  }
  return true;
}

}  // namespace

bool HoistDots(PlainLoop& l, PassContext& context) {
  const std::optional<int64_t> rounds = MaxTripCount(l.loop);
  if (!rounds) return false;
  InvariantCode code(l);
  // Products by the whole that serves them.
  std::vector<std::vector<SliceDot>> groups;
  for (HloInstruction* dot : code.order()) {
    if (dot->opcode() != HloOpcode::kDot || dot->operand_count() != 2 || !MayMove(dot)) continue;
    if (dot->FindAttr<AttrKind::kSparsity>() != nullptr || code.Contains(dot)) continue;
    for (int side : {0, 1}) {
      std::optional<SliceDot> product = AsSliceDot(dot, side, code);
      if (!product) continue;
      const auto group = std::find_if(groups.begin(), groups.end(),
                                      [&](const std::vector<SliceDot>& g) { return SameWhole(g[0], *product); });
      if (group != groups.end()) {
        group->push_back(*product);
      } else {
        groups.push_back({*product});
      }
      break;
    }
  }
  std::vector<HloInstruction*> wholes;
  std::vector<const std::vector<SliceDot>*> hoisted;
  double bytes = 0;
  for (const std::vector<SliceDot>& group : groups) {
    const SliceDot& p = group[0];
    // The rounds use at least half of what is computed, as far as the counter says.
    if (ChooseAny(p.slices() / 2 / static_cast<int64_t>(group.size()) > *rounds)) continue;
    if (ChooseAny(bytes + BytesOf(p) > MaxBytes(p))) continue;
    bytes += BytesOf(p);
    wholes.push_back(MakeWhole(p, code));
    hoisted.push_back(&group);
    context.Count("loops.hoisted_product");
  }
  if (wholes.empty()) return false;
  const std::vector<HloInstruction*> reads = l.AddInvariants(wholes);
  for (size_t i = 0; i < hoisted.size(); ++i) {
    for (const SliceDot& p : *hoisted[i]) p.dot->ReplaceAllUsesWith(ReadSlice(p, reads[i]));
  }
  l.body->RemoveDead();
  return true;
}

}  // namespace xc
