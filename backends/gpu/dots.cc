// Matrix products and convolutions in their plainest form: a thread for each element of the result.
#include "backends/gpu/dots.h"

#include <memory>

#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

using codegen::Element;
using codegen::Loop;
using V = llvm::Value*;

}  // namespace

int64_t BlocksOf(const MatmulDesc& desc, int64_t tile) {
  int64_t count = Tiles(desc.m, tile) * Tiles(desc.n, tile);
  for (int i = 0; i < desc.num_batch_dims; ++i) count *= desc.batch[i];
  return count;
}

absl::Status EmitMatmul(KernelFunction& f, const MatmulDesc& desc, const ProductResult& result, bool aligned) {
  if (IsForTensorCores(desc)) return EmitTensorMatmul(f, desc, result, aligned);
  if (IsForTiles(desc)) return EmitTiledMatmul(f, desc, result);
  int64_t count = desc.m * desc.n;
  for (int i = 0; i < desc.num_batch_dims; ++i) count *= desc.batch[i];
  return f.ForEach(count, [&](V number) -> absl::Status {
    Places at(f);
    Accumulator sum(f, desc.a_type, desc.b_type, desc.c_type);
    V rest = number;
    V n = at.Take(&rest, desc.n), m = at.Take(&rest, desc.m);
    V a = at.Times(m, desc.a_m), b = at.Times(n, desc.b_n);
    V c = at.Add(at.Times(m, desc.c_m), at.Times(n, desc.c_n));
    for (int i = desc.num_batch_dims; i-- > 0;) {
      V batch = at.Take(&rest, desc.batch[i]);
      a = at.Add(a, at.Times(batch, desc.a_batch[i]));
      b = at.Add(b, at.Times(batch, desc.b_batch[i]));
      c = at.Add(c, at.Times(batch, desc.c_batch[i]));
    }
    Loop loop(f.b(), at.Const(0), at.Const(desc.k), 1, "k");
    Element so_far{loop.Carry(sum.Zero().re)};
    if (sum.Zero().im != nullptr) so_far.im = loop.Carry(sum.Zero().im);
    const Element x = sum.LoadA(f.argument(0), at.Add(a, at.Times(loop.index(), desc.a_k)));
    const Element y = sum.LoadB(f.argument(1), at.Add(b, at.Times(loop.index(), desc.b_k)));
    const Element next = sum.Add(so_far, x, y);
    loop.SetNext(0, next.re);
    if (next.im != nullptr) loop.SetNext(1, next.im);
    loop.End();
    return sum.Store(result, f.argument(2), c, {loop.Result(0), next.im == nullptr ? nullptr : loop.Result(1)});
  });
}

absl::Status EmitConvolution(KernelFunction& f, const ConvDesc& desc, const ProductResult& result) {
  int64_t count = desc.batch / desc.batch_groups * desc.out_features;
  for (int i = 0; i < desc.rank; ++i) count *= desc.out[i];
  const int64_t group_inputs = desc.in_features / desc.feature_groups;
  const int64_t group_outputs = desc.out_features / (desc.feature_groups * desc.batch_groups);
  return f.ForEach(count, [&](V number) -> absl::Status {
    auto& b = f.b();
    Places at(f);
    Accumulator sum(f, desc.lhs_type, desc.rhs_type, desc.out_type);
    V rest = number;
    std::vector<V> place(desc.rank);
    for (int i = desc.rank; i-- > 0;) place[i] = at.Take(&rest, desc.out[i]);
    V feature = at.Take(&rest, desc.out_features), batch = rest;
    V out = at.Add(at.Times(batch, desc.out_strides[0]), at.Times(feature, desc.out_strides[1]));
    for (int i = 0; i < desc.rank; ++i) out = at.Add(out, at.Times(place[i], desc.out_strides[2 + i]));
    // Of feature groups, each has its own inputs; of batch groups, its own part of the batch.
    V group = b.CreateUDiv(feature, at.Const(group_outputs));
    V first_input = desc.feature_groups > 1 ? at.Times(group, group_inputs) : at.Const(0);
    V in_batch = batch;
    if (desc.batch_groups > 1) in_batch = at.Add(in_batch, at.Times(group, desc.batch / desc.batch_groups));
    V lhs = at.Add(at.Times(in_batch, desc.lhs_strides[0]), at.Times(first_input, desc.lhs_strides[1]));
    V rhs = at.Times(feature, desc.rhs_strides[1]);
    std::vector<std::unique_ptr<Loop>> loops;
    std::vector<Element> carried;
    Element so_far = sum.Zero();
    const auto open = [&](int64_t size) {
      loops.push_back(std::make_unique<Loop>(b, at.Const(0), at.Const(size), 1, "window"));
      so_far.re = loops.back()->Carry(so_far.re);
      if (so_far.im != nullptr) so_far.im = loops.back()->Carry(so_far.im);
      carried.push_back(so_far);
      return loops.back()->index();
    };
    V inside = b.getTrue();
    for (int i = 0; i < desc.rank; ++i) {
      V k = open(desc.kernel[i]);
      V x = at.Add(at.Times(place[i], desc.stride[i]), at.Times(k, desc.window_dilation[i]));
      x = b.CreateSub(x, at.Const(desc.pad_low[i]));
      const int64_t last = (desc.in[i] - 1) * desc.base_dilation[i];
      inside = b.CreateAnd(inside, b.CreateICmpULE(x, at.Const(last)));
      if (desc.base_dilation[i] > 1) {
        inside = b.CreateAnd(inside, b.CreateICmpEQ(b.CreateURem(x, at.Const(desc.base_dilation[i])), at.Const(0)));
        x = b.CreateUDiv(x, at.Const(desc.base_dilation[i]));
      }
      V tap = desc.reversed[i] ? b.CreateSub(at.Const(desc.kernel[i] - 1), k) : k;
      lhs = at.Add(lhs, at.Times(x, desc.lhs_strides[2 + i]));
      rhs = at.Add(rhs, at.Times(tap, desc.rhs_strides[2 + i]));
    }
    V channel = open(group_inputs);
    lhs = at.Add(lhs, at.Times(channel, desc.lhs_strides[1]));
    rhs = at.Add(rhs, at.Times(channel, desc.rhs_strides[0]));
    // Outside, the first element is read and not counted.
    const Element x = sum.LoadA(f.argument(0), b.CreateSelect(inside, lhs, at.Const(0)));
    const Element y = sum.LoadB(f.argument(1), rhs);
    Element next = sum.Add(so_far, x, y);
    next.re = b.CreateSelect(inside, next.re, so_far.re);
    if (next.im != nullptr) next.im = b.CreateSelect(inside, next.im, so_far.im);
    for (size_t l = loops.size(); l-- > 0;) {
      loops[l]->SetNext(0, next.re);
      if (next.im != nullptr) loops[l]->SetNext(1, next.im);
      loops[l]->End();
      next = {loops[l]->Result(0), next.im == nullptr ? nullptr : loops[l]->Result(1)};
    }
    return sum.Store(result, f.argument(2), out, next);
  });
}

}  // namespace xc::gpu
