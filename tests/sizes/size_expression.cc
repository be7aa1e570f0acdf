#include "tests/sizes/size_expression.h"

#include <algorithm>
#include <numeric>

namespace xc {

SizeExpression::SizeExpression(int64_t number) { Add({}, number); }

SizeExpression SizeExpression::Unknown(int id) {
  SizeExpression e;
  e.Add({id}, 1);
  return e;
}

void SizeExpression::Add(const std::vector<int>& product, int64_t coefficient) {
  if (coefficient == 0) return;
  auto [it, fresh] = terms_.try_emplace(product, 0);
  it->second += coefficient;
  if (it->second == 0) terms_.erase(it);
}

std::optional<int64_t> SizeExpression::AsNumber() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

SizeExpression SizeExpression::operator+(const SizeExpression& other) const {
  SizeExpression sum = *this;
  for (const auto& [product, coefficient] : other.terms_) sum.Add(product, coefficient);
  return sum;
}

SizeExpression SizeExpression::operator-(const SizeExpression& other) const {
  SizeExpression difference = *this;
  for (const auto& [product, coefficient] : other.terms_) difference.Add(product, -coefficient);
  return difference;
}

SizeExpression SizeExpression::operator*(const SizeExpression& other) const {
  SizeExpression all;
  for (const auto& [a, x] : terms_) {
    for (const auto& [b, y] : other.terms_) {
      std::vector<int> product;
      std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(product));
      all.Add(product, x * y);
    }
  }
  return all;
}

SizeExpression UnknownSizes::Fresh(int64_t original) {
  if (original <= 1) return SizeExpression(original);
  unknowns_.push_back({original, {}, {}, 1});
  return SizeExpression::Unknown(static_cast<int>(unknowns_.size()) - 1);
}

SizeExpression UnknownSizes::Quotient(const SizeExpression& dividend, int64_t divisor) {
  if (divisor == 1) return dividend;
  const int64_t original = Original(dividend) / divisor;
  unknowns_.push_back({original, {}, dividend, divisor});
  return SizeExpression::Unknown(static_cast<int>(unknowns_.size()) - 1);
}

SizeExpression UnknownSizes::Normal(const SizeExpression& e) const {
  SizeExpression normal;
  for (const auto& [product, coefficient] : e.terms()) {
    SizeExpression term(coefficient);
    for (int id : product) {
      const Unknown& u = unknowns_[id];
      const bool known = u.dividend && Normal(*u.dividend).AsNumber();
      term = term * (u.is ? Normal(*u.is) : known ? SizeExpression(u.original) : SizeExpression::Unknown(id));
    }
    normal = normal + term;
  }
  return normal;
}

std::set<int> UnknownSizes::Free(const SizeExpression& e) const {
  std::set<int> free;
  const SizeExpression normal = Normal(e);
  for (const auto& [product, coefficient] : normal.terms()) {
    for (int id : product) {
      if (unknowns_[id].dividend) {
        free.merge(Free(*unknowns_[id].dividend));
      } else {
        free.insert(id);
      }
    }
  }
  return free;
}

int64_t UnknownSizes::Value(const SizeExpression& e, const std::map<int, int64_t>& values) const {
  int64_t sum = 0;
  for (const auto& [product, coefficient] : e.terms()) {
    int64_t term = coefficient;
    for (int id : product) {
      const Unknown& u = unknowns_[id];
      const auto it = values.find(id);
      term *= u.is         ? Value(*u.is, values)
              : u.dividend ? Value(*u.dividend, values) / u.divisor
                           : (it == values.end() ? u.original : it->second);
    }
    sum += term;
  }
  return sum;
}

int64_t UnknownSizes::Original(const SizeExpression& e) const { return Value(e, {}); }

void UnknownSizes::Fix(const SizeExpression& e) {
  for (int id : Free(e)) unknowns_[id].is = SizeExpression(unknowns_[id].original);
}

void UnknownSizes::Equate(const SizeExpression& a, const SizeExpression& b) {
  const SizeExpression difference = Normal(a - b);
  if (difference.AsNumber()) return;
  // Without what all terms have in common.
  std::vector<int> common = difference.terms().begin()->first;
  int64_t divisor = 0;
  for (const auto& [product, coefficient] : difference.terms()) {
    std::vector<int> both;
    std::set_intersection(common.begin(), common.end(), product.begin(), product.end(), std::back_inserter(both));
    common = std::move(both);
    divisor = std::gcd(divisor, coefficient);
  }
  SizeExpression rest;
  for (const auto& [product, coefficient] : difference.terms()) {
    std::vector<int> left;
    std::set_difference(product.begin(), product.end(), common.begin(), common.end(), std::back_inserter(left));
    rest.Add(left, coefficient / divisor);
  }
  // An unknown that the equation gives, best as a sum without differences.
  int best = -1;
  bool best_is_sum = false;
  for (const auto& [product, coefficient] : rest.terms()) {
    if (product.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
    const int id = product[0];
    if (unknowns_[id].dividend) continue;
    SizeExpression others = rest;
    others.Add(product, -coefficient);
    if (Free(others).contains(id)) continue;
    const bool is_sum = std::all_of(others.terms().begin(), others.terms().end(),
                                    [&, sign = coefficient](const auto& term) { return term.second * sign < 0; });
    if (best >= 0 && (best_is_sum || !is_sum)) continue;
    best = id;
    best_is_sum = is_sum;
  }
  if (best < 0) return Fix(difference);
  const int64_t coefficient = rest.terms().at({best});
  SizeExpression others = rest;
  others.Add({best}, -coefficient);
  unknowns_[best].is = others * SizeExpression(-coefficient);
}

}  // namespace xc
