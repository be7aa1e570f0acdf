// For tests: the HLO text files of the shared data.
#ifndef XC_HLO_TESTING_SAMPLE_MODULES_H_
#define XC_HLO_TESTING_SAMPLE_MODULES_H_

#include <string>
#include <vector>

namespace xc {

// Paths of the files NAME.hlo of a folder, sorted; none if there is no such folder.
std::vector<std::string> HloFiles(const std::string& folder);

// A file's content; "" if it cannot be read.
std::string ReadText(const std::string& path);

// The modules of a file: a few of the sample files hold several, one behind the other, and comments before the first.
std::vector<std::string> Modules(const std::string& text);

}  // namespace xc

#endif  // XC_HLO_TESTING_SAMPLE_MODULES_H_
