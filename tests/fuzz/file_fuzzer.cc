// libFuzzer's entry point for the files beside a program: arrays (.npy) and the tables that index checkpoints. Input is
// taken as each of them, and as one block of a table whose checksums are right.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "jit/saved_model/table.h"
#include "jit/saved_model/table_writer.h"
#include "service/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > (1 << 20)) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (auto array = xc::ParseNpy(bytes); array.ok()) {
    // What was read is written and read again.
    if (!xc::ParseNpy(xc::ToNpy(*array)).ok()) std::abort();
  }
  (void)xc::ParseNpyStrings(bytes);
  (void)xc::ReadTable(bytes);
  xc::TableWriter table;
  const std::string block = table.AddBlock(bytes);
  (void)xc::ReadTable(table.Finish("z", block));
  return 0;
}
