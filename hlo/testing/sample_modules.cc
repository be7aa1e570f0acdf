#include "hlo/testing/sample_modules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace xc {

std::vector<std::string> HloFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Modules(const std::string& text) {
  std::vector<std::string> modules;
  for (size_t start = 0; start != std::string::npos;) {
    const size_t next = text.find("\nHloModule ", start);
    const std::string piece = text.substr(start, next == std::string::npos ? next : next + 1 - start);
    const bool comments = next != std::string::npos && start == 0 && piece.rfind("HloModule ", 0) != 0;
    if (!comments) modules.push_back(piece);
    start = next == std::string::npos ? next : next + 1;
  }
  return modules;
}

}  // namespace xc
