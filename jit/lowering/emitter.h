// Builds HLO computations op by op with static shapes: what op lowerings write with. Shapes are the caller's duty
// (lowerings check what users can get wrong first); a violated one is caught by the verifier before compilation.
#ifndef XC_JIT_LOWERING_EMITTER_H_
#define XC_JIT_LOWERING_EMITTER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "hlo/module.h"
#include "jit/graph/tensor.h"

namespace xc {

class HloBuilder;
class Op;

// An array (or tuple) in the computation being built.
using Val = HloInstruction*;

ElementType ToElementType(DataType type);  // kInvalid when no compiled code can hold the type
DataType ToDataType(ElementType type);     // DT_INVALID when the host has no such type
Shape MakeShape(DataType type, const Dims& dims);

// Copies between host tensors and literals; both row-major.
Literal ToLiteral(const Tensor& tensor);
absl::StatusOr<Tensor> ToTensor(const Literal& literal);

class Emitter {
 public:
  Emitter(HloModule* module, HloComputation* computation) : module_(module), computation_(computation) {}

  HloModule* module() const { return module_; }
  HloComputation* computation() const { return computation_; }

  // Metadata that following instructions carry: the host op they come from.
  void SetSource(const std::string& op_type, const std::string& op_name);

  Val Parameter(int64_t number, const Shape& shape, const std::string& name);
  Val Constant(std::shared_ptr<const Literal> literal);
  Val Constant(Literal literal) { return Constant(std::make_shared<const Literal>(std::move(literal))); }
  Val Scalar(ElementType type, double value);
  Val ScalarInt(ElementType type, int64_t value);
  Val Full(ElementType type, const Dims& dims, double value) { return BroadcastScalar(Scalar(type, value), dims); }
  Val Like(Val a, double value) { return Full(a->type(), a->shape().dims(), value); }
  Val Zeros(const Shape& shape) { return Full(shape.type(), shape.dims(), 0); }
  Val S32(int64_t value) { return ScalarInt(ElementType::kS32, value); }
  Val Vector(ElementType type, const std::vector<int64_t>& values);
  // The least (or greatest) value that max (or min) starts from: infinities for floats.
  Val Lowest(ElementType type);
  Val Highest(ElementType type);
  Val Iota(ElementType type, const Dims& dims, int64_t dimension);

  Val Unary(HloOpcode opcode, Val a);
  // Operands of equal shape, or one of them a scalar.
  Val Binary(HloOpcode opcode, Val a, Val b);
  Val Add(Val a, Val b) { return Binary(HloOpcode::kAdd, a, b); }
  Val Sub(Val a, Val b) { return Binary(HloOpcode::kSubtract, a, b); }
  Val Mul(Val a, Val b) { return Binary(HloOpcode::kMultiply, a, b); }
  Val Div(Val a, Val b) { return Binary(HloOpcode::kDivide, a, b); }
  Val Rem(Val a, Val b) { return Binary(HloOpcode::kRemainder, a, b); }
  Val Max(Val a, Val b) { return Binary(HloOpcode::kMaximum, a, b); }
  Val Min(Val a, Val b) { return Binary(HloOpcode::kMinimum, a, b); }
  Val And(Val a, Val b) { return Binary(HloOpcode::kAnd, a, b); }
  Val Or(Val a, Val b) { return Binary(HloOpcode::kOr, a, b); }
  Val Xor(Val a, Val b) { return Binary(HloOpcode::kXor, a, b); }
  Val Pow(Val a, Val b) { return Binary(HloOpcode::kPower, a, b); }
  Val Not(Val a) { return Unary(HloOpcode::kNot, a); }
  Val Neg(Val a) { return Unary(HloOpcode::kNegate, a); }
  Val Abs(Val a) { return Unary(HloOpcode::kAbs, a); }
  Val Exp(Val a) { return Unary(HloOpcode::kExponential, a); }
  Val Log(Val a) { return Unary(HloOpcode::kLog, a); }
  Val Sqrt(Val a) { return Unary(HloOpcode::kSqrt, a); }
  Val Rsqrt(Val a) { return Unary(HloOpcode::kRsqrt, a); }
  Val Tanh(Val a) { return Unary(HloOpcode::kTanh, a); }
  Val Floor(Val a) { return Unary(HloOpcode::kFloor, a); }
  Val Square(Val a) { return Mul(a, a); }
  Val AddC(Val a, double c) { return Add(a, Like(a, c)); }
  Val MulC(Val a, double c) { return Mul(a, Like(a, c)); }
  Val Compare(CompareDirection direction, Val a, Val b);
  Val Eq(Val a, Val b) { return Compare(CompareDirection::kEq, a, b); }
  Val Ne(Val a, Val b) { return Compare(CompareDirection::kNe, a, b); }
  Val Lt(Val a, Val b) { return Compare(CompareDirection::kLt, a, b); }
  Val Le(Val a, Val b) { return Compare(CompareDirection::kLe, a, b); }
  Val Gt(Val a, Val b) { return Compare(CompareDirection::kGt, a, b); }
  Val Ge(Val a, Val b) { return Compare(CompareDirection::kGe, a, b); }
  Val IsNan(Val a) { return Ne(a, a); }
  // `pred` and either side may be scalars.
  Val Select(Val pred, Val on_true, Val on_false);
  Val Clamp(Val low, Val a, Val high);
  Val Convert(Val a, ElementType type);
  Val BitcastConvert(Val a, ElementType type);  // equal widths
  Val Real(Val a);
  Val Imag(Val a);
  Val Conj(Val a) { return IsComplex(a->type()) ? Complex(Real(a), Neg(Imag(a))) : a; }
  Val Complex(Val re, Val im);

  // mapping[i]: the output dimension of input dimension i.
  Val Broadcast(Val a, const Dims& dims, const std::vector<int64_t>& mapping);
  Val BroadcastScalar(Val scalar, const Dims& dims) { return Broadcast(scalar, dims, {}); }
  // NumPy's rule: right-aligned, size 1 stretches; the shapes must be compatible.
  Val BroadcastTo(Val a, const Dims& dims);
  Val Reshape(Val a, const Dims& dims);
  Val Transpose(Val a, const std::vector<int64_t>& permutation);
  // Each matrix of the last two dimensions.
  Val TransposeMinor(Val a);
  Val Slice(Val a, const std::vector<int64_t>& starts, const std::vector<int64_t>& limits,
            const std::vector<int64_t>& strides = {});
  Val SliceDim(Val a, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1);
  Val Pad(Val a, Val value, const std::vector<PaddingDim>& padding);
  Val Concat(const std::vector<Val>& parts, int64_t dimension);
  Val Reverse(Val a, const std::vector<int64_t>& dimensions);
  Val DynamicSlice(Val a, const std::vector<Val>& starts, const Dims& sizes);
  Val DynamicUpdateSlice(Val a, Val update, const std::vector<Val>& starts);

  // A computation (x, y) -> x op y on scalars.
  HloComputation* Scalar2(HloOpcode opcode, ElementType type);
  // A computation whose body `fill` builds from parameters of the given shapes; `fill` returns its root.
  HloComputation* Computation(const std::string& name, const std::vector<Shape>& parameters,
                              const std::function<Val(Emitter&, const std::vector<Val>&)>& fill);

  Val Reduce(Val a, Val init, const std::vector<int64_t>& dims, HloOpcode opcode);
  Val Reduce(Val a, Val init, const std::vector<int64_t>& dims, HloComputation* computation);
  // Several arrays of equal dimensions at once; the result is a tuple.
  Val ReduceMany(const std::vector<Val>& arrays, const std::vector<Val>& inits, const std::vector<int64_t>& dims,
                 HloComputation* computation);
  Val ReduceSum(Val a, const std::vector<int64_t>& dims) {
    return Reduce(a, Scalar(a->type(), 0), dims, HloOpcode::kAdd);
  }
  Val ReduceMax(Val a, const std::vector<int64_t>& dims) {
    return Reduce(a, Lowest(a->type()), dims, HloOpcode::kMaximum);
  }
  Val ReduceWindow(Val a, Val init, const WindowAttr& window, HloOpcode opcode);
  Val SelectAndScatter(Val a, Val source, Val init, const WindowAttr& window, CompareDirection select);
  Val Dot(Val a, Val b, const DotDims& dims, ElementType type = ElementType::kInvalid);
  Val Conv(Val input, Val kernel, const WindowAttr& window, const ConvDims& dims, int64_t feature_groups = 1,
           int64_t batch_groups = 1);
  Val Gather(Val a, Val indices, const GatherDims& dims, const std::vector<int64_t>& slice_sizes, bool sorted = false);
  Val Scatter(Val a, Val indices, Val updates, const ScatterDims& dims, HloComputation* combine, bool sorted = false,
              bool unique = false);
  // Rows of dimension `axis` by a comparator over (a0, b0, a1, b1, …); one operand gives an array, more give a tuple.
  Val Sort(const std::vector<Val>& operands, int64_t axis, HloComputation* less, bool stable);
  HloComputation* LessThan(const std::vector<ElementType>& types, CompareDirection direction, bool total_order);
  Val Fft(Val a, FftType type, const std::vector<int64_t>& lengths);
  Val Cholesky(Val a);
  Val TriangularSolve(Val a, Val b, bool left, bool lower, bool unit, TriangularTranspose transpose);

  Val Tuple(const std::vector<Val>& elements);
  Val Get(Val tuple, int64_t index);
  // Takes in an instruction whose attributes and called computations are set. Its shape is inferred from them (where
  // they leave it open, the one that it has stands), and the error says what does not fit.
  absl::StatusOr<Val> AddInferred(std::unique_ptr<HloInstruction> instruction);
  // What `make` builds of values of this emitter (special functions), which must fit its instructions.
  Val Built(absl::FunctionRef<Op(HloBuilder&)> make);
  Val While(HloComputation* condition, HloComputation* body, Val init);
  // Branch `index` (s32) or true/false (pred); each branch takes one tuple.
  Val Conditional(Val selector, const std::vector<HloComputation*>& branches, const std::vector<Val>& arguments);
  Val Call(HloComputation* computation, const std::vector<Val>& arguments);

  // A counted loop i = 0..trip_count-1 over a state: body gets i (s32 scalar) and the state, gives the next state.
  std::vector<Val> ForLoop(int64_t trip_count, const std::vector<Val>& state,
                           const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body);
  // The same, ending early once no element of state[0], a pred array, holds.
  std::vector<Val> LoopWhileAny(int64_t max_trips, const std::vector<Val>& state,
                                const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body);
  // A library routine by name, with several results; `attributes` is a dictionary as the runtime reads it.
  std::vector<Val> CustomCall(const std::string& target, const std::vector<Shape>& results,
                              const std::vector<Val>& operands, const std::string& attributes);

 private:
  std::vector<Val> Loop(const std::vector<Val>& state, const std::function<Val(Emitter&, Val, Val)>& go_on,
                        const std::function<std::vector<Val>(Emitter&, Val, const std::vector<Val>&)>& body);

  Val Make(HloOpcode opcode, Shape shape, const std::vector<Val>& operands);

  HloModule* module_;
  HloComputation* computation_;
  Metadata metadata_;
  std::map<std::tuple<ElementType, uint64_t, uint64_t>, Val> scalars_;
};

// Sizes of a window's output along one dimension (0 if the window does not fit).
int64_t WindowOutputSize(int64_t input, const WindowDim& window);

}  // namespace xc

#endif  // XC_JIT_LOWERING_EMITTER_H_
