// Host kernels that compute shapes, or give an array another shape and leave its elements where they are.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

absl::Status Identity(KernelContext& c) {
  for (size_t i = 0; i < c.outputs.size(); ++i) c.outputs[i] = c.in(i);
  return absl::OkStatus();
}

absl::Status ShapeKernel(KernelContext& c) {
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const Dims& dims = c.in(i).dims();
    c.outputs[i] = Tensor::Integers(c.node.output_types[i], dims);
  }
  return absl::OkStatus();
}

absl::Status SizeKernel(KernelContext& c) {
  c.outputs[0] = Tensor::Integer(c.node.output_types[0], c.in(0).num_elements());
  return absl::OkStatus();
}

absl::Status RankKernel(KernelContext& c) {
  c.outputs[0] = Tensor::Integer(DT_INT32, c.in(0).rank());
  return absl::OkStatus();
}

absl::Status Reshape(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> dims, c.Ints(1));
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (unknown >= 0) return c.Error("only one dimension may be -1");
      unknown = static_cast<int>(i);
    } else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known)) {
      return c.Error(absl::StrCat("bad shape ", DimsToString(dims)));
    }
  }
  int64_t n = c.in(0).num_elements();
  if (unknown >= 0) {
    if (known == 0 ? n != 0 : n % known != 0) {
      return c.Error(absl::StrCat("cannot reshape ", c.in(0).ShapeString(), " to ", DimsToString(dims)));
    }
    dims[unknown] = known == 0 ? 0 : n / known;
    known *= dims[unknown];
  }
  if (known != n) return c.Error(absl::StrCat("cannot reshape ", c.in(0).ShapeString(), " to ", DimsToString(dims)));
  c.outputs[0] = c.in(0).Reshaped(dims);
  return absl::OkStatus();
}

absl::Status ExpandDims(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(1));
  Dims dims = c.in(0).dims();
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.in(0).rank() + 1));
  dims.insert(dims.begin() + axis, 1);
  c.outputs[0] = c.in(0).Reshaped(dims);
  return absl::OkStatus();
}

absl::Status Squeeze(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.node.Ints("squeeze_dims"));
  const Dims& from = c.in(0).dims();
  for (int64_t& a : axes) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, c.in(0).rank()));
    if (from[a] != 1) return c.Error(absl::StrCat("dimension ", a, " is ", from[a], ", not 1"));
  }
  Dims dims;
  for (int64_t i = 0; i < c.in(0).rank(); ++i) {
    bool drop = axes.empty() ? from[i] == 1 : std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!drop) dims.push_back(from[i]);
  }
  c.outputs[0] = c.in(0).Reshaped(dims);
  return absl::OkStatus();
}

absl::Status Const(KernelContext& c) {
  c.outputs[0] = c.node.constant->tensor;
  return absl::OkStatus();
}

absl::Status BroadcastArgs(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto a, c.Ints(0));
  XC_ASSIGN_OR_RETURN(auto b, c.Ints(1));
  auto dims = BroadcastDims(a, b);
  if (!dims.ok()) return c.Error(std::string(dims.status().message()));
  c.outputs[0] = Tensor::Integers(c.node.output_types[0], *dims);
  return absl::OkStatus();
}

absl::Status BroadcastGradientArgs(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto a, c.Ints(0));
  XC_ASSIGN_OR_RETURN(auto b, c.Ints(1));
  std::vector<int64_t> ra, rb;
  bool equal = a == b;
  size_t n = std::max(a.size(), b.size());
  a.insert(a.begin(), n - a.size(), 1);
  b.insert(b.begin(), n - b.size(), 1);
  for (size_t i = 0; i < n && !equal; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return c.Error("incompatible shapes");
    // Where both are 1, both gradients name the dimension, as TensorFlow does.
    if (a[i] == 1) ra.push_back(i);
    if (b[i] == 1) rb.push_back(i);
  }
  c.outputs[0] = Tensor::Integers(c.node.output_types[0], ra);
  c.outputs[1] = Tensor::Integers(c.node.output_types[1], rb);
  return absl::OkStatus();
}

absl::Status ConcatOffset(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(0));
  if (c.num_inputs() < 2) return c.Error("needs at least one shape");
  int64_t n = c.in(1).num_elements();
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, n));
  int64_t offset = 0;
  for (int i = 1; i < c.num_inputs(); ++i) {
    XC_ASSIGN_OR_RETURN(auto dims, c.Ints(i));
    if (static_cast<int64_t>(dims.size()) != n) return c.Error("shapes differ in rank");
    std::vector<int64_t> start(n, 0);
    start[axis] = offset;
    offset += dims[axis];
    c.outputs[i - 1] = Tensor::Integers(c.node.output_types[i - 1], start);
  }
  return absl::OkStatus();
}

absl::Status InvertPermutation(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto p, c.Ints(0));
  std::vector<int64_t> out(p.size(), -1);
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] < 0 || p[i] >= static_cast<int64_t>(p.size()) || out[p[i]] >= 0) return c.Error("not a permutation");
    out[p[i]] = static_cast<int64_t>(i);
  }
  c.outputs[0] = Tensor::Integers(c.node.output_types[0], out);
  return absl::OkStatus();
}

absl::Status EnsureShape(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(PartialShape shape, c.node.ShapeAttr("shape"));
  if (!shape.Accepts(c.in(0).dims())) {
    return c.Error(absl::StrCat("shape ", DimsToString(c.in(0).dims()), " is not compatible with ", shape.ToString()));
  }
  c.outputs[0] = c.in(0);
  return absl::OkStatus();
}

absl::Status Bitcast(KernelContext& c) {
  int64_t from = DataTypeSize(c.in(0).dtype()), to = DataTypeSize(c.node.output_types[0]);
  Dims dims = c.in(0).dims();
  if (from == 0 || to == 0) return c.Error("type cannot be reinterpreted");
  if (from > to) {
    dims.push_back(from / to);
  } else if (from < to) {
    if (dims.empty() || dims.back() != to / from) return c.Error("last dimension does not fit");
    dims.pop_back();
  }
  c.outputs[0] = Tensor::FromBuffer(c.node.output_types[0], dims, c.in(0).buffer(), const_cast<void*>(c.in(0).raw()));
  return absl::OkStatus();
}

}  // namespace

void RegisterShapeKernels(KernelRegistry& r) {
  r.Add({"Identity", "StopGradient", "PreventGradient", "IdentityN", "Snapshot", "PlaceholderWithDefault",
         "DebugGradientIdentity"},
        Identity, true);
  r.Add({"Shape", "ShapeN"}, ShapeKernel, true);
  r.Add({"Size"}, SizeKernel, true);
  r.Add({"Rank"}, RankKernel, true);
  r.Add({"Reshape"}, Reshape, true);
  r.Add({"ExpandDims"}, ExpandDims, true);
  r.Add({"Squeeze"}, Squeeze, true);
  r.Add({"Const"}, Const, true);
  r.Add({"BroadcastArgs"}, BroadcastArgs, true);
  r.Add({"BroadcastGradientArgs"}, BroadcastGradientArgs, true);
  r.Add({"ConcatOffset"}, ConcatOffset, true);
  r.Add({"InvertPermutation"}, InvertPermutation, true);
  r.Add({"EnsureShape"}, EnsureShape, true);
  r.Add({"Bitcast"}, Bitcast, true);
}

}  // namespace xc
