#include "Library.h"

#if defined(__linux__)

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int decorum_curl_open_socket(const struct decorum_curl_address *address) {
    return socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
}

int decorum_curl_close_socket(int descriptor) { return close(descriptor); }

int decorum_curl_local_port(int descriptor) {
    union {
        struct sockaddr any;
        struct sockaddr_in version4;
        struct sockaddr_in6 version6;
    } address;
    socklen_t length = sizeof address;
    if (getsockname(descriptor, &address.any, &length) != 0) return -1;
    switch (address.any.sa_family) {
    case AF_INET: return ntohs(address.version4.sin_port);
    case AF_INET6: return ntohs(address.version6.sin6_port);
    default: return -1;
    }
}

int decorum_curl_has_input(int descriptor) {
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

int decorum_curl_has_ended(int descriptor) {
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/// Whether a descriptor has unread or unsent bytes.
static int holds_bytes(int descriptor) {
    int incoming = 0;
    int outgoing = 0;
    ioctl(descriptor, FIONREAD, &incoming);
    ioctl(descriptor, SIOCOUTQ, &outgoing);
    return incoming > 0 || outgoing > 0;
}

static int may_wake(int descriptor) {
    struct stat status;
    int flags = fcntl(descriptor, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC) || fstat(descriptor, &status) != 0) return 0;
    return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
}

/// Whether waking the handle puts bytes into a descriptor, and polling the handle removes them.
static int wakes(const decorum_curl *library, void *multi, int descriptor) {
    for (int round = 0; round < 2; round++) {
        if (holds_bytes(descriptor)) return 0;
        library->multi_wakeup(multi);
        int is_woken = holds_bytes(descriptor);
        library->multi_poll(multi, NULL, 0, 0, NULL);
        if (!is_woken) return 0;
    }
    return !holds_bytes(descriptor);
}

void decorum_curl_multi_close_on_exec(const decorum_curl *library, void *multi) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        int descriptor = atoi(entry->d_name);
        struct stat before, after;
        if (entry->d_name[0] == '.' || fstat(descriptor, &before) != 0) continue;
        if (!may_wake(descriptor) || !wakes(library, multi, descriptor)) continue;
        // Another thread may have closed the descriptor since, and opened something else with its number.
        if (fstat(descriptor, &after) != 0 || before.st_dev != after.st_dev || before.st_ino != after.st_ino) continue;
        fcntl(descriptor, F_SETFD, fcntl(descriptor, F_GETFD) | FD_CLOEXEC);
    }
    closedir(folder);
}

#endif
