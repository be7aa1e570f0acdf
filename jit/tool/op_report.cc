#include "jit/tool/op_report.h"

#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

constexpr DataType kTypes[] = {DT_BOOL,     DT_INT8,   DT_INT16,  DT_INT32,     DT_INT64,
                               DT_UINT8,    DT_UINT16, DT_UINT32, DT_UINT64,    DT_HALF,
                               DT_BFLOAT16, DT_FLOAT,  DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128};

// Operations that the executor runs itself.
const std::set<std::string>& BuiltIn() {
  static const auto* ops = new std::set<std::string>{"Placeholder", "PlaceholderV2", "VarHandleOp", "_Arg",
                                                     "_Retval",     "Const",         "NoOp",        "ControlTrigger"};
  return *ops;
}

// Why an operation is not compiled; the first prefix that fits counts.
struct Reason {
  const char* prefix;
  const char* text;
};
constexpr Reason kReasons[] = {
    {"XlaCustomCall", "calls code of the program by name"},
    {"XlaDequantize", "packed words of another device's kernels"},
    {"XlaSetDynamic", "sizes that change at run time"},
    {"XlaAllReduce", "needs several devices: there is one"},
    {"XlaReduceScatter", "needs several devices: there is one"},
    {"XlaSend", "needs several devices: there is one"},
    {"XlaRecv", "needs several devices: there is one"},
    {"_Xla", "written by XLA's ahead-of-time compiler only"},
    {"Collective", "needs several devices: there is one"},
    {"SymbolicGradient", "gradients are functions of their own before a graph is saved"},
    {"Unique", "the size of the result depends on values"},
    {"Where", "the size of the result depends on values"},
    {"ListDiff", "the size of the result depends on values"},
    {"DynamicPartition", "the size of the result depends on values"},
    {"NonMaxSuppression", "how many boxes stay depends on values"},
    {"CombinedNonMax", "how many boxes stay depends on values"},
    {"Segment", "the size of the result depends on values"},
    {"Sparse", "sizes of sparse tensors depend on values"},
    {"Ragged", "sizes of ragged tensors depend on values"},
    {"Set", "sizes of sparse tensors depend on values"},
    {"DenseTo", "sizes of sparse tensors depend on values"},
    {"DenseCount", "sizes of sparse tensors depend on values"},
    {"EditDistance", "sizes of sparse tensors depend on values"},
    {"CTC", "sizes of sparse tensors depend on values"},
    {"LookupTable", "tables are the host's"},
    {"HashTable", "tables are the host's"},
    {"MutableHashTable", "tables are the host's"},
    {"Anonymous", "tables are the host's"},
    {"InitializeTable", "tables are the host's"},
    {"DestroyResource", "resources are the host's"},
    {"DisableCopyOnRead", "resources are the host's"},
    {"DebugGradient", "a mark for the graph's debugger"},
    {"Assert", "an effect: the host checks it"},
    {"Print", "an effect"},
    {"Random", "stateful random numbers: their order is the host's"},
    {"Truncated", "stateful random numbers: their order is the host's"},
    {"Multinomial", "stateful random numbers: their order is the host's"},
    {"ParameterizedTruncatedNormal", "stateful random numbers: their order is the host's"},
    {"StatelessParameterizedTruncatedNormal", "each value is drawn where the draws of the one before it end"},
    {"AllCandidate", "stateful random numbers: their order is the host's"},
    {"FixedUnigram", "stateful random numbers: their order is the host's"},
    {"LogUniformCandidate", "stateful random numbers: their order is the host's"},
    {"UniformCandidate", "stateful random numbers: their order is the host's"},
    {"Quantize", "quantized arithmetic"},
    {"Requanti", "quantized arithmetic"},
    {"Stack", "stacks of v1 gradients"},
    {"TensorArray", "becomes a TensorList when the graph is read, but for arrays of gradients"},
    {"TensorList", "a list whose size or element shape is not known while compiling"},
    {"EmptyTensorList", "a list whose size is not known while compiling"},
    {"String", "strings"},
    {"Substr", "strings"},
    {"AsString", "strings"},
    {"Decode", "strings"},
    {"Encode", "strings"},
    {"Parse", "strings"},
    {"ReduceJoin", "strings"},
    {"Regex", "strings"},
    {"StaticRegex", "strings"},
    {"Unicode", "strings"},
    {"UnsortedSegmentJoin", "strings"},
};

// Types that the list of TensorFlow's compiler has but no kernel of TensorFlow on the CPU, nor the op by its own check:
// no program that runs there holds them.
constexpr TypeSet kBoolAndComplex = TypeBit(DT_BOOL) | kComplexTypes;
TypeSet NowhereElse(const std::string& op) {
  static const auto* types = new std::map<std::string, TypeSet>{
      {"FloorDiv", kComplexTypes},
      {"TruncateDiv", kComplexTypes},
      {"LowerBound", kBoolAndComplex},
      {"UpperBound", kBoolAndComplex},
      {"TensorScatterMax", kBoolAndComplex},
      {"TensorScatterMin", kBoolAndComplex},
      {"TensorScatterAdd", TypeBit(DT_BOOL)},
      {"TensorScatterSub", TypeBit(DT_BOOL)},
      {"MirrorPadGrad", TypeBit(DT_BOOL)},
      {"XlaSelfAdjointEig", kIntTypes},
      {"_FusedConv2D", TypeBit(DT_INT8)},
  };
  auto it = types->find(op);
  return it == types->end() ? 0 : it->second;
}

std::string Why(const std::string& op) {
  for (const Reason& r : kReasons) {
    if (absl::StartsWith(op, r.prefix)) return r.text;
  }
  return "no lowering yet";
}

std::string TypeList(TypeSet set) {
  std::vector<std::string> names;
  for (DataType t : kTypes) {
    if (set & TypeBit(t)) names.push_back(DataTypeName(t));
  }
  return names.empty() ? "none" : absl::StrJoin(names, " ");
}

TypeSet AllListed() {
  TypeSet all = 0;
  for (DataType t : kTypes) all |= TypeBit(t);
  return all;
}

// The types after "T=" on a line of the list; all if it has no such part.
TypeSet WantedTypes(absl::string_view text) {
  size_t at = absl::StartsWith(text, "T={") ? 3 : text.find(" T={");
  if (at == absl::string_view::npos) return AllListed();
  if (at != 3) at += 4;
  TypeSet set = 0;
  for (absl::string_view name : absl::StrSplit(text.substr(at, text.find('}', at) - at), ',')) {
    for (DataType t : kTypes) {
      if (DataTypeName(t) == std::string(name)) set |= TypeBit(t);
    }
  }
  return set;
}

struct Row {
  std::string op, state, types, note;
};

Row Describe(const std::string& op, TypeSet wanted, bool has_types) {
  const Lowering* lowering = LoweringRegistry::Get().Find(op);
  bool host = KernelRegistry::Get().Find(op) != nullptr || BuiltIn().count(op) != 0;
  Row row{op, "", "", ""};
  if (lowering == nullptr) {
    row.state = host ? "host only" : "missing";
    row.note = BuiltIn().count(op) != 0 ? "part of the graph itself" : Why(op);
    return row;
  }
  row.state = "compiled";
  TypeSet types = lowering->types & AllListed();
  row.types = has_types || types != AllListed() ? TypeList(types & (has_types ? wanted : AllListed())) : "all";
  std::vector<std::string> notes;
  TypeSet missing = has_types ? wanted & ~types : 0;
  TypeSet nowhere = missing & NowhereElse(op);
  missing &= ~nowhere;
  if (missing != 0) notes.push_back("missing: " + TypeList(missing));
  if (nowhere != 0) notes.push_back("TensorFlow's CPU kernels do not take " + TypeList(nowhere) + " either");
  if (!lowering->constant_operands.empty()) {
    notes.push_back("known while compiling: " + absl::StrJoin(lowering->constant_operands, ", "));
  }
  if (lowering->flags & kUsesVariables) notes.push_back("variables enter and leave by value");
  if (lowering->flags & kUsesLists) notes.push_back("lists of known element shape");
  if (lowering->flags & kControlFlow) notes.push_back("when the functions compile");
  row.note = absl::StrJoin(notes, "; ");
  return row;
}

void Append(std::string* out, const std::vector<Row>& rows) {
  absl::StrAppend(out, "| op | state | types | note |\n|---|---|---|---|\n");
  for (const Row& r : rows) {
    absl::StrAppend(out, "| ", r.op, " | ", r.state, " | ", r.types, " | ", r.note, " |\n");
  }
}

}  // namespace

absl::StatusOr<std::string> OpReport(const std::string& wanted) {
  std::vector<Row> rows, others;
  std::set<std::string> seen;
  std::map<std::string, int> count;
  std::vector<std::string> lines = absl::StrSplit(wanted, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    if (line[0] == '#') continue;
    std::vector<std::string> parts = absl::StrSplit(line, '\t');
    if (parts.size() > 2) return absl::InvalidArgumentError(absl::StrCat("'", line, "' is not NAME<tab>TYPES"));
    std::string types = parts.size() == 2 ? parts[1] : "";
    if (!seen.insert(parts[0]).second) return absl::InvalidArgumentError(absl::StrCat(parts[0], " is listed twice"));
    rows.push_back(Describe(parts[0], WantedTypes(types), absl::StrContains(types, "T={")));
    ++count[rows.back().state];
  }
  std::set<std::string> rest;
  for (const auto& [op, lowering] : LoweringRegistry::Get().all()) rest.insert(op);
  for (const auto& [op, kernel] : KernelRegistry::Get().all()) rest.insert(op);
  int more = 0;
  for (const std::string& op : rest) {
    if (seen.count(op) != 0) continue;
    others.push_back(Describe(op, 0, false));
    more += others.back().state == "compiled";
  }
  std::string out = absl::StrCat(
      "# Operations\n\nWritten by `bazel run //jit/tool:op_report`; a test compares. An op is *compiled* when it can "
      "be in "
      "a cluster, *host only* when the host runtime has a kernel but the compiler no lowering, else *missing*. Types "
      "are "
      "those of the attribute T (or of the outputs). Every compiled op also runs with clustering off, as a module of "
      "one "
      "op or by a host kernel.\n\n## What TensorFlow's own compiler takes\n\nOf ",
      rows.size(), " ops: ", count["compiled"], " compiled, ", count["host only"], " host only, ", count["missing"],
      " missing.\n\n");
  Append(&out, rows);
  absl::StrAppend(&out, "\n## Others\n\n", more, " more are compiled.\n\n");
  Append(&out, others);
  return out;
}

}  // namespace xc
