// The parser's state. Its methods live in one file per concern: parse_shape, parse_literal, parse_attributes,
// parse_values, parse_sharding, parse_mesh, parse_instruction, parse_module. Methods return false after the first
// error, which is kept in error().
#ifndef XC_HLO_TEXT_PARSER_IMPL_H_
#define XC_HLO_TEXT_PARSER_IMPL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "hlo/devices/mesh_groups.h"
#include "hlo/module.h"
#include "hlo/text/lexer.h"
#include "hlo/text/parser.h"

namespace xc {

class Parser {
 public:
  Parser(absl::string_view text, const ParseOptions& options) : lex_(text), options_(options) {}

  // Whole inputs.
  std::unique_ptr<HloModule> Module();
  bool AtEnd();
  bool ParseHeader(HloModule* module);
  bool ParseLiteralOf(const Shape& shape, Literal* out);

  absl::Status status() const { return failed_ ? absl::InvalidArgumentError(error_) : absl::OkStatus(); }

  // Values, by type. Each reads one value from the current token on.
  bool Parse(bool* out);
  bool Parse(int64_t* out);
  bool Parse(float* out);
  bool Parse(double* out);
  bool Parse(std::string* out);  // quoted
  bool Parse(Int64List* out);    // {1,2}
  bool Parse(std::vector<bool>* out);
  bool Parse(std::vector<Int64List>* out);  // {{1,2},{3}}
  bool Parse(StringList* out);              // {high,default}
  bool Parse(Shape* out);
  bool Parse(std::vector<Shape>* out);
  bool Parse(std::shared_ptr<const Literal>* out);  // shape and elements
  bool Parse(WindowAttr* out);
  bool Parse(ConvDims* out);
  bool Parse(SliceAttr* out);
  bool Parse(PaddingAttr* out);
  bool Parse(OutputOperandAliasing* out);
  bool Parse(ReplicaGroups* out);
  bool Parse(Metadata* out);
  bool Parse(Sharding* out);
  bool Parse(BackendConfig* out);
  bool Parse(FrontendAttributes* out);
  bool Parse(Statistics* out);
  bool Parse(DomainAttr* out);
  bool Parse(CompareDirection* out);
  bool Parse(CompareType* out);
  bool Parse(FusionKind* out);
  bool Parse(FftType* out);
  bool Parse(RandomDistribution* out);
  bool Parse(RandomAlgorithm* out);
  bool Parse(TriangularTranspose* out);
  // A bare word such as API_VERSION_ORIGINAL, or text in braces kept as it stands.
  bool ParseWord(std::string* out);
  bool ParseRaw(std::string* out);

  // References to computations: recorded, resolved at the end of the module.
  bool ParseCalled(HloInstruction* instruction, size_t slot);
  bool ParseCalledList(HloInstruction* instruction);
  bool ParseControlPredecessors(HloInstruction* instruction);

  // Records an error at a place; always false.
  bool Fail(const char* at, absl::string_view message);
  // "expected WHAT, found …" at the current token; always false.
  bool Expected(absl::string_view what);
  bool Expect(char punct);
  // Consumes `punct` if it is there.
  bool Accept(char punct) {
    if (!lex_.At(punct)) return false;
    lex_.Next();
    return true;
  }

 private:
  struct CallFixup {
    HloInstruction* instruction;
    size_t slot;
    absl::string_view name;
    const char* at;
  };

  // parse_shape.cc
  bool ParseShapeNested(Shape* out, int depth);
  bool ParseDims(Shape* shape);
  bool ParseLayout(Shape* shape);
  bool ParseElementType(ElementType* out);
  bool ParseParenInts(Int64List* out, bool star);

  // parse_literal.cc
  bool ParseElements(Literal* literal);
  bool ParseFirstElement(const Shape& shape, Literal* out);

  // parse_attributes.cc
  bool ParseAttributes(HloInstruction* instruction);
  bool CheckRequired(const HloInstruction& instruction, const char* at);

  // parse_values.cc
  bool ParseShapeIndex(ShapeIndex* out) { return Parse(static_cast<Int64List*>(out)); }
  template <typename T, size_t kCount>
  bool ParseEnum(const std::pair<absl::string_view, T> (&names)[kCount], T* out);

  // parse_sharding.cc
  bool ParseShardingNested(Sharding* out, int depth);
  bool ParseIotaTail(Int64List* reshape, Int64List* transpose);
  bool ParseBracketInts(Int64List* out);
  bool ParseShardingType(Sharding::Type* out);

  // parse_mesh.cc
  bool ParseMeshGroups(ReplicaGroups* out);
  bool ParseMesh(DeviceMesh* mesh);
  bool ParseAxisName(std::string* out);
  bool ParseAxisRef(const DeviceMesh& mesh, MeshAxisRef* out);

  // parse_instruction.cc
  bool ParseInstructionLine(HloComputation* computation);
  // Without a shape, it is inferred.
  bool ParseRhs(HloComputation* computation, absl::string_view name, std::optional<Shape> shape, bool nested, int depth,
                HloInstruction** out);
  bool AtOpcode() const;
  bool InferShapeOf(HloInstruction* instruction, const HloComputation* computation, size_t first_fixup, const char* at);
  bool ParseOperands(HloComputation* computation, int depth, std::vector<HloInstruction*>* out);
  bool ParseParameter(HloComputation* computation, const Shape& shape, std::unique_ptr<HloInstruction>* out);
  bool WrapAsync(HloComputation* computation, HloOpcode wrapped, HloInstruction* start);

  // parse_module.cc
  bool ParseHeaderAttribute(HloModule* module, absl::string_view name, const char* at);
  bool ParseEntryLayout(ModuleConfig* config);
  bool ParseInputOutputAlias(ModuleConfig* config);
  bool ParseBufferDonors(ModuleConfig* config);
  bool ParseStackTables(StackFrames* frames);
  bool ParseComputation(HloModule* module);
  bool ParseProgramShape(std::optional<Shape>* result);
  bool FinishComputation(HloComputation* computation, const char* at);
  bool ResolveCalls(HloModule* module);

  Lexer lex_;
  const ParseOptions& options_;
  bool failed_ = false;
  std::string error_;

  HloModule* module_ = nullptr;
  absl::flat_hash_map<absl::string_view, HloInstruction*> values_;  // of the computation being read
  absl::flat_hash_map<absl::string_view, HloComputation*> computations_;
  absl::flat_hash_map<const HloComputation*, const char*> defined_at_;
  std::vector<CallFixup> fixups_;
  bool root_seen_ = false;
  bool entry_seen_ = false;
  int64_t instructions_ = 0;
  int64_t elided_bytes_ = 0;
  int64_t inferred_parts_ = 0;  // of shapes that were inferred, and of what they were inferred from
  int literal_depth_ = 0;
};

}  // namespace xc

#endif  // XC_HLO_TEXT_PARSER_IMPL_H_
