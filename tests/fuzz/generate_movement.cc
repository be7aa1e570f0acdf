// Ops that move elements without computing with them.
#include <algorithm>
#include <numeric>

#include "tests/fuzz/module_generator.h"

namespace xc {
namespace {

using E = ElementType;
using A = AttrKind;

}  // namespace

void ModuleGenerator::Broadcasting() {
  const RandomValue x = Pick(nullptr, AnyType());
  Dims out, where(x.rank());
  int64_t elements = Count(x.dims());
  const Dims order = Chance(50) ? Permutation(x.rank()) : Dims();
  for (int64_t d = 0; d <= x.rank(); ++d) {
    if (Chance(40) && elements <= options_.max_elements) {
      const int64_t size = OneOf<int64_t>({1, 2, 3, 4, 9});
      out.push_back(size);
      elements *= size;
    }
    if (d == x.rank()) break;
    const int64_t from = order.empty() ? d : order[d];
    where[from] = static_cast<int64_t>(out.size());
    out.push_back(x.dims()[from]);
  }
  Keep(b_.Broadcast(x.op, out, where), x.error);
}

void ModuleGenerator::Reshaping() {
  const RandomValue x = Pick(nullptr, AnyType());
  // The prime factors of the element count, shared out again.
  Dims factors, out;
  int64_t rest = Count(x.dims());
  if (rest == 0) {
    out = x.dims();
    std::reverse(out.begin(), out.end());
  } else {
    for (int64_t p = 2; rest > 1; ++p) {
      for (; rest % p == 0; rest /= p) factors.push_back(p);
    }
    out.assign(factors.empty() ? Below(3) : 1 + Below(std::min<int64_t>(5, factors.size())), 1);
    for (int64_t factor : factors) out[Below(out.size())] *= factor;
  }
  if (out == x.dims()) return;
  if (Chance(20)) {
    const Shape shape(x.type(), out);
    const Op op = b_.Make(HloOpcode::kBitcast, {x.op}, {}, {}, &shape);
    if (!op) return;
    row_major_.insert(x.op.instruction());
    row_major_.insert(op.instruction());
    Keep(op, x.error);
    return;
  }
  Keep(b_.Reshape(x.op, out), x.error);
}

void ModuleGenerator::Transposing() {
  const RandomValue x = Pick(nullptr, AnyType(), LiteralStyle::kAny, 1);
  if (Chance(30)) {
    Dims dims;
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (Chance(50)) dims.push_back(d);
    }
    Keep(b_.Reverse(x.op, dims), x.error);
    return;
  }
  Keep(b_.Transpose(x.op, Permutation(x.rank())), x.error);
}

void ModuleGenerator::Slicing() {
  const RandomValue x = Pick(nullptr, AnyType(), LiteralStyle::kAny, 1);
  Dims starts, limits, strides;
  for (int64_t size : x.dims()) {
    int64_t start = Chance(50) ? 0 : Below(size + 1);
    int64_t limit = Between(start, size);
    if (Chance(15) && size > 0) {  // one place, often where a pad or the last part of a concatenation is
      start = Chance(70) ? size - 1 : Below(size);
      limit = start + 1;
    }
    if (Chance(90) && start < size) limit = std::max(limit, start + 1);
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(OneOf<int64_t>({1, 1, 1, 2, 3}));
  }
  Keep(b_.Slice(x.op, starts, limits, strides), x.error);
}

void ModuleGenerator::Padding() {
  const RandomValue x = Pick(nullptr, AnyType(), LiteralStyle::kAny, 1);
  const RandomValue value = Like(x.type(), {});
  std::vector<PaddingDim> padding;
  int64_t elements = 1;
  for (int64_t size : x.dims()) {
    PaddingDim p;
    p.interior = Chance(20) ? Between(1, 2) : 0;
    const int64_t inner = size + (size > 0 ? (size - 1) * p.interior : 0);
    p.low = Between(-1, 2);
    p.high = Between(-1, 2);
    if (inner + p.low + p.high < 0 || elements * (inner + p.low + p.high) > 4 * options_.max_elements) {
      p = PaddingDim();
    }
    elements *= std::max<int64_t>(1, size + (size > 0 ? (size - 1) * p.interior : 0) + p.low + p.high);
    padding.push_back(p);
  }
  Keep(b_.Pad(x.op, value.op, padding), Worst(x.error, value.error));
}

void ModuleGenerator::Concatenating() {
  const RandomValue x = Pick(nullptr, AnyType(), LiteralStyle::kAny, 1);
  const int64_t dim = Below(x.rank());
  std::vector<Op> parts = {x.op};
  ErrorBound error = x.error;
  const int64_t more = Below(3);
  for (int64_t i = 0; i < more; ++i) {
    Dims dims = x.dims();
    if (Chance(50)) dims[dim] = Between(0, 3);
    const RandomValue y = Like(x.type(), dims);
    parts.insert(Chance(50) ? parts.begin() : parts.end(), y.op);
    error = Worst(error, y.error);
  }
  Keep(b_.Concat(parts, dim), error);
}

void ModuleGenerator::Counting() {
  E type = AnyType();
  if (type == E::kPred) type = E::kS32;
  const Dims dims = SomeDims(1);
  Keep(b_.Iota(type, dims, Below(dims.size())));
}

void ModuleGenerator::DynamicSlicing() {
  const RandomValue x = Pick(nullptr, AnyType(), LiteralStyle::kAny, 1);
  const E index_type = IndexType();
  std::vector<Op> starts;
  Dims sizes;
  for (int64_t size : x.dims()) {
    Literal start{Shape::Scalar(index_type)};
    start.SetInt(0, Chance(15) ? static_cast<int64_t>(random_.Next()) : Between(-2, size + 1));
    starts.push_back(LeafOf(std::move(start)).op);
    sizes.push_back(size == 0 ? 0 : Chance(30) ? size : Between(1, size));
  }
  if (Chance(50)) {
    Keep(b_.DynamicSlice(x.op, starts, sizes), x.error);
    return;
  }
  const RandomValue update = Like(x.type(), sizes);
  Keep(b_.DynamicUpdateSlice(x.op, update.op, starts), Worst(x.error, update.error));
}

namespace {

// What gather and scatter share: the operand's dimensions sorted into batching ones, those that an index addresses and
// those that a window keeps.
struct IndexPlan {
  Dims slice_sizes, left_out, batching, indices_batching, index_map, index_dims, window_sizes, batch_sizes;
  int64_t index_vector_dim = 0;
  Dims offset_dims;  // places of the window's dimensions among all of the result
  Dims result_dims;
};

}  // namespace

static IndexPlan PlanIndices(const Dims& dims, Random& random) {
  IndexPlan plan;
  const int64_t rank = static_cast<int64_t>(dims.size());
  const auto chance = [&](int percent) { return random.Below(100) < percent; };
  const int64_t batching = chance(25) ? random.Below(rank) : -1;
  Dims free;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == batching) {
      plan.slice_sizes.push_back(dims[d] == 0 ? 0 : 1);
      plan.batching.push_back(d);
      continue;
    }
    free.push_back(d);
    const int64_t size = dims[d] == 0 ? 0 : chance(50) ? 1 : 1 + random.Below(dims[d]);
    plan.slice_sizes.push_back(size);
    if (size == 1 && chance(60)) {
      plan.left_out.push_back(d);
    } else {
      plan.window_sizes.push_back(size);
    }
  }
  for (int64_t d : free) {
    if (chance(70)) plan.index_map.insert(plan.index_map.begin() + random.Below(plan.index_map.size() + 1), d);
  }
  const int64_t batch_dims = random.Below(3);
  for (int64_t i = 0; i < batch_dims; ++i) plan.batch_sizes.push_back(1 + random.Below(4));
  if (batching >= 0) {
    const int64_t at = random.Below(plan.batch_sizes.size() + 1);
    plan.batch_sizes.insert(plan.batch_sizes.begin() + at, dims[batching]);
    plan.indices_batching.push_back(at);
  }
  plan.index_dims = plan.batch_sizes;
  plan.index_vector_dim = static_cast<int64_t>(plan.index_dims.size());
  if (plan.index_map.size() != 1 || chance(60)) {
    plan.index_vector_dim = random.Below(plan.index_dims.size() + 1);
    plan.index_dims.insert(plan.index_dims.begin() + plan.index_vector_dim, plan.index_map.size());
    for (int64_t& d : plan.indices_batching) d += d >= plan.index_vector_dim;
  }
  size_t w = 0, b = 0;
  while (w < plan.window_sizes.size() || b < plan.batch_sizes.size()) {
    const bool window = b == plan.batch_sizes.size() || (w < plan.window_sizes.size() && chance(50));
    if (window) plan.offset_dims.push_back(plan.result_dims.size());
    plan.result_dims.push_back(window ? plan.window_sizes[w++] : plan.batch_sizes[b++]);
  }
  return plan;
}

void ModuleGenerator::Gathering() {
  const RandomValue x = Pick(nullptr, AnyType(), LiteralStyle::kAny, 1);
  const IndexPlan plan = PlanIndices(x.dims(), random_);
  if (Count(plan.result_dims) > 8 * options_.max_elements) return;
  // A dimension of size 0 has nothing to clamp an index into.
  if (Count(x.dims()) == 0) return;
  GatherDims dims;
  dims.offset_dims = plan.offset_dims;
  dims.collapsed_slice_dims = plan.left_out;
  dims.start_index_map = plan.index_map;
  dims.operand_batching_dims = plan.batching;
  dims.start_indices_batching_dims = plan.indices_batching;
  dims.index_vector_dim = plan.index_vector_dim;
  const RandomValue indices = Indices(plan.index_dims, 5);
  Keep(b_.Gather(x.op, indices.op, dims, plan.slice_sizes), x.error);
}

void ModuleGenerator::Scattering() {
  const RandomValue x =
      Pick([](const RandomValue& v) { return v.exact() && v.type() != E::kPred && !IsComplex(v.type()); },
           ArithmeticType(), LiteralStyle::kSmallIntegers, 1);
  const E type = x.type();
  if (!x.exact() || type == E::kPred || IsComplex(type) || Count(x.dims()) == 0) return;
  const IndexPlan plan = PlanIndices(x.dims(), random_);
  const double count = static_cast<double>(Count(plan.result_dims));
  if (count > 8 * options_.max_elements) return;
  ScatterDims dims;
  dims.update_window_dims = plan.offset_dims;
  dims.inserted_window_dims = plan.left_out;
  dims.scatter_dims_to_operand_dims = plan.index_map;
  dims.input_batching_dims = plan.batching;
  dims.scatter_indices_batching_dims = plan.indices_batching;
  dims.index_vector_dim = plan.index_vector_dim;
  const RandomValue indices = Indices(plan.index_dims, 5);
  const RandomValue updates = Like(
      type, plan.result_dims, [](const RandomValue& v) { return v.exact(); }, LiteralStyle::kSmallIntegers);
  // The order of updates of one place is free: only what does not depend on it.
  HloOpcode combine = OneOf({HloOpcode::kMaximum, HloOpcode::kMinimum});
  ErrorBound error;
  if (IsIntegral(type)) {
    combine = OneOf({HloOpcode::kAdd, HloOpcode::kMultiply, HloOpcode::kMaximum, HloOpcode::kXor, HloOpcode::kAnd});
  } else if (Chance(50) && x.facts.finite() && updates.facts.finite()) {
    combine = HloOpcode::kAdd;
    const double term = std::max(x.facts.max_abs, updates.facts.max_abs);
    if (SumMayOverflow(type, term, count + 1)) return;
    if (!SumsAreExact(type, std::min(*x.facts.grid, *updates.facts.grid), term, count + 1)) {
      error = Rounded(type, 2 * (count + 1) * (count + 1) * term, 0);
    }
  }
  Keep(b_.Scatter({x.op}, indices.op, {updates.op}, b_.ScalarComputation(combine, type), dims), error);
}

}  // namespace xc
