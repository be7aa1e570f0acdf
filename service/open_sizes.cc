#include "service/open_sizes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {

absl::Status OpenSizes::Check(size_t o, int64_t small_rows, const HloModule& small, int64_t large_rows,
                              const HloModule& large) {
  const std::string& name = range_.open[o].name;
  const auto refuse = [&name](absl::string_view why) {
    return absl::UnimplementedError(absl::StrCat("size ", name, " has no end, or too many values to try each, so that ",
                                                 "its elements have to be computed apart from each other; but ", why,
                                                 ": give it a range of fewer values, as ", name, "=1..64"));
  };
  absl::StatusOr<RowDims> dims = CheckRowsApart(small, small_rows, large, large_rows);
  if (!dims.ok()) return refuse(dims.status().message());
  Found& found = found_[o];
  if (!found.any) {
    found.any = true;
    found.dims = *std::move(dims);
    found.own.resize(found.dims.parameters.size(), true);
  } else if (!(found.dims == *dims)) {
    return refuse("it is in other dimensions at other sizes");
  }
  for (size_t p = 0; p < found.own.size(); ++p) {
    const int64_t dim = found.dims.parameters[p];
    found.own[p] =
        found.own[p] && dim >= 0 && small.entry()->parameter(static_cast<int64_t>(p))->shape().dim(dim) == small_rows;
  }
  if (std::find(found.own.begin(), found.own.end(), true) == found.own.end()) {
    return refuse("it is a dimension of no input");
  }
  return absl::OkStatus();
}

absl::Status OpenSizes::Add(int64_t i, const HloModule& module) {
  if (!added_.insert(i).second) return absl::OkStatus();
  for (size_t o = 0; o < range_.open.size(); ++o) {
    const SizesAhead::Range::Open& open = range_.open[o];
    const int64_t rows = range_.open_value(i, o), fewest = open.pieces[0];
    if (rows > fewest) {
      XC_ASSIGN_OR_RETURN(const std::unique_ptr<HloModule> least, range_.with(i, o, fewest));
      XC_RETURN_IF_ERROR(Check(o, fewest, *least, rows, module));
      continue;
    }
    // The program of the fewest rows, once for all others that there are: it must be that of large sizes, too.
    absl::Status none = absl::UnimplementedError(absl::StrCat("there is no module for large ", open.name));
    for (const int64_t far : open.far) {
      if (far <= rows) break;
      const absl::StatusOr<std::unique_ptr<HloModule>> large = range_.with(i, o, far);
      none = large.status();
      if (!large.ok()) continue;
      XC_RETURN_IF_ERROR(Check(o, rows, module, far, **large));
      found_[o].high = std::min(found_[o].high, far);
      break;
    }
    XC_RETURN_IF_ERROR(none);
  }
  return absl::OkStatus();
}

std::vector<OpenSize> OpenSizes::Finish(int64_t first, int64_t end) const {
  std::vector<OpenSize> opens;
  for (size_t o = 0; o < range_.open.size(); ++o) {
    const SizesAhead::Range::Open& open = range_.open[o];
    const Found& found = found_[o];
    OpenSize& out = opens.emplace_back();
    out.name = open.name;
    out.low = open.low;
    out.high = std::min(open.high, found.high);
    out.multiple = open.multiple;
    out.input = std::find(found.own.begin(), found.own.end(), true) - found.own.begin();
    out.inputs = found.dims.parameters;
    out.outputs = found.dims.results;
    out.pieces = open.pieces;
    out.first_group = first;
    out.end_group = end;
  }
  return opens;
}

}  // namespace xc
