#include <stdlib.h>

// Swift Testing starts all tests at once. With thousands of them, each waits for seconds until it has a thread again, and
// the process has thousands of sockets. The library reads this variable (since Swift 6.3); its time limits begin when a
// test starts, and do not count the wait before.
__attribute__((constructor)) static void bound_width(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "8", 0);
}
