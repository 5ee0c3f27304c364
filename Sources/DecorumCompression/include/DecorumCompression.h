#ifndef DECORUM_COMPRESSION_H
#define DECORUM_COMPRESSION_H

// One interface to zlib, Brotli and Zstandard for Swift.
//
// On Linux, the libraries are opened when the program runs, so that no program needs one of them to start. Elsewhere,
// zlib is linked, and the others are absent. `.ci/check-compression-constants` compares the numbers and structures that
// are declared here with the real headers.

#include <stddef.h>
#include <stdint.h>

enum decorum_format {
    /// RFC 1952, one member.
    DECORUM_FORMAT_GZIP,
    /// RFC 1950.
    DECORUM_FORMAT_ZLIB,
    /// RFC 1951, without a header.
    DECORUM_FORMAT_DEFLATE,
    /// RFC 7932.
    DECORUM_FORMAT_BROTLI,
    /// RFC 8878, one frame, whose window has at most 8 MiB (RFC 9659).
    DECORUM_FORMAT_ZSTD,
};

enum decorum_step {
    /// The input was taken as far as the output had room.
    DECORUM_STEP_CONTINUES,
    /// The member, stream or frame has ended, and all of its output was given.
    DECORUM_STEP_ENDED,
    DECORUM_STEP_BROKEN,
    DECORUM_STEP_OUT_OF_MEMORY,
    /// The frame needs a window of more than 8 MiB.
    DECORUM_STEP_LARGE_WINDOW,
};

enum decorum_flush {
    DECORUM_FLUSH_NONE,
    /// Gives all that is needed to decode the input up to here.
    DECORUM_FLUSH_ALL,
    DECORUM_FLUSH_END,
};

/// Bytes to take and room to fill; a step moves the pointers on and lowers the counts.
struct decorum_buffers {
    const uint8_t *input;
    size_t input_count;
    uint8_t *output;
    size_t output_count;
};

typedef struct decorum_decoder decorum_decoder;
typedef struct decorum_encoder decorum_encoder;

int decorum_can_decode(enum decorum_format format);
int decorum_can_encode(enum decorum_format format);

/// Returns null where the library is absent or there is no memory.
decorum_decoder *decorum_decoder_create(enum decorum_format format);
void decorum_decoder_free(decorum_decoder *decoder);
/// Prepares for another member or frame after the end of one.
int decorum_decoder_restart(decorum_decoder *decoder);
/// Decodes until the input is taken, the output is full, or the end is reached.
enum decorum_step decorum_decode(decorum_decoder *decoder, struct decorum_buffers *buffers);

/// Returns null where the library is absent or there is no memory. The format is not `DECORUM_FORMAT_DEFLATE`.
decorum_encoder *decorum_encoder_create(enum decorum_format format, int level);
void decorum_encoder_free(decorum_encoder *encoder);
/// Encodes until the input is taken or the output is full. Where the output was filled, there may be more.
enum decorum_step decorum_encode(
    decorum_encoder *encoder, struct decorum_buffers *buffers, enum decorum_flush flush);

#endif
