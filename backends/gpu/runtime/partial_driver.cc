// For tests: libraries that pass for CUDA drivers, one too old and one that lacks most functions.
extern "C" __attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
  *version = XC_DRIVER_VERSION;
  return 0;
}
extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) { return 0; }
