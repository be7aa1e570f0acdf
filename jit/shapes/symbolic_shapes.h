// Shapes before any is known: dimensions and small integers as symbols. Only for guesses that no result hangs on: what
// is not known counts as the same on every iteration of a loop.
#ifndef XC_JIT_SHAPES_SYMBOLIC_SHAPES_H_
#define XC_JIT_SHAPES_SYMBOLIC_SHAPES_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace xc {

inline constexpr int64_t kMaxNumber = int64_t{1} << 40;  // greater ones are not told apart from symbols

// A symbol plus an offset; without a symbol the offset itself.
struct Size {
  int symbol = -1;
  int64_t offset = 0;
  bool operator==(const Size&) const = default;
  bool IsNumber() const { return symbol < 0; }
  bool Is(int64_t v) const { return symbol < 0 && offset == v; }
};

class Symbols {
 public:
  // `exact`: the symbol is a size that the graph names, and no stand-in for what is not known.
  Size Fresh(bool varies, bool exact = false);
  // Whether the value may be another one on the next iteration of a loop.
  bool Varies(const Size& s) const { return symbol_varies(s.symbol); }
  Size Sum(const Size& a, const Size& b);
  Size Difference(const Size& a, const Size& b);
  Size Product(const Size& a, const Size& b);
  // Whether the graph gives no reason to take the two dimensions for the same.
  bool Differ(const Size& a, const Size& b) const;

 private:
  struct Symbol {
    bool varies = false, exact = false;
    std::set<int> parts;  // symbols that this one is the sum of
  };
  // The sum, or a symbol of its own where that is too large.
  Size Checked(int symbol, __int128 offset);
  // Whether `b` is a sum that `a` is a part of.
  bool Grown(const Size& a, const Size& b) const;
  bool Exact(const Size& s) const { return s.symbol < 0 || all_[s.symbol].exact; }
  bool symbol_varies(int s) const { return s >= 0 && all_[s].varies; }
  std::vector<Symbol> all_;
  std::map<std::pair<int, int>, int> sums_;
};

// What is known about a tensor.
struct SymbolicTensor {
  bool ranked = false;
  std::vector<Size> dims;     // if ranked
  bool shape_varies = false;  // if not ranked
  bool known = false;         // whether the elements are known; only of small tensors of integers
  std::vector<Size> elements;
  bool varies = false;  // whether other elements may vary
  int state = -1;       // the loop variable that this is unchanged
  bool cut = false;     // whether only the run of its loop tells a length that compiled code has to cut it to

  static SymbolicTensor Of(std::vector<Size> dims, bool varies);
};

bool ShapeVaries(const Symbols& symbols, const SymbolicTensor& t);
bool ValueVaries(const Symbols& symbols, const SymbolicTensor& t);

}  // namespace xc

#endif  // XC_JIT_SHAPES_SYMBOLIC_SHAPES_H_
