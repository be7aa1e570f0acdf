// The form of emitted code: all of it but the numbers. Code of one form serves programs of several sizes when it reads
// the numbers that differ from a table, which each program brings.
#ifndef XC_BACKENDS_CPU_CODE_FORM_H_
#define XC_BACKENDS_CPU_CODE_FORM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/cpu/jit.h"
#include "hlo/analysis/fingerprint.h"

namespace xc::cpu {

// Names of functions' arguments by which the table is found: the table itself; the frame, which points to it.
inline constexpr char kSizesName[] = "xc.sizes";
inline constexpr char kFrameName[] = "xc.frame";
// How the names of kernels, and of the modules that hold them, begin.
inline constexpr char kKernelPrefix[] = "xc.k";

struct CodeForm {
  struct Module {
    std::string name;
    Fingerprint fingerprint;  // of all but the numbers
    size_t numbers = 0;       // up to the module's end
  };
  std::vector<Module> modules;
  // The numbers (constants that are operands, data that runtime functions are given) as bytes, one after the other.
  std::string numbers;
  std::vector<uint32_t> ends;  // where each of them ends

  absl::string_view number(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return absl::string_view(numbers).substr(begin, ends[i] - begin);
  }
};

CodeForm FormOf(std::vector<CodeModule>& modules);
// OK if they have one form; else Unimplemented, with the function that differs.
absl::Status SameForm(const CodeForm& a, const CodeForm& b);

// Which numbers are read from the table, and where.
class SizeTable {
 public:
  // Those that are not the same in all samples, which have one form. Numbers that are equal to each other in each
  // sample, and another number in each, have one place.
  explicit SizeTable(absl::Span<const CodeForm> samples);

  // Makes `modules`, the code of the first sample, read the table. Unimplemented: a function has no way to it.
  absl::Status Use(std::vector<CodeModule>& modules) const;
  // The table for a program. Unimplemented: it has another form. FailedPrecondition: a number that is part of the code
  // is another one, or two that share a place differ; with the program among the samples they would not.
  absl::StatusOr<std::string> Fill(const CodeForm& form) const;
  int64_t table_bytes() const { return bytes_; }
  // Of all that decides what Use makes of the first sample's code.
  Fingerprint identity() const;
  int64_t size_bytes() const;

 private:
  const CodeForm first_;
  std::vector<int32_t> places_;  // of each number; -1: part of the code
  int64_t bytes_ = 0;
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_CODE_FORM_H_
