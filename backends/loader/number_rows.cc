#include "backends/loader/number_rows.h"

#include <algorithm>
#include <utility>

#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr size_t kMostKeyBases = 4;  // whose products are tried, of up to three

int64_t Affine(int64_t offset, int64_t factor, int64_t x) {
  return static_cast<int64_t>(static_cast<uint64_t>(offset) + static_cast<uint64_t>(factor) * static_cast<uint64_t>(x));
}

int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Whether `column` is offset + factor * basis; they differ in row 0 and another one.
bool Follows(const std::vector<int64_t>& column, const std::vector<int64_t>& basis, int64_t* factor, int64_t* offset) {
  size_t other = 1;
  while (other < basis.size() && basis[other] == basis[0]) ++other;
  int64_t run, rise;
  if (other == basis.size() || __builtin_sub_overflow(basis[other], basis[0], &run) ||
      __builtin_sub_overflow(column[other], column[0], &rise) || (run == -1 && rise == INT64_MIN) || rise % run != 0) {
    return false;
  }
  *factor = rise / run;
  *offset = Affine(column[0], -*factor, basis[0]);
  for (size_t r = 0; r < column.size(); ++r) {
    if (column[r] != Affine(*offset, *factor, basis[r])) return false;
  }
  return true;
}

}  // namespace

NumberRows::NumberRows(absl::Span<const std::vector<int64_t>> rows, int64_t keys)
    : rows_(static_cast<int64_t>(rows.size())), keys_(keys), first_(rows[0]) {
  std::vector<std::vector<int64_t>> values;  // of the bases
  std::vector<int64_t> of_keys;              // bases that are keys
  std::vector<int64_t> column(rows.size());
  const auto multiply = [&](int64_t a, int64_t b) {
    std::vector<int64_t> product(rows.size());
    for (size_t r = 0; r < rows.size(); ++r) product[r] = Product(values[a][r], values[b][r]);
    bases_.push_back({a, b, 0, 0, ""});
    values.push_back(std::move(product));
  };
  for (size_t c = 0; c < first_.size(); ++c) {
    bool same = true;
    for (size_t r = 0; r < rows.size(); ++r) {
      column[r] = rows[r][c];
      same = same && column[r] == column[0];
    }
    if (same) continue;
    Varying varying;
    varying.column = static_cast<int64_t>(c);
    const auto follows = [&] {
      for (size_t b = 0; b < values.size(); ++b) {
        varying.basis = static_cast<int64_t>(b);
        if (Follows(column, values[b], &varying.factor, &varying.offset)) return true;
      }
      return false;
    };
    if (!follows()) {
      Basis stored;
      stored.low = *std::min_element(column.begin(), column.end());
      uint64_t most = 0;
      for (const int64_t v : column)
        most = std::max(most, static_cast<uint64_t>(v) - static_cast<uint64_t>(stored.low));
      for (stored.width = 1; stored.width < 8 && most >> (8 * stored.width) != 0;) ++stored.width;
      for (const int64_t v : column) {
        const uint64_t more = static_cast<uint64_t>(v) - static_cast<uint64_t>(stored.low);
        for (int64_t i = 0; i < stored.width; ++i) stored.bytes.push_back(static_cast<char>(more >> (8 * i)));
      }
      varying.basis = static_cast<int64_t>(bases_.size());
      varying.factor = 1;
      varying.offset = 0;
      bases_.push_back(std::move(stored));
      values.push_back(column);
      if (static_cast<int64_t>(c) < keys && of_keys.size() < kMostKeyBases) {
        const int64_t key = varying.basis;
        of_keys.push_back(key);
        for (const int64_t other : of_keys) multiply(other, key);
        // Of three: this one by each product of two that there is.
        for (int64_t b = 0; b < static_cast<int64_t>(bases_.size()); ++b) {
          if (bases_[b].a >= 0 && bases_[bases_[b].a].a < 0) multiply(b, key);
        }
      }
    }
    varying_.push_back(varying);
  }
}

int64_t NumberRows::Value(int64_t r, int64_t basis) const {
  const Basis& b = bases_[basis];
  if (b.a >= 0) return Product(Value(r, b.a), Value(r, b.b));
  uint64_t more = 0;
  for (int64_t i = 0; i < b.width; ++i) {
    more |= uint64_t{static_cast<unsigned char>(b.bytes[r * b.width + i])} << (8 * i);
  }
  return static_cast<int64_t>(static_cast<uint64_t>(b.low) + more);
}

std::vector<int64_t> NumberRows::Row(int64_t r) const {
  std::vector<int64_t> row = first_;
  for (const Varying& v : varying_) row[v.column] = Affine(v.offset, v.factor, Value(r, v.basis));
  return row;
}

int64_t NumberRows::Key(int64_t r, int64_t k) const {
  for (const Varying& v : varying_) {
    if (v.column == k) return Affine(v.offset, v.factor, Value(r, v.basis));
    if (v.column > k) break;
  }
  return first_[k];
}

void NumberRows::Write(FileWriter* out) const {
  out->Number(rows_);
  out->Number(keys_);
  out->Numbers(first_);
  out->Number(static_cast<int64_t>(bases_.size()));
  for (const Basis& basis : bases_) {
    out->Number(basis.a + 1);
    out->Number(basis.b + 1);
    if (basis.a >= 0) continue;
    out->Number(basis.low);
    out->Number(basis.width);
    out->Text(basis.bytes);
  }
  out->Number(static_cast<int64_t>(varying_.size()));
  for (const Varying& v : varying_) {
    for (const int64_t number : {v.column, v.basis, v.factor, v.offset}) out->Number(number);
  }
}

absl::StatusOr<NumberRows> NumberRows::Read(FileReader* in) {
  const auto wrong = [] { return absl::InvalidArgumentError("a table of sizes does not fit together"); };
  constexpr int64_t kMostFactors = 3;
  NumberRows out;
  XC_ASSIGN_OR_RETURN(out.rows_, in->Bounded(INT64_MAX, "a number of sizes"));
  XC_ASSIGN_OR_RETURN(out.keys_, in->Bounded(INT64_MAX, "a number of sizes"));
  XC_ASSIGN_OR_RETURN(out.first_, in->Numbers());
  if (out.rows_ == 0 || out.keys_ > static_cast<int64_t>(out.first_.size())) return wrong();
  XC_ASSIGN_OR_RETURN(const int64_t bases, in->Count(16));
  bool stored = false;
  std::vector<int64_t> factors;  // of each basis
  for (int64_t i = 0; i < bases; ++i) {
    Basis& basis = out.bases_.emplace_back();
    XC_ASSIGN_OR_RETURN(basis.a, in->Bounded(i, "a number of sizes"));
    XC_ASSIGN_OR_RETURN(basis.b, in->Bounded(i, "a number of sizes"));
    if ((--basis.a < 0) != (--basis.b < 0)) return wrong();
    factors.push_back(basis.a < 0 ? 1 : factors[basis.a] + factors[basis.b]);
    if (factors.back() > kMostFactors) return wrong();
    if (basis.a >= 0) continue;
    XC_ASSIGN_OR_RETURN(basis.low, in->Number());
    XC_ASSIGN_OR_RETURN(basis.width, in->Bounded(8, "a width"));
    XC_ASSIGN_OR_RETURN(const absl::string_view bytes, in->Text());
    const auto size = static_cast<int64_t>(bytes.size());
    if (basis.width == 0 || size % basis.width != 0 || size / basis.width != out.rows_) return wrong();
    basis.bytes = std::string(bytes);
    stored = true;
  }
  if (!stored && out.rows_ > 1) return wrong();
  XC_ASSIGN_OR_RETURN(const int64_t varying, in->Count(32));
  int64_t column = -1;
  for (int64_t i = 0; i < varying; ++i) {
    Varying& v = out.varying_.emplace_back();
    for (int64_t* number : {&v.column, &v.basis, &v.factor, &v.offset}) {
      XC_ASSIGN_OR_RETURN(*number, in->Number());
    }
    if (v.column <= column || v.column >= static_cast<int64_t>(out.first_.size())) return wrong();
    if (v.basis < 0 || v.basis >= bases) return wrong();
    column = v.column;
  }
  return out;
}

}  // namespace xc
