#include "Library.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>

/// Opens a library, finds its functions, and defines the function that returns them.
#define DEFINE_LIBRARY(name, file, FUNCTIONS)                                    \
    static struct decorum_##name name##_functions;                              \
    static int name##_is_complete;                                              \
    static void open_##name(void) {                                             \
        void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);                     \
        if (!handle) return;                                                    \
        struct decorum_##name *functions = &name##_functions;                   \
        FUNCTIONS(FIND)                                                         \
        name##_is_complete = 1;                                                 \
    }                                                                           \
    const struct decorum_##name *decorum_open_##name(void) {                    \
        static pthread_once_t once = PTHREAD_ONCE_INIT;                         \
        pthread_once(&once, open_##name);                                       \
        return name##_is_complete ? &name##_functions : NULL;                   \
    }

#define FIND(result, name, parameters)                                          \
    functions->name = (result(*) parameters)dlsym(handle, #name);               \
    if (!functions->name) return;

DEFINE_LIBRARY(zlib, "libz.so.1", DECORUM_ZLIB_FUNCTIONS)
DEFINE_LIBRARY(brotli_decoder, "libbrotlidec.so.1", DECORUM_BROTLI_DECODER_FUNCTIONS)
DEFINE_LIBRARY(brotli_encoder, "libbrotlienc.so.1", DECORUM_BROTLI_ENCODER_FUNCTIONS)
DEFINE_LIBRARY(zstd, "libzstd.so.1", DECORUM_ZSTD_FUNCTIONS)

#else

const struct decorum_zlib *decorum_open_zlib(void) {
#define LINKED(result, name, parameters) .name = name,
    static const struct decorum_zlib functions = {DECORUM_ZLIB_FUNCTIONS(LINKED)};
#undef LINKED
    return &functions;
}

const struct decorum_brotli_decoder *decorum_open_brotli_decoder(void) { return NULL; }
const struct decorum_brotli_encoder *decorum_open_brotli_encoder(void) { return NULL; }
const struct decorum_zstd *decorum_open_zstd(void) { return NULL; }

#endif
