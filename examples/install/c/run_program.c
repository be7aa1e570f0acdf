/* Loads a program that `xla compile` wrote, runs it on ones, and prints what it gives. Links with the runtime alone. */
#include <stdio.h>
#include <stdlib.h>
#include <xc/xc.h>

static int fail(const char* what, xc_status* status) {
  fprintf(stderr, "error: %s: %s\n", what, xc_status_message(status));
  xc_status_free(status);
  return 2;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run_program MODEL.xcp\n");
    return 2;
  }
  xc_executable* program = NULL;
  xc_status* status = xc_load_program(argv[1], &program);
  if (status != NULL) return fail("load", status);
  size_t num_inputs = xc_executable_num_inputs(program), num_outputs = xc_executable_num_outputs(program);
  void** inputs = calloc(num_inputs + 1, sizeof(void*));
  void** outputs = calloc(num_outputs + 1, sizeof(void*));
  for (size_t i = 0; i < num_inputs; ++i) {
    xc_shape shape = xc_executable_input(program, i);
    inputs[i] = calloc(shape.bytes + 1, 1);
    if (shape.element_type == 11) { /* f32 */
      for (size_t e = 0; e < shape.bytes / 4; ++e) ((float*)inputs[i])[e] = 1.0f;
    }
  }
  for (size_t i = 0; i < num_outputs; ++i) outputs[i] = calloc(xc_executable_output(program, i).bytes + 1, 1);
  status = xc_executable_run(program, (const void* const*)inputs, num_inputs, outputs, num_outputs, 0);
  int result = 0;
  if (status != NULL) {
    result = fail("run", status);
  } else {
    for (size_t i = 0; i < num_outputs; ++i) {
      xc_shape shape = xc_executable_output(program, i);
      printf("output %zu: rank %d, %zu bytes", i, shape.rank, shape.bytes);
      if (shape.element_type == 11 && shape.bytes >= 4) printf(", first element %g", ((float*)outputs[i])[0]);
      printf("\n");
    }
  }
  for (size_t i = 0; i < num_inputs; ++i) free(inputs[i]);
  for (size_t i = 0; i < num_outputs; ++i) free(outputs[i]);
  free(inputs);
  free(outputs);
  xc_executable_free(program);
  return result;
}
