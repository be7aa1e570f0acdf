// Modules that leave sizes open: the shapes of the entry's arguments are given, and every other shape follows from them
// while operations are lowered. Functions are made for the shapes, and the known integers, that they are called with.
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "hlo/shape_inference/shape_inference.h"
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {
namespace {

bool TakesSizes(const Operation& op) {
  if (op.row->takes_sizes) return true;
  const Attr* target = FindAttr(op.attributes, "call_target_name");
  return target != nullptr && IsCallOfSizes(target->text);
}

bool TakesSizes(const Region& region) {
  for (const auto& op : region.operations) {
    if (TakesSizes(*op)) return true;
    for (const Region& inner : op->regions) {
      if (TakesSizes(inner)) return true;
    }
  }
  return false;
}

// What tells the uses of a function apart.
std::string KeyOf(const Function& function, absl::Span<const Shape> arguments, absl::Span<const KnownPtr> known) {
  std::string key = function.name;
  for (const Shape& shape : arguments) absl::StrAppend(&key, ";", shape.ToString(false));
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i] != nullptr) absl::StrAppend(&key, ";", i, "=", absl::StrJoin(known[i]->values, ","));
  }
  return key;
}

bool Computes(const HloComputation& computation) {
  for (const auto& instruction : computation.instructions()) {
    const HloOpcode opcode = instruction->opcode();
    if (opcode != HloOpcode::kParameter && opcode != HloOpcode::kConstant && opcode != HloOpcode::kTuple) return true;
  }
  return false;
}

}  // namespace

bool Lowering::FindsOpenSizes() const {
  for (const Value& value : program_.values) {
    if (value.shape.has_unknown_size()) return true;
  }
  for (const auto& function : program_.functions) {
    if (TakesSizes(function->body)) return true;
  }
  return false;
}

// The shapes that are given where the types of arguments leave sizes open, else those of the types.
absl::StatusOr<std::vector<Shape>> Lowering::EntryArguments(const Function& entry) const {
  std::vector<Shape> shapes;
  for (const Value* argument : entry.body.arguments) {
    const Shape& type = argument->shape;
    shapes.push_back(type);
    if (!type.has_unknown_size()) continue;
    const auto error = [&](absl::string_view what) {
      return Error(entry.at,
                   absl::StrCat("argument ", argument->index, " of @", entry.name, " is ", type.ToString(false), what));
    };
    if (!options_.argument_shape) return error(", which leaves sizes open: the shape of the argument should be given");
    const absl::StatusOr<Shape> given = options_.argument_shape(argument->index, type);
    if (!given.ok()) return error(absl::StrCat(": ", given.status().message()));
    if (!Agree(*given, type) || given->is_dynamic() || !ValidateShape(*given).ok()) {
      return error(absl::StrCat(", but its shape is given as ", given->ToString(false)));
    }
    shapes.back() = WithoutLayout(*given);
  }
  return shapes;
}

absl::Status Lowering::CheckArguments(const Function& function, absl::Span<const Shape> arguments) const {
  const std::vector<Value*>& wanted = function.body.arguments;
  if (arguments.size() != wanted.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("@", function.name, " takes ", wanted.size(), " arguments, found ", arguments.size()));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (Agree(arguments[i], wanted[i]->shape) && !arguments[i].has_unknown_size()) continue;
    return absl::InvalidArgumentError(absl::StrCat("argument ", i, " of @", function.name, " is ",
                                                   wanted[i]->shape.ToString(false), ", found ",
                                                   arguments[i].ToString(false)));
  }
  return absl::OkStatus();
}

absl::StatusOr<const Callee*> Lowering::FindFunction(const std::string& name, HloBuilder& caller,
                                                     absl::Span<const Shape> arguments,
                                                     absl::Span<const KnownPtr> known) {
  const auto found = program_.by_name.find(name);
  if (found == program_.by_name.end() || !found->second->has_body) return nullptr;
  const Function& function = *found->second;
  std::vector<Shape> shapes(arguments.begin(), arguments.end());
  if (shapes.empty()) {
    for (const Value* argument : function.body.arguments) shapes.push_back(argument->shape);
  }
  const auto made = callees_.find(refines_ ? KeyOf(function, shapes, known) : name);
  if (made != callees_.end()) return made->second.get();
  return Specialize(function, caller, shapes, known);
}

absl::StatusOr<const Callee*> Lowering::Specialize(const Function& function, HloBuilder& caller,
                                                   absl::Span<const Shape> arguments,
                                                   absl::Span<const KnownPtr> known) {
  if (absl::Status status = CheckArguments(function, arguments); !status.ok()) {
    return Error(function.at, std::string(status.message()));
  }
  std::unique_ptr<HloBuilder> builder = caller.SubBuilder(HloName(function.name));
  builder->ClearMetadata();
  KnownValues values;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i] != nullptr) values.emplace(function.body.arguments[i], known[i]);
  }
  Frame frame{*builder, values};
  XC_RETURN_IF_ERROR(LowerFunction(function, arguments, frame));
  auto callee = std::make_unique<Callee>();
  callee->computation = builder->computation();
  callee->computes = Computes(*callee->computation);
  for (const Value* result : function.body.operations.back()->operands) {
    callee->results.push_back(FindKnown(frame, result));
  }
  auto& place = callees_[refines_ ? KeyOf(function, arguments, known) : function.name];
  place = std::move(callee);
  return place.get();
}

KnownPtr Lowering::FindKnown(const Frame& frame, const Value* value) {
  const auto found = frame.known.find(value);
  return found == frame.known.end() ? nullptr : found->second;
}

// Whether the operation's result is known; then nothing is emitted until it is used for more than sizes.
bool Lowering::FoldOperation(const Operation& op, Frame& frame) {
  if (op.results.size() != 1) return false;
  KnownPtr result;
  if (op.row->opcode == HloOpcode::kGetDimensionSize) {
    const Op array = Get(frame, op.operands[0]);
    AttrReader attrs(op.attributes);
    const int64_t dimension = attrs.Int("dimension");
    if (!array || !attrs.ok() || attrs.Unknown() != nullptr || dimension < 0 || dimension >= array.rank() ||
        array.shape().is_dynamic_dim(dimension) || op.results[0]->shape != Shape::Scalar(ElementType::kS32) ||
        array.dim(dimension) > INT32_MAX) {
      return false;
    }
    result = std::make_shared<const Known>(Known{ElementType::kS32, {}, {array.dim(dimension)}});
  } else {
    std::vector<KnownPtr> operands;
    for (const Value* operand : op.operands) {
      operands.push_back(FindKnown(frame, operand));
      if (operands.back() == nullptr) return false;
    }
    result = Fold(op, operands);
  }
  if (result == nullptr) return false;
  frame.known.emplace(op.results[0], std::move(result));
  return true;
}

absl::Status Lowering::CountOperation(const Operation& op) {
  if (--operations_budget_ >= 0) return absl::OkStatus();
  return Error(op.at, absl::StrCat(op.name,
                                   ": the module becomes too large: its functions are called with too many "
                                   "different shapes"));
}

}  // namespace xc::stablehlo
