// Loop shapes and vector widths of kernels.
#include "backends/cpu/kernel_analysis.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "backends/plan/expression.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/choices.h"

namespace xc::cpu {
int64_t KernelShape::Work() const {
  if (flat || outer.empty()) return inner_size;
  int64_t n = 1;
  for (int64_t d : outer) n *= d == contiguous ? 1 : dims[d];
  return n * Blocks();
}

int64_t KernelShape::Grain() const { return flat || outer.empty() ? lanes : group; }

void KernelShape::MakeNested() {
  if (!flat) return;
  flat = false;
  inner = -1;
  inner_size = 1;
  outer.clear();
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!ChooseSafe(dims[d] <= 1)) outer.push_back(d);
  }
  if (!outer.empty()) {
    inner = outer.back();
    outer.pop_back();
    inner_size = dims[inner];
  }
  FitLanes();
}

void KernelShape::FitLanes() {
  while (lanes > 1 && lanes / 2 >= inner_size) lanes /= 2;
  lanes = ChooseAny(lanes);
}

void KernelShape::TakeVectors() {
  lanes = most_lanes;
  FitLanes();
}

void KernelShape::TakeShortRows(int64_t most) {
  constexpr int64_t kMany = 8;
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  if (flat || contiguous >= 0 || most_lanes == 1 || outer.empty() || inner != last) return;
  if (!ChooseAny(dims[outer.back()] >= kMany)) return;
  const int64_t elements_of_row = ChooseSafe(inner_size <= most ? inner_size : 0);
  if (elements_of_row == 0) return;
  row = elements_of_row;
  inner = outer.back();
  outer.pop_back();
  inner_size = dims[inner];
  TakeVectors();
}

void KernelShape::TakeTiles(int64_t d, const codegen::CodegenTarget& target) {
  constexpr int64_t kFewest = 8;
  constexpr int kMost = 16;
  if (flat || row != 1 || d == inner || !target.masked_memory || most_lanes < 4) return;
  if (std::find(outer.begin(), outer.end(), d) == outer.end()) return;
  if (!ChooseAny(inner_size >= kFewest && dims[d] >= kFewest)) return;
  contiguous = d;
  tile = std::min(most_lanes, kMost);
}

void KernelShape::TakeGroups() {
  if (flat || contiguous >= 0 || outer.size() <= 1 || ForAllSizes()) return;
  group = dims[outer.back()];
  grouped = 1;
}

void KernelShape::TakeTinyRows() {
  constexpr int64_t kTiny = 4, kMost = 8;
  constexpr size_t kMany = 4;  // dimensions
  if (flat || contiguous >= 0 || row != 1 || outer.size() < kMany || inner_size > kTiny || ForAllSizes()) return;
  while (grouped + 1 < outer.size() && group * dims[outer[outer.size() - 1 - grouped]] <= kMost) {
    group *= dims[outer[outer.size() - 1 - grouped++]];
  }
}

namespace {

KernelShape ShapeOf(const std::vector<int64_t>& dims, const plan::Access& access,
                    const codegen::CodegenTarget& target) {
  KernelShape shape;
  shape.dims = dims;
  for (int64_t d : dims) shape.elements *= d;
  const int widest = target.halves ? access.half_bits : access.widest_bits;
  const int width = access.positions ? std::max(widest, 32) : widest;
  shape.lanes = std::max(1, std::min(64, target.vector_bytes * 8 / width));
  shape.most_lanes = shape.lanes;
  if (access.row_reduce) shape.lanes = 1;
  shape.flat = ChooseSafe(access.in_order && !access.row_reduce);
  if (shape.flat) {
    shape.inner_size = shape.elements;
    shape.FitLanes();
    return shape;
  }
  shape.flat = true;  // turned into loops here
  shape.MakeNested();
  // Short rows and columns stay in the cache anyway; of long rows each short column is read at once.
  constexpr int64_t kLongRow = 4096;
  if (access.contiguous >= 0 && access.contiguous != shape.inner && !access.row_reduce &&
      ChooseAny(shape.inner_size > KernelShape::kBlock &&
                (shape.dims[access.contiguous] >= 16 || shape.inner_size > kLongRow))) {
    shape.contiguous = access.contiguous;
  }
  return shape;
}

// How many elements are better scalars than a vector: they join what stands beside them in registers, where a vector of
// two would be put together and taken apart, and products of 64 bits take a fifth of the time of a vector's. Only of
// little code, without functions or sums.
int64_t MostApart(const plan::Nest& nest) {
  constexpr size_t kFew = 64, kVeryFew = 8;
  constexpr int64_t kPair = 2, kProducts = 8;
  bool products = false;
  std::vector<const HloInstruction*> work(nest.values.begin(), nest.values.end());
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!work.empty()) {
    const HloInstruction* i = work.back();
    work.pop_back();
    if (!seen.insert(i).second) continue;
    if (OpcodeCost(i->opcode()) > OpCost::kDivision || IsComplex(i->type()) || seen.size() > kFew) return 0;
    products |= i->opcode() == HloOpcode::kMultiply && IsIntegral(i->type()) && StorageBytes(i->type()) == 8;
    if (i->parent()->IsFusion()) work.insert(work.end(), i->operands().begin(), i->operands().end());
  }
  return products && seen.size() <= kVeryFew ? kProducts : kPair;
}

}  // namespace

int LanesAlong(const Shape& shape, const codegen::CodegenTarget& target) {
  return ShapeOf(shape.dims(), plan::AccessOfArray(shape), target).lanes;
}

KernelShape ShapeOf(const plan::Nest& nest, const codegen::CodegenTarget& target) {
  std::vector<int64_t> dims;
  for (const plan::Size& d : nest.dims) dims.push_back(d.constant());
  KernelShape shape = ShapeOf(dims, nest.access, target);
  const int64_t most = shape.elements > 8 ? 0 : MostApart(nest);
  shape.apart = ChooseSafe(shape.elements > 1 && shape.elements <= most);
  if (shape.apart) shape.lanes = shape.most_lanes = 1;
  return shape;
}

int64_t MostOfShortRow(const plan::Nest& nest, const KernelShape& shape, const codegen::CodegenTarget& target) {
  // Rows that are put together from whole vectors, and by one instruction that takes elements of two in any order.
  constexpr int64_t kAlways = 5, kPicked = 11, kDivide = 16, kFunction = 20, kGather = 20;
  const int64_t row = shape.inner_size, lanes = shape.most_lanes;
  if (ChooseSafe(row <= kAlways || row > kPicked || row <= lanes / 2) || !target.masked_memory) return kAlways;
  // In half cycles for as many rows as a vector has lanes: what is saved where each of the row's elements is a vector
  // of full lanes, and what picking and mixing elements takes for each array.
  int64_t saved = 0, arrays = nest.values.size();
  std::vector<const HloInstruction*> work(nest.values.begin(), nest.values.end());
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!work.empty()) {
    const HloInstruction* i = work.back();
    work.pop_back();
    if (i->IsConstant() || !seen.insert(i).second) continue;
    if (StorageBytes(i->type()) < 4 && i->type() != ElementType::kPred) return kAlways;
    if (i->opcode() == HloOpcode::kBroadcast) {
      const Int64List& kept = i->dimensions();
      if (std::find(kept.begin(), kept.end(), i->shape().rank() - 1) == kept.end()) saved += 2 * lanes;
      continue;
    }
    if (i->opcode() == HloOpcode::kGather) {
      saved += (lanes - row) * kGather;
    } else if (!IsElementwise(i->opcode())) {
      ++arrays;
    } else {
      const bool divides = i->opcode() == HloOpcode::kDivide || i->opcode() == HloOpcode::kSqrt;
      saved += (lanes - row) * (IsTranscendental(i->opcode()) ? kFunction : divides ? kDivide : 1);
      work.insert(work.end(), i->operands().begin(), i->operands().end());
    }
  }
  return saved > arrays * (2 * row * (row - 1) - 3 * lanes) ? kPicked : kAlways;
}

bool IsShortSum(const HloInstruction& reduce) {
  if (reduce.opcode() != HloOpcode::kReduce || reduce.operand_count() != 2 || IsRowReduce(reduce)) return false;
  const Shape& from = reduce.operand(0)->shape();
  const int64_t last = from.rank() - 1;
  const HloOpcode op = SimpleReducer(*reduce.to_apply());
  if (op != HloOpcode::kAdd && op != HloOpcode::kMultiply) return false;
  const int fewest_bytes = IsFloating(from.type()) ? 2 : 4;
  if (IsComplex(from.type()) || StorageBytes(from.type()) < fewest_bytes || !from.IsRowMajor()) return false;
  if (reduce.dimensions() != Int64List{last} || last == 0) return false;
  // Picking elements out of two vectors takes twice the time where they are narrow; of wide ones there are few lanes.
  const int64_t fewest = StorageBytes(from.type()) == 4 ? 6 : 5;
  return ChooseAny(from.dim(last) >= fewest);
}

std::vector<const HloInstruction*> RowsBelow(const std::vector<const HloInstruction*>& values, bool* functions) {
  // Each with whether it is read at the values' own positions.
  std::vector<std::pair<const HloInstruction*, bool>> work;
  absl::flat_hash_set<std::pair<const HloInstruction*, bool>> seen;
  const Shape& shape = values[0]->shape();
  for (const HloInstruction* value : values) work.push_back({value, true});
  std::vector<const HloInstruction*> rows;
  *functions = false;
  bool exact = false;
  while (!work.empty()) {
    const auto [i, in_place] = work.back();
    work.pop_back();
    if (!seen.insert({i, in_place}).second) continue;
    if (i->opcode() == HloOpcode::kReduce) {
      if (!in_place || (!IsRowReduce(*i) && !IsShortSum(*i))) return {};
      exact |= !IsFloating(i->type()) && !IsComplex(i->type());
      rows.push_back(i);
      continue;
    }
    if (i->opcode() == HloOpcode::kReduceWindow || i->opcode() == HloOpcode::kFusion) return {};
    *functions |= in_place && (IsTranscendental(i->opcode()) || i->opcode() == HloOpcode::kDivide ||
                               i->opcode() == HloOpcode::kSqrt || i->opcode() == HloOpcode::kRsqrt);
    for (const HloInstruction* operand : i->operands()) {
      work.push_back({operand, in_place && i->IsElementwise() && SameDims(operand->shape(), shape)});
    }
  }
  *functions &= !exact;
  return rows;
}

const HloInstruction* FindSharedWindow(const HloInstruction* value, int64_t d) {
  constexpr int64_t kFewest = 4, kMost = 32;  // elements of a window, which are all written out
  const Shape& shape = value->shape();
  const HloInstruction* found = nullptr;
  std::vector<const HloInstruction*> work = {value};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!work.empty()) {
    const HloInstruction* i = work.back();
    work.pop_back();
    if (!seen.insert(i).second) continue;
    if (i->opcode() == HloOpcode::kReduce || i->opcode() == HloOpcode::kFusion) return nullptr;
    if (i->opcode() == HloOpcode::kReduceWindow) {
      if (found != nullptr || i->operand_count() != 2 || !SameDims(i->shape(), shape)) return nullptr;
      found = i;
    } else if (i->IsElementwise()) {
      work.insert(work.end(), i->operands().begin(), i->operands().end());
    } else if (i->opcode() != HloOpcode::kBroadcast && i->opcode() != HloOpcode::kConstant &&
               i->opcode() != HloOpcode::kParameter) {
      return nullptr;
    }
  }
  if (found == nullptr || IsComplex(found->type()) || ForAllSizes()) return nullptr;
  const HloOpcode op = SimpleReducer(*found->to_apply());
  if (op != HloOpcode::kAdd && op != HloOpcode::kMultiply) return nullptr;
  const std::vector<WindowDim>& window = found->window().dims;
  for (int64_t k = 0; k < shape.rank(); ++k) {
    WindowDim plain;
    if (k == d) plain.size = window[k].size;
    if (window[k] != plain) return nullptr;
  }
  return window[d].size >= kFewest && window[d].size <= kMost ? found : nullptr;
}

}  // namespace xc::cpu
