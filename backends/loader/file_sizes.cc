// A program at certain sizes as a row of numbers, and back.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/loader/file_bytes.h"
#include "backends/loader/program_file.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kMostRank = 64;

// Takes numbers of a row, one after the other.
class RowReader : public NumberReader {
 public:
  explicit RowReader(absl::Span<const int64_t> rest) : NumberReader(1), rest_(rest) {}

  absl::StatusOr<int64_t> Number() override {
    if (rest_.empty()) return absl::InvalidArgumentError("what it says of its sizes ends early");
    const int64_t value = rest_[0];
    rest_.remove_prefix(1);
    return value;
  }
  absl::StatusOr<FileShape> Shape();
  absl::StatusOr<std::vector<FileShape>> Shapes();
  absl::StatusOr<FileVariant> Variant(const ProgramFile& file);
  bool empty() const { return rest_.empty(); }

 private:
  size_t rest() const override { return rest_.size(); }
  absl::Span<const int64_t> rest_;
};

absl::StatusOr<FileShape> RowReader::Shape() {
  FileShape shape;
  XC_ASSIGN_OR_RETURN(const int64_t type, Bounded(INT16_MAX, "an element type"));
  shape.type = static_cast<int32_t>(type);
  XC_ASSIGN_OR_RETURN(shape.dims, Numbers(INT64_MAX, "a size"));
  XC_ASSIGN_OR_RETURN(shape.minor_to_major, Numbers(kMostRank, "a dimension"));
  XC_ASSIGN_OR_RETURN(const std::vector<int64_t> dynamic, Numbers(kMostRank, "a dimension"));
  XC_ASSIGN_OR_RETURN(shape.bytes, Bounded(INT64_MAX, "a number of bytes"));
  const auto rank = static_cast<int64_t>(shape.dims.size());
  std::vector<bool> seen(rank);
  bool fits = rank <= kMostRank && static_cast<int64_t>(shape.minor_to_major.size()) == rank;
  for (size_t i = 0; fits && i < shape.minor_to_major.size(); ++i) {
    const int64_t d = shape.minor_to_major[i];
    fits = d < rank && !seen[d];
    if (fits) seen[d] = true;
  }
  shape.dynamic.resize(fits ? rank : 0);
  for (const int64_t d : dynamic) {
    fits = fits && d < rank;
    if (fits) shape.dynamic[d] = true;
  }
  // An element takes a byte at least (16 at most), so that sizes and bytes bound each other.
  int64_t elements = 1;
  for (const int64_t size : shape.dims) {
    fits = fits && !__builtin_mul_overflow(elements, size, &elements);
  }
  constexpr int64_t kToken = 17;
  fits = fits && (shape.type == kToken ? shape.bytes == 0 && rank == 0
                                       : shape.bytes >= elements && shape.bytes / 16 <= elements);
  if (!fits) return absl::InvalidArgumentError("an array's sizes, layout and bytes do not fit together");
  return shape;
}

absl::StatusOr<std::vector<FileShape>> RowReader::Shapes() {
  XC_ASSIGN_OR_RETURN(const int64_t count, Count(5));
  std::vector<FileShape> shapes;
  for (int64_t i = 0; i < count; ++i) {
    XC_ASSIGN_OR_RETURN(FileShape shape, Shape());
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

absl::StatusOr<FileVariant> RowReader::Variant(const ProgramFile& file) {
  FileVariant v;
  XC_ASSIGN_OR_RETURN(v.code, Bounded(static_cast<int64_t>(file.codes.size()) - 1, "a code"));
  XC_ASSIGN_OR_RETURN(v.table, Numbers());
  XC_ASSIGN_OR_RETURN(v.arena_bytes, Bounded(INT64_MAX, "temporary memory"));
  XC_ASSIGN_OR_RETURN(const int64_t prepares, Bounded(1, "a flag"));
  v.prepares_products = prepares != 0;
  XC_ASSIGN_OR_RETURN(const int64_t parameters, Count(2));
  for (int64_t i = 0; i < parameters; ++i) {
    FileVariant::Parameter& p = v.parameters.emplace_back();
    XC_ASSIGN_OR_RETURN(p.bytes, Bounded(INT64_MAX, "a number of bytes"));
    XC_ASSIGN_OR_RETURN(const int64_t donated, Bounded(1, "a flag"));
    p.donated = donated != 0;
  }
  XC_ASSIGN_OR_RETURN(const int64_t outputs, Count(3));
  for (int64_t i = 0; i < outputs; ++i) {
    FileVariant::Output& o = v.outputs.emplace_back();
    XC_ASSIGN_OR_RETURN(o.bytes, Bounded(INT64_MAX, "a number of bytes"));
    XC_ASSIGN_OR_RETURN(const int64_t parameter, Bounded(parameters, "a parameter"));
    o.parameter = parameter - 1;
    XC_ASSIGN_OR_RETURN(o.offset, Bounded(INT64_MAX, "a place"));
    if (o.parameter < 0) continue;
    const int64_t size = v.parameters[o.parameter].bytes;
    if (o.bytes > size || o.offset > size - o.bytes) {
      return absl::InvalidArgumentError("an output lies outside of its parameter");
    }
  }
  XC_ASSIGN_OR_RETURN(v.constants, Numbers(static_cast<int64_t>(file.constants.size()) - 1, "a constant"));
  XC_ASSIGN_OR_RETURN(const int64_t calls, Count(5));
  for (int64_t i = 0; i < calls; ++i) {
    FileCall& call = v.calls.emplace_back();
    for (std::string* text : {&call.target, &call.backend_config}) {
      XC_ASSIGN_OR_RETURN(const int64_t which, Bounded(static_cast<int64_t>(file.texts.size()) - 1, "a text"));
      *text = file.texts[which];
    }
    XC_ASSIGN_OR_RETURN(const int64_t tuple, Bounded(1, "a flag"));
    call.tuple_result = tuple != 0;
    XC_ASSIGN_OR_RETURN(call.inputs, Shapes());
    XC_ASSIGN_OR_RETURN(call.outputs, Shapes());
  }
  return v;
}

// Whether a variant takes the inputs and gives the outputs that the program does.
bool HasSignature(const FileVariant& v, const FileSizes& sizes) {
  if (v.parameters.size() != sizes.inputs.size()) return false;
  for (size_t i = 0; i < v.parameters.size(); ++i) {
    if (v.parameters[i].bytes != sizes.inputs[i].bytes) return false;
  }
  size_t next = 0;
  for (const FileShape& output : sizes.outputs) {
    if (next == v.outputs.size() || v.outputs[next++].bytes != output.bytes) return false;
    for (const bool dynamic : output.dynamic) {
      if (dynamic && (next == v.outputs.size() || v.outputs[next++].bytes != 4)) return false;
    }
  }
  return next == v.outputs.size();
}

absl::StatusOr<FileSizes> ReadRow(absl::Span<const int64_t> row, const ProgramFile& file) {
  FileSizes sizes;
  RowReader reader(row);
  XC_ASSIGN_OR_RETURN(sizes.inputs, reader.Shapes());
  XC_ASSIGN_OR_RETURN(sizes.outputs, reader.Shapes());
  for (const std::string& cpu : file.cpus) {
    XC_ASSIGN_OR_RETURN(FileVariant variant, reader.Variant(file));
    if (!HasSignature(variant, sizes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("its code for ", cpu, " has other inputs or outputs than the program"));
    }
    sizes.variants.push_back(std::move(variant));
  }
  if (!reader.empty()) return absl::InvalidArgumentError("what it says of its sizes goes on after its end");
  return sizes;
}

// Whether arrays differ in sizes only.
bool Alike(const std::vector<FileShape>& a, const std::vector<FileShape>& b) {
  const auto alike = [](const FileShape& x, const FileShape& y) {
    return x.type == y.type && x.dims.size() == y.dims.size();
  };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), alike);
}

void Append(const std::vector<int64_t>& numbers, std::vector<int64_t>* row) {
  row->push_back(static_cast<int64_t>(numbers.size()));
  row->insert(row->end(), numbers.begin(), numbers.end());
}

void Append(const std::vector<FileShape>& shapes, std::vector<int64_t>* row) {
  row->push_back(static_cast<int64_t>(shapes.size()));
  for (const FileShape& shape : shapes) {
    row->push_back(shape.type);
    Append(shape.dims, row);
    Append(shape.minor_to_major, row);
    std::vector<int64_t> dynamic;
    for (size_t d = 0; d < shape.dynamic.size(); ++d) {
      if (shape.dynamic[d]) dynamic.push_back(static_cast<int64_t>(d));
    }
    Append(dynamic, row);
    row->push_back(shape.bytes);
  }
}

// Sizes for people: `1 to 64`, `8 to 64 by 8`, `1, 5, 7`.
std::string SizesText(const std::set<int64_t>& sizes) {
  const std::vector<int64_t> all(sizes.begin(), sizes.end());
  const int64_t step = all.size() > 2 ? all[1] - all[0] : 0;
  bool even = step > 0;
  for (size_t i = 1; even && i < all.size(); ++i) even = all[i] - all[i - 1] == step;
  if (even) {
    return absl::StrCat(all.front(), " to ", all.back(), step == 1 ? "" : absl::StrCat(" by ", step));
  }
  constexpr size_t kMost = 16;
  const size_t shown = std::min(all.size(), kMost);
  return absl::StrCat(absl::StrJoin(all.begin(), all.begin() + static_cast<int64_t>(shown), ", "),
                      shown < all.size() ? absl::StrCat(" and ", all.size() - shown, " more") : "");
}

}  // namespace

std::vector<int64_t> FileSizes::Key() const {
  std::vector<int64_t> key;
  for (const FileShape& input : inputs) key.insert(key.end(), input.dims.begin(), input.dims.end());
  return key;
}

int64_t ProgramFile::num_sizes() const {
  int64_t count = 0;
  for (const NumberRows& group : groups) count += group.rows();
  return count;
}

std::vector<int64_t> ProgramFile::RowOf(const FileSizes& sizes) {
  std::vector<int64_t> row = sizes.Key();
  Append(sizes.inputs, &row);
  Append(sizes.outputs, &row);
  for (const FileVariant& v : sizes.variants) {
    row.push_back(v.code);
    Append(v.table, &row);
    row.push_back(v.arena_bytes);
    row.push_back(v.prepares_products);
    row.push_back(static_cast<int64_t>(v.parameters.size()));
    for (const FileVariant::Parameter& p : v.parameters) row.insert(row.end(), {p.bytes, p.donated});
    row.push_back(static_cast<int64_t>(v.outputs.size()));
    for (const FileVariant::Output& o : v.outputs) row.insert(row.end(), {o.bytes, o.parameter + 1, o.offset});
    Append(v.constants, &row);
    row.push_back(static_cast<int64_t>(v.calls.size()));
    for (const FileCall& call : v.calls) {
      for (const std::string* text : {&call.target, &call.backend_config}) {
        const auto it = std::find(texts.begin(), texts.end(), *text);
        row.push_back(it - texts.begin());
        if (it == texts.end()) texts.push_back(*text);
      }
      row.push_back(call.tuple_result);
      Append(call.inputs, &row);
      Append(call.outputs, &row);
    }
  }
  return row;
}

absl::StatusOr<FileSizes> ProgramFile::Sizes(int64_t i) const {
  const int64_t number = i;
  size_t g = 0;
  for (; i >= groups[g].rows(); ++g) i -= groups[g].rows();
  const std::vector<int64_t> row = groups[g].Row(i);
  XC_ASSIGN_OR_RETURN(FileSizes sizes, ReadRow(absl::MakeConstSpan(row).subspan(groups[g].keys()), *this));
  const std::vector<int64_t> key = sizes.Key();
  bool fits = static_cast<int64_t>(key.size()) == groups[g].keys() && std::equal(key.begin(), key.end(), row.begin());
  if (number > 0) {
    XC_ASSIGN_OR_RETURN(const FileSizes first, Sizes(0));
    fits = fits && Alike(sizes.inputs, first.inputs) && Alike(sizes.outputs, first.outputs);
  }
  if (!fits) return absl::InvalidArgumentError("its programs for different sizes do not fit together");
  return sizes;
}

absl::StatusOr<int64_t> ProgramFile::Find(absl::Span<const int64_t> key) const {
  return Find(key, 0, static_cast<int64_t>(groups.size()));
}

absl::StatusOr<int64_t> ProgramFile::Find(absl::Span<const int64_t> key, int64_t first_group, int64_t end_group) const {
  const auto count = static_cast<int64_t>(key.size());
  if (count != groups[0].keys()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program's inputs have ", groups[0].keys(), " sizes, but ", count, " are given"));
  }
  // How far the key of any of them is the same, and what those have next that are the same as far.
  int64_t longest = 0, first = 0;
  std::set<int64_t> next;
  for (int64_t g = 0; g < end_group; first += groups[g++].rows()) {
    const NumberRows& group = groups[g];
    for (int64_t r = 0; g >= first_group && r < group.rows(); ++r) {
      int64_t same = 0, have = 0;
      while (same < count && (have = group.Key(r, same)) == key[same]) ++same;
      if (same == count) return first + r;
      if (same > longest) next.clear();
      longest = std::max(longest, same);
      if (same == longest) next.insert(have);
    }
  }
  XC_ASSIGN_OR_RETURN(const FileSizes sizes, Sizes(0));
  size_t input = 0;
  int64_t before = 0;
  for (; before + static_cast<int64_t>(sizes.inputs[input].dims.size()) <= longest; ++input) {
    before += static_cast<int64_t>(sizes.inputs[input].dims.size());
  }
  const bool alone = num_sizes() == 1 || longest == 0;
  return absl::InvalidArgumentError(absl::StrCat("dimension ", longest - before, " of input ", input, " is ",
                                                 key[longest], "; the program was compiled for ", SizesText(next),
                                                 alone ? "" : " there, with the sizes before it as they are"));
}

}  // namespace xc
