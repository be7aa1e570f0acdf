// Types: tensors, tuples, tokens, and the types that operations end with.
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {
std::optional<ElementType> ScalarType(absl::string_view name) {
  if (name == "i1") return ElementType::kPred;
  if (absl::StartsWith(name, "ui")) return ElementTypeFromName(absl::StrCat("u", name.substr(2)));
  if (absl::StartsWith(name, "i")) return ElementTypeFromName(absl::StrCat("s", name.substr(1)));
  if (!absl::StartsWith(name, "f") && name != "bf16") return std::nullopt;
  const std::optional<ElementType> type = ElementTypeFromName(absl::AsciiStrToLower(name));
  return type && IsFloating(*type) ? type : std::nullopt;
}

bool Parser::AtType() const {
  if (lex_.At('!')) return true;
  if (!AtWord()) return false;
  const absl::string_view word = lex_.tok().text;
  return word == "tensor" || word == "tuple" || word == "complex" || word == "index" || word == "none" ||
         ScalarType(word).has_value();
}

bool Parser::ParseElementType(ElementType* out) {
  const Token tok = lex_.tok();
  if (lex_.At('!')) {
    lex_.Next();
    return Fail(tok.begin, absl::StrCat("elements of type `!", AtWord() ? lex_.tok().text : "", "` are not supported"));
  }
  if (!AtWord()) return Expected("an element type");
  lex_.Next();
  if (tok.text == "complex") {
    ElementType part;
    if (!Expect('<') || !ParseElementType(&part) || !Expect('>')) return false;
    if (part != ElementType::kF32 && part != ElementType::kF64) {
      return Fail(tok.begin, absl::StrCat("expected complex<f32> or complex<f64>"));
    }
    *out = part == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128;
    return true;
  }
  const std::optional<ElementType> type = ScalarType(tok.text);
  if (!type) {
    return Fail(tok.begin,
                absl::StrCat("expected an element type such as f32, bf16, i32, ui8 or i1, found `", tok.text, "`"));
  }
  *out = *type;
  return true;
}

// The encoding of a tensor: upper bounds of the sizes that are written `?`.
bool Parser::ParseBounds(Shape* shape, const std::vector<int64_t>& unknown) {
  const char* at = lex_.tok().begin;
  Attr encoding;
  if (!ParseAttr(&encoding, true)) return false;
  if (encoding.kind != Attr::Kind::kDialect ||
      (encoding.text != "stablehlo.bounds" && encoding.text != "stablehlo.type_extensions")) {
    return Fail(at, "a tensor's encoding should be #stablehlo.bounds<…>; no other is supported");
  }
  const Attr* list = FindAttr(encoding.fields, "bounds");
  const std::vector<Attr>& words = list != nullptr ? list->items : encoding.items;
  Int64List bounds = list != nullptr ? list->ints : Int64List();
  for (const Attr& word : words) {
    if (word.kind != Attr::Kind::kInt && word.text != "?") return Fail(at, "bounds should be integers or `?`");
    bounds.push_back(word.kind == Attr::Kind::kInt ? word.integer : -1);
  }
  if (static_cast<int64_t>(bounds.size()) != shape->rank()) {
    return Fail(at, absl::StrCat("expected ", shape->rank(), " bounds, found ", bounds.size()));
  }
  for (int64_t d : unknown) {
    if (bounds[d] < 0) continue;
    shape->set_dim(d, bounds[d]);
    shape->set_dynamic_dim(d, true);
  }
  return true;
}

// Behind `tensor`: `<2x3xf32>`. Sizes are read from the characters, since `3xf32` is one word to the lexer.
bool Parser::ParseTensor(Shape* out) {
  const char* at = lex_.tok().begin;
  if (!lex_.At('<')) return Expected("`<`");
  const char* p = lex_.SkipSpace(lex_.tok().end);
  std::vector<int64_t> dims, unknown;
  for (; p < lex_.end() && (std::isdigit(static_cast<unsigned char>(*p)) || *p == '?' || *p == '*');) {
    const char* start = p;
    if (dims.size() == kMaxRank) return Fail(p, absl::StrCat("a tensor has more than ", kMaxRank, " dimensions"));
    if (*p == '*') return Fail(p, "tensors of unknown rank are not supported");
    int64_t size = 0;
    if (*p == '?') {
      unknown.push_back(static_cast<int64_t>(dims.size()));
      ++p;
    }
    for (; *start != '?' && p < lex_.end() && std::isdigit(static_cast<unsigned char>(*p)); ++p) {
      if (__builtin_mul_overflow(size, int64_t{10}, &size) || __builtin_add_overflow(size, int64_t{*p - '0'}, &size)) {
        return Fail(start, "this size does not fit into 64 bits");
      }
    }
    if (p >= lex_.end() || *p != 'x') return Fail(p, "expected `x` after a size");
    p = lex_.SkipSpace(p + 1);
    dims.push_back(size);
  }
  lex_.ContinueAt(p);
  ElementType type;
  if (!ParseElementType(&type)) return false;
  Shape shape(type, std::move(dims));
  if (Accept(',') && !ParseBounds(&shape, unknown)) return false;
  if (!Expect('>')) return false;
  for (int64_t d : unknown) {
    if (!shape.is_dynamic_dim(d)) SetUnknownSize(d, &shape);
  }
  if (absl::Status status = ValidateShape(shape); !status.ok()) {
    return Fail(at, absl::string_view(status.message()));
  }
  *out = std::move(shape);
  return true;
}

bool Parser::ParseType(Shape* out) {
  Nested nested(this);
  return nested.ok() && ParseTypeBody(out);
}

bool Parser::ParseTypeBody(Shape* out) {
  const Token tok = lex_.tok();
  if (AcceptName("tensor")) return ParseTensor(out);
  if (AcceptName("tuple")) {
    std::vector<Shape> elements;
    if (!Expect('<')) return false;
    while (!lex_.At('>')) {
      elements.emplace_back();
      if (!ParseType(&elements.back())) return false;
      if (!lex_.At('>') && !Expect(',')) return false;
    }
    lex_.Next();
    *out = Shape::Tuple(std::move(elements));
    return true;
  }
  if (lex_.At('!')) {
    lex_.Next();
    if (!AtWord()) return Expected("the name of a type after `!`");
    const absl::string_view name = lex_.tok().text;
    if (name == "stablehlo.token" || name == "mhlo.token") {
      lex_.Next();
      *out = Shape::Token();
      return true;
    }
    const auto alias = type_aliases_.find(name);
    if (alias == type_aliases_.end()) return Fail(tok.begin, absl::StrCat("the type `!", name, "` is not supported"));
    lex_.Next();
    *out = alias->second;
    return true;
  }
  if (lex_.At('(')) {
    std::vector<Shape> parameters, results;
    if (!ParseTypes(&parameters) || !ExpectArrow() || !ParseTypeOrTypes(&results)) return false;
    *out = Shape::Tuple({Shape::Tuple(std::move(parameters)), Shape::Tuple(std::move(results))});
    return true;
  }
  // Outside of tensors, as the type of an attribute.
  if (AcceptName("index") || AcceptName("none")) {
    *out = Shape::Scalar(ElementType::kS64);
    return true;
  }
  if (!AtType()) return Expected("a type");
  ElementType type;
  if (!ParseElementType(&type)) return false;
  *out = Shape::Scalar(type);
  return true;
}

bool Parser::ParseTypes(std::vector<Shape>* out) {
  if (!Expect('(')) return false;
  while (!lex_.At(')')) {
    out->emplace_back();
    if (!ParseType(&out->back())) return false;
    if (!lex_.At(')') && !Expect(',')) return false;
  }
  lex_.Next();
  return true;
}

bool Parser::ParseTypeOrTypes(std::vector<Shape>* out) {
  if (lex_.At('(')) return ParseTypes(out);
  out->emplace_back();
  return ParseType(&out->back());
}

bool Parser::ParseOpTypes(OpTypes* out) {
  if (lex_.At('(')) {
    if (!ParseTypes(&out->operands)) return false;
  } else {
    do {
      out->operands.emplace_back();
      if (!ParseType(&out->operands.back())) return false;
    } while (Accept(','));
    if (lex_.tok().kind != Tok::kArrow) return true;
  }
  out->functional = true;
  return ExpectArrow() && ParseTypeOrTypes(&out->results);
}

}  // namespace xc::stablehlo
