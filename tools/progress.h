// What people see while they wait: a line on stderr, where that is a terminal, about whatever takes over two seconds;
// and what Ctrl-C leaves behind: nothing.
#ifndef XC_TOOLS_PROGRESS_H_
#define XC_TOOLS_PROGRESS_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace xc {

class Progress {
 public:
  // `what` as in "compiling". One at a time shows: the innermost.
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;

  // Says how far it is: "12 of 40 programs".
  void Set(std::string how_far);

 private:
  struct Ticker;
  std::unique_ptr<Ticker> ticker_;  // null where nobody looks
};

// Ctrl-C (and SIGTERM) end the process at once, whatever it does, without a line of progress or a temporary file left
// behind. Where the caller ignores these signals, they stay ignored.
void EndOnInterrupt();
// A file to remove then; at most one at a time. Empty: none.
void RemoveOnInterrupt(absl::string_view path);

}  // namespace xc

#endif  // XC_TOOLS_PROGRESS_H_
