// PTX as parsed: variables, functions and statements with their registers resolved. Text in, no meaning of opcodes yet.
#ifndef XC_BACKENDS_GPU_EMULATOR_PTX_H_
#define XC_BACKENDS_GPU_EMULATOR_PTX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xc::emulator {

enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kTf32,
  kF32,
  kF64,
  kE4m3,
  kE5m2,
  kE4m3x2,
  kE5m2x2,
  kU4,
  kS4,
};
// "f32" (without the dot); kNone if it is no type.
Type TypeOf(absl::string_view name);
// Bytes of a value; predicates count 4, a mask of 32 lanes. 0 for kNone and types narrower than a byte.
int BytesOf(Type type);
bool IsFloat(Type type);
bool IsSigned(Type type);

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

// A symbol's address in a variable's initial value.
struct Relocation {
  int64_t offset = 0;
  std::string symbol;
  int64_t addend = 0;
};

struct Variable {
  std::string name;
  Space space = Space::kGlobal;
  Type type = Type::kNone;
  int64_t bytes = 0;  // 0: sized at launch (extern shared)
  int64_t alignment = 1;
  bool is_external = false;
  std::string value;  // as bytes; shorter than `bytes`: the rest is zero
  std::vector<Relocation> relocations;
};

struct Register {
  std::string name;
  Type type = Type::kNone;
};

struct Operand {
  enum Kind : uint8_t {
    kRegister,   // `index` in Function::registers
    kSpecial,    // `name`: %tid.x
    kImmediate,  // `bits`
    kVariable,   // `index` in Function::variables; with `offset`
    kSymbol,     // `name`: a variable or function of the module; with `offset`
    kVector,     // `elements`
    kSink,       // _
    kLabel,      // `name`
  };
  Kind kind = kSink;
  bool is_address = false;  // stood in brackets; `offset` is added
  bool negated = false;     // !%p1
  bool is_double = false;   // an immediate 0d…, or with a decimal point: `bits` of a double
  bool is_single = false;   // an immediate 0f…: `bits` of a float
  int32_t index = -1;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;
  std::vector<Operand> elements;
};

struct Statement {
  int line = 0;
  int guard = -1;  // a predicate register, or none
  bool guard_negated = false;
  std::string op;                      // "ld"
  std::vector<std::string> modifiers;  // "global", "v4", "f32"
  std::vector<Operand> operands;       // of `call`: (results), target, (arguments)
  std::string label;                   // a statement without op: here begins `label`
  std::vector<std::string> targets;    // with a label: `.branchtargets`

  bool Has(absl::string_view modifier) const;
  // The `n`th modifier that is a type; kNone if there are fewer.
  Type TypeAt(int n) const;
  std::string Text() const;  // "ld.global.v4.f32"
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_declaration = false;
  int line = 0;
  // Variables: first `results`, then `parameters` (both of the param space), then those of the body.
  int num_results = 0, num_parameters = 0;
  std::vector<Variable> variables;
  std::vector<Register> registers;
  std::vector<Statement> body;
  int max_threads = 0;  // .maxntid or .reqntid; 0: not given
  bool exact_threads = false;
  uint32_t required[3] = {0, 0, 0};  // .reqntid by dimension
};

struct ParsedModule {
  int version_major = 0, version_minor = 0;
  std::string target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

// Parses PTX text. Errors: InvalidArgument with the line for what is not PTX.
absl::StatusOr<ParsedModule> ParsePtx(absl::string_view text);

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_PTX_H_
