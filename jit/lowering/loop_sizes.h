// How long TensorLists and arrays become in a loop: the loop is run on what is known of its values (constants, shapes,
// lengths of lists), so that those which grow or shrink get arrays of fixed size.
#ifndef XC_JIT_LOWERING_LOOP_SIZES_H_
#define XC_JIT_LOWERING_LOOP_SIZES_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace xc {

// What is known of a value without running the program.
struct Known {
  std::shared_ptr<const HostConstant> constant;
  bool has_dims = false;
  Dims dims;
  bool is_list = false;
  int64_t length = -1;    // of a list; -1 if not known
  int64_t capacity = -1;  // the greatest length that it or what it was made from had
};

struct LoopSizes {
  std::vector<Known> after;  // the loop variables at the end; empty if the trip count is not known
  std::string why;           // then: why not
  std::set<int> wanted;      // loop variables whose first values would tell
};

LoopSizes FindLoopSizes(const Graph& condition, const Graph& body, const std::vector<Known>& before);

// A loop variable that becomes `count` elements longer along dimension `axis` on each iteration.
struct LoopGrowth {
  int variable = 0;
  int64_t axis = 0, count = 0;
};

struct TripCount {
  int64_t at_most = -1;      // -1: no bound is known
  bool exact = true;         // whether the loop makes as many
  std::vector<Known> after;  // the loop variables at the end, if so
  std::set<int> wanted;      // if there is no bound: counters and limits whose first values may give one
};

TripCount FindTripCount(const Graph& condition, const Graph& body, const std::vector<Known>& before,
                        const std::vector<LoopGrowth>& growths);

// The number of the loop's iterations; -1 if it is not known, or greater than `most`.
int64_t KnownTurns(const Graph& condition, const Graph& body, const std::vector<Known>& before, int64_t most);

// The loop variables that are counters and limits of the trip count. `all`: whether it hangs on nothing else.
std::set<int> TurnCounters(const Graph& condition, const Graph& body, bool* all);

// Whether the function may change the length of the list that is its argument `index`.
bool ChangesLength(const Graph& body, int index, int depth = 0);

}  // namespace xc

#endif  // XC_JIT_LOWERING_LOOP_SIZES_H_
