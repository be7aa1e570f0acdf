/* Runs a program that is linked in: `xla compile layer.hlo -o layer.o --format=object` made layer.o and layer.h. */
#include <stdio.h>

#include "layer.h"

int main(void) {
  static float x[4] = {1, 2, 3, 4}, y[4];
  xc_executable* program = NULL;
  xc_status* status = layer_load(&program);
  if (status == NULL) status = layer_run(program, x, y, 1);
  if (status != NULL) {
    fprintf(stderr, "error: %s\n", xc_status_message(status));
    xc_status_free(status);
    return 2;
  }
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  xc_executable_free(program);
  return 0;
}
