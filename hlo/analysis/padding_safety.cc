#include "hlo/analysis/padding_safety.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlo/analysis/equality.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kMaxVisits = 1 << 20;  // of instructions; loops are walked until nothing changes
constexpr int64_t kNone = -1;            // no dimension differs

// Of every leaf of a value: whether its padding is copies of what it holds else.
using Copies = std::vector<bool>;

bool Contains(const Int64List& list, int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// The dimension in which two arrays differ. Error: they differ in more.
absl::StatusOr<int64_t> BatchDim(const Shape& a, const Shape& b) {
  if (a.type() != b.type() || a.rank() != b.rank() || a.is_dynamic() || b.is_dynamic()) {
    return absl::UnimplementedError(absl::StrCat("is ", a.ToString(false), " and ", b.ToString(false)));
  }
  int64_t dim = kNone;
  for (int64_t d = 0; d < a.rank(); ++d) {
    if (a.dim(d) == b.dim(d)) continue;
    if (dim != kNone || a.dim(d) > b.dim(d)) {
      return absl::UnimplementedError(absl::StrCat("is ", a.ToString(false), " and ", b.ToString(false)));
    }
    dim = d;
  }
  return dim;
}

int64_t Before(const Shape& shape, int64_t dim) {
  int64_t product = 1;
  for (int64_t d = 0; d < dim; ++d) product *= shape.dim(d);
  return product;
}

// Whether `reducer` gives the same however often a value comes.
bool CopiesDoNotCount(const HloComputation& reducer) {
  const HloInstruction& root = *reducer.root();
  switch (root.opcode()) {
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
      return root.operand(0) != root.operand(1) && root.operand(0)->opcode() == HloOpcode::kParameter &&
             root.operand(1)->opcode() == HloOpcode::kParameter;
    default:
      return false;
  }
}

// One instruction of the two programs.
struct Twin {
  const HloInstruction& a;  // of the smaller batch
  const HloInstruction& b;
  int64_t dim = kNone;              // of an array, or of a tuple's first leaf: its batch dimension
  std::vector<int64_t> batch_dims;  // the same of its operands that are arrays
  std::vector<const Copies*> from;  // of its operands
  bool has_batch = false;           // it, or one of its operands, in any leaf

  bool CopiesOfAll() const {
    return std::all_of(from.begin(), from.end(),
                       [](const Copies* c) { return std::find(c->begin(), c->end(), false) == c->end(); });
  }
  // The sizes are those of dimension `d` of an operand, in both programs.
  bool Whole(int64_t size_a, int64_t size_b, int64_t operand, int64_t d) const {
    return size_a == a.operand(operand)->shape().dim(d) && size_b == b.operand(operand)->shape().dim(d);
  }
};

class PaddingSafety {
 public:
  PaddingSafety(int64_t small, int64_t large, bool apart) : small_(small), large_(large), apart_(apart) {}
  absl::StatusOr<Copies> Run(const HloComputation& a, const HloComputation& b, const std::vector<Copies>& parameters);

 private:
  absl::StatusOr<Copies> Rule(const Twin& t, const std::vector<Copies>& parameters);
  absl::StatusOr<Copies> Constant(const Twin& t);
  absl::StatusOr<Copies> While(const Twin& t);
  absl::StatusOr<Copies> Conditional(const Twin& t);
  absl::StatusOr<Copies> Gather(const Twin& t);
  absl::Status SameCallees(const Twin& t) const;

  // Of CheckRowsApart: whether the dimension has the same number of elements for each row of either program.
  absl::Status WholeRows(const Shape& a, const Shape& b, int64_t dim) const;

  const int64_t small_, large_;  // batch sizes of the parameters
  const bool apart_;             // CheckRowsApart
  int64_t visits_ = 0;
};

absl::Status Refuse(absl::string_view why) { return absl::UnimplementedError(why); }

Copies Same(const Twin& t) { return Copies(t.a.shape().LeafCount(), true); }
Copies Kept(const Twin& t) { return Copies(t.a.shape().LeafCount(), t.CopiesOfAll()); }

absl::Status PaddingSafety::WholeRows(const Shape& a, const Shape& b, int64_t dim) const {
  if (!apart_ || dim == kNone) return absl::OkStatus();
  const int64_t x = a.dim(dim), y = b.dim(dim);
  if (x % small_ == 0 && y % large_ == 0 && x / small_ == y / large_) return absl::OkStatus();
  return Refuse(absl::StrCat("has ", x, " elements for a batch of ", small_, " and ", y, " for one of ", large_));
}

absl::StatusOr<Copies> PaddingSafety::Run(const HloComputation& a, const HloComputation& b,
                                          const std::vector<Copies>& parameters) {
  const std::vector<HloInstruction*> order_a = a.PostOrder(), order_b = b.PostOrder();
  if (order_a.size() != order_b.size()) {
    return Refuse(absl::StrCat("computation ", a.name(), " has ", order_a.size(),
                               " instructions for a smaller batch and ", order_b.size(), " for a larger one"));
  }
  visits_ += static_cast<int64_t>(order_a.size());
  if (visits_ > kMaxVisits) return Refuse("the program is too large to compare for other batch sizes");
  absl::flat_hash_map<const HloInstruction*, size_t> at_a, at_b;
  std::vector<Copies> values(order_a.size());
  std::vector<bool> with_batch(order_a.size());
  for (size_t i = 0; i < order_a.size(); ++i) {
    Twin t{*order_a[i], *order_b[i]};
    auto place = [&](const absl::Status& status) {
      const std::string& op = t.a.metadata().op_name;
      return absl::UnimplementedError(
          absl::StrCat(OpcodeName(t.a.opcode()), " '", op.empty() ? t.a.name() : op, "' ", status.message()));
    };
    if (t.a.opcode() != t.b.opcode() || t.a.operand_count() != t.b.operand_count() ||
        t.a.called_computations().size() != t.b.called_computations().size()) {
      return place(Refuse(absl::StrCat("is a ", OpcodeName(t.b.opcode()), " of other operands for a larger batch")));
    }
    const auto leaves_a = Leaves(t.a.shape()), leaves_b = Leaves(t.b.shape());
    if (leaves_a.size() != leaves_b.size()) return place(Refuse("has other results for a larger batch"));
    for (size_t k = 0; k < leaves_a.size(); ++k) {
      auto dim = BatchDim(*leaves_a[k].second, *leaves_b[k].second);
      if (!dim.ok()) return place(dim.status());
      if (absl::Status whole = WholeRows(*leaves_a[k].second, *leaves_b[k].second, *dim); !whole.ok()) {
        return place(whole);
      }
      if (k == 0) t.dim = *dim;
      t.has_batch |= *dim != kNone;
    }
    with_batch[i] = t.has_batch;
    for (int64_t k = 0; k < t.a.operand_count(); ++k) {
      const HloInstruction &x = *t.a.operand(k), &y = *t.b.operand(k);
      if (at_a.at(&x) != at_b.at(&y)) return place(Refuse("takes another operand for a larger batch"));
      t.batch_dims.push_back(x.shape().IsArray() ? BatchDim(x.shape(), y.shape()).value_or(kNone) : kNone);
      t.from.push_back(&values[at_a.at(&x)]);
      t.has_batch |= with_batch[at_a.at(&x)];
    }
    auto value = Rule(t, parameters);
    if (!value.ok()) {
      // An error in a called computation has its place already.
      const HloOpcode op = t.a.opcode();
      const bool calls = op == HloOpcode::kWhile || op == HloOpcode::kConditional || op == HloOpcode::kCall;
      return calls ? value.status() : place(value.status());
    }
    values[i] = *std::move(value);
    at_a.emplace(&t.a, i);
    at_b.emplace(&t.b, i);
  }
  if (at_a.at(a.root()) != at_b.at(b.root())) return Refuse("the results are others for a larger batch");
  return values[at_a.at(a.root())];
}

// Computations on elements, in which nothing differs.
absl::Status PaddingSafety::SameCallees(const Twin& t) const {
  for (size_t i = 0; i < t.a.called_computations().size(); ++i) {
    XC_RETURN_IF_ERROR(DeepEqual(*t.a.called(i), *t.b.called(i), {.layouts = false, .config = false}));
  }
  return absl::OkStatus();
}

absl::StatusOr<Copies> PaddingSafety::Constant(const Twin& t) {
  const Literal &x = t.a.literal(), &y = t.b.literal();
  if (x.elided() || y.elided()) return Refuse("has no values");
  if (t.dim == kNone) {
    if (!x.BitEqual(y)) return Refuse("has another value for a larger batch");
    return Same(t);
  }
  if (!t.a.shape().IsRowMajor() || !t.b.shape().IsRowMajor()) return Refuse("has a layout");
  const int64_t outer = Before(t.a.shape(), t.dim);
  if (x.byte_size() == 0) return Refuse("is empty");
  if (apart_ && !y.IsBroadcastScalar()) return Refuse("has values of its own for each element of the batch");
  const int64_t bytes_a = x.byte_size() / outer, bytes_b = y.byte_size() / outer;
  for (int64_t i = 0; i < outer; ++i) {
    if (std::memcmp(x.bytes() + i * bytes_a, y.bytes() + i * bytes_b, bytes_a) != 0) {
      return Refuse("has other values for a larger batch");
    }
  }
  return Copies{y.IsBroadcastScalar()};
}

absl::StatusOr<Copies> PaddingSafety::While(const Twin& t) {
  Copies state = *t.from[0];
  // What holds before an iteration and after it holds always. Leaves only lose their mark, so this ends.
  while (true) {
    XC_ASSIGN_OR_RETURN(Copies iteration, Run(*t.a.while_body(), *t.b.while_body(), {state}));
    bool changed = false;
    for (size_t i = 0; i < state.size(); ++i) {
      changed |= state[i] && !iteration[i];
      state[i] = state[i] && iteration[i];
    }
    if (!changed) break;
  }
  XC_RETURN_IF_ERROR(Run(*t.a.while_condition(), *t.b.while_condition(), {state}).status());
  return state;
}

absl::StatusOr<Copies> PaddingSafety::Conditional(const Twin& t) {
  Copies out = Same(t);
  for (size_t i = 0; i < t.a.called_computations().size(); ++i) {
    XC_ASSIGN_OR_RETURN(Copies branch, Run(*t.a.called(i), *t.b.called(i), {*t.from[i + 1]}));
    for (size_t k = 0; k < out.size(); ++k) out[k] = out[k] && branch[k];
  }
  return out;
}

absl::StatusOr<Copies> PaddingSafety::Gather(const Twin& t) {
  const GatherDims& dims = t.a.gather_dims();
  const Int64List& sizes_a = t.a.attr<AttrKind::kSliceSizes>();
  const Int64List& sizes_b = t.b.attr<AttrKind::kSliceSizes>();
  if (t.batch_dims[1] != kNone && t.batch_dims[1] == dims.index_vector_dim)
    return Refuse("has its indices in the batch dimension");
  for (size_t d = 0; d < sizes_a.size(); ++d) {
    const int64_t dim = static_cast<int64_t>(d);
    const bool batch = t.batch_dims[0] == dim && !Contains(dims.operand_batching_dims, dim);
    // The whole batch is taken, in its place: an index into it can be 0 only.
    if (batch ? !t.Whole(sizes_a[d], sizes_b[d], 0, dim) : sizes_a[d] != sizes_b[d]) {
      return Refuse("takes a part of the batch");
    }
  }
  return Kept(t);
}

absl::StatusOr<Copies> PaddingSafety::Rule(const Twin& t, const std::vector<Copies>& parameters) {
  std::optional<AttrKind> sizes;  // checked by the op's own rule
  switch (t.a.opcode()) {
    case HloOpcode::kSlice:
      sizes = AttrKind::kSlice;
      break;
    case HloOpcode::kDynamicSlice:
      sizes = AttrKind::kDynamicSliceSizes;
      break;
    case HloOpcode::kGather:
      sizes = AttrKind::kSliceSizes;
      break;
    default:
      break;
  }
  if (std::string why = AttributeDifference(t.a.attributes(), t.b.attributes(), false, sizes); !why.empty()) {
    return Refuse(absl::StrCat("differs for a larger batch: ", why));
  }
  switch (t.a.opcode()) {
    case HloOpcode::kWhile:
      return While(t);
    case HloOpcode::kConditional:
      return Conditional(t);
    case HloOpcode::kCall: {
      std::vector<Copies> arguments;
      for (const Copies* c : t.from) arguments.push_back(*c);
      return Run(*t.a.to_apply(), *t.b.to_apply(), arguments);
    }
    case HloOpcode::kParameter:
      if (t.a.parameter_number() != t.b.parameter_number()) return Refuse("is another parameter for a larger batch");
      return parameters.at(t.a.parameter_number());
    case HloOpcode::kTuple: {
      Copies all;
      for (const Copies* c : t.from) all.insert(all.end(), c->begin(), c->end());
      return all;
    }
    case HloOpcode::kGetTupleElement: {
      int64_t first = 0;
      for (int64_t i = 0; i < t.a.tuple_index(); ++i) first += t.a.operand(0)->shape().tuple_shape(i).LeafCount();
      return Copies(t.from[0]->begin() + first, t.from[0]->begin() + first + t.a.shape().LeafCount());
    }
    case HloOpcode::kOptBarrier:
      return *t.from[0];
    case HloOpcode::kConstant:
      return Constant(t);
    default:
      break;
  }
  XC_RETURN_IF_ERROR(SameCallees(t));
  if (t.a.HasSideEffect()) return Refuse("has side effects");
  if (t.a.IsElementwise()) return Kept(t);
  switch (t.a.opcode()) {
    case HloOpcode::kCopy:
    case HloOpcode::kMap:
    case HloOpcode::kBroadcast:
    case HloOpcode::kTranspose:
      return Kept(t);
    case HloOpcode::kIota:
      if (apart_ && t.dim != kNone && t.dim == t.a.attr<AttrKind::kIotaDimension>()) {
        return Refuse("counts the elements of the batch");
      }
      return Copies{t.dim == kNone || t.dim != t.a.attr<AttrKind::kIotaDimension>()};
    default:
      break;
  }
  // Instructions without a batch dimension do the same in both programs.
  if (!t.has_batch) return Same(t);
  const int64_t batch_dim = t.batch_dims[0];
  switch (t.a.opcode()) {
    case HloOpcode::kReshape:
      if (Before(t.a.operand(0)->shape(), batch_dim) != Before(t.a.shape(), t.dim))
        return Refuse("mixes elements of the batch");
      // Parts of several elements are no copies where only the last of these is one.
      return Copies{t.CopiesOfAll() && t.a.shape().dim(t.dim) % small_ == 0 && t.b.shape().dim(t.dim) % large_ == 0};
    case HloOpcode::kDot: {
      const DotDims& dims = t.a.dot_dims();
      if (t.a.operand_count() != 2 || Contains(dims.lhs_contracting, batch_dim) ||
          Contains(dims.rhs_contracting, t.batch_dims[1])) {
        return Refuse("contracts the batch dimension");
      }
      return Kept(t);
    }
    case HloOpcode::kConvolution:
      if (batch_dim != t.a.conv_dims().input_batch || t.batch_dims[1] != kNone ||
          t.a.attr_or<AttrKind::kBatchGroupCount>(1) != 1) {
        return Refuse("has the batch in another dimension than its input's");
      }
      return Kept(t);
    case HloOpcode::kReduce: {
      const bool over_batch = batch_dim != kNone && Contains(t.a.dimensions(), batch_dim);
      if (!over_batch) return Kept(t);
      if (apart_ || t.a.operand_count() != 2 || !CopiesDoNotCount(*t.a.to_apply()) || !t.CopiesOfAll()) {
        return Refuse("combines elements of the batch");
      }
      return Same(t);
    }
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
      if (batch_dim == kNone || t.a.window().dims[batch_dim] != WindowDim())
        return Refuse("has windows over several elements of the batch");
      return Kept(t);
    case HloOpcode::kGather:
      return Gather(t);
    case HloOpcode::kDynamicSlice: {
      const Int64List& size_a = t.a.attr<AttrKind::kDynamicSliceSizes>();
      const Int64List& size_b = t.b.attr<AttrKind::kDynamicSliceSizes>();
      for (int64_t d = 0; d < t.a.shape().rank(); ++d) {
        if (d == batch_dim ? !t.Whole(size_a[d], size_b[d], 0, d) : size_a[d] != size_b[d])
          return Refuse("takes a part of the batch");
      }
      return Kept(t);
    }
    case HloOpcode::kDynamicUpdateSlice:
      if (t.batch_dims[1] != batch_dim ||
          !t.Whole(t.a.operand(1)->shape().dim(batch_dim), t.b.operand(1)->shape().dim(batch_dim), 0, batch_dim)) {
        return Refuse("writes a part of the batch");
      }
      return Kept(t);
    case HloOpcode::kSlice: {
      const SliceAttr &x = t.a.slice(), &y = t.b.slice();
      bool whole = true;
      for (int64_t d = 0; d < t.a.shape().rank(); ++d) {
        if (x.starts[d] != y.starts[d] || x.strides[d] != y.strides[d])
          return Refuse("takes other elements of the batch");
        if (d == batch_dim) {
          whole = x.starts[d] == 0 && x.strides[d] == 1 && t.Whole(x.limits[d], y.limits[d], 0, d);
        } else if (x.limits[d] != y.limits[d]) {
          return Refuse("differs in its limits");
        }
      }
      if (apart_ && !whole) return Refuse("takes a part of the batch");
      // Elements of the part that both have; the padding may be copies of one that was left out.
      return Copies{t.dim == kNone || (whole && t.CopiesOfAll())};
    }
    case HloOpcode::kPad:
      if (batch_dim == kNone || t.a.padding().dims[batch_dim] != PaddingDim())
        return Refuse("pads the batch dimension");
      return Kept(t);
    case HloOpcode::kConcatenate:
      if (t.dim == t.a.dimensions()[0]) return Refuse("joins arrays along the batch dimension");
      return Kept(t);
    case HloOpcode::kReverse:
    case HloOpcode::kSort:
      if (Contains(t.a.dimensions(), t.dim)) return Refuse("moves elements of the batch");
      return Kept(t);
    case HloOpcode::kTopk:
      if (batch_dim == t.a.operand(0)->shape().rank() - 1) return Refuse("moves elements of the batch");
      return Kept(t);
    case HloOpcode::kFft:
      if (batch_dim >= t.a.shape().rank() - static_cast<int64_t>(t.a.attr<AttrKind::kFftLength>().size())) {
        return Refuse("combines elements of the batch");
      }
      return Kept(t);
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
      if (t.dim >= t.a.shape().rank() - 2) return Refuse("combines elements of the batch");
      return Kept(t);
    default:
      return Refuse("has no rule for batch dimensions");
  }
}

}  // namespace

absl::Status CheckPaddingSafety(const HloModule& small, const HloModule& large) {
  std::vector<Copies> parameters;
  const HloComputation &a = *small.entry(), &b = *large.entry();
  if (a.parameter_count() != b.parameter_count()) return Refuse("the programs take other parameters");
  int64_t batch_a = 1, batch_b = 1;
  for (int64_t i = 0; i < a.parameter_count(); ++i) {
    const Shape &x = a.parameter(i)->shape(), &y = b.parameter(i)->shape();
    if (!x.IsArray() || !y.IsArray()) return Refuse("a parameter is not an array");
    parameters.push_back({true});
    XC_ASSIGN_OR_RETURN(int64_t dim, BatchDim(x, y));
    if (dim == kNone) continue;
    if (dim != 0 || x.dim(0) == 0 || (batch_b != 1 && (batch_a != x.dim(0) || batch_b != y.dim(0)))) {
      return Refuse("the parameters differ in more than their batch size");
    }
    batch_a = x.dim(0);
    batch_b = y.dim(0);
  }
  return PaddingSafety(batch_a, batch_b, /*apart=*/false).Run(a, b, parameters).status();
}

absl::StatusOr<RowDims> CheckRowsApart(const HloModule& small, int64_t small_rows, const HloModule& large,
                                       int64_t large_rows) {
  const HloComputation &a = *small.entry(), &b = *large.entry();
  if (a.parameter_count() != b.parameter_count()) return Refuse("the programs take other parameters");
  std::vector<Copies> parameters;
  RowDims dims;
  for (int64_t i = 0; i < a.parameter_count(); ++i) {
    if (!a.parameter(i)->shape().IsArray()) return Refuse("a parameter is not an array");
    parameters.push_back({true});
    XC_ASSIGN_OR_RETURN(dims.parameters.emplace_back(), BatchDim(a.parameter(i)->shape(), b.parameter(i)->shape()));
  }
  XC_RETURN_IF_ERROR(PaddingSafety(small_rows, large_rows, /*apart=*/true).Run(a, b, parameters).status());
  const auto leaves_a = Leaves(a.root()->shape()), leaves_b = Leaves(b.root()->shape());
  for (size_t i = 0; i < leaves_a.size(); ++i) {
    XC_ASSIGN_OR_RETURN(dims.results.emplace_back(), BatchDim(*leaves_a[i].second, *leaves_b[i].second));
  }
  return dims;
}

}  // namespace xc
