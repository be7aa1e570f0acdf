#include "jit/launch/compiled_cluster.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "service/recorder.h"

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
  const auto run = [&](const RunOptions& how) {
    return padding == nullptr ? executable->Run(parameters, results, how)
                              : padding->Run(*executable, parameters, results, how);
  };
  Recorder& recorder = Recorder::Get();
  return recorder.on() ? recorder.Run(name, *executable, options, run) : run(options);
}

absl::StatusOr<CutResult> CutResult::Make(const Dims& dims, int64_t axis, int64_t size) {
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size()) || size < 0 || size > dims[axis]) {
    return absl::InternalError(
        absl::StrCat("a result of ", size, " elements along dimension ", axis, " of ", DimsToString(dims)));
  }
  CutResult cut;
  cut.dims_ = dims;
  cut.dims_[axis] = size;
  cut.part_ = size;
  cut.whole_ = dims[axis];
  for (int64_t d = 0; d < axis; ++d) cut.outer_ *= dims[d];
  for (size_t d = axis + 1; d < dims.size(); ++d) {
    cut.part_ *= dims[d];
    cut.whole_ *= dims[d];
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

absl::StatusOr<ClusterCode> CompileCluster(const Graph& graph, const std::vector<ClusterArg>& args,
                                           ClusterCompiler& compiler, const CompileOptions& options, Clock now,
                                           std::set<int>* needed, std::string* failed_node) {
  const int64_t start = now();
  auto out = std::make_shared<CompiledCluster>();
  out->name = graph.name;
  XC_ASSIGN_OR_RETURN(out->lowered, compiler.Lower(graph, args, needed, failed_node));
  needed->clear();
  if (out->lowered.module != nullptr) {
    XC_ASSIGN_OR_RETURN(out->executable, compiler.Compile(std::move(out->lowered.module), options));
    out->SetResults(graph, out->executable->result_leaves());
  }
  out->seconds = static_cast<double>(now() - start) * 1e-9;
  return out;
}

}  // namespace xc
