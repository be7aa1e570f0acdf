// Sizes as polynomials of unknown ones, and what equations between sizes say about the unknowns.
#ifndef XC_TESTS_SIZES_SIZE_EXPRESSION_H_
#define XC_TESTS_SIZES_SIZE_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace xc {

// A sum of products of unknowns (by number, sorted), each with a coefficient that is not 0.
class SizeExpression {
 public:
  SizeExpression(int64_t number = 0);  // NOLINT: numbers are sizes
  static SizeExpression Unknown(int id);

  const std::map<std::vector<int>, int64_t>& terms() const { return terms_; }
  void Add(const std::vector<int>& product, int64_t coefficient);
  std::optional<int64_t> AsNumber() const;

  SizeExpression operator+(const SizeExpression& other) const;
  SizeExpression operator-(const SizeExpression& other) const;
  SizeExpression operator*(const SizeExpression& other) const;

 private:
  std::map<std::vector<int>, int64_t> terms_;
};

// Unknown sizes, each with the value that it has in a program that is there. Equations hold for these values; those
// that leave no freedom fix the unknowns in them to their values.
class UnknownSizes {
 public:
  // An unknown that is `original` in the program; 0 and 1 stay what they are.
  SizeExpression Fresh(int64_t original);
  // The quotient, rounded down.
  SizeExpression Quotient(const SizeExpression& dividend, int64_t divisor);
  void Equate(const SizeExpression& a, const SizeExpression& b);
  void Fix(const SizeExpression& e);

  // In terms of the unknowns that no equation determines.
  SizeExpression Normal(const SizeExpression& e) const;
  // The unknowns that `e` depends on, of those that no equation determines.
  std::set<int> Free(const SizeExpression& e) const;
  int64_t Original(int id) const { return unknowns_[id].original; }
  int64_t Original(const SizeExpression& e) const;
  // With these values of unknowns, and the original ones of all others.
  int64_t Value(const SizeExpression& e, const std::map<int, int64_t>& values) const;

 private:
  struct Unknown {
    int64_t original = 0;
    std::optional<SizeExpression> is;        // what an equation says
    std::optional<SizeExpression> dividend;  // of a quotient
    int64_t divisor = 1;
  };
  std::vector<Unknown> unknowns_;
};

}  // namespace xc

#endif  // XC_TESTS_SIZES_SIZE_EXPRESSION_H_
