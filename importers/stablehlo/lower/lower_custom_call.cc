// Custom calls: their layouts, aliases and configuration, and those that mean something to this reader.
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "hlo/text/structure.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;
using O = HloOpcode;

// The program compares its two operands; the comparison itself is the caller's.
void LowerCheck(OpLowering& op) {
  if (!op.frame.is_entry) return op.Fail("only the entry function can check itself");
  if (op.op.operands.size() != 2 || !op.op.results.empty()) {
    return op.Fail("expected an actual and an expected value, and no results");
  }
  for (const auto& [name, attr] : op.op.attributes) op.attrs.Find(name);  // how close is the caller's to say
  for (int64_t i : {0, 1}) op.lowering.check_pairs().push_back(op.in(i));
}

namespace {

// `[dense<[0, 1]> : tensor<2xindex>, …]`: the order of each shape's dimensions in memory, minor first.
void SetLayouts(OpLowering& op, absl::string_view name, absl::Span<Shape* const> shapes) {
  const Attr* list = op.attrs.Find(name);
  if (list == nullptr) return;
  if (list->items.size() != shapes.size()) {
    return op.Fail(absl::StrCat("attribute `", name, "` should have ", shapes.size(), " layouts"));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const AttrList one = {{"layout", list->items[i]}};
    AttrReader reader(one);
    Layout layout;
    layout.minor_to_major = reader.Ints("layout");
    Int64List sorted = layout.minor_to_major;
    std::sort(sorted.begin(), sorted.end());
    bool permutation = reader.ok() && static_cast<int64_t>(sorted.size()) == shapes[i]->rank();
    for (size_t d = 0; permutation && d < sorted.size(); ++d) permutation = sorted[d] == static_cast<int64_t>(d);
    if (!permutation) {
      return op.Fail(absl::StrCat("attribute `", name, "`: element ", i, " is no order of the dimensions of ",
                                  shapes[i]->ToString(false)));
    }
    if (shapes[i]->rank() > 0) shapes[i]->set_layout(std::move(layout));
  }
}

// `#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []>`.
void SetAliases(OpLowering& op, Attributes* attributes) {
  const Attr* list = op.attrs.Find("output_operand_aliases");
  if (list == nullptr || list->items.empty()) return;
  OutputOperandAliasing aliasing;
  for (const Attr& item : list->items) {
    AttrReader fields(item.fields);
    OutputOperandAlias alias;
    alias.output_index = fields.Ints("output_tuple_indices", Int64List());
    alias.operand = fields.Int("operand_index");
    alias.operand_index = fields.Ints("operand_tuple_indices", Int64List());
    if (!fields.ok()) return op.Fail(absl::StrCat("output_operand_aliases: ", fields.error()));
    aliasing.push_back(std::move(alias));
  }
  attributes->Set<A::kOutputToOperandAliasing>(std::move(aliasing));
}

// The operands of the call itself: not those that say the shapes of its results (`indices_of_shape_operands`), which
// `results` gets.
std::vector<int64_t> OwnOperands(OpLowering& op, Shape* results) {
  const int64_t count = static_cast<int64_t>(op.op.operands.size());
  const Int64List shapes = op.attrs.Ints("indices_of_shape_operands", Int64List());
  const int64_t result_count = static_cast<int64_t>(op.op.results.size());
  if (!shapes.empty() && static_cast<int64_t>(shapes.size()) != result_count) {
    op.Fail("attribute `indices_of_shape_operands` should have an operand for each result");
    return {};
  }
  std::vector<bool> own(count, true);
  for (int64_t i = 0; op.ok() && i < static_cast<int64_t>(shapes.size()); ++i) {
    if (shapes[i] < 0 || shapes[i] >= count) {
      op.Fail(absl::StrCat("attribute `indices_of_shape_operands` has ", shapes[i], ", but there are ", count,
                           " operands"));
      return {};
    }
    own[shapes[i]] = false;
    Shape& shape = results->IsTuple() && result_count != 1 ? results->mutable_tuple_shapes()[i] : *results;
    shape = Shape(shape.type(), ResultSizes(op, shapes[i], i));
  }
  std::vector<int64_t> operands;
  for (int64_t i = 0; i < count; ++i) {
    if (own[i]) operands.push_back(i);
  }
  return operands;
}

// ApproxTopK whose number of elements is its last operand, in the place of an entry of its configuration.
std::string WithTopK(OpLowering& op, int64_t operand, absl::string_view config) {
  const Int64List k = KnownInts(op, operand, "number of elements");
  if (op.ok() && k.size() != 1) op.Fail("its last operand should be one integer");
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(absl::StripPrefix(config, "{"));
  return op.ok() ? absl::StrCat("{top_k = ", k[0], " : i64", absl::StartsWith(rest, "}") ? "" : ", ", rest) : "";
}

// Operations of HLO that StableHLO once had not, which programs made to last carry as calls of `mhlo.…`. Whether the
// target is one of them.
bool LowerPortable(OpLowering& op, absl::string_view target) {
  static constexpr std::pair<absl::string_view, HloOpcode> kUnary[] = {
      {"mhlo.acos", O::kAcos},   {"mhlo.acosh", O::kAcosh}, {"mhlo.asin", O::kAsin},
      {"mhlo.asinh", O::kAsinh}, {"mhlo.atanh", O::kAtanh}, {"mhlo.cosh", O::kCosh},
      {"mhlo.erf", O::kErf},     {"mhlo.sinh", O::kSinh},   {"mhlo.tan", O::kTan}};
  for (const auto& [name, opcode] : kUnary) {
    if (name == target) return op.Emit(opcode, op.Operands()), true;
  }
  if (target != "mhlo.topk") return false;
  const Attr* config = op.attrs.Require("mhlo.attributes");
  if (config == nullptr) return true;
  AttrReader fields(config->fields);
  Attributes attributes;
  attributes.Set<A::kK>(fields.Int("k"));
  attributes.Set<A::kLargest>(fields.Bool("largest", true));
  if (!fields.ok()) return op.Fail(fields.error()), true;
  op.Emit(O::kTopk, op.Operands(), std::move(attributes));
  return true;
}

}  // namespace

void LowerCustomCall(OpLowering& op) {
  std::string target = op.attrs.Word("call_target_name");
  if (absl::StartsWith(target, "check.")) return LowerCheck(op);
  if (absl::StartsWith(target, "mhlo.") && LowerPortable(op, target)) return;
  if (LowerCallOfSizes(op, target)) return;
  const bool dynamic_top_k = target == "stablehlo.dynamic_approx_top_k";
  if (dynamic_top_k) target = "ApproxTopK";
  Shape given = op.ResultShape();
  std::vector<int64_t> operands = OwnOperands(op, &given);
  if (dynamic_top_k && operands.empty()) op.Fail("expected the number of elements as its last operand");
  if (!op.ok()) return;
  const int64_t top_k = dynamic_top_k ? operands.back() : 0;
  if (dynamic_top_k) operands.pop_back();
  Attributes attributes;
  attributes.Set<A::kCustomCallTarget>(target);
  if (op.attrs.Bool("has_side_effect", false)) attributes.Set<A::kCustomCallHasSideEffect>(true);
  // Where no version is given, a configuration with names and types says that it is the latest.
  const Attr* named = op.attrs.Find("mhlo.backend_config");
  const bool typed = named != nullptr && named->kind == Attr::Kind::kDictionary;
  const int64_t version = op.attrs.Int("api_version", typed ? 4 : 1);
  constexpr absl::string_view kVersions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                             "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
                                             "API_VERSION_TYPED_FFI"};
  if (version < 0 || version > 4) return op.Fail(absl::StrCat("api_version ", version, " is not known"));
  if (version > 1) attributes.Set<A::kApiVersion>(std::string(kVersions[version]));
  for (absl::string_view name : {"backend_config", "mhlo.backend_config"}) {
    const Attr* config = op.attrs.Find(name);
    if (config == nullptr) continue;
    const bool dictionary = config->kind == Attr::Kind::kDictionary;
    if (!dictionary && config->kind != Attr::Kind::kString) {
      return op.Fail(absl::StrCat("attribute `", name, "` should be a string or a dictionary"));
    }
    std::string text = dictionary ? std::string(config->source) : config->text;
    if (dynamic_top_k) text = WithTopK(op, top_k, text);
    const bool braced = IsBraced(text);
    if (!text.empty()) attributes.Set<A::kBackendConfig>(BackendConfig{std::move(text), braced});
  }
  FrontendAttributes pairs;
  if (const Attr* frontend = op.attrs.Find("mhlo.frontend_attributes"); frontend != nullptr) {
    for (const auto& [name, attr] : frontend->fields) pairs.emplace_back(name, attr.text);
  }
  if (const Attr* rule = op.attrs.Find("sdy.sharding_rule"); rule != nullptr && !rule->source.empty()) {
    pairs.emplace_back("xla.sdy.sharding_rule", std::string(rule->source));
  }
  if (!pairs.empty()) attributes.Set<A::kFrontendAttributes>(std::move(pairs));
  // Done by one device for all: a mesh without axes has one.
  if (const Attr* said = op.attrs.Find("sdy.sharding"); said != nullptr && op.lowering.has_devices()) {
    const auto shardings = ParseShardings(said->source, op.lowering.meshes());
    if (!shardings.ok()) return op.Fail(std::string(shardings.status().message()));
    if (!shardings->empty() && (*shardings)[0].mesh.axes.empty() && (*shardings)[0].mesh.device_ids.size() == 1) {
      Sharding sharding;
      sharding.type = Sharding::Type::kMaximal;
      sharding.devices = (*shardings)[0].mesh.device_ids;
      attributes.Set<A::kSharding>(std::move(sharding));
    }
  }
  std::vector<HloComputation*> called;
  if (const Attr* list = op.attrs.Find("called_computations"); list != nullptr) {
    for (const Attr& symbol : list->items) {
      const Callee* callee = op.FindCallee(&symbol, {}, {});
      called.push_back(callee != nullptr ? callee->computation : nullptr);
    }
  }
  if (!op.ok()) return;
  std::vector<Shape> shapes, operand_shapes;
  for (const Value* operand : op.op.operands) shapes.push_back(operand->shape);
  for (int64_t i : operands) shapes[i] = op.in(i).shape();
  std::vector<Shape*> pointers;
  for (Shape& shape : shapes) pointers.push_back(&shape);
  SetLayouts(op, "operand_layouts", pointers);
  std::vector<Op> arguments;
  for (int64_t i : operands) {
    arguments.push_back(op.in(i));
    operand_shapes.push_back(std::move(shapes[i]));
  }
  pointers.clear();
  if (op.op.results.size() == 1 && !given.IsTuple()) {
    pointers.push_back(&given);
  } else {
    for (Shape& shape : given.mutable_tuple_shapes()) pointers.push_back(&shape);
  }
  SetLayouts(op, "result_layouts", pointers);
  if (op.attrs.Has("operand_layouts")) attributes.Set<A::kOperandLayoutConstraints>(std::move(operand_shapes));
  SetAliases(op, &attributes);
  if (!op.ok()) return;
  const Op call = op.b.Make(O::kCustomCall, arguments, std::move(attributes), called, &given);
  if (call && op.attrs.Has("result_layouts")) *call.instruction()->mutable_shape() = given;
  if (!call || given.IsTuple() != (op.op.results.size() != 1)) return op.Bind(call);
  // All other values are row-major.
  std::vector<Op> results;
  for (size_t i = 0; i < op.op.results.size(); ++i) {
    Op result = given.IsTuple() ? op.b.GetTupleElement(call, i) : call;
    if (result && given.IsTuple()) *result.instruction()->mutable_shape() = given.tuple_shape(i);
    results.push_back(result.shape().IsRowMajor() ? result : op.b.Copy(result));
  }
  op.BindEach(results);
}

}  // namespace xc::stablehlo
