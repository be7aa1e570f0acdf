// sort: known comparators become keys of the runtime's sort, others a native function that it calls.
#include "backends/runtime/sort.h"

#include "absl/strings/str_cat.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using V = llvm::Value*;

struct KeyOrder {
  SortKey key = SortKey::kComparator;
  int64_t array = 0;
  bool descending = false;
};

bool IsParameter(const HloInstruction* i, int64_t number) {
  return i->opcode() == HloOpcode::kParameter && i->parameter_number() == number;
}

bool IsComparison(const HloInstruction* i, CompareDirection direction) {
  return i->opcode() == HloOpcode::kCompare && i->direction() == direction &&
         i->attr_or<AttrKind::kCompareType>(CompareType::kFloat) != CompareType::kTotalOrder;
}

bool IsZero(const HloInstruction* i) {
  return i->IsConstant() && i->shape().IsScalar() && IsFloating(i->type()) && i->literal().GetDouble(0) == 0;
}

bool IsNan(const HloInstruction* i) {
  return i->IsConstant() && i->shape().IsScalar() && IsFloating(i->type()) &&
         i->literal().GetDouble(0) != i->literal().GetDouble(0);
}

// select(x != x, nan, select(x == 0, 0, x)) of a parameter x: all NaN alike, no negative zero.
const HloInstruction* CanonicalFloat(const HloInstruction* i) {
  if (i->opcode() != HloOpcode::kSelect || !IsComparison(i->operand(0), CompareDirection::kNe) ||
      !IsNan(i->operand(1))) {
    return nullptr;
  }
  const HloInstruction* x = i->operand(0)->operand(0);
  if (x != i->operand(0)->operand(1) || x->opcode() != HloOpcode::kParameter) return nullptr;
  const HloInstruction* inner = i->operand(2);
  if (inner->opcode() != HloOpcode::kSelect || inner->operand(2) != x || !IsZero(inner->operand(1))) return nullptr;
  const HloInstruction* zero = inner->operand(0);
  if (!IsComparison(zero, CompareDirection::kEq)) return nullptr;
  const bool matches =
      (zero->operand(0) == x && IsZero(zero->operand(1))) || (zero->operand(1) == x && IsZero(zero->operand(0)));
  return matches ? x : nullptr;
}

// Whether the runtime knows the order of the type.
bool IsSortable(ElementType type) {
  if (IsFloating(type)) {
    return type == ElementType::kF16 || type == ElementType::kBF16 || type == ElementType::kF32 ||
           type == ElementType::kF64;
  }
  return type == ElementType::kPred || (IsIntegral(type) && ElementBits(type) >= 8);
}

// The order that the comparator defines, if it is one comparison of one array's elements.
KeyOrder OrderOf(const HloComputation& less) {
  const HloInstruction* root = less.root();
  if (root->opcode() != HloOpcode::kCompare) return {};
  if (root->direction() != CompareDirection::kLt && root->direction() != CompareDirection::kGt) return {};
  const HloInstruction *x = root->operand(0), *y = root->operand(1);
  const ElementType type = x->type();
  if (!IsSortable(type)) return {};
  const bool total = root->attr_or<AttrKind::kCompareType>(CompareType::kFloat) == CompareType::kTotalOrder;
  KeyOrder order;
  order.key = SortKey::kLess;
  if (IsFloating(type) && total) {
    order.key = SortKey::kTotalOrder;
    const HloInstruction *cx = CanonicalFloat(x), *cy = CanonicalFloat(y);
    if (cx != nullptr && cy != nullptr) {
      x = cx;
      y = cy;
      order.key = SortKey::kNanLast;
    }
  }
  if (x->opcode() != HloOpcode::kParameter || y->opcode() != HloOpcode::kParameter || x->type() != type) return {};
  order.array = x->parameter_number() / 2;
  const bool swapped = x->parameter_number() % 2 == 1;
  if (!IsParameter(y, 2 * order.array + (swapped ? 0 : 1))) return {};
  order.descending = (root->direction() == CompareDirection::kGt) != swapped;
  return order;
}

// The runtime's number for elements that are only moved.
RtType MovedType(ElementType type) {
  if (SizeOf(static_cast<RtType>(type)) > 0) return static_cast<RtType>(type);
  switch (StorageBytes(type)) {
    case 1:
      return RtType::kU8;
    case 2:
      return RtType::kU16;
    case 4:
      return RtType::kU32;
    case 8:
      return RtType::kU64;
    case 16:
      return RtType::kC128;
    default:
      return RtType::kInvalid;
  }
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
  const int64_t count = sort->operand_count();
  const HloComputation* less = sort->to_apply();
  if (count > kMaxSortArrays || less->parameter_count() != 2 * count || less->root()->type() != ElementType::kPred) {
    return false;
  }
  const Shape& shape = sort->operand(0)->shape();
  if (shape.IsZeroSized()) return true;
  SortDesc desc;
  desc.num_arrays = count;
  const int64_t dim = sort->dimensions().empty() ? 0 : sort->dimensions()[0];
  desc.n = shape.rank() == 0 ? 1 : shape.dim(dim);
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (d < dim) desc.outer *= shape.dim(d);
    if (d > dim) desc.inner *= shape.dim(d);
  }
  const KeyOrder order = OrderOf(*less);
  desc.key = static_cast<int32_t>(order.key);
  desc.key_array = order.array;
  desc.descending = order.descending;
  std::vector<V> in, out;
  for (int64_t i = 0; i < count; ++i) {
    const RtType type = MovedType(sort->operand(i)->type());
    if (type == RtType::kInvalid) return false;
    desc.types[i] = static_cast<int32_t>(type);
    in.push_back(Pointer(sort->operand(i)));
    out.push_back(Pointer(sort, i));
  }
  V null = llvm::ConstantPointerNull::get(b().getPtrTy());
  V function = null;
  if (order.key == SortKey::kComparator) {
    if (!codegen::CanEmitApply(*less)) return false;
    XC_ASSIGN_OR_RETURN(function, EmitComparator(*less));
  }
  CallChecked("xc_rt_sort",
              {run_context(), DataPointer(&desc, sizeof(desc)), PointerArray(in), PointerArray(out), function, null});
  return true;
}

}  // namespace xc::cpu
