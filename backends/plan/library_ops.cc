// Ops that are one call of a runtime function: random numbers, Fourier transforms, factorizations, ragged arrays,
// transfers, and the numbers of replica and partition.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/plan/planner_impl.h"
#include "compiler/fuse/emittable.h"
#include "hlo/shape_inference/shape_inference.h"

namespace xc::plan {
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

// Nothing to be done for arrays without elements.
Decision Empty(Planner& planner, const HloInstruction* instruction) {
  planner.Add(instruction, Alias{});
  return Decision::Yes();
}

Decision IsLinalgType(ElementType type) {
  const bool known =
      type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kC64 || type == ElementType::kC128;
  return known ? Decision::Yes()
               : Decision::No(absl::StrCat("factorizations of ", ElementTypeName(type), " are not known"));
}

Decision PlanFft(Planner& planner, const HloInstruction* fft) {
  const Shape& in = fft->operand(0)->shape();
  const Int64List& length = fft->attr<AttrKind::kFftLength>();
  const ElementType part = ComplexComponent(in.type());
  if (part != ElementType::kF32 && part != ElementType::kF64) {
    return Decision::No(absl::StrCat("transforms of ", ElementTypeName(in.type()), " are not known"));
  }
  if (length.empty() || length.size() > 3) {
    return Decision::No(absl::StrCat("it transforms ", length.size(), " dimensions; 1 to 3 are known"));
  }
  if (fft->shape().IsZeroSized()) return Empty(planner, fft);
  if (in.IsZeroSized()) return Decision::No("its operand has no elements");
  FftDesc desc;
  desc.type = static_cast<int32_t>(fft->attr<AttrKind::kFftType>());
  desc.is_double = part == ElementType::kF64;
  desc.rank = static_cast<int32_t>(length.size());
  for (size_t i = 0; i < length.size(); ++i) desc.length[i] = length[i];
  desc.batch = BatchOf(in, desc.rank);
  planner.AddCall(fft, "xc_rt_fft", {desc, planner.Slice(fft->operand(0)), planner.Slice(fft)});
  return Decision::Yes();
}

Decision PlanCholesky(Planner& planner, const HloInstruction* cholesky) {
  const Shape& shape = cholesky->shape();
  if (Decision type = IsLinalgType(shape.type()); !type) return type;
  if (shape.IsZeroSized()) return Empty(planner, cholesky);
  CholeskyDesc desc;
  desc.type = TypeNumber(shape.type());
  desc.lower = cholesky->attr_or<AttrKind::kLower>(false);
  desc.n = shape.dim(shape.rank() - 1);
  desc.batch = BatchOf(shape, 2);
  MatrixStrides(shape, desc.in);
  MatrixStrides(shape, desc.out);
  planner.AddCall(cholesky, "xc_rt_cholesky", {desc, planner.Slice(cholesky->operand(0)), planner.Slice(cholesky)});
  return Decision::Yes();
}

Decision PlanTriangularSolve(Planner& planner, const HloInstruction* solve) {
  const Shape& shape = solve->shape();
  if (Decision type = IsLinalgType(shape.type()); !type) return type;
  if (shape.IsZeroSized()) return Empty(planner, solve);
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
  planner.AddCall(solve, "xc_rt_triangular_solve",
                  {desc, planner.Slice(solve->operand(0)), planner.Slice(solve->operand(1)), planner.Slice(solve)});
  return Decision::Yes();
}

absl::StatusOr<Decision> PlanRngBitGenerator(Planner& planner, const HloInstruction* rng) {
  const HloInstruction* state = rng->operand(0);
  if (absl::Status status = CheckRandomState(state->shape()); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("rng-bit-generator ", rng->name(), ": ", status.message()));
  }
  const bool both = rng->shape().IsTuple();
  const Shape& shape = both ? rng->shape().tuple_shape(1) : rng->shape();
  if (shape.rank() > kMaxRngRank) return Decision::No(absl::StrCat("its result has ", shape.rank(), " dimensions"));
  if (ElementBits(shape.type()) < 8) {
    return Decision::No(absl::StrCat("bits of ", ElementTypeName(shape.type()), " are not known"));
  }
  RngDesc desc;
  desc.algorithm = static_cast<int32_t>(rng->attr<AttrKind::kRngAlgorithm>());
  desc.element_bytes = StorageBytes(shape.type());
  desc.state_words = static_cast<int32_t>(state->shape().ByteSize() / 8);
  desc.rank = static_cast<int32_t>(shape.rank());
  for (int64_t i = 0; i < shape.rank(); ++i) desc.dims[i] = shape.dim(i);
  // The next state goes where nobody looks if it is not wanted: into an array of three pointers.
  const CallArgument next =
      both ? CallArgument(planner.Slice(rng, 0)) : CallArgument(std::vector<BufferSlice>(3, BufferSlice{}));
  planner.AddCall(rng, "xc_rt_rng_bit_generator", {desc, planner.Slice(state), next, planner.Slice(rng, both ? 1 : 0)});
  return Decision::Yes();
}

Decision PlanRng(Planner& planner, const HloInstruction* rng) {
  const ElementType type = rng->type();
  const bool floating = IsKernelFloat(type);
  const bool normal = rng->attr<AttrKind::kDistribution>() == RandomDistribution::kNormal;
  if (rng->operand_count() != 2 || (!floating && (normal || (type != ElementType::kPred && !IsIntegral(type)))) ||
      ElementBits(type) < 8 - 7 * (type == ElementType::kPred)) {
    return Decision::No(absl::StrCat("random numbers of ", ElementTypeName(type), " are not known"));
  }
  planner.AddCall(rng, normal ? "xc_rt_rng_normal" : "xc_rt_rng_uniform",
                  {TypeNumber(type), rng->shape().ElementCount(), planner.Slice(rng->operand(0)),
                   planner.Slice(rng->operand(1)), planner.Slice(rng)});
  return Decision::Yes();
}

Decision PlanRngState(Planner& planner, const HloInstruction* i) {
  if (i->shape().ByteSize() != 16) return Decision::No("its state is not one of 16 bytes");
  planner.Add(i, LibraryCall{"xc_rt_rng_get_and_update_state",
                             {planner.Slice(i), i->attr<AttrKind::kDelta>()},
                             LibraryCall::Result::kNone,
                             {}});
  return Decision::Yes();
}

// A ragged-dot with one dimension of each kind, as ExpandScaledDots makes it.
Decision PlanRaggedDot(Planner& planner, const HloInstruction* dot) {
  const HloInstruction *lhs = dot->operand(0), *rhs = dot->operand(1), *sizes = dot->operand(2);
  const RaggedDims& ragged = dot->attr<AttrKind::kRaggedDims>();
  const DotDims& dims = dot->dot_dims();
  const Int64List first = {0};
  RaggedDesc desc;
  desc.contracting = ragged.rhs_group.empty();
  const bool of_one_kind =
      lhs->shape().rank() == 4 && rhs->shape().rank() == 4 && sizes->shape().rank() == 2 && dims.lhs_batch == first &&
      dims.rhs_batch == first && ragged.lhs_ragged == Int64List{2} &&
      (desc.contracting ? dims.lhs_contracting == Int64List{2, 3} && dims.rhs_contracting == Int64List{1, 2}
                        : ragged.rhs_group == Int64List{1} && dims.lhs_contracting == Int64List{3} &&
                              dims.rhs_contracting == Int64List{2});
  if (!of_one_kind) return Decision::No("it has another number of dimensions of a kind than one");
  if (sizes->type() != ElementType::kS64 || lhs->type() != rhs->type()) {
    return Decision::No(absl::StrCat("ragged products of ", ElementTypeName(lhs->type()), " and ",
                                     ElementTypeName(rhs->type()), " are not known"));
  }
  desc.type = TypeNumber(lhs->type());
  desc.result_type = TypeNumber(dot->type());
  desc.shared_sizes = sizes->shape().dim(0) == 1;
  desc.batches = lhs->shape().dim(0);
  desc.groups = sizes->shape().dim(1);
  desc.free = lhs->shape().dim(1);
  desc.ragged = lhs->shape().dim(2);
  desc.k = lhs->shape().dim(3);
  desc.n = rhs->shape().dim(3);
  planner.AddCall(dot, "xc_rt_ragged_dot",
                  {desc, planner.Slice(lhs), planner.Slice(rhs), planner.Slice(sizes), planner.Slice(dot)});
  return Decision::Yes();
}

// ragged-all-to-all of one participant.
Decision PlanRaggedRows(Planner& planner, const HloInstruction* i) {
  const HloInstruction *in = i->operand(0), *out = i->operand(1);
  const ElementType index = i->operand(2)->type();
  if (index != ElementType::kS32 && index != ElementType::kS64) {
    return Decision::No(absl::StrCat("offsets of ", ElementTypeName(index), " are not known"));
  }
  for (int64_t o = 2; o < 6; ++o) {
    if (i->operand(o)->type() != index || !SameDims(i->operand(o)->shape(), i->operand(2)->shape())) {
      return Decision::No("its offsets and sizes are of several shapes");
    }
  }
  if (!i->shape().IsArray() || in->shape().rank() == 0 || !SameShape(i->shape(), out->shape())) {
    return Decision::No("its arrays have no rows");
  }
  RaggedRowsDesc desc;
  desc.in_rows = in->shape().dim(0);
  desc.out_rows = out->shape().dim(0);
  desc.row_bytes = desc.in_rows == 0 ? 0 : in->shape().ByteSize() / desc.in_rows;
  if (desc.in_rows > 0 && desc.out_rows > 0 && out->shape().ByteSize() / desc.out_rows != desc.row_bytes) {
    return Decision::No("its arrays have rows of several sizes");
  }
  desc.runs = i->operand(2)->shape().ElementCount();
  desc.index_type = TypeNumber(index);
  planner.AddCopy(i, planner.Slice(i), planner.Slice(out));
  planner.AddCall(i, "xc_rt_ragged_rows",
                  {desc, planner.Slice(in), planner.Slice(i->operand(2)), planner.Slice(i->operand(3)),
                   planner.Slice(i->operand(4)), planner.Slice(i)});
  return Decision::Yes();
}

// Moves all arrays of the shape, which are the leaves of `value`, on behalf of `i`. With `channel`, that is the
// function's argument before them. Returns whether there were any.
bool PlanTransfer(Planner& planner, const HloInstruction* i, const HloInstruction* value, const Shape& shape,
                  const char* function, const int64_t* channel = nullptr) {
  int64_t leaf = 0;
  bool any = false;
  for (const auto& [index, part] : Leaves(shape)) {
    if (part->IsArray()) {
      std::vector<CallArgument> arguments;
      if (channel != nullptr) arguments.push_back(*channel);
      arguments.push_back(planner.Slice(value, leaf));
      arguments.push_back(part->ByteSize());
      planner.AddCall(i, function, std::move(arguments));
      any = true;
    }
    ++leaf;
  }
  return any;
}

// send and recv-done: on a channel of the program's own, or through the host's queues.
bool PlanChannel(Planner& planner, const HloInstruction* i) {
  const bool host = i->attr_or<AttrKind::kIsHostTransfer>(false), send = i->opcode() == HloOpcode::kSend;
  const int64_t of_start = send ? 0 : i->operand(0)->attr_or<AttrKind::kChannelId>(0);
  const int64_t channel = i->attr_or<AttrKind::kChannelId>(of_start);
  const HloInstruction* sent = i->operand(0);
  const Shape& data = send ? sent->shape() : i->shape().tuple_shape(0);
  if (host) return PlanTransfer(planner, i, send ? sent : i, data, send ? "xc_rt_outfeed" : "xc_rt_infeed");
  return PlanTransfer(planner, i, send ? sent : i, data, send ? "xc_rt_send" : "xc_rt_recv", &channel);
}

// (data, u32 handle, token) of send and recv: the data is what was sent, or unspecified; both are zeros but for that.
bool PlanTransferStart(Planner& planner, const HloInstruction* i) {
  int64_t leaf = 0;
  bool any = false;
  for (const auto& [index, part] : Leaves(i->shape())) {
    if (part->IsArray()) {
      if (i->opcode() == HloOpcode::kSend && index[0] == 0) {
        planner.AddCopy(i, planner.Slice(i, leaf), planner.Slice(i->operand(0), leaf));
      } else {
        planner.Add(i, Clear{planner.Slice(i, leaf), part->ByteSize()});
      }
      any = true;
    }
    ++leaf;
  }
  return any;
}

}  // namespace

absl::StatusOr<Decision> PlanLibraryOp(Planner& planner, const HloInstruction* i) {
  const auto done = [&](bool any) {
    if (!any) planner.Add(i, Alias{});
    return Decision::Yes();
  };
  switch (i->opcode()) {
    case HloOpcode::kFft:
      return PlanFft(planner, i);
    case HloOpcode::kCholesky:
      return PlanCholesky(planner, i);
    case HloOpcode::kTriangularSolve:
      return PlanTriangularSolve(planner, i);
    case HloOpcode::kRngBitGenerator:
      return PlanRngBitGenerator(planner, i);
    case HloOpcode::kRng:
      return PlanRng(planner, i);
    case HloOpcode::kRngGetAndUpdateState:
      return PlanRngState(planner, i);
    case HloOpcode::kRaggedDot:
      return PlanRaggedDot(planner, i);
    case HloOpcode::kRaggedAllToAll:
      return PlanRaggedRows(planner, i);
    case HloOpcode::kInfeed:
      return done(PlanTransfer(planner, i, i, i->shape().tuple_shape(0), "xc_rt_infeed"));
    case HloOpcode::kOutfeed:
      return done(PlanTransfer(planner, i, i->operand(0), i->operand(0)->shape(), "xc_rt_outfeed"));
    case HloOpcode::kSend: {
      const bool start = PlanTransferStart(planner, i);
      return done(PlanChannel(planner, i) || start);
    }
    case HloOpcode::kRecv:
      return done(PlanTransferStart(planner, i));
    case HloOpcode::kSendDone:
      return done(false);
    case HloOpcode::kRecvDone:
      return done(PlanChannel(planner, i));
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId:
      planner.Add(i, LibraryCall{i->opcode() == HloOpcode::kPartitionId ? "xc_rt_partition_id" : "xc_rt_replica_id",
                                 {},
                                 LibraryCall::Result::kNumber,
                                 planner.Slice(i)});
      return Decision::Yes();
    default: {
      // What is neither an op of the runtime nor an expression; the expression's reason is the better one.
      const Decision expression = CanEmit(*i);
      return expression ? Decision::No("there is no code for it") : expression;
    }
  }
}

}  // namespace xc::plan
