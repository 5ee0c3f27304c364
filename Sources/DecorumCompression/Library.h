#ifndef DECORUM_COMPRESSION_LIBRARY_H
#define DECORUM_COMPRESSION_LIBRARY_H

#include "DecorumCompression.h"

#if defined(__linux__)

/// `z_stream`.
typedef struct decorum_z_stream {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} z_stream;

/// Only the first character is compared with that of the library.
#define ZLIB_VERSION "1"

enum {
    Z_NO_FLUSH = 0,
    Z_SYNC_FLUSH = 2,
    Z_FINISH = 4,
    Z_OK = 0,
    Z_STREAM_END = 1,
    Z_MEM_ERROR = -4,
    Z_BUF_ERROR = -5,
    Z_DEFAULT_STRATEGY = 0,
    Z_DEFLATED = 8,
};

#else
#include <zlib.h>
#endif

enum {
    /// The largest window, with the wrapper of zlib; negative without a wrapper, and 16 more with that of gzip.
    DECORUM_WINDOW_BITS = 15,
    DECORUM_GZIP = 16,
    DECORUM_MEMORY_LEVEL = 8,
};

#define DECORUM_ZLIB_FUNCTIONS(FUNCTION)                                                     \
    FUNCTION(int, inflateInit2_, (z_stream *, int, const char *, int))                       \
    FUNCTION(int, inflate, (z_stream *, int))                                                \
    FUNCTION(int, inflateReset, (z_stream *))                                                \
    FUNCTION(int, inflateEnd, (z_stream *))                                                  \
    FUNCTION(int, deflateInit2_, (z_stream *, int, int, int, int, int, const char *, int))   \
    FUNCTION(int, deflate, (z_stream *, int))                                                \
    FUNCTION(int, deflateEnd, (z_stream *))

enum {
    DECORUM_BROTLI_ERROR = 0,
    DECORUM_BROTLI_SUCCESS = 1,
    DECORUM_BROTLI_OPERATION_PROCESS = 0,
    DECORUM_BROTLI_OPERATION_FLUSH = 1,
    DECORUM_BROTLI_OPERATION_FINISH = 2,
    DECORUM_BROTLI_PARAMETER_QUALITY = 1,
};

#define DECORUM_BROTLI_DECODER_FUNCTIONS(FUNCTION)                                           \
    FUNCTION(void *, BrotliDecoderCreateInstance, (void *, void *, void *))                  \
    FUNCTION(void, BrotliDecoderDestroyInstance, (void *))                                   \
    FUNCTION(int, BrotliDecoderDecompressStream,                                             \
        (void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *))

#define DECORUM_BROTLI_ENCODER_FUNCTIONS(FUNCTION)                                           \
    FUNCTION(void *, BrotliEncoderCreateInstance, (void *, void *, void *))                  \
    FUNCTION(void, BrotliEncoderDestroyInstance, (void *))                                   \
    FUNCTION(int, BrotliEncoderSetParameter, (void *, int, uint32_t))                        \
    FUNCTION(int, BrotliEncoderCompressStream,                                               \
        (void *, int, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *))

/// `ZSTD_inBuffer`.
struct decorum_zstd_input {
    const void *src;
    size_t size;
    size_t pos;
};

/// `ZSTD_outBuffer`.
struct decorum_zstd_output {
    void *dst;
    size_t size;
    size_t pos;
};

enum {
    DECORUM_ZSTD_CONTINUE = 0,
    DECORUM_ZSTD_FLUSH = 1,
    DECORUM_ZSTD_END = 2,
    DECORUM_ZSTD_COMPRESSION_LEVEL = 100,
    DECORUM_ZSTD_WINDOW_LOG_MAX = 100,
    DECORUM_ZSTD_WINDOW_ERROR = 16,
    DECORUM_ZSTD_MEMORY_ERROR = 64,
};

#define DECORUM_ZSTD_FUNCTIONS(FUNCTION)                                                     \
    FUNCTION(unsigned, ZSTD_isError, (size_t))                                               \
    FUNCTION(int, ZSTD_getErrorCode, (size_t))                                               \
    FUNCTION(void *, ZSTD_createDCtx, (void))                                                \
    FUNCTION(size_t, ZSTD_freeDCtx, (void *))                                                \
    FUNCTION(size_t, ZSTD_DCtx_setParameter, (void *, int, int))                             \
    FUNCTION(size_t, ZSTD_decompressStream,                                                  \
        (void *, struct decorum_zstd_output *, struct decorum_zstd_input *))                 \
    FUNCTION(void *, ZSTD_createCCtx, (void))                                                \
    FUNCTION(size_t, ZSTD_freeCCtx, (void *))                                                \
    FUNCTION(size_t, ZSTD_CCtx_setParameter, (void *, int, int))                             \
    FUNCTION(size_t, ZSTD_compressStream2,                                                   \
        (void *, struct decorum_zstd_output *, struct decorum_zstd_input *, int))

#define DECLARE(result, name, parameters) result(*name) parameters;
struct decorum_zlib { DECORUM_ZLIB_FUNCTIONS(DECLARE) };
struct decorum_brotli_decoder { DECORUM_BROTLI_DECODER_FUNCTIONS(DECLARE) };
struct decorum_brotli_encoder { DECORUM_BROTLI_ENCODER_FUNCTIONS(DECLARE) };
struct decorum_zstd { DECORUM_ZSTD_FUNCTIONS(DECLARE) };
#undef DECLARE

// Each of them opens its library at the first call, and returns null where it is absent or lacks a function. Any thread
// may call them.
const struct decorum_zlib *decorum_open_zlib(void);
const struct decorum_brotli_decoder *decorum_open_brotli_decoder(void);
const struct decorum_brotli_encoder *decorum_open_brotli_encoder(void);
const struct decorum_zstd *decorum_open_zstd(void);

/// The bits of the window for `inflateInit2` and `deflateInit2`.
static inline int decorum_window_bits(enum decorum_format format) {
    switch (format) {
    case DECORUM_FORMAT_GZIP: return DECORUM_WINDOW_BITS + DECORUM_GZIP;
    case DECORUM_FORMAT_DEFLATE: return -DECORUM_WINDOW_BITS;
    default: return DECORUM_WINDOW_BITS;
    }
}

/// The part of a count that zlib, which counts in 32 bits, takes in one step.
static inline unsigned decorum_zlib_count(size_t count) { return count > 1u << 30 ? 1u << 30 : (unsigned)count; }

/// Moves buffers on after zlib has taken and given bytes.
static inline void decorum_zlib_advance(struct decorum_buffers *buffers, const z_stream *stream) {
    buffers->input_count -= (size_t)(stream->next_in - buffers->input);
    buffers->input = stream->next_in;
    buffers->output_count -= (size_t)(stream->next_out - buffers->output);
    buffers->output = stream->next_out;
}

/// Moves buffers on after Zstandard has taken and given bytes.
static inline void decorum_zstd_advance(struct decorum_buffers *buffers, size_t taken, size_t given) {
    buffers->input += taken;
    buffers->input_count -= taken;
    buffers->output += given;
    buffers->output_count -= given;
}

#endif
