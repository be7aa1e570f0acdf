// LAPACK calls in the form that JAX had before 2024, through those of today: scalar operands before the arrays say what
// attributes say now, and among the results are workspaces.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "backends/runtime/lapack_common.h"

namespace xc {
namespace {

using Scalars = std::vector<int64_t>;

// One routine of the older form.
struct Original {
  size_t scalars;            // how many stand before the arrays
  std::vector<int> results;  // which of its results are those of today's form, in its order
  std::string (*attributes)(const Scalars&);
};

std::string Letter(const char* name, char letter) { return absl::StrCat(name, " = ", int{letter}, " : ui8"); }
std::string Triangle(int64_t lower) { return Letter("uplo", lower != 0 ? 'L' : 'U'); }
std::string Nothing(const Scalars&) { return ""; }

// By the routine's name without its type's letter; `complex` where real and complex types differ.
const Original* Find(absl::string_view routine, bool complex) {
  static const auto* const kRoutines = new std::map<std::string, Original>{
      {"trsm",
       {8,
        {0},
        [](const Scalars& s) {
          const char trans = s[2] == 0 ? 'N' : (s[2] == 1 ? 'T' : 'C');
          return absl::StrCat(Letter("side", s[0] != 0 ? 'L' : 'R'), ", ", Triangle(s[1]), ", ",
                              Letter("trans_x", trans), ", ", Letter("diag", s[3] != 0 ? 'U' : 'N'));
        }}},
      {"getrf", {3, {0, 1, 2}, Nothing}},
      {"geqrf", {4, {0, 1}, Nothing}},
      {"orgqr", {5, {0}, Nothing}},
      {"ungqr", {5, {0}, Nothing}},
      {"potrf", {3, {0, 1}, [](const Scalars& s) { return Triangle(s[0]); }}},
      {"gesdd",
       {6,
        {0, 1, 2, 3, 4},
        [](const Scalars& s) { return Letter("mode", s[1] == 0 ? 'N' : (s[0] != 0 ? 'A' : 'S')); }}},
      {"syevd",
       {3, {0, 1, 2}, [](const Scalars& s) { return absl::StrCat(Letter("mode", 'V'), ", ", Triangle(s[0])); }}},
      {"heevd",
       {3, {0, 1, 2}, [](const Scalars& s) { return absl::StrCat(Letter("mode", 'V'), ", ", Triangle(s[0])); }}},
      {"gehrd",
       {6,
        {0, 1, 2},
        [](const Scalars& s) { return absl::StrCat("low = ", s[1], " : i64, high = ", s[2], " : i64"); }}},
      {"sytrd", {5, {0, 1, 2, 3, 4}, [](const Scalars& s) { return Triangle(s[1]); }}},
      {"hetrd", {5, {0, 1, 2, 3, 4}, [](const Scalars& s) { return Triangle(s[1]); }}},
  };
  const auto spectrum = [](const Scalars& s) {
    return absl::StrCat(Letter("compute_left", static_cast<char>(s[2])), ", ",
                        Letter("compute_right", static_cast<char>(s[3])));
  };
  const auto schur = [](const Scalars& s) {
    return absl::StrCat(Letter("mode", static_cast<char>(s[2])), ", ", Letter("sort", static_cast<char>(s[3])));
  };
  static const auto* const kEigen = new Original[2]{{4, {3, 4, 5, 6, 7}, spectrum}, {4, {2, 3, 4, 5}, spectrum}};
  static const auto* const kSchur = new Original[2]{{4, {0, 3, 1, 2, 4, 5}, schur}, {4, {0, 3, 2, 4, 5}, schur}};
  if (routine == "geev") return &kEigen[complex];
  if (routine == "gees") return &kSchur[complex];
  const auto it = kRoutines->find(std::string(routine));
  return it == kRoutines->end() ? nullptr : &it->second;
}

// The value of a scalar operand: an integer, or the factor of trsm, which has to be 1.
absl::StatusOr<int64_t> ScalarOf(const CallBuffer& buffer) {
  if (buffer.dims.empty()) {
    switch (buffer.type) {
      case RtType::kS32:
        return *static_cast<const int32_t*>(buffer.data);
      case RtType::kU8:
        return *static_cast<const uint8_t*>(buffer.data);
      case RtType::kF32:
      case RtType::kC64:
        if (*static_cast<const float*>(buffer.data) == 1) return 1;
        break;
      case RtType::kF64:
      case RtType::kC128:
        if (*static_cast<const double*>(buffer.data) == 1) return 1;
        break;
      default:
        break;
    }
  }
  return absl::InvalidArgumentError("one of the first operands is neither an integer nor the factor 1");
}

absl::Status Call(const Original& original, const CallFunction& function, RunContext* ctx, const CallArgs& args) {
  if (args.inputs.size() <= original.scalars) {
    return absl::InvalidArgumentError(absl::StrCat("takes more than ", original.scalars, " operands"));
  }
  Scalars scalars;
  for (const CallBuffer& buffer : args.inputs.subspan(0, original.scalars)) {
    XC_ASSIGN_OR_RETURN(int64_t value, ScalarOf(buffer));
    scalars.push_back(value);
  }
  XC_ASSIGN_OR_RETURN(const CallAttributes attributes,
                      CallAttributes::Parse(absl::StrCat("{", original.attributes(scalars), "}")));
  std::vector<CallBuffer> outputs;
  for (int result : original.results) {
    if (result >= static_cast<int>(args.outputs.size())) {
      return absl::InvalidArgumentError(absl::StrCat("gives more than ", args.outputs.size(), " results"));
    }
    outputs.push_back(args.outputs[result]);
  }
  // The rest are workspaces, and info of routines that cannot fail.
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    if (std::find(original.results.begin(), original.results.end(), static_cast<int>(i)) != original.results.end()) {
      continue;
    }
    const CallBuffer& rest = args.outputs[i];
    std::memset(rest.data, 0, rest.elements() * SizeOf(rest.type));
  }
  return function(ctx, {args.target, args.inputs.subspan(original.scalars), outputs, args.backend_config, &attributes});
}

}  // namespace

NamedCalls LapackOriginalCalls(const NamedCalls& calls) {
  NamedCalls originals;
  constexpr size_t kPrefix = 7, kSuffix = 4;  // of lapack_XNAME_ffi
  for (const auto& [name, function] : calls) {
    if (!absl::StartsWith(name, "lapack_")) continue;
    const std::string routine = name.substr(kPrefix, name.size() - kPrefix - kSuffix);
    const Original* original = Find(routine.substr(1), routine[0] == 'c' || routine[0] == 'z');
    if (original == nullptr) continue;
    originals.emplace_back(absl::StrCat(routine.substr(1) == "trsm" ? "blas_" : "lapack_", routine),
                           [original, function = function](RunContext* ctx, const CallArgs& args) {
                             return Call(*original, function, ctx, args);
                           });
  }
  return originals;
}

}  // namespace xc
