// Generates the value of an HLO expression at one position, or at several neighbouring ones (lanes): the operands'
// positions follow from the op's index map, down to loads from memory. Fusions, single ops, reducers and map bodies are
// all written with it. Which expressions it takes: compiler/fuse/emittable.h.
#ifndef XC_BACKENDS_CODEGEN_FUSED_EMITTER_H_
#define XC_BACKENDS_CODEGEN_FUSED_EMITTER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/codegen/element.h"
#include "backends/codegen/elementwise.h"
#include "backends/codegen/index.h"
#include "backends/codegen/quotients.h"
#include "hlo/base/status.h"
#include "hlo/module.h"

namespace llvm {
class BasicBlock;
class Constant;
class Module;
class Type;
}  // namespace llvm

namespace xc::codegen {

// A value along rows that one expression makes and another one, the same, takes for the same row, from memory between
// them. It holds the registers of elements, with room for a vector behind the last.
struct KeptRow {
  const HloInstruction *made, *taken;
  llvm::Value* memory = nullptr;
  enum class State { kUnknown, kWritten, kUnusable } state = State::kUnknown;
};

// The reciprocals of the divisors of `divide` (Reciprocals), which are the same in all rows: `values` and `rests` are
// places in memory where they lie along its last dimension, with room for a vector behind the last.
struct KeptReciprocals {
  const HloInstruction* divide;
  llvm::Value *values = nullptr, *rests = nullptr, *safe = nullptr;
};

class FusedEmitter;

// Takes over reductions of rows (IsRowReduce) that several threads share.
class RowReducer {
 public:
  virtual ~RowReducer() = default;
  // The result of `reduce` at `at`, the same for all threads: each gets the whole. `fused` gives the operands.
  virtual absl::StatusOr<Element> Reduce(FusedEmitter& fused, const HloInstruction* reduce,
                                         const std::vector<Term>& at) = 0;
};

// A value that changes nothing in a reduction by `op` which starts from `init`, or counts it once more where that
// changes nothing.
Element NeutralElement(ElementEmitter& element, HloOpcode op, ElementType type, Element init);

class FusedEmitter {
 public:
  // `lanes` 1: scalar code.
  FusedEmitter(ElementEmitter& element, int lanes)
      : e_(element), index_(element.builder(), lanes, element.target().index_bits), lanes_(lanes) {}

  // The array value of `instruction` lies at `base`, in the layout of its shape.
  void BindMemory(const HloInstruction* instruction, llvm::Value* base) { memory_[instruction] = base; }
  // The (scalar-shaped) value of `instruction` is `value`.
  void BindValue(const HloInstruction* instruction, Element value) { values_[instruction] = value; }
  // The value of `instruction` is that of `other` at the same position (parameters of nested fusions).
  void BindAlias(const HloInstruction* instruction, const HloInstruction* other) { alias_[instruction] = other; }
  // Keeps the row in memory where its maker is emitted, along the last dimension, and takes it from there afterwards.
  void BindRow(KeptRow* row) { kept_row_ = row; }
  // Makes its quotients of the reciprocals, where lanes lie along the last dimension.
  void BindReciprocals(const KeptReciprocals* reciprocals) { reciprocals_.push_back(reciprocals); }
  // Has reductions of rows done by `reducer` where values are wanted at all positions; the emitter has one lane.
  void SetRowReducer(RowReducer* reducer) { row_reducer_ = reducer; }
  // Which lanes are inside the array, in a loop's last step. Lane 0 always is. Null: all.
  void SetTail(llvm::Value* mask) { tail_ = mask; }
  bool has_tail() const { return tail_ != nullptr; }
  // Whether the condition holds in any lane inside the array.
  llvm::Value* Any(llvm::Value* condition);

  // Along a row of bf16 (IsPairedRow), lanes are two elements apart, and those in between are wanted, too, by another
  // emitter: `odd` says which. Lane 0 is wanted at an even place from the row's start in each.
  void SetPair(bool odd) { pair_ = odd ? 1 : 0; }

  // The value of `instruction`, an array, at `position`.
  absl::StatusOr<Element> Get(const HloInstruction* instruction, const Index& position);
  // All results of a reduce (one for each of its inputs) at `position`.
  absl::StatusOr<std::vector<Element>> GetReduce(const HloInstruction* reduce, const Index& position);

  // The results at `position` and the next ones along dimension `d`, `count` of them, of a reduce-window whose window
  // is trivial but along `d`, where it moves by one and has no padding: what they share is read once.
  absl::StatusOr<std::vector<Element>> GetWindows(const HloInstruction* reduce, const Index& position, int64_t d,
                                                  int64_t count);

  // The value of `array` at `at`, in the lanes where that is inside of the array; `inside` says in which lanes it is
  // (null: in all). A dimension that is not `checked` is known to be inside.
  absl::StatusOr<Element> GetInside(const HloInstruction* array, const std::vector<Term>& at,
                                    absl::Span<const bool> checked, llvm::Value** inside);

  // The start indices of a dynamic-slice or dynamic-update-slice, operands `first` and following, limited so that a
  // window of `sizes` lies inside the first operand.
  absl::StatusOr<std::vector<Term>> Starts(const HloInstruction* instruction, int64_t first,
                                           const std::vector<int64_t>& sizes);

  // The value of an integer array as a coordinate.
  absl::StatusOr<Term> AsTerm(const HloInstruction* instruction, const Index& position);

  // Stores `value`, a value of `shape`'s type, at `position` of the array at `base`. The tail mask is honoured.
  void Store(const Shape& shape, llvm::Value* base, const Index& position, Element value);

  // Stores, at `position` and along all of `dimension` of an array of `shape`, one of `values` for each of its
  // elements; or, if there are more of them, for each with all of the last dimension, which is then the next with any
  // length.
  void StoreAlternately(const Shape& shape, llvm::Value* base, const Index& position, int64_t dimension,
                        absl::Span<const Element> values);

  // Stores a tile: element (r, c) of it is lane r of columns[c], and lies at `position` but r and c further in
  // dimensions `along` and `inner`, of which the latter is an array's minor one. The first `rows` lanes are stored;
  // there are at most as many columns as lanes.
  void StoreTile(const Shape& shape, llvm::Value* base, const Index& position, int64_t along, int64_t inner,
                 absl::Span<const Element> columns, int rows);

  // Lane c of row r is lane r of columns[c]; there are at most as many columns as lanes. Real numbers.
  std::vector<Element> TransposeTile(absl::Span<const Element> columns);

  IndexArithmetic& index() { return index_; }
  ElementEmitter& element() { return e_; }
  int lanes() const { return lanes_; }
  // The position's coordinates for an array of `shape`.
  std::vector<Term> Coordinates(const Index& position, const Shape& shape);

 private:
  using V = llvm::Value*;
  using Key = std::vector<const void*>;
  Key KeyOf(const HloInstruction* instruction, const Index& position) const;

  // Whether the value is an array in memory.
  bool InMemory(const HloInstruction* instruction) const;
  absl::StatusOr<Element> Emit(const HloInstruction* instruction, const Index& position);
  absl::StatusOr<Element> EmitIndexed(const HloInstruction* instruction, const std::vector<Term>& at);
  std::vector<const HloInstruction*> OnlyFor(const HloInstruction* select, int64_t side) const;
  absl::StatusOr<Element> EmitSelect(const HloInstruction* select, const Index& position);
  absl::StatusOr<Element> EmitAnd(const HloInstruction* both, const Index& position);
  absl::StatusOr<Element> EmitPad(const HloInstruction* pad, const std::vector<Term>& at);
  // The dimension along which lanes are neighbours, if all others are the same in all lanes and the operand's elements
  // stand two or four apart there.
  std::optional<int64_t> SpreadDimension(const HloInstruction* pad, const std::vector<Term>& at) const;
  // The value at a position that is inside under these conditions, of all lanes and of each (null: none).
  absl::StatusOr<Element> GetWhere(const HloInstruction* array, const std::vector<Term>& at, V uniform, V lane);
  absl::StatusOr<Element> EmitSpread(const HloInstruction* pad, const std::vector<Term>& at, int64_t d,
                                     const Element& outside);
  absl::StatusOr<Element> EmitConcatenate(const HloInstruction* concatenate, const std::vector<Term>& at);
  absl::StatusOr<Element> EmitGather(const HloInstruction* gather, const std::vector<Term>& at);
  absl::StatusOr<Element> EmitDynamicUpdateSlice(const HloInstruction* update, const std::vector<Term>& at);
  absl::StatusOr<Element> EmitIota(const HloInstruction* iota, const std::vector<Term>& at);
  absl::StatusOr<std::vector<Element>> EmitReduceLoop(const HloInstruction* reduce, const std::vector<Term>& at);
  absl::StatusOr<std::vector<Element>> EmitReduceWindow(const HloInstruction* reduce, const std::vector<Term>& at);
  absl::StatusOr<std::vector<Element>> EmitRowReduce(const HloInstruction* reduce, const std::vector<Term>& at);
  // Whether `value`, and all that it is computed from, is given or computed, as `look` says.
  enum class Part { kGiven, kComputed, kOther };
  bool EachFrom(const HloInstruction* value, absl::FunctionRef<Part(const HloInstruction*)> look) const;
  // Whether an element is made by a few simple instructions.
  bool IsShort(const HloInstruction* value) const;
  // Whether all that is read for `row`, elementwise, is rows of bf16 in memory and scalars.
  bool IsPairedRow(const HloInstruction* row) const;
  // The bytes of the widest register that an element of `row` takes while it is computed from memory on; at least those
  // of a word where that is not elementwise.
  int RegisterBytes(const HloInstruction* row) const;
  // Every second bf16 from the pair on in which `offset` lies, as f32.
  V LoadHalves(V base, const Term& offset);
  // Elements of less than 32 bits at any positions in an array of `elements` of them, which fill a word at least.
  V GatherNarrow(llvm::Type* type, V base, V positions, V mask, int64_t elements);

  // The place of `position` in the kept row, if the lanes are neighbours there; else null.
  V PlaceInRow(const Index& position);
  absl::StatusOr<Element> Compute(const HloInstruction* instruction, const Index& position);
  // The reciprocals for the quotients of `divide` at `position`; nothing if there are none.
  std::optional<Reciprocals> ReciprocalsOf(const HloInstruction* divide, const Index& position);

  Element Load(const HloInstruction* instruction, V base, const Index& position);
  // `elements`: how many there are from `base` on.
  V LoadComponent(ElementType type, V base, const Term& offset, int64_t elements);
  // Elements a small stride apart, without reading beyond the last; in lanes outside of `mask` (null: none) zeros.
  V LoadStrided(llvm::Type* scalar, V base, const Term& offset, V mask);
  // How many elements each of its reads has, of the `elements` from the first to the last: as many as a whole vector
  // holds, where one instruction picks them out of two vectors.
  int64_t StridedWidth(llvm::Type* scalar, int64_t elements, V mask) const;
  // LoadStrided for lanes that are mostly all wanted or none, as those beside a border are. Where all are, the first
  // element is at `first`.
  V LoadStridedWhere(llvm::Type* scalar, V base, const Term& offset, V first, V mask);
  // Where a masked read of neighbouring elements begins: at `position`, or at the array's first element if no lane is
  // wanted. The mask would keep a page that is not there from being a fault, but that takes hundreds of cycles. So
  // conditions on single lanes count only where many of them may be about places outside of the array.
  V MaskedStart(V position);
  Term Offset(const Shape& shape, const Index& position);
  Element BroadcastScalarConstant(const HloInstruction* constant);

  // Runs `body` while values are wanted only in lanes where `condition` (i1 or a vector of it) holds, with their
  // coordinates inside the operand: elsewhere loads touch no memory out of bounds. `far`: of the places read elsewhere,
  // a good part lies outside of the operand. What is costly to compute of `array`, which the body reads (null: nothing
  // is known), is left out where no lane wants it.
  template <typename Body>
  absl::StatusOr<Element> Where(V condition, const HloInstruction* array, Body body, bool far = true) {
    if (IsCostly(array)) {
      return InBranch(condition, [&] { return IsVector(condition) ? Where(condition, nullptr, body, far) : body(); });
    }
    V uniform = uniform_condition_, lane = lane_condition_;
    const bool lanes_far = lanes_far_;
    if (IsVector(condition)) lanes_far_ |= far;
    (IsVector(condition) ? lane_condition_ : uniform_condition_) =
        And(IsVector(condition) ? lane_condition_ : uniform_condition_, condition);
    absl::StatusOr<Element> value = body();
    uniform_condition_ = uniform;
    lane_condition_ = lane;
    lanes_far_ = lanes_far;
    return value;
  }
  // Whether an element of `array` takes more work here than leaving it out does. Null: no.
  bool IsCostly(const HloInstruction* array);
  // `body`'s value in a branch that is taken if `condition` holds for any lane; zeros elsewhere.
  absl::StatusOr<Element> InBranch(V condition, absl::FunctionRef<absl::StatusOr<Element>()> body);
  static bool IsVector(V value) { return ElementEmitter::Lanes(value) > 1; }
  // 0 <= term < size, as i1 for uniform terms and else as a vector.
  V InRange(const Term& term, int64_t size);
  // Where values are wanted: inside the array, and under the conditions of Where. Null: everywhere.
  V Active() { return And(And(tail_, lane_condition_), uniform_condition_); }
  V And(V x, V y);

  friend class ReduceEmission;

  ElementEmitter& e_;
  IndexArithmetic index_;
  const int lanes_;
  absl::flat_hash_map<const HloInstruction*, V> memory_;
  absl::flat_hash_map<const HloInstruction*, Element> values_;
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> alias_;
  KeptRow* kept_row_ = nullptr;
  std::vector<const KeptReciprocals*> reciprocals_;
  RowReducer* row_reducer_ = nullptr;
  V tail_ = nullptr;
  V uniform_condition_ = nullptr;  // i1
  V lane_condition_ = nullptr;     // vector of i1
  bool lanes_far_ = false;         // `far` of Where
  absl::flat_hash_map<const HloInstruction*, bool> costly_;
  std::map<Key, std::vector<Element>> cache_;
  int depth_ = 0;
  int pair_ = -1;  // of SetPair; -1: neighbouring lanes are neighbours in memory
};

// Modules for functions that are units of code generation of their own, apart from the code that calls them.
class FunctionModules {
 public:
  virtual ~FunctionModules() = default;
  // An empty module, with a context of its own; an error when compilation is to end.
  virtual absl::StatusOr<llvm::Module*> Add(const std::string& name) = 0;

  // The functions that were written, by name, and the bytes of the frame that each of them takes.
  std::map<std::string, int64_t> frame_bytes;
};

// The value(s) of `computation`'s root where its scalar parameters are `arguments`; a tuple root gives its elements.
// `active` are the lanes in which they are wanted (null: all): in others, where an argument may be anything, loops of
// the computation do not run.
absl::StatusOr<std::vector<Element>> EmitApply(ElementEmitter& element, const HloComputation* computation,
                                               absl::Span<const Element> arguments, bool round = true,
                                               llvm::Value* active = nullptr);

// A mask of `lanes` lanes, of which the first `count` are in it.
llvm::Constant* FirstLanes(llvm::IRBuilderBase& b, int lanes, int64_t count);

// A loop `for (i = begin; i < end; i += step)`, of `begin`'s type: the builder stands in the body after Begin and
// behind the loop after End.
class Loop {
 public:
  Loop(llvm::IRBuilderBase& b, llvm::Value* begin, llvm::Value* end, int64_t step, const char* name);
  llvm::Value* index() const;
  // Values carried around the loop: add each before the body is written, set before End.
  llvm::Value* Carry(llvm::Value* initial);
  void SetNext(int k, llvm::Value* next);
  void End();
  // The carried value after the loop.
  llvm::Value* Result(int k) const;

 private:
  llvm::IRBuilderBase& b_;
  llvm::BasicBlock *before_, *head_, *body_, *exit_;
  llvm::Value* end_;
  int64_t step_;
  std::vector<llvm::Value*> phis_;
  std::vector<llvm::Value*> next_;
};

// An element carried around a loop that begins with `initial`: its value in the body, and after the loop.
Element CarryInto(Loop& loop, Element initial);
// Ends the body: what the loop carries becomes `next`, in the order in which it was carried.
void EndLoop(Loop& loop, absl::Span<const Element> next);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_FUSED_EMITTER_H_
