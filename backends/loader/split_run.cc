#include "backends/loader/split_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/runtime/arena.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

absl::Status Misfit() {
  return absl::InvalidArgumentError("its programs for pieces of a larger size do not fit together");
}

}  // namespace

absl::StatusOr<SplitRun::Array> SplitRun::Whole(const KeyCut& cut, int64_t size, int64_t dim, const FileShape& piece,
                                                FileShape* shape) {
  *shape = piece;
  if (std::find(piece.dynamic.begin(), piece.dynamic.end(), true) != piece.dynamic.end()) return Misfit();
  Array array;
  if (dim < 0) return array;
  if (dim >= static_cast<int64_t>(piece.dims.size()) || piece.dims[dim] % size != 0 || piece.bytes % size != 0) {
    return Misfit();
  }
  if (__builtin_mul_overflow(piece.dims[dim] / size, cut.size, &shape->dims[dim]) ||
      __builtin_mul_overflow(piece.bytes / size, cut.size, &shape->bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(cut.open->name, " is ", cut.size, ", for which an array would have more bytes than there can be"));
  }
  array.rows = true;
  for (size_t i = piece.minor_to_major.size(); i-- > 0 && piece.minor_to_major[i] != dim;) {
    array.outer *= piece.dims[piece.minor_to_major[i]];
  }
  array.row_bytes = array.outer == 0 ? 0 : piece.bytes / size / array.outer;
  return array;
}

absl::StatusOr<SplitRun> SplitRun::Make(const KeyCut& cut, absl::Span<const Signature> pieces) {
  SplitRun split;
  split.rows_ = cut.size;
  split.pieces_ = cut.pieces;
  for (size_t p = 0; p < pieces.size(); ++p) {
    for (const bool in : {true, false}) {
      const std::vector<FileShape>& shapes = in ? *pieces[p].inputs : *pieces[p].outputs;
      const std::vector<int64_t>& dims = in ? cut.open->inputs : cut.open->outputs;
      std::vector<FileShape>& whole = in ? split.inputs_ : split.outputs_;
      std::vector<Array>& arrays = in ? split.in_ : split.out_;
      if (shapes.size() != dims.size()) return Misfit();
      for (size_t i = 0; i < shapes.size(); ++i) {
        FileShape shape;
        XC_ASSIGN_OR_RETURN(const Array array, Whole(cut, cut.pieces[p].size, dims[i], shapes[i], &shape));
        if (p == 0) {
          arrays.push_back(array);
          whole.push_back(std::move(shape));
        } else if (shape.type != whole[i].type || shape.dims != whole[i].dims || shape.bytes != whole[i].bytes ||
                   shape.minor_to_major != whole[i].minor_to_major || array.row_bytes != arrays[i].row_bytes) {
          return Misfit();
        }
      }
    }
  }
  return split;
}

void SplitRun::Copy(const Array& array, char* whole, char* part, int64_t first, int64_t count, bool to_part) const {
  for (int64_t o = 0; o < array.outer; ++o) {
    char* const in_whole = whole + (o * rows_ + first) * array.row_bytes;
    char* const in_part = part + o * count * array.row_bytes;
    std::memcpy(to_part ? in_part : in_whole, to_part ? in_whole : in_part, count * array.row_bytes);
  }
}

absl::Status SplitRun::ForEach(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                               const Run& run) const {
  const int64_t most = pieces_[0].size;  // the largest is first
  // The parts of an array that are copies are in one block.
  const auto copied = [](const Array& array) { return array.rows && array.outer > 1 && array.row_bytes > 0; };
  std::vector<Block> in_copies(in_.size()), out_copies(out_.size());
  for (auto [arrays, copies] : {std::pair(&in_, &in_copies), std::pair(&out_, &out_copies)}) {
    for (size_t i = 0; i < arrays->size(); ++i) {
      const Array& array = (*arrays)[i];
      if (!copied(array)) continue;
      XC_ASSIGN_OR_RETURN((*copies)[i], Block::Allocate(array.outer * array.row_bytes * most));
    }
  }
  // Where the rows from `first` on lie; arrays without bytes may be null.
  const auto at = [&](const Array& array, const Block& copy, void* whole, int64_t first) -> void* {
    if (copied(array)) return copy.data();
    if (!array.rows || array.row_bytes == 0) return whole;
    return static_cast<char*>(whole) + first * array.row_bytes;
  };
  std::vector<const void*> parts(in_.size());
  std::vector<void*> results(out_.size());
  int64_t first = 0;
  for (size_t p = 0; p < pieces_.size(); ++p) {
    const int64_t count = pieces_[p].size;
    for (int64_t again = 0; again < pieces_[p].count; ++again, first += count) {
      for (size_t i = 0; i < in_.size(); ++i) {
        auto* const whole = static_cast<char*>(const_cast<void*>(inputs[i]));
        parts[i] = at(in_[i], in_copies[i], whole, first);
        if (copied(in_[i])) Copy(in_[i], whole, in_copies[i].data(), first, count, /*to_part=*/true);
      }
      for (size_t i = 0; i < out_.size(); ++i) results[i] = at(out_[i], out_copies[i], outputs[i], first);
      XC_RETURN_IF_ERROR(run(p, parts, results));
      for (size_t i = 0; i < out_.size(); ++i) {
        if (!copied(out_[i])) continue;
        Copy(out_[i], static_cast<char*>(outputs[i]), out_copies[i].data(), first, count, /*to_part=*/false);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace xc
