#include "backends/loader/open_sizes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kMostOpen = 16, kMostPieces = 4096;

// What an open size may be, for people.
std::string Allowed(const OpenSize& open) {
  return absl::StrCat(open.multiple == 1 ? "any size" : absl::StrCat("multiples of ", open.multiple), " from ",
                      open.low, open.high == INT64_MAX ? " on" : absl::StrCat(" to ", open.high));
}

std::string Place(int64_t input, int64_t dim) { return absl::StrCat("dimension ", dim, " of input ", input); }

// Where the sizes of each input begin in a key.
std::vector<int64_t> Starts(const FileSizes& sizes) {
  std::vector<int64_t> starts;
  int64_t next = 0;
  for (const FileShape& input : sizes.inputs) {
    starts.push_back(next);
    next += static_cast<int64_t>(input.dims.size());
  }
  return starts;
}

// The pieces that `size` is made of: as large ones as there are, so that what is left is none or not less than the
// least.
std::vector<KeyCut::Piece> Pieces(const OpenSize& open, int64_t size) {
  const int64_t least = open.pieces[0];
  std::vector<KeyCut::Piece> pieces;
  for (size_t i = open.pieces.size(); i-- > 0 && size > 0;) {
    const int64_t piece = open.pieces[i], left = size % piece;
    const int64_t count = size / piece - (left > 0 && left < least ? 1 : 0);
    if (count <= 0) continue;
    pieces.push_back({piece, count, {}});
    size -= piece * count;
  }
  return pieces;
}

// The program for `open` of value `size`, or why there is none.
absl::StatusOr<KeyCut> CutAlong(const OpenSize& open, int64_t size, absl::Span<const int64_t> key,
                                const std::vector<int64_t>& starts) {
  const std::string own = Place(open.input, open.inputs[open.input]);
  if (size < open.low || size > open.high || size % open.multiple != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(own, " is ", size, "; the program was compiled for ", Allowed(open), " there (", open.name, ")"));
  }
  KeyCut cut;
  cut.open = &open;
  cut.size = size;
  cut.pieces = Pieces(open, size);
  for (KeyCut::Piece& piece : cut.pieces) piece.key.assign(key.begin(), key.end());
  for (size_t i = 0; i < open.inputs.size(); ++i) {
    const int64_t dim = open.inputs[i];
    if (dim < 0) continue;
    const int64_t at = starts[i] + dim, each = key[at] / size;
    if (key[at] % size != 0) {
      return absl::InvalidArgumentError(absl::StrCat(Place(static_cast<int64_t>(i), dim), " is ", key[at],
                                                     "; it has to be a multiple of ", open.name, ", which is ", size,
                                                     " by ", own));
    }
    for (KeyCut::Piece& piece : cut.pieces) piece.key[at] = each * piece.size;
  }
  return cut;
}

}  // namespace

void WriteOpenSize(const OpenSize& open, FileWriter* out) {
  out->Text(open.name);
  for (const int64_t number : {open.low, open.high, open.multiple, open.input, open.first_group, open.end_group}) {
    out->Number(number);
  }
  for (const std::vector<int64_t>* dims : {&open.inputs, &open.outputs}) {
    std::vector<int64_t> numbers;
    for (const int64_t dim : *dims) numbers.push_back(dim + 1);
    out->Numbers(numbers);
  }
  out->Numbers(open.pieces);
}

absl::StatusOr<OpenSize> ReadOpenSize(FileReader* in, const ProgramFile& file) {
  const auto wrong = [] { return absl::InvalidArgumentError("a size without an end does not fit together"); };
  XC_ASSIGN_OR_RETURN(const FileSizes sizes, file.Sizes(0));
  OpenSize open;
  XC_ASSIGN_OR_RETURN(const absl::string_view name, in->Text());
  open.name = std::string(name);
  XC_ASSIGN_OR_RETURN(open.low, in->Bounded(INT64_MAX, "a size"));
  XC_ASSIGN_OR_RETURN(open.high, in->Bounded(INT64_MAX, "a size"));
  XC_ASSIGN_OR_RETURN(open.multiple, in->Bounded(INT64_MAX, "a size"));
  XC_ASSIGN_OR_RETURN(open.input, in->Bounded(static_cast<int64_t>(sizes.inputs.size()) - 1, "an input"));
  const auto groups = static_cast<int64_t>(file.groups.size());
  XC_ASSIGN_OR_RETURN(open.first_group, in->Bounded(groups, "a number of sizes"));
  XC_ASSIGN_OR_RETURN(open.end_group, in->Bounded(groups, "a number of sizes"));
  for (auto [dims, shapes] : {std::pair(&open.inputs, &sizes.inputs), std::pair(&open.outputs, &sizes.outputs)}) {
    XC_ASSIGN_OR_RETURN(*dims, in->Numbers(INT64_MAX, "a dimension"));
    if (dims->size() != shapes->size()) return wrong();
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] > static_cast<int64_t>((*shapes)[i].dims.size())) return wrong();
      --(*dims)[i];
    }
  }
  XC_ASSIGN_OR_RETURN(open.pieces, in->Numbers(INT64_MAX, "a size"));
  bool fits = open.low >= 1 && open.multiple >= 1 && open.first_group < open.end_group && !open.pieces.empty() &&
              static_cast<int64_t>(open.pieces.size()) <= kMostPieces &&
              static_cast<int64_t>(file.opens.size()) < kMostOpen && open.inputs[open.input] >= 0;
  // Every value can be made of pieces: those from the least to before its double are all there.
  const int64_t least = fits ? open.pieces[0] : 0;
  fits = fits && least > 0 && least <= open.low && least % open.multiple == 0 &&
         least / open.multiple <= static_cast<int64_t>(open.pieces.size());
  for (size_t i = 1; fits && i < open.pieces.size(); ++i) {
    const int64_t step = open.pieces[i] - open.pieces[i - 1];
    fits = step > 0 && step % open.multiple == 0 &&
           (static_cast<int64_t>(i) >= least / open.multiple || step == open.multiple);
  }
  if (!fits) return wrong();
  return open;
}

absl::StatusOr<KeyCut> CutKey(const ProgramFile& file, absl::Span<const int64_t> key, const OpenSize* like,
                              const absl::Status& why) {
  XC_ASSIGN_OR_RETURN(const FileSizes sizes, file.Sizes(0));
  const std::vector<int64_t> starts = Starts(sizes);
  if (sizes.Key().size() != key.size()) return why;
  absl::Status refused = why;
  for (const OpenSize& open : file.opens) {
    if (like != nullptr && (open.first_group != like->first_group || open.end_group != like->end_group)) continue;
    const int64_t size = key[starts[open.input] + open.inputs[open.input]];
    if (std::binary_search(open.pieces.begin(), open.pieces.end(), size)) continue;
    absl::StatusOr<KeyCut> cut = CutAlong(open, size, key, starts);
    if (cut.ok()) return cut;
    if (refused == why) refused = cut.status();
  }
  return refused;
}

}  // namespace xc
