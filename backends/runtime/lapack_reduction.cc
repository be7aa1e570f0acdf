// Reductions by similarity: gehrd (to Hessenberg form) and sytrd (to tridiagonal form).
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/runtime/lapack.h"
#include "backends/runtime/lapack_common.h"

namespace xc {
namespace {

template <typename T>
struct Gehrd {  // (a) -> (Hessenberg form and reflectors, tau, info)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 3));
    XC_ASSIGN_OR_RETURN(int64_t low, args.attributes->Int("low"));
    XC_ASSIGN_OR_RETURN(int64_t high, args.attributes->Int("high"));
    Batch<T> a, tau;
    Batch<int32_t> info;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(tau.Init(ctx, args.outputs[1], 1));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[2], 0));
    const int64_t n = a.rows();
    if (n != a.cols() || tau.rows() != std::max<int64_t>(0, n - 1) || low < 1 || low > std::max<int64_t>(1, n) ||
        high < std::min(low, n) || high > std::max<int64_t>(1, n) || tau.count() != a.count() ||
        info.count() != a.count()) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      std::fill_n(tau.at(i), tau.rows(), T(0));
      XC_ASSIGN_OR_RETURN(*info.at(i), lapack::Hessenberg<T>(a.matrix(i), low, std::min(high, n), tau.at(i)));
      return absl::OkStatus();
    }));
    a.Finish();
    tau.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Sytrd {  // (a) -> (reflectors in one triangle, diagonal, off-diagonal, tau, info)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 5));
    XC_ASSIGN_OR_RETURN(int64_t uplo, args.attributes->Int("uplo"));
    Batch<T> a, tau;
    Batch<Real<T>> diagonal, off;
    Batch<int32_t> info;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(diagonal.Init(ctx, args.outputs[1], 1));
    XC_RETURN_IF_ERROR(off.Init(ctx, args.outputs[2], 1));
    XC_RETURN_IF_ERROR(tau.Init(ctx, args.outputs[3], 1));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[4], 0));
    const int64_t n = a.rows(), m = std::max<int64_t>(0, n - 1);
    if (n != a.cols() || diagonal.rows() != n || off.rows() != m || tau.rows() != m || info.count() != a.count() ||
        diagonal.count() != a.count() || off.count() != a.count() || tau.count() != a.count()) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      XC_ASSIGN_OR_RETURN(*info.at(i), lapack::Tridiagonal<T>(uplo == 'L' ? 'L' : 'U', a.matrix(i), diagonal.at(i),
                                                              off.at(i), tau.at(i)));
      return absl::OkStatus();
    }));
    a.Finish();
    diagonal.Finish();
    off.Finish();
    tau.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

}  // namespace

NamedCalls LapackReductionCalls() {
  NamedCalls calls;
  AddCalls<Gehrd>("gehrd", "gehrd", &calls);
  AddCalls<Sytrd>("sytrd", "hetrd", &calls);
  return calls;
}

NamedCalls LapackCalls() {
  NamedCalls all;
  for (auto* part : {LapackFactorCalls, LapackReductionCalls, LapackSpectralCalls}) {
    for (auto& call : part()) all.push_back(std::move(call));
  }
  for (auto& call : LapackOriginalCalls(all)) all.push_back(std::move(call));
  return all;
}

}  // namespace xc
