// Makes HLO of a Program: functions and regions become computations, operations instructions. What single operations
// become stands in the lower_*.cc files, by family; the op table lists them.
#ifndef XC_IMPORTERS_STABLEHLO_LOWER_LOWERING_H_
#define XC_IMPORTERS_STABLEHLO_LOWER_LOWERING_H_

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/builder/builder.h"
#include "hlo/text/lexer.h"
#include "hlo/text/parser.h"
#include "importers/stablehlo/bytecode/bytecode.h"
#include "importers/stablehlo/lower/known.h"
#include "importers/stablehlo/lower/op_table.h"
#include "importers/stablehlo/syntax/ast.h"

namespace xc::stablehlo {

// A computation being made, and the values that are in it.
struct Frame {
  HloBuilder& b;
  KnownValues& known;  // of the function, the regions inside of each other included
  bool is_entry = false;
  absl::flat_hash_map<const Value*, Op> values = {};
};

// A function as it is called with arguments of certain shapes, of which some may be known.
struct Callee {
  HloComputation* computation = nullptr;
  std::vector<KnownPtr> results;  // null where a result is not known
  bool computes = false;          // it has instructions that do more than hand on arguments and constants
};

// The name of a function or a value as HLO text can have it: other characters become `_`.
std::string HloName(absl::string_view name);

class Lowering {
 public:
  Lowering(const Program& program, absl::string_view text, const ParseOptions& options)
      : program_(program),
        text_(text),
        lexer_(IsBytecode(text) ? absl::string_view() : text),
        options_(options),
        metadata_budget_(kMetadata + kMetadataPerByte * static_cast<int64_t>(text.size())),
        operations_budget_(kOperations + kOperationsPerByte * static_cast<int64_t>(text.size())) {}

  absl::StatusOr<std::unique_ptr<HloModule>> Run();

  absl::Status Error(const char* at, absl::string_view message) const {
    return absl::InvalidArgumentError(IsBytecode(text_) ? DescribeByte(text_, at, message)
                                                        : lexer_.Describe(at, message));
  }

  // The value in the frame's computation. Constants from outside, and values that are known, are made once more.
  Op Get(Frame& frame, const Value* value);
  // Makes the operations of a region; `results` are what it returns.
  absl::Status LowerBlock(const Region& region, Frame& frame, std::vector<Op>* results);
  absl::Status LowerOperation(const Operation& op, Frame& frame);

  // The function as it is called with such arguments, of which `known` has those that are known or null; made when it
  // is asked for first. Null if there is none of this name that has a body. Without arguments, those of its type.
  absl::StatusOr<const Callee*> FindFunction(const std::string& name, HloBuilder& caller,
                                             absl::Span<const Shape> arguments, absl::Span<const KnownPtr> known);

  // Whether the module leaves sizes open, or has operations that take sizes as operands: then integers are evaluated
  // where they are known. In all other modules each operation becomes what it says.
  bool refines() const { return refines_; }
  // The operation of the constant that `value` is, perhaps with annotations of how it lies; null where it is none.
  static const Operation* ConstantOf(const Value* value);
  // What value is known to be, or null.
  static KnownPtr FindKnown(const Frame& frame, const Value* value);

  // Whether the module is for several devices, and its meshes of them.
  bool has_devices() const;
  const Meshes& meshes() const { return program_.meshes; }
  // LowerBlock, for a region in the place of an operation; an error ends the lowering.
  bool LowerInner(const Region& region, Frame& frame, std::vector<Op>* results) {
    inner_error_ = LowerBlock(region, frame, results);
    return inner_error_.ok();
  }

  // False where assertions about sizes that do not hold are passed over.
  bool checks_shapes() const { return checks_shapes_; }
  void set_checks_shapes(bool checks) { checks_shapes_ = checks; }

  // Where a self-checking program compares: actual and expected, alternating.
  std::vector<Op>& check_pairs() { return check_pairs_; }

  // An error of an operation inside of a region, which says its place itself.
  void SetInnerError(absl::Status error) { inner_error_ = std::move(error); }

 private:
  // Names of places are shared in the text and copied to each instruction: long ones are cut, and after this many
  // characters instructions have none.
  static constexpr int64_t kMetadata = 1 << 24, kMetadataPerByte = 64;
  // Functions are made once for each of the shapes that they are called with: this many operations may be made in all,
  // so that a small module whose functions call each other over and over does not become a large one.
  static constexpr int64_t kOperations = 100'000, kOperationsPerByte = 1;

  struct CallSite {
    const Function* callee;
    int64_t depth;  // regions around it
    const char* at;
  };
  absl::StatusOr<const Function*> FindEntry() const;
  // Callees first; an error when functions call themselves or calls nest too deep.
  absl::StatusOr<std::vector<const Function*>> CallOrder(const Function* entry) const;
  absl::StatusOr<std::optional<Sharding>> SaidSharding(const AttrList& attributes, const Shape& shape) const;
  absl::Status LowerFunction(const Function& function, absl::Span<const Shape> arguments, Frame& frame);

  // refine.cc
  bool FindsOpenSizes() const;
  absl::StatusOr<std::vector<Shape>> EntryArguments(const Function& entry) const;
  absl::Status CheckArguments(const Function& function, absl::Span<const Shape> arguments) const;
  absl::StatusOr<const Callee*> Specialize(const Function& function, HloBuilder& caller,
                                           absl::Span<const Shape> arguments, absl::Span<const KnownPtr> known);
  bool FoldOperation(const Operation& op, Frame& frame);
  absl::Status CountOperation(const Operation& op);
  absl::Status SetModuleConfig(const Function& entry, HloModule* module) const;
  absl::Status SetEntryLayout(const std::vector<AttrList>& attributes, size_t i, const HloInstruction* value,
                              Shape* shape) const;
  absl::Status SetEntryLayouts(const Function& entry, HloModule* module) const;
  static void Tag(const Operation& op, const Attr& tags, Frame& frame);
  Metadata MetadataOf(const Location& location);

  const Program& program_;
  absl::string_view text_;  // or bytecode
  Lexer lexer_;             // of the whole text, for messages
  const ParseOptions& options_;
  int64_t metadata_budget_;
  int64_t operations_budget_;
  bool refines_ = false, checks_shapes_ = true;
  absl::flat_hash_map<std::string, std::unique_ptr<const Callee>> callees_;
  std::vector<Op> check_pairs_;
  absl::Status inner_error_;
};

// The attributes of an operation, or the fields of one attribute. The first error stays; what has been asked for is
// remembered, since any other attribute is a mistake.
class AttrReader {
 public:
  explicit AttrReader(const AttrList& attributes) : attributes_(attributes) {}

  bool Has(absl::string_view name) const { return FindAttr(attributes_, name) != nullptr; }
  const Attr* Find(absl::string_view name);
  const Attr* Require(absl::string_view name);
  // Without a default the attribute is required.
  int64_t Int(absl::string_view name, std::optional<int64_t> missing = {});
  bool Bool(absl::string_view name, std::optional<bool> missing = {});
  double Float(absl::string_view name);
  Int64List Ints(absl::string_view name, std::optional<Int64List> missing = {});
  // A list of equally long lists of integers.
  std::vector<Int64List> IntLists(absl::string_view name);
  // One word: bare, a string, or the last word of a dialect's attribute.
  std::string Word(absl::string_view name, std::optional<std::string> missing = {});
  std::vector<std::string> Words(absl::string_view name);
  template <typename T>
  T Choice(absl::string_view name, std::initializer_list<std::pair<absl::string_view, T>> choices,
           std::optional<T> missing = {}) {
    if (missing && !Has(name)) return *missing;
    const std::string word = Word(name);
    std::string known;
    for (const auto& [choice, value] : choices) {
      if (choice == word) return value;
      absl::StrAppend(&known, known.empty() ? "" : ", ", choice);
    }
    Fail(absl::StrCat("attribute `", name, "` is ", word, ", should be one of ", known));
    return choices.begin()->second;
  }

  // The first attribute that nobody asked for and that is not of a dialect (`mhlo.sharding`), or null.
  const std::string* Unknown() const;

  bool Used(absl::string_view name) const { return std::find(used_.begin(), used_.end(), name) != used_.end(); }

  void Fail(std::string message);
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  const AttrList& attributes_;
  std::vector<std::string> used_;
  std::string error_;
};

// One operation on its way to HLO.
class OpLowering {
 public:
  OpLowering(const Operation& op, Frame& frame, Lowering& lowering)
      : op(op), frame(frame), b(frame.b), lowering(lowering), attrs(op.attributes) {}

  const Operation& op;
  Frame& frame;
  HloBuilder& b;
  Lowering& lowering;
  AttrReader attrs;

  Op in(int64_t i) { return lowering.Get(frame, op.operands[i]); }
  KnownPtr known(int64_t i) const { return Lowering::FindKnown(frame, op.operands[i]); }
  void SetKnown(int64_t result, KnownPtr known);  // which may be null
  std::vector<Op> Operands(int64_t first = 0, int64_t count = -1);
  // An error if the operation does not have the result.
  const Shape& result(int64_t i = 0);
  // The shape of all results: a tuple unless there is one.
  Shape ResultShape() const;

  bool ok() const { return attrs.ok() && b.ok(); }
  void Fail(std::string message) { attrs.Fail(std::move(message)); }
  // The fields of attribute `name` if it is there, else the operation's own attributes.
  AttrReader Fields(absl::string_view name);
  // Takes over the reader's error, or that it had fields that are unknown.
  void Finish(const AttrReader& fields, absl::string_view name);

  // The instruction becomes the operation's results.
  void Emit(HloOpcode opcode, Ops operands, Attributes attributes = {}, absl::Span<HloComputation* const> called = {});
  // `value`, a tuple where there are several results, becomes the results.
  void Bind(Op value);
  void BindEach(Ops values);

  // The values from outside that regions use, constants apart.
  std::vector<const Value*> Captures() const;
  // Region i as a computation of its arguments, whose root is what it returns. It may not use values from outside.
  HloComputation* FlatRegion(int64_t i);
  // Region i as a computation of one parameter: its arguments, which have the shapes of `arguments`, and `captures`, as
  // a tuple unless they are one value. What it returns and, `pass_on`, the captures are the root.
  HloComputation* StateRegion(int64_t i, Ops arguments, absl::Span<const Value* const> captures, bool pass_on);
  // The operations of region i, which has no arguments, in the place of this one: what it returns is its results.
  void InlineRegion(int64_t i);
  // Calls the function that a symbol names.
  void Call(const Attr* symbol, Attributes attributes);
  // The function that a symbol names, for arguments of such shapes (none: those of its type); null after an error.
  const Callee* FindCallee(const Attr* symbol, absl::Span<const Shape> arguments, absl::Span<const KnownPtr> known);

 private:
  std::unique_ptr<HloBuilder> SubBuilder(int64_t region);
  void FailInside(absl::Status error);
};

// The values as one: itself if it is one, else a tuple.
Op Pack(HloBuilder& b, Ops values);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_LOWER_LOWERING_H_
