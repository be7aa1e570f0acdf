// Rewrite rows of slice, pad, concatenate, dynamic slices and gather.
#include <algorithm>
#include <cstring>

#include "compiler/make.h"
#include "compiler/simplify/simplify.h"
#include "hlo/analysis/pattern.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

using I = HloInstruction;

bool UnitStrides(const SliceAttr& slice) {
  return std::all_of(slice.strides.begin(), slice.strides.end(), [](int64_t s) { return s == 1; });
}

// slice of everything -> x
I* SliceAll(I* i, PassContext&) { return SameShape(i->shape(), i->operand(0)->shape()) ? i->operand(0) : nullptr; }

// slice(slice x) -> slice x
I* SliceSlice(I* i, PassContext&) {
  I* inner = i->operand(0);
  if (inner->opcode() != HloOpcode::kSlice) return nullptr;
  SliceAttr s;
  for (int64_t d = 0; d < i->shape().rank(); ++d) {
    const SliceAttr &a = inner->slice(), &b = i->slice();
    const int64_t size = i->shape().dim(d);
    // Of nothing, the place does not matter, and of less than two elements the stride: both may be out of bounds.
    s.starts.push_back(size == 0 ? 0 : a.starts[d] + b.starts[d] * a.strides[d]);
    s.strides.push_back(size < 2 ? 1 : a.strides[d] * b.strides[d]);
    s.limits.push_back(size == 0 ? 0 : s.starts[d] + (size - 1) * s.strides[d] + 1);
  }
  return make::Slice(inner->operand(0), s.starts, s.limits, s.strides);
}

// slice(broadcast x) -> broadcast(slice x)
I* SliceBroadcast(I* i, PassContext&) {
  I* b = i->operand(0);
  if (b->opcode() != HloOpcode::kBroadcast) return nullptr;
  I* x = b->operand(0);
  SliceAttr s;
  for (int64_t d : b->dimensions()) {
    s.starts.push_back(i->slice().starts[d]);
    s.limits.push_back(i->slice().limits[d]);
    s.strides.push_back(i->slice().strides[d]);
  }
  I* part = x->shape().rank() == 0 ? x : make::Slice(x, s.starts, s.limits, s.strides);
  return make::Broadcast(part, i->shape().dims(), b->dimensions());
}

// slice(iota) that leaves the counting dimension whole -> iota
I* SliceIota(I* i, PassContext&) {
  const I* iota = i->operand(0);
  if (iota->opcode() != HloOpcode::kIota) return nullptr;
  const int64_t d = iota->attr<AttrKind::kIotaDimension>();
  if (i->shape().dim(d) != iota->shape().dim(d)) return nullptr;
  I* result = i->parent()->Add(HloOpcode::kIota, WithoutLayout(i->shape()), {});
  result->set_attr<AttrKind::kIotaDimension>(d);
  return result;
}

// Whether `i` is a slice of neighbours that leaves out a quarter or more of its operand, which nothing else reads: then
// the operand need not have what is left out.
bool LeavesOutMuch(const I* i) {
  const int64_t whole = i->operand(0)->shape().ElementCount();
  return i->operand(0)->user_count() == 1 && !i->operand(0)->IsRoot() && UnitStrides(i->slice()) &&
         i->shape().ElementCount() <= whole - whole / 4;
}

// slice(reduce x) -> reduce(slice x)
I* SliceReduce(I* i, PassContext&) {
  I* r = i->operand(0);
  if (r->opcode() != HloOpcode::kReduce || r->operand_count() != 2 || !LeavesOutMuch(i)) return nullptr;
  const Shape& of = r->operand(0)->shape();
  Int64List starts(of.rank()), limits = of.dims();
  int64_t next = 0;
  for (int64_t d = 0; d < of.rank(); ++d) {
    if (std::find(r->dimensions().begin(), r->dimensions().end(), d) != r->dimensions().end()) continue;
    starts[d] = i->slice().starts[next];
    limits[d] = i->slice().limits[next++];
  }
  I* part = make::Slice(r->operand(0), starts, limits, Int64List(of.rank(), 1));
  return make::Reduce(part, r->operand(1), r->dimensions(), r->to_apply());
}

// slice(transpose x) -> transpose(slice x)
I* SliceTranspose(I* i, PassContext&) {
  I* t = i->operand(0);
  if (t->opcode() != HloOpcode::kTranspose || !LeavesOutMuch(i)) return nullptr;
  const int64_t rank = i->shape().rank();
  Int64List starts(rank), limits(rank);
  for (int64_t d = 0; d < rank; ++d) {
    starts[t->dimensions()[d]] = i->slice().starts[d];
    limits[t->dimensions()[d]] = i->slice().limits[d];
  }
  return make::Transpose(make::Slice(t->operand(0), starts, limits, Int64List(rank, 1)), t->dimensions());
}

// slice(concatenate(…)) that lies within one operand -> slice of that operand
I* SliceConcatenate(I* i, PassContext&) {
  I* c = i->operand(0);
  if (c->opcode() != HloOpcode::kConcatenate || i->shape().IsZeroSized()) return nullptr;
  const int64_t d = c->dimensions()[0];
  const SliceAttr& s = i->slice();
  const int64_t last = s.starts[d] + (i->shape().dim(d) - 1) * s.strides[d];
  int64_t begin = 0;
  for (I* operand : c->operands()) {
    const int64_t end = begin + operand->shape().dim(d);
    if (s.starts[d] >= begin && last < end) {
      SliceAttr inner = s;
      inner.starts[d] -= begin;
      inner.limits[d] = last + 1 - begin;
      return make::Slice(operand, inner.starts, inner.limits, inner.strides);
    }
    begin = end;
  }
  return nullptr;
}

// slice(pad x) that lies within x -> slice x
I* SlicePad(I* i, PassContext&) {
  I* p = i->operand(0);
  if (p->opcode() != HloOpcode::kPad || !UnitStrides(i->slice())) return nullptr;
  SliceAttr s = i->slice();
  for (int64_t d = 0; d < i->shape().rank(); ++d) {
    const PaddingDim& pad = p->padding().dims[d];
    if (pad.interior != 0 || pad.low < 0 || pad.high < 0) return nullptr;
    s.starts[d] -= pad.low;
    s.limits[d] -= pad.low;
    if (s.starts[d] < 0 || s.limits[d] > p->operand(0)->shape().dim(d)) return nullptr;
  }
  return make::Slice(p->operand(0), s.starts, s.limits, s.strides);
}

// pad by nothing -> x; by negative widths only -> slice
I* PadNothing(I* i, PassContext&) {
  I* x = i->operand(0);
  SliceAttr s;
  for (int64_t d = 0; d < i->shape().rank(); ++d) {
    const PaddingDim& pad = i->padding().dims[d];
    if (pad.low > 0 || pad.high > 0 || (pad.interior != 0 && x->shape().dim(d) > 1)) return nullptr;
    s.starts.push_back(-pad.low);
    s.limits.push_back(x->shape().dim(d) + pad.high);
    s.strides.push_back(1);
    if (s.starts[d] > s.limits[d]) return nullptr;
  }
  return SameShape(i->shape(), x->shape()) ? x : make::Slice(x, s.starts, s.limits, s.strides);
}

// pad of nothing at all, or of a broadcast scalar by the same value -> broadcast scalar
I* PadBroadcastScalar(I* i, PassContext&) {
  I *x = i->operand(0), *value = i->operand(1);
  if (!x->shape().IsZeroSized()) {
    const auto a = AsBroadcastScalar(x), b = AsBroadcastScalar(value);
    if (!a || !b) return nullptr;
    const int bytes = StorageBytes(i->type());
    if (std::memcmp(a->literal->bytes(), b->literal->bytes(), bytes) != 0) return nullptr;
  }
  return make::Broadcast(value, i->shape().dims(), {});
}

// concatenate of one -> x; without empty operands
I* ConcatenateOne(I* i, PassContext&) {
  if (i->operand_count() == 1) return i->operand(0);
  const int64_t d = i->dimensions()[0];
  std::vector<I*> kept;
  for (I* operand : i->operands()) {
    if (operand->shape().dim(d) != 0) kept.push_back(operand);
  }
  if (kept.empty() || static_cast<int64_t>(kept.size()) == i->operand_count()) return nullptr;
  if (kept.size() == 1) return kept[0];
  return i->parent()->Add(i->CloneWith(WithoutLayout(i->shape()), kept));
}

// concatenate of neighbouring slices of one array -> one slice
I* ConcatenateSlices(I* i, PassContext&) {
  const int64_t d = i->dimensions()[0];
  std::vector<I*> kept;
  bool merged = false;
  for (I* operand : i->operands()) {
    I* last = kept.empty() ? nullptr : kept.back();
    if (last != nullptr && last->opcode() == HloOpcode::kSlice && operand->opcode() == HloOpcode::kSlice &&
        last->operand(0) == operand->operand(0) && UnitStrides(last->slice()) && UnitStrides(operand->slice())) {
      const SliceAttr &a = last->slice(), &b = operand->slice();
      bool fits = a.limits[d] == b.starts[d];
      for (int64_t k = 0; k < i->shape().rank(); ++k) {
        if (k != d) fits &= a.starts[k] == b.starts[k] && a.limits[k] == b.limits[k];
      }
      if (fits) {
        Int64List limits = a.limits;
        limits[d] = b.limits[d];
        kept.back() = make::Slice(last->operand(0), a.starts, limits, a.strides);
        merged = true;
        continue;
      }
    }
    kept.push_back(operand);
  }
  if (!merged) return nullptr;
  return kept.size() == 1 ? kept[0] : i->parent()->Add(i->CloneWith(WithoutLayout(i->shape()), kept));
}

// The value that constant scalar index `x` is clamped to.
bool ConstantIndex(const I* x, int64_t size, int64_t slice, int64_t* start) {
  const auto scalar = AsBroadcastScalar(x);
  if (!scalar) return false;
  const int64_t value = scalar->literal->GetInt(0);
  const bool beyond = value < 0 && IsUnsignedInt(x->type());  // u64 above int64
  *start = beyond ? size - slice : std::clamp<int64_t>(value, 0, size - slice);
  return true;
}

// dynamic-slice of everything -> x; at constant places -> slice
I* DynamicSliceConstant(I* i, PassContext&) {
  I* x = i->operand(0);
  if (SameShape(x->shape(), i->shape())) return x;
  const int64_t rank = x->shape().rank();
  if (i->operand_count() != rank + 1) return nullptr;
  Int64List starts(rank), limits(rank);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = i->shape().dim(d);
    if (size == x->shape().dim(d)) {
      starts[d] = 0;
    } else if (!ConstantIndex(i->operand(d + 1), x->shape().dim(d), size, &starts[d])) {
      return nullptr;
    }
    limits[d] = starts[d] + size;
  }
  return make::Slice(x, starts, limits, Int64List(rank, 1));
}

// dynamic-slice(broadcast scalar) -> broadcast scalar
I* DynamicSliceBroadcastScalar(I* i, PassContext&) {
  I* x = i->operand(0);
  if (x->opcode() != HloOpcode::kBroadcast || x->operand(0)->shape().rank() != 0) return nullptr;
  return make::Broadcast(x->operand(0), i->shape().dims(), {});
}

// dynamic-update-slice of everything -> update; of nothing -> x
I* UpdateAll(I* i, PassContext&) {
  if (SameShape(i->operand(1)->shape(), i->shape())) return i->operand(1);
  return i->operand(1)->shape().IsZeroSized() ? i->operand(0) : nullptr;
}

// gather of one window -> dynamic-slice: both clamp the start so that the window lies inside
I* GatherOne(I* i, PassContext&) {
  I *x = i->operand(0), *indices = i->operand(1);
  const GatherDims& g = i->gather_dims();
  if (!g.operand_batching_dims.empty() || g.start_index_map.empty()) return nullptr;
  const int64_t count = g.start_index_map.size();
  if (indices->shape().ElementCount() != count || !IsIntegral(indices->type())) return nullptr;
  const Int64List& sizes = i->attr<AttrKind::kSliceSizes>();
  I* flat = make::Reshape(indices, {count});
  std::vector<I*> operands = {x};
  I* zero = nullptr;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    const auto it = std::find(g.start_index_map.begin(), g.start_index_map.end(), d);
    if (it == g.start_index_map.end()) {
      if (zero == nullptr) zero = make::ScalarInt(i->parent(), indices->type(), 0);
      operands.push_back(zero);
      continue;
    }
    const int64_t at = it - g.start_index_map.begin();
    operands.push_back(make::Reshape(count == 1 ? flat : make::Slice(flat, {at}, {at + 1}, {1}), {}));
  }
  I* slice = i->parent()->Add(HloOpcode::kDynamicSlice, Shape(x->type(), sizes), operands);
  slice->set_attr<AttrKind::kDynamicSliceSizes>(sizes);
  // Offset dimensions keep their order; collapsed and batch dimensions have size 1.
  return make::Reshape(slice, i->shape().dims());
}

// The dimension in which a pad with zeros puts one zero between elements, `low` of them before, and nothing else but at
// most one behind; -1: it is no such pad.
int64_t SpreadDimension(const I* p, int64_t low) {
  if (p->opcode() != HloOpcode::kPad || p->user_count() != 1 || !IsAll(p->operand(1), 0.0)) return -1;
  int64_t found = -1;
  const std::vector<PaddingDim>& dims = p->padding().dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == PaddingDim()) continue;
    if (found >= 0 || dims[d].interior != 1 || dims[d].low != low || dims[d].high < 0 || dims[d].high > 1) return -1;
    found = static_cast<int64_t>(d);
  }
  return found;
}

// pad x with zeros between and behind, + pad y with zeros before and between -> x and y taken in turn: each is read
// once, and stored beside the other. As the sum does, it makes 0 of -0.
I* AddSpread(I* i, PassContext&) {
  constexpr int64_t kFewest = 512, kShortestRun = 16;
  const ElementType type = i->type();
  if (i->opcode() == HloOpcode::kOr ? IsFloating(type) || IsComplex(type) : IsSubByte(type)) return nullptr;
  I *even = i->operand(0), *odd = i->operand(1);
  if (SpreadDimension(even, 0) < 0) std::swap(even, odd);
  const int64_t d = SpreadDimension(even, 0), rank = i->shape().rank();
  if (d < 0 || SpreadDimension(odd, 1) != d) return nullptr;
  int64_t behind = 1;
  for (int64_t k = d + 1; k < rank; ++k) behind *= i->shape().dim(k);
  if (!ChooseAny(i->shape().ElementCount() >= kFewest && (behind == 1 || behind >= kShortestRun))) return nullptr;
  I *x = even->operand(0), *y = odd->operand(0), *zero = even->operand(1);
  const int64_t size = i->shape().dim(d), pairs = x->shape().dim(d), left = pairs - y->shape().dim(d);
  if (size != 2 * pairs - left || (left != 0 && left != 1)) return nullptr;
  if (left == 1) {
    Shape whole = y->shape();
    whole.set_dim(d, pairs);
    PaddingAttr padding{std::vector<PaddingDim>(rank)};
    padding.dims[d].high = 1;
    y = i->parent()->Add(HloOpcode::kPad, whole, {y, zero});
    y->set_attr<AttrKind::kPadding>(padding);
  }
  Int64List dims = x->shape().dims();
  dims.insert(dims.begin() + d + 1, 1);
  const auto part = [&](I* values) {
    if (IsFloating(type) || IsComplex(type)) {
      values = make::Binary(HloOpcode::kAdd, values, make::Broadcast(zero, values->shape().dims(), {}));
    }
    return make::Reshape(values, dims);
  };
  I* const parts[] = {part(x), part(y)};
  dims[d + 1] = 2;
  I* joined = i->parent()->Add(HloOpcode::kConcatenate, Shape(type, dims), parts);
  joined->set_attr<AttrKind::kDimensions>({d + 1});
  dims.erase(dims.begin() + d + 1);
  dims[d] = 2 * pairs;
  joined = make::Reshape(joined, dims);
  if (left == 0) return joined;
  Int64List limits = dims;
  limits[d] = size;
  return make::Slice(joined, Int64List(rank, 0), limits, Int64List(rank, 1));
}

}  // namespace

absl::Span<const RewriteRow> SliceRows() {
  static constexpr RewriteRow kRows[] = {
      {"slice_all", HloOpcode::kSlice, SliceAll},
      {"slice_slice", HloOpcode::kSlice, SliceSlice},
      {"slice_broadcast", HloOpcode::kSlice, SliceBroadcast},
      {"slice_iota", HloOpcode::kSlice, SliceIota},
      {"slice_reduce", HloOpcode::kSlice, SliceReduce},
      {"slice_transpose", HloOpcode::kSlice, SliceTranspose},
      {"slice_concatenate", HloOpcode::kSlice, SliceConcatenate},
      {"slice_pad", HloOpcode::kSlice, SlicePad},
      {"pad_nothing", HloOpcode::kPad, PadNothing},
      {"pad_broadcast_scalar", HloOpcode::kPad, PadBroadcastScalar},
      {"concatenate_one", HloOpcode::kConcatenate, ConcatenateOne},
      {"concatenate_slices", HloOpcode::kConcatenate, ConcatenateSlices},
      {"dynamic_slice_constant", HloOpcode::kDynamicSlice, DynamicSliceConstant},
      {"dynamic_slice_broadcast_scalar", HloOpcode::kDynamicSlice, DynamicSliceBroadcastScalar},
      {"update_all", HloOpcode::kDynamicUpdateSlice, UpdateAll},
      {"gather_one", HloOpcode::kGather, GatherOne},
      {"add_spread", HloOpcode::kAdd, AddSpread},
      {"or_spread", HloOpcode::kOr, AddSpread},
  };
  return kRows;
}

}  // namespace xc
