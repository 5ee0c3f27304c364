#include "Library.h"

#if defined(__linux__)

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

void decorum_curl_enter_thread(const char *name) {
    prctl(PR_SET_NAME, name);
    // Told to leave signals alone, libcurl up to 7.86 writes over TLS to sockets that the server has closed as if the
    // process could take the signal. The threads that it starts inherit the mask.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

#endif
