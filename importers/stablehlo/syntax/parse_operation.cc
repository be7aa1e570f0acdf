// Operations: their generic form, `"stablehlo.add"(%a, %b) <{…}> ({…}) {…} : (…) -> …`, and the short ones, which are
// operands and attributes in the order of the operation's liking.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "importers/stablehlo/lower/op_table.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {
namespace {

using Kind = Attr::Kind;

// The attribute that the n-th `key` of a short form is; `key` itself where the row does not say, or nothing for the
// things that have no key.
absl::string_view AttrOfKey(const OpRow& row, absl::string_view key, int n = 0) {
  for (absl::string_view pair : absl::StrSplit(row.keys, ',')) {
    const size_t equal = pair.find('=');
    if (pair.substr(0, equal) == key && n-- == 0) return pair.substr(equal + 1);
  }
  return key == "word" || key == "@" || key == "string" ? absl::string_view() : key;
}

}  // namespace

Value* Parser::NewValue(absl::string_view name, const Shape& shape, const Operation* definition, int64_t index) {
  program_.values.push_back({name, shape, definition, index});
  return &program_.values.back();
}

bool Parser::DefineValue(absl::string_view name, const char* at, std::vector<Value*> values) {
  for (const Scope& scope : scopes_) {
    if (scope.contains(name)) return Fail(at, absl::StrCat("the value %", name, " is defined twice"));
  }
  scopes_.back()[name] = std::move(values);
  return true;
}

bool Parser::ParseOperand(Operation* op) {
  if (!AtValue()) return Expected("an operand such as %0");
  const Token tok = lex_.tok();
  lex_.Next();
  const std::vector<Value*>* values = nullptr;
  for (const Scope& scope : scopes_) {
    if (const auto found = scope.find(tok.text); found != scope.end()) values = &found->second;
  }
  if (values == nullptr) return Fail(tok.begin, absl::StrCat("the value %", tok.text, " is not defined"));
  int64_t index = 0;
  if (Accept('#')) {
    const char* at = lex_.tok().begin;
    if (!ParseInt(&index)) return false;
    if (index < 0 || index >= static_cast<int64_t>(values->size())) {
      return Fail(at, absl::StrCat("%", tok.text, " has ", values->size(), " values, found #", index));
    }
  } else if (values->size() != 1) {
    return Fail(tok.begin,
                absl::StrCat("%", tok.text, " has ", values->size(), " values; say which, as in %", tok.text, "#0"));
  }
  op->operands.push_back((*values)[index]);
  return true;
}

bool Parser::AddAttr(Operation* op, absl::string_view name, Attr attr) {
  if (FindAttr(op->attributes, name) != nullptr) {
    return Fail(attr.at, absl::StrCat("attribute `", name, "` is given twice"));
  }
  op->attributes.emplace_back(std::string(name), std::move(attr));
  return true;
}

bool Parser::ParseOperation(Region* region) {
  std::vector<std::pair<absl::string_view, int64_t>> names;
  if (AtValue()) {
    do {
      if (!AtValue()) return Expected("the name of a result");
      names.emplace_back(lex_.tok().text, 1);
      lex_.Next();
      if (Accept(':')) {
        const char* at = lex_.tok().begin;
        if (!ParseInt(&names.back().second)) return false;
        constexpr int64_t kMaxResults = 1 << 20;
        if (names.back().second < 1 || names.back().second > kMaxResults) {
          return Fail(at, "the number of results is out of range");
        }
      }
    } while (Accept(','));
    if (!Expect('=')) return false;
  }
  const Token tok = lex_.tok();
  const bool generic = tok.kind == Tok::kString;
  if (!generic && !AtWord()) return Expected("an operation");
  if (++operations_ > options_.max_instructions) {
    return Fail(tok.begin, absl::StrCat("the text has more than ", options_.max_instructions, " operations"));
  }
  // Inside of functions, those of the dialect `func` need no prefix.
  const std::string full = absl::StrContains(tok.text, ".") ? std::string(tok.text) : absl::StrCat("func.", tok.text);
  const OpRow* row = FindOp(full);
  if (row == nullptr) {
    return Fail(tok.begin, absl::StrCat("expected an operation of stablehlo, chlo or func, found `", tok.text, "`"));
  }
  if (row->lower == nullptr && row->form != Form::kReturn) {
    return Fail(tok.begin, absl::StrCat("`", row->name, "` is not supported: ", row->refusal));
  }
  lex_.Next();
  auto op = std::make_unique<Operation>();
  op->row = row;
  op->name = row->name;
  op->at = tok.begin;
  const absl::string_view outer = op_name_;
  op_name_ = row->name;
  OpTypes types;
  const bool read = generic                      ? ParseGeneric(op.get(), &types)
                    : row->form == Form::kReduce ? ParseReduce(op.get(), &types)
                    : row->form == Form::kWhile  ? ParseWhile(op.get(), &types)
                    : row->form == Form::kManual ? ParseManual(op.get(), &types)
                                                 : ParseShort(op.get(), &types);
  if (!read || !ParseOptionalLocation(&op->location) || !FinishOperation(op.get(), types, names)) return false;
  if (types.applies) op->regions[0].operations[0]->location = op->location;
  op_name_ = outer;
  region->operations.push_back(std::move(op));
  return true;
}

bool Parser::ParseGeneric(Operation* op, OpTypes* types) {
  if (!Expect('(')) return false;
  while (!lex_.At(')')) {
    if (!ParseOperand(op)) return false;
    if (!lex_.At(')') && !Expect(',')) return false;
  }
  lex_.Next();
  if (lex_.At('[')) return Fail(lex_.tok().begin, "operations with successors are not supported");
  if (Accept('<')) {
    if (!ParseDictionary(&op->attributes) || !Expect('>')) return false;
  }
  if (Accept('(')) {
    do {
      op->regions.emplace_back();
      if (!ParseRegion(&op->regions.back())) return false;
    } while (Accept(','));
    if (!Expect(')')) return false;
  }
  if (lex_.At('{')) {
    AttrList more;
    if (!ParseDictionary(&more)) return false;
    for (auto& [name, attr] : more) {
      if (!AddAttr(op, name, std::move(attr))) return false;
    }
  }
  if (!Expect(':')) return false;
  const char* at = lex_.tok().begin;
  if (!ParseOpTypes(types)) return false;
  return types->functional || Fail(at, "expected the types of operands and results, (…) -> …");
}

bool Parser::ParseShort(Operation* op, OpTypes* types) {
  if (!(op->row->form == Form::kSharding ? ParseSharded(op) : ParseItems(op, ':'))) return false;
  if (lex_.At('{')) {
    AttrList more;
    if (!ParseDictionary(&more)) return false;
    for (auto& [name, attr] : more) {
      if (!AddAttr(op, name, std::move(attr))) return false;
    }
    // A constant's attributes come before its elements.
    if (lex_.AtName("dense") && !ParseItems(op, ':')) return false;
  }
  if (Accept(':')) return ParseOpTypes(types);
  const Attr* value = FindAttr(op->attributes, "value");
  if (value != nullptr && value->kind == Kind::kElements) {  // says its type itself
    types->operands.push_back(value->shape);
    return true;
  }
  return (op->row->form == Form::kReturn && op->operands.empty()) || Expected("`:` and types");
}

// `%0 <@mesh, [{"x"}, {}]>`, `%0 group_id=3`: the array, and how it lies on devices, as text.
bool Parser::ParseSharded(Operation* op) {
  if (!ParseOperand(op)) return false;
  if (lex_.At('<')) {
    Attr sharding;
    sharding.at = lex_.tok().begin;
    if (!SkipBalanced('<', '>')) return false;
    sharding.source = absl::string_view(sharding.at, lex_.tok().begin - sharding.at);
    return AddAttr(op, "sharding", std::move(sharding));
  }
  if (!AtWord() || lex_.PeekChar() != '=') return true;
  const absl::string_view name = lex_.tok().text;
  lex_.Next();
  lex_.Next();
  Attr attr;
  return ParseAttr(&attr, false) && AddAttr(op, name, std::move(attr));
}

// Operands and attributes up to `close`, or to what else can follow them.
bool Parser::ParseItems(Operation* op, char close) {
  int words = 0;
  bool comma = true;
  while (!lex_.At(close) && !lex_.At('{') && !lex_.At('}') && lex_.tok().kind != Tok::kEof && !AtLocation()) {
    if (!comma && AtValue() && !op->operands.empty()) return Expected("`,` or `:`");
    if (!ParseItem(op, &words)) return false;
    comma = Accept(',');
    // Elements bring their type with them, so that nothing else follows.
    if (!comma && !op->attributes.empty() && op->attributes.back().attr.kind == Kind::kElements) return true;
    if (comma && lex_.At(close)) return Expected("an operand or an attribute");
  }
  return true;
}

bool Parser::ParseItem(Operation* op, int* words) {
  const Token tok = lex_.tok();
  if (AtValue()) return ParseOperand(op);
  if (lex_.At('[')) return ParseRanges(op);
  if (Accept('(')) {
    Nested nested(this);
    return nested.ok() && ParseItems(op, ')') && Expect(')');
  }
  absl::string_view name;
  if (tok.kind == Tok::kString) {
    name = AttrOfKey(*op->row, "string");
  } else if (lex_.AtName("dense") || lex_.AtName("dense_resource")) {
    name = "value";
  } else if (!AtWord()) {
    return Expected("an operand or an attribute");
  } else if (!tok.text.empty() && tok.text[0] == '@') {
    name = AttrOfKey(*op->row, "@");
  } else if (lex_.PeekChar() == '=') {
    lex_.Next();
    lex_.Next();
    return ParseKeyValue(op, tok.text);
  } else {
    name = AttrOfKey(*op->row, "word", (*words)++);
  }
  if (name.empty()) return Expected("an operand, an attribute or `:`");
  Attr attr;
  return ParseAttr(&attr, false) && AddAttr(op, name, std::move(attr));
}

// Behind `key =`.
bool Parser::ParseKeyValue(Operation* op, absl::string_view key) {
  const absl::string_view name = AttrOfKey(*op->row, key);
  Attr attr;
  if (key == "dim_numbers") {
    attr.at = lex_.tok().begin;
    return ParseConvDims(&attr) && AddAttr(op, name, std::move(attr));
  }
  if (!ParseAttr(&attr, false)) return false;
  const size_t bar = name.find('|');
  if (bar == absl::string_view::npos) return AddAttr(op, name, std::move(attr));
  Attr right;
  return ExpectName("x") && ParseAttr(&right, false) && AddAttr(op, name.substr(0, bar), std::move(attr)) &&
         AddAttr(op, name.substr(bar + 1), std::move(right));
}

// `[0:2:1, 3:5]` of a slice, `[0]` of a tuple's element.
bool Parser::ParseRanges(Operation* op) {
  Attr starts, limits, strides;
  starts.at = limits.at = strides.at = lex_.tok().begin;
  starts.kind = limits.kind = strides.kind = Kind::kInts;
  lex_.Next();
  while (!lex_.At(']')) {
    int64_t start = 0, limit = 0, stride = 1;
    if (!ParseInt(&start)) return false;
    if (op->name == "stablehlo.get_tuple_element") {
      Attr index;
      index.kind = Kind::kInt;
      index.integer = start;
      return Expect(']') && AddAttr(op, "index", std::move(index));
    }
    if (!Expect(':') || !ParseInt(&limit) || (Accept(':') && !ParseInt(&stride))) return false;
    starts.ints.push_back(start);
    limits.ints.push_back(limit);
    strides.ints.push_back(stride);
    if (!lex_.At(']') && !Expect(',')) return false;
  }
  lex_.Next();
  return AddAttr(op, "start_indices", std::move(starts)) && AddAttr(op, "limit_indices", std::move(limits)) &&
         AddAttr(op, "strides", std::move(strides));
}

// Checks what the types say of operands, and names the results.
bool Parser::FinishOperation(Operation* op, const OpTypes& types,
                             const std::vector<std::pair<absl::string_view, int64_t>>& names) {
  const OpRow& row = *op->row;
  if (const std::string wrong = WrongCounts(row, op->operands.size(), op->regions.size()); !wrong.empty()) {
    return Fail(op->at, wrong);
  }
  if (types.functional || row.form == Form::kReturn || row.form == Form::kWhile) {
    if (types.operands.size() != op->operands.size()) {
      return Fail(op->at, absl::StrCat(op->operands.size(), " operands, but types of ", types.operands.size()));
    }
    for (size_t i = 0; i < types.operands.size(); ++i) {
      if (types.operands[i] != op->operands[i]->shape) {
        return Fail(op->at, absl::StrCat("operand ", i, ", %", op->operands[i]->name, ", is ",
                                         op->operands[i]->shape.ToString(false), ", but its type is given as ",
                                         types.operands[i].ToString(false)));
      }
    }
  }
  std::vector<Shape> results = types.results;
  if (!types.functional && row.form != Form::kReturn) {
    results = types.operands;
    if (row.form == Form::kOne && results.size() > 1) results = {types.operands.back()};
  }
  for (size_t i = 0; i < results.size(); ++i) op->results.push_back(NewValue("", results[i], op, i));
  int64_t named = 0;
  for (const auto& [name, count] : names) named += count;
  if (!names.empty() && named != static_cast<int64_t>(results.size())) {
    return Fail(op->at, absl::StrCat("gives ", results.size(), " results, but ", named, " are named"));
  }
  auto next = op->results.begin();
  for (const auto& [name, count] : names) {
    for (auto it = next; it != next + count; ++it) (*it)->name = name;
    if (!DefineValue(name, op->at, std::vector<Value*>(next, next + count))) return false;
    next += count;
  }
  return true;
}

}  // namespace xc::stablehlo
