// Host kernels of lookup tables: from keys (strings or integers) to values, filled by the graph's own nodes from arrays
// or from text files.
#include "jit/kernels/state/tables.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/base/read_file.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

constexpr size_t kMaxRows = size_t{1} << 28;

struct LookupTable : HostResource {
  DataType key_type = DT_INVALID, value_type = DT_INVALID;
  Dims value_dims;     // of the value of one key
  bool fixed = false;  // filled once
  std::mutex mutex;
  bool filled = false;
  std::unordered_map<std::string, std::string> rows;  // a string, or the bytes of numbers
};

// Elements [i * width, (i + 1) * width) as one string.
std::string Pack(const Tensor& t, int64_t i, int64_t width) {
  if (t.dtype() == DT_STRING) return t.strings()[i];
  int64_t size = DataTypeSize(t.dtype()) * width;
  return std::string(t.data<char>() + i * size, size);
}

void Unpack(const std::string& bytes, Tensor& t, int64_t i, int64_t width) {
  if (t.dtype() == DT_STRING) {
    t.strings()[i] = bytes;
  } else {
    std::memcpy(t.data<char>() + i * width * DataTypeSize(t.dtype()), bytes.data(), bytes.size());
  }
}

absl::StatusOr<std::shared_ptr<LookupTable>> MakeTable(const Node& node) {
  auto table = std::make_shared<LookupTable>();
  XC_ASSIGN_OR_RETURN(table->key_type, node.Type("key_dtype"));
  XC_ASSIGN_OR_RETURN(table->value_type, node.Type("value_dtype"));
  if (node.FindAttr("value_shape") != nullptr) {
    XC_ASSIGN_OR_RETURN(PartialShape shape, node.ShapeAttr("value_shape"));
    if (!shape.IsFullyKnown() || (table->value_type == DT_STRING && !shape.dims.empty())) {
      return absl::UnimplementedError(absl::StrCat("a table of values of shape ", shape.ToString()));
    }
    table->value_dims = shape.dims;
  }
  auto storable = [](DataType t) { return t == DT_STRING || DataTypeSize(t) > 0; };
  if (!storable(table->key_type) || !storable(table->value_type)) {
    return absl::UnimplementedError("a table of such types");
  }
  table->fixed = node.op == "HashTable" || node.op == "HashTableV2" || node.op == "AnonymousHashTable";
  return table;
}

absl::StatusOr<std::shared_ptr<LookupTable>> FindTable(ResourceStore& store, const Node& node) {
  XC_ASSIGN_OR_RETURN(std::shared_ptr<LookupTable> fresh, MakeTable(node));
  XC_ASSIGN_OR_RETURN(std::string name, node.String("shared_name"));
  auto resource = store.Get(name.empty() ? node.name : name, [&] { return fresh; });
  auto table = std::dynamic_pointer_cast<LookupTable>(resource);
  if (table == nullptr || table->key_type != fresh->key_type || table->value_type != fresh->value_type ||
      table->value_dims != fresh->value_dims) {
    return absl::InvalidArgumentError(absl::StrCat("another resource of other types is called '", name, "'"));
  }
  return table;
}

absl::Status Table(KernelContext& c) {
  if (c.resources == nullptr) return absl::UnimplementedError("a table outside of a session");
  XC_ASSIGN_OR_RETURN(auto table, FindTable(*c.resources, c.node));
  c.outputs[0] = Tensor::FromResource(std::move(table));
  return absl::OkStatus();
}

absl::Status AnonymousTable(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, MakeTable(c.node));
  c.outputs[0] = Tensor::FromResource(std::move(table));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<LookupTable>> TableOperand(const KernelContext& c) {
  auto table = std::dynamic_pointer_cast<LookupTable>(c.in(0).resource());
  if (table == nullptr) return c.Error("operand 0 is not a lookup table");
  return table;
}

// Checks that operand `i` are keys of the table.
absl::Status CheckKeys(const KernelContext& c, const LookupTable& table, int i) {
  if (c.in(i).dtype() == table.key_type) return absl::OkStatus();
  return c.Error(absl::StrCat("the table's keys are ", DataTypeName(table.key_type), ", got ", c.in(i).ShapeString()));
}

// Adds rows, of which a fixed table has one per key. The table's mutex is held.
absl::Status AddRows(LookupTable& table, const Tensor& keys, const Tensor& values) {
  Dims dims = keys.dims();
  dims.insert(dims.end(), table.value_dims.begin(), table.value_dims.end());
  if (keys.dtype() != table.key_type || values.dtype() != table.value_type || values.dims() != dims) {
    return absl::InvalidArgumentError(absl::StrCat("keys ", keys.ShapeString(), " and values ", values.ShapeString(),
                                                   " do not fit a table from ", DataTypeName(table.key_type), " to ",
                                                   DataTypeName(table.value_type), DimsToString(table.value_dims)));
  }
  XC_ASSIGN_OR_RETURN(int64_t width, CheckedNumElements(table.value_dims));
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    std::string value = Pack(values, i, width);
    auto [it, fresh] = table.rows.emplace(Pack(keys, i, 1), value);
    if (!fresh && table.fixed && it->second != value) {
      return absl::FailedPreconditionError("a table has a duplicate key with another value");
    }
    if (!fresh) it->second = std::move(value);
    if (table.rows.size() > kMaxRows) return absl::ResourceExhaustedError("a table with too many keys");
  }
  table.filled = true;
  return absl::OkStatus();
}

// A fixed table is filled by whoever comes first; the others may bring the same again.
absl::Status Initialize(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, TableOperand(c));
  std::lock_guard<std::mutex> lock(table->mutex);
  if (table->fixed && table->filled) return absl::OkStatus();
  return AddRows(*table, c.in(1), c.in(2));
}

// The content becomes the operands', whatever it was.
absl::Status Import(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, TableOperand(c));
  std::lock_guard<std::mutex> lock(table->mutex);
  table->rows.clear();
  return AddRows(*table, c.in(1), c.in(2));
}

absl::Status Insert(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, TableOperand(c));
  if (table->fixed) return absl::UnimplementedError("an insertion into a table that is filled once");
  std::lock_guard<std::mutex> lock(table->mutex);
  return AddRows(*table, c.in(1), c.in(2));
}

absl::Status Remove(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, TableOperand(c));
  if (table->fixed) return absl::UnimplementedError("a removal from a table that is filled once");
  XC_RETURN_IF_ERROR(CheckKeys(c, *table, 1));
  std::lock_guard<std::mutex> lock(table->mutex);
  for (int64_t i = 0; i < c.in(1).num_elements(); ++i) table->rows.erase(Pack(c.in(1), i, 1));
  return absl::OkStatus();
}

absl::Status Find(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, TableOperand(c));
  const Tensor &keys = c.in(1), &otherwise = c.in(2);
  XC_RETURN_IF_ERROR(CheckKeys(c, *table, 1));
  Dims dims = keys.dims();
  dims.insert(dims.end(), table->value_dims.begin(), table->value_dims.end());
  if (otherwise.dtype() != table->value_type || (otherwise.dims() != table->value_dims && otherwise.dims() != dims)) {
    return c.Error(absl::StrCat("the default is ", otherwise.ShapeString(), ", the table's values are ",
                                DataTypeName(table->value_type), DimsToString(table->value_dims)));
  }
  bool each = otherwise.dims() != table->value_dims;  // a default per key
  XC_ASSIGN_OR_RETURN(int64_t width, CheckedNumElements(table->value_dims));
  XC_ASSIGN_OR_RETURN(Tensor out, c.AllocType(table->value_type, dims));
  std::lock_guard<std::mutex> lock(table->mutex);
  if (table->fixed && !table->filled) return absl::FailedPreconditionError("the table is not initialized");
  for (int64_t i = 0; i < keys.num_elements(); ++i) {
    auto it = table->rows.find(Pack(keys, i, 1));
    Unpack(it != table->rows.end() ? it->second : Pack(otherwise, each ? i : 0, width), out, i, width);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status TableSize(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, TableOperand(c));
  std::lock_guard<std::mutex> lock(table->mutex);
  c.outputs[0] = Tensor::Scalar<int64_t>(DT_INT64, static_cast<int64_t>(table->rows.size()));
  return absl::OkStatus();
}

absl::Status Export(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, TableOperand(c));
  std::lock_guard<std::mutex> lock(table->mutex);
  Dims dims = {static_cast<int64_t>(table->rows.size())};
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.AllocType(table->key_type, dims));
  dims.insert(dims.end(), table->value_dims.begin(), table->value_dims.end());
  XC_ASSIGN_OR_RETURN(c.outputs[1], c.AllocType(table->value_type, dims));
  XC_ASSIGN_OR_RETURN(int64_t width, CheckedNumElements(table->value_dims));
  int64_t at = 0;
  for (const auto& [key, value] : table->rows) {
    Unpack(key, c.outputs[0], at, 1);
    Unpack(value, c.outputs[1], at++, width);
  }
  return absl::OkStatus();
}

// One element out of a field of a line.
absl::Status Parse(absl::string_view field, Tensor& t, int64_t i) {
  bool good = true;
  double wide = 0;
  switch (t.dtype()) {
    case DT_STRING:
      t.strings()[i] = std::string(field);
      break;
    case DT_INT64:
      good = absl::SimpleAtoi(field, &t.data<int64_t>()[i]);
      break;
    case DT_INT32:
      good = absl::SimpleAtoi(field, &t.data<int32_t>()[i]);
      break;
    case DT_FLOAT:
      good = absl::SimpleAtof(field, &t.data<float>()[i]);
      break;
    case DT_DOUBLE:
      good = absl::SimpleAtod(field, &wide);
      t.data<double>()[i] = wide;
      break;
    default:
      return absl::UnimplementedError(absl::StrCat("a table of ", DataTypeName(t.dtype()), " from a file"));
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", field, "' is not ", DataTypeName(t.dtype())));
}

// Rows of a text file: key and value are a column, the whole line (-2) or its number (-1).
absl::Status InitializeFromFile(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto table, TableOperand(c));
  XC_ASSIGN_OR_RETURN(int64_t key_column, c.node.Int("key_index"));
  XC_ASSIGN_OR_RETURN(int64_t value_column, c.node.Int("value_index"));
  XC_ASSIGN_OR_RETURN(int64_t size, c.node.Int("vocab_size"));
  std::string delimiter = "\t";  // (this default has no place in the table of ops)
  if (c.node.HasAttr("delimiter")) {
    XC_ASSIGN_OR_RETURN(delimiter, c.node.String("delimiter"));
  }
  int64_t offset = 0;
  if (c.node.FindAttr("offset") != nullptr) {
    XC_ASSIGN_OR_RETURN(offset, c.node.Int("offset"));
  }
  if (c.in(1).dtype() != DT_STRING || c.in(1).num_elements() != 1) return c.Error("the file name must be a string");
  if (key_column < -2 || value_column < -2 || delimiter.size() != 1 || offset < 0) return c.Error("bad columns");
  XC_ASSIGN_OR_RETURN(std::string text, ReadFile(c.in(1).strings()[0]));
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  lines.erase(lines.begin(), lines.begin() + std::min<int64_t>(offset, lines.size()));
  if (size > static_cast<int64_t>(lines.size())) {
    return c.Error(absl::StrCat("the file has ", lines.size(), " lines, expected ", size));
  }
  if (size >= 0) lines.resize(size);
  Dims dims = {static_cast<int64_t>(lines.size())};
  XC_ASSIGN_OR_RETURN(Tensor keys, c.AllocType(table->key_type, dims));
  XC_ASSIGN_OR_RETURN(Tensor values, c.AllocType(table->value_type, dims));
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::string_view line = lines[i];
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    std::vector<absl::string_view> fields;
    if (key_column >= 0 || value_column >= 0) fields = absl::StrSplit(line, delimiter[0]);
    auto set = [&](int64_t column, Tensor& t) -> absl::Status {
      if (column == -2) return Parse(line, t, i);
      if (column == -1) return Parse(absl::StrCat(i), t, i);
      if (column < static_cast<int64_t>(fields.size())) return Parse(fields[column], t, i);
      return c.Error(absl::StrCat("line ", i, " has ", fields.size(), " columns, expected more than ", column));
    };
    XC_RETURN_IF_ERROR(set(key_column, keys));
    XC_RETURN_IF_ERROR(set(value_column, values));
  }
  std::lock_guard<std::mutex> lock(table->mutex);
  if (table->fixed && table->filled) return absl::OkStatus();
  return AddRows(*table, keys, values);
}

}  // namespace

bool IsTable(const std::string& op) {
  static const std::set<std::string> kTables = {"HashTable",
                                                "HashTableV2",
                                                "MutableHashTable",
                                                "MutableHashTableV2",
                                                "MutableDenseHashTable",
                                                "MutableDenseHashTableV2",
                                                "MutableHashTableOfTensors",
                                                "MutableHashTableOfTensorsV2"};
  return kTables.count(op) != 0;
}

bool IsTableInitializer(const std::string& op) {
  return op == "InitializeTable" || op == "InitializeTableV2" || op == "LookupTableImport" ||
         op == "LookupTableImportV2" || op == "InitializeTableFromTextFile" || op == "InitializeTableFromTextFileV2";
}

absl::Status FillTable(ResourceStore& store, const Node& node, const Tensor& keys, const Tensor& values) {
  XC_ASSIGN_OR_RETURN(auto table, FindTable(store, node));
  std::lock_guard<std::mutex> lock(table->mutex);
  table->rows.clear();
  return AddRows(*table, keys, values);
}

// The first versions of the ops differ in how they pass a handle on, which is nothing to the kernels.
void RegisterTableKernels(KernelRegistry& r) {
  r.Add({"HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
         "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2"},
        Table, false);
  r.Add({"AnonymousHashTable", "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors",
         "AnonymousMutableDenseHashTable"},
        AnonymousTable, false);
  r.Add({"InitializeTable", "InitializeTableV2"}, Initialize, false);
  r.Add({"InitializeTableFromTextFile", "InitializeTableFromTextFileV2"}, InitializeFromFile, false);
  r.Add({"LookupTableImport", "LookupTableImportV2"}, Import, false);
  r.Add({"LookupTableInsert", "LookupTableInsertV2"}, Insert, false);
  r.Add({"LookupTableRemoveV2"}, Remove, false);
  r.Add({"LookupTableFind", "LookupTableFindV2"}, Find, false);
  r.Add({"LookupTableSize", "LookupTableSizeV2"}, TableSize, false);
  r.Add({"LookupTableExport", "LookupTableExportV2"}, Export, false);
}

}  // namespace xc
