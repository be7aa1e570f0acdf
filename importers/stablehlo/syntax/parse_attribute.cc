// Attributes: numbers, strings, lists, dictionaries, symbols, types, and those of dialects.
#include <charconv>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {

using Kind = Attr::Kind;

bool Parser::ParseAttr(Attr* out, bool typed) {
  Nested nested(this);
  if (!nested.ok()) return false;
  const char* begin = lex_.tok().begin;
  if (!ParseAttrBody(out, typed)) return false;
  out->at = begin;
  // The text up to the next token, without the white space before that.
  const char* end = lex_.tok().begin;
  while (end > begin && (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\t' || end[-1] == '\r')) --end;
  out->source = absl::string_view(begin, end - begin);
  return true;
}

bool Parser::ParseAttrBody(Attr* out, bool typed) {
  const Token tok = lex_.tok();
  if (tok.kind == Tok::kString) {
    lex_.Next();
    out->kind = Kind::kString;
    out->text = StringOf(tok);
    Shape ignored;
    return !typed || !Accept(':') || ParseType(&ignored);
  }
  if (tok.kind == Tok::kInt || tok.kind == Tok::kFloat) return ParseNumber(out, typed);
  if (Accept('[')) return ParseList(out, ']', typed);
  if (lex_.At('{')) {
    out->kind = Kind::kDictionary;
    return ParseDictionary(&out->fields);
  }
  if (lex_.At('#')) return ParseDialectAttr(out);
  if (lex_.At('<')) {  // the short form of a dialect attribute whose name is known from where it stands
    out->kind = Kind::kDialect;
    return ParseDialectBody(out);
  }
  if (AtWord() && !tok.text.empty() && tok.text[0] == '@') {
    out->kind = Kind::kSymbol;
    return ParseSymbol(&out->text);
  }
  if (AcceptName("true") || AcceptName("false")) {
    out->kind = Kind::kBool;
    out->integer = tok.text == "true";
    return true;
  }
  if (AcceptName("unit")) return true;
  if (AcceptName("dense")) return ParseDense(out);
  if (AcceptName("dense_resource")) return ParseElided(out);
  if (AcceptName("array")) return ParseDenseArray(out);
  if (lex_.AtName("affine_map") || lex_.AtName("opaque") || lex_.AtName("sparse") || lex_.AtName("strided")) {
    return Fail(tok.begin, absl::StrCat("attributes `", tok.text, "` are not supported"));
  }
  if (lex_.At('(') || AtType()) {
    out->kind = Kind::kType;
    return ParseType(&out->shape);
  }
  if (AtLocation()) {
    Location ignored;
    return ParseOptionalLocation(&ignored);
  }
  if (AtWord() || lex_.At('?')) {
    out->kind = Kind::kWord;
    out->text = std::string(tok.text);
    lex_.Next();
    return true;
  }
  return Expected("an attribute");
}

bool Parser::ParseNumber(Attr* out, bool typed) {
  const Token tok = lex_.tok();
  const char* end = tok.end;
  if (tok.kind == Tok::kInt) {
    out->kind = Kind::kInt;
    // Integers of 64 bits with and without sign, decimal or as bits.
    const bool negative = tok.text[0] == '-';
    const char* first = tok.begin + negative;
    const bool hex = first[0] == '0' && first + 1 < lex_.end() && first[1] == 'x';
    uint64_t magnitude = 0;
    const auto [stop, error] = std::from_chars(first + 2 * hex, hex ? lex_.end() : tok.end, magnitude, hex ? 16 : 10);
    if (error != std::errc() || (negative && magnitude > uint64_t{1} << 63)) {
      return Fail(tok.begin, "this integer does not fit into 64 bits");
    }
    end = stop;
    out->integer = static_cast<int64_t>(negative ? -magnitude : magnitude);
    out->number = negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  } else {
    out->kind = Kind::kFloat;
    if (!absl::SimpleAtod(tok.text, &out->number)) return Expected("a number");
  }
  lex_.ContinueAt(end);
  if (!typed || !Accept(':')) return true;
  Shape type;
  const char* at = lex_.tok().begin;
  if (!ParseType(&type)) return false;
  if (!IsFloating(type.type()) || out->kind != Kind::kInt) return true;
  // The bits of a floating-point number.
  if (absl::string_view(tok.begin, 2) != "0x") return Fail(at, "a number of this type is written with a point");
  Literal bits{Shape::Scalar(type.type())};
  std::memcpy(bits.mutable_bytes(), &out->integer, std::min<size_t>(sizeof(out->integer), bits.byte_size()));
  out->kind = Kind::kFloat;
  out->number = bits.GetDouble(0);
  return true;
}

// Behind `[`. A list of integers without types is kept compactly.
bool Parser::ParseList(Attr* out, char close, bool typed) {
  out->kind = Kind::kInts;
  while (!lex_.At(close)) {
    Attr item;
    if (!ParseAttr(&item, typed)) return false;
    if (item.kind == Kind::kInt && out->items.empty()) {
      out->ints.push_back(item.integer);
    } else {
      for (int64_t value : out->ints) {
        Attr number;
        number.kind = Kind::kInt;
        number.at = item.at;
        number.integer = value;
        out->items.push_back(std::move(number));
      }
      out->ints.clear();
      out->items.push_back(std::move(item));
    }
    if (!lex_.At(close) && !Expect(',')) return false;
  }
  if (!out->items.empty()) out->kind = Kind::kList;
  lex_.Next();
  return true;
}

// Behind `array`: `<i64: 1, 2>`.
bool Parser::ParseDenseArray(Attr* out) {
  ElementType type;
  if (!Expect('<') || !ParseElementType(&type)) return false;
  out->kind = Kind::kInts;
  if (Accept('>')) return true;
  if (!Expect(':')) return false;
  if (!IsFloating(type)) {
    do {
      if (lex_.AtName("true") || lex_.AtName("false")) {
        out->ints.push_back(lex_.AtName("true"));
        lex_.Next();
      } else {
        out->ints.emplace_back();
        if (!ParseInt(&out->ints.back())) return false;
      }
    } while (Accept(','));
    return Expect('>');
  }
  out->kind = Kind::kList;
  do {
    out->items.emplace_back();
    if (!ParseAttr(&out->items.back(), false)) return false;
  } while (Accept(','));
  return Expect('>');
}

bool Parser::ParseDictionary(AttrList* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    const Token key = lex_.tok();
    if (key.kind != Tok::kString && !AtWord()) return Expected("the name of an attribute, or `}`");
    std::string name = key.kind == Tok::kString ? StringOf(key) : std::string(key.text);
    lex_.Next();
    Attr value;
    value.at = key.begin;
    value.source = key.text;
    if (Accept('=') && !ParseAttr(&value, true)) return false;
    if (FindAttr(*out, name) != nullptr) return Fail(key.begin, absl::StrCat("attribute `", name, "` is given twice"));
    out->push_back({std::move(name), std::move(value)});
    if (!lex_.At('}') && !Expect(',')) return false;
  }
  lex_.Next();
  return true;
}

// `#alias`, `#dialect<words>`, `#dialect.name<fields>`. What stands in attributes of dialects that mean nothing here is
// skipped.
bool Parser::ParseDialectAttr(Attr* out) {
  const char* at = lex_.tok().begin;
  lex_.Next();
  if (!AtWord()) return Expected("the name of an attribute after `#`");
  const std::string name(lex_.tok().text);
  lex_.Next();
  const absl::string_view dialect = absl::string_view(name).substr(0, name.find('.'));
  if (!lex_.At('<')) {
    if (name.size() >= 3 && name.compare(0, 3, "loc") == 0) return true;
    const auto alias = attr_aliases_.find(name);
    if (alias == attr_aliases_.end() && dialect == name) {
      return Fail(at, absl::StrCat("the attribute alias `#", name, "` is not defined"));
    }
    if (alias != attr_aliases_.end()) {
      *out = alias->second;
    } else {
      out->kind = Kind::kDialect;
      out->text = name;
    }
    return true;
  }
  out->kind = Kind::kDialect;
  out->text = name;
  if (dialect != "stablehlo" && dialect != "chlo" && dialect != "mhlo") return SkipBalanced('<', '>');
  if (name == "stablehlo.conv" || name == "mhlo.conv") {
    return Expect('<') && ParseConvDims(out) && Expect('>');
  }
  return ParseDialectBody(out);
}

// `<key = value, …>` or `<word word>`.
bool Parser::ParseDialectBody(Attr* out) {
  if (!Expect('<')) return false;
  while (!lex_.At('>')) {
    const Token tok = lex_.tok();
    Attr item;
    if (!ParseAttr(&item, true)) return false;
    if (item.kind == Kind::kWord && Accept('=')) {
      Attr value;
      if (!ParseAttr(&value, true)) return false;
      if (FindAttr(out->fields, item.text) != nullptr) {
        return Fail(tok.begin, absl::StrCat("`", item.text, "` is given twice"));
      }
      out->fields.push_back({std::move(item.text), std::move(value)});
    } else {
      out->items.push_back(std::move(item));
    }
    if (lex_.At('>')) break;
    // Words follow each other without a comma.
    if (!AtWord() && !Expect(',')) return false;
  }
  lex_.Next();
  return true;
}

// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
bool Parser::ParseConvDims(Attr* out) {
  const char* at = lex_.tok().begin;
  ConvDims dims;
  const auto side = [&](absl::string_view first, int64_t* first_dim, absl::string_view second, int64_t* second_dim,
                        Int64List* spatial) {
    *first_dim = *second_dim = -1;
    const char* begin = lex_.tok().begin;
    if (!Expect('[')) return false;
    for (int64_t d = 0; !lex_.At(']'); ++d) {
      if (lex_.AtName(first) && *first_dim < 0) {
        *first_dim = d;
        lex_.Next();
      } else if (lex_.AtName(second) && *second_dim < 0) {
        *second_dim = d;
        lex_.Next();
      } else if (Accept('?')) {
        return Fail(lex_.tok().begin, "dimensions `?` of a convolution are not supported");
      } else {
        int64_t n = 0;
        if (lex_.tok().kind != Tok::kInt) {
          return Expected(
              absl::StrCat("`", first, "`, `", second, "` (once each) or the number of a spatial dimension"));
        }
        const char* number = lex_.tok().begin;
        if (!ParseInt(&n)) return false;
        constexpr int64_t kMaxSpatial = 64;
        if (n < 0 || n >= kMaxSpatial) return Fail(number, "the number of a spatial dimension is out of range");
        if (static_cast<int64_t>(spatial->size()) <= n) spatial->resize(n + 1, -1);
        if ((*spatial)[n] >= 0) return Fail(number, absl::StrCat("spatial dimension ", n, " is given twice"));
        (*spatial)[n] = d;
      }
      if (!lex_.At(']') && !Expect(',')) return false;
    }
    lex_.Next();
    if (*first_dim < 0 || *second_dim < 0) {
      return Fail(begin, absl::StrCat("dimension `", *first_dim < 0 ? first : second, "` is missing"));
    }
    for (size_t i = 0; i < spatial->size(); ++i) {
      if ((*spatial)[i] < 0) return Fail(begin, absl::StrCat("spatial dimension ", i, " is missing"));
    }
    return true;
  };
  if (!side("b", &dims.input_batch, "f", &dims.input_feature, &dims.input_spatial) || !ExpectName("x") ||
      !side("i", &dims.kernel_input_feature, "o", &dims.kernel_output_feature, &dims.kernel_spatial) ||
      !ExpectArrow() || !side("b", &dims.output_batch, "f", &dims.output_feature, &dims.output_spatial)) {
    return false;
  }
  if (dims.input_spatial.size() != dims.kernel_spatial.size() ||
      dims.input_spatial.size() != dims.output_spatial.size()) {
    return Fail(at, "the sides of dim_numbers should have as many spatial dimensions each");
  }
  out->kind = Kind::kConvDims;
  out->conv_dims = std::make_shared<const ConvDims>(std::move(dims));
  return true;
}

}  // namespace xc::stablehlo
