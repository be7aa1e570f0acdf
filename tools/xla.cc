// `xla`: one command with subcommands to replay, check, optimize, view and cluster programs.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/suggest.h"
#include "tools/commands.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/stdin_file.h"
#include "tools/tool.h"
#include "tools/version.h"

namespace xc {
namespace {

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>&);
  const char* about;
};

constexpr Command kCommands[] = {
    {"replay", ReplayCommand, "compile and run an HLO module or a dumped bundle; compare platforms"},
    {"check", CheckCommand, "run self-checking HLO programs of a manifest"},
    {"graph", GraphCommand, "run a host graph, clustered or op by op, and explain its clusters"},
    {"compile", CompileCommand, "compile a module ahead of time, to run without a compiler"},
    {"opt", OptCommand, "run the pass list on a module and print the result"},
    {"reduce", ReduceCommand, "shrink a failing module to a small one that fails in the same way"},
    {"view", ViewCommand, "draw a module as HTML, SVG or dot"},
};

std::string Usage() {
  std::string text = "usage: xla COMMAND [ARGUMENTS]; `xla COMMAND --help` says more\n\ncommands:\n";
  for (const Command& command : kCommands) {
    std::string name = command.name;
    name.resize(std::max<size_t>(name.size(), 8), ' ');
    absl::StrAppend(&text, "  ", name, " ", command.about, "\n");
  }
  absl::StrAppend(&text,
                  "\nflags:\n  --version   which xla this is: commit, LLVM, processor\n  --json      (of each command) "
                  "one line of JSON on stdout, for errors too\n\nA FILE `-` is standard input.\n"
                  "\nexamples:\n  xla replay module.hlo --against=interpreter\n  xla view module.hlo -o module.html\n"
                  "\nexit status: 0 fine, 1 wrong result, 2 bad input or usage");
  return text;
}

// Whether --json is among the arguments, which also a usage error must know.
bool JsonWanted(const std::vector<std::string>& args) {
  bool wanted = false;
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (arg == "--json" || arg == "-json") wanted = true;
    if (arg == "--nojson") wanted = false;
    if (bool value; absl::StartsWith(arg, "--json=") && absl::SimpleAtob(arg.substr(7), &value)) wanted = value;
  }
  return wanted;
}

void ShowHelp(const std::string& text) {
  Report::Get().fields.Add("help", text);
  Report::Get().Line(text);
}

int Run(std::vector<std::string> args) {
  const auto is_json = [](const std::string& arg) { return absl::StartsWith(arg, "--json"); };
  while (!args.empty() && is_json(args[0])) args.erase(args.begin());
  if (args.empty()) {
    std::fprintf(stderr, "%s\n", Usage().c_str());
    return Fail(absl::InvalidArgumentError("a command is missing"));
  }
  const std::string name = args[0];
  args.erase(args.begin());
  if (name == "--help" || name == "-h" || name == "help") {
    // `xla help COMMAND` is `xla COMMAND --help`.
    if (name != "help" || args.empty() || is_json(args[0])) {
      ShowHelp(Usage());
      return 0;
    }
    std::vector<std::string> again = {args[0], "--help"};
    return Run(again);
  }
  if (name == "--version" || name == "version") {
    ReportVersion();
    return 0;
  }
  std::vector<std::string> names = {"help", "version"};
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(args);
    names.push_back(command.name);
  }
  return Fail(absl::InvalidArgumentError(absl::StrCat(
      "unknown command '", name, "': `xla --help` lists those that there are", DidYouMean(name, names, "xla "))));
}

}  // namespace

int Fail(const absl::Status& status) {
  const absl::Status named(status.code(), NameStdin(std::string(status.message())));
  std::fprintf(stderr, "error: %s\n", std::string(named.message()).c_str());
  Report::Get().SetError(named);
  return 2;
}

bool ParseFlags(FlagSet& flags, const std::vector<std::string>& args, int* exit_status) {
  flags.Add("json", &Report::Get().json, "print one line of JSON, whatever comes of it");
  absl::Status status = flags.Parse(args);
  if (flags.help_wanted()) {
    ShowHelp(flags.Help());
    *exit_status = 0;
    return false;
  }
  for (std::string& argument : *flags.mutable_positional()) {
    if (!status.ok() || argument != "-") continue;
    absl::StatusOr<std::string> path = StdinFile();
    status = path.status();
    if (path.ok()) argument = *path;
  }
  if (status.ok()) return true;
  *exit_status = Fail(status);
  return false;
}

}  // namespace xc

int xc_tool_main(int argc, char** argv) {
  xc::EndOnInterrupt();
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  xc::Report::Get().json = xc::JsonWanted(args);
  const int status = xc::Run(args);
  xc::Report::Get().Finish();
  return status;
}
