#ifndef DECORUM_PROBE_H
#define DECORUM_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/// Whether this system lets the program count its allocations.
bool decorum_counts_allocations(void);

/// The number of allocations of all threads since the program began, while counting is on.
uint64_t decorum_allocation_count(void);

/// Turns counting on or off; it is off at first, so that it costs nothing where time is measured.
void decorum_set_counting(bool is_on);

/// Whether the program runs under valgrind and was built where valgrind's headers are.
bool decorum_counts_instructions(void);

/// Starts to count instructions anew.
void decorum_instructions_begin(void);

/// Writes the instructions counted since the beginning into a file of callgrind's, under a name.
void decorum_instructions_end(const char *name);

#if defined(__linux__)

/// Gets a small answer with libcurl alone, so many at a time, until the seconds are over or there are so many answers.
///
/// Returns the number of answers, or -1 where libcurl is missing or a request fails. The fields are lines of one text.
int64_t decorum_bare_curl_get(const char *url, const char *fields, int concurrency, double seconds, int64_t limit);

/// Gets a large answer with libcurl alone, and returns its size, or -1.
int64_t decorum_bare_curl_download(const char *url, const char *fields);

/// Sends a file with libcurl alone.
bool decorum_bare_curl_upload(const char *path, int64_t size, const char *url, const char *fields);

#endif

#endif
