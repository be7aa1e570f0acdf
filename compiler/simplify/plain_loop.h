// Loops in their plain form, and what is the same in each of their rounds.
#ifndef XC_COMPILER_SIMPLIFY_PLAIN_LOOP_H_
#define XC_COMPILER_SIMPLIFY_PLAIN_LOOP_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/pass.h"
#include "compiler/simplify/may_move.h"

namespace xc {

// A loop whose state is a tuple taken apart and put together by elements, as almost all are.
struct PlainLoop {
  HloInstruction* loop;
  HloComputation *condition, *body;
  HloInstruction *condition_state, *body_state, *next;
  int64_t size;

  // Nothing for other forms and for computations that others call too.
  static std::optional<PlainLoop> Of(HloInstruction* loop,
                                     const absl::flat_hash_map<const HloComputation*, int>& callers);

  HloInstruction* init(int64_t k) const { return loop->operand(0)->operand(k); }
  bool IsInvariant(int64_t k) const;

  // Gives the loop the state `elements` (old numbers, -1 for new ones, whose init and next value are in `added`). Reads
  // of the i-th new element have the number size + i before.
  void Rebuild(const std::vector<int64_t>& elements,
               const std::vector<std::pair<HloInstruction*, HloInstruction*>>& added);

  // Appends elements that keep these values; returns their reads in the body.
  std::vector<HloInstruction*> AddInvariants(const std::vector<HloInstruction*>& inits);
};

// What a loop's body computes from invariant state alone. Holds until the loop is rebuilt.
class InvariantCode {
 public:
  explicit InvariantCode(const PlainLoop& loop);

  // The body's instructions, operands before users.
  const std::vector<HloInstruction*>& order() const { return order_; }
  bool Contains(const HloInstruction* i) const { return invariant_.contains(i); }
  // Whether computing `i` is more than looking at its operands in another way.
  bool Costs(const HloInstruction* i) const { return costly_.contains(i); }
  // Bytes of the state that `i` is made from.
  int64_t SourceBytes(const HloInstruction* i) const { return source_bytes_.at(i); }
  // What computing `i` and the invariant values that it is made from takes, in simple operations on elements: a
  // transcendental function counts as 8, and so does writing and reading an element of a matrix product or a sort.
  // Not counted any further than `most`.
  int64_t Work(const HloInstruction* i, int64_t most) const;

  // The value of `i`, which is invariant, before the loop: a copy of all that makes it.
  HloInstruction* CloneBefore(const HloInstruction* i);

 private:
  const PlainLoop& loop_;
  std::vector<HloInstruction*> order_;
  absl::flat_hash_set<const HloInstruction*> invariant_, costly_;
  absl::flat_hash_map<const HloInstruction*, int64_t> source_bytes_;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones_;
};

// Products of a slice of an invariant array, another slice in each round, with an invariant operand: one product of the
// whole array before the loop, whose slices the rounds read.
bool HoistDots(PlainLoop& loop, PassContext& context);

}  // namespace xc

#endif  // XC_COMPILER_SIMPLIFY_PLAIN_LOOP_H_
