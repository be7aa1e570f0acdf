// Reads HLO text: whole modules, and shapes and literals on their own.
#ifndef XC_HLO_TEXT_PARSER_H_
#define XC_HLO_TEXT_PARSER_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace xc {

// Bounds on what a text may make the parser allocate, and what it does not say itself.
struct ParseOptions {
  int max_nesting = 100;  // of tuple shapes, tuple literals, shardings and operands
  int64_t max_instructions = 20'000'000;
  // Of all constants whose elements the text leaves out (`{...}`); written ones are bounded by the text.
  int64_t max_elided_bytes = int64_t{1} << 30;
  int max_call_depth = 500;  // computations calling computations
  // The shape of an argument of the entry whose type leaves sizes open, as types of StableHLO may: it is asked for
  // these only. Null: such modules are refused.
  std::function<absl::StatusOr<Shape>(int64_t argument, const Shape& type)> argument_shape;
};

// The syntax is XLA's. Names may stand with or without `%`; operand shapes may be given; computations may be used
// before they are defined, instructions may not. A shape that is left out is inferred from operands, attributes and
// computations defined before; groups of devices by the axes of a mesh become lists or iota form. The result has a root
// in every computation, operands of the right number, parameters numbered without gaps, and no computation that calls
// itself; everything else is the verifier's to check. Errors are InvalidArgument with line, column, the line itself
// with a caret, and what was expected.
absl::StatusOr<std::unique_ptr<HloModule>> ParseModule(absl::string_view text, const ParseOptions& options = {});

// "f32[2,3]{1,0}".
absl::StatusOr<Shape> ParseShape(absl::string_view text, const ParseOptions& options = {});

// The elements of a literal of `shape`: "{ { 1, 2 }, { 3, 4 } }".
absl::StatusOr<Literal> ParseLiteral(const Shape& shape, absl::string_view text, const ParseOptions& options = {});

}  // namespace xc

#endif  // XC_HLO_TEXT_PARSER_H_
