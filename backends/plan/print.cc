// Plans as text.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/plan/plan.h"

namespace xc::plan {
namespace {

// Fields as "name=value", in the order of the struct; those of arrays as "name={…}".
class Fields {
 public:
  template <typename T>
  Fields& operator()(absl::string_view name, const T& value) {
    absl::StrAppend(&text_, text_.empty() ? "" : " ", name, "=", value);
    return *this;
  }
  Fields& List(absl::string_view name, const int64_t* values, int64_t count) {
    return (*this)(name, absl::StrCat("{", absl::StrJoin(values, values + count, ","), "}"));
  }
  Fields& Type(absl::string_view name, int32_t type) {
    return (*this)(name, ElementTypeName(static_cast<ElementType>(type)));
  }
  std::string text() const { return absl::StrCat("{", text_, "}"); }

 private:
  std::string text_;
};

std::string Text(const MatmulDesc& d) {
  Fields f;
  f.Type("a", d.a_type).Type("b", d.b_type).Type("c", d.c_type);
  f("m", d.m)("n", d.n)("k", d.k);
  f("a_m", d.a_m)("a_k", d.a_k)("b_k", d.b_k)("b_n", d.b_n)("c_m", d.c_m)("c_n", d.c_n);
  if (const int64_t n = d.num_batch_dims; n > 0) {
    f.List("batch", d.batch, n).List("a_batch", d.a_batch, n).List("b_batch", d.b_batch, n);
    f.List("c_batch", d.c_batch, n);
  }
  return f.text();
}

std::string Text(const ConvDesc& d) {
  Fields f;
  f.Type("lhs", d.lhs_type).Type("rhs", d.rhs_type).Type("out", d.out_type);
  f("batch", d.batch)("in_features", d.in_features)("out_features", d.out_features);
  f("feature_groups", d.feature_groups)("batch_groups", d.batch_groups);
  f.List("in", d.in, d.rank).List("kernel", d.kernel, d.rank).List("out", d.out, d.rank);
  f.List("stride", d.stride, d.rank).List("base_dilation", d.base_dilation, d.rank);
  f.List("window_dilation", d.window_dilation, d.rank);
  f.List("pad_low", d.pad_low, d.rank).List("pad_high", d.pad_high, d.rank).List("reversed", d.reversed, d.rank);
  f.List("lhs_strides", d.lhs_strides, d.rank + 2).List("rhs_strides", d.rhs_strides, d.rank + 2);
  f.List("out_strides", d.out_strides, d.rank + 2);
  if (d.packed != 0) f("packed", d.packed);
  return f.text();
}

std::string Text(const SortDesc& d) {
  static constexpr absl::string_view kKeys[] = {"comparator", "less", "total_order", "nan_last"};
  Fields f;
  f("key", kKeys[d.key]);
  if (d.key != 0) f("key_array", d.key_array)("descending", d.descending);
  f("outer", d.outer)("n", d.n)("inner", d.inner);
  for (int32_t i = 0; i < d.num_arrays; ++i) f.Type("type", d.types[i]);
  return f.text();
}

std::string Text(const TopKDesc& d) {
  return Fields().Type("type", d.type)("largest", d.largest)("rows", d.rows)("n", d.n)("k", d.k).text();
}

std::string Text(const FftDesc& d) {
  static constexpr absl::string_view kTypes[] = {"fft", "ifft", "rfft", "irfft"};
  return Fields()("type", kTypes[d.type])("is_double", d.is_double)("batch", d.batch)
      .List("length", d.length, d.rank)
      .text();
}

std::string Text(const CholeskyDesc& d) {
  return Fields().Type("type", d.type)("lower", d.lower)("batch", d.batch)("n", d.n).text();
}

std::string Text(const TriangularSolveDesc& d) {
  return Fields()
      .Type("type", d.type)("left_side", d.left_side)("lower", d.lower)("unit_diagonal", d.unit_diagonal)(
          "transpose_a", d.transpose_a)("batch", d.batch)("rows", d.rows)("cols", d.cols)
      .text();
}

std::string Text(const RngDesc& d) {
  return Fields()("algorithm", d.algorithm)("element_bytes", d.element_bytes)("state_words", d.state_words)
      .List("dims", d.dims, d.rank)
      .text();
}

std::string Text(const RaggedDesc& d) {
  return Fields()
      .Type("type", d.type)
      .Type("result", d.result_type)("contracting", d.contracting)("shared_sizes", d.shared_sizes)(
          "batches", d.batches)("groups", d.groups)("free", d.free)("ragged", d.ragged)("k", d.k)("n", d.n)
      .text();
}

std::string Text(const RaggedRowsDesc& d) {
  return Fields()("in_rows", d.in_rows)("out_rows", d.out_rows)("row_bytes", d.row_bytes)("runs", d.runs)
      .Type("index", d.index_type)
      .text();
}

std::string Text(const Descriptor& descriptor) {
  return std::visit([](const auto& d) { return Text(d); }, descriptor);
}

std::string Text(const std::vector<BufferSlice>& slices) {
  return absl::StrJoin(slices, ", ", [](std::string* out, const BufferSlice& s) { *out += s.ToString(); });
}

struct ArgumentText {
  std::string operator()(const Descriptor& d) const { return Text(d); }
  std::string operator()(const BufferSlice& slice) const { return slice.ToString(); }
  std::string operator()(const std::vector<BufferSlice>& slices) const { return absl::StrCat("[", Text(slices), "]"); }
  std::string operator()(int32_t number) const { return absl::StrCat(number); }
  std::string operator()(int64_t number) const { return absl::StrCat(number); }
  std::string operator()(const HloComputation* computation) const { return computation->name(); }
  std::string operator()(Nothing) const { return "nothing"; }
};

std::string SizesText(const std::vector<Size>& sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ",", [](std::string* out, const Size& s) { *out += s.ToString(); }),
                      "]");
}

std::string Text(const Nest& nest, Form form) {
  std::string text = absl::StrCat(
      SizesText(nest.dims), " ",
      absl::StrJoin(nest.values, ", ", [](std::string* out, const HloInstruction* i) { *out += i->name(); }));
  if (form == Form::kConcatenate) absl::StrAppend(&text, " at ", SizesText(nest.offsets));
  return text;
}

std::string List(const std::vector<int64_t>& numbers) { return absl::StrCat("[", absl::StrJoin(numbers, ","), "]"); }

struct ActionText {
  std::string operator()(const Alias&) const { return "alias"; }
  std::string operator()(const Copy& copy) const {
    return absl::StrCat("copy ", copy.to.ToString(), " <- ", copy.from.ToString());
  }
  std::string operator()(const Clear& clear) const { return absl::StrCat("clear ", clear.to.ToString()); }
  std::string operator()(const Kernel& kernel) const {
    std::string text = absl::StrCat("kernel ", kernel.code, ", ", FormName(kernel.form));
    for (const Nest& nest : kernel.nests) absl::StrAppend(&text, " ", Text(nest, kernel.form));
    if (kernel.form == Form::kColumnReduce) {
      absl::StrAppend(&text, ", adds rows ", List(kernel.columns.rows), " of columns ", List(kernel.columns.columns));
    }
    for (const HloInstruction* stage : kernel.stages) absl::StrAppend(&text, ", after ", stage->name());
    for (const Argument& argument : kernel.arguments) {
      absl::StrAppend(&text, ", ", argument.written ? "writes " : "reads ", argument.slice.ToString(),
                      argument.shared && argument.written ? " in place" : "");
    }
    for (const auto& [parameter, constant] : kernel.scalars) absl::StrAppend(&text, ", knows ", constant->name());
    return absl::StrCat(text, ", cost ", kernel.cost.ToString());
  }
  std::string operator()(const LibraryCall& call) const {
    return absl::StrCat(
        "call ", call.function, "(",
        absl::StrJoin(call.arguments, ", ",
                      [](std::string* out, const CallArgument& a) { *out += std::visit(ArgumentText{}, a); }),
        ")", call.returns == LibraryCall::Result::kNumber ? " -> " + call.result.ToString() : "",
        call.then == nullptr ? "" : absl::StrCat(", then ", call.then_of->name(), ": ", (*this)(*call.then)));
  }
  std::string operator()(const CustomCall& call) const {
    return absl::StrCat("custom call ", call.call, "(", Text(call.inputs), ") -> (", Text(call.outputs), ")");
  }
  std::string operator()(const Loop& loop) const {
    return absl::StrCat("loop while ", NameOf(loop.condition), " gives ", loop.more.ToString(), ": ",
                        NameOf(loop.body));
  }
  std::string operator()(const Branch& branch) const {
    return absl::StrCat("branch by ", branch.selector.ToString(), ": ",
                        absl::StrJoin(branch.branches, ", ", [this](std::string* out, int b) { *out += NameOf(b); }));
  }
  std::string operator()(const Call& call) const { return absl::StrCat("run ", NameOf(call.callee)); }
  std::string operator()(const Evaluate& site) const {
    const std::string why = plan == nullptr ? "" : absl::StrCat(", ", plan->evaluated[site.site].reason);
    return absl::StrCat("evaluate ", site.site, "(", Text(site.inputs), ") -> (", Text(site.outputs), ")", why);
  }

  std::string NameOf(int computation) const {
    return plan == nullptr ? absl::StrCat("computation ", computation)
                           : plan->computations[computation].computation->name();
  }
  const Plan* plan = nullptr;
};

}  // namespace

absl::string_view FormName(Form form) {
  switch (form) {
    case Form::kLoop:
      return "loop";
    case Form::kRowReduce:
      return "row reduce";
    case Form::kTranspose:
      return "transpose";
    case Form::kColumnReduce:
      return "column reduce";
    case Form::kStitched:
      return "stitched";
    case Form::kConcatenate:
      return "concatenate";
    case Form::kInterleave:
      return "interleave";
    case Form::kUpdate:
      return "update";
    case Form::kScatter:
      return "scatter";
    case Form::kSelectAndScatter:
      return "select and scatter";
  }
  return "";
}

std::string ToString(const Plan& plan, const Step& step) {
  return absl::StrCat(step.instruction->name(), ": ", std::visit(ActionText{&plan}, step.action));
}

std::string ToString(const Plan& plan) {
  std::string text;
  for (const Computation& computation : plan.computations) {
    absl::StrAppend(&text, &computation == &plan.entry() ? "entry " : "", computation.computation->name(), " {\n");
    for (const Step& step : computation.steps) absl::StrAppend(&text, "  ", ToString(plan, step), "\n");
    absl::StrAppend(&text, "}\n");
  }
  return text;
}

}  // namespace xc::plan
