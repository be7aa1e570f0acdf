// Ops that are one call of a runtime function: random numbers, Fourier transforms, factorizations, top-k, transfers,
// and the numbers of replica and partition.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/runtime/custom_call.h"
#include "backends/runtime/fft.h"
#include "backends/runtime/linalg.h"
#include "backends/runtime/ragged.h"
#include "backends/runtime/rng.h"
#include "backends/runtime/sort.h"
#include "hlo/base/status.h"
#include "hlo/known_calls.h"
#include "hlo/shape_inference/shape_inference.h"

namespace xc::cpu {
namespace {

int32_t TypeNumber(ElementType type) { return static_cast<int32_t>(type); }

// Dense row-major strides of a batch of matrices: batch, row, column.
void MatrixStrides(const Shape& shape, int64_t strides[3]) {
  const int64_t rows = shape.dim(shape.rank() - 2), cols = shape.dim(shape.rank() - 1);
  strides[0] = rows * cols;
  strides[1] = cols;
  strides[2] = 1;
}

int64_t BatchOf(const Shape& shape, int64_t inner_rank) {
  int64_t batch = 1;
  for (int64_t d = 0; d < shape.rank() - inner_rank; ++d) batch *= shape.dim(d);
  return batch;
}

bool IsLinalgType(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kC64 ||
         type == ElementType::kC128;
}

bool IsDynamic(const HloInstruction* i) {
  if (i->shape().is_dynamic()) return true;
  for (const HloInstruction* operand : i->operands()) {
    if (operand->shape().is_dynamic()) return true;
  }
  return false;
}

bool EmitFft(IrEmitter& e, const HloInstruction* fft) {
  const Shape& in = fft->operand(0)->shape();
  const Int64List& length = fft->attr<AttrKind::kFftLength>();
  const ElementType part = ComplexComponent(in.type());
  if ((part != ElementType::kF32 && part != ElementType::kF64) || length.empty() || length.size() > 3) return false;
  if (in.IsZeroSized() || fft->shape().IsZeroSized()) return fft->shape().IsZeroSized();
  FftDesc desc;
  desc.type = static_cast<int32_t>(fft->attr<AttrKind::kFftType>());
  desc.is_double = part == ElementType::kF64;
  desc.rank = static_cast<int32_t>(length.size());
  for (size_t i = 0; i < length.size(); ++i) desc.length[i] = length[i];
  desc.batch = BatchOf(in, desc.rank);
  e.CallChecked("xc_rt_fft",
                {e.run_context(), e.DataPointer(&desc, sizeof(desc)), e.Pointer(fft->operand(0)), e.Pointer(fft)});
  return true;
}

bool EmitCholesky(IrEmitter& e, const HloInstruction* cholesky) {
  const Shape& shape = cholesky->shape();
  if (!IsLinalgType(shape.type())) return false;
  if (shape.IsZeroSized()) return true;
  CholeskyDesc desc;
  desc.type = TypeNumber(shape.type());
  desc.lower = cholesky->attr_or<AttrKind::kLower>(false);
  desc.n = shape.dim(shape.rank() - 1);
  desc.batch = BatchOf(shape, 2);
  MatrixStrides(shape, desc.in);
  MatrixStrides(shape, desc.out);
  e.CallChecked("xc_rt_cholesky", {e.run_context(), e.DataPointer(&desc, sizeof(desc)), e.Pointer(cholesky->operand(0)),
                                   e.Pointer(cholesky)});
  return true;
}

bool EmitTriangularSolve(IrEmitter& e, const HloInstruction* solve) {
  const Shape& shape = solve->shape();
  if (!IsLinalgType(shape.type())) return false;
  if (shape.IsZeroSized()) return true;
  TriangularSolveDesc desc;
  desc.type = TypeNumber(shape.type());
  desc.left_side = solve->attr_or<AttrKind::kLeftSide>(false);
  desc.lower = solve->attr_or<AttrKind::kLower>(false);
  desc.unit_diagonal = solve->attr_or<AttrKind::kUnitDiagonal>(false);
  const TriangularTranspose transpose = solve->attr_or<AttrKind::kTransposeA>(TriangularTranspose::kNo);
  desc.transpose_a = transpose == TriangularTranspose::kInvalid ? 1 : static_cast<int32_t>(transpose);
  desc.rows = shape.dim(shape.rank() - 2);
  desc.cols = shape.dim(shape.rank() - 1);
  desc.batch = BatchOf(shape, 2);
  MatrixStrides(solve->operand(0)->shape(), desc.a);
  MatrixStrides(shape, desc.b);
  MatrixStrides(shape, desc.out);
  e.CallChecked("xc_rt_triangular_solve",
                {e.run_context(), e.DataPointer(&desc, sizeof(desc)), e.Pointer(solve->operand(0)),
                 e.Pointer(solve->operand(1)), e.Pointer(solve)});
  return true;
}

absl::StatusOr<bool> EmitRngBitGenerator(IrEmitter& e, const HloInstruction* rng) {
  const HloInstruction* state = rng->operand(0);
  if (absl::Status status = CheckRandomState(state->shape()); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("rng-bit-generator ", rng->name(), ": ", status.message()));
  }
  const bool both = rng->shape().IsTuple();
  const Shape& shape = both ? rng->shape().tuple_shape(1) : rng->shape();
  if (shape.rank() > kMaxRngRank || ElementBits(shape.type()) < 8) {
    return false;
  }
  RngDesc desc;
  desc.algorithm = static_cast<int32_t>(rng->attr<AttrKind::kRngAlgorithm>());
  desc.element_bytes = StorageBytes(shape.type());
  desc.state_words = static_cast<int32_t>(state->shape().ByteSize() / 8);
  desc.rank = static_cast<int32_t>(shape.rank());
  for (int64_t i = 0; i < shape.rank(); ++i) desc.dims[i] = shape.dim(i);
  llvm::Value* next;
  if (both) {
    next = e.Pointer(rng, 0);
  } else {
    llvm::Value* null = llvm::ConstantPointerNull::get(e.b().getPtrTy());
    next = e.PointerArray({null, null, null});
  }
  e.CallChecked("xc_rt_rng_bit_generator", {e.run_context(), e.DataPointer(&desc, sizeof(desc)), e.Pointer(state), next,
                                            e.Pointer(rng, both ? 1 : 0)});
  return true;
}

bool EmitRng(IrEmitter& e, const HloInstruction* rng) {
  const ElementType type = rng->type();
  const bool floating =
      type == ElementType::kF16 || type == ElementType::kBF16 || type == ElementType::kF32 || type == ElementType::kF64;
  const bool normal = rng->attr<AttrKind::kDistribution>() == RandomDistribution::kNormal;
  if (rng->operand_count() != 2 || (!floating && (normal || (type != ElementType::kPred && !IsIntegral(type)))) ||
      ElementBits(type) < 8 - 7 * (type == ElementType::kPred)) {
    return false;
  }
  e.CallChecked(normal ? "xc_rt_rng_normal" : "xc_rt_rng_uniform",
                {e.run_context(), e.b().getInt32(TypeNumber(type)), e.b().getInt64(rng->shape().ElementCount()),
                 e.Pointer(rng->operand(0)), e.Pointer(rng->operand(1)), e.Pointer(rng)});
  return true;
}

// Whether the runtime's top-k knows the order of the type.
bool HasOrder(ElementType type) {
  return type == ElementType::kF16 || type == ElementType::kBF16 || type == ElementType::kF32 ||
         type == ElementType::kF64 || (IsIntegral(type) && ElementBits(type) >= 8);
}

bool EmitTopK(IrEmitter& e, const HloInstruction* topk, bool largest) {
  const HloInstruction* in = topk->operand(0);
  if (topk->operand_count() != 1 || !topk->shape().IsTuple() || topk->shape().tuple_size() != 2) return false;
  const Shape &shape = in->shape(), &values = topk->shape().tuple_shape(0), &indices = topk->shape().tuple_shape(1);
  const ElementType type = shape.type();
  if (!HasOrder(type) || indices.type() != ElementType::kS32 || shape.rank() == 0 || values.rank() != shape.rank()) {
    return false;
  }
  TopKDesc desc;
  desc.type = TypeNumber(type);
  desc.largest = largest;
  desc.rows = BatchOf(shape, 1);
  desc.n = shape.dim(shape.rank() - 1);
  desc.k = values.dim(values.rank() - 1);
  if (desc.k > desc.n || values.ElementCount() != desc.rows * desc.k || indices.ElementCount() != desc.rows * desc.k) {
    return false;
  }
  if (values.IsZeroSized()) return true;
  e.CallChecked("xc_rt_top_k", {e.run_context(), e.DataPointer(&desc, sizeof(desc)), e.Pointer(in), e.Pointer(topk, 0),
                                e.Pointer(topk, 1)});
  return true;
}

// A ragged-dot with one dimension of each kind, as ExpandScaledDots makes it.
bool EmitRaggedDot(IrEmitter& e, const HloInstruction* dot) {
  const HloInstruction *lhs = dot->operand(0), *rhs = dot->operand(1), *sizes = dot->operand(2);
  const RaggedDims& ragged = dot->attr<AttrKind::kRaggedDims>();
  const DotDims& dims = dot->dot_dims();
  const Int64List first = {0};
  if (lhs->shape().rank() != 4 || rhs->shape().rank() != 4 || sizes->shape().rank() != 2 ||
      sizes->type() != ElementType::kS64 || lhs->type() != rhs->type() || dims.lhs_batch != first ||
      dims.rhs_batch != first || ragged.lhs_ragged != Int64List{2}) {
    return false;
  }
  RaggedDesc desc;
  desc.contracting = ragged.rhs_group.empty();
  const bool known = desc.contracting
                         ? dims.lhs_contracting == Int64List{2, 3} && dims.rhs_contracting == Int64List{1, 2}
                         : ragged.rhs_group == Int64List{1} && dims.lhs_contracting == Int64List{3} &&
                               dims.rhs_contracting == Int64List{2};
  if (!known) return false;
  desc.type = TypeNumber(lhs->type());
  desc.result_type = TypeNumber(dot->type());
  desc.shared_sizes = sizes->shape().dim(0) == 1;
  desc.batches = lhs->shape().dim(0);
  desc.groups = sizes->shape().dim(1);
  desc.free = lhs->shape().dim(1);
  desc.ragged = lhs->shape().dim(2);
  desc.k = lhs->shape().dim(3);
  desc.n = rhs->shape().dim(3);
  e.CallChecked("xc_rt_ragged_dot", {e.run_context(), e.DataPointer(&desc, sizeof(desc)), e.Pointer(lhs),
                                     e.Pointer(rhs), e.Pointer(sizes), e.Pointer(dot)});
  return true;
}

// ragged-all-to-all of one participant.
bool EmitRaggedRows(IrEmitter& e, const HloInstruction* i) {
  const HloInstruction *in = i->operand(0), *out = i->operand(1);
  const ElementType index = i->operand(2)->type();
  if (index != ElementType::kS32 && index != ElementType::kS64) return false;
  for (int64_t o = 2; o < 6; ++o) {
    if (i->operand(o)->type() != index || !SameDims(i->operand(o)->shape(), i->operand(2)->shape())) return false;
  }
  if (!i->shape().IsArray() || in->shape().rank() == 0 || !SameShape(i->shape(), out->shape())) return false;
  RaggedRowsDesc desc;
  desc.in_rows = in->shape().dim(0);
  desc.out_rows = out->shape().dim(0);
  desc.row_bytes = desc.in_rows == 0 ? 0 : in->shape().ByteSize() / desc.in_rows;
  if (desc.in_rows > 0 && desc.out_rows > 0 && out->shape().ByteSize() / desc.out_rows != desc.row_bytes) return false;
  desc.runs = i->operand(2)->shape().ElementCount();
  desc.index_type = TypeNumber(index);
  if (!(e.buffers().Slice(i) == e.buffers().Slice(out))) e.Copy(e.Pointer(i), e.Pointer(out), i->shape().ByteSize());
  e.CallChecked("xc_rt_ragged_rows",
                {e.run_context(), e.DataPointer(&desc, sizeof(desc)), e.Pointer(in), e.Pointer(i->operand(2)),
                 e.Pointer(i->operand(3)), e.Pointer(i->operand(4)), e.Pointer(i)});
  return true;
}

// Moves all arrays of the shape, whose pointers are the leaves of `value`. With `channel`, that is the function's
// argument before them.
void EmitTransfer(IrEmitter& e, const HloInstruction* value, const Shape& shape, const char* function,
                  const int64_t* channel = nullptr) {
  int64_t leaf = 0;
  for (const auto& [index, part] : Leaves(shape)) {
    if (part->IsArray()) {
      std::vector<llvm::Value*> arguments = {e.run_context()};
      if (channel != nullptr) arguments.push_back(e.b().getInt64(*channel));
      arguments.insert(arguments.end(), {e.Pointer(value, leaf), e.b().getInt64(part->ByteSize())});
      e.CallChecked(function, arguments);
    }
    ++leaf;
  }
}

// send and recv-done: on a channel of the program's own, or through the host's queues.
void EmitChannel(IrEmitter& e, const HloInstruction* i) {
  const bool host = i->attr_or<AttrKind::kIsHostTransfer>(false), send = i->opcode() == HloOpcode::kSend;
  const int64_t of_start = send ? 0 : i->operand(0)->attr_or<AttrKind::kChannelId>(0);
  const int64_t channel = i->attr_or<AttrKind::kChannelId>(of_start);
  const HloInstruction* sent = i->operand(0);
  const Shape& data = send ? sent->shape() : i->shape().tuple_shape(0);
  if (host) {
    EmitTransfer(e, send ? sent : i, data, send ? "xc_rt_outfeed" : "xc_rt_infeed");
  } else {
    EmitTransfer(e, send ? sent : i, data, send ? "xc_rt_send" : "xc_rt_recv", &channel);
  }
}

// (data, u32 handle, token) of send and recv: the data is what was sent, or unspecified; both are zeros but for that.
void EmitTransferStart(IrEmitter& e, const HloInstruction* i) {
  int64_t leaf = 0;
  for (const auto& [index, part] : Leaves(i->shape())) {
    if (part->IsArray()) {
      if (i->opcode() == HloOpcode::kSend && index[0] == 0) {
        e.Copy(e.Pointer(i, leaf), e.Pointer(i->operand(0), leaf), part->ByteSize());
      } else {
        e.b().CreateMemSet(e.Pointer(i, leaf), e.b().getInt8(0), part->ByteSize(), llvm::MaybeAlign(1));
      }
    }
    ++leaf;
  }
}

}  // namespace

// A function of the runtime's registry. Arrays are in the layouts of the call's operands and result; the function is
// told so.
absl::StatusOr<bool> IrEmitter::EmitCustomCall(const HloInstruction* call) {
  if (FindCustomCall(call->custom_call_target()) == nullptr) return false;
  if (call->custom_call_target() == "TopK" && call->operand_count() == 1 && !HasOrder(call->operand(0)->type())) {
    return false;
  }
  std::deque<std::vector<int64_t>> layouts;
  auto buffer = [&](const Shape& shape) {
    if (!shape.IsArray()) return CallBuffer{static_cast<RtType>(shape.type()), {}, {}, nullptr};
    layouts.push_back(shape.layout_or_default().minor_to_major);
    return CallBuffer{static_cast<RtType>(shape.type()), shape.dims(), layouts.back(), nullptr};
  };
  std::vector<CallBuffer> inputs, outputs;
  std::vector<llvm::Value*> in, out;
  for (const HloInstruction* operand : call->operands()) {
    if (operand->shape().IsTuple()) return false;  // AssignLayouts takes them apart
    inputs.push_back(buffer(operand->shape()));
    in.push_back(Pointer(operand));
  }
  for (const auto& [index, part] : xc::Leaves(call->shape())) {
    outputs.push_back(buffer(*part));
    out.push_back(Pointer(call, static_cast<int64_t>(out.size())));
  }
  for (const CallAlias& alias : CallAliases(*call)) {
    const HloInstruction* operand = call->operand(alias.input);
    if (!(buffers_.Slice(call, alias.output) == buffers_.Slice(operand))) {
      Copy(out[alias.output], in[alias.input], operand->shape().ByteSize());
    }
    in[alias.input] = out[alias.output];
  }
  CallArgs args;
  args.target = call->custom_call_target();
  args.inputs = inputs;
  args.outputs = outputs;
  args.tuple_result = call->shape().IsTuple();
  if (const auto* config = call->FindAttr<AttrKind::kBackendConfig>()) args.backend_config = config->text;
  XC_ASSIGN_OR_RETURN(PreparedCall prepared, PreparedCall::Make(args));
  const int64_t site = impl_->program.custom_calls.size();
  impl_->program.custom_calls.push_back(std::move(prepared));
  CallChecked("xc_cpu_custom_call", {frame(), b().getInt64(site), PointerArray(in), PointerArray(out)});
  return true;
}

absl::StatusOr<bool> IrEmitter::EmitLibraryOp(const HloInstruction* i) {
  IrEmitter& e = *this;
  if (IsDynamic(i)) return false;
  switch (i->opcode()) {
    case HloOpcode::kFft:
      return EmitFft(e, i);
    case HloOpcode::kCholesky:
      return EmitCholesky(e, i);
    case HloOpcode::kTriangularSolve:
      return EmitTriangularSolve(e, i);
    case HloOpcode::kRngBitGenerator:
      return EmitRngBitGenerator(e, i);
    case HloOpcode::kRng:
      return EmitRng(e, i);
    case HloOpcode::kRngGetAndUpdateState:
      if (i->shape().ByteSize() != 16) return false;
      e.CallRuntime("xc_rt_rng_get_and_update_state",
                    {e.run_context(), e.Pointer(i), e.b().getInt64(i->attr<AttrKind::kDelta>())});
      return true;
    case HloOpcode::kRaggedDot:
      return EmitRaggedDot(e, i);
    case HloOpcode::kRaggedAllToAll:
      return EmitRaggedRows(e, i);
    case HloOpcode::kTopk:
      return EmitTopK(e, i, i->attr_or<AttrKind::kLargest>(true));
    case HloOpcode::kCustomCall:
      return EmitCustomCall(i);
    case HloOpcode::kSort:
      return EmitSort(i);
    case HloOpcode::kSelectAndScatter:
      return EmitSelectAndScatter(i);
    case HloOpcode::kInfeed:
      EmitTransfer(e, i, i->shape().tuple_shape(0), "xc_rt_infeed");
      return true;
    case HloOpcode::kOutfeed:
      EmitTransfer(e, i->operand(0), i->operand(0)->shape(), "xc_rt_outfeed");
      return true;
    case HloOpcode::kSend:
      EmitTransferStart(e, i);
      EmitChannel(e, i);
      return true;
    case HloOpcode::kRecv:
      EmitTransferStart(e, i);
      return true;
    case HloOpcode::kSendDone:
      return true;
    case HloOpcode::kRecvDone:
      EmitChannel(e, i);
      return true;
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId: {
      const bool partition = i->opcode() == HloOpcode::kPartitionId;
      b().CreateStore(CallValue(partition ? "xc_rt_partition_id" : "xc_rt_replica_id", {run_context()}), Pointer(i));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace xc::cpu
