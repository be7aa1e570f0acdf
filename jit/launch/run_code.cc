#include "jit/launch/run_code.h"

#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "backends/runtime/arena.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

size_t ByteSize(DataType type, const Dims& dims) {
  size_t bytes = DataTypeSize(type);
  for (int64_t d : dims) bytes *= d;
  return bytes;
}

}  // namespace

absl::Status ResultAllocator::SetConstant(int slot, const Tensor& value, bool tentative) {
  XC_ASSIGN_OR_RETURN(void* to, Allocate(slot, value.dtype(), value.dims(), value.byte_size(), tentative));
  if (value.byte_size() > 0) std::memcpy(to, value.raw(), value.byte_size());
  return absl::OkStatus();
}

absl::StatusOr<CodeOutcome> RunCode(const CompiledCluster& code, absl::Span<const ArgView> args,
                                    ResultAllocator& results, const RunOptions& options, Clock now,
                                    int64_t* compiled_ns, absl::Status* why) {
  const LoweredCluster& lowered = code.lowered;
  const int n = static_cast<int>(lowered.results.size());
  const int slots = n + static_cast<int>(lowered.variable_updates.size());
  const bool tentative = lowered.check_output >= 0;
  auto output_of = [&](int slot) {
    return slot < n ? lowered.results[slot].output : lowered.variable_updates[slot - n].second;
  };
  results.Begin(lowered);
  absl::InlinedVector<void*, 16> buffers(code.result_dims.size(), nullptr);
  absl::InlinedVector<int, 16> first(code.result_dims.size(), -1);  // the slot that owns a buffer
  // The capacity of loop-carried dynamic arrays is in memory of ours; what the run filled is cut out of it.
  absl::InlinedVector<Block, 2> capacities;
  absl::InlinedVector<int32_t, 16> sizes(code.result_dims.size(), 0);  // by output
  for (int slot = 0; slot < slots; ++slot) {
    const int k = output_of(slot);
    if (k < 0 || first[k] >= 0) continue;
    first[k] = slot;
    const size_t bytes = ByteSize(code.result_types[k], code.result_dims[k]);
    if (const int size = slot < n ? lowered.results[slot].size_output : -1; size >= 0) {
      XC_ASSIGN_OR_RETURN(Block capacity, Block::Allocate(bytes));
      buffers[k] = capacity.data();
      if (buffers[size] == nullptr) buffers[size] = &sizes[size];
      capacities.push_back(std::move(capacity));
      continue;
    }
    XC_ASSIGN_OR_RETURN(buffers[k],
                        results.Allocate(slot, code.result_types[k], code.result_dims[k], bytes, tentative));
  }
  alignas(64) char check[64] = {};
  if (tentative) buffers[lowered.check_output] = check;
  if (code.executable != nullptr) {
    absl::InlinedVector<const void*, 32> parameters;
    for (int i : lowered.parameter_args) parameters.push_back(args[i].data);
    const int64_t start = now();
    absl::Status status = code.Run(parameters, absl::MakeSpan(buffers), options);
    *compiled_ns = now() - start;
    if (!status.ok()) {
      if (!tentative && !results.discards() && slots > 0) return status;
      *why = std::move(status);
      return CodeOutcome::kFailed;
    }
    if (tentative && check[0]) return CodeOutcome::kCheckFailed;
  }
  for (int slot = 0; slot < slots; ++slot) {
    const int k = output_of(slot);
    const ClusterResult* r = slot < n ? &lowered.results[slot] : nullptr;
    if (r != nullptr && r->size_output >= 0) {
      XC_ASSIGN_OR_RETURN(const CutResult cut, CutResult::Make(code.result_dims[k], r->size_axis,
                                                               *static_cast<const int32_t*>(buffers[r->size_output])));
      const DataType type = code.result_types[k];
      XC_ASSIGN_OR_RETURN(void* to, results.Allocate(slot, type, cut.dims(), ByteSize(type, cut.dims()), tentative));
      cut.Copy(buffers[k], to, DataTypeSize(type));
    } else if (k >= 0) {
      if (first[k] != slot) XC_RETURN_IF_ERROR(results.Share(slot, first[k]));
    } else if (r->argument >= 0) {
      XC_RETURN_IF_ERROR(results.Forward(slot, r->argument));
    } else {
      XC_RETURN_IF_ERROR(results.SetConstant(slot, r->constant->tensor, tentative));
    }
  }
  if (tentative) XC_RETURN_IF_ERROR(results.Commit());
  return CodeOutcome::kRan;
}

}  // namespace xc
