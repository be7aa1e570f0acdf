// Host kernels that move elements of any type without computing on them.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

std::vector<int64_t> Strides(const Dims& dims) {
  std::vector<int64_t> s(dims.size());
  int64_t step = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    s[i] = step;
    step *= dims[i];
  }
  return s;
}

// Copies to each output element the source element at `base` + sum of index * step.
void CopyStrided(const Tensor& src, int64_t base, const std::vector<int64_t>& steps, const Dims& dims, Tensor& dst) {
  int64_t n = dst.num_elements();
  if (n == 0) return;
  std::vector<int64_t> index(dims.size(), 0);
  int64_t from = base;
  for (int64_t to = 0; to < n; ++to) {
    CopyElement(src, from, dst, to);
    for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
      from += steps[d];
      if (++index[d] < dims[d]) break;
      from -= steps[d] * dims[d];
      index[d] = 0;
    }
  }
}

// A copy of `count` consecutive elements.
void CopyRun(const Tensor& src, int64_t from, Tensor& dst, int64_t to, int64_t count) {
  if (count <= 0) return;
  if (src.dtype() == DT_STRING || src.dtype() == DT_VARIANT) {
    for (int64_t i = 0; i < count; ++i) CopyElement(src, from + i, dst, to + i);
    return;
  }
  int64_t size = DataTypeSize(src.dtype());
  std::memcpy(dst.data<char>() + to * size, src.data<char>() + from * size, count * size);
}

absl::Status ConcatParts(KernelContext& c, int first, int count, int64_t axis) {
  if (count == 0) return c.Error("needs at least one part");
  int64_t rank = c.in(first).rank();
  if (rank == 0) return c.Error("cannot concatenate scalars");
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, rank));
  Dims dims = c.in(first).dims();
  dims[axis] = 0;
  for (int i = 0; i < count; ++i) {
    const Dims& part = c.in(first + i).dims();
    if (static_cast<int64_t>(part.size()) != rank) return c.Error("parts differ in rank");
    for (int64_t d = 0; d < rank; ++d) {
      if (d != axis && part[d] != dims[d]) {
        return c.Error(absl::StrCat("part ", i, " has shape ", DimsToString(part), ", which does not fit"));
      }
    }
    dims[axis] += part[axis];
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  int64_t inner = 1, outer = 1;
  for (int64_t d = axis + 1; d < rank; ++d) inner *= dims[d];
  for (int64_t d = 0; d < axis; ++d) outer *= dims[d];
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int i = 0; i < count; ++i) {
      int64_t run = c.in(first + i).dims()[axis] * inner;
      CopyRun(c.in(first + i), o * run, out, at, run);
      at += run;
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status ConcatV2(KernelContext& c) {
  int n = c.num_inputs() - 1;
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(n));
  return ConcatParts(c, 0, n, axis);
}

absl::Status Concat(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(0));
  return ConcatParts(c, 1, c.num_inputs() - 1, axis);
}

absl::Status Pack(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  if (c.num_inputs() == 0) return c.Error("needs at least one part");
  Dims dims = c.in(0).dims();
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.in(0).rank() + 1));
  int64_t inner = 1, outer = 1;
  for (int64_t d = axis; d < c.in(0).rank(); ++d) inner *= dims[d];
  for (int64_t d = 0; d < axis; ++d) outer *= dims[d];
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.in(i).dims() != dims) return c.Error("parts differ in shape");
  }
  dims.insert(dims.begin() + axis, c.num_inputs());
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int i = 0; i < c.num_inputs(); ++i, at += inner) CopyRun(c.in(i), o * inner, out, at, inner);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Parts of sizes `sizes` along `axis`, one per output; `drop` removes the axis.
absl::Status SplitInto(KernelContext& c, const Tensor& in, int64_t axis, const std::vector<int64_t>& sizes, bool drop) {
  int64_t inner = 1, outer = 1;
  for (int64_t d = axis + 1; d < in.rank(); ++d) inner *= in.dims()[d];
  for (int64_t d = 0; d < axis; ++d) outer *= in.dims()[d];
  int64_t start = 0;
  for (size_t k = 0; k < sizes.size(); ++k) {
    Dims dims = in.dims();
    if (drop) {
      dims.erase(dims.begin() + axis);
    } else {
      dims[axis] = sizes[k];
    }
    XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(k, dims));
    for (int64_t o = 0; o < outer; ++o) {
      CopyRun(in, (o * in.dims()[axis] + start) * inner, out, o * sizes[k] * inner, sizes[k] * inner);
    }
    start += sizes[k];
    c.outputs[k] = std::move(out);
  }
  return absl::OkStatus();
}

absl::Status Unpack(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.in(0).rank()));
  if (c.in(0).dims()[axis] != static_cast<int64_t>(c.outputs.size())) return c.Error("axis size differs from num");
  return SplitInto(c, c.in(0), axis, std::vector<int64_t>(c.outputs.size(), 1), true);
}

absl::Status Split(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(0));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.in(1).rank()));
  int64_t n = static_cast<int64_t>(c.outputs.size());
  if (n == 0 || c.in(1).dims()[axis] % n != 0) return c.Error("axis size is not divisible by the number of parts");
  return SplitInto(c, c.in(1), axis, std::vector<int64_t>(n, c.in(1).dims()[axis] / n), false);
}

absl::Status SplitV(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, c.Ints(1));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(2));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.in(0).rank()));
  if (sizes.size() != c.outputs.size()) return c.Error("size_splits has a wrong length");
  int64_t total = 0;
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
    } else if (sizes[i] < 0) {
      return c.Error("negative size");
    } else {
      total += sizes[i];
    }
  }
  if (unknown >= 0) sizes[unknown] = c.in(0).dims()[axis] - total;
  if (unknown >= 0 ? sizes[unknown] < 0 : total != c.in(0).dims()[axis]) return c.Error("sizes do not sum to the axis");
  return SplitInto(c, c.in(0), axis, sizes, false);
}

absl::Status StridedSlice(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto begin, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto end, c.Ints(2));
  XC_ASSIGN_OR_RETURN(auto strides, c.Ints(3));
  XC_ASSIGN_OR_RETURN(StridedSliceSpec spec, ResolveStridedSlice(c.node, c.in(0).dims(), begin, end, strides));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, spec.processing));
  std::vector<int64_t> steps = Strides(c.in(0).dims());
  int64_t base = 0;
  for (size_t d = 0; d < steps.size(); ++d) {
    base += spec.begin[d] * steps[d];
    steps[d] *= spec.strides[d];
  }
  CopyStrided(c.in(0), base, steps, spec.processing, out);
  c.outputs[0] = out.Reshaped(spec.final_dims);
  return absl::OkStatus();
}

absl::Status Slice(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto begin, c.Ints(1));
  XC_ASSIGN_OR_RETURN(auto sizes, c.Ints(2));
  const Dims& dims = c.in(0).dims();
  if (begin.size() != dims.size() || sizes.size() != dims.size()) return c.Error("begin and size must match the rank");
  std::vector<int64_t> steps = Strides(dims);
  int64_t base = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (sizes[d] == -1) sizes[d] = dims[d] - begin[d];
    if (begin[d] < 0 || sizes[d] < 0 || begin[d] > dims[d] || sizes[d] > dims[d] - begin[d]) {
      return c.Error(absl::StrCat("slice of dimension ", d, " is out of bounds"));
    }
    base += begin[d] * steps[d];
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, sizes));
  CopyStrided(c.in(0), base, steps, sizes, out);
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status GatherAxis(KernelContext& c, int64_t axis) {
  const Tensor& params = c.in(0);
  XC_ASSIGN_OR_RETURN(auto indices, c.Ints(1));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, params.rank()));
  Dims dims(params.dims().begin(), params.dims().begin() + axis);
  dims.insert(dims.end(), c.in(1).dims().begin(), c.in(1).dims().end());
  dims.insert(dims.end(), params.dims().begin() + axis + 1, params.dims().end());
  int64_t inner = 1, outer = 1, size = params.dims()[axis];
  for (int64_t d = axis + 1; d < params.rank(); ++d) inner *= params.dims()[d];
  for (int64_t d = 0; d < axis; ++d) outer *= params.dims()[d];
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= 0 && indices[i] < size) continue;
    const std::string place = PlaceIn(c.in(1).dims(), static_cast<int64_t>(i));
    return c.Error(absl::StrCat("indices", place, " = ", indices[i], " is not in [0, ", size, ")"));
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i : indices) {
      CopyRun(params, (o * size + i) * inner, out, at, inner);
      at += inner;
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status GatherV2(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t batch, c.node.Int("batch_dims"));
  if (batch != 0) return absl::UnimplementedError("GatherV2 with batch_dims has no host kernel");
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(2));
  return GatherAxis(c, axis);
}

absl::Status Gather(KernelContext& c) { return GatherAxis(c, 0); }

absl::Status Transpose(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto perm, c.Ints(1));
  const Dims& from = c.in(0).dims();
  std::vector<int64_t> steps, from_steps = Strides(from);
  Dims dims;
  std::vector<bool> seen(from.size(), false);
  if (perm.size() != from.size()) return c.Error("the permutation has a wrong length");
  for (int64_t& p : perm) {
    XC_ASSIGN_OR_RETURN(p, c.Axis(p, c.in(0).rank()));
    if (seen[p]) return c.Error("the permutation repeats a dimension");
    seen[p] = true;
    dims.push_back(from[p]);
    steps.push_back(from_steps[p]);
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  CopyStrided(c.in(0), 0, steps, dims, out);
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status BroadcastInto(KernelContext& c, const Dims& dims) {
  const Dims& from = c.in(0).dims();
  auto both = BroadcastDims(from, dims);
  if (!both.ok() || *both != dims) {
    return c.Error(absl::StrCat("cannot broadcast ", DimsToString(from), " to ", DimsToString(dims)));
  }
  std::vector<int64_t> steps(dims.size(), 0), from_steps = Strides(from);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) steps[dims.size() - from.size() + i] = from_steps[i];
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  CopyStrided(c.in(0), 0, steps, dims, out);
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status BroadcastTo(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto dims, c.Ints(1));
  return BroadcastInto(c, dims);
}

absl::Status Fill(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto dims, c.Ints(0));
  if (c.in(1).num_elements() != 1) return c.Error("value must be a scalar");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  for (int64_t i = 0; i < out.num_elements(); ++i) CopyElement(c.in(1), 0, out, i);
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status Tile(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto multiples, c.Ints(1));
  const Dims& from = c.in(0).dims();
  if (multiples.size() != from.size()) return c.Error("multiples must have one entry per dimension");
  Dims dims = from;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (multiples[d] < 0 || __builtin_mul_overflow(dims[d], multiples[d], &dims[d])) return c.Error("bad multiples");
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  std::vector<int64_t> from_steps = Strides(from), to_steps = Strides(dims);
  for (int64_t to = 0; to < out.num_elements(); ++to) {
    int64_t at = 0;
    for (size_t d = 0; d < dims.size(); ++d) at += (to / to_steps[d] % dims[d] % from[d]) * from_steps[d];
    CopyElement(c.in(0), at, out, to);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status ZerosLike(KernelContext& c) {
  if (c.in(0).list() != nullptr) {
    XC_ASSIGN_OR_RETURN(c.outputs[0], ZerosLikeList(*c.in(0).list()));
    return absl::OkStatus();
  }
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, c.in(0).dims()));
  return absl::OkStatus();
}

absl::Status ReverseV2(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto axes, c.Ints(1));
  const Dims& dims = c.in(0).dims();
  std::vector<int64_t> steps = Strides(dims);
  int64_t base = 0;
  for (int64_t a : axes) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, c.in(0).rank()));
    if (steps[a] < 0) return c.Error("an axis is given twice");
    base += (dims[a] - 1) * steps[a];
    steps[a] = -steps[a];
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  CopyStrided(c.in(0), base, steps, dims, out);
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

}  // namespace

void RegisterMovementKernels(KernelRegistry& r) {
  r.Add({"ConcatV2"}, ConcatV2, true);
  r.Add({"Concat"}, Concat, true);
  r.Add({"Pack"}, Pack, true);
  r.Add({"Unpack"}, Unpack, true);
  r.Add({"Split"}, Split, true);
  r.Add({"SplitV"}, SplitV, true);
  r.Add({"StridedSlice"}, StridedSlice, true);
  r.Add({"Slice"}, Slice, true);
  r.Add({"GatherV2"}, GatherV2, true);
  r.Add({"Gather"}, Gather, true);
  r.Add({"Transpose"}, Transpose, true);
  r.Add({"BroadcastTo"}, BroadcastTo, true);
  r.Add({"Fill"}, Fill, true);
  r.Add({"Tile"}, Tile, true);
  r.Add({"ZerosLike"}, ZerosLike, true);
  r.Add({"ReverseV2"}, ReverseV2, true);
}

}  // namespace xc
