// Regions: the computations inside of operations, and the two operations whose short form writes them in its own way.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/lower/op_table.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {

// `{ ^bb0(%a: T): operations }`. Arguments that the region has already are in scope.
bool Parser::ParseRegion(Region* region) {
  Nested nested(this);
  if (!nested.ok()) return false;
  region->at = lex_.tok().begin;
  if (!Expect('{')) return false;
  scopes_.emplace_back();
  for (Value* argument : region->arguments) {
    if (!DefineValue(argument->name, region->at, {argument})) return false;
  }
  if (!ParseBlock(region)) return false;
  scopes_.pop_back();
  return true;
}

bool Parser::ParseBlock(Region* region) {
  if (Accept('^')) {
    if (!AtWord()) return Expected("the name of a block");
    lex_.Next();
    if (Accept('(')) {
      while (!lex_.At(')')) {
        if (!ParseArgument(region)) return false;
        if (!lex_.At(')') && !Expect(',')) return false;
      }
      lex_.Next();
    }
    if (!Expect(':')) return false;
  }
  while (!lex_.At('}')) {
    if (lex_.At('^')) return Fail(lex_.tok().begin, "regions of several blocks are not supported");
    if (!ParseOperation(region)) return false;
  }
  lex_.Next();
  return true;
}

// `%a: T`, and where it comes from.
bool Parser::ParseArgument(Region* region) {
  const Token tok = lex_.tok();
  if (!AtValue()) return Expected("an argument such as %arg0");
  lex_.Next();
  Shape shape;
  Location ignored;
  if (!Expect(':') || !ParseType(&shape)) return false;
  region->arguments.push_back(NewValue(tok.text, shape, nullptr, region->arguments.size()));
  return DefineValue(tok.text, tok.begin, {region->arguments.back()}) && ParseOptionalLocation(&ignored);
}

// `(%x init: %c), (%y init: %d) applies stablehlo.add across dimensions = [0] : types`, or with
// `reducer(%a: T, %b: T) (%c: U, %d: U) { … }` behind the types: a pair of arguments for each array.
bool Parser::ParseReduce(Operation* op, OpTypes* types) {
  std::vector<Value*> inits;
  do {
    if (!Expect('(') || !ParseOperand(op) || !ExpectName("init") || !Expect(':') || !ParseOperand(op) || !Expect(')')) {
      return false;
    }
    inits.push_back(op->operands.back());
    op->operands.pop_back();
  } while (Accept(','));
  const int64_t inputs = static_cast<int64_t>(inits.size());
  op->operands.insert(op->operands.end(), inits.begin(), inits.end());
  Token applied;
  if (AcceptName("applies")) {
    applied = lex_.tok();
    if (!AtWord()) return Expected("the operation that the reduction applies");
    lex_.Next();
  }
  Attr dimensions;
  if (!ExpectName("across") || !ExpectName("dimensions") || !Expect('=') || !ParseAttr(&dimensions, false) ||
      !AddAttr(op, "dimensions", std::move(dimensions))) {
    return false;
  }
  AttrList more;
  if (lex_.At('{') && !ParseDictionary(&more)) return false;
  for (auto& [name, attr] : more) {
    if (!AddAttr(op, name, std::move(attr))) return false;
  }
  if (!Expect(':') || !ParseOpTypes(types)) return false;
  types->applies = applied.kind == Tok::kName;
  if (types->applies) return MakeReducer(op, applied.text, applied.begin);
  return ExpectName("reducer") && ParseReducer(op, inputs);
}

bool Parser::ParseReducer(Operation* op, int64_t inputs) {
  op->regions.emplace_back();
  Region& region = op->regions.back();
  Region pairs;
  scopes_.emplace_back();
  for (int64_t i = 0; i < inputs; ++i) {
    if (!Expect('(') || !ParseArgument(&pairs) || !Expect(',') || !ParseArgument(&pairs) || !Expect(')')) return false;
  }
  scopes_.pop_back();
  // As the arguments of a block, those of the running values come first.
  for (int64_t side : {0, 1}) {
    for (int64_t i = 0; i < inputs; ++i) region.arguments.push_back(pairs.arguments[2 * i + side]);
  }
  for (size_t i = 0; i < region.arguments.size(); ++i) region.arguments[i]->index = static_cast<int64_t>(i);
  Location ignored;
  return ParseOptionalLocation(&ignored) && ParseRegion(&region);
}

// The region of a reduction that applies one operation.
bool Parser::MakeReducer(Operation* op, absl::string_view applied, const char* at) {
  const OpRow* row = FindOp(applied);
  if (row == nullptr || row->operands != 2 || row->regions != 0 || !row->keys.empty() || row->lower == nullptr) {
    return Fail(at, absl::StrCat("`", applied, "` is no operation that a reduction can apply"));
  }
  if (op->operands.size() != 2) return Fail(at, "a reduction of several arrays should have a reducer");
  const Shape scalar = Shape::Scalar(op->operands[1]->shape.type());
  op->regions.emplace_back();
  Region& region = op->regions.back();
  region.at = at;
  for (int64_t i : {0, 1}) region.arguments.push_back(NewValue(i == 0 ? "x" : "y", scalar, nullptr, i));
  auto apply = std::make_unique<Operation>();
  apply->row = row;
  apply->name = row->name;
  apply->at = at;
  apply->operands = region.arguments;
  apply->results = {NewValue("z", scalar, apply.get(), 0)};
  auto give = std::make_unique<Operation>();
  give->row = FindOp("stablehlo.return");
  give->name = give->row->name;
  give->at = at;
  give->operands = apply->results;
  region.operations.push_back(std::move(apply));
  region.operations.push_back(std::move(give));
  return true;
}

// `(%0, %1) in_shardings=[…] out_shardings=[…] manual_axes={…} (%a: T, %b: U) { … } : (…) -> …`; the shardings as text.
bool Parser::ParseManual(Operation* op, OpTypes* types) {
  if (!Expect('(')) return false;
  while (!lex_.At(')')) {
    if (!ParseOperand(op)) return false;
    if (!lex_.At(')') && !Expect(',')) return false;
  }
  lex_.Next();
  for (absl::string_view name : {"in_shardings", "out_shardings", "manual_axes"}) {
    const char open = name == "manual_axes" ? '{' : '[';
    Attr attr;
    if (!ExpectName(name) || !Expect('=')) return false;
    attr.at = lex_.tok().begin;
    if (!SkipBalanced(open, open == '{' ? '}' : ']')) return false;
    attr.source = absl::string_view(attr.at, lex_.tok().begin - attr.at);
    if (!AddAttr(op, name, std::move(attr))) return false;
  }
  op->regions.emplace_back();
  Region& region = op->regions.back();
  scopes_.emplace_back();
  if (!Expect('(')) return false;
  while (!lex_.At(')')) {
    if (!ParseArgument(&region)) return false;
    if (!lex_.At(')') && !Expect(',')) return false;
  }
  lex_.Next();
  scopes_.pop_back();
  if (!ParseRegion(&region)) return false;
  AttrList more;
  if (lex_.At('{') && !ParseDictionary(&more)) return false;
  for (auto& [name, attr] : more) {
    if (!AddAttr(op, name, std::move(attr))) return false;
  }
  return Expect(':') && ParseOpTypes(types);
}

// `(%iterArg = %0, …) : types cond { … } do { … }`.
bool Parser::ParseWhile(Operation* op, OpTypes* types) {
  std::vector<absl::string_view> names;
  if (!Expect('(')) return false;
  while (!lex_.At(')')) {
    if (!AtValue()) return Expected("an argument such as %iterArg");
    names.push_back(lex_.tok().text);
    lex_.Next();
    if (!Expect('=') || !ParseOperand(op)) return false;
    if (!lex_.At(')') && !Expect(',')) return false;
  }
  lex_.Next();
  if (Accept(':') && !names.empty() && !ParseOpTypes(types)) return false;
  if (AcceptName("attributes") && !ParseDictionary(&op->attributes)) return false;
  for (absl::string_view word : {"cond", "do"}) {
    if (!ExpectName(word)) return false;
    op->regions.emplace_back();
    Region& region = op->regions.back();
    for (size_t i = 0; i < names.size(); ++i) {
      region.arguments.push_back(NewValue(names[i], op->operands[i]->shape, nullptr, i));
    }
    if (!ParseRegion(&region)) return false;
  }
  return true;
}

}  // namespace xc::stablehlo
