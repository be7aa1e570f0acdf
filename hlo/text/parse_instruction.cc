// Instructions: one line each, with operands by name (or nested), and the sugar for asynchronous pairs.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hlo/base/suggest.h"
#include "hlo/shape_inference/shape_inference.h"
#include "hlo/text/parser_impl.h"
#include "hlo/text/structure.h"

namespace xc {
namespace {

// "custom-call-start" → {async-start, custom-call}.
struct AsyncSugar {
  HloOpcode opcode;
  HloOpcode wrapped;
};
std::optional<AsyncSugar> FindAsyncSugar(absl::string_view name) {
  for (const auto& [suffix, opcode] : {std::pair<absl::string_view, HloOpcode>{"-start", HloOpcode::kAsyncStart},
                                       {"-update", HloOpcode::kAsyncUpdate},
                                       {"-done", HloOpcode::kAsyncDone}}) {
    absl::string_view base = name;
    if (!absl::ConsumeSuffix(&base, suffix)) continue;
    if (const auto wrapped = OpcodeFromName(base)) return AsyncSugar{opcode, *wrapped};
  }
  return std::nullopt;
}

std::string UnknownOpcode(absl::string_view written) {
  std::vector<std::string> names;
  for (int i = 0; i < kOpcodeCount; ++i) names.emplace_back(OpcodeName(static_cast<HloOpcode>(i)));
  return absl::StrCat("unknown opcode '", written, "'", DidYouMean(written, names));
}

// How many shapes `shape` consists of, itself included, and how deep they are nested; counted up to `most` only.
void CountParts(const Shape& shape, int64_t most, int64_t depth, int64_t* parts, int64_t* deepest) {
  *deepest = std::max(*deepest, depth);
  if (++*parts > most) return;
  for (const Shape& element : shape.tuple_shapes()) CountParts(element, most, depth + 1, parts, deepest);
}

}  // namespace

// Whether an opcode stands here, and no shape before it.
bool Parser::AtOpcode() const {
  return lex_.tok().kind == Tok::kName && !lex_.tok().percent && lex_.PeekChar() == '(' && !lex_.AtName("b");
}

// [ROOT] %name = [shape] opcode(operands), attributes
bool Parser::ParseInstructionLine(HloComputation* computation) {
  const char* line = lex_.position();
  const bool root = lex_.AtName("ROOT");
  if (root) lex_.Next();
  if (lex_.tok().kind != Tok::kName) return Expected("the name of an instruction or '}'");
  const absl::string_view name = lex_.tok().text;
  const char* name_at = lex_.position();
  if (values_.contains(name)) return Fail(name_at, absl::StrCat("instruction '", name, "' is defined twice"));
  lex_.Next();
  if (!Expect('=')) return false;
  std::optional<Shape> shape;
  if (!AtOpcode() && !Parse(&shape.emplace())) return false;
  HloInstruction* instruction = nullptr;
  if (!ParseRhs(computation, name, std::move(shape), /*nested=*/false, 0, &instruction)) return false;
  values_.emplace(name, instruction);
  if (root) {
    if (root_seen_) return Fail(line, "a computation has only one ROOT, this is the second");
    root_seen_ = true;
    computation->set_root(instruction);
  }
  return true;
}

bool Parser::ParseRhs(HloComputation* computation, absl::string_view name, std::optional<Shape> shape, bool nested,
                      int depth, HloInstruction** out) {
  const char* opcode_at = lex_.position();
  if (lex_.tok().kind != Tok::kName) return Expected("an opcode");
  if (++instructions_ > options_.max_instructions) {
    return Fail(opcode_at, absl::StrCat("the text has more than ", options_.max_instructions, " instructions"));
  }
  std::optional<HloOpcode> opcode = OpcodeFromName(lex_.tok().text);
  std::optional<AsyncSugar> sugar;
  if (!opcode) {
    sugar = FindAsyncSugar(lex_.tok().text);
    if (!sugar) return Fail(opcode_at, UnknownOpcode(lex_.tok().text));
    opcode = sugar->opcode;
  }
  if (!shape && (*opcode == HloOpcode::kParameter || *opcode == HloOpcode::kConstant || sugar)) {
    return Fail(opcode_at, absl::StrCat("'", lex_.tok().text, "' needs its shape before the opcode"));
  }
  lex_.Next();
  if (!Expect('(')) return false;

  std::unique_ptr<HloInstruction> owned;
  const bool infer = !shape;
  const size_t first_fixup = fixups_.size();
  if (*opcode == HloOpcode::kParameter) {
    if (!ParseParameter(computation, *shape, &owned)) return false;
  } else if (*opcode == HloOpcode::kConstant) {
    Literal literal;
    if (!ParseLiteralOf(*shape, &literal)) return false;
    owned = HloInstruction::CreateConstant(std::move(literal));
  } else {
    std::vector<HloInstruction*> operands;
    if (!ParseOperands(computation, depth, &operands)) return false;
    const int arity = OpcodeArity(*opcode);
    if (arity != kVariadic && arity != static_cast<int>(operands.size())) {
      return Fail(opcode_at, absl::StrCat(OpcodeName(*opcode), " takes ", arity, arity == 1 ? " operand" : " operands",
                                          ", found ", operands.size()));
    }
    owned = HloInstruction::Create(*opcode, std::move(shape).value_or(Shape()), operands);
  }
  if (!Expect(')')) return false;

  // With sugar, the attributes behind the operands are the wrapped instruction's.
  HloInstruction* instruction = owned.get();
  if (!nested) {
    if (sugar && *opcode == HloOpcode::kAsyncStart) {
      if (!WrapAsync(computation, sugar->wrapped, instruction)) return false;
    } else if (lex_.At(',') && !ParseAttributes(instruction)) {
      return false;
    }
  }
  if (!CheckRequired(*instruction, opcode_at)) return false;
  CanonicalizeAttributes(instruction);
  if (infer && !InferShapeOf(instruction, computation, first_fixup, opcode_at)) return false;
  instruction->set_name(std::string(name));
  *out = computation->Add(std::move(owned));
  return true;
}

// Of the operands' layouts, those stay that the result has room for.
bool Parser::InferShapeOf(HloInstruction* instruction, const HloComputation* computation, size_t first_fixup,
                          const char* at) {
  for (size_t i = first_fixup; i < fixups_.size(); ++i) {
    const auto it = computations_.find(fixups_[i].name);
    if (it == computations_.end() || it->second == computation) {
      return Fail(at,
                  absl::StrCat("'", OpcodeName(instruction->opcode()), "' needs its shape before the opcode, since '",
                               fixups_[i].name, "' is not defined before it"));
    }
    instruction->SetCalledComputation(fixups_[i].slot, it->second);
  }
  std::vector<const Shape*> operands;
  for (const HloInstruction* operand : instruction->operands()) operands.push_back(&operand->shape());
  for (const HloComputation* called : instruction->called_computations()) {
    if (called == nullptr) {
      return Fail(at, absl::StrCat("'", OpcodeName(instruction->opcode()), "' needs another computation to call"));
    }
  }
  // A line may double the shape of the one before it: unlike written shapes, inferred ones are not bounded by the text.
  constexpr int64_t kMostParts = int64_t{1} << 20;
  int64_t deepest = 0;
  const auto too_large = [&] {
    if (inferred_parts_ <= kMostParts && deepest <= options_.max_nesting) return false;
    return !Fail(at, absl::StrCat("shapes that are left out may nest ", options_.max_nesting, " deep and have ",
                                  kMostParts, " parts in all"));
  };
  for (const Shape* operand : operands) CountParts(*operand, kMostParts, 1, &inferred_parts_, &deepest);
  if (too_large()) return false;
  absl::StatusOr<Shape> shape =
      InferShape({instruction->opcode(), operands, &instruction->attributes(), instruction->called_computations()});
  if (!shape.ok()) {
    return Fail(at, absl::StrCat("no shape is written, and none can be inferred: ", shape.status().message()));
  }
  CountParts(*shape, kMostParts, 0, &inferred_parts_, &deepest);
  if (too_large()) return false;
  if (instruction->opcode() == HloOpcode::kTuple) {
    for (size_t i = 0; i < operands.size(); ++i) shape->mutable_tuple_shapes()[i] = *operands[i];
  } else if (instruction->opcode() == HloOpcode::kGetTupleElement) {
    shape = operands[0]->tuple_shape(instruction->tuple_index());
  } else if (instruction->IsElementwise()) {
    for (const Shape* operand : operands) {
      if (!operand->has_layout() || !SameDims(*operand, *shape)) continue;
      shape->set_layout(operand->layout());
      break;
    }
  }
  *instruction->mutable_shape() = *std::move(shape);
  return true;
}

bool Parser::ParseParameter(HloComputation* computation, const Shape& shape, std::unique_ptr<HloInstruction>* out) {
  const char* at = lex_.position();
  int64_t number;
  if (lex_.tok().kind != Tok::kInt) return Expected("the number of the parameter");
  if (!Parse(&number)) return false;
  // A parameter takes at least this many characters of text, so larger numbers leave gaps anyway.
  if (number < 0 || number > (lex_.end() - at) / 8 + instructions_) {
    return Fail(at, absl::StrCat("parameter number ", number, " is out of range"));
  }
  if (number < computation->parameter_count() && computation->parameter(number) != nullptr) {
    return Fail(at, absl::StrCat("parameter ", number, " is defined twice"));
  }
  *out = HloInstruction::CreateParameter(number, shape, "");
  return true;
}

// (a, f32[2]{0} %b, negate(c)): each operand is a name, with its shape before it if one likes, or a whole expression.
bool Parser::ParseOperands(HloComputation* computation, int depth, std::vector<HloInstruction*>* out) {
  while (!lex_.At(')')) {
    const char* at = lex_.position();
    Shape shape;
    bool has_shape = false;
    if (lex_.At('(') || (lex_.tok().kind == Tok::kName && !lex_.tok().percent &&
                         (lex_.PeekChar() == '[' || (lex_.AtName("b") && lex_.PeekChar() == '(')))) {
      if (!Parse(&shape)) return false;
      has_shape = true;
    }
    if (lex_.tok().kind != Tok::kName) return Expected("an operand or ')'");
    const absl::string_view name = lex_.tok().text;
    if (lex_.PeekChar() == '(') {
      if (depth >= options_.max_nesting) {
        return Fail(at, absl::StrCat("instructions are nested more than ", options_.max_nesting, " deep"));
      }
      HloInstruction* instruction;
      if (!ParseRhs(computation, absl::StrCat(name, ".anon"),
                    has_shape ? std::optional(std::move(shape)) : std::nullopt,
                    /*nested=*/true, depth + 1, &instruction)) {
        return false;
      }
      out->push_back(instruction);
    } else {
      const auto it = values_.find(name);
      if (it == values_.end()) {
        return Fail(lex_.position(), absl::StrCat("no instruction '", name, "' is defined before this one in '",
                                                  computation->name(), "'"));
      }
      if (has_shape && !Compatible(shape, it->second->shape())) {
        return Fail(at, absl::StrCat("'", name, "' has the shape ", it->second->shape().ToString(false), ", not ",
                                     shape.ToString(false)));
      }
      out->push_back(it->second);
      lex_.Next();
    }
    if (!Accept(',')) break;
  }
  if (!lex_.At(')')) return Expected("',' or ')'");
  return true;
}

bool Parser::ParseControlPredecessors(HloInstruction* instruction) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    if (lex_.tok().kind != Tok::kName) return Expected("the name of an instruction");
    const auto it = values_.find(lex_.tok().text);
    if (it == values_.end()) {
      return Fail(lex_.position(), absl::StrCat("no instruction '", lex_.tok().text, "' is defined before this one"));
    }
    instruction->AddControlPredecessor(it->second);
    lex_.Next();
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::ParseCalled(HloInstruction* instruction, size_t slot) {
  if (lex_.tok().kind != Tok::kName) return Expected("the name of a computation");
  while (instruction->called_computations().size() <= slot) instruction->AddCalledComputation(nullptr);
  fixups_.push_back({instruction, slot, lex_.tok().text, lex_.position()});
  lex_.Next();
  return true;
}

bool Parser::ParseCalledList(HloInstruction* instruction) {
  if (!Expect('{')) return false;
  for (size_t slot = instruction->called_computations().size(); !lex_.At('}'); ++slot) {
    if (!ParseCalled(instruction, slot)) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

// foo-start(a), attributes: makes a computation that holds one `foo`, called by the async-start.
bool Parser::WrapAsync(HloComputation* computation, HloOpcode wrapped, HloInstruction* start) {
  const char* at = lex_.position();
  const Shape& shape = start->shape();
  if (!shape.IsTuple() || shape.tuple_size() < 2) {
    return Fail(at, "the shape of an asynchronous start is a tuple of operands, result and context");
  }
  if (const int arity = OpcodeArity(wrapped); arity != kVariadic && arity != start->operand_count()) {
    return Fail(at, absl::StrCat(OpcodeName(wrapped), " takes ", arity, " operands, found ", start->operand_count()));
  }
  if (wrapped == HloOpcode::kParameter || wrapped == HloOpcode::kConstant) {
    return Fail(at, absl::StrCat(OpcodeName(wrapped), " cannot be asynchronous"));
  }
  HloComputation* body = module_->AddComputation("async_computation");
  std::vector<HloInstruction*> parameters;
  for (int64_t i = 0; i < start->operand_count(); ++i) {
    parameters.push_back(
        body->Add(HloInstruction::CreateParameter(i, start->operand(i)->shape(), absl::StrCat("param_", i))));
  }
  auto owned = HloInstruction::Create(wrapped, shape.tuple_shape(1), parameters);
  HloInstruction* instruction = owned.get();
  // Kept by the body from now on, so that references to it stay valid if an attribute fails.
  body->set_root(body->Add(std::move(owned)));
  start->AddCalledComputation(body);
  if (lex_.At(',')) {
    // The execution thread is the start's, all else the wrapped instruction's.
    const Lexer saved = lex_;
    lex_.Next();
    if (lex_.AtName("async_execution_thread")) {
      lex_.Next();
      std::string thread;
      if (!Expect('=') || !Parse(&thread)) return false;
      body->set_execution_thread(thread);
      start->set_attr<AttrKind::kAsyncExecutionThread>(std::move(thread));
    } else {
      lex_ = saved;
    }
    if (lex_.At(',') && !ParseAttributes(instruction)) return false;
    if (const auto* thread = instruction->FindAttr<AttrKind::kAsyncExecutionThread>()) {
      start->set_attr<AttrKind::kAsyncExecutionThread>(*thread);
      body->set_execution_thread(*thread);
      instruction->mutable_attributes()->Erase(AttrKind::kAsyncExecutionThread);
    }
  }
  if (!CheckRequired(*instruction, at)) return false;
  CanonicalizeAttributes(instruction);
  return true;
}

}  // namespace xc
