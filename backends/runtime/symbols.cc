// The table of xc_rt_ functions. Generated code has no unwind tables: an exception ends here, as the run's error.
#include "backends/runtime/symbols.h"

#include <type_traits>

#include "backends/runtime/convolution.h"
#include "backends/runtime/custom_call.h"
#include "backends/runtime/fft.h"
#include "backends/runtime/linalg.h"
#include "backends/runtime/matmul.h"
#include "backends/runtime/profile.h"
#include "backends/runtime/ragged.h"
#include "backends/runtime/rng.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/sort.h"
#include "hlo/base/exceptions.h"

namespace xc {
namespace {

// `function` as generated code calls it.
template <auto function>
struct Guarded;
template <typename Result, typename... Args, Result (*function)(void*, Args...)>
struct Guarded<function> {
  static Result Call(void* ctx, Args... args) {
    try {
      return function(ctx, args...);
    } catch (...) {
      const int failed = static_cast<RunContext*>(ctx)->Record(CurrentException());
      if constexpr (!std::is_void_v<Result>) return static_cast<Result>(failed);
    }
  }
};

}  // namespace

absl::Span<const RuntimeSymbol> RuntimeSymbols() {
#define XC_SYMBOL(name) {#name, reinterpret_cast<void*>(&Guarded<&name>::Call)},
  // clang-format off
  static const RuntimeSymbol kSymbols[] = {
    XC_SYMBOL(xc_rt_cholesky)
    XC_SYMBOL(xc_rt_convolution)
    XC_SYMBOL(xc_rt_convolution_then)
    XC_SYMBOL(xc_rt_fft)
    XC_SYMBOL(xc_rt_infeed)
    XC_SYMBOL(xc_rt_matmul)
    XC_SYMBOL(xc_rt_outfeed)
    XC_SYMBOL(xc_rt_parallel_for)
    XC_SYMBOL(xc_rt_partition_id)
    XC_SYMBOL(xc_rt_profile_begin)
    XC_SYMBOL(xc_rt_profile_end)
    XC_SYMBOL(xc_rt_profile_iteration)
    XC_SYMBOL(xc_rt_ragged_dot)
    XC_SYMBOL(xc_rt_ragged_rows)
    XC_SYMBOL(xc_rt_recv)
    XC_SYMBOL(xc_rt_replica_id)
    XC_SYMBOL(xc_rt_rng_bit_generator)
    XC_SYMBOL(xc_rt_rng_get_and_update_state)
    XC_SYMBOL(xc_rt_rng_normal)
    XC_SYMBOL(xc_rt_rng_uniform)
    XC_SYMBOL(xc_rt_send)
    XC_SYMBOL(xc_rt_sort)
    XC_SYMBOL(xc_rt_top_k)
    XC_SYMBOL(xc_rt_triangular_solve)
  };
  // clang-format on
#undef XC_SYMBOL
  return kSymbols;
}

}  // namespace xc
