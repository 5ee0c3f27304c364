#ifndef DECORUM_SYSTEM_H
#define DECORUM_SYSTEM_H

// System calls of Linux that never wait for a disk, which have no function that Swift can call.
// Each returns the negative error number when it fails; -EAGAIN where it would have to wait.

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>

/// Opens a file for reading if each part of its path is in the kernel's memory; a symbolic link in it is an error.
int decorum_open_cached(const char *path);

/// Reads the bytes of a file that are in the kernel's memory.
long decorum_read_cached(int descriptor, void *buffer, size_t count, int64_t offset);

#endif

#endif
