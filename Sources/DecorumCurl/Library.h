#ifndef DECORUM_CURL_LIBRARY_H
#define DECORUM_CURL_LIBRARY_H

#include "DecorumCurl.h"

#if defined(__linux__)

// The functions of libcurl that are called, as its headers declare them. Its enumerations are as wide as `int`.
#define DECORUM_CURL_FUNCTIONS(FUNCTION)                                                  \
    FUNCTION(int, global_init, (long))                                                    \
    FUNCTION(const char *, easy_strerror, (int))                                          \
    FUNCTION(void *, easy_init, (void))                                                   \
    FUNCTION(void, easy_cleanup, (void *))                                                \
    FUNCTION(void, easy_reset, (void *))                                                  \
    FUNCTION(int, easy_pause, (void *, int))                                              \
    FUNCTION(int, easy_setopt, (void *, int, ...))                                        \
    FUNCTION(const struct decorum_curl_option_start *, easy_option_by_id, (int))          \
    FUNCTION(int, easy_getinfo, (void *, int, ...))                                       \
    FUNCTION(void *, slist_append, (void *, const char *))                                \
    FUNCTION(void, slist_free_all, (void *))                                              \
    FUNCTION(void *, multi_init, (void))                                                  \
    FUNCTION(int, multi_cleanup, (void *))                                                \
    FUNCTION(int, multi_setopt, (void *, int, ...))                                       \
    FUNCTION(int, multi_add_handle, (void *, void *))                                     \
    FUNCTION(int, multi_remove_handle, (void *, void *))                                  \
    FUNCTION(int, multi_perform, (void *, int *))                                         \
    FUNCTION(int, multi_poll, (void *, void *, unsigned, int, int *))                     \
    FUNCTION(int, multi_wakeup, (void *))                                                 \
    FUNCTION(struct decorum_curl_message *, multi_info_read, (void *, int *))

enum {
    DECORUM_CURL_GLOBAL_ALL = 3,
    DECORUM_CURL_VERSION_FIRST = 0,
    DECORUM_CURL_MESSAGE_DONE = 1,
    DECORUM_CURL_BLOB_NOCOPY = 0,
    DECORUM_CURL_INFORMATION_CERTINFO = 0x400022,
};

/// The start of `curl_version_info_data`, which every version has.
struct decorum_curl_version_start {
    int age;
    const char *version;
    unsigned version_num;
    const char *host;
    int features;
    const char *ssl_version;
    long ssl_version_num;
    const char *libz_version;
    const char *const *protocols;
};

/// The start of `struct curl_easyoption`.
struct decorum_curl_option_start {
    const char *name;
};

/// `CURLMsg`.
struct decorum_curl_message {
    int msg;
    void *easy_handle;
    union {
        void *whatever;
        int result;
    } data;
};

/// `struct curl_slist`.
struct decorum_curl_line {
    char *text;
    struct decorum_curl_line *next;
};

/// `struct curl_certinfo`.
struct decorum_curl_certificates {
    int count;
    struct decorum_curl_line **lists;
};

/// `struct curl_blob`.
struct decorum_curl_blob {
    void *data;
    size_t len;
    unsigned flags;
};

struct decorum_curl {
    struct decorum_curl *next;
    char *name;
    enum decorum_curl_status status;
    const char *version;
    unsigned version_number;
    const char *tls_version;
    int features;
    const char *const *protocols;
#define DECLARE(result, name, parameters) result(*name) parameters;
    DECORUM_CURL_FUNCTIONS(DECLARE)
#undef DECLARE
};

#endif
#endif
