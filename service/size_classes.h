// The sizes of one function's signatures: which vary, which are always equal, which follow from others, and values of
// them to try code for all sizes out with.
#ifndef XC_SERVICE_SIZE_CLASSES_H_
#define XC_SERVICE_SIZE_CLASSES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace xc {

class SizeClasses {
 public:
  // Adds a signature: its sizes, as many as the first one had.
  void Add(const std::vector<int64_t>& sizes);
  int signatures() const { return signatures_; }

  // The class of size number `i`: sizes of one class have been equal in all signatures.
  int Of(size_t i) const { return classes_[i]; }
  // Whether size number `i` was different in any two signatures.
  bool Varies(size_t i) const { return varies_[classes_[i]]; }

  // How samples come about, in the order to try them in: each class by itself; the same with multiples of what all its
  // sizes have been multiples of (images for networks that halve and double them); with classes that have been
  // functions of others (a half rounded up, one less, a product), in each way to round that the signatures allow, first
  // with smaller sizes as parts of larger ones, then with larger ones as multiples of smaller ones; and all of these
  // with no size above what has been seen, for programs that have limits, such as the rows of a table of positions.
  // What a sample assumes need not be so: it is the program of other sizes that says what code serves.
  static constexpr int kWaysToRound = 4;
  static constexpr int kWays = 2 * (2 + 2 * kWaysToRound);
  // The sizes of sample number `which` (GeneralCode::SampleSize). Unimplemented: nothing follows from anything, or is
  // a multiple, and so this way is none; or sizes have too few values.
  absl::StatusOr<std::vector<int64_t>> Sample(int which, int way) const;

 private:
  // What a class is: multiple * a (* b) + offset, or floor((a + offset) / divisor).
  struct Relation {
    int a = -1, b = -1;  // classes; -1: none
    int64_t multiple = 1, divisor = 1;
    int64_t lowest = 0, highest = 0;  // offsets that all signatures have
  };
  // By class, of those that follow from others; there are no cycles.
  std::map<int, Relation> Relations(bool multiples) const;
  // What all sizes of a class have been multiples of.
  int64_t CommonDivisor(int of_class) const;

  static constexpr size_t kMostKept = 16;
  int signatures_ = 0;
  std::vector<std::vector<int64_t>> kept_;  // the sizes of the first signatures
  std::vector<int> classes_;
  std::vector<bool> varies_;      // of each class
  std::vector<int64_t> largest_;  // of each class
};

}  // namespace xc

#endif  // XC_SERVICE_SIZE_CLASSES_H_
