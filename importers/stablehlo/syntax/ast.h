// A StableHLO module as its text, or its bytecode, says it: functions of operations with operands, attributes and
// regions, with names resolved and types read, but no operation's meaning looked at.
#ifndef XC_IMPORTERS_STABLEHLO_SYNTAX_AST_H_
#define XC_IMPORTERS_STABLEHLO_SYNTAX_AST_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "hlo/attributes.h"
#include "hlo/literal.h"
#include "hlo/shape.h"
#include "importers/stablehlo/syntax/sdy.h"

namespace xc::stablehlo {

struct OpRow;
struct Operation;
// A structure of its own, not a std::pair: a list of those cannot be a member of what it holds.
struct NamedAttr;

using AttrList = std::vector<NamedAttr>;

// One attribute. `#stablehlo.gather<offset_dims = [1]>` is a dialect attribute with fields, `#stablehlo<precision
// HIGH>` one with words; a word alone (`HIGH`) is what the short forms of operations write instead.
struct Attr {
  enum class Kind : uint8_t {
    kUnit,
    kBool,
    kInt,
    kFloat,
    kString,
    kWord,
    kSymbol,
    kType,
    kInts,      // a list of plain integers, or array<iN: …>
    kList,      // any other list
    kElements,  // dense<…>
    kDictionary,
    kDialect,
    kConvDims,
  };
  Kind kind = Kind::kUnit;
  const char* at = nullptr;
  absl::string_view source;                 // as written
  int64_t integer = 0;                      // kBool, kInt
  double number = 0;                        // kFloat
  std::string text;                         // kString (escapes resolved), kWord, kSymbol; the name of kDialect
  Int64List ints;                           // kInts
  std::vector<Attr> items;                  // kList; the words of kDialect
  AttrList fields;                          // kDictionary, kDialect
  Shape shape;                              // kType, kElements; a function type is a tuple (parameters, results)
  std::shared_ptr<const Literal> elements;  // kElements: a scalar where all elements are the same
  std::shared_ptr<const ConvDims> conv_dims;
};

struct NamedAttr {
  std::string name;
  Attr attr;
};

const Attr* FindAttr(const AttrList& attributes, absl::string_view name);

// A size that the type leaves open, `?` without a bound.
inline void SetUnknownSize(int64_t dim, Shape* shape) {
  shape->set_dim(dim, Shape::kUnknownSize);
  shape->set_dynamic_dim(dim, true);
}

// Truth values and elements narrower than a byte may come with anything in the bits that they do not use.
void ClearSpareBits(Literal* literal);

struct Value {
  absl::string_view name;  // as written, without `%`
  Shape shape;
  const Operation* definition = nullptr;  // null for arguments of functions and regions
  int64_t index = 0;                      // among the results of its definition, or the arguments
};

struct Region {
  const char* at = nullptr;
  std::vector<Value*> arguments;
  std::vector<std::unique_ptr<Operation>> operations;
};

// A place in the source of the program that was compiled, or the name of such a place.
struct Location {
  std::string name, file;
  int64_t line = 0, column = 0, end_line = 0, end_column = 0;
  absl::string_view alias;       // `#loc3`: defined elsewhere
  std::vector<Location> inside;  // what a name, a call site or a fused location is made of
};

struct Operation {
  const OpRow* row = nullptr;
  absl::string_view name;
  const char* at = nullptr;
  std::vector<Value*> operands, results;
  AttrList attributes;
  std::vector<Region> regions;
  Location location;
};

struct Function {
  std::string name;
  const char* at = nullptr;
  bool is_private = false, has_body = false;
  Region body;
  std::vector<Shape> results;
  std::vector<AttrList> argument_attributes, result_attributes;
};

struct Program {
  std::string name = "main";
  AttrList attributes;
  std::vector<std::unique_ptr<Function>> functions;
  absl::flat_hash_map<std::string, Function*> by_name;
  absl::flat_hash_map<std::string, Location> locations;  // aliases
  Meshes meshes;                                         // of devices
  std::deque<Value> values;
  std::deque<std::string> kept;  // what the views above refer to, where it is not part of the text
};

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_SYNTAX_AST_H_
