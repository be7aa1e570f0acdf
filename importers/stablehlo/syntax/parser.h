// The state of reading MLIR assembly into a Program. Methods live in one file per concern (parse_type, parse_attribute,
// parse_elements, parse_location, parse_operation, parse_module) and return false after the first error.
#ifndef XC_IMPORTERS_STABLEHLO_SYNTAX_PARSER_H_
#define XC_IMPORTERS_STABLEHLO_SYNTAX_PARSER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/text/lexer.h"
#include "hlo/text/parser.h"
#include "importers/stablehlo/syntax/ast.h"

namespace xc::stablehlo {

inline constexpr size_t kMaxRank = 128;  // of tensors

// The element type that `i32`, `ui8`, `bf16`, `f8E4M3FN`, … name, or nothing.
std::optional<ElementType> ScalarType(absl::string_view name);

class Parser {
 public:
  Parser(absl::string_view text, const ParseOptions& options, Program* program)
      : lex_(text), options_(options), program_(*program) {}

  bool ParseProgram();
  // The text is one type, or one attribute.
  bool ParseTypeAlone(Shape* out) {
    return ParseType(out) && (lex_.tok().kind == Tok::kEof || Expected("nothing else"));
  }
  bool ParseAttrAlone(Attr* out) {
    return ParseAttr(out, true) && (lex_.tok().kind == Tok::kEof || Expected("nothing else"));
  }
  absl::Status status() const { return failed_ ? absl::InvalidArgumentError(error_) : absl::OkStatus(); }

 private:
  // The types that an operation ends with: `(T, T) -> T`, or a list.
  struct OpTypes {
    bool functional = false;  // with an arrow
    bool applies = false;     // of a reduction whose region is made of the name of an operation
    std::vector<Shape> operands, results;
  };
  // Counts what stands inside of each other, so that no text makes the recursion deep.
  class Nested {
   public:
    explicit Nested(Parser* parser) : parser_(parser) { ++parser_->depth_; }
    ~Nested() { --parser_->depth_; }
    bool ok() const;

   private:
    Parser* parser_;
  };

  // parser.cc
  bool Fail(const char* at, absl::string_view message);
  bool Expected(absl::string_view what);
  bool Expect(char punct);
  bool ExpectName(absl::string_view name);
  bool ExpectArrow();
  bool Accept(char punct);
  bool AcceptName(absl::string_view name);
  bool AtValue() const { return lex_.tok().kind == Tok::kName && lex_.tok().percent; }
  bool AtWord() const { return lex_.tok().kind == Tok::kName && !lex_.tok().percent; }
  bool ParseInt(int64_t* out);
  static std::string StringOf(const Token& tok);  // of a kString, escapes resolved
  bool ParseSymbol(std::string* out);             // after which `@` is gone
  bool SkipBalanced(char open, char close);

  // parse_type.cc
  bool AtType() const;
  bool ParseType(Shape* out);
  bool ParseTypeBody(Shape* out);
  bool ParseTensor(Shape* out);
  bool ParseElementType(ElementType* out);
  bool ParseBounds(Shape* shape, const std::vector<int64_t>& unknown);
  bool ParseTypes(std::vector<Shape>* out);        // `(T, T)`
  bool ParseTypeOrTypes(std::vector<Shape>* out);  // `T` or `(T, T)`
  bool ParseOpTypes(OpTypes* out);

  // parse_attribute.cc. `typed`: a number may be followed by its type.
  bool ParseAttr(Attr* out, bool typed);
  bool ParseAttrBody(Attr* out, bool typed);
  bool ParseNumber(Attr* out, bool typed);
  bool ParseList(Attr* out, char close, bool typed);
  bool ParseDenseArray(Attr* out);
  bool ParseDictionary(AttrList* out);
  bool ParseDialectAttr(Attr* out);
  bool ParseDialectBody(Attr* out);
  bool ParseConvDims(Attr* out);

  // parse_elements.cc
  bool ParseDense(Attr* out);
  bool ParseElided(Attr* out);
  bool ReadBlob(absl::string_view hex, const char* at, Attr* out);
  bool ReadElements(absl::string_view body, Attr* out);

  // parse_location.cc
  bool AtLocation();
  bool ParseOptionalLocation(Location* out);
  bool ParseLocation(Location* out);
  bool ParseLocationBody(Location* out);

  // parse_operation.cc
  bool ParseOperation(Region* region);
  bool ParseGeneric(Operation* op, OpTypes* types);
  bool ParseShort(Operation* op, OpTypes* types);
  bool ParseItems(Operation* op, char close);
  bool ParseSharded(Operation* op);
  bool ParseManual(Operation* op, OpTypes* types);
  bool ParseItem(Operation* op, int* words);
  bool ParseKeyValue(Operation* op, absl::string_view key);
  bool ParseRanges(Operation* op);
  bool ParseOperand(Operation* op);
  bool FinishOperation(Operation* op, const OpTypes& types,
                       const std::vector<std::pair<absl::string_view, int64_t>>& names);
  bool AddAttr(Operation* op, absl::string_view name, Attr attr);
  bool DefineValue(absl::string_view name, const char* at, std::vector<Value*> values);
  Value* NewValue(absl::string_view name, const Shape& shape, const Operation* definition, int64_t index);

  // parse_region.cc
  bool ParseRegion(Region* region);
  bool ParseBlock(Region* region);
  bool ParseArgument(Region* region);
  bool ParseReduce(Operation* op, OpTypes* types);
  bool ParseReducer(Operation* op, int64_t inputs);
  bool MakeReducer(Operation* op, absl::string_view applied, const char* at);
  bool ParseWhile(Operation* op, OpTypes* types);

  // parse_module.cc
  bool ParseItemOfModule();
  bool ParseModule();
  bool ParseFunction();
  bool ParseGenericModule();
  bool ParseGenericFunction();
  bool AddFunction(std::unique_ptr<Function> function);
  bool ParseAlias();
  bool ParseMesh();

  // The names that are visible, innermost last; a function sees only its own.
  using Scope = absl::flat_hash_map<absl::string_view, std::vector<Value*>>;

  Lexer lex_;
  const ParseOptions& options_;
  Program& program_;
  bool failed_ = false;
  std::string error_;
  absl::string_view op_name_;  // of the operation being read, for messages
  int depth_ = 0;
  int64_t operations_ = 0;
  int64_t elided_bytes_ = 0;
  std::vector<Scope> scopes_;
  absl::flat_hash_map<std::string, Attr> attr_aliases_;
  absl::flat_hash_map<std::string, Shape> type_aliases_;
};

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_SYNTAX_PARSER_H_
