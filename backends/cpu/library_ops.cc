// Ops that are one call of a runtime kernel: sort, top-k, random numbers, transforms, dense factorizations.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/runtime/fft.h"
#include "backends/runtime/linalg.h"
#include "backends/runtime/rng.h"
#include "backends/runtime/sort.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using V = llvm::Value*;

bool RuntimeKnows(ElementType type) { return SizeOf(static_cast<RtType>(type)) == StorageBytes(type); }

// Product of dimensions [begin, end).
int64_t Product(const Shape& shape, int64_t begin, int64_t end) {
  int64_t n = 1;
  for (int64_t d = begin; d < end; ++d) n *= shape.dim(d);
  return n;
}

bool FactorizationType(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kC64 ||
         type == ElementType::kC128;
}

// A comparator that is one comparison of both elements of one array.
bool SimpleOrder(const HloComputation& comparator, SortDesc* desc) {
  const HloInstruction* root = comparator.root();
  if (root->opcode() != HloOpcode::kCompare) return false;
  const HloInstruction *x = root->operand(0), *y = root->operand(1);
  if (x->opcode() != HloOpcode::kParameter || y->opcode() != HloOpcode::kParameter) return false;
  if (IsComplex(x->type())) return false;
  bool less = root->direction() == CompareDirection::kLt;
  if (!less && root->direction() != CompareDirection::kGt) return false;
  int64_t a = x->parameter_number(), b = y->parameter_number();
  if (a / 2 != b / 2 || a == b) return false;
  if (a > b) less = !less;
  const auto* kind = root->FindAttr<AttrKind::kCompareType>();
  const bool total = IsFloating(x->type()) && kind != nullptr && *kind == CompareType::kTotalOrder;
  desc->key = static_cast<int32_t>(total ? SortKey::kTotalOrder : SortKey::kLess);
  desc->key_array = a / 2;
  desc->descending = !less;
  return true;
}

}  // namespace

// bool name(void* env, const void* const* operands), for the runtime's sort.
absl::StatusOr<V> IrEmitter::EmitComparator(const HloComputation& comparator) {
  FunctionScope* caller = impl_->scope;
  llvm::LLVMContext& context = caller->code->context();
  llvm::Type* p = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt1Ty(context), {p, p}, false);
  FunctionScope scope(caller->code, absl::StrCat("xc.less", impl_->next_name++), type, /*exported=*/false);
  scope.function->addRetAttr(llvm::Attribute::ZExt);
  impl_->scope = &scope;
  codegen::ElementEmitter element(scope.builder, codegen_target_);
  std::vector<codegen::Element> arguments;
  for (const HloInstruction* parameter : comparator.parameters()) {
    V at = scope.builder.CreateLoad(
        p, scope.builder.CreateConstGEP1_64(p, scope.function->getArg(1), parameter->parameter_number()));
    codegen::FusedEmitter load(element, 1);
    load.BindMemory(parameter, at);
    XC_ASSIGN_OR_RETURN(codegen::Element value, load.Get(parameter, codegen::Index{}));
    arguments.push_back(value);
  }
  absl::StatusOr<std::vector<codegen::Element>> result = codegen::EmitApply(element, &comparator, arguments);
  impl_->scope = caller;
  if (!result.ok()) return result.status();
  scope.builder.CreateRet((*result)[0].re);
  return scope.function;
}

absl::StatusOr<bool> IrEmitter::EmitSort(const HloInstruction* sort) {
  const int64_t n = sort->operand_count();
  if (n == 0 || n > kMaxSortArrays || sort->shape().is_dynamic() || !codegen::CanEmitApply(*sort->to_apply())) {
    return false;
  }
  SortDesc desc;
  desc.num_arrays = n;
  const Shape& shape = sort->operand(0)->shape();
  const int64_t d = sort->dimensions()[0];
  desc.outer = Product(shape, 0, d);
  desc.n = shape.dim(d);
  desc.inner = Product(shape, d + 1, shape.rank());
  std::vector<V> in, out;
  for (int64_t i = 0; i < n; ++i) {
    if (!RuntimeKnows(sort->operand(i)->type())) return false;
    desc.types[i] = static_cast<int32_t>(sort->operand(i)->type());
    in.push_back(Pointer(sort->operand(i)));
    out.push_back(Pointer(sort, i));
  }
  V null = llvm::ConstantPointerNull::get(b().getPtrTy());
  V less = null;
  if (!SimpleOrder(*sort->to_apply(), &desc)) {
    XC_ASSIGN_OR_RETURN(less, EmitComparator(*sort->to_apply()));
  }
  CallChecked("xc_rt_sort",
              {run_context(), DataPointer(&desc, sizeof(desc)), PointerArray(in), PointerArray(out), less, null});
  return true;
}

absl::StatusOr<bool> IrEmitter::EmitLibraryOp(const HloInstruction* i) {
  if (i->shape().is_dynamic()) return false;
  for (const HloInstruction* operand : i->operands()) {
    if (operand->shape().is_dynamic()) return false;
  }
  switch (i->opcode()) {
    case HloOpcode::kSort:
      return EmitSort(i);
    case HloOpcode::kTopk: {
      const Shape& from = i->operand(0)->shape();
      if (!i->shape().IsTuple() || i->shape().tuple_shape(1).type() != ElementType::kS32 ||
          !RuntimeKnows(from.type())) {
        return false;
      }
      TopKDesc desc;
      desc.type = static_cast<int32_t>(from.type());
      desc.largest = i->attr_or<AttrKind::kLargest>(true);
      desc.rows = Product(from, 0, from.rank() - 1);
      desc.n = from.dim(from.rank() - 1);
      desc.k = i->attr<AttrKind::kK>();
      CallChecked("xc_rt_top_k", {run_context(), DataPointer(&desc, sizeof(desc)), Pointer(i->operand(0)),
                                  Pointer(i, 0), Pointer(i, 1)});
      return true;
    }
    case HloOpcode::kRngBitGenerator: {
      const Shape& state = i->operand(0)->shape();
      if (!i->shape().IsTuple() || state.type() != ElementType::kU64) return false;
      const Shape& bits = i->shape().tuple_shape(1);
      if (bits.rank() > kMaxRngRank || ElementBits(bits.type()) < 8) return false;
      RngDesc desc;
      desc.algorithm = static_cast<int32_t>(i->attr<AttrKind::kRngAlgorithm>());
      desc.element_bytes = StorageBytes(bits.type());
      desc.state_words = state.ElementCount();
      desc.rank = bits.rank();
      for (int64_t d = 0; d < bits.rank(); ++d) desc.dims[d] = bits.dim(d);
      CallChecked("xc_rt_rng_bit_generator", {run_context(), DataPointer(&desc, sizeof(desc)), Pointer(i->operand(0)),
                                              Pointer(i, 0), Pointer(i, 1)});
      return true;
    }
    case HloOpcode::kRng: {
      const bool uniform = i->attr<AttrKind::kDistribution>() == RandomDistribution::kUniform;
      if (!uniform && i->attr<AttrKind::kDistribution>() != RandomDistribution::kNormal) return false;
      CallChecked(
          uniform ? "xc_rt_rng_uniform" : "xc_rt_rng_normal",
          {run_context(), b().getInt32(static_cast<int32_t>(i->type())), b().getInt64(i->shape().ElementCount()),
           Pointer(i->operand(0)), Pointer(i->operand(1)), Pointer(i)});
      return true;
    }
    case HloOpcode::kRngGetAndUpdateState:
      CallRuntime("xc_rt_rng_get_and_update_state",
                  {run_context(), Pointer(i), b().getInt64(i->attr<AttrKind::kDelta>())});
      return true;
    case HloOpcode::kReplicaId:
    case HloOpcode::kPartitionId: {
      const bool replica = i->opcode() == HloOpcode::kReplicaId;
      V id = CallValue(replica ? "xc_rt_replica_id" : "xc_rt_partition_id", {run_context()});
      b().CreateAlignedStore(id, Pointer(i), llvm::Align(4));
      return true;
    }
    case HloOpcode::kFft: {
      const Shape& from = i->operand(0)->shape();
      const Int64List& length = i->attr<AttrKind::kFftLength>();
      const int64_t rank = length.size();
      if (rank < 1 || rank > 3 || from.IsZeroSized()) return false;
      FftDesc desc;
      desc.type = static_cast<int32_t>(i->attr<AttrKind::kFftType>());
      desc.is_double = ComplexComponent(from.type()) == ElementType::kF64;
      desc.rank = rank;
      desc.batch = Product(from, 0, from.rank() - rank);
      std::copy(length.begin(), length.end(), desc.length);
      CallChecked("xc_rt_fft", {run_context(), DataPointer(&desc, sizeof(desc)), Pointer(i->operand(0)), Pointer(i)});
      return true;
    }
    case HloOpcode::kCholesky: {
      const Shape& shape = i->shape();
      CholeskyDesc desc;
      desc.type = static_cast<int32_t>(shape.type());
      desc.lower = i->attr_or<AttrKind::kLower>(false);
      desc.n = shape.dim(shape.rank() - 1);
      desc.batch = Product(shape, 0, shape.rank() - 2);
      const int64_t strides[3] = {desc.n * desc.n, desc.n, 1};
      std::copy(strides, strides + 3, desc.in);
      std::copy(strides, strides + 3, desc.out);
      if (!FactorizationType(shape.type())) return false;
      CallChecked("xc_rt_cholesky",
                  {run_context(), DataPointer(&desc, sizeof(desc)), Pointer(i->operand(0)), Pointer(i)});
      return true;
    }
    case HloOpcode::kTriangularSolve: {
      const Shape& shape = i->shape();
      if (!FactorizationType(shape.type())) return false;
      TriangularSolveDesc desc;
      desc.type = static_cast<int32_t>(shape.type());
      desc.left_side = i->attr_or<AttrKind::kLeftSide>(true);
      desc.lower = i->attr_or<AttrKind::kLower>(false);
      desc.unit_diagonal = i->attr_or<AttrKind::kUnitDiagonal>(false);
      const TriangularTranspose t = i->attr_or<AttrKind::kTransposeA>(TriangularTranspose::kNo);
      desc.transpose_a = t == TriangularTranspose::kInvalid ? 1 : static_cast<int32_t>(t);
      desc.rows = shape.dim(shape.rank() - 2);
      desc.cols = shape.dim(shape.rank() - 1);
      desc.batch = Product(shape, 0, shape.rank() - 2);
      const int64_t n = desc.left_side ? desc.rows : desc.cols;
      const int64_t a[3] = {n * n, n, 1}, bs[3] = {desc.rows * desc.cols, desc.cols, 1};
      std::copy(a, a + 3, desc.a);
      std::copy(bs, bs + 3, desc.b);
      std::copy(bs, bs + 3, desc.out);
      CallChecked("xc_rt_triangular_solve", {run_context(), DataPointer(&desc, sizeof(desc)), Pointer(i->operand(0)),
                                             Pointer(i->operand(1)), Pointer(i)});
      return true;
    }
    default:
      return false;
  }
}

}  // namespace xc::cpu
