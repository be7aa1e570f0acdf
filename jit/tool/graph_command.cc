#include "jit/tool/graph_command.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/format.h"
#include "hlo/base/json.h"
#include "hlo/base/status.h"
#include "jit/host/session.h"
#include "jit/saved_model/saved_model.h"
#include "service/files.h"
#include "service/npy.h"

namespace xc {
namespace {

constexpr double kRelative = 1e-3, kAbsolute = 1e-4;

int BadInput(const absl::Status& status) {
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 2;
}

// The tensor names under `key` of meta.json.
std::vector<std::string> Names(const google::protobuf::Struct& meta, const std::string& key) {
  std::vector<std::string> out;
  auto it = meta.fields().find(key);
  if (it == meta.fields().end()) return out;
  for (const auto& entry : it->second.list_value().values()) {
    auto name = entry.struct_value().fields().find("tensor");
    if (name != entry.struct_value().fields().end()) out.push_back(name->second.string_value());
  }
  return out;
}

absl::StatusOr<Tensor> ReadTensor(const std::string& path, DataType type) {
  if (type == DT_STRING) {
    XC_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
    XC_ASSIGN_OR_RETURN(NpyStrings strings, ParseNpyStrings(bytes));
    XC_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(DT_STRING, strings.dims));
    for (size_t i = 0; i < strings.values.size(); ++i) t.strings()[i] = strings.values[i];
    return t;
  }
  XC_ASSIGN_OR_RETURN(Literal literal, ReadNpy(path));
  // NumPy has no bfloat16: such files hold float32.
  if (type == DT_BFLOAT16 && literal.shape().type() == ElementType::kF32) {
    XC_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(DT_BFLOAT16, literal.shape().dims()));
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      t.data<uint16_t>()[i] = FloatToBfloat16(static_cast<float>(literal.GetDouble(i)));
    }
    return t;
  }
  return ToTensor(literal);
}

// Empty if right, else the first difference.
std::string Difference(const Tensor& got, const Tensor& want, double* largest) {
  bool widened = got.dtype() == DT_BFLOAT16 && want.dtype() == DT_FLOAT;
  if ((got.dtype() != want.dtype() && !widened) || got.dims() != want.dims()) {
    return absl::StrCat("is ", got.ShapeString(), ", expected ", want.ShapeString());
  }
  if (got.dtype() == DT_STRING) {
    for (int64_t i = 0; i < got.num_elements(); ++i) {
      if (got.strings()[i] != want.strings()[i]) {
        return absl::StrCat("element ", i, " is '", got.strings()[i], "', expected '", want.strings()[i], "'");
      }
    }
    return "";
  }
  if (IsComplex(got.dtype())) {
    Literal a = ToLiteral(got), b = ToLiteral(want);
    for (int64_t i = 0; i < got.num_elements(); ++i) {
      double error = std::abs(a.GetComplex(i) - b.GetComplex(i));
      *largest = std::max(*largest, error);
      if (!(error <= kAbsolute + kRelative * std::abs(b.GetComplex(i)))) return absl::StrCat("element ", i, " differs");
    }
    return "";
  }
  if (!IsFloating(got.dtype())) {
    auto a = got.AsInt64s(), b = want.AsInt64s();
    if (!a.ok() || !b.ok()) return "cannot be compared";
    for (size_t i = 0; i < a->size(); ++i) {
      if ((*a)[i] != (*b)[i]) return absl::StrCat("element ", i, " is ", (*a)[i], ", expected ", (*b)[i]);
    }
    return "";
  }
  auto a = got.AsDoubles(), b = want.AsDoubles();
  if (!a.ok() || !b.ok()) return "cannot be compared";
  for (size_t i = 0; i < a->size(); ++i) {
    double x = (*a)[i], y = (*b)[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    double error = std::fabs(x - y);
    *largest = std::max(*largest, error);
    if (!(error <= kAbsolute + kRelative * std::fabs(y))) {
      return Format("element %d is %.9g, expected %.9g", i, x, y);
    }
  }
  return "";
}

double Milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

struct CaseResult {
  std::string name;
  std::string problem;  // empty if right
  double largest_error = 0;
  double first_ms = 0, best_ms = 0;
  int64_t compilations = 0, hits = 0, fallbacks = 0;
};

absl::StatusOr<CaseResult> RunCase(Session& session, const std::string& directory, int64_t runs) {
  CaseResult result;
  result.name = BaseName(directory);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < session.inputs().size(); ++i) {
    XC_ASSIGN_OR_RETURN(Tensor t, ReadTensor(absl::StrCat(directory, "/input_", i, ".npy"), session.inputs()[i].type));
    inputs.push_back(std::move(t));
  }
  LaunchStats before = session.executor().stats();
  auto start = std::chrono::steady_clock::now();
  XC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, session.Run(inputs));
  result.first_ms = Milliseconds(start);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string path = absl::StrCat(directory, "/expected_", i, ".npy");
    XC_ASSIGN_OR_RETURN(Tensor want, ReadTensor(path, session.outputs()[i].type));
    std::string difference = Difference(outputs[i], want, &result.largest_error);
    if (!difference.empty() && result.problem.empty()) {
      result.problem = absl::StrCat("output ", i, " (", session.outputs()[i].name, ") ", difference);
    }
  }
  result.best_ms = result.first_ms;
  for (int64_t r = 1; r < runs; ++r) {
    start = std::chrono::steady_clock::now();
    XC_ASSIGN_OR_RETURN(std::vector<Tensor> again, session.Run(inputs));
    result.best_ms = std::min(result.best_ms, Milliseconds(start));
    for (size_t i = 0; i < again.size() && result.problem.empty(); ++i) {
      double unused = 0;
      std::string difference = Difference(again[i], outputs[i], &unused);
      if (!difference.empty()) result.problem = absl::StrCat("output ", i, " of run ", r + 1, " ", difference);
    }
  }
  LaunchStats after = session.executor().stats();
  result.compilations = after.compilations - before.compilations;
  result.hits = after.cache_hits - before.cache_hits;
  result.fallbacks = after.fallbacks - before.fallbacks;
  return result;
}

// Values in [0, 1) that repeat from run to run; sizes that may vary are 2.
absl::StatusOr<Tensor> MadeUpInput(const TensorInfo& info) {
  Dims dims = info.shape.dims;
  for (int64_t& d : dims) d = d < 0 ? 2 : d;
  XC_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(info.type, dims));
  if (info.type == DT_STRING) return t;
  if (ToElementType(info.type) == ElementType::kInvalid) {
    return absl::UnimplementedError(absl::StrCat("input '", info.name, "' is no array"));
  }
  Literal literal = ToLiteral(t);
  uint32_t state = 1;
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    double value = static_cast<double>(state >> 8) / (1 << 24);
    if (IsComplex(info.type)) {
      literal.SetComplex(i, {value, 0});
    } else if (IsFloating(info.type)) {
      literal.SetDouble(i, value);
    } else {
      literal.SetInt(i, state >> 31);
    }
  }
  std::memcpy(t.raw(), literal.bytes(), t.byte_size());
  return t;
}

// Runs `session` and `reference` on the same made-up inputs and compares.
absl::StatusOr<CaseResult> RunMadeUp(Session& session, Session& reference, int64_t runs) {
  CaseResult result;
  result.name = "made-up inputs";
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : session.inputs()) {
    XC_ASSIGN_OR_RETURN(Tensor t, MadeUpInput(info));
    inputs.push_back(std::move(t));
  }
  // The reference first: runs may change variables.
  XC_ASSIGN_OR_RETURN(std::vector<Tensor> want, reference.Run(inputs));
  for (int64_t r = 0; r < runs; ++r) {
    auto start = std::chrono::steady_clock::now();
    XC_ASSIGN_OR_RETURN(std::vector<Tensor> got, session.Run(inputs));
    double ms = Milliseconds(start);
    result.best_ms = r == 0 ? ms : std::min(result.best_ms, ms);
    if (r > 0) continue;
    result.first_ms = ms;
    for (size_t i = 0; i < got.size() && result.problem.empty(); ++i) {
      std::string difference = Difference(got[i], want[i], &result.largest_error);
      if (difference.empty()) continue;
      result.problem = absl::StrCat("output ", i, " (", session.outputs()[i].name, ") ", difference);
    }
  }
  LaunchStats stats = session.executor().stats();
  result.compilations = stats.compilations;
  result.hits = stats.cache_hits;
  result.fallbacks = stats.fallbacks;
  return result;
}

// What a path holds: a SavedModel, a folder with a graph and its cases, or a graph's file.
struct GraphFiles {
  std::string file;
  bool saved_model = false;
  std::vector<std::string> cases;
};

// Finds them; the inputs and outputs that meta.json names go to `session`.
absl::StatusOr<GraphFiles> FindGraph(const std::string& path, SessionOptions* session) {
  GraphFiles files;
  files.file = path;
  if (!IsDirectory(path)) return files;
  files.saved_model = IsSavedModel(path);
  files.file = absl::StrCat(path, FileExists(path + "/graph.pb") ? "/graph.pb" : "/graph.pbtxt");
  if (FileExists(path + "/meta.json")) {
    XC_ASSIGN_OR_RETURN(const std::string text, ReadFile(path + "/meta.json"));
    google::protobuf::Struct meta;
    if (!google::protobuf::util::JsonStringToMessage(text, &meta).ok()) {
      return absl::InvalidArgumentError("meta.json is not valid JSON");
    }
    session->inputs = Names(meta, "inputs");
    session->outputs = Names(meta, "outputs");
  }
  XC_ASSIGN_OR_RETURN(const std::vector<std::string> entries, ListDirectory(path));
  for (const std::string& entry : entries) {
    if (absl::StartsWith(entry, "case")) files.cases.push_back(path + "/" + entry);
  }
  return files;
}

absl::Status SetHost(const GraphCommandOptions& options, HostOptions* host) {
  if (options.mode == "host") {
    host->mode = HostMode::kHost;
  } else if (options.mode != "jit") {
    return absl::InvalidArgumentError(absl::StrCat("--mode must be jit or host, not '", options.mode, "'"));
  }
  XC_RETURN_IF_ERROR(BackendByName(options.platform).status());
  if (options.emulate && options.platform != "gpu") {
    return absl::InvalidArgumentError("--emulate is for --platform=gpu");
  }
  host->launch.platform = options.platform;
  host->launch.emulate = options.emulate;
  if (options.policy == "lazy") {
    host->launch.policy.when = CompileWhen::kLazy;
  } else if (options.policy == "background") {
    host->launch.policy.when = CompileWhen::kBackground;
  } else if (options.policy != "atonce") {
    return absl::InvalidArgumentError(
        absl::StrCat("--policy must be atonce, lazy or background, not '", options.policy, "'"));
  }
  host->launch.thread_limit = static_cast<int>(options.threads);
  host->mark.min_cluster_size = static_cast<int>(options.min_cluster_size);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Session>> Load(const GraphCommandOptions& options, const GraphFiles& files,
                                              const SessionOptions& session, HostMode mode) {
  if (!files.saved_model) {
    XC_ASSIGN_OR_RETURN(GraphDef def, ReadGraphDef(files.file));
    return Session::Create(def, session);
  }
  SavedModelOptions saved;
  saved.host = session.host;
  saved.host.mode = mode;
  saved.signature = options.signature;
  return LoadSavedModel(options.path, saved);
}

void PrintJson(const GraphCommandOptions& options, const std::string& name, Session& session, double load_ms,
               const std::vector<CaseResult>& results) {
  const LaunchStats total = session.executor().stats();
  std::string line = Format(
      "{\"graph\": %s, \"mode\": %s, \"platform\": %s, \"load_ms\": %.3f, \"clusters\": %d, \"compilations\": %d, "
      "\"cache_hits\": %d, \"fallbacks\": %d, \"compile_s\": %.4f, \"cases\": [",
      JsonText(name), JsonText(options.mode), JsonText(options.platform), load_ms,
      session.executor().marking().num_clusters, total.compilations, total.cache_hits, total.fallbacks,
      total.compile_seconds);
  for (size_t i = 0; i < results.size(); ++i) {
    const CaseResult& r = results[i];
    AppendFormat(&line,
                 "%s{\"case\": %s, \"ok\": %s, \"problem\": %s, \"max_error\": %.3g, \"first_ms\": %.3f, "
                 "\"best_ms\": %.3f, \"compilations\": %d, \"cache_hits\": %d, \"fallbacks\": %d}",
                 i ? ", " : "", JsonText(r.name), r.problem.empty() ? "true" : "false", JsonText(r.problem),
                 r.largest_error, r.first_ms, r.best_ms, r.compilations, r.hits, r.fallbacks);
  }
  std::printf("%s]}\n", line.c_str());
}

void PrintLines(const GraphCommandOptions& options, const std::string& name, Session& session, double load_ms,
                const std::vector<CaseResult>& results, bool signature) {
  const int clusters = session.executor().marking().num_clusters;
  std::printf("%s, mode %s: loaded in %.1f ms, %d cluster%s\n", name.c_str(), options.mode.c_str(), load_ms, clusters,
              clusters == 1 ? "" : "s");
  for (const CaseResult& r : results) {
    std::printf("  %s: %s; first %.2f ms, best %.3f ms; %ld compilation%s, %ld cache hit%s%s; largest error %.2g\n",
                r.name.c_str(), r.problem.empty() ? "right" : ("WRONG: " + r.problem).c_str(), r.first_ms, r.best_ms,
                static_cast<long>(r.compilations), r.compilations == 1 ? "" : "s", static_cast<long>(r.hits),
                r.hits == 1 ? "" : "s", r.fallbacks ? absl::StrCat(", ", r.fallbacks, " fallbacks").c_str() : "",
                r.largest_error);
  }
  if (!signature) return;
  for (const TensorInfo& t : session.inputs()) {
    std::printf("  input  %s: %s %s\n", t.name.c_str(), DataTypeName(t.type).c_str(), t.shape.ToString().c_str());
  }
  for (const TensorInfo& t : session.outputs()) {
    std::printf("  output %s: %s\n", t.name.c_str(), DataTypeName(t.type).c_str());
  }
}

// Whether all results are right.
absl::StatusOr<bool> Run(const GraphCommandOptions& options) {
  SessionOptions session_options;
  XC_ASSIGN_OR_RETURN(const GraphFiles files, FindGraph(options.path, &session_options));
  XC_RETURN_IF_ERROR(SetHost(options, &session_options.host));
  const auto start = std::chrono::steady_clock::now();
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                      Load(options, files, session_options, session_options.host.mode));
  const double load_ms = Milliseconds(start);
  const int64_t runs = std::max<int64_t>(options.runs, 1);
  std::vector<CaseResult> results;
  for (const std::string& path : files.cases) {
    XC_ASSIGN_OR_RETURN(CaseResult result, RunCase(*session, path, runs));
    results.push_back(std::move(result));
  }
  if (files.saved_model && files.cases.empty()) {
    XC_ASSIGN_OR_RETURN(const std::unique_ptr<Session> reference,
                        Load(options, files, session_options, HostMode::kHost));
    XC_ASSIGN_OR_RETURN(CaseResult result, RunMadeUp(*session, *reference, runs));
    results.push_back(std::move(result));
  }
  const std::string name = options.name.empty() ? BaseName(options.path) : options.name;
  if (options.json) {
    PrintJson(options, name, *session, load_ms, results);
  } else {
    PrintLines(options, name, *session, load_ms, results, files.cases.empty());
  }
  // With --json the explanation goes to stderr, so that stdout stays one line.
  if (options.explain) std::fputs(session->Explain().c_str(), options.json ? stderr : stdout);
  if (!options.explain_html.empty()) {
    XC_RETURN_IF_ERROR(WriteFile(options.explain_html, session->ExplainAsHtml()));
  }
  return std::all_of(results.begin(), results.end(), [](const CaseResult& r) { return r.problem.empty(); });
}

}  // namespace

int RunGraphCommand(const GraphCommandOptions& options) {
  const absl::StatusOr<bool> right = Run(options);
  if (!right.ok()) return options.fail ? options.fail(right.status()) : BadInput(right.status());
  return *right ? 0 : 1;
}

}  // namespace xc
