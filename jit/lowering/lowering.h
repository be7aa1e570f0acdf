// What an op lowering sees and how it is registered. A lowering turns one host node, whose input shapes are known, into
// HLO; host constants stay host tensors until an instruction needs them.
#ifndef XC_JIT_LOWERING_LOWERING_H_
#define XC_JIT_LOWERING_LOWERING_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/base/status.h"
#include "jit/graph/graph.h"
#include "jit/lowering/emitter.h"

namespace xc {

struct ListValue;
struct DynamicArray;
struct VariableSlot;

// A value on an edge of the graph being lowered: a host constant, an array in the computation, both, or a TensorList,
// an array that grows in a loop, or a variable.
struct LoweredValue {
  DataType type = DT_INVALID;
  std::shared_ptr<const HostConstant> constant;
  Val array = nullptr;
  std::shared_ptr<ListValue> list;
  std::shared_ptr<const DynamicArray> dynamic;
  VariableSlot* variable = nullptr;
  Dims dims;
};

// A TensorList as one array `items` of [length, element...]; null while the element shape is not known yet. In a loop
// that changes the number of elements, `size` (an s32 scalar) is that number and `length` a bound of it; else null.
struct ListValue {
  DataType element_type = DT_INVALID;
  int64_t length = 0;
  PartialShape element_shape;
  Val items = nullptr;
  Val size = nullptr;
};

// An array that a loop makes longer on each iteration: the first `size` (an s32 scalar) elements along `axis` of
// `items`, which has capacity for all iterations. `dims` of its value are those of `items`.
struct DynamicArray {
  Val items = nullptr;
  Val size = nullptr;
  int64_t axis = 0;
  int64_t least = 0;     // elements along `axis` that it always has
  int64_t appended = 0;  // elements along `axis` that came to it on this iteration
  int64_t step = 0;      // elements along `axis` that come to it on each iteration
  int variable =
      -1;  // the loop variable that it was when the iteration began; after the loop -1, and there is no capacity left
  bool zeros = false;  // whether what follows its last element is zero
};

// A resource variable during lowering: reads give `value`, assignments replace it.
struct VariableSlot {
  DataType type = DT_INVALID;
  LoweredValue value;
  bool initialized = false;
  bool written = false;
};

class GraphLowering;

class OpContext {
 public:
  OpContext(const Node& node, Emitter& emitter, GraphLowering& graph, std::vector<LoweredValue> inputs);

  const Node& node;
  Emitter& b;
  GraphLowering& graph;

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  LoweredValue& value(int i) { return inputs_[i]; }
  // Input as an array of the computation (constants become instructions).
  Val in(int i);
  const Dims& dims(int i) const { return inputs_[i].dims; }
  int64_t rank(int i) const { return static_cast<int64_t>(inputs_[i].dims.size()); }
  DataType type(int i) const { return inputs_[i].type; }
  ElementType etype(int i) const { return ToElementType(inputs_[i].type); }
  bool IsConstant(int i) const { return inputs_[i].constant != nullptr; }

  // Value of an input that must be constant while lowering. When it is not, the error makes the launch treat the
  // cluster's arguments that it is computed from as part of the cache key.
  absl::StatusOr<Tensor> Const(int i);
  absl::StatusOr<std::vector<int64_t>> Ints(int i);
  absl::StatusOr<int64_t> Int(int i);  // exactly one element
  absl::StatusOr<double> Double(int i);

  // An axis in [-rank, rank) made non-negative.
  absl::StatusOr<int64_t> Axis(int64_t axis, int64_t rank) const;

  int num_outputs() const { return node.num_outputs(); }
  DataType out_type(int i) const { return node.output_types[i]; }
  ElementType out_etype(int i) const { return ToElementType(node.output_types[i]); }
  void set(int i, Val v);
  void set_constant(int i, Tensor t);
  void set_value(int i, LoweredValue v) { outputs_[i] = std::move(v); }
  std::vector<LoweredValue>& outputs() { return outputs_; }

  // The host op would fail where any element of `bad` holds (see GraphLowering::AddCheck).
  void FailIf(Val bad);

  // InvalidArgument with the node's name and op.
  absl::Status Error(const std::string& what) const;
  absl::Status Unimplemented(const std::string& what) const;
  // Error if the two shapes differ.
  absl::Status RequireSameDims(int i, int j) const;
  absl::Status RequireRank(int i, int64_t rank) const;

 private:
  std::vector<LoweredValue> inputs_;
  std::vector<LoweredValue> outputs_;
};

// Runs `lowering` on float arrays where the node has 16-bit ones (library routines have none).
absl::Status Widened(OpContext& c, absl::Status (*lowering)(OpContext&));

using LoweringFn = absl::Status (*)(OpContext&);

// Sets of element types, as bits of 1 << DataType.
using TypeSet = uint64_t;
constexpr TypeSet TypeBit(DataType t) { return TypeSet{1} << static_cast<int>(t); }
inline constexpr TypeSet kFloatTypes = TypeBit(DT_FLOAT) | TypeBit(DT_DOUBLE) | TypeBit(DT_HALF) | TypeBit(DT_BFLOAT16);
inline constexpr TypeSet kComplexTypes = TypeBit(DT_COMPLEX64) | TypeBit(DT_COMPLEX128);
inline constexpr TypeSet kSignedTypes = TypeBit(DT_INT8) | TypeBit(DT_INT16) | TypeBit(DT_INT32) | TypeBit(DT_INT64);
inline constexpr TypeSet kUnsignedTypes =
    TypeBit(DT_UINT8) | TypeBit(DT_UINT16) | TypeBit(DT_UINT32) | TypeBit(DT_UINT64);
inline constexpr TypeSet kIntTypes = kSignedTypes | kUnsignedTypes;
inline constexpr TypeSet kRealTypes = kFloatTypes | kIntTypes;
inline constexpr TypeSet kNumericTypes = kRealTypes | kComplexTypes;
inline constexpr TypeSet kQuantTypes = TypeBit(DT_QINT8) | TypeBit(DT_QUINT8) | TypeBit(DT_QINT32);
inline constexpr TypeSet kArrayTypes = kNumericTypes | TypeBit(DT_BOOL) | kQuantTypes;

enum LoweringFlag : uint32_t {
  kShapeOnly = 1,  // outputs depend on the shapes of the inputs only
  kUsesLists = 2,  // takes or gives TensorLists
  kUsesVariables = 4,
  kControlFlow = 8,  // calls functions; compilable when their bodies are
};

struct Lowering {
  std::string op;
  TypeSet types = 0;                           // allowed values of attribute T (or of every output without it)
  std::vector<std::string> constant_operands;  // input arguments by name
  LoweringFn fn = nullptr;
  uint32_t flags = 0;
};

class LoweringRegistry {
 public:
  void Add(std::vector<std::string> ops, TypeSet types, LoweringFn fn, std::vector<std::string> constants = {},
           uint32_t flags = 0);
  const Lowering* Find(const std::string& op) const;
  const std::map<std::string, Lowering>& all() const { return rows_; }

  // Every lowering of jit/lowering; built once.
  static const LoweringRegistry& Get();

 private:
  std::map<std::string, Lowering> rows_;
};

// Input numbers of the node that its lowering needs constant.
std::vector<int> ConstantOperands(const Node& node, const Lowering& lowering);

// One per op family.
void RegisterElementwise(LoweringRegistry& r);
void RegisterMath(LoweringRegistry& r);
void RegisterActivations(LoweringRegistry& r);
void RegisterReductions(LoweringRegistry& r);
void RegisterShapes(LoweringRegistry& r);
void RegisterSlices(LoweringRegistry& r);
void RegisterMatmul(LoweringRegistry& r);
void RegisterConvolution(LoweringRegistry& r);
void RegisterFused(LoweringRegistry& r);
void RegisterPooling(LoweringRegistry& r);
void RegisterNormalization(LoweringRegistry& r);
void RegisterGather(LoweringRegistry& r);
void RegisterScatter(LoweringRegistry& r);
void RegisterLists(LoweringRegistry& r);
void RegisterControlFlow(LoweringRegistry& r);
void RegisterVariables(LoweringRegistry& r);
void RegisterOptimizers(LoweringRegistry& r);
void RegisterDiagonals(LoweringRegistry& r);
void RegisterQuantization(LoweringRegistry& r);
void RegisterImages(LoweringRegistry& r);
void RegisterPatches(LoweringRegistry& r);
void RegisterSpecial(LoweringRegistry& r);
void RegisterFactorizations(LoweringRegistry& r);
void RegisterRandom(LoweringRegistry& r);
void RegisterLinalg(LoweringRegistry& r);
void RegisterMisc(LoweringRegistry& r);
void RegisterUniformQuantization(LoweringRegistry& r);
void RegisterXlaOps(LoweringRegistry& r);
void RegisterXlaCallModule(LoweringRegistry& r);

}  // namespace xc

#endif  // XC_JIT_LOWERING_LOWERING_H_
