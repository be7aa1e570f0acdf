// What the lowerings of all operations share: operands, results, and regions as computations.
#include "absl/container/flat_hash_set.h"
#include "absl/strings/strip.h"
#include "hlo/shape_inference/shape_inference.h"
#include "importers/stablehlo/lower/lowering.h"

namespace xc::stablehlo {

Op Pack(HloBuilder& b, Ops values) { return values.size() == 1 ? values[0] : b.Tuple(values); }

std::vector<Op> OpLowering::Operands(int64_t first, int64_t count) {
  std::vector<Op> operands;
  const int64_t end = count < 0 ? static_cast<int64_t>(op.operands.size()) : first + count;
  for (int64_t i = first; i < end; ++i) operands.push_back(in(i));
  return operands;
}

const Shape& OpLowering::result(int64_t i) {
  if (i < static_cast<int64_t>(op.results.size())) return op.results[i]->shape;
  static const Shape* const kNone = new Shape(Shape::Scalar(ElementType::kF32));
  Fail(i == 0 ? "should have a result" : absl::StrCat("should have ", i + 1, " results"));
  return *kNone;
}

Shape OpLowering::ResultShape() const {
  if (op.results.size() == 1) return op.results[0]->shape;
  std::vector<Shape> shapes;
  for (const Value* value : op.results) shapes.push_back(value->shape);
  return Shape::Tuple(std::move(shapes));
}

AttrReader OpLowering::Fields(absl::string_view name) {
  const Attr* attr = attrs.Find(name);
  if (attr == nullptr) return AttrReader(op.attributes);
  if (attr->kind != Attr::Kind::kDialect && attr->kind != Attr::Kind::kDictionary) {
    Fail(absl::StrCat("attribute `", name, "` should have fields, as in #stablehlo.", name, "<…>"));
  }
  return AttrReader(attr->fields);
}

void OpLowering::Finish(const AttrReader& fields, absl::string_view name) {
  if (!fields.ok()) return Fail(fields.error());
  const Attr* attr = attrs.Find(name);
  if (attr == nullptr) {
    for (const auto& [key, value] : op.attributes) {
      if (fields.Used(key)) attrs.Find(key);
    }
  } else if (const std::string* unknown = fields.Unknown()) {
    Fail(absl::StrCat("`", name, "` has no field `", *unknown, "`"));
  }
}

void OpLowering::Emit(HloOpcode opcode, Ops operands, Attributes attributes, absl::Span<HloComputation* const> called) {
  if (!ok()) return;
  const Shape given = ResultShape();
  Bind(b.Make(opcode, operands, std::move(attributes), called, &given));
}

void OpLowering::Bind(Op value) {
  if (!ok()) return;
  if (op.results.size() == 1) return BindEach({value});
  if (!value.shape().IsTuple() || value.shape().tuple_size() != static_cast<int64_t>(op.results.size())) {
    return Fail(absl::StrCat("gives ", value.shape().ToString(false), ", but has ", op.results.size(), " results"));
  }
  std::vector<Op> values;
  for (size_t i = 0; i < op.results.size(); ++i) values.push_back(b.GetTupleElement(value, i));
  BindEach(values);
}

void OpLowering::BindEach(Ops values) {
  if (!ok()) return;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Shape& declared = op.results[i]->shape;
    if (!Agree(values[i].shape(), declared)) {
      return Fail(absl::StrCat("result ", i, " is ", values[i].shape().ToString(false), ", but its type is given as ",
                               declared.ToString(false)));
    }
    if (values[i].shape().has_unknown_size()) {
      return Fail(absl::StrCat("the sizes of result ", i, ", ", values[i].shape().ToString(false),
                               ", do not follow from its operands"));
    }
    frame.values[op.results[i]] = values[i];
  }
}

namespace {

void CollectCaptures(const Region& region, const Frame& frame, absl::flat_hash_set<const Value*>* inside,
                     std::vector<const Value*>* captures) {
  for (const Value* argument : region.arguments) inside->insert(argument);
  for (const auto& op : region.operations) {
    for (const Value* operand : op->operands) {
      if (Lowering::ConstantOf(operand) != nullptr) continue;
      if (Lowering::FindKnown(frame, operand) != nullptr) continue;
      if (inside->insert(operand).second) captures->push_back(operand);
    }
    for (const Value* result : op->results) inside->insert(result);
    for (const Region& inner : op->regions) CollectCaptures(inner, frame, inside, captures);
  }
}

}  // namespace

std::vector<const Value*> OpLowering::Captures() const {
  absl::flat_hash_set<const Value*> inside;
  std::vector<const Value*> captures;
  for (const Region& region : op.regions) CollectCaptures(region, frame, &inside, &captures);
  return captures;
}

// Of a region or a function, which says its place itself.
void OpLowering::FailInside(absl::Status error) {
  lowering.SetInnerError(error);
  b.SetError(std::move(error));
}

std::unique_ptr<HloBuilder> OpLowering::SubBuilder(int64_t region) {
  const absl::string_view name = absl::StripPrefix(absl::StripPrefix(op.name, "stablehlo."), "chlo.");
  std::unique_ptr<HloBuilder> builder = b.SubBuilder(absl::StrCat(name, "_region_", region));
  builder->ClearMetadata();
  return builder;
}

HloComputation* OpLowering::FlatRegion(int64_t i) {
  if (!ok()) return nullptr;
  if (const std::vector<const Value*> captures = Captures(); !captures.empty()) {
    Fail(absl::StrCat("its region uses %", captures[0]->name, " from outside, which is not a constant"));
    return nullptr;
  }
  std::unique_ptr<HloBuilder> builder = SubBuilder(i);
  Frame inner{*builder, frame.known};
  for (const Value* argument : op.regions[i].arguments) {
    if (argument->shape.has_unknown_size()) {
      Fail(absl::StrCat("its region takes %", argument->name, ", whose type leaves sizes open"));
      return nullptr;
    }
    inner.values[argument] = builder->Parameter(argument->index, argument->shape, HloName(argument->name));
  }
  std::vector<Op> results;
  if (absl::Status status = lowering.LowerBlock(op.regions[i], inner, &results); !status.ok()) {
    FailInside(std::move(status));
    return nullptr;
  }
  return builder->Finish(Pack(*builder, results));
}

HloComputation* OpLowering::StateRegion(int64_t i, Ops arguments, absl::Span<const Value* const> captures,
                                        bool pass_on) {
  if (!ok()) return nullptr;
  const Region& region = op.regions[i];
  std::vector<const Value*> state(region.arguments.begin(), region.arguments.end());
  state.insert(state.end(), captures.begin(), captures.end());
  std::vector<Shape> shapes;
  for (Op argument : arguments) shapes.push_back(argument.shape());
  for (const Value* capture : captures) shapes.push_back(lowering.Get(frame, capture).shape());
  std::unique_ptr<HloBuilder> builder = SubBuilder(i);
  Frame inner{*builder, frame.known};
  if (state.size() == 1) {
    inner.values[state[0]] = builder->Parameter(0, shapes[0], HloName(state[0]->name));
  } else {
    const Op parameter = builder->Parameter(0, Shape::Tuple(std::move(shapes)), "state");
    for (size_t e = 0; e < state.size(); ++e) inner.values[state[e]] = builder->GetTupleElement(parameter, e);
  }
  std::vector<Op> results;
  if (absl::Status status = lowering.LowerBlock(region, inner, &results); !status.ok()) {
    FailInside(std::move(status));
    return nullptr;
  }
  if (pass_on) {
    for (const Value* capture : captures) results.push_back(inner.values[capture]);
  }
  return builder->Finish(Pack(*builder, results));
}

void OpLowering::InlineRegion(int64_t i) {
  const Region& region = op.regions[i];
  std::vector<Op> results;
  if (absl::Status status = lowering.LowerBlock(region, frame, &results); !status.ok()) {
    return FailInside(std::move(status));
  }
  if (results.size() != op.results.size()) {
    return Fail(
        absl::StrCat("its region returns ", results.size(), " values, but it has ", op.results.size(), " results"));
  }
  for (size_t r = 0; r < results.size(); ++r) {
    SetKnown(static_cast<int64_t>(r), Lowering::FindKnown(frame, region.operations.back()->operands[r]));
  }
  BindEach(results);
}

void OpLowering::SetKnown(int64_t result, KnownPtr known) {
  if (known != nullptr && lowering.refines()) frame.known.emplace(op.results[result], std::move(known));
}

const Callee* OpLowering::FindCallee(const Attr* symbol, absl::Span<const Shape> arguments,
                                     absl::Span<const KnownPtr> known) {
  if (!ok() || symbol == nullptr) return nullptr;
  if (symbol->kind != Attr::Kind::kSymbol) return Fail("expected the name of a function, as in @f"), nullptr;
  absl::StatusOr<const Callee*> callee = lowering.FindFunction(symbol->text, b, arguments, known);
  if (!callee.ok()) return FailInside(callee.status()), nullptr;
  if (*callee == nullptr) Fail(absl::StrCat("the function @", symbol->text, " is not defined"));
  return *callee;
}

void OpLowering::Call(const Attr* symbol, Attributes attributes) {
  std::vector<Shape> shapes;
  std::vector<KnownPtr> known_operands;
  for (size_t i = 0; lowering.refines() && i < op.operands.size(); ++i) {
    known_operands.push_back(known(static_cast<int64_t>(i)));
    const KnownPtr& operand = known_operands.back();
    shapes.push_back(operand != nullptr ? ShapeOf(*operand) : in(static_cast<int64_t>(i)).shape());
  }
  const Callee* callee = FindCallee(symbol, shapes, known_operands);
  if (callee == nullptr) return;
  bool all_known = lowering.refines() && callee->results.size() == op.results.size();
  for (size_t i = 0; i < callee->results.size() && i < op.results.size(); ++i) {
    all_known &= callee->results[i] != nullptr && Agree(ShapeOf(*callee->results[i]), op.results[i]->shape);
    SetKnown(static_cast<int64_t>(i), callee->results[i]);
  }
  if (!all_known || callee->computes) Emit(HloOpcode::kCall, Operands(), std::move(attributes), {callee->computation});
}

}  // namespace xc::stablehlo
