// Which calls make the first run in a process slow unless onednn::PrepareProducts has run before.
#ifndef XC_BACKENDS_RUNTIME_PREPARATION_H_
#define XC_BACKENDS_RUNTIME_PREPARATION_H_

namespace xc {

struct ConvDesc;
struct MatmulDesc;

// Whether it may be a product of oneDNN's kernels for large products of f32.
bool NeedsPreparation(const MatmulDesc& desc);
// Whether it runs as such a product.
bool NeedsPreparation(const ConvDesc& desc);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_PREPARATION_H_
