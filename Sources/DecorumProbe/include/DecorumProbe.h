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

#endif
