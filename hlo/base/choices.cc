#include "hlo/base/choices.h"

namespace xc {
namespace {

thread_local Choices* current_choices = nullptr;

}  // namespace

Choices* Choices::current() { return current_choices; }

void Choices::Replay() {
  replays_ = true;
  failed_ = false;
  next_ = 0;
  begun_.clear();
}

void Choices::Fail(const char* file, int line) {
  if (failed_) return;
  failed_ = true;
  file_ = file;
  line_ = line;
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
  if (!did && !left_trace) made_.resize(place + 1);  // what was chosen meanwhile is of no account
  made_[place] = did ? kDid : left_trace ? kLeftTrace : kNothing;
  return did;
}

int64_t Choices::Any(int64_t natural, const char* file, int line) {
  if (failed_) return natural;
  if (!replays_) {
    made_.push_back(natural);
    return natural;
  }
  if (next_ == made_.size()) {
    Fail(file, line);
    return natural;
  }
  return made_[next_++];
}

int64_t Choices::Safe(int64_t natural, const char* file, int line) {
  const int64_t chosen = Any(natural, file, line);
  if (chosen == 0 || chosen == natural) return chosen;
  Fail(file, line);
  return natural;
}

ChoicesScope::ChoicesScope(Choices* choices) : before_(current_choices) { current_choices = choices; }
ChoicesScope::~ChoicesScope() { current_choices = before_; }

}  // namespace xc
