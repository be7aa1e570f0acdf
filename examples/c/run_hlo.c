/* Compiles an HLO file with the core library, opened at run time as a host program would, and runs it on ones.
 *
 *   gcc -I. examples/c/run_hlo.c -ldl -o run_hlo && ./run_hlo bazel-bin/libxc.so examples/small.hlo
 *
 * The library is opened with RTLD_LOCAL | RTLD_DEEPBIND, so that its own LLVM, protobuf and Abseil and those of the
 * host do not meet. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/xc.h"

#define LOAD(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(library, #name)

static int fail(const char* what, const char* message) {
  fprintf(stderr, "error: %s: %s\n", what, message);
  return 2;
}

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return NULL;
  char* text = NULL;
  *size = 0;
  char buffer[65536];
  size_t n;
  while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) {
    char* grown = realloc(text, *size + n);
    if (grown == NULL) break;
    text = grown;
    memcpy(text + *size, buffer, n);
    *size += n;
  }
  fclose(file);
  return text;
}

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage", "run_hlo LIBXC.so MODULE.hlo");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == NULL) return fail("dlopen", dlerror());
  LOAD(xc_compile_hlo);
  LOAD(xc_status_message);
  LOAD(xc_status_free);
  LOAD(xc_executable_num_inputs);
  LOAD(xc_executable_num_outputs);
  LOAD(xc_executable_input);
  LOAD(xc_executable_output);
  LOAD(xc_executable_run);
  LOAD(xc_executable_free);
  if (p_xc_compile_hlo == NULL || p_xc_executable_run == NULL) return fail(argv[1], "is not the core library");

  size_t size = 0;
  char* hlo = read_file(argv[2], &size);
  if (hlo == NULL) return fail(argv[2], "cannot be read");
  xc_executable* executable = NULL;
  xc_status* status = p_xc_compile_hlo(hlo, size, "platform=cpu", &executable);
  free(hlo);
  if (status != NULL) {
    fail("compile", p_xc_status_message(status));
    p_xc_status_free(status);
    return 2;
  }
  size_t num_inputs = p_xc_executable_num_inputs(executable), num_outputs = p_xc_executable_num_outputs(executable);
  void** inputs = calloc(num_inputs + 1, sizeof(void*));
  void** outputs = calloc(num_outputs + 1, sizeof(void*));
  for (size_t i = 0; i < num_inputs; ++i) {
    xc_shape shape = p_xc_executable_input(executable, i);
    inputs[i] = calloc(shape.bytes + 64, 1);
    if (shape.element_type == 11) { /* f32 */
      for (size_t e = 0; e < shape.bytes / 4; ++e) ((float*)inputs[i])[e] = 1.0f;
    }
  }
  for (size_t i = 0; i < num_outputs; ++i) outputs[i] = calloc(p_xc_executable_output(executable, i).bytes + 64, 1);
  status = p_xc_executable_run(executable, (const void* const*)inputs, num_inputs, outputs, num_outputs, 1);
  int result = 0;
  if (status != NULL) {
    result = fail("run", p_xc_status_message(status));
    p_xc_status_free(status);
  } else {
    for (size_t i = 0; i < num_outputs; ++i) {
      xc_shape shape = p_xc_executable_output(executable, i);
      printf("output %zu: rank %d, %zu bytes", i, shape.rank, shape.bytes);
      if (shape.element_type == 11 && shape.bytes >= 4) printf(", first element %g", ((float*)outputs[i])[0]);
      printf("\n");
    }
  }
  for (size_t i = 0; i < num_inputs; ++i) free(inputs[i]);
  for (size_t i = 0; i < num_outputs; ++i) free(outputs[i]);
  free(inputs);
  free(outputs);
  p_xc_executable_free(executable);
  return result;
}
