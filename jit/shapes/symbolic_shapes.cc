#include "jit/shapes/symbolic_shapes.h"

#include <algorithm>

namespace xc {

Size Symbols::Fresh(bool varies, bool exact) {
  all_.push_back({varies, exact, {}});
  return {static_cast<int>(all_.size()) - 1, 0};
}

Size Symbols::Checked(int symbol, __int128 offset) {
  if (offset > kMaxNumber || offset < -kMaxNumber) return Fresh(symbol_varies(symbol));
  return {symbol, static_cast<int64_t>(offset)};
}

Size Symbols::Sum(const Size& a, const Size& b) {
  if (a.IsNumber() || b.IsNumber()) return Checked(std::max(a.symbol, b.symbol), a.offset + b.offset);
  auto [it, fresh] = sums_.emplace(std::minmax(a.symbol, b.symbol), 0);
  if (fresh) {
    it->second = Fresh(Varies(a) || Varies(b), Exact(a) && Exact(b)).symbol;
    std::set<int> parts = {a.symbol, b.symbol};
    for (int s : {a.symbol, b.symbol}) parts.insert(all_[s].parts.begin(), all_[s].parts.end());
    all_[it->second].parts = std::move(parts);
  }
  return Checked(it->second, a.offset + b.offset);
}

Size Symbols::Difference(const Size& a, const Size& b) {
  if (a.symbol == b.symbol) return Checked(-1, a.offset - b.offset);
  if (b.IsNumber()) return Checked(a.symbol, a.offset - b.offset);
  return Fresh(Varies(a) || Varies(b));
}

Size Symbols::Product(const Size& a, const Size& b) {
  if (a.IsNumber() && b.IsNumber()) return Checked(-1, static_cast<__int128>(a.offset) * b.offset);
  if (a.Is(1) || b.Is(0)) return b;
  if (b.Is(1) || a.Is(0)) return a;
  return Fresh(Varies(a) || Varies(b));
}

bool Symbols::Grown(const Size& a, const Size& b) const {
  return a.symbol >= 0 && b.symbol >= 0 && all_[b.symbol].parts.count(a.symbol) != 0 && b.offset >= a.offset;
}

bool Symbols::Differ(const Size& a, const Size& b) const {
  if (a.symbol == b.symbol) return a.offset != b.offset;
  return (Exact(a) && Exact(b)) || Grown(a, b) || Grown(b, a);
}

SymbolicTensor SymbolicTensor::Of(std::vector<Size> dims, bool varies) {
  SymbolicTensor t;
  t.ranked = true;
  t.dims = std::move(dims);
  t.varies = varies;
  return t;
}

bool ShapeVaries(const Symbols& symbols, const SymbolicTensor& t) {
  if (!t.ranked) return t.shape_varies;
  return std::any_of(t.dims.begin(), t.dims.end(), [&](const Size& s) { return symbols.Varies(s); });
}

bool ValueVaries(const Symbols& symbols, const SymbolicTensor& t) {
  if (!t.known) return t.varies || ShapeVaries(symbols, t);
  return std::any_of(t.elements.begin(), t.elements.end(), [&](const Size& s) { return symbols.Varies(s); });
}

}  // namespace xc
