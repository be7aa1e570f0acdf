// Host kernels that parse serialized tf.SequenceExample messages, features of the whole and of each of its steps, and
// serialized tensors.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/kernels/text/features.h"

namespace xc {
namespace {

// What one group of features asks for.
struct Group {
  std::vector<std::string> keys;
  std::vector<DataType> types;
  std::vector<Dims> shapes;  // of dense features, of one step
  std::vector<DataType> split_types;
};

// The features of each example under one key, one list of steps per example; a feature of the whole is one step.
using Steps = std::vector<std::vector<const tf::Feature*>>;

class SequenceParser {
 public:
  explicit SequenceParser(KernelContext& c) : c_(c) {}

  // Reads the operands' first, the keys, in the three ways that the ops give them.
  absl::Status Run() {
    const std::string& op = c_.node.op;
    batched_ = c_.in(0).rank() > 0;
    XC_RETURN_IF_ERROR(ReadKeys(op));
    for (const std::string& bytes : c_.in(0).strings()) {
      examples_.emplace_back();
      if (!examples_.back().ParseFromString(bytes)) {
        return c_.Error(absl::StrCat("could not parse sequence example input, value number ", examples_.size() - 1));
      }
    }
    int out = 0;
    XC_RETURN_IF_ERROR(Sparse(context_sparse_, false, &out));
    XC_RETURN_IF_ERROR(ContextDense(&out));
    XC_RETURN_IF_ERROR(ContextRagged(&out));
    XC_RETURN_IF_ERROR(Sparse(list_sparse_, true, &out));
    XC_RETURN_IF_ERROR(ListDense(&out));
    return ListRagged(&out);
  }

 private:
  absl::StatusOr<std::vector<DataType>> Types(const char* attr) const {
    if (c_.node.FindAttr(attr) == nullptr) return std::vector<DataType>();
    return c_.node.Types(attr);
  }

  absl::Status Shapes(const char* key, Group& group) const {
    const tf::AttrValue* attr = c_.node.FindAttr(key);
    for (int i = 0; attr != nullptr && i < attr->list().shape_size(); ++i) {
      Dims dims;
      for (const auto& d : attr->list().shape(i).dim()) dims.push_back(d.size());
      XC_RETURN_IF_ERROR(CheckedNumElements(dims).status());
      group.shapes.push_back(std::move(dims));
    }
    if (group.shapes.size() != group.keys.size()) return c_.Error("needs one shape per dense feature");
    return absl::OkStatus();
  }

  absl::Status ReadKeys(const std::string& op) {
    Group* groups[] = {&context_sparse_, &context_dense_, &list_sparse_, &list_dense_};
    const char* keys[] = {"context_sparse_keys", "context_dense_keys", "feature_list_sparse_keys",
                          "feature_list_dense_keys"};
    int at = 2;  // the next operand
    auto strings = [&](int i) -> absl::StatusOr<std::vector<std::string>> {
      if (i >= c_.num_inputs() || c_.in(i).dtype() != DT_STRING) return c_.Error("the keys are missing");
      return c_.in(i).strings();
    };
    if (op == "ParseSequenceExampleV2") {
      Group* order[] = {&context_sparse_, &context_dense_, &context_ragged_,
                        &list_sparse_,    &list_dense_,    &list_ragged_};
      for (Group* g : order) {
        XC_ASSIGN_OR_RETURN(g->keys, strings(at++));
      }
      if (at >= c_.num_inputs() || c_.in(at).num_elements() != static_cast<int64_t>(list_dense_.keys.size())) {
        return c_.Error("feature_list_dense_missing_assumed_empty must have one element per dense feature list");
      }
      for (int64_t i = 0; i < c_.in(at).num_elements(); ++i) {
        if (c_.in(at).data<uint8_t>()[i]) may_miss_.push_back(list_dense_.keys[i]);
      }
      ++at;
    } else if (op == "ParseSequenceExample") {
      for (int i = 0; i < 4; ++i) {
        XC_ASSIGN_OR_RETURN(groups[i]->keys, c_.node.Strings(keys[i]));
      }
      XC_ASSIGN_OR_RETURN(may_miss_, c_.node.Strings("feature_list_dense_missing_assumed_empty"));
    } else {
      XC_ASSIGN_OR_RETURN(may_miss_, strings(1));
      const char* counts[] = {"Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense"};
      for (int i = 0; i < 4; ++i) {
        XC_ASSIGN_OR_RETURN(int64_t n, c_.node.Int(counts[i]));
        for (int64_t k = 0; k < n; ++k) {
          XC_ASSIGN_OR_RETURN(std::vector<std::string> key, strings(at++));
          if (key.size() != 1) return c_.Error("a key must be a scalar");
          groups[i]->keys.push_back(std::move(key[0]));
        }
      }
    }
    defaults_ = at;
    XC_ASSIGN_OR_RETURN(context_sparse_.types, Types("context_sparse_types"));
    XC_ASSIGN_OR_RETURN(context_dense_.types, Types("Tcontext_dense"));
    XC_ASSIGN_OR_RETURN(context_ragged_.types, Types("context_ragged_value_types"));
    XC_ASSIGN_OR_RETURN(context_ragged_.split_types, Types("context_ragged_split_types"));
    XC_ASSIGN_OR_RETURN(list_sparse_.types, Types("feature_list_sparse_types"));
    XC_ASSIGN_OR_RETURN(list_dense_.types, Types("feature_list_dense_types"));
    XC_ASSIGN_OR_RETURN(list_ragged_.types, Types("feature_list_ragged_value_types"));
    XC_ASSIGN_OR_RETURN(list_ragged_.split_types, Types("feature_list_ragged_split_types"));
    for (const Group* g :
         {&context_sparse_, &context_dense_, &context_ragged_, &list_sparse_, &list_dense_, &list_ragged_}) {
      if (g->keys.size() != g->types.size()) return c_.Error("the numbers of keys and types differ");
    }
    if (context_ragged_.split_types.size() != context_ragged_.keys.size() ||
        list_ragged_.split_types.size() != list_ragged_.keys.size()) {
      return c_.Error("needs one type of splits per ragged feature");
    }
    if (defaults_ + static_cast<int>(context_dense_.keys.size()) > c_.num_inputs()) {
      return c_.Error("needs one default per dense feature");
    }
    XC_RETURN_IF_ERROR(Shapes("context_dense_shapes", context_dense_));
    return Shapes("feature_list_dense_shapes", list_dense_);
  }

  absl::StatusOr<Steps> Find(const Group& group, size_t k, bool lists) const {
    const std::string& key = group.keys[k];
    Steps steps;
    for (const tf::SequenceExample& e : examples_) {
      steps.emplace_back();
      if (lists) {
        auto it = e.feature_lists().feature_list().find(key);
        if (it == e.feature_lists().feature_list().end()) continue;
        for (const tf::Feature& f : it->second.feature()) steps.back().push_back(&f);
      } else {
        auto it = e.context().feature().find(key);
        if (it != e.context().feature().end() && TypeOf(it->second) != DT_INVALID) steps.back().push_back(&it->second);
      }
      for (const tf::Feature* f : steps.back()) {
        if (TypeOf(*f) == group.types[k] || (lists && TypeOf(*f) == DT_INVALID)) continue;
        return c_.Error(absl::StrCat("key: ", key, ". Data types don't match. Expected type: ",
                                     DataTypeName(group.types[k]), ", got ", DataTypeName(TypeOf(*f))));
      }
    }
    return steps;
  }

  absl::StatusOr<Tensor> Values(const Steps& steps, DataType type) const {
    if (type != DT_STRING && type != DT_FLOAT && type != DT_INT64) {
      return c_.Error(absl::StrCat("a feature cannot be ", DataTypeName(type)));
    }
    int64_t total = 0, at = 0;
    for (const auto& example : steps) {
      for (const tf::Feature* f : example) total += Count(*f);
    }
    XC_ASSIGN_OR_RETURN(Tensor values, c_.AllocType(type, {total}));
    for (const auto& example : steps) {
      for (const tf::Feature* f : example) {
        Place(*f, values, at);
        at += Count(*f);
      }
    }
    return values;
  }

  // Indices, values and shapes of a group: [example,] [step,] place.
  absl::Status Sparse(const Group& group, bool lists, int* out) {
    const int n = static_cast<int>(group.keys.size());
    for (int k = 0; k < n; ++k) {
      XC_ASSIGN_OR_RETURN(Steps steps, Find(group, k, lists));
      std::vector<int64_t> at;
      int64_t most_steps = 0, longest = 0, total = 0;
      for (size_t e = 0; e < steps.size(); ++e) {
        most_steps = std::max(most_steps, static_cast<int64_t>(steps[e].size()));
        for (size_t s = 0; s < steps[e].size(); ++s) {
          longest = std::max(longest, Count(*steps[e][s]));
          for (int64_t i = 0; i < Count(*steps[e][s]); ++i, ++total) {
            if (batched_) at.push_back(static_cast<int64_t>(e));
            if (lists) at.push_back(static_cast<int64_t>(s));
            at.push_back(i);
          }
        }
      }
      Dims shape;
      if (batched_) shape.push_back(static_cast<int64_t>(steps.size()));
      if (lists) shape.push_back(most_steps);
      shape.push_back(longest);
      c_.outputs[*out + k] = Tensor::Int64s(at).Reshaped({total, static_cast<int64_t>(shape.size())});
      XC_ASSIGN_OR_RETURN(c_.outputs[*out + n + k], Values(steps, group.types[k]));
      c_.outputs[*out + 2 * n + k] = Tensor::Int64s(shape);
    }
    *out += 3 * n;
    return absl::OkStatus();
  }

  absl::Status ContextDense(int* out) {
    for (size_t k = 0; k < context_dense_.keys.size(); ++k) {
      XC_ASSIGN_OR_RETURN(Steps steps, Find(context_dense_, k, false));
      const Dims& each = context_dense_.shapes[k];
      XC_ASSIGN_OR_RETURN(int64_t width, CheckedNumElements(each));
      Dims dims = each;
      if (batched_) dims.insert(dims.begin(), static_cast<int64_t>(steps.size()));
      XC_ASSIGN_OR_RETURN(Tensor values, c_.AllocType(context_dense_.types[k], dims));
      const Tensor& otherwise = c_.in(defaults_ + static_cast<int>(k));
      for (size_t e = 0; e < steps.size(); ++e) {
        const int64_t at = static_cast<int64_t>(e) * width;
        if (steps[e].empty()) {
          if (otherwise.num_elements() != width || otherwise.dtype() != values.dtype()) {
            return c_.Error(
                absl::StrCat("context feature '", context_dense_.keys[k], "' is required but could not be found"));
          }
          for (int64_t i = 0; i < width; ++i) CopyElement(otherwise, i, values, at + i);
          continue;
        }
        XC_RETURN_IF_ERROR(CheckWidth(context_dense_.keys[k], *steps[e][0], width));
        Place(*steps[e][0], values, at);
      }
      c_.outputs[(*out)++] = std::move(values);
    }
    return absl::OkStatus();
  }

  absl::Status CheckWidth(const std::string& key, const tf::Feature& f, int64_t width) const {
    if (Count(f) == width) return absl::OkStatus();
    return c_.Error(absl::StrCat("key: ", key, ". Number of values != expected: ", Count(f), " vs. ", width));
  }

  absl::Status ListDense(int* out) {
    const bool gives_lengths = c_.node.op != "ParseSingleSequenceExample";
    const int n = static_cast<int>(list_dense_.keys.size());
    for (int k = 0; k < n; ++k) {
      XC_ASSIGN_OR_RETURN(Steps steps, Find(list_dense_, k, true));
      const std::string& key = list_dense_.keys[k];
      const Dims& each = list_dense_.shapes[k];
      XC_ASSIGN_OR_RETURN(int64_t width, CheckedNumElements(each));
      int64_t longest = 0;
      std::vector<int64_t> lengths;
      for (size_t e = 0; e < steps.size(); ++e) {
        const bool there = examples_[e].feature_lists().feature_list().count(key) != 0;
        if (!there && std::find(may_miss_.begin(), may_miss_.end(), key) == may_miss_.end()) {
          return c_.Error(absl::StrCat("feature list '", key, "' is required but could not be found"));
        }
        lengths.push_back(static_cast<int64_t>(steps[e].size()));
        longest = std::max(longest, lengths.back());
      }
      Dims dims = each;
      dims.insert(dims.begin(), longest);
      if (batched_) dims.insert(dims.begin(), static_cast<int64_t>(steps.size()));
      XC_ASSIGN_OR_RETURN(Tensor values, c_.AllocType(list_dense_.types[k], dims));
      for (size_t e = 0; e < steps.size(); ++e) {
        for (size_t s = 0; s < steps[e].size(); ++s) {
          XC_RETURN_IF_ERROR(CheckWidth(key, *steps[e][s], width));
          Place(*steps[e][s], values, (static_cast<int64_t>(e) * longest + static_cast<int64_t>(s)) * width);
        }
      }
      c_.outputs[*out + k] = std::move(values);
      if (!gives_lengths) continue;
      Tensor& all = c_.outputs[*out + n + k] = Tensor::Int64s(lengths);
      if (!batched_) all = all.Reshaped({});
    }
    *out += gives_lengths ? 2 * n : n;
    return absl::OkStatus();
  }

  absl::Status ContextRagged(int* out) {
    const int n = static_cast<int>(context_ragged_.keys.size());
    for (int k = 0; k < n; ++k) {
      XC_ASSIGN_OR_RETURN(Steps steps, Find(context_ragged_, k, false));
      std::vector<int64_t> splits;  // of a single example none
      if (batched_) splits.push_back(0);
      for (const auto& example : steps) {
        if (batched_) splits.push_back(splits.back() + (example.empty() ? 0 : Count(*example[0])));
      }
      XC_ASSIGN_OR_RETURN(c_.outputs[*out + k], Values(steps, context_ragged_.types[k]));
      c_.outputs[*out + n + k] = Tensor::Integers(context_ragged_.split_types[k], splits);
    }
    *out += 2 * n;
    return absl::OkStatus();
  }

  absl::Status ListRagged(int* out) {
    const int n = static_cast<int>(list_ragged_.keys.size());
    for (int k = 0; k < n; ++k) {
      XC_ASSIGN_OR_RETURN(Steps steps, Find(list_ragged_, k, true));
      std::vector<int64_t> outer, inner = {0};
      if (batched_) outer.push_back(0);
      for (const auto& example : steps) {
        if (batched_) outer.push_back(outer.back() + static_cast<int64_t>(example.size()));
        for (const tf::Feature* f : example) inner.push_back(inner.back() + Count(*f));
      }
      XC_ASSIGN_OR_RETURN(c_.outputs[*out + k], Values(steps, list_ragged_.types[k]));
      c_.outputs[*out + n + k] = Tensor::Integers(list_ragged_.split_types[k], outer);
      c_.outputs[*out + 2 * n + k] = Tensor::Integers(list_ragged_.split_types[k], inner);
    }
    *out += 3 * n;
    return absl::OkStatus();
  }

  KernelContext& c_;
  bool batched_ = true;
  int defaults_ = 0;  // the first operand of defaults
  Group context_sparse_, context_dense_, context_ragged_, list_sparse_, list_dense_, list_ragged_;
  std::vector<std::string> may_miss_;  // dense feature lists that may be missing
  std::vector<tf::SequenceExample> examples_;
};

absl::Status ParseSequences(KernelContext& c) {
  const bool single = c.node.op == "ParseSingleSequenceExample", batch = c.node.op == "ParseSequenceExample";
  if (c.in(0).dtype() != DT_STRING || c.in(0).rank() > 1 || (single && c.in(0).rank() != 0) ||
      (batch && c.in(0).rank() != 1)) {
    return c.Error("serialized has a wrong rank");
  }
  return SequenceParser(c).Run();
}

absl::Status ParseTensor(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(DataType type, c.node.Type("out_type"));
  if (c.in(0).num_elements() != 1) return c.Error("expected `serialized` to be a scalar");
  TensorProto proto;
  if (!proto.ParseFromString(c.in(0).strings()[0])) return c.Error("unable to parse tensor proto");
  XC_ASSIGN_OR_RETURN(c.outputs[0], Tensor::FromProto(proto));
  if (c.outputs[0].dtype() != type) {
    return c.Error(absl::StrCat("type mismatch between parsed tensor (", DataTypeName(c.outputs[0].dtype()),
                                ") and dtype (", DataTypeName(type), ")"));
  }
  return absl::OkStatus();
}

absl::Status SerializeTensor(KernelContext& c) {
  const Tensor& t = c.in(0);
  TensorProto proto;
  proto.set_dtype(t.dtype());
  auto& shape = *proto.mutable_tensor_shape();
  for (int64_t d : t.dims()) shape.add_dim()->set_size(d);
  if (t.dtype() == DT_STRING) {
    for (const std::string& s : t.strings()) proto.add_string_val(s);
  } else if (t.raw() != nullptr) {
    proto.set_tensor_content(t.raw(), t.byte_size());
  } else {
    return c.Error("only arrays can be serialized");
  }
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, {}));
  c.outputs[0].strings()[0] = proto.SerializeAsString();
  return absl::OkStatus();
}

}  // namespace

void RegisterSequenceExampleKernels(KernelRegistry& r) {
  r.Add({"ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleSequenceExample"}, ParseSequences, false);
  r.Add({"ParseTensor"}, ParseTensor, false);
  r.Add({"SerializeTensor"}, SerializeTensor, false);
}

}  // namespace xc
