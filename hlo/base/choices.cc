#include "hlo/base/choices.h"

namespace xc {
namespace {

thread_local Choices* current_choices = nullptr;

// Each choice takes two places: what was chosen, and where in the compiler, so that none is taken for another one where
// programs differ in more than numbers.
constexpr size_t kPlaces = 2;
constexpr char kAttempt[] = "attempt";

int64_t SiteOf(const char* file, int line) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(file) * 65536u + static_cast<uintptr_t>(line));
}

}  // namespace

Choices* Choices::current() { return current_choices; }

void Choices::Replay() {
  replays_ = true;
  failed_ = false;
  wrong_ = kNoPlace;
  next_ = 0;
  begun_.clear();
}

void Choices::Fail(const char* file, int line) {
  if (failed_) return;
  failed_ = true;
  file_ = file;
  line_ = line;
}

void Choices::FailAt(size_t place, const char* file, int line) {
  if (!failed_) wrong_ = place;
  Fail(file, line);
}

void Choices::Restart() {
  Replay();
  replays_ = false;
  made_.clear();
}

void Choices::GiveUp() {
  if (wrong_ < made_.size()) given_up_.insert({wrong_, made_[wrong_]});
  Restart();
}

std::string Choices::where() const {
  const std::string path = file_;
  return failed_ ? path.substr(path.rfind('/') + 1) + ":" + std::to_string(line_) : "";
}

bool Choices::Begin(const char* file, int line) {
  const size_t place = replays_ ? next_ : made_.size();
  const int64_t did = Any(kDid, file, line);
  if (did != kNothing) begun_.push_back(place);
  return did != kNothing;
}

bool Choices::End(bool did, bool left_trace) {
  const size_t place = begun_.back();
  begun_.pop_back();
  if (failed_) return did;
  if (replays_) return made_[place] == kDid;
  if (!did && !left_trace) made_.resize(place + kPlaces);  // what was chosen meanwhile is of no account
  made_[place] = did ? kDid : left_trace ? kLeftTrace : kNothing;
  return did;
}

int64_t Choices::Any(int64_t natural, const char* file, int line) {
  if (failed_) return natural;
  if (!replays_) {
    made_.insert(made_.end(), {natural, SiteOf(file, line)});
    return natural;
  }
  if (next_ == made_.size() || made_[next_ + 1] != SiteOf(file, line)) {
    Fail(file, line);
    return natural;
  }
  next_ += kPlaces;
  return made_[next_ - kPlaces];
}

int64_t Choices::Safe(int64_t natural, const char* file, int line) {
  return Checked(
      natural, 0, [natural](int64_t chosen) { return chosen == natural; }, file, line);
}

Attempts::Attempts() : choices_(Choices::current()) { Read(); }

void Attempts::Read() {
  if (!replays()) return;
  place_ = choices_->next_;
  next_ = choices_->Any(-1, kAttempt, 0);
  if (choices_->failed_) next_ = -1;
}

bool Attempts::Wanted(int64_t n) {
  if (choices_ == nullptr) return true;
  if (choices_->replays_) return next_ >= 0 && next() == n;
  if (choices_->failed_) return true;
  place_ = choices_->made_.size();
  const auto& given_up = choices_->given_up_;
  if (given_up.contains({place_, 2 * n}) || given_up.contains({place_, 2 * n + 1})) return false;
  choices_->Any(2 * n + 1, kAttempt, 0);
  return true;
}

void Attempts::Attempted(bool succeeded, bool left_trace) {
  if (choices_ == nullptr || choices_->failed_) return;
  if (choices_->replays_) {
    if (succeeded != (next_ % 2 == 1)) choices_->FailAt(place_);
    Read();
  } else if (!succeeded && left_trace) {
    --choices_->made_[place_];
  } else if (!succeeded) {
    choices_->made_.resize(place_);  // what was chosen meanwhile is of no account
  }
}

void Attempts::Done() {
  if (choices_ == nullptr || choices_->failed_) return;
  if (!choices_->replays_) {
    choices_->Any(-1, kAttempt, 0);
  } else if (next_ >= 0) {
    choices_->FailAt(place_);  // the attempt did not come about
  }
}

ChoicesScope::ChoicesScope(Choices* choices) : before_(current_choices) { current_choices = choices; }
ChoicesScope::~ChoicesScope() { current_choices = before_; }

}  // namespace xc
