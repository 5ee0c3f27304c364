#include "Library.h"

#if defined(__linux__)

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

void decorum_curl_enter_thread(const char *name) {
    // With CURLOPT_NOSIGNAL, libcurl up to 7.86 writes over TLS to sockets that the server has closed without blocking
    // SIGPIPE, which would end the process. The threads that libcurl starts inherit the mask.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    // A thread that has the name has the mask too.
    prctl(PR_SET_NAME, name);
}

#endif
