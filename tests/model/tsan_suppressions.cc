// oneDNN is not instrumented, so the thread sanitizer does not see what orders the accesses to its
// cache of compiled primitives. Memory functions called from inside the library are left out; code
// of this project stays checked.
extern "C" const char* __tsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "called_from_lib:libdnnl.so\n";
}
