// Tensor cores and what feeds them: mma.sync, ldmatrix, stmatrix.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/gpu/emulator/access.h"
#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/floats.h"
#include "backends/gpu/emulator/lanes.h"

namespace xc::emulator {
namespace {

constexpr int kMostK = 64;

bool CheckWholeWarp(Warp& w, const Instruction& i, uint32_t mask) {
  if (mask == kAllLanes) return true;
  w.Raise(i, Fault::kDivergence, FirstLane(~mask), "needs all 32 lanes of the warp");
  return false;
}

// Types of mma, packed in Instruction::z: result, a, b, addend.
Type TypeOf(const Instruction& i, int which) { return static_cast<Type>(i.z >> (8 * which) & 0xFF); }

// Element `n` of a lane's register as a number.
double Element(const uint8_t* at, Type type, int n) {
  switch (type) {
    case Type::kF16:
    case Type::kBf16: {
      uint16_t bits;
      std::memcpy(&bits, at + 2 * n, 2);
      return type == Type::kF16 ? HalfToFloat(bits) : Bf16ToFloat(bits);
    }
    case Type::kE4m3:
    case Type::kE5m2:
      return F8ToFloat(at[n], type == Type::kE5m2);
    case Type::kTf32: {
      uint32_t bits;
      std::memcpy(&bits, at, 4);
      return BitsAs<float>(bits & ~0x1FFFu);
    }
    case Type::kU8:
      return at[n];
    case Type::kS8:
      return static_cast<int8_t>(at[n]);
    case Type::kS32: {
      int32_t value;
      std::memcpy(&value, at, 4);
      return value;
    }
    case Type::kF32: {
      float value;
      std::memcpy(&value, at, 4);
      return value;
    }
    default: {
      double value;
      std::memcpy(&value, at, 8);
      return value;
    }
  }
}

int ElementsOf(Type type) { return type == Type::kF64 ? 1 : 4 / BytesOf(type); }
int RegisterBytes(Type type) { return type == Type::kF64 ? 8 : 4; }

// d = a * b + c for a of x rows and y columns, b of y rows and 8 columns. Lane l holds, of register r of a, the
// elements of row l / 4 + 8 * (r modulo x / 8) from column (l modulo 4) * e on, with e elements in a register, 4 e
// columns further for the next x / 8 registers; of b the transposed of that; of c and d the columns (l modulo 4) * 2
// and the next one of row l / 4, 8 rows further for the next pair. The sum is rounded once, as if it were exact, f64
// after every term.
void MultiplyMatrices(Warp& w, const Instruction& i, uint32_t mask) {
  if (!CheckWholeWarp(w, i, mask)) return;
  const int rows = i.x, depth = i.y, high = rows / 8;
  const Type type_a = TypeOf(i, 1), type_b = TypeOf(i, 2), type_c = TypeOf(i, 3), type_d = TypeOf(i, 0);
  const int e = ElementsOf(type_a);
  const int count_a = high * depth / (4 * e), count_b = depth / (4 * e);
  const int count_d = high * 2 / (type_d == Type::kF16 ? 2 : 1);
  const Slot* d = w.code->lists.data() + i.list;
  const Slot* a = d + count_d;
  const Slot* b = a + count_a;
  const Slot* c = b + count_b;
  double left[16][kMostK], right[8][kMostK], sum[16][8];
  uint32_t defined = kAllLanes;
  for (int r = 0; r < count_a; ++r) {
    defined &= Defined(w, a[r]);
    for (int l = 0; l < kLanes; ++l) {
      const uint8_t* at = w.frame + a[r] + l * RegisterBytes(type_a);
      for (int n = 0; n < e; ++n)
        left[l / 4 + 8 * (r % high)][r / high * 4 * e + l % 4 * e + n] = Element(at, type_a, n);
    }
  }
  for (int r = 0; r < count_b; ++r) {
    defined &= Defined(w, b[r]);
    for (int l = 0; l < kLanes; ++l) {
      const uint8_t* at = w.frame + b[r] + l * RegisterBytes(type_b);
      for (int n = 0; n < e; ++n) right[l / 4][r * 4 * e + l % 4 * e + n] = Element(at, type_b, n);
    }
  }
  for (int r = 0; r < high * 2; ++r) {
    const bool packed = type_c == Type::kF16;
    const Slot slot = c[packed ? r / 2 : r];
    defined &= Defined(w, slot);
    for (int l = 0; l < kLanes; ++l) {
      sum[l / 4 + 8 * (r / 2)][l % 4 * 2 + r % 2] =
          Element(w.frame + slot + l * RegisterBytes(type_c), type_c, packed ? r % 2 : 0);
    }
  }
  for (int m = 0; m < rows; ++m) {
    for (int n = 0; n < 8; ++n) {
      double total = type_d == Type::kF64 ? sum[m][n] : 0;
      for (int k = 0; k < depth; ++k) total = std::fma(left[m][k], right[n][k], total);
      sum[m][n] = type_d == Type::kF64 ? total : total + sum[m][n];
    }
  }
  // One lane without a value spoils what all get.
  const uint32_t result_defined = defined == kAllLanes ? kAllLanes : 0;
  for (int r = 0; r < high * 2; ++r) {
    const bool packed = type_d == Type::kF16;
    const Slot slot = d[packed ? r / 2 : r];
    for (int l = 0; l < kLanes; ++l) {
      const double value = sum[l / 4 + 8 * (r / 2)][l % 4 * 2 + r % 2];
      uint8_t* at = w.frame + slot + l * RegisterBytes(type_d);
      if (packed) {
        const uint16_t bits = FloatToHalf(ToOddFloat(value));
        std::memcpy(at + 2 * (r % 2), &bits, 2);
      } else if (type_d == Type::kF32) {
        const float bits = Float32::Store(static_cast<float>(value));
        std::memcpy(at, &bits, 4);
      } else if (type_d == Type::kS32) {
        const double least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
        const int64_t whole = static_cast<int64_t>(i.imm ? std::clamp(value, least, most) : value);
        const uint32_t bits = static_cast<uint32_t>(whole);
        std::memcpy(at, &bits, 4);
      } else {
        std::memcpy(at, &value, 8);
      }
    }
    Defined(w, slot) = result_defined;
  }
}

struct Shape {
  int m = 0, n = 0, k = 0;
};
// "m16n8k16"; all 0 if it is none.
Shape ShapeOf(const Statement& s) {
  for (const std::string& modifier : s.modifiers) {
    const size_t n = modifier.find('n'), k = modifier.find('k');
    Shape shape;
    if (modifier.empty() || modifier[0] != 'm' || n == std::string::npos || k == std::string::npos || n > k) continue;
    if (absl::SimpleAtoi(modifier.substr(1, n - 1), &shape.m) &&
        absl::SimpleAtoi(modifier.substr(n + 1, k - n - 1), &shape.n) &&
        absl::SimpleAtoi(modifier.substr(k + 1), &shape.k)) {
      return shape;
    }
  }
  return {};
}

void DecodeMultiply(Decoder& d, const Statement& s) {
  if (!d.Operands(s, 4)) return;
  const Shape shape = ShapeOf(s);
  const Type types[] = {s.TypeAt(0), s.TypeAt(1), s.TypeAt(2), s.TypeAt(3)};
  const bool is_integer = types[0] == Type::kS32;
  const auto is_operand = [&](Type type) {
    if (is_integer) return type == Type::kS8 || type == Type::kU8;
    if (types[0] == Type::kF64) return type == Type::kF64;
    return type == Type::kF16 || type == Type::kBf16 || type == Type::kTf32 || type == Type::kE4m3 ||
           type == Type::kE5m2;
  };
  const bool results = types[0] == Type::kF32 || types[0] == Type::kF16 || types[0] == Type::kF64 || is_integer;
  const bool sizes = BytesOf(types[1]) == BytesOf(types[2]) &&
                     (types[3] == types[0] || (types[0] == Type::kF32 && types[3] == Type::kF16) ||
                      (types[0] == Type::kF16 && types[3] == Type::kF32));
  if (!results || !sizes || !is_operand(types[1]) || !is_operand(types[2]) || !s.Has("row") || !s.Has("col") ||
      s.Has("sp") || s.Has("xor") || (shape.m != 16 && shape.m != 8) || shape.n != 8 || shape.k > kMostK) {
    return d.Unknown(s);
  }
  const int e = ElementsOf(types[1]), high = shape.m / 8;
  if (shape.k < 4 * e || shape.k % (4 * e) != 0) return d.Unknown(s);
  const size_t counts[] = {static_cast<size_t>(high * 2 / (types[0] == Type::kF16 ? 2 : 1)),
                           static_cast<size_t>(high * shape.k / (4 * e)), static_cast<size_t>(shape.k / (4 * e)),
                           static_cast<size_t>(high * 2 / (types[3] == Type::kF16 ? 2 : 1))};
  std::vector<Slot> slots;
  for (size_t n = 0; n < 4; ++n) {
    const std::vector<const Operand*> elements = Decoder::Elements(s.operands[n]);
    if (elements.size() != counts[n]) {
      return d.Fail(absl::StrCat("operand ", n, " has ", elements.size(), " registers, not ", counts[n]));
    }
    for (const Operand* element : elements) {
      const Type type = types[n] == Type::kF64 ? Type::kF64 : Type::kB32;
      slots.push_back(n == 0 ? d.Result(*element, type) : d.Source(*element, type));
    }
  }
  Instruction i;
  i.run = MultiplyMatrices;
  i.x = shape.m;
  i.y = shape.k;
  for (int n = 0; n < 4; ++n) i.z |= static_cast<int32_t>(types[n]) << (8 * n);
  i.imm = s.Has("satfinite");
  i.list = d.AddList(slots);
  i.count = static_cast<int32_t>(slots.size());
  d.Emit(s, i);
}

// Matrices of 8 rows of 16 bytes in shared memory; lane 8 m + r has the address of row r of matrix m. y: transposed.
void LoadMatrices(Warp& w, const Instruction& i, uint32_t mask) {
  if (!CheckWholeWarp(w, i, mask)) return;
  const uint32_t given = i.count == 4 ? kAllLanes : (uint32_t{1} << (8 * i.count)) - 1;
  uint8_t* at[kLanes];
  if (!Resolve(w, i, given, 16, 16, at)) return;
  if (!CheckRaces(w, i, given, 16, Access::kRead, at, nullptr)) return;
  const uint32_t defined = DefinedLanes(w, given, 16, at);
  for (int m = 0; m < i.count; ++m) {
    const Slot d = w.code->lists[static_cast<size_t>(i.list + m)];
    uint32_t result_defined = 0;
    for (int l = 0; l < kLanes; ++l) {
      const int line = l / 4, pair = l % 4 * 2;
      for (int n = 0; n < 2; ++n) {
        const int row = i.y ? pair + n : line, column = i.y ? line : pair + n;
        std::memcpy(w.frame + d + 4 * l + 2 * n, at[8 * m + row] + 2 * column, 2);
      }
      const int first = 8 * m + (i.y ? pair : line), second = 8 * m + (i.y ? pair + 1 : line);
      if ((defined >> first & 1) && (defined >> second & 1)) result_defined |= uint32_t{1} << l;
    }
    Defined(w, d) = result_defined;
  }
}

void StoreMatrices(Warp& w, const Instruction& i, uint32_t mask) {
  if (!CheckWholeWarp(w, i, mask)) return;
  const uint32_t given = i.count == 4 ? kAllLanes : (uint32_t{1} << (8 * i.count)) - 1;
  uint8_t* at[kLanes];
  uint8_t rows[kLanes][16] = {};
  uint32_t defined = kAllLanes;
  if (!Resolve(w, i, given, 16, 16, at)) return;
  for (int m = 0; m < i.count; ++m) {
    const Slot a = w.code->lists[static_cast<size_t>(i.list + m)];
    if (Defined(w, a) != kAllLanes) defined &= ~(uint32_t{0xFF} << (8 * m));
    for (int l = 0; l < kLanes; ++l) {
      const int line = l / 4, pair = l % 4 * 2;
      for (int n = 0; n < 2; ++n) {
        const int row = i.y ? pair + n : line, column = i.y ? line : pair + n;
        std::memcpy(rows[8 * m + row] + 2 * column, w.frame + a + 4 * l + 2 * n, 2);
      }
    }
  }
  if (!NoteWritten(w, i, given, 16, at, defined)) return;
  if (!CheckRaces(w, i, given, 16, Access::kWrite, at, &rows[0][0])) return;
  for (int l = 0; l < 8 * i.count; ++l) std::memcpy(at[l], rows[l], 16);
}

void DecodeMatrixAccess(Decoder& d, const Statement& s, bool is_load) {
  if (!d.Operands(s, 2)) return;
  const size_t count = s.Has("x4") ? 4 : s.Has("x2") ? 2 : s.Has("x1") ? 1 : 0;
  if (count == 0 || !s.Has("m8n8") || !s.Has("b16")) return d.Unknown(s);
  const std::vector<const Operand*> elements = Decoder::Elements(s.operands[is_load ? 0 : 1]);
  if (elements.size() != count) return d.Fail("has another number of registers than matrices");
  std::vector<Slot> slots;
  for (const Operand* element : elements) {
    slots.push_back(is_load ? d.Result(*element, Type::kB32) : d.Source(*element, Type::kB32));
  }
  Instruction i;
  i.run = is_load ? LoadMatrices : StoreMatrices;
  i.list = d.AddList(slots);
  i.count = static_cast<int32_t>(count);
  i.y = s.Has("trans");
  const bool is_shared = s.Has("shared") || s.Has("shared::cta");
  d.SetAddress(s.operands[is_load ? 1 : 0], is_shared ? Space::kShared : Space::kGeneric, &i);
  d.Emit(s, i);
}
void DecodeLoadMatrix(Decoder& d, const Statement& s) { DecodeMatrixAccess(d, s, true); }
void DecodeStoreMatrix(Decoder& d, const Statement& s) { DecodeMatrixAccess(d, s, false); }

constexpr DecodeRow kRows[] = {
    {"mma", DecodeMultiply},
    {"ldmatrix", DecodeLoadMatrix},
    {"stmatrix", DecodeStoreMatrix},
};

}  // namespace

absl::Span<const DecodeRow> MatrixOps() { return kRows; }

}  // namespace xc::emulator
