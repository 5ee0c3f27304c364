#include "Library.h"

#include <stdlib.h>

// The largest window of Zstandard that HTTP allows: 8 MiB (RFC 9659, section 3).
enum { WINDOW_LOG = 23 };

struct decorum_decoder {
    enum decorum_format format;
    const struct decorum_zlib *zlib;
    const struct decorum_brotli_decoder *brotli;
    const struct decorum_zstd *zstd;
    z_stream stream;
    /// The state of Brotli or Zstandard.
    void *state;
};

int decorum_can_decode(enum decorum_format format) {
    switch (format) {
    case DECORUM_FORMAT_BROTLI: return decorum_open_brotli_decoder() != NULL;
    case DECORUM_FORMAT_ZSTD: return decorum_open_zstd() != NULL;
    default: return decorum_open_zlib() != NULL;
    }
}

static int prepare(decorum_decoder *decoder) {
    switch (decoder->format) {
    case DECORUM_FORMAT_BROTLI:
        decoder->brotli = decorum_open_brotli_decoder();
        if (decoder->brotli) decoder->state = decoder->brotli->BrotliDecoderCreateInstance(NULL, NULL, NULL);
        return decoder->state != NULL;
    case DECORUM_FORMAT_ZSTD:
        decoder->zstd = decorum_open_zstd();
        if (decoder->zstd) decoder->state = decoder->zstd->ZSTD_createDCtx();
        if (!decoder->state) return 0;
        decoder->zstd->ZSTD_DCtx_setParameter(decoder->state, DECORUM_ZSTD_WINDOW_LOG_MAX, WINDOW_LOG);
        return 1;
    default:
        decoder->zlib = decorum_open_zlib();
        return decoder->zlib
            && decoder->zlib->inflateInit2_(
                   &decoder->stream, decorum_window_bits(decoder->format), ZLIB_VERSION, sizeof(z_stream)) == Z_OK;
    }
}

decorum_decoder *decorum_decoder_create(enum decorum_format format) {
    decorum_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->format = format;
    if (prepare(decoder)) return decoder;
    free(decoder);
    return NULL;
}

void decorum_decoder_free(decorum_decoder *decoder) {
    if (decoder->brotli) decoder->brotli->BrotliDecoderDestroyInstance(decoder->state);
    if (decoder->zstd) decoder->zstd->ZSTD_freeDCtx(decoder->state);
    if (decoder->zlib) decoder->zlib->inflateEnd(&decoder->stream);
    free(decoder);
}

int decorum_decoder_restart(decorum_decoder *decoder) {
    // Zstandard begins the next frame by itself; a stream of Brotli is the only one.
    if (decoder->zlib) return decoder->zlib->inflateReset(&decoder->stream) == Z_OK;
    return decoder->zstd != NULL;
}

static enum decorum_step inflate_step(decorum_decoder *decoder, struct decorum_buffers *buffers) {
    z_stream *stream = &decoder->stream;
    stream->next_in = (void *)buffers->input;
    stream->avail_in = decorum_zlib_count(buffers->input_count);
    stream->next_out = buffers->output;
    stream->avail_out = decorum_zlib_count(buffers->output_count);
    int result = decoder->zlib->inflate(stream, Z_NO_FLUSH);
    decorum_zlib_advance(buffers, stream);
    switch (result) {
    // There was nothing to take and nothing more to give.
    case Z_BUF_ERROR:
    case Z_OK: return DECORUM_STEP_CONTINUES;
    case Z_STREAM_END: return DECORUM_STEP_ENDED;
    case Z_MEM_ERROR: return DECORUM_STEP_OUT_OF_MEMORY;
    default: return DECORUM_STEP_BROKEN;
    }
}

static enum decorum_step brotli_step(decorum_decoder *decoder, struct decorum_buffers *buffers) {
    int result = decoder->brotli->BrotliDecoderDecompressStream(
        decoder->state, &buffers->input_count, &buffers->input, &buffers->output_count, &buffers->output, NULL);
    switch (result) {
    case DECORUM_BROTLI_ERROR: return DECORUM_STEP_BROKEN;
    case DECORUM_BROTLI_SUCCESS: return DECORUM_STEP_ENDED;
    default: return DECORUM_STEP_CONTINUES;
    }
}

static enum decorum_step zstd_step(decorum_decoder *decoder, struct decorum_buffers *buffers) {
    struct decorum_zstd_input input = {buffers->input, buffers->input_count, 0};
    struct decorum_zstd_output output = {buffers->output, buffers->output_count, 0};
    size_t result = decoder->zstd->ZSTD_decompressStream(decoder->state, &output, &input);
    decorum_zstd_advance(buffers, input.pos, output.pos);
    if (!decoder->zstd->ZSTD_isError(result)) return result == 0 ? DECORUM_STEP_ENDED : DECORUM_STEP_CONTINUES;
    switch (decoder->zstd->ZSTD_getErrorCode(result)) {
    case DECORUM_ZSTD_MEMORY_ERROR: return DECORUM_STEP_OUT_OF_MEMORY;
    case DECORUM_ZSTD_WINDOW_ERROR: return DECORUM_STEP_LARGE_WINDOW;
    default: return DECORUM_STEP_BROKEN;
    }
}

enum decorum_step decorum_decode(decorum_decoder *decoder, struct decorum_buffers *buffers) {
    if (decoder->zlib) return inflate_step(decoder, buffers);
    return decoder->brotli ? brotli_step(decoder, buffers) : zstd_step(decoder, buffers);
}
