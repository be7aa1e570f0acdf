// Links object files into one image ahead of time, so that loading it needs no linker.
#ifndef XC_BACKENDS_LOADER_LINK_IMAGE_H_
#define XC_BACKENDS_LOADER_LINK_IMAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/loader/program_file.h"

namespace xc {

// `bytes` receives the image, which the result's view is of. Objects are relocatable ELF files for x86-64 in
// position-independent code, as our code generator writes them; names that none defines become imports. Errors name
// the section or kind of relocation that this linker does not know.
absl::StatusOr<CodeImage> LinkImage(const std::vector<std::string>& objects, const std::string& entry,
                                    std::string* bytes);

}  // namespace xc

#endif  // XC_BACKENDS_LOADER_LINK_IMAGE_H_
