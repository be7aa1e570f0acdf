#include "jit/kernels/kernel.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/base/check.h"

namespace xc {

absl::StatusOr<Tensor> KernelContext::AllocType(DataType type, Dims dims) {
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(dims));
  if (count > max_elements) return absl::ResourceExhaustedError("too many elements to fold");
  return Tensor::Create(type, std::move(dims));
}

absl::StatusOr<Tensor> KernelContext::Alloc(int i, Dims dims) {
  return AllocType(node.output_types[i], std::move(dims));
}

absl::StatusOr<std::vector<int64_t>> KernelContext::Ints(int i) const { return inputs[i].AsInt64s(); }

absl::StatusOr<int64_t> KernelContext::Int(int i) const {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> v, inputs[i].AsInt64s());
  if (v.size() != 1) return Error(absl::StrCat("operand ", i, " must have one element, has ", v.size()));
  return v[0];
}

absl::StatusOr<int64_t> KernelContext::Axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) return Error(absl::StrCat("axis ", axis, " is out of range for rank ", rank));
  return axis < 0 ? axis + rank : axis;
}

absl::Status KernelContext::Error(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat("node '", node.name, "' (", node.op, "): ", what));
}

void KernelRegistry::Add(std::vector<std::string> ops, absl::Status (*fn)(KernelContext&), bool foldable) {
  for (std::string& op : ops) {
    bool fresh = rows_.emplace(op, HostKernel{fn, foldable}).second;
    XC_CHECK(fresh) << "two kernels for " << op;
  }
}

const HostKernel* KernelRegistry::Find(const std::string& op) const {
  auto it = rows_.find(op);
  return it == rows_.end() ? nullptr : &it->second;
}

const KernelRegistry& KernelRegistry::Get() {
  static const KernelRegistry* registry = [] {
    auto* r = new KernelRegistry;
    RegisterShapeKernels(*r);
    RegisterMovementKernels(*r);
    RegisterArithmeticKernels(*r);
    RegisterStringKernels(*r);
    RegisterTextKernels(*r);
    RegisterSparseKernels(*r);
    RegisterSparseMathKernels(*r);
    RegisterRaggedKernels(*r);
    RegisterListKernels(*r);
    RegisterUniqueKernels(*r);
    RegisterStateKernels(*r);
    RegisterDetectionKernels(*r);
    RegisterSegmentKernels(*r);
    RegisterRandomKernels(*r);
    RegisterBoundedNormalKernels(*r);
    RegisterTableKernels(*r);
    RegisterStackKernels(*r);
    RegisterExampleKernels(*r);
    RegisterSequenceExampleKernels(*r);
    RegisterAudioKernels(*r);
    RegisterCountKernels(*r);
    RegisterSetKernels(*r);
    RegisterRecurrentKernels(*r);
    RegisterImageWarpKernels(*r);
    RegisterQuantizedKernels(*r);
    RegisterCandidateKernels(*r);
    RegisterSpecialKernels(*r);
    RegisterSparseOptimizerKernels(*r);
    RegisterCtcKernels(*r);
    RegisterRejectionKernels(*r);
    RegisterMatrixKernels(*r);
    RegisterDrawingKernels(*r);
    return r;
  }();
  return *registry;
}

void StoreInt(Tensor& t, int64_t i, int64_t v) {
  switch (t.dtype()) {
    case DT_INT64:
    case DT_UINT64:
      t.data<int64_t>()[i] = v;
      break;
    case DT_INT32:
    case DT_UINT32:
      t.data<int32_t>()[i] = static_cast<int32_t>(v);
      break;
    case DT_INT16:
    case DT_UINT16:
      t.data<int16_t>()[i] = static_cast<int16_t>(v);
      break;
    default:
      t.data<int8_t>()[i] = static_cast<int8_t>(v);
      break;
  }
}

void StoreDouble(Tensor& t, int64_t i, double v) {
  switch (t.dtype()) {
    case DT_DOUBLE:
      t.data<double>()[i] = v;
      break;
    case DT_FLOAT:
      t.data<float>()[i] = static_cast<float>(v);
      break;
    case DT_HALF:
      t.data<uint16_t>()[i] = FloatToHalf(static_cast<float>(v));
      break;
    default:
      t.data<uint16_t>()[i] = FloatToBfloat16(static_cast<float>(v));
      break;
  }
}

void CopyElement(const Tensor& src, int64_t from, Tensor& dst, int64_t to) {
  if (src.dtype() == DT_STRING) {
    dst.strings()[to] = src.strings()[from];
    return;
  }
  if (src.dtype() == DT_VARIANT) {
    const Tensor& element = src.rank() == 0 ? src : src.variants()[from];
    (dst.rank() == 0 ? dst : dst.variants()[to]) = Tensor(element);
    return;
  }
  int64_t size = DataTypeSize(src.dtype());
  std::memcpy(dst.data<char>() + to * size, src.data<char>() + from * size, size);
}

std::string PlaceIn(const Dims& dims, int64_t at) {
  Dims place(dims.size());
  for (size_t d = dims.size(); d-- > 0; at /= dims[d]) place[d] = at % dims[d];
  return DimsToString(place);
}

absl::StatusOr<Dims> BroadcastDims(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", DimsToString(a), " and ", DimsToString(b), " do not broadcast"));
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

absl::StatusOr<StridedSliceSpec> ResolveStridedSlice(const Node& node, const Dims& dims,
                                                     const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                                                     const std::vector<int64_t>& strides) {
  auto error = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("node '", node.name, "' (", node.op, "): ", what));
  };
  XC_ASSIGN_OR_RETURN(int64_t begin_mask, node.Int("begin_mask"));
  XC_ASSIGN_OR_RETURN(int64_t end_mask, node.Int("end_mask"));
  XC_ASSIGN_OR_RETURN(int64_t ellipsis_mask, node.Int("ellipsis_mask"));
  XC_ASSIGN_OR_RETURN(int64_t new_axis_mask, node.Int("new_axis_mask"));
  XC_ASSIGN_OR_RETURN(int64_t shrink_axis_mask, node.Int("shrink_axis_mask"));
  int64_t n = static_cast<int64_t>(begin.size());
  if (static_cast<int64_t>(end.size()) != n || static_cast<int64_t>(strides.size()) != n || n > 32) {
    return error("begin, end and strides must have the same length, at most 32");
  }
  if (ellipsis_mask & (ellipsis_mask - 1)) return error("more than one ellipsis");
  auto bit = [](int64_t mask, int64_t i) { return (mask >> i) & 1; };
  int64_t consumed = 0;
  bool has_ellipsis = false;
  for (int64_t i = 0; i < n; ++i) {
    if (bit(ellipsis_mask, i)) {
      has_ellipsis = true;
    } else if (!bit(new_axis_mask, i)) {
      ++consumed;
    }
  }
  int64_t rank = static_cast<int64_t>(dims.size());
  if (consumed > rank) return error(absl::StrCat("too many indices (", consumed, ") for shape ", DimsToString(dims)));
  StridedSliceSpec spec;
  auto whole = [&](int64_t d) {
    spec.begin.push_back(0);
    spec.end.push_back(dims[d]);
    spec.strides.push_back(1);
    spec.processing.push_back(dims[d]);
    spec.final_dims.push_back(dims[d]);
  };
  int64_t d = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (bit(ellipsis_mask, i)) {
      for (int64_t k = rank - consumed; k > 0; --k) whole(d++);
      continue;
    }
    if (bit(new_axis_mask, i)) {
      spec.final_dims.push_back(1);
      continue;
    }
    int64_t size = dims[d];
    int64_t stride = strides[i];
    if (stride == 0) return error(absl::StrCat("strides[", i, "] must not be zero"));
    if (bit(shrink_axis_mask, i)) {
      int64_t at = bit(begin_mask, i) ? 0 : begin[i];
      if (stride < 0) return error("only stride 1 allowed on an axis that is dropped");
      int64_t index = at < 0 ? at + size : at;
      if (index < 0 || index >= size) {
        return error(absl::StrCat("slice index ", at, " of dimension ", d, " is out of bounds"));
      }
      spec.begin.push_back(index);
      spec.end.push_back(index + 1);
      spec.strides.push_back(1);
      spec.processing.push_back(1);
      ++d;
      continue;
    }
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
    auto canonical = [&](int64_t v) { return std::clamp(v < 0 ? v + size : v, low, high); };
    int64_t first = bit(begin_mask, i) ? (stride > 0 ? low : high) : canonical(begin[i]);
    int64_t last = bit(end_mask, i) ? (stride > 0 ? high : low) : canonical(end[i]);
    int64_t span = last - first;
    int64_t count = 0;
    if ((span > 0) == (stride > 0) && span != 0) count = span / stride + (span % stride != 0);
    spec.begin.push_back(first);
    spec.end.push_back(last);
    spec.strides.push_back(stride);
    spec.processing.push_back(count);
    spec.final_dims.push_back(count);
    ++d;
  }
  if (!has_ellipsis || d < rank) {
    while (d < rank) whole(d++);
  }
  return spec;
}

}  // namespace xc
