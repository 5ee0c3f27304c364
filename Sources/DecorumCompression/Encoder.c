#include "Library.h"

#include <stdlib.h>

struct decorum_encoder {
    enum decorum_format format;
    const struct decorum_zlib *zlib;
    const struct decorum_brotli_encoder *brotli;
    const struct decorum_zstd *zstd;
    z_stream stream;
    /// The state of Brotli or Zstandard.
    void *state;
};

int decorum_can_encode(enum decorum_format format) {
    switch (format) {
    case DECORUM_FORMAT_BROTLI: return decorum_open_brotli_encoder() != NULL;
    case DECORUM_FORMAT_ZSTD: return decorum_open_zstd() != NULL;
    default: return decorum_open_zlib() != NULL;
    }
}

static int prepare(decorum_encoder *encoder, int level) {
    switch (encoder->format) {
    case DECORUM_FORMAT_BROTLI:
        encoder->brotli = decorum_open_brotli_encoder();
        if (encoder->brotli) encoder->state = encoder->brotli->BrotliEncoderCreateInstance(NULL, NULL, NULL);
        if (!encoder->state) return 0;
        encoder->brotli->BrotliEncoderSetParameter(
            encoder->state, DECORUM_BROTLI_PARAMETER_QUALITY, (uint32_t)level);
        return 1;
    case DECORUM_FORMAT_ZSTD:
        encoder->zstd = decorum_open_zstd();
        if (encoder->zstd) encoder->state = encoder->zstd->ZSTD_createCCtx();
        if (!encoder->state) return 0;
        encoder->zstd->ZSTD_CCtx_setParameter(encoder->state, DECORUM_ZSTD_COMPRESSION_LEVEL, level);
        return 1;
    default:
        encoder->zlib = decorum_open_zlib();
        return encoder->zlib
            && encoder->zlib->deflateInit2_(
                   &encoder->stream, level, Z_DEFLATED, decorum_window_bits(encoder->format), DECORUM_MEMORY_LEVEL,
                   Z_DEFAULT_STRATEGY, ZLIB_VERSION, sizeof(z_stream)) == Z_OK;
    }
}

decorum_encoder *decorum_encoder_create(enum decorum_format format, int level) {
    decorum_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) return NULL;
    encoder->format = format;
    if (prepare(encoder, level)) return encoder;
    free(encoder);
    return NULL;
}

void decorum_encoder_free(decorum_encoder *encoder) {
    if (encoder->brotli) encoder->brotli->BrotliEncoderDestroyInstance(encoder->state);
    if (encoder->zstd) encoder->zstd->ZSTD_freeCCtx(encoder->state);
    if (encoder->zlib) encoder->zlib->deflateEnd(&encoder->stream);
    free(encoder);
}

static enum decorum_step deflate_step(
    decorum_encoder *encoder, struct decorum_buffers *buffers, enum decorum_flush flush) {
    static const int modes[] = {Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH};
    z_stream *stream = &encoder->stream;
    stream->next_in = (void *)buffers->input;
    stream->avail_in = decorum_zlib_count(buffers->input_count);
    stream->next_out = buffers->output;
    stream->avail_out = decorum_zlib_count(buffers->output_count);
    int isWhole = stream->avail_in == buffers->input_count;
    int result = encoder->zlib->deflate(stream, isWhole ? modes[flush] : Z_NO_FLUSH);
    decorum_zlib_advance(buffers, stream);
    switch (result) {
    case Z_BUF_ERROR:
    case Z_OK: return DECORUM_STEP_CONTINUES;
    case Z_STREAM_END: return DECORUM_STEP_ENDED;
    case Z_MEM_ERROR: return DECORUM_STEP_OUT_OF_MEMORY;
    default: return DECORUM_STEP_BROKEN;
    }
}

static enum decorum_step brotli_step(
    decorum_encoder *encoder, struct decorum_buffers *buffers, enum decorum_flush flush) {
    static const int operations[] = {
        DECORUM_BROTLI_OPERATION_PROCESS, DECORUM_BROTLI_OPERATION_FLUSH, DECORUM_BROTLI_OPERATION_FINISH};
    int isEncoded = encoder->brotli->BrotliEncoderCompressStream(
        encoder->state, operations[flush], &buffers->input_count, &buffers->input, &buffers->output_count,
        &buffers->output, NULL);
    return isEncoded ? DECORUM_STEP_CONTINUES : DECORUM_STEP_BROKEN;
}

static enum decorum_step zstd_step(
    decorum_encoder *encoder, struct decorum_buffers *buffers, enum decorum_flush flush) {
    static const int operations[] = {DECORUM_ZSTD_CONTINUE, DECORUM_ZSTD_FLUSH, DECORUM_ZSTD_END};
    struct decorum_zstd_input input = {buffers->input, buffers->input_count, 0};
    struct decorum_zstd_output output = {buffers->output, buffers->output_count, 0};
    size_t result =
        encoder->zstd->ZSTD_compressStream2(encoder->state, &output, &input, operations[flush]);
    decorum_zstd_advance(buffers, input.pos, output.pos);
    if (encoder->zstd->ZSTD_isError(result)) return DECORUM_STEP_BROKEN;
    return flush == DECORUM_FLUSH_END && result == 0 ? DECORUM_STEP_ENDED : DECORUM_STEP_CONTINUES;
}

enum decorum_step decorum_encode(
    decorum_encoder *encoder, struct decorum_buffers *buffers, enum decorum_flush flush) {
    if (encoder->zlib) return deflate_step(encoder, buffers, flush);
    return encoder->brotli ? brotli_step(encoder, buffers, flush) : zstd_step(encoder, buffers, flush);
}
