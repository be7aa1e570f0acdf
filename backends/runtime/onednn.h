// oneDNN, opened at run time, as single-threaded kernels on dense or strided parts of tensors. No other file but
// those named after it knows the library. Where it is missing or has no fast kernel, functions say "not supported" and
// callers use code of their own.
#ifndef XC_BACKENDS_RUNTIME_ONEDNN_H_
#define XC_BACKENDS_RUNTIME_ONEDNN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/types.h"

namespace xc::onednn {

// Whether the library could be opened.
bool Available();

// One matrix product with one batch dimension, strides in elements. Zero-filled before it is set: it is a cache key.
struct MatmulKey {
  RtType a_type, b_type, c_type;
  int32_t unused;
  int64_t batch, m, n, k;
  int64_t a_batch, a_m, a_k, b_batch, b_k, b_n, c_batch, c_m, c_n;
};

// Runs on the calling thread alone. Sums over k in an order that depends on the key only. Unimplemented when there is
// no fast kernel (remembered, so that asking again is cheap).
absl::Status Matmul(const MatmulKey& key, const void* a, const void* b, void* c);

// One convolution, in cross-correlation form, on up to three spatial dimensions (the first `rank` entries are used).
// Strides are in elements, in the order batch, feature, spatial…; for weights output feature, input feature, spatial…
// with the group dimension's stride apart. Zero-filled before it is set.
struct ConvKey {
  enum Kind : int32_t {
    kForward = 0,          // dst[n, o, y] = sum src[n, i, y * stride - pad + k * dilation] * weights[o, i, k]
    kBackwardData = 1,     // src[n, i, ·] = the transpose of kForward in src: a convolution of dst with base dilation
    kBackwardWeights = 2,  // weights[o, i, k] = the transpose of kForward in weights
  };
  Kind kind;
  RtType src_type, weights_type, dst_type;
  int32_t rank;
  int32_t groups;
  int64_t batch, in_features, out_features;  // features over all groups
  int64_t src[3], kernel[3], dst[3];
  int64_t stride[3], dilation[3], pad_low[3], pad_high[3];  // dilation 1: dense
  int64_t src_strides[5], weights_strides[5], dst_strides[5];
  int64_t weights_group_stride;
};

// All run on the calling thread alone and are Unimplemented where there is no fast kernel.
//
// Weights go in an order that the kernel chooses, so that tiles of one convolution share one reordering. The kernel is
// made for `key`; `packed_for` is the key whose order the weights have: the same, or one that differs in batch and in
// the first spatial dimension's sizes and padding.
absl::Status PackedWeightsBytes(const ConvKey& key, int64_t* bytes);
// Packs part number `part` of `parts`; all parts are one packing.
absl::Status PackWeights(const ConvKey& key, int64_t part, int64_t parts, const void* weights, void* packed);
// Into how many parts at most the packing can be cut, for threads to share it.
int64_t MaxPackParts(const ConvKey& key);
// The other way round, with a conversion to `type`.
absl::Status UnpackWeights(const ConvKey& key, RtType type, const void* packed, void* weights);
// Computes the one of the three tensors that `kind` names. `src` and `dst` are not written otherwise.
absl::Status Convolution(const ConvKey& key, const ConvKey& packed_for, void* src, void* packed, void* dst);

// At a process's first large product of f32 the library makes its kernels, which takes 25 ms. This makes them on a
// thread of its own, so that a run that starts later finds them there. Does nothing after its first call.
void PrepareProducts();

struct CacheStats {
  int64_t entries, hits, misses;
};
CacheStats GetCacheStats();

}  // namespace xc::onednn

#endif  // XC_BACKENDS_RUNTIME_ONEDNN_H_
