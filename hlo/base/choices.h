// Choices between forms of code that depend on sizes, kept the same for programs that differ in sizes alone: so that
// code made for one of them serves the others, with other numbers (GeneralProgram of backends/backend.h).
#ifndef XC_HLO_BASE_CHOICES_H_
#define XC_HLO_BASE_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace xc {

// Takes down what is chosen for one program, and then holds to it for another one. Both must ask for the same choices
// in the same order, as what differs in numbers alone does.
class Choices {
 public:
  bool replays() const { return replays_; }
  // From now on what was taken down is chosen, from the first choice on.
  void Replay();
  // A choice that any value is right for.
  int64_t Any(int64_t natural, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // A choice that 0 is right for whatever the sizes are, others only where they come about by themselves.
  int64_t Safe(int64_t natural, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // Around work that may be left out, since programs are right without it: whether to do it; after it, whether it did
  // something, or at least left traces that later work goes by. What did and left nothing for the program that was
  // taken down is not done for others.
  bool Begin(const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // Whether it did something for the program that was taken down, which the caller goes by.
  bool End(bool did, bool left_trace);
  // The programs differ in more than numbers; nothing is chosen any more.
  void Fail(const char* file = __builtin_FILE(), int line = __builtin_LINE());
  bool failed() const { return failed_; }
  // Which choice it was, as "file.cc:12"; empty if none failed.
  std::string where() const;
  // Whether nothing failed, and all that was taken down was asked for again.
  bool done() const { return !failed_ && (!replays_ || next_ == made_.size()); }
  int64_t bytes() const { return static_cast<int64_t>(made_.capacity() * sizeof(int64_t)); }

  // Those of the calling thread; null: every program for itself.
  static Choices* current();

 private:
  enum { kNothing, kDid, kLeftTrace };  // of work that may be left out
  std::vector<int64_t> made_;
  size_t next_ = 0;
  std::vector<size_t> begun_;  // places in made_, of work that is being done
  bool replays_ = false, failed_ = false;
  const char* file_ = "";
  int line_ = 0;
};

// Makes `choices` the calling thread's while it lives.
class ChoicesScope {
 public:
  explicit ChoicesScope(Choices* choices);
  ~ChoicesScope();
  ChoicesScope(const ChoicesScope&) = delete;
  ChoicesScope& operator=(const ChoicesScope&) = delete;

 private:
  Choices* const before_;
};

// Whether code is made that serves several sizes.
inline bool ForAllSizes() { return Choices::current() != nullptr; }

template <typename T>
T ChooseAny(T natural, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Choices* choices = Choices::current();
  return choices == nullptr ? natural : static_cast<T>(choices->Any(static_cast<int64_t>(natural), file, line));
}

template <typename T>
T ChooseSafe(T natural, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Choices* choices = Choices::current();
  return choices == nullptr ? natural : static_cast<T>(choices->Safe(static_cast<int64_t>(natural), file, line));
}

}  // namespace xc

#endif  // XC_HLO_BASE_CHOICES_H_
