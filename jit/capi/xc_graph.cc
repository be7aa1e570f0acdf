#include "jit/capi/xc_graph.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/base/status.h"
#include "jit/host/session.h"
#include "jit/saved_model/saved_model.h"
#include "service/c_status.h"

struct xc_graph {
  std::unique_ptr<xc::Session> session;
};

struct xc_graph_results {
  std::vector<xc::Tensor> tensors;
  std::vector<std::vector<xc_bytes>> strings;
};

namespace xc {
namespace {

std::vector<std::string> Items(const std::string& text) { return absl::StrSplit(text, ',', absl::SkipEmpty()); }

// `textual` is null where the options of a GraphDef are not taken, `saved` where those of a SavedModel are not.
absl::Status ReadOptions(const char* text, SessionOptions* options, bool* textual, SavedModelOptions* saved) {
  std::vector<std::string> lines = absl::StrSplit(text == nullptr ? "" : text, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    std::pair<std::string, std::string> kv = absl::StrSplit(line, absl::MaxSplits('=', 1));
    const auto& [key, value] = kv;
    int number = 0;
    if (key == "mode" && (value == "jit" || value == "host")) {
      options->host.mode = value == "jit" ? HostMode::kJit : HostMode::kHost;
    } else if (key == "platform") {
      XC_RETURN_IF_ERROR(BackendByName(value).status());
      options->host.launch.platform = value;
    } else if (key == "policy" && (value == "atonce" || value == "lazy" || value == "background")) {
      options->host.launch.policy.when = value == "atonce" ? CompileWhen::kNow
                                         : value == "lazy" ? CompileWhen::kLazy
                                                           : CompileWhen::kBackground;
    } else if (key == "max_signatures" && absl::SimpleAtoi(value, &number) && number > 0) {
      options->host.launch.policy.max_signatures = number;
    } else if (key == "buckets" && (value == "0" || value == "1")) {
      options->host.launch.policy.batch_buckets = value == "1";
    } else if (key == "signature" && saved != nullptr) {
      saved->signature = value;
    } else if (key == "tag" && saved != nullptr) {
      saved->tag = value;
    } else if (key == "inputs" && textual != nullptr) {
      options->inputs = Items(value);
    } else if (key == "outputs" && textual != nullptr) {
      options->outputs = Items(value);
    } else if (key == "targets" && textual != nullptr) {
      options->targets = Items(value);
    } else if (key == "initializers" && textual != nullptr) {
      options->initializers = Items(value);
    } else if (key == "allow" || key == "deny") {
      for (const std::string& op : Items(value)) {
        (key == "allow" ? options->host.mark.allow : options->host.mark.deny).insert(op);
      }
    } else if (key == "text" && textual != nullptr) {
      *textual = value == "1";
    } else if (key == "threads" && absl::SimpleAtoi(value, &number) && number >= 0) {
      options->host.launch.thread_limit = number;
    } else if (key == "min_cluster_size" && absl::SimpleAtoi(value, &number) && number >= 0) {
      options->host.mark.min_cluster_size = number;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown option or bad value '", line, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status Load(const char* bytes, size_t size, const char* text, xc_graph** out) {
  if (bytes == nullptr || out == nullptr) return absl::InvalidArgumentError("null argument");
  SessionOptions options;
  bool textual = false;
  XC_RETURN_IF_ERROR(ReadOptions(text, &options, &textual, nullptr));
  XC_ASSIGN_OR_RETURN(GraphDef def, ParseGraphDef(std::string(bytes, size), textual));
  XC_ASSIGN_OR_RETURN(auto session, Session::Create(def, std::move(options)));
  *out = new xc_graph{std::move(session)};
  return absl::OkStatus();
}

absl::Status LoadDirectory(const char* directory, const char* text, xc_graph** out) {
  if (directory == nullptr || out == nullptr) return absl::InvalidArgumentError("null argument");
  SessionOptions shared;
  SavedModelOptions options;
  XC_RETURN_IF_ERROR(ReadOptions(text, &shared, nullptr, &options));
  options.host = shared.host;
  XC_ASSIGN_OR_RETURN(auto session, LoadSavedModel(directory, std::move(options)));
  *out = new xc_graph{std::move(session)};
  return absl::OkStatus();
}

// A tensor over a copy of the caller's bytes: results may outlive them.
absl::StatusOr<Tensor> FromCaller(const xc_tensor& in) {
  if (in.rank < 0 || in.rank > 64 || (in.rank > 0 && in.dims == nullptr)) {
    return absl::InvalidArgumentError("an input has no dimensions");
  }
  XC_ASSIGN_OR_RETURN(Tensor t,
                      Tensor::Uninitialized(static_cast<DataType>(in.dtype), Dims(in.dims, in.dims + in.rank)));
  if (t.dtype() == DT_STRING) {
    const xc_bytes* items = static_cast<const xc_bytes*>(in.data);
    for (int64_t i = 0; i < t.num_elements(); ++i) t.strings()[i].assign(items[i].data, items[i].size);
    return t;
  }
  if (static_cast<int64_t>(in.bytes) != t.byte_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an input of shape ", t.ShapeString(), " has ", in.bytes, " bytes, needs ", t.byte_size()));
  }
  if (in.bytes > 0) std::memcpy(t.raw(), in.data, in.bytes);
  return t;
}

absl::Status Run(xc_graph* graph, const xc_tensor* inputs, size_t num_inputs, xc_graph_results** out) {
  if (graph == nullptr || out == nullptr || (num_inputs > 0 && inputs == nullptr)) {
    return absl::InvalidArgumentError("null argument");
  }
  std::vector<Tensor> args;
  for (size_t i = 0; i < num_inputs; ++i) {
    XC_ASSIGN_OR_RETURN(Tensor t, FromCaller(inputs[i]));
    args.push_back(std::move(t));
  }
  XC_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, graph->session->Run(args));
  auto results = std::make_unique<xc_graph_results>();
  for (const Tensor& t : tensors) {
    std::vector<xc_bytes> strings;
    if (t.dtype() == DT_STRING) {
      for (const std::string& s : t.strings()) strings.push_back({s.data(), s.size()});
    } else if (t.byte_size() > 0 && t.raw() == nullptr) {
      return absl::UnimplementedError("a result that is not a dense tensor");
    }
    results->strings.push_back(std::move(strings));
  }
  results->tensors = std::move(tensors);
  *out = results.release();
  return absl::OkStatus();
}

}  // namespace
}  // namespace xc

extern "C" {

xc_status* xc_graph_load(const char* graph_def, size_t size, const char* options, xc_graph** out) {
  return xc::CallC([&] { return xc::Load(graph_def, size, options, out); });
}

xc_status* xc_graph_load_saved_model(const char* directory, const char* options, xc_graph** out) {
  return xc::CallC([&] { return xc::LoadDirectory(directory, options, out); });
}

void xc_graph_free(xc_graph* graph) { delete graph; }

size_t xc_graph_num_inputs(const xc_graph* graph) { return graph->session->inputs().size(); }
size_t xc_graph_num_outputs(const xc_graph* graph) { return graph->session->outputs().size(); }
const char* xc_graph_input_name(const xc_graph* graph, size_t i) { return graph->session->inputs()[i].name.c_str(); }
const char* xc_graph_output_name(const xc_graph* graph, size_t i) { return graph->session->outputs()[i].name.c_str(); }
int xc_graph_input_dtype(const xc_graph* graph, size_t i) { return graph->session->inputs()[i].type; }
int xc_graph_output_dtype(const xc_graph* graph, size_t i) { return graph->session->outputs()[i].type; }
int xc_graph_input_rank(const xc_graph* graph, size_t i) {
  const xc::PartialShape& shape = graph->session->inputs()[i].shape;
  return shape.known_rank ? static_cast<int>(shape.dims.size()) : -1;
}
const int64_t* xc_graph_input_dims(const xc_graph* graph, size_t i) {
  const xc::PartialShape& shape = graph->session->inputs()[i].shape;
  return shape.known_rank ? shape.dims.data() : nullptr;
}

xc_status* xc_graph_run(xc_graph* graph, const xc_tensor* inputs, size_t num_inputs, xc_graph_results** out) {
  return xc::CallC([&] { return xc::Run(graph, inputs, num_inputs, out); });
}

size_t xc_graph_results_size(const xc_graph_results* results) { return results->tensors.size(); }

xc_tensor xc_graph_results_get(const xc_graph_results* results, size_t i) {
  const xc::Tensor& t = results->tensors[i];
  xc_tensor out;
  out.dtype = t.dtype();
  out.rank = t.rank();
  out.dims = t.dims().data();
  bool strings = t.dtype() == xc::DT_STRING;
  out.data = strings ? static_cast<const void*>(results->strings[i].data()) : t.raw();
  out.bytes = strings ? results->strings[i].size() * sizeof(xc_bytes) : static_cast<size_t>(t.byte_size());
  return out;
}

void xc_graph_results_free(xc_graph_results* results) { delete results; }

char* xc_graph_explain(const xc_graph* graph) {
  return xc::CallC([&] { return xc::CopyString(graph->session->Explain()); }, static_cast<char*>(nullptr));
}

xc_graph_stats xc_graph_get_stats(const xc_graph* graph) {
  return xc::CallC(
      [&]() -> xc_graph_stats {
        const xc::GraphExecutor& executor = graph->session->executor();
        xc::LaunchStats s = executor.stats();
        return {executor.marking().num_clusters, s.compilations, s.cache_hits, s.fallbacks, s.compile_seconds};
      },
      xc_graph_stats{});
}

}  // extern "C"
