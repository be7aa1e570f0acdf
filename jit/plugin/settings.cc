#include "jit/plugin/settings.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// One setting: how it is read from text (false if the text is wrong) and written.
struct Row {
  const char* key;
  std::function<bool(const std::string&, PluginSettings*)> read;
  std::function<std::string(const PluginSettings&)> write;
};

Row BoolRow(const char* key, bool PluginSettings::*field) {
  return {key, [field](const std::string& text, PluginSettings* s) { return absl::SimpleAtob(text, &(s->*field)); },
          [field](const PluginSettings& s) { return std::string(s.*field ? "1" : "0"); }};
}

Row IntRow(const char* key, int PluginSettings::*field) {
  return {key,
          [field](const std::string& text, PluginSettings* s) {
            int value = 0;
            if (!absl::SimpleAtoi(text, &value) || value < 0) return false;
            s->*field = value;
            return true;
          },
          [field](const PluginSettings& s) { return absl::StrCat(s.*field); }};
}

Row OpsRow(const char* key, std::set<std::string> MarkOptions::*field) {
  return {key,
          [field](const std::string& text, PluginSettings* s) {
            std::vector<std::string> ops = absl::StrSplit(text, ',', absl::SkipEmpty());
            s->mark.*field = std::set<std::string>(ops.begin(), ops.end());
            return true;
          },
          [field](const PluginSettings& s) { return absl::StrJoin(s.mark.*field, ","); }};
}

constexpr const char* kPolicies[] = {"now", "lazy", "background"};

const std::vector<Row>& Rows() {
  static const auto* rows = new std::vector<Row>{
      BoolRow("enabled", &PluginSettings::enabled),
      {"policy",
       [](const std::string& text, PluginSettings* s) {
         for (int i = 0; i < 3; ++i) {
           if (text == kPolicies[i]) {
             s->policy = static_cast<PluginPolicy>(i);
             return true;
           }
         }
         return false;
       },
       [](const PluginSettings& s) { return std::string(kPolicies[static_cast<int>(s.policy)]); }},
      {"min_cluster_size",
       [](const std::string& text, PluginSettings* s) {
         int value = 0;
         if (!absl::SimpleAtoi(text, &value) || value < 0) return false;
         s->mark.min_cluster_size = value;
         return true;
       },
       [](const PluginSettings& s) { return absl::StrCat(s.mark.min_cluster_size); }},
      OpsRow("allow", &MarkOptions::allow),
      OpsRow("deny", &MarkOptions::deny),
      IntRow("lazy_runs", &PluginSettings::lazy_runs),
      IntRow("wait_ms", &PluginSettings::wait_ms),
      IntRow("max_shapes", &PluginSettings::max_shapes),
      BoolRow("buckets", &PluginSettings::buckets),
      IntRow("threads", &PluginSettings::threads),
      BoolRow("cost_gate", &PluginSettings::cost_gate),
      BoolRow("caller_thread", &PluginSettings::caller_thread),
      BoolRow("log", &PluginSettings::log),
      {"dump_dir",
       [](const std::string& text, PluginSettings* s) {
         s->dump_dir = text;
         return true;
       },
       [](const PluginSettings& s) { return s.dump_dir; }},
  };
  return *rows;
}

absl::Status Set(const std::string& key, const std::string& value, PluginSettings* settings) {
  std::vector<std::string> keys;
  for (const Row& row : Rows()) {
    if (key != row.key) {
      keys.push_back(row.key);
      continue;
    }
    if (row.read(value, settings)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("setting '", key, "' cannot be '", value, "'"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no setting '", key, "'; there are ", absl::StrJoin(keys, ", ")));
}

struct State {
  std::mutex mutex;
  PluginSettings settings;
  // Of `settings`, to be read without the mutex.
  std::atomic<int> threads{0};
  std::atomic<bool> cost_gate{true};
  std::atomic<bool> caller_thread{true};
  std::vector<void (*)()> listeners;

  State() {
    settings.mark.resources = false;
    for (const Row& row : Rows()) {
      std::string variable = absl::StrCat("XC_TF_", absl::AsciiStrToUpper(row.key));
      const char* text = std::getenv(variable.c_str());
      if (text != nullptr && !row.read(text, &settings)) {
        std::fprintf(stderr, "xla.tf: %s=%s is not understood and has no effect\n", variable.c_str(), text);
      }
    }
    Publish();
  }

  void Publish() {
    threads = settings.threads;
    cost_gate = settings.cost_gate;
    caller_thread = settings.caller_thread;
  }
};

State& Current() {
  static auto* state = new State;
  return *state;
}

}  // namespace

PluginSettings CurrentPluginSettings() {
  std::lock_guard<std::mutex> lock(Current().mutex);
  return Current().settings;
}

static absl::Status ReadLines(const std::string& lines, PluginSettings* settings) {
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(lines, '\n', absl::SkipEmpty()))) {
    std::pair<std::string, std::string> kv = absl::StrSplit(line, absl::MaxSplits('=', 1));
    XC_RETURN_IF_ERROR(Set(kv.first, kv.second, settings));
  }
  return absl::OkStatus();
}

absl::Status ConfigurePlugin(const std::string& lines) {
  std::vector<void (*)()> listeners;
  {
    std::lock_guard<std::mutex> lock(Current().mutex);
    PluginSettings changed = Current().settings;
    XC_RETURN_IF_ERROR(ReadLines(lines, &changed));
    Current().settings = std::move(changed);
    Current().Publish();
    listeners = Current().listeners;
  }
  for (void (*listener)() : listeners) listener();
  return absl::OkStatus();
}

void OnConfigurePlugin(void (*changed)()) {
  std::lock_guard<std::mutex> lock(Current().mutex);
  Current().listeners.push_back(changed);
}

std::string DescribePluginSettings() {
  PluginSettings settings = CurrentPluginSettings();
  std::string out;
  for (const Row& row : Rows()) absl::StrAppend(&out, row.key, "=", row.write(settings), "\n");
  return out;
}

int PluginThreads() { return Current().threads.load(std::memory_order_relaxed); }
bool PluginCallerThread() { return Current().caller_thread.load(std::memory_order_relaxed); }
bool PluginCostGate() { return Current().cost_gate.load(std::memory_order_relaxed); }

}  // namespace xc
