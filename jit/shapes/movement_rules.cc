// Shape rules of the ops that move elements and compute nothing.
#include <algorithm>

#include "jit/shapes/shape_rules.h"

namespace xc {
namespace {

using Tensors = std::vector<SymbolicTensor>;

// The dimension that stands for -1: what is left of the operand's without those that are named.
Size Remaining(RuleContext& c, const std::vector<Size>& named) {
  std::vector<Size> left;
  if (!c.in[0].ranked) return c.symbols.Fresh(c.in[0].shape_varies);
  left = c.in[0].dims;
  Size divisor{-1, 1}, number{-1, 1}, product{-1, 1};
  bool varies = false, exact = true;
  for (const Size& s : named) {
    if (s.Is(-1)) continue;
    auto it = s.IsNumber() ? left.end() : std::find(left.begin(), left.end(), s);
    if (it != left.end()) {
      left.erase(it);
    } else if (s.IsNumber()) {
      divisor = c.symbols.Product(divisor, s);
    } else {
      exact = false;
      varies |= c.symbols.Varies(s);
    }
  }
  for (const Size& s : left) {
    Size& part = s.IsNumber() ? number : product;
    part = c.symbols.Product(part, s);
    varies |= c.symbols.Varies(s);
  }
  exact &= divisor.IsNumber() && divisor.offset > 0 && number.IsNumber();
  if (exact && number == divisor) return product;
  if (exact && product.Is(1) && number.offset % divisor.offset == 0) {
    return Size{-1, number.offset / divisor.offset};
  }
  return c.symbols.Fresh(varies);
}

Tensors Reshape(RuleContext& c) {
  if (!c.in[1].known) return {};
  std::vector<Size> dims = c.in[1].elements;
  for (Size& s : dims) {
    if (!s.Is(-1)) continue;
    s = Remaining(c, c.in[1].elements);
    break;
  }
  SymbolicTensor out = c.Make(std::move(dims));
  out.known = c.in[0].known;
  out.elements = c.in[0].elements;
  return {out};
}

Tensors Transpose(RuleContext& c) {
  std::vector<int64_t> order;
  if (!c.in[0].ranked || !c.Numbers(1, &order) || order.size() != c.in[0].dims.size()) return {};
  std::vector<Size> dims;
  for (int64_t d : order) {
    if (d < 0 || d >= static_cast<int64_t>(order.size())) return {};
    dims.push_back(c.in[0].dims[d]);
  }
  return {c.Make(std::move(dims))};
}

Tensors ExpandDims(RuleContext& c) {
  int64_t axis;
  if (!c.in[0].ranked || !c.Number(1, &axis)) return {};
  SymbolicTensor out = c.in[0];
  out.state = -1;
  int64_t rank = static_cast<int64_t>(out.dims.size());
  if (axis < 0) axis += rank + 1;
  if (axis < 0 || axis > rank) return {};
  out.dims.insert(out.dims.begin() + axis, Size{-1, 1});
  return {out};
}

Tensors Squeeze(RuleContext& c) {
  if (!c.in[0].ranked) return {};
  SymbolicTensor out = c.in[0];
  out.state = -1;
  std::vector<int64_t> axes = c.node.Ints("squeeze_dims").value_or(std::vector<int64_t>());
  int64_t rank = static_cast<int64_t>(out.dims.size());
  std::vector<Size> dims;
  for (int64_t i = 0; i < rank; ++i) {
    bool named = std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return a == i || a + rank == i; });
    if (!named && !(axes.empty() && out.dims[i].Is(1))) dims.push_back(out.dims[i]);
  }
  out.dims = std::move(dims);
  return {out};
}

Tensors Pack(RuleContext& c) {
  std::vector<Size> elements;
  bool known = true;
  for (const SymbolicTensor& t : c.in) {
    if (!t.ranked) return {};
    known &= t.known && t.dims.empty() && t.elements.size() == 1;
    if (known) elements.push_back(t.elements[0]);
  }
  if (known) return {TensorOfElements(std::move(elements), false)};
  std::vector<Size> dims = c.in[0].dims;
  int64_t axis = c.Int("axis", 0), rank = static_cast<int64_t>(dims.size());
  if (axis < 0) axis += rank + 1;
  if (axis < 0 || axis > rank) return {};
  for (const SymbolicTensor& t : c.in) {
    for (size_t i = 0; i < dims.size() && i < t.dims.size(); ++i) {
      if (c.symbols.Varies(t.dims[i])) dims[i] = t.dims[i];
    }
  }
  dims.insert(dims.begin() + axis, Size{-1, static_cast<int64_t>(c.in.size())});
  return {c.Make(std::move(dims))};
}

Tensors Unpack(RuleContext& c) {
  if (!c.in[0].ranked) return {};
  int64_t axis = c.Int("axis", 0), rank = static_cast<int64_t>(c.in[0].dims.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return {};
  Tensors out;
  for (int i = 0; i < c.node.num_outputs(); ++i) {
    if (c.in[0].known && rank == 1 && i < static_cast<int>(c.in[0].elements.size())) {
      out.push_back(TensorOfElements({c.in[0].elements[i]}, true));
      continue;
    }
    std::vector<Size> dims = c.in[0].dims;
    dims.erase(dims.begin() + axis);
    out.push_back(c.Make(std::move(dims)));
  }
  return out;
}

Tensors Concat(RuleContext& c) {
  bool axis_first = c.node.op == "Concat";
  size_t first = axis_first ? 1 : 0, last = axis_first ? c.in.size() : c.in.size() - 1;
  int64_t axis;
  if (!c.Number(axis_first ? 0 : last, &axis) || first >= last) return {};
  std::vector<Size> elements;
  bool known = KeepsElements(c.node);
  for (size_t i = first; i < last; ++i) {
    if (!c.in[i].ranked || c.in[i].dims.size() != c.in[first].dims.size()) return {};
    known &= c.in[i].known && c.in[i].dims.size() == 1;
    if (known) elements.insert(elements.end(), c.in[i].elements.begin(), c.in[i].elements.end());
  }
  if (known) return {TensorOfElements(std::move(elements), false)};
  std::vector<Size> dims = c.in[first].dims;
  int64_t rank = static_cast<int64_t>(dims.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return {};
  for (size_t i = first + 1; i < last; ++i) {
    for (int64_t d = 0; d < rank; ++d) {
      const Size& more = c.in[i].dims[d];
      if (d == axis) {
        dims[d] = c.symbols.Sum(dims[d], more);
      } else if (!dims[d].IsNumber() && (more.IsNumber() || c.symbols.Varies(more))) {
        dims[d] = more;
      }
    }
  }
  return {c.Make(std::move(dims))};
}

Tensors Split(RuleContext& c) {
  bool by_sizes = c.node.op == "SplitV";
  const SymbolicTensor& t = c.in[by_sizes ? 0 : 1];
  int64_t axis;
  if (!t.ranked || !c.Number(by_sizes ? 2 : 0, &axis)) return {};
  int64_t rank = static_cast<int64_t>(t.dims.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return {};
  Size whole = t.dims[axis];
  int n = c.node.num_outputs();
  Tensors out;
  for (int i = 0; i < n; ++i) {
    std::vector<Size> dims = t.dims;
    bool named = by_sizes && c.in[1].known && i < static_cast<int>(c.in[1].elements.size());
    if (named && !c.in[1].elements[i].Is(-1)) {
      dims[axis] = c.in[1].elements[i];
    } else if (!by_sizes && whole.IsNumber()) {
      dims[axis] = Size{-1, whole.offset / n};
    } else {
      dims[axis] = c.symbols.Fresh(c.symbols.Varies(whole) || (by_sizes && ValueVaries(c.symbols, c.in[1])));
    }
    out.push_back(c.Make(std::move(dims)));
  }
  return out;
}

Tensors Slice(RuleContext& c) {
  if (!c.in[0].ranked || !c.in[2].known) return {};
  std::vector<Size> dims = c.in[2].elements;
  if (dims.size() != c.in[0].dims.size()) return {};
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].Is(-1)) continue;
    dims[i] = c.in[1].known ? c.symbols.Difference(c.in[0].dims[i], c.in[1].elements[i])
                            : c.symbols.Fresh(c.in[1].varies || c.symbols.Varies(c.in[0].dims[i]));
  }
  return {c.Make(std::move(dims))};
}

// How many elements [begin, end) has; a bound that is not given counts from or to the end.
Size RangeSize(Symbols& symbols, const Size& dim, const Size* begin, const Size* end, const Size& stride) {
  if (stride.Is(-1) && begin == nullptr && end == nullptr) return dim;
  bool number = dim.IsNumber() && stride.IsNumber() && (begin == nullptr || begin->IsNumber()) &&
                (end == nullptr || end->IsNumber());
  if (number && stride.offset > 0) {
    auto clamp = [&](const Size* s, int64_t other) {
      int64_t v = s == nullptr ? other : s->offset < 0 ? s->offset + dim.offset : s->offset;
      return std::clamp<int64_t>(v, 0, std::max<int64_t>(dim.offset, 0));
    };
    int64_t count = clamp(end, dim.offset) - clamp(begin, 0);
    return Size{-1, count <= 0 ? 0 : (count + stride.offset - 1) / stride.offset};
  }
  bool varies = symbols.Varies(dim) || symbols.Varies(stride) || (begin != nullptr && symbols.Varies(*begin)) ||
                (end != nullptr && symbols.Varies(*end));
  if (!stride.Is(1)) return symbols.Fresh(varies);
  auto place = [&](const Size& s) { return s.IsNumber() && s.offset < 0 ? symbols.Sum(dim, s) : s; };
  Size from = begin == nullptr ? Size{-1, 0} : place(*begin), to = end == nullptr ? dim : place(*end);
  return symbols.Difference(to, from);
}

Tensors StridedSlice(RuleContext& c) {
  if (!c.in[0].ranked) return {};
  int64_t begin_mask = c.Int("begin_mask", 0), end_mask = c.Int("end_mask", 0);
  int64_t ellipsis = c.Int("ellipsis_mask", 0), fresh = c.Int("new_axis_mask", 0);
  int64_t shrink = c.Int("shrink_axis_mask", 0);
  const std::vector<Size>& from = c.in[0].dims;
  if (!c.in[1].ranked || c.in[1].dims.size() != 1 || !c.in[1].dims[0].IsNumber()) return {};
  int64_t n = c.in[1].dims[0].offset;
  if (n < 0 || n > 32) return {};
  auto element = [&](int operand, int64_t i) -> Size {
    const SymbolicTensor& t = c.in[operand];
    if (t.known && i < static_cast<int64_t>(t.elements.size())) return t.elements[i];
    return c.symbols.Fresh(t.varies);
  };
  int64_t used = 0;  // dimensions of the operand that the entries name
  for (int64_t i = 0; i < n; ++i) used += !(fresh >> i & 1) && !(ellipsis >> i & 1);
  std::vector<Size> dims;
  size_t at = 0;
  auto copy = [&](int64_t count) {
    for (; count > 0 && at < from.size(); --count) dims.push_back(from[at++]);
  };
  std::vector<Size> picked;  // of a vector's elements
  bool keeps = c.in[0].known && from.size() == 1 && n == 1 && fresh == 0 && ellipsis == 0;
  for (int64_t i = 0; i < n; ++i) {
    if (ellipsis >> i & 1) {
      copy(static_cast<int64_t>(from.size()) - used);
    } else if (fresh >> i & 1) {
      dims.push_back(Size{-1, 1});
    } else if (at >= from.size()) {
      return {};
    } else {
      Size begin = element(1, i), end = element(2, i), stride = element(3, i), dim = from[at++];
      bool from_start = begin_mask >> i & 1, to_end = end_mask >> i & 1, single = shrink >> i & 1;
      Size size = single ? Size{-1, 1}
                         : RangeSize(c.symbols, dim, from_start ? nullptr : &begin, to_end ? nullptr : &end, stride);
      if (!single) dims.push_back(size);
      keeps &= dim.IsNumber() && size.IsNumber() && (from_start || begin.IsNumber()) && stride.Is(1);
      if (!keeps) continue;
      int64_t first = from_start ? 0 : begin.offset < 0 ? begin.offset + dim.offset : begin.offset;
      for (int64_t k = first; k < first + size.offset; ++k) {
        if (k < 0 || k >= static_cast<int64_t>(c.in[0].elements.size())) return {};
        picked.push_back(c.in[0].elements[k]);
      }
    }
  }
  copy(static_cast<int64_t>(from.size()));
  if (keeps) return {TensorOfElements(std::move(picked), dims.empty())};
  return {c.Make(std::move(dims))};
}

Tensors Tile(RuleContext& c) {
  if (!c.in[0].ranked || !c.in[1].known || c.in[1].elements.size() != c.in[0].dims.size()) return {};
  std::vector<Size> dims;
  for (size_t i = 0; i < c.in[0].dims.size(); ++i) {
    dims.push_back(c.symbols.Product(c.in[0].dims[i], c.in[1].elements[i]));
  }
  return {c.Make(std::move(dims))};
}

Tensors Pad(RuleContext& c) {
  if (!c.in[0].ranked || !c.in[1].known || c.in[1].elements.size() != 2 * c.in[0].dims.size()) return {};
  std::vector<Size> dims;
  for (size_t i = 0; i < c.in[0].dims.size(); ++i) {
    Size both = c.symbols.Sum(c.in[1].elements[2 * i], c.in[1].elements[2 * i + 1]);
    dims.push_back(c.symbols.Sum(c.in[0].dims[i], both));
  }
  return {c.Make(std::move(dims))};
}

Tensors DimsOf(RuleContext& c, size_t operand) {
  if (!c.in[operand].known) return {};
  return {c.Make(c.in[operand].elements)};
}

Tensors Range(RuleContext& c) {
  int64_t step;
  for (int i : {0, 1}) {
    if (!c.in[i].known || c.in[i].elements.size() != 1) return {};
  }
  if (!c.Number(2, &step)) return {};
  Size first = c.in[0].elements[0], limit = c.in[1].elements[0];
  Size size = c.symbols.Difference(limit, first);
  if (step != 1) size = c.symbols.Fresh(c.symbols.Varies(size));
  if (step == 1 && size.IsNumber() && first.IsNumber() && size.offset <= kMaxElements) {
    std::vector<Size> elements;
    for (int64_t k = 0; k < size.offset; ++k) elements.push_back(Size{-1, first.offset + k});
    return {TensorOfElements(std::move(elements), false)};
  }
  return {c.Make({size})};
}

Tensors Gather(RuleContext& c) {
  int64_t axis = 0, batch = c.node.op == "GatherV2" ? c.Int("batch_dims", 0) : 0;
  if (!c.in[0].ranked || !c.in[1].ranked || (c.node.op == "GatherV2" && !c.Number(2, &axis))) return {};
  const std::vector<Size>&from = c.in[0].dims, &indices = c.in[1].dims;
  std::vector<int64_t> which;
  if (c.in[0].known && from.size() == 1 && c.Numbers(1, &which)) {
    std::vector<Size> elements;
    for (int64_t i : which) {
      if (i < 0 || i >= static_cast<int64_t>(c.in[0].elements.size())) return {};
      elements.push_back(c.in[0].elements[i]);
    }
    return {TensorOfElements(std::move(elements), indices.empty())};
  }
  int64_t rank = static_cast<int64_t>(from.size());
  if (axis < 0) axis += rank;
  if (batch < 0) batch += static_cast<int64_t>(indices.size());
  if (axis < 0 || axis >= rank || batch < 0 || batch > static_cast<int64_t>(indices.size())) return {};
  std::vector<Size> dims(from.begin(), from.begin() + axis);
  dims.insert(dims.end(), indices.begin() + batch, indices.end());
  dims.insert(dims.end(), from.begin() + axis + 1, from.end());
  return {c.Make(std::move(dims))};
}

Tensors OneHot(RuleContext& c) {
  if (!c.in[0].ranked) return {};
  std::vector<Size> dims = c.in[0].dims;
  int64_t axis = c.Int("axis", -1), rank = static_cast<int64_t>(dims.size());
  if (axis < 0) axis += rank + 1;
  if (axis < 0 || axis > rank) return {};
  Size depth = c.in[1].known && c.in[1].elements.size() == 1 ? c.in[1].elements[0] : c.symbols.Fresh(c.in[1].varies);
  dims.insert(dims.begin() + axis, depth);
  return {c.Make(std::move(dims))};
}

Tensors TopK(RuleContext& c) {
  if (!c.in[0].ranked || c.in[0].dims.empty()) return {};
  std::vector<Size> dims = c.in[0].dims;
  const bool known = c.in[1].known && c.in[1].elements.size() == 1;
  dims.back() = known ? c.in[1].elements[0] : c.symbols.Fresh(c.in[1].varies);
  return {c.Make(dims), c.Make(dims)};
}

}  // namespace

void AddMovementRules(ShapeRules& rules) {
  auto add = [&](std::initializer_list<const char*> ops, const ShapeRule& rule) {
    for (const char* op : ops) rules[op] = rule;
  };
  add({"Pad", "PadV2", "MirrorPad"}, Pad);
  add({"Split", "SplitV"}, Split);
  add({"Concat", "ConcatV2"}, Concat);
  add({"Gather", "GatherV2", "ResourceGather"}, Gather);
  add({"TopK", "TopKV2"}, TopK);
  add({"Fill"}, [](RuleContext& c) { return DimsOf(c, 0); });
  add({"BroadcastTo"}, [](RuleContext& c) { return DimsOf(c, 1); });
  add({"Reshape"}, Reshape);
  add({"Transpose"}, Transpose);
  add({"ExpandDims"}, ExpandDims);
  add({"Squeeze"}, Squeeze);
  add({"Pack"}, Pack);
  add({"Unpack"}, Unpack);
  add({"Slice"}, Slice);
  add({"StridedSlice"}, StridedSlice);
  add({"Tile"}, Tile);
  add({"Range"}, Range);
  add({"OneHot"}, OneHot);
}

}  // namespace xc
