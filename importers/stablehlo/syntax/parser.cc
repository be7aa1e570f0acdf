// Tokens and errors of the MLIR reader.
#include "importers/stablehlo/syntax/parser.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace xc::stablehlo {

const Attr* FindAttr(const AttrList& attributes, absl::string_view name) {
  for (const auto& [key, attr] : attributes) {
    if (key == name) return &attr;
  }
  return nullptr;
}

bool Parser::Nested::ok() const {
  if (parser_->depth_ <= parser_->options_.max_nesting) return true;
  parser_->Fail(parser_->lex_.tok().begin, absl::StrCat("nested more than ", parser_->options_.max_nesting, " deep"));
  return false;
}

bool Parser::Fail(const char* at, absl::string_view message) {
  if (failed_) return false;
  failed_ = true;
  error_ = op_name_.empty() ? lex_.Describe(at, message) : lex_.Describe(at, absl::StrCat(op_name_, ": ", message));
  return false;
}

bool Parser::Expected(absl::string_view what) {
  const Token& tok = lex_.tok();
  if (tok.kind == Tok::kBad) return Fail(tok.begin, lex_.bad());
  if (tok.kind == Tok::kEof) return Fail(tok.begin, absl::StrCat("expected ", what, ", found the end of the text"));
  constexpr size_t kShown = 40;
  const absl::string_view found(tok.begin, tok.end - tok.begin);
  return Fail(tok.begin, absl::StrCat("expected ", what, ", found `", found.substr(0, kShown),
                                      found.size() > kShown ? "..." : "", "`"));
}

bool Parser::Expect(char punct) {
  if (Accept(punct)) return true;
  return Expected(absl::StrCat("`", absl::string_view(&punct, 1), "`"));
}

bool Parser::ExpectName(absl::string_view name) {
  if (AcceptName(name)) return true;
  return Expected(absl::StrCat("`", name, "`"));
}

bool Parser::ExpectArrow() {
  if (lex_.tok().kind != Tok::kArrow) return Expected("`->`");
  lex_.Next();
  return true;
}

bool Parser::Accept(char punct) {
  if (!lex_.At(punct)) return false;
  lex_.Next();
  return true;
}

bool Parser::AcceptName(absl::string_view name) {
  if (!lex_.AtName(name)) return false;
  lex_.Next();
  return true;
}

// MLIR's escapes are \n, \t, \\, \" and two hexadecimal digits.
std::string Parser::StringOf(const Token& tok) {
  const auto digit = [](char c) {
    return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(static_cast<unsigned char>(c)) - 'a' + 10;
  };
  std::string out;
  const absl::string_view text = tok.text;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
    } else if (i + 2 < text.size() && absl::ascii_isxdigit(text[i + 1]) && absl::ascii_isxdigit(text[i + 2])) {
      out.push_back(static_cast<char>(16 * digit(text[i + 1]) + digit(text[i + 2])));
      i += 2;
    } else {
      ++i;
      out.push_back(text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i]);
    }
  }
  return out;
}

bool Parser::ParseInt(int64_t* out) {
  if (lex_.tok().kind != Tok::kInt) return Expected("an integer");
  if (!absl::SimpleAtoi(lex_.tok().text, out)) return Fail(lex_.tok().begin, "this integer does not fit into 64 bits");
  lex_.Next();
  return true;
}

bool Parser::ParseSymbol(std::string* out) {
  const Token tok = lex_.tok();
  if (tok.kind != Tok::kName || tok.percent || tok.text.empty() || tok.text[0] != '@')
    return Expected("a name with `@`");
  lex_.Next();
  if (tok.text.size() > 1) {
    *out = std::string(tok.text.substr(1));
    return true;
  }
  if (lex_.tok().kind != Tok::kString) return Expected("a name after `@`");
  *out = StringOf(lex_.tok());
  lex_.Next();
  return true;
}

bool Parser::SkipBalanced(char open, char close) {
  const char* at = lex_.tok().begin;
  if (!Expect(open)) return false;
  for (int64_t depth = 1; depth > 0;) {
    const Tok kind = lex_.tok().kind;
    if (kind == Tok::kEof || kind == Tok::kBad) {
      return Fail(at, absl::StrCat("this `", absl::string_view(&open, 1), "` is not closed"));
    }
    if (lex_.At(open)) ++depth;
    if (lex_.At(close)) --depth;
    lex_.Next();
  }
  return true;
}

}  // namespace xc::stablehlo
