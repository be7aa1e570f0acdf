#include "jit/lowering/numeric/window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace xc {

absl::StatusOr<DataFormat> ReadDataFormat(OpContext& c, int64_t rank) {
  std::string text = rank == 5 ? "NDHWC" : "NHWC";
  if (c.node.def->FindAttr("data_format") != nullptr) {
    XC_ASSIGN_OR_RETURN(text, c.node.String("data_format"));
  }
  if (text == "NC") text = "NCHW";
  if (text == "CHANNELS_LAST") text = rank == 5 ? "NDHWC" : "NHWC";
  if (text == "CHANNELS_FIRST") text = rank == 5 ? "NCDHW" : "NCHW";
  if (static_cast<int64_t>(text.size()) != rank) {
    return c.Error(absl::StrCat("data_format ", text, " does not fit rank ", rank));
  }
  DataFormat format;
  for (int64_t i = 0; i < rank; ++i) {
    if (text[i] == 'N') {
      format.batch = i;
    } else if (text[i] == 'C') {
      format.channel = i;
    } else if (text[i] == 'D' || text[i] == 'H' || text[i] == 'W') {
      format.spatial.push_back(i);
    } else {
      return c.Unimplemented("data_format " + text);
    }
  }
  if (static_cast<int64_t>(format.spatial.size()) != rank - 2) return c.Unimplemented("data_format " + text);
  return format;
}

absl::StatusOr<std::vector<int64_t>> SpatialAttr(OpContext& c, const std::string& name, const DataFormat& format,
                                                 int64_t rank) {
  std::vector<int64_t> all(rank, 1);
  if (c.node.def->FindAttr(name) != nullptr) {
    XC_ASSIGN_OR_RETURN(all, c.node.Ints(name));
    if (all.empty()) all.assign(rank, 1);
  }
  if (static_cast<int64_t>(all.size()) != rank) return c.Error(absl::StrCat(name, " must have ", rank, " entries"));
  if (all[format.batch] != 1 || all[format.channel] != 1) {
    return c.Unimplemented(absl::StrCat(name, " over batch or channels"));
  }
  std::vector<int64_t> out;
  for (int64_t d : format.spatial) {
    if (all[d] < 1 || all[d] > (int64_t{1} << 30)) return c.Error(absl::StrCat(name, " must be positive"));
    out.push_back(all[d]);
  }
  return out;
}

absl::StatusOr<std::vector<WindowDim>> ReadWindow(OpContext& c, const DataFormat& format,
                                                  const std::vector<int64_t>& input, const std::vector<int64_t>& kernel,
                                                  const std::vector<int64_t>& strides,
                                                  const std::vector<int64_t>& dilations) {
  XC_ASSIGN_OR_RETURN(std::string padding, c.node.String("padding"));
  std::vector<int64_t> explicit_paddings;
  if (padding == "EXPLICIT") {
    XC_ASSIGN_OR_RETURN(explicit_paddings, c.node.Ints("explicit_paddings"));
    if (explicit_paddings.size() != 2 * (format.spatial.size() + 2))
      return c.Error("explicit_paddings has a wrong size");
  }
  std::vector<WindowDim> out;
  for (size_t i = 0; i < input.size(); ++i) {
    WindowDim w;
    w.size = kernel[i];
    w.stride = strides[i];
    w.window_dilation = dilations[i];
    if (w.size < 1) return c.Error("the window must not be empty");
    int64_t extent = (w.size - 1) * w.window_dilation + 1;
    if (padding == "SAME") {
      int64_t outputs = (input[i] + w.stride - 1) / w.stride;
      int64_t total = std::max<int64_t>((outputs - 1) * w.stride + extent - input[i], 0);
      w.padding_low = total / 2;
      w.padding_high = total - w.padding_low;
    } else if (padding == "EXPLICIT") {
      w.padding_low = explicit_paddings[2 * format.spatial[i]];
      w.padding_high = explicit_paddings[2 * format.spatial[i] + 1];
      if (w.padding_low < 0 || w.padding_high < 0) return c.Error("negative padding");
    } else if (padding != "VALID") {
      return c.Error("unknown padding " + padding);
    }
    // No outputs are fine, as far as the host's formula gives none: it rounds towards zero.
    const int64_t padded = input[i] + w.padding_low + w.padding_high;
    if ((padded - extent + w.stride) / w.stride < 0) {
      return c.Error(absl::StrCat("the window, ", extent, ", does not fit the size ", padded));
    }
    out.push_back(w);
  }
  return out;
}

}  // namespace xc
