#include "jit/host/compiled_cluster.h"

#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {

void CompiledCluster::SetResults(const Graph& graph, absl::Span<const Shape> shapes) {
  for (const Shape& s : shapes) {
    result_dims.push_back(s.dims());
    result_types.push_back(ToDataType(s.type()));
  }
  // Several host types share an element type: the graph says which it is.
  std::vector<int> retvals = graph.Retvals();
  for (size_t i = 0; i < lowered.results.size(); ++i) {
    int k = lowered.results[i].output;
    if (k >= 0) result_types[k] = graph.node(retvals[i]).input_types[0];
  }
}

absl::Status CompiledCluster::Run(absl::Span<const void* const> parameters, absl::Span<void* const> results,
                                  const RunOptions& options) const {
  if (padding == nullptr) return executable->Run(parameters, results, options);
  return padding->Run(*executable, parameters, results, options);
}

absl::StatusOr<CutResult> CutResult::Make(const Dims& room, int64_t axis, int64_t size) {
  if (axis < 0 || axis >= static_cast<int64_t>(room.size()) || size < 0 || size > room[axis]) {
    return absl::InternalError(
        absl::StrCat("a result of ", size, " elements along dimension ", axis, " of ", DimsToString(room)));
  }
  CutResult cut;
  cut.dims_ = room;
  cut.dims_[axis] = size;
  cut.part_ = size;
  cut.whole_ = room[axis];
  for (int64_t d = 0; d < axis; ++d) cut.outer_ *= room[d];
  for (size_t d = axis + 1; d < room.size(); ++d) {
    cut.part_ *= room[d];
    cut.whole_ *= room[d];
  }
  return cut;
}

void CutResult::Copy(const void* from, void* to, size_t element_bytes) const {
  const size_t part = part_ * element_bytes, whole = whole_ * element_bytes;
  if (part == 0) return;
  for (size_t i = 0; i < outer_; ++i) {
    std::memcpy(static_cast<char*>(to) + i * part, static_cast<const char*>(from) + i * whole, part);
  }
}

std::string ArgsText(const std::vector<ClusterArg>& args) {
  std::string out;
  for (const ClusterArg& a : args) {
    absl::StrAppend(&out, out.empty() ? "" : ", ", DataTypeName(a.type), DimsToString(a.dims),
                    a.constant != nullptr ? "=" + a.constant->tensor.Summary(4) : "");
  }
  return out;
}

absl::StatusOr<ClusterCode> CompileCluster(const Graph& graph, const std::vector<ClusterArg>& args, Client* client,
                                           absl::string_view platform, const CompileOptions& options,
                                           std::set<int>* needed, std::string* failed_node) {
  auto start = std::chrono::steady_clock::now();
  auto out = std::make_shared<CompiledCluster>();
  XC_ASSIGN_OR_RETURN(out->lowered, LowerCluster(graph, args, needed, failed_node));
  needed->clear();
  if (out->lowered.module != nullptr) {
    XC_ASSIGN_OR_RETURN(out->executable, client->Compile(std::move(out->lowered.module), platform, options));
    out->SetResults(graph, out->executable->result_leaves());
  }
  out->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace xc
