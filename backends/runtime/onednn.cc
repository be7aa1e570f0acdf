// Matrix products and convolutions as oneDNN's primitives.
#include "backends/runtime/onednn.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "backends/runtime/onednn_library.h"
#include "hlo/base/status.h"

namespace xc::onednn {
namespace {

PrimitiveOr MakeMatmul(const MatmulKey& key) {
  const bool bytes = key.a_type == RtType::kS8 || key.a_type == RtType::kU8;
  // Without VNNI the byte kernels saturate intermediate sums.
  if (bytes && !__builtin_cpu_supports("avx512vnni")) return NotSupported("bytes without VNNI");
  dnnl_memory_desc_t mds[3];
  auto strided = [&](int i, int64_t batch_stride, int64_t rows, int64_t cols, int64_t row, int64_t col, RtType type) {
    const int64_t batch = i != 2 && batch_stride == 0 ? 1 : key.batch;
    if (key.batch == 1) {
      const int64_t dims[] = {rows, cols}, strides[] = {row, col};
      return Strided(&mds[i], 2, dims, type, strides);
    }
    const int64_t dims[] = {batch, rows, cols};
    const int64_t strides[] = {batch == 1 ? rows * cols : batch_stride, row, col};
    return Strided(&mds[i], 3, dims, type, strides);
  };
  if (!strided(0, key.a_batch, key.m, key.k, key.a_m, key.a_k, key.a_type) ||
      !strided(1, key.b_batch, key.k, key.n, key.b_k, key.b_n, key.b_type) ||
      !strided(2, key.c_batch, key.m, key.n, key.c_m, key.c_n, key.c_type)) {
    return NotSupported("strides");
  }
  dnnl_matmul_desc_t desc;
  if (Lib().dnnl_matmul_desc_init(&desc, &mds[0], &mds[1], nullptr, &mds[2]) != dnnl_success) {
    return NotSupported("matrix product");
  }
  dnnl_primitive_desc_t pd = MakeDesc(&desc, nullptr);
  if (pd == nullptr) return NotSupported("matrix product");
  return Primitive::Create(pd, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, mds, 3);
}

// Dimensions and strides of a convolution's tensors as oneDNN wants them.
struct ConvTensors {
  dnnl_memory_desc_t src, weights, dst;
  dnnl_dims_t stride, dilation, pad_low, pad_high;
};

bool WeightsDesc(const ConvKey& key, bool any, dnnl_memory_desc_t* md) {
  int64_t dims[6], strides[6];
  int rank = 0;
  if (key.groups > 1) {
    dims[rank] = key.groups;
    strides[rank++] = key.weights_group_stride;
  }
  dims[rank] = key.out_features / key.groups;
  strides[rank++] = key.weights_strides[0];
  dims[rank] = key.in_features / key.groups;
  strides[rank++] = key.weights_strides[1];
  for (int i = 0; i < key.rank; ++i) {
    dims[rank] = key.kernel[i];
    strides[rank++] = key.weights_strides[2 + i];
  }
  if (!any) return Strided(md, rank, dims, key.weights_type, strides);
  dnnl_data_type_t type;
  return DataType(key.weights_type, &type) &&
         Lib().dnnl_memory_desc_init_by_tag(md, rank, dims, type, dnnl_format_tag_any) == dnnl_success;
}

bool MakeTensors(const ConvKey& key, ConvTensors* t) {
  int64_t src[5] = {key.batch, key.in_features}, dst[5] = {key.batch, key.out_features};
  for (int i = 0; i < key.rank; ++i) {
    src[2 + i] = key.src[i];
    dst[2 + i] = key.dst[i];
    t->stride[i] = key.stride[i];
    t->dilation[i] = key.dilation[i] - 1;
    t->pad_low[i] = key.pad_low[i];
    t->pad_high[i] = key.pad_high[i];
  }
  return Strided(&t->src, 2 + key.rank, src, key.src_type, key.src_strides) &&
         Strided(&t->dst, 2 + key.rank, dst, key.dst_type, key.dst_strides) && WeightsDesc(key, true, &t->weights);
}

PrimitiveOr MakeConvolution(const ConvKey& key, const dnnl_memory_desc_t* weights) {
  const Library& lib = Lib();
  ConvTensors t;
  if (!MakeTensors(key, &t)) return NotSupported("convolution's strides");
  if (weights != nullptr) t.weights = *weights;
  dnnl_convolution_desc_t desc;
  // A forward descriptor with types that a forward convolution has; for the other kinds it is the required hint.
  if (lib.dnnl_dilated_convolution_forward_desc_init(
          &desc, key.kind == ConvKey::kForward ? dnnl_forward_inference : dnnl_forward_training,
          dnnl_convolution_direct, &t.src, &t.weights, nullptr, &t.dst, t.stride, t.dilation, t.pad_low,
          t.pad_high) != dnnl_success) {
    return NotSupported("convolution");
  }
  dnnl_primitive_desc_t pd = nullptr;
  if (key.kind == ConvKey::kForward) {
    pd = MakeDesc(&desc, nullptr);
  } else {
    dnnl_primitive_desc_t hint = nullptr;
    if (lib.dnnl_primitive_desc_create(&hint, &desc, lib.attr, lib.engine, nullptr) != dnnl_success) {
      return NotSupported("convolution");
    }
    const dnnl_status_t status =
        key.kind == ConvKey::kBackwardData
            ? lib.dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &t.src, &t.weights,
                                                                   &t.dst, t.stride, t.dilation, t.pad_low, t.pad_high)
            : lib.dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &t.src,
                                                                      &t.weights, nullptr, &t.dst, t.stride, t.dilation,
                                                                      t.pad_low, t.pad_high);
    if (status == dnnl_success) pd = MakeDesc(&desc, hint);
    lib.dnnl_primitive_desc_destroy(hint);
  }
  if (pd == nullptr) return NotSupported("convolution");
  const bool to_weights = key.kind == ConvKey::kBackwardWeights;
  const dnnl_memory_desc_t mds[3] = {
      t.src, *lib.dnnl_primitive_desc_query_md(pd, to_weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0),
      t.dst};
  const int args[3] = {key.kind == ConvKey::kBackwardData ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
                       to_weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
                       key.kind == ConvKey::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST};
  return Primitive::Create(pd, args, mds, 3);
}

PrimitiveOr GetConvolution(const ConvKey& key) {
  return GetPrimitive(KeyBytes('c', key), [&] { return MakeConvolution(key, nullptr); });
}

// Output features in one block of packed weights whose blocks stand one after the other, or 0 when the order is not so.
int64_t OutermostBlock(const ConvKey& key, const dnnl_memory_desc_t& md) {
  if (key.groups != 1 || md.format_kind != dnnl_blocked || md.extra.flags != dnnl_memory_extra_flag_none) return 0;
  int64_t block = 1;
  for (int i = 0; i < md.format_desc.blocking.inner_nblks; ++i) {
    if (md.format_desc.blocking.inner_idxs[i] == 0) block *= md.format_desc.blocking.inner_blks[i];
  }
  for (int d = 1; d < md.ndims; ++d) {
    if (md.format_desc.blocking.strides[d] >= md.format_desc.blocking.strides[0] && md.dims[d] > 1) return 0;
  }
  return block;
}

int64_t NumBlocks(const ConvKey& key, const dnnl_memory_desc_t& md) {
  const int64_t block = OutermostBlock(key, md);
  return block == 0 ? 1 : md.padded_dims[0] / block;
}

// The copy between weights as the caller has them and as the kernel wants them, for blocks [first, last) of output
// features.
PrimitiveOr GetReorder(const ConvKey& key, bool pack, int64_t first, int64_t last, RtType plain_type) {
  const int64_t range[2] = {last - first, last == 0};
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> conv, GetConvolution(key));
  const int64_t block = OutermostBlock(key, conv->md(1));
  const int64_t rows = std::min(key.out_features, last * block) - first * block;
  return GetPrimitive(KeyBytes(pack ? 'p' : 'u', key, range, rows, plain_type), [&]() -> PrimitiveOr {
    dnnl_memory_desc_t plain, packed = conv->md(1);
    ConvKey part = key;
    part.weights_type = plain_type;
    if (last != 0) {
      part.out_features = rows;
      packed.dims[0] = rows;
      packed.padded_dims[0] = (last - first) * block;
    }
    if (!WeightsDesc(part, false, &plain)) return NotSupported("strides of weights");
    const dnnl_memory_desc_t& from = pack ? plain : packed;
    const dnnl_memory_desc_t& to = pack ? packed : plain;
    dnnl_primitive_desc_t pd = nullptr;
    const Library& lib = Lib();
    if (lib.dnnl_reorder_primitive_desc_create(&pd, &from, lib.engine, &to, lib.engine, lib.attr) != dnnl_success) {
      return NotSupported("reordering weights");
    }
    return Primitive::Create(pd, {DNNL_ARG_FROM, DNNL_ARG_TO, 0}, {from, to, to}, 2);
  });
}

}  // namespace

bool Available() { return Lib().ok; }

absl::Status Matmul(const MatmulKey& key, const void* a, const void* b, void* c) {
  if (!Available()) return NotSupported("the library is missing");
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> primitive,
                      GetPrimitive(KeyBytes('m', key), [&] { return MakeMatmul(key); }));
  return primitive->Run({const_cast<void*>(a), const_cast<void*>(b), c});
}

absl::Status PackedWeightsBytes(const ConvKey& key, int64_t* bytes) {
  if (!Available()) return NotSupported("the library is missing");
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> primitive, GetConvolution(key));
  *bytes = Lib().dnnl_memory_desc_get_size(&primitive->md(1));
  return absl::OkStatus();
}

int64_t MaxPackParts(const ConvKey& key) {
  PrimitiveOr primitive = GetConvolution(key);
  return primitive.ok() ? NumBlocks(key, (*primitive)->md(1)) : 1;
}

absl::Status PackWeights(const ConvKey& key, int64_t part, int64_t parts, const void* weights, void* packed) {
  int64_t first = 0, last = 0;
  if (parts > 1) {
    XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> conv, GetConvolution(key));
    const int64_t blocks = NumBlocks(key, conv->md(1)), block = OutermostBlock(key, conv->md(1));
    first = blocks * part / parts;
    last = blocks * (part + 1) / parts;
    if (first == last) return absl::OkStatus();
    weights = static_cast<const char*>(weights) + first * block * key.weights_strides[0] * SizeOf(key.weights_type);
    packed =
        static_cast<char*>(packed) + first * conv->md(1).format_desc.blocking.strides[0] * SizeOf(key.weights_type);
  }
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> primitive, GetReorder(key, true, first, last, key.weights_type));
  return primitive->Run({const_cast<void*>(weights), packed, nullptr});
}

absl::Status UnpackWeights(const ConvKey& key, RtType type, const void* packed, void* weights) {
  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> primitive, GetReorder(key, false, 0, 0, type));
  return primitive->Run({const_cast<void*>(packed), weights, nullptr});
}

absl::Status Convolution(const ConvKey& key, const ConvKey& packed_for, void* src, void* packed, void* dst) {
  if (!Available()) return NotSupported("the library is missing");
  PrimitiveOr primitive = std::memcmp(&key, &packed_for, sizeof(key)) == 0
                              ? GetConvolution(key)
                              : GetPrimitive(KeyBytes('t', key, packed_for), [&]() -> PrimitiveOr {
                                  XC_ASSIGN_OR_RETURN(std::shared_ptr<Primitive> model, GetConvolution(packed_for));
                                  return MakeConvolution(key, &model->md(1));
                                });
  if (!primitive.ok()) return primitive.status();
  return (*primitive)->Run({src, packed, dst});
}

}  // namespace xc::onednn
