// Host kernels that parse records: serialized tf.Example messages into dense, sparse and ragged features, and lines of
// comma-separated values.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jit/kernels/text/features.h"

namespace xc {
namespace {

// The features to take out of each example, and where the results go.
struct Wanted {
  std::vector<std::string> sparse, dense, ragged;
  std::vector<DataType> sparse_types, dense_types, ragged_types;
  std::vector<PartialShape> dense_shapes;
  int defaults = 0;  // the first operand of defaults
  bool batched = false;
};

absl::StatusOr<std::vector<PartialShape>> Shapes(const KernelContext& c, const std::string& key) {
  const tf::AttrValue* attr = c.node.FindAttr(key);
  std::vector<PartialShape> shapes;
  for (int i = 0; attr != nullptr && i < attr->list().shape_size(); ++i) {
    const TensorShapeProto& proto = attr->list().shape(i);
    PartialShape shape;
    shape.known_rank = !proto.unknown_rank();
    for (const auto& d : proto.dim()) shape.dims.push_back(d.size());
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

class ExampleParser {
 public:
  ExampleParser(KernelContext& c, Wanted wanted) : c_(c), wanted_(std::move(wanted)) {}

  absl::Status Run() {
    for (const std::string& bytes : c_.in(0).strings()) {
      examples_.emplace_back();
      if (!examples_.back().ParseFromString(bytes)) {
        return c_.Error(absl::StrCat("could not parse example input, value number ", examples_.size() - 1));
      }
    }
    if (wanted_.dense_shapes.size() != wanted_.dense.size()) return c_.Error("needs one shape per dense feature");
    int num_sparse = static_cast<int>(wanted_.sparse.size()), num_dense = static_cast<int>(wanted_.dense.size());
    int num_ragged = static_cast<int>(wanted_.ragged.size());
    if (static_cast<int>(c_.outputs.size()) != 3 * num_sparse + num_dense + 2 * num_ragged ||
        c_.num_inputs() != wanted_.defaults + num_dense) {
      return c_.Error("the numbers of keys do not fit its attributes");
    }
    for (int k = 0; k < num_sparse; ++k) XC_RETURN_IF_ERROR(Sparse(k, num_sparse));
    for (int k = 0; k < num_dense; ++k) XC_RETURN_IF_ERROR(Dense(k, 3 * num_sparse + k));
    int first = 3 * num_sparse + num_dense;
    for (int k = 0; k < num_ragged; ++k) XC_RETURN_IF_ERROR(Ragged(k, first + k, first + num_ragged + k));
    return absl::OkStatus();
  }

 private:
  // The feature of every example, null where it is missing.
  absl::StatusOr<std::vector<const tf::Feature*>> Column(const std::string& key, DataType type) const {
    if (type != DT_STRING && type != DT_FLOAT && type != DT_INT64) {
      return c_.Error(absl::StrCat("feature '", key, "' cannot be ", DataTypeName(type)));
    }
    std::vector<const tf::Feature*> column;
    for (const tf::Example& e : examples_) {
      auto it = e.features().feature().find(key);
      bool there = it != e.features().feature().end() && TypeOf(it->second) != DT_INVALID;
      if (there && TypeOf(it->second) != type) {
        return c_.Error(absl::StrCat("key: ", key, ". Data types don't match. Expected type: ", DataTypeName(type),
                                     ", got ", DataTypeName(TypeOf(it->second))));
      }
      column.push_back(there ? &it->second : nullptr);
    }
    return column;
  }

  static int64_t Total(const std::vector<const tf::Feature*>& column) {
    int64_t total = 0;
    for (const tf::Feature* f : column) total += f != nullptr ? Count(*f) : 0;
    return total;
  }

  absl::StatusOr<Tensor> Values(const std::vector<const tf::Feature*>& column, DataType type) const {
    XC_ASSIGN_OR_RETURN(Tensor values, c_.AllocType(type, {Total(column)}));
    int64_t at = 0;
    for (const tf::Feature* f : column) {
      if (f == nullptr) continue;
      Place(*f, values, at);
      at += Count(*f);
    }
    return values;
  }

  absl::Status Sparse(int k, int num_sparse) {
    DataType type = wanted_.sparse_types[k];
    XC_ASSIGN_OR_RETURN(auto column, Column(wanted_.sparse[k], type));
    int64_t rank = wanted_.batched ? 2 : 1, longest = 0, at = 0;
    XC_ASSIGN_OR_RETURN(Tensor indices, c_.AllocType(DT_INT64, {Total(column), rank}));
    for (size_t e = 0; e < column.size(); ++e) {
      int64_t n = column[e] != nullptr ? Count(*column[e]) : 0;
      longest = std::max(longest, n);
      for (int64_t i = 0; i < n; ++i) {
        if (wanted_.batched) indices.data<int64_t>()[at++] = static_cast<int64_t>(e);
        indices.data<int64_t>()[at++] = i;
      }
    }
    c_.outputs[k] = std::move(indices);
    XC_ASSIGN_OR_RETURN(c_.outputs[num_sparse + k], Values(column, type));
    c_.outputs[2 * num_sparse + k] =
        wanted_.batched ? Tensor::Int64s({static_cast<int64_t>(column.size()), longest}) : Tensor::Int64s({longest});
    return absl::OkStatus();
  }

  absl::Status Dense(int k, int output) {
    DataType type = wanted_.dense_types[k];
    const std::string& key = wanted_.dense[k];
    const PartialShape& shape = wanted_.dense_shapes[k];
    const Tensor& otherwise = c_.in(wanted_.defaults + k);
    XC_ASSIGN_OR_RETURN(auto column, Column(key, type));
    if (otherwise.dtype() != type) return c_.Error(absl::StrCat("the default of '", key, "' has another type"));
    // Only the first dimension may vary; rows that are shorter than the longest are filled up.
    bool varies = shape.known_rank && !shape.dims.empty() && shape.dims[0] < 0;
    Dims row = shape.dims;
    if (varies) row[0] = 1;
    XC_ASSIGN_OR_RETURN(int64_t step, CheckedNumElements(row));
    if (!shape.known_rank || step == 0) return c_.Error(absl::StrCat("the shape of '", key, "' is not known"));
    int64_t width = step;
    if (varies) {
      width = 0;
      for (const tf::Feature* f : column) width = std::max(width, f != nullptr ? Count(*f) : 0);
      row[0] = (width + step - 1) / step;
      width = row[0] * step;
    }
    Dims dims = row;
    if (wanted_.batched) dims.insert(dims.begin(), static_cast<int64_t>(column.size()));
    XC_ASSIGN_OR_RETURN(Tensor out, c_.AllocType(type, dims));
    for (size_t e = 0; e < column.size(); ++e) {
      int64_t first = static_cast<int64_t>(e) * width, filled = 0;
      if (column[e] != nullptr) {
        filled = Count(*column[e]);
        if (varies ? filled % step != 0 : filled != width) {
          return c_.Error(absl::StrCat("key: ", key, ", index: ", e, ". Number of values != expected. values size: ",
                                       filled, " but output shape: ", shape.ToString()));
        }
        Place(*column[e], out, first);
      } else if (!varies && otherwise.num_elements() == 0) {
        return c_.Error(absl::StrCat("feature: ", key, " (data type: ", DataTypeName(type),
                                     ") is required but could not be found"));
      }
      if (filled == width) continue;
      bool one = otherwise.num_elements() == 1;
      if (!one && otherwise.num_elements() != width && !(varies && otherwise.num_elements() == 0)) {
        return c_.Error(absl::StrCat("the default of '", key, "' is ", otherwise.ShapeString()));
      }
      for (int64_t i = filled; i < width && otherwise.num_elements() > 0; ++i) {
        CopyElement(otherwise, one ? 0 : i, out, first + i);
      }
    }
    c_.outputs[output] = std::move(out);
    return absl::OkStatus();
  }

  absl::Status Ragged(int k, int output, int splits_output) {
    XC_ASSIGN_OR_RETURN(auto column, Column(wanted_.ragged[k], wanted_.ragged_types[k]));
    XC_ASSIGN_OR_RETURN(c_.outputs[output], Values(column, wanted_.ragged_types[k]));
    std::vector<int64_t> splits;
    if (wanted_.batched) splits.push_back(0);
    for (const tf::Feature* f : column) {
      if (wanted_.batched) splits.push_back(splits.back() + (f != nullptr ? Count(*f) : 0));
    }
    c_.outputs[splits_output] = Tensor::Integers(c_.node.output_types[splits_output], splits);
    return absl::OkStatus();
  }

  KernelContext& c_;
  const Wanted wanted_;
  std::vector<tf::Example> examples_;
};

absl::Status ParseExampleV2(KernelContext& c) {
  Wanted w;
  w.sparse = c.in(2).strings();
  w.dense = c.in(3).strings();
  w.ragged = c.in(4).strings();
  w.defaults = 5;
  XC_ASSIGN_OR_RETURN(w.sparse_types, c.node.Types("sparse_types"));
  XC_ASSIGN_OR_RETURN(w.dense_types, c.node.Types("Tdense"));
  XC_ASSIGN_OR_RETURN(w.ragged_types, c.node.Types("ragged_value_types"));
  XC_ASSIGN_OR_RETURN(w.dense_shapes, Shapes(c, "dense_shapes"));
  if (w.sparse.size() != w.sparse_types.size() || w.dense.size() != w.dense_types.size() ||
      w.ragged.size() != w.ragged_types.size()) {
    return c.Error("needs one type per key");
  }
  if (c.in(0).rank() > 1) return c.Error("serialized must be a scalar or a vector");
  w.batched = c.in(0).rank() == 1;
  return ExampleParser(c, std::move(w)).Run();
}

absl::Status ParseExample(KernelContext& c) {
  Wanted w;
  XC_ASSIGN_OR_RETURN(w.sparse_types, c.node.Types("sparse_types"));
  XC_ASSIGN_OR_RETURN(w.dense_types, c.node.Types("Tdense"));
  XC_ASSIGN_OR_RETURN(w.dense_shapes, Shapes(c, "dense_shapes"));
  size_t at = 2, num_sparse = w.sparse_types.size(), num_dense = w.dense_types.size();
  if (static_cast<size_t>(c.num_inputs()) != 2 + num_sparse + 2 * num_dense) return c.Error("needs one type per key");
  for (size_t k = 0; k < num_sparse + num_dense; ++k, ++at) {
    if (c.in(at).num_elements() != 1) return c.Error("a key must be a scalar");
    (k < num_sparse ? w.sparse : w.dense).push_back(c.in(at).strings()[0]);
  }
  w.defaults = static_cast<int>(at);
  w.batched = true;
  if (c.in(0).rank() != 1) return c.Error("serialized must be a vector");
  return ExampleParser(c, std::move(w)).Run();
}

absl::Status ParseSingleExample(KernelContext& c) {
  Wanted w;
  XC_ASSIGN_OR_RETURN(w.sparse, c.node.Strings("sparse_keys"));
  XC_ASSIGN_OR_RETURN(w.dense, c.node.Strings("dense_keys"));
  XC_ASSIGN_OR_RETURN(w.sparse_types, c.node.Types("sparse_types"));
  XC_ASSIGN_OR_RETURN(w.dense_types, c.node.Types("Tdense"));
  XC_ASSIGN_OR_RETURN(w.dense_shapes, Shapes(c, "dense_shapes"));
  if (w.sparse.size() != w.sparse_types.size() || w.dense.size() != w.dense_types.size()) {
    return c.Error("needs one type per key");
  }
  if (c.in(0).rank() != 0) return c.Error("serialized must be a scalar");
  w.defaults = 1;
  return ExampleParser(c, std::move(w)).Run();
}

// The fields of one line. Quotes, where they count, surround fields and are doubled inside of them.
absl::StatusOr<std::vector<std::string>> SplitLine(const KernelContext& c, const std::string& line, char delimiter,
                                                   bool quotes) {
  std::vector<std::string> fields;
  size_t i = 0;
  for (;;) {
    std::string field;
    if (quotes && i < line.size() && line[i] == '"') {
      for (++i;; ++i) {
        if (i >= line.size()) return c.Error("a quoted field has to end with a quote");
        if (line[i] != '"') {
          field += line[i];
        } else if (i + 1 < line.size() && line[i + 1] == '"') {
          field += line[++i];
        } else {
          break;
        }
      }
      ++i;
      if (i < line.size() && line[i] != delimiter) return c.Error("a quoted field has to end with a quote");
    } else {
      for (; i < line.size() && line[i] != delimiter; ++i) {
        if (quotes && (line[i] == '"' || line[i] == '\n' || line[i] == '\r')) {
          return c.Error("an unquoted field has quotes or line breaks inside");
        }
        field += line[i];
      }
    }
    fields.push_back(std::move(field));
    if (i >= line.size()) return fields;
    ++i;
  }
}

absl::Status ParseField(const KernelContext& c, const std::string& field, Tensor& t, int64_t i) {
  bool good = true;
  switch (t.dtype()) {
    case DT_STRING:
      t.strings()[i] = field;
      break;
    case DT_INT32:
      good = absl::SimpleAtoi(field, &t.data<int32_t>()[i]);
      break;
    case DT_INT64:
      good = absl::SimpleAtoi(field, &t.data<int64_t>()[i]);
      break;
    case DT_FLOAT:
      good = absl::SimpleAtof(field, &t.data<float>()[i]);
      break;
    case DT_DOUBLE:
      good = absl::SimpleAtod(field, &t.data<double>()[i]);
      break;
    default:
      return c.Error(absl::StrCat("csv: data type ", DataTypeName(t.dtype()), " not supported"));
  }
  if (good) return absl::OkStatus();
  return c.Error(absl::StrCat("field '", field, "' in record ", i, " is not a valid ", DataTypeName(t.dtype())));
}

absl::Status DecodeCsv(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string delimiter, c.node.String("field_delim"));
  XC_ASSIGN_OR_RETURN(bool quotes, c.node.Bool("use_quote_delim"));
  XC_ASSIGN_OR_RETURN(std::string missing, c.node.String("na_value"));
  XC_ASSIGN_OR_RETURN(auto selected, c.node.Ints("select_cols"));
  if (delimiter.size() != 1) return c.Error("field_delim should be only 1 char");
  size_t columns = c.outputs.size();
  if (selected.empty()) {
    for (size_t k = 0; k < columns; ++k) selected.push_back(static_cast<int64_t>(k));
  }
  bool all = c.node.FindAttr("select_cols") == nullptr || c.node.FindAttr("select_cols")->list().i_size() == 0;
  if (selected.size() != columns) return c.Error("select_cols should match the number of outputs");
  for (size_t k = 0; k < columns; ++k) {
    XC_ASSIGN_OR_RETURN(c.outputs[k], c.Alloc(static_cast<int>(k), c.in(0).dims()));
  }
  for (int64_t i = 0; i < c.in(0).num_elements(); ++i) {
    XC_ASSIGN_OR_RETURN(auto fields, SplitLine(c, c.in(0).strings()[i], delimiter[0], quotes));
    if (all && fields.size() != columns) {
      return c.Error(absl::StrCat("expect ", columns, " fields but have ", fields.size(), " in record ", i));
    }
    for (size_t k = 0; k < columns; ++k) {
      if (selected[k] < 0 || selected[k] >= static_cast<int64_t>(fields.size())) {
        return c.Error(absl::StrCat("record ", i, " has no field ", selected[k]));
      }
      const std::string& field = fields[selected[k]];
      const Tensor& otherwise = c.in(static_cast<int>(k) + 1);
      if (!field.empty() && field != missing) {
        XC_RETURN_IF_ERROR(ParseField(c, field, c.outputs[k], i));
      } else if (otherwise.num_elements() != 1) {
        return c.Error(absl::StrCat("field ", selected[k], " is required but missing in record ", i));
      } else {
        CopyElement(otherwise, 0, c.outputs[k], i);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterExampleKernels(KernelRegistry& r) {
  r.Add({"ParseExampleV2"}, ParseExampleV2, false);
  r.Add({"ParseExample"}, ParseExample, false);
  r.Add({"ParseSingleExample"}, ParseSingleExample, false);
  r.Add({"DecodeCSV"}, DecodeCsv, false);
}

}  // namespace xc
