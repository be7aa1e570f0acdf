// The plan of a module: what stands between scheduled HLO with assigned buffers and code. For each computation of the
// program it lists the steps to take, in order; for each step where its bytes are and what form it has. All that is a
// decision is made here, once for all backends; a backend turns steps into code.
//
// Plain data: a plan refers to the module that it was made of, which must outlive it.
#ifndef XC_BACKENDS_PLAN_PLAN_H_
#define XC_BACKENDS_PLAN_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/plan/size.h"
#include "backends/runtime/convolution.h"
#include "backends/runtime/custom_call.h"
#include "backends/runtime/fft.h"
#include "backends/runtime/linalg.h"
#include "backends/runtime/matmul.h"
#include "backends/runtime/ragged.h"
#include "backends/runtime/rng.h"
#include "backends/runtime/sort.h"
#include "compiler/memory/buffer_assignment.h"
#include "hlo/module.h"

namespace xc::plan {

// Nothing to do: the value's bytes are where an operand's are, or it has none, or another step computes it.
struct Alias {};

struct Copy {
  BufferSlice to, from;
  Size bytes;
};

// Zeros.
struct Clear {
  BufferSlice to;
  Size bytes;
};

// What a kernel does with its index space. Each form says what a kernel's nests are.
enum class Form {
  kLoop,              // each nest computes its values at every position; vectors belong along the minor dimension
  kRowReduce,         // likewise, with reductions along minor dimensions in it: vectors belong along their elements
  kTranspose,         // likewise, with an operand that is contiguous along another dimension than the result
  kColumnReduce,      // one nest; a reduction over all but the minor dimensions: whole rows are added (Kernel::columns)
  kStitched,          // one nest, the last stage; for each row first what the row has in common (Kernel::stages)
  kConcatenate,       // a nest for each operand of a concatenation, stored at Nest::offsets
  kInterleave,        // one nest of several values; they are stored alternately along the minor dimension
  kUpdate,            // one nest over the update of a dynamic-update-slice, stored where its start indices say
  kScatter,           // no nest: updates one after the other
  kSelectAndScatter,  // no nest: windows one after the other
};

// How an expression reads memory, seen from the positions of its results.
struct Access {
  bool in_order = true;     // every leaf is read in the results' memory order, or is a scalar
  bool row_reduce = false;  // it has reductions along minor dimensions
  bool positions = false;   // coordinates become values (iota, gather, …)
  int widest_bits = 8;      // of the register types of its values
  int half_bits = 8;        // the same where the machine computes with f16 itself
  int64_t contiguous = -1;  // the result's dimension along which a transposed operand is contiguous; -1: there is none
};

// Values of equal dimensions that are computed together, position by position.
struct Nest {
  std::vector<const HloInstruction*> values;  // a reduce with several results is one value
  std::vector<int> outputs;                   // of Kernel::outputs: those that the values' results are
  std::vector<Size> dims;
  Access access;
  // kConcatenate: where the values begin in each dimension of the result, and the last dimension in which they are
  // joined with others.
  std::vector<Size> offsets;
  int64_t joined = 0;
};

// Memory that a kernel is given. The same memory is given once to read, once to write.
struct Argument {
  BufferSlice slice;
  bool written = false;
  bool shared = false;  // another argument may be the same memory: the kernel works in place
};

// The dimensions [batch…, rows…, columns…] of the operand of a reduction over `rows`.
struct ColumnReduce {
  const HloInstruction* reduce = nullptr;
  std::vector<int64_t> batch, rows, columns;
};

// A piece of generated code: the expression of the step's instruction, or a part of it.
struct Kernel {
  Form form = Form::kLoop;
  // Kernels of one number have the same code, with other arguments.
  int64_t code = 0;
  std::vector<Argument> arguments;
  // What the expression reads: a parameter or constant of the fused computation, or an operand; which argument.
  std::vector<std::pair<const HloInstruction*, int>> inputs;
  // Parameters of the fused computation whose operands are constants with equal elements: part of the code.
  std::vector<std::pair<const HloInstruction*, const HloInstruction*>> scalars;
  // The argument of each leaf of the result.
  std::vector<int> outputs;
  std::vector<Nest> nests;
  ColumnReduce columns;
  std::vector<const HloInstruction*> stages;  // in order, without the last
  Size cost;                                  // estimated scalar operations
};

// What a library call is told besides its arrays, as the runtime's functions take it.
using Descriptor = std::variant<MatmulDesc, ConvDesc, SortDesc, TopKDesc, FftDesc, CholeskyDesc, TriangularSolveDesc,
                                RngDesc, RaggedDesc, RaggedRowsDesc>;

// An array; several, whose pointers are passed as an array; numbers; a function on scalars of which code is made;
// nothing.
struct Nothing {};
using CallArgument =
    std::variant<Descriptor, BufferSlice, std::vector<BufferSlice>, int32_t, int64_t, const HloComputation*, Nothing>;

// A call of a runtime function, which gets the run's context before the arguments.
struct LibraryCall {
  enum class Result {
    kStatus,  // ends the run if it is not 0
    kNone,
    kNumber,  // 32 bits, to be stored at `result`
  };
  std::string function;
  std::vector<CallArgument> arguments;
  Result returns = Result::kStatus;
  BufferSlice result;
  // Of a convolution or product (…_then): a kernel over the positions of its result that is run on each part as soon as
  // it is there, and the instruction that it computes. It writes nothing that the product reads.
  std::shared_ptr<const Kernel> then;
  const HloInstruction* then_of = nullptr;
};

// A call of a registered function: Plan::custom_calls[call].
struct CustomCall {
  int64_t call = 0;
  std::vector<BufferSlice> inputs, outputs;  // leaves
};

// Computations are numbers into Plan::computations.
struct Loop {
  int condition = 0, body = 0;
  BufferSlice more;  // what the condition computed
};
struct Branch {
  BufferSlice selector;
  bool by_pred = false;  // true: the first of two; else by number, the last where it is out of range
  std::vector<int> branches;
};
struct Call {
  int callee = 0;
};

// No backend has code for it: it is given to the evaluator, Plan::evaluated[site].
struct Evaluate {
  int64_t site = 0;
  std::vector<BufferSlice> inputs, outputs;  // leaves of the operands, of the result
};

struct Step {
  const HloInstruction* instruction = nullptr;
  std::variant<Alias, Copy, Clear, Kernel, LibraryCall, CustomCall, Loop, Branch, Call, Evaluate> action;
};

struct Computation {
  const HloComputation* computation = nullptr;
  // In the order of the schedule. An instruction has one step or several, next to each other.
  std::vector<Step> steps;
};

struct EvaluatedSite {
  const HloInstruction* instruction = nullptr;
  std::string reason;  // why there is no code
};

struct Plan {
  std::vector<Computation> computations;  // callees before callers: the entry is the last
  // Constants that the buffer assignment has no place for; they follow its own.
  std::vector<std::shared_ptr<const Literal>> constants;
  std::vector<PreparedCall> custom_calls;
  std::vector<EvaluatedSite> evaluated;
  int64_t codes = 0;  // distinct kernels

  const Computation& entry() const { return computations.back(); }
};

// Which constants steps read: those of the buffer assignment, of which there are `assigned`, then the plan's own.
std::vector<bool> UsedConstants(const Plan& plan, int64_t assigned);

// The plan as text: one line for each step, instructions by name.
std::string ToString(const Plan& plan);
std::string ToString(const Plan& plan, const Step& step);
absl::string_view FormName(Form form);

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_PLAN_H_
