// Choices between forms of code that depend on sizes, kept the same for programs that differ in sizes alone: so that
// code made for one of them serves the others, with other numbers (GeneralProgram of backends/backend.h).
#ifndef XC_HLO_BASE_CHOICES_H_
#define XC_HLO_BASE_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
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
  // A choice that `always` is right for whatever the sizes are, others only where right(chosen) says so of the program
  // at hand.
  template <typename Right>
  int64_t Checked(int64_t natural, int64_t always, Right right, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    if (!replays_ && given_up_.contains({made_.size(), natural})) natural = always;
    const size_t place = next_;
    const int64_t chosen = Any(natural, file, line);
    if (failed_ || !replays_ || chosen == always || right(chosen)) return chosen;
    FailAt(place, file, line);
    return natural;
  }
  // The same with 0, and others only where they come about by themselves.
  int64_t Safe(int64_t natural, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // Around work that may be left out, since programs are right without it: whether to do it; after it, whether it did
  // something, or at least left traces that later work goes by. What did and left nothing for the program that was
  // taken down is not done for others.
  bool Begin(const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // Whether it did something for the program that was taken down, which the caller goes by.
  bool End(bool did, bool left_trace);
  // The programs differ in more than numbers; nothing is chosen any more.
  void Fail(const char* file = __builtin_FILE(), int line = __builtin_LINE());
  // The same because of what was chosen at `place`, which need not have been chosen.
  void FailAt(size_t place, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  bool failed() const { return failed_; }
  // Whether a choice that need not have been made was wrong for the program at hand.
  bool may_give_up() const { return failed_ && wrong_ != kNoPlace; }
  // Begins anew, to take down what is chosen for the first program: the same as before, or the same but for that
  // choice.
  void Restart();
  void GiveUp();
  // Which choice it was, as "file.cc:12"; empty if none failed.
  std::string where() const;
  // Whether nothing failed, and all that was taken down was asked for again.
  bool done() const { return !failed_ && (!replays_ || next_ == made_.size()); }
  int64_t bytes() const { return static_cast<int64_t>(made_.capacity() * sizeof(int64_t)); }

  // Those of the calling thread; null: every program for itself.
  static Choices* current();

 private:
  friend class Attempts;
  enum { kNothing, kDid, kLeftTrace };  // of work that may be left out
  static constexpr size_t kNoPlace = SIZE_MAX;
  std::vector<int64_t> made_;
  std::set<std::pair<size_t, int64_t>> given_up_;  // places in made_, with what would be there
  size_t wrong_ = kNoPlace;                        // the place that GiveUp gives up
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

// Attempts at something, such as rewriting one instruction by one rule, of which few succeed. Each has a number;
// numbers grow. For further programs only what succeeded for the first one is attempted, which must succeed there as
// well; programs are right without any of them. With no choices to be held to, everything is attempted.
class Attempts {
 public:
  Attempts();
  // Whether to attempt number `n`; then Attempted says what became of it: whether it succeeded, or at least left traces
  // that later work goes by. All that is chosen in between belongs to the attempt.
  bool Wanted(int64_t n);
  void Attempted(bool succeeded, bool left_trace = false);
  // Whether only the attempt with this number, and none with lower ones, is wanted.
  bool replays() const { return choices_ != nullptr && choices_->replays_; }
  int64_t next() const { return next_ >> 1; }
  // There are no further ones.
  void Done();

 private:
  void Read();
  Choices* const choices_;
  size_t place_ = 0;   // in the choices, of the attempt
  int64_t next_ = -1;  // of the replay: twice the number, plus 1 if it is to succeed; -1: none
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
