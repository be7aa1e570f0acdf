// For tests of custom calls: arrays with their layouts, and one call on them.
#ifndef XC_BACKENDS_RUNTIME_CUSTOM_CALL_TESTING_H_
#define XC_BACKENDS_RUNTIME_CUSTOM_CALL_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/runtime/custom_call.h"

namespace xc {

// A row-major array, or a batch of column-major matrices.
struct Array {
  Array(RtType t, std::vector<int64_t> d, bool column_major = false) : type(t), dims(std::move(d)) {
    int64_t n = SizeOf(type);
    for (int64_t size : dims) n *= size;
    bytes.resize(n);
    for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) layout.push_back(i);
    if (column_major) std::swap(layout[0], layout[1]);
  }

  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }

  RtType type;
  std::vector<int64_t> dims, layout;
  std::vector<char> bytes;
};

inline absl::Status Call(RunContext* ctx, const std::string& target, const std::string& config,
                         std::vector<Array*> inputs, std::vector<Array*> outputs) {
  std::vector<CallBuffer> from, to;
  std::vector<void*> in, out;
  for (Array* a : inputs) {
    from.push_back({a->type, a->dims, a->layout, nullptr});
    in.push_back(a->bytes.data());
  }
  for (Array* a : outputs) {
    to.push_back({a->type, a->dims, a->layout, nullptr});
    out.push_back(a->bytes.data());
  }
  absl::StatusOr<PreparedCall> call = PreparedCall::Make({target, from, to, config, nullptr});
  return call.ok() ? call->Run(ctx, in.data(), out.data()) : call.status();
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CUSTOM_CALL_TESTING_H_
