// Linked into libxc.so: its objects of static storage, LLVM's among them, are not destroyed when the process ends. A
// thread may be compiling then, and what it uses must stay; the system takes the memory back anyway.

// What the C++ ABI calls to have `object` destroyed at the end. That it was noted is all that the caller wants to know.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
