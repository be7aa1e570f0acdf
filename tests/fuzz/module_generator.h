// The generator behind MakeRandomModule: a pool of values whose numbers are known, and one method per family of ops
// that takes values from the pool and puts new ones in.
#ifndef XC_TESTS_FUZZ_MODULE_GENERATOR_H_
#define XC_TESTS_FUZZ_MODULE_GENERATOR_H_

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo/builder/builder.h"
#include "tests/fuzz/random_module.h"
#include "tests/fuzz/random_values.h"

namespace xc {

using Dims = std::vector<int64_t>;

inline int64_t Count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

// An array in the entry computation, with its numbers.
struct RandomValue {
  Op op;
  std::shared_ptr<const Literal> literal;
  ErrorBound error;
  NumberFacts facts;

  ElementType type() const { return op.type(); }
  const Dims& dims() const { return op.dims(); }
  int64_t rank() const { return op.rank(); }
  bool exact() const { return error.exact(); }
  // How far any element may be off.
  double Error() const { return error.absolute + error.relative * facts.max_abs; }
};

inline bool IsExactArray(const RandomValue& x) { return x.exact(); }

class ModuleGenerator {
 public:
  ModuleGenerator(uint64_t seed, const RandomModuleOptions& options);
  absl::StatusOr<RandomModule> Make();

 private:
  using Filter = std::function<bool(const RandomValue&)>;

  // Choice.
  int64_t Below(int64_t n) { return random_.Below(n); }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  bool Chance(int percent) { return Below(100) < percent; }
  template <typename T>
  T OneOf(std::initializer_list<T> choices) {
    return choices.begin()[Below(choices.size())];
  }
  ElementType AnyType();
  ElementType IntType();
  ElementType FloatType();
  ElementType ArithmeticType();  // integers and floats that have a zero and a sign where signed
  ElementType IndexType();
  Dims SomeDims(int64_t least_rank = 0);
  Dims Permutation(int64_t rank);

  // Values. Like() takes one of the pool or makes a leaf; Pick() takes one that passes or makes a leaf of `type`.
  RandomValue Leaf(ElementType type, const Dims& dims, LiteralStyle style = LiteralStyle::kAny);
  RandomValue LeafOf(Literal literal);
  RandomValue Like(ElementType type, const Dims& dims, const Filter& ok = nullptr,
                   LiteralStyle style = LiteralStyle::kAny);
  RandomValue Pick(const Filter& ok, ElementType type, LiteralStyle style = LiteralStyle::kAny, int64_t least_rank = 0);
  RandomValue Indices(const Dims& dims, int64_t bound);

  // Evaluates the op and keeps its value: in the pool if it is an array whose error is small, otherwise as an output.
  // Nothing if the value cannot be compared (a result that is not finite only by its error) or after an error.
  std::optional<RandomValue> Keep(Op op, ErrorBound error = {});
  // Evaluates an op whose result is no array.
  bool Evaluate(Op op);
  std::optional<RandomValue> Element(Op tuple, int64_t index, ErrorBound error = {});
  // The bound after rounding to `type` a value that is itself off by `error` and at most `magnitude`.
  static ErrorBound Rounded(ElementType type, double magnitude, double error);
  static ErrorBound Worst(const ErrorBound& a, const ErrorBound& b);

  // Exact elementwise code in any computation: `steps` ops over `inputs` (all of the dimensions `dims`), the last of
  // them of type `type`.
  Op Expression(HloBuilder& b, std::vector<Op> inputs, ElementType type, const Dims& dims, int steps);
  Op ExpressionStep(HloBuilder& b, Op x, Op y, const Dims& dims);
  HloComputation* ExpressionComputation(const std::string& name, const std::vector<ElementType>& types,
                                        const Dims& dims, ElementType result, int steps);
  std::string Name(const std::string& stem) { return stem + std::to_string(++names_); }

  // Families.
  void Unary();
  void InexactUnary();
  void Binary();
  void InexactBinary();
  void ComplexArithmetic();
  void CompareAndSelect();
  void ClampValue();
  void Conversion();
  void BitcastConversion();
  void Rounding();

  void Broadcasting();
  void Reshaping();
  void Transposing();
  void Slicing();
  void Padding();
  void Concatenating();
  void Counting();
  void DynamicSlicing();
  void Gathering();
  void Scattering();

  void Reducing();
  void VariadicReducing();
  void WindowReducing();
  void SelectScattering();
  void Sorting();
  void TakingTop();
  void Scanning();
  void Products();
  void Convolving();
  std::optional<HloOpcode> Reducer(const RandomValue& x, double count, double init, ErrorBound* error);
  std::optional<ErrorBound> ProductError(const RandomValue& x, const RandomValue& y, ElementType type, double count);

  void Looping();
  void LoopedProducts();
  void Branching();
  void Calling();
  void Mapping();
  void Fusing();
  void Pairing();
  void Passing();
  void Communicating();
  void BoundedSizes();
  Op BoundedStep(Op x);

  void Transforming();
  void Solving();
  void Normalizing();
  void RandomBits();

  absl::StatusOr<RandomModule> Finish();
  void GiveLayouts(HloModule* module);
  void GiveEntryLayouts(HloModule* module, bool random);
  Layout RandomLayout(int64_t rank);

  Random random_;
  RandomModuleOptions options_;
  HloBuilder b_;
  std::vector<RandomValue> pool_;
  std::vector<RandomValue> outputs_;  // kept, but not used again
  std::vector<Literal> inputs_;
  absl::flat_hash_map<const HloInstruction*, std::shared_ptr<const Literal>> known_;
  absl::flat_hash_set<const HloInstruction*> row_major_;  // keep their layout
  absl::Status status_;
  int names_ = 0;
};

}  // namespace xc

#endif  // XC_TESTS_FUZZ_MODULE_GENERATOR_H_
