#include "DecorumProbe.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_bool is_counting;
static _Atomic uint64_t allocations;

uint64_t decorum_allocation_count(void) {
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}

void decorum_set_counting(bool is_on) {
    atomic_store_explicit(&is_counting, is_on, memory_order_relaxed);
}

#if defined(__GLIBC__) || (defined(__linux__) && __has_include(<gnu/libc-version.h>))

// A program's own malloc takes the place of the C library's, for every library that the program loads. These hand on to
// the C library's heap, so that whatever they do not replace, such as posix_memalign and free, fits them.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static inline void count(void) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    count();
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    count();
    void *result = __libc_memalign(alignment, size);
    if (result == NULL) return 12;  // ENOMEM
    *block = result;
    return 0;
}

bool decorum_counts_allocations(void) { return true; }

#else

bool decorum_counts_allocations(void) { return false; }

#endif

#if __has_include(<valgrind/callgrind.h>)

#include <valgrind/callgrind.h>

bool decorum_counts_instructions(void) { return RUNNING_ON_VALGRIND != 0; }
void decorum_instructions_begin(void) { CALLGRIND_ZERO_STATS; }
void decorum_instructions_end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }

#else

bool decorum_counts_instructions(void) { return false; }
void decorum_instructions_begin(void) {}
void decorum_instructions_end(const char *name) { (void)name; }

#endif
