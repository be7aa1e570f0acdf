#include "tools/progress.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#include "tools/units.h"

namespace xc {
namespace {

constexpr std::chrono::seconds kSilence{2};
constexpr std::chrono::milliseconds kStep{500};
constexpr char kClearLine[] = "\r\033[K";

std::atomic<bool> line_shown{false};
char removed_file[4096];

// Only functions that a signal handler may call.
void OnInterrupt(int signal_number) {
  ssize_t ignored = 0;
  if (line_shown) ignored = write(STDERR_FILENO, kClearLine, sizeof(kClearLine) - 1);
  (void)ignored;
  if (removed_file[0] != 0) unlink(removed_file);
  // The handler was reset: this ends the process, as its parent expects to see it.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  raise(signal_number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

struct Progress::Ticker {
  explicit Ticker(std::string what) : what(std::move(what)), thread([this] { Run(); }) {}
  ~Ticker() {
    {
      std::lock_guard<std::mutex> lock(mu);
      done = true;
    }
    changed.notify_one();
    thread.join();
    if (shown) {
      std::fputs(kClearLine, stderr);
      line_shown = false;
    }
  }
  void Run() {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock<std::mutex> lock(mu);
    for (auto next = start + kSilence; !done; next += kStep) {
      if (changed.wait_until(lock, next, [this] { return done; })) return;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      shown = line_shown = true;
      std::fprintf(
          stderr, "%s%s … %s%s%s", kClearLine, what.c_str(),
          seconds < 60 ? (std::to_string(static_cast<int>(seconds)) + " s").c_str() : HumanSeconds(seconds).c_str(),
          how_far.empty() ? "" : ", ", how_far.c_str());
      std::fflush(stderr);
    }
  }

  const std::string what;
  std::string how_far;
  bool done = false, shown = false;
  std::mutex mu;
  std::condition_variable changed;
  std::thread thread;  // last: it uses the others
};

Progress::Progress(std::string what) {
  if (!isatty(STDERR_FILENO)) return;
  try {
    ticker_ = std::make_unique<Ticker>(std::move(what));
  } catch (const std::system_error&) {  // there is no thread for it
  }
}

Progress::~Progress() = default;

void Progress::Set(std::string how_far) {
  if (ticker_ == nullptr) return;
  std::lock_guard<std::mutex> lock(ticker_->mu);
  ticker_->how_far = std::move(how_far);
}

void EndOnInterrupt() {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(signal_number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = OnInterrupt;
    action.sa_flags = SA_RESETHAND;
    sigaction(signal_number, &action, nullptr);
  }
}

void RemoveOnInterrupt(absl::string_view path) {
  removed_file[0] = 0;
  if (path.empty() || path.size() >= sizeof(removed_file)) return;
  std::memcpy(removed_file + 1, path.data() + 1, path.size() - 1);
  removed_file[path.size()] = 0;
  removed_file[0] = path[0];
}

}  // namespace xc
