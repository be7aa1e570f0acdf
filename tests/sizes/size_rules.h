// What each op says about the sizes of its operands and results.
#ifndef XC_TESTS_SIZES_SIZE_RULES_H_
#define XC_TESTS_SIZES_SIZE_RULES_H_

#include "tests/sizes/resizable.h"

namespace xc {

class SizeRules {
 public:
  explicit SizeRules(Resizable* all) : all_(*all), unknown_(all->unknown_) {}
  // Fills the sizes of all instructions.
  void Run();

 private:
  using I = HloInstruction;
  using Leaf = Resizable::Leaf;
  using Leaves = Resizable::Leaves;

  // Of the computation, called with these; several callers must agree.
  Leaves Visit(const HloComputation* computation, const std::vector<Leaves>& arguments);
  Leaves Infer(const I* i);
  Leaves Call(const I* i);
  // All sizes stay as they are.
  Leaves Fixed(const I* i);
  Leaves Fresh(const Shape& shape);
  const Leaves& Of(const I* i) const { return all_.leaves_.at(i->id()); }
  const Leaf& Operand(const I* i, int64_t o) const { return Of(i->operand(o))[0]; }
  void Equate(const Leaf& a, const Leaf& b);
  void Equate(const Leaves& a, const Leaves& b);
  void Fix(const Leaves& leaves);
  void Fix(const Leaf& leaf);

  Leaf Elementwise(const I* i);
  Leaf Reshape(const Leaf& from, const Shape& in, const Shape& out);
  // The sizes `outs` of dimensions whose product is that of `ins`.
  Leaf Split(const Leaf& ins, const std::vector<int64_t>& outs);
  Leaf Slice(const I* i);
  Leaf Dot(const I* i);
  Leaf Convolution(const I* i);
  Leaf Gather(const I* i);
  void Scatter(const I* i);
  Leaf Windows(const I* i, const Leaf& from);
  SizeExpression WindowCount(const SizeExpression& size, const WindowDim& w, const SizeExpression& window);

  Resizable& all_;
  UnknownSizes& unknown_;
  absl::flat_hash_map<const HloComputation*, Leaves> visited_;
};

}  // namespace xc

#endif  // XC_TESTS_SIZES_SIZE_RULES_H_
