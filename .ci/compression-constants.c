// Compiled by check-compression-constants, never linked: checks every number and structure that is declared by hand.
// The headers of zlib use the same names, so ours are kept under others before they are included.
#define z_stream decorum_z_stream_type
#include "Library.h"
#undef z_stream

enum {
    OUR_NO_FLUSH = Z_NO_FLUSH,
    OUR_SYNC_FLUSH = Z_SYNC_FLUSH,
    OUR_FINISH = Z_FINISH,
    OUR_OK = Z_OK,
    OUR_STREAM_END = Z_STREAM_END,
    OUR_MEM_ERROR = Z_MEM_ERROR,
    OUR_BUF_ERROR = Z_BUF_ERROR,
    OUR_DEFAULT_STRATEGY = Z_DEFAULT_STRATEGY,
    OUR_DEFLATED = Z_DEFLATED,
};
enum { OUR_VERSION_LENGTH = sizeof ZLIB_VERSION };
#undef ZLIB_VERSION

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours)
#define SAME_FIELD(ours, theirs, field)                                               \
    SAME(offsetof(ours, field), offsetof(theirs, field));                              \
    SAME(sizeof(((ours *)0)->field), sizeof(((theirs *)0)->field))

#include <zlib.h>
SAME(OUR_NO_FLUSH, Z_NO_FLUSH);
SAME(OUR_SYNC_FLUSH, Z_SYNC_FLUSH);
SAME(OUR_FINISH, Z_FINISH);
SAME(OUR_OK, Z_OK);
SAME(OUR_STREAM_END, Z_STREAM_END);
SAME(OUR_MEM_ERROR, Z_MEM_ERROR);
SAME(OUR_BUF_ERROR, Z_BUF_ERROR);
SAME(OUR_DEFAULT_STRATEGY, Z_DEFAULT_STRATEGY);
SAME(OUR_DEFLATED, Z_DEFLATED);
SAME(DECORUM_WINDOW_BITS, MAX_WBITS);
SAME(OUR_VERSION_LENGTH, 2);
_Static_assert(ZLIB_VER_MAJOR == 1, "the version that is asked for");
SAME(sizeof(struct decorum_z_stream), sizeof(z_stream));
SAME_FIELD(struct decorum_z_stream, z_stream, next_in);
SAME_FIELD(struct decorum_z_stream, z_stream, avail_in);
SAME_FIELD(struct decorum_z_stream, z_stream, next_out);
SAME_FIELD(struct decorum_z_stream, z_stream, avail_out);
SAME_FIELD(struct decorum_z_stream, z_stream, msg);
SAME_FIELD(struct decorum_z_stream, z_stream, zalloc);
SAME_FIELD(struct decorum_z_stream, z_stream, zfree);
SAME_FIELD(struct decorum_z_stream, z_stream, opaque);
SAME_FIELD(struct decorum_z_stream, z_stream, adler);

#if __has_include(<brotli/decode.h>)
#include <brotli/decode.h>
SAME(DECORUM_BROTLI_ERROR, BROTLI_DECODER_RESULT_ERROR);
SAME(DECORUM_BROTLI_SUCCESS, BROTLI_DECODER_RESULT_SUCCESS);
#endif

#if __has_include(<brotli/encode.h>)
#include <brotli/encode.h>
SAME(DECORUM_BROTLI_OPERATION_PROCESS, BROTLI_OPERATION_PROCESS);
SAME(DECORUM_BROTLI_OPERATION_FLUSH, BROTLI_OPERATION_FLUSH);
SAME(DECORUM_BROTLI_OPERATION_FINISH, BROTLI_OPERATION_FINISH);
SAME(DECORUM_BROTLI_PARAMETER_QUALITY, BROTLI_PARAM_QUALITY);
#endif

#if __has_include(<zstd.h>)
#include <zstd.h>
SAME(DECORUM_ZSTD_CONTINUE, ZSTD_e_continue);
SAME(DECORUM_ZSTD_FLUSH, ZSTD_e_flush);
SAME(DECORUM_ZSTD_END, ZSTD_e_end);
SAME(DECORUM_ZSTD_COMPRESSION_LEVEL, ZSTD_c_compressionLevel);
SAME(DECORUM_ZSTD_WINDOW_LOG_MAX, ZSTD_d_windowLogMax);
SAME(sizeof(struct decorum_zstd_input), sizeof(ZSTD_inBuffer));
SAME_FIELD(struct decorum_zstd_input, ZSTD_inBuffer, src);
SAME_FIELD(struct decorum_zstd_input, ZSTD_inBuffer, size);
SAME_FIELD(struct decorum_zstd_input, ZSTD_inBuffer, pos);
SAME_FIELD(struct decorum_zstd_output, ZSTD_outBuffer, dst);
SAME_FIELD(struct decorum_zstd_output, ZSTD_outBuffer, size);
SAME_FIELD(struct decorum_zstd_output, ZSTD_outBuffer, pos);
#endif

#if __has_include(<zstd_errors.h>)
#include <zstd_errors.h>
SAME(DECORUM_ZSTD_MEMORY_ERROR, ZSTD_error_memory_allocation);
SAME(DECORUM_ZSTD_WINDOW_ERROR, ZSTD_error_frameParameter_windowTooLarge);
#endif
