// Locations: `loc("name"("file.py":3:5))`, call sites, fused ones, and names for them.
#include "absl/strings/str_cat.h"
#include "importers/stablehlo/syntax/parser.h"

namespace xc::stablehlo {

bool Parser::AtLocation() { return lex_.AtName("loc") && lex_.PeekChar() == '('; }

bool Parser::ParseOptionalLocation(Location* out) {
  if (!AtLocation()) return true;
  lex_.Next();
  return Expect('(') && ParseLocation(out) && Expect(')');
}

bool Parser::ParseLocation(Location* out) {
  Nested nested(this);
  return nested.ok() && ParseLocationBody(out);
}

bool Parser::ParseLocationBody(Location* out) {
  if (AcceptName("unknown")) return true;
  if (Accept('#')) {
    if (!AtWord()) return Expected("the name of a location after `#`");
    out->alias = lex_.tok().text;
    lex_.Next();
    return true;
  }
  if (lex_.tok().kind == Tok::kString) {
    std::string text = StringOf(lex_.tok());
    lex_.Next();
    if (Accept(':')) {
      out->file = std::move(text);
      if (!ParseInt(&out->line) || !Expect(':') || !ParseInt(&out->column)) return false;
      if (!AcceptName("to")) return true;
      if (!Accept(':')) {
        if (!ParseInt(&out->end_line) || !Expect(':')) return false;
      } else {
        out->end_line = out->line;
      }
      return ParseInt(&out->end_column);
    }
    out->name = std::move(text);
    if (!Accept('(')) return true;
    out->inside.emplace_back();
    return ParseLocation(&out->inside.back()) && Expect(')');
  }
  if (AcceptName("callsite")) {
    out->inside.resize(2);
    return Expect('(') && ParseLocation(&out->inside[0]) && ExpectName("at") && ParseLocation(&out->inside[1]) &&
           Expect(')');
  }
  if (AcceptName("fused")) {
    if (lex_.At('<') && !SkipBalanced('<', '>')) return false;
    if (!Expect('[')) return false;
    while (!lex_.At(']')) {
      out->inside.emplace_back();
      if (!ParseLocation(&out->inside.back())) return false;
      if (!lex_.At(']') && !Expect(',')) return false;
    }
    lex_.Next();
    return true;
  }
  return Expected("a location");
}

}  // namespace xc::stablehlo
