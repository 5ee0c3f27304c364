// For strdup and strsep.
#define _DEFAULT_SOURCE 1

#include "DecorumProbe.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// What a program in C does with libcurl and nothing else. The numbers are those of curl.h, which never change.
enum {
    GLOBAL_ALL = 3,
    OPTION_WRITEDATA = 10001,
    OPTION_URL = 10002,
    OPTION_PROXY = 10004,
    OPTION_READDATA = 10009,
    OPTION_HTTPHEADER = 10023,
    OPTION_UPLOAD = 46,
    OPTION_HTTP_VERSION = 84,
    OPTION_NOSIGNAL = 99,
    OPTION_WRITEFUNCTION = 20011,
    OPTION_INFILESIZE_LARGE = 30115,
    HTTP_VERSION_1_1 = 2,
    INFORMATION_RESPONSE_CODE = 0x200002,
    MESSAGE_DONE = 1,
};

struct message {
    int msg;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
};

static struct {
    int (*global_init)(long);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_getinfo)(void *, int, ...);
    int (*easy_perform)(void *);
    void *(*slist_append)(void *, const char *);
    void (*slist_free_all)(void *);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *);
    int (*multi_add_handle)(void *, void *);
    int (*multi_remove_handle)(void *, void *);
    int (*multi_perform)(void *, int *);
    int (*multi_poll)(void *, void *, unsigned, int, int *);
    struct message *(*multi_info_read)(void *, int *);
} curl;

#define LOAD(name) (*(void **)&curl.name = dlsym(library, "curl_" #name))

static bool load(void) {
    if (curl.global_init) return true;
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    return library && LOAD(easy_init) && LOAD(easy_cleanup) && LOAD(easy_setopt) && LOAD(easy_getinfo)
        && LOAD(easy_perform) && LOAD(slist_append) && LOAD(slist_free_all) && LOAD(multi_init)
        && LOAD(multi_cleanup) && LOAD(multi_add_handle) && LOAD(multi_remove_handle) && LOAD(multi_perform)
        && LOAD(multi_poll) && LOAD(multi_info_read) && LOAD(global_init) && curl.global_init(GLOBAL_ALL) == 0;
}

static size_t receive(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    *(int64_t *)context += (int64_t)(size * count);
    return size * count;
}

static void *make(const char *url, void *fields, int64_t *received) {
    void *easy = curl.easy_init();
    if (!easy) return NULL;
    curl.easy_setopt(easy, OPTION_URL, url);
    curl.easy_setopt(easy, OPTION_HTTPHEADER, fields);
    curl.easy_setopt(easy, OPTION_HTTP_VERSION, (long)HTTP_VERSION_1_1);
    curl.easy_setopt(easy, OPTION_NOSIGNAL, 1L);
    curl.easy_setopt(easy, OPTION_PROXY, "");
    curl.easy_setopt(easy, OPTION_WRITEFUNCTION, receive);
    curl.easy_setopt(easy, OPTION_WRITEDATA, received);
    return easy;
}

static bool is_ok(void *easy, int code) {
    long status = 0;
    return code == 0 && curl.easy_getinfo(easy, INFORMATION_RESPONSE_CODE, &status) == 0 && status == 200;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/// Makes a list of the lines of a text.
static void *list(const char *text) {
    char *copy = strdup(text);
    void *list = NULL;
    char *rest = copy;
    char *line;
    while (copy && (line = strsep(&rest, "\n"))) list = curl.slist_append(list, line);
    free(copy);
    return list;
}

static int64_t get_one_by_one(void *easy, double end, int64_t limit) {
    int64_t count = 0;
    while (count < limit && now() < end) {
        if (!is_ok(easy, curl.easy_perform(easy))) return -1;
        count++;
    }
    return count;
}

static int64_t get_together(void *multi, int concurrency, double end, int64_t limit) {
    int64_t count = 0;
    int running = concurrency;
    while (running > 0) {
        if (curl.multi_perform(multi, &running) != 0) return -1;
        int left = 0;
        struct message *message;
        while ((message = curl.multi_info_read(multi, &left))) {
            if (message->msg != MESSAGE_DONE) continue;
            void *easy = message->easy;
            if (!is_ok(easy, message->data.result)) return -1;
            count++;
            curl.multi_remove_handle(multi, easy);
            bool is_wanted = count + running < limit && now() < end;
            if (is_wanted && curl.multi_add_handle(multi, easy) == 0) running++;
        }
        if (running > 0) curl.multi_poll(multi, NULL, 0, 1000, NULL);
    }
    return count;
}

int64_t decorum_bare_curl_get(const char *url, const char *fields, int concurrency, double seconds, int64_t limit) {
    if (!load() || concurrency < 1) return -1;
    int64_t received = 0;
    void *lines = list(fields);
    void *multi = curl.multi_init();
    void **handles = calloc((size_t)concurrency, sizeof *handles);
    int64_t count = multi && handles ? 0 : -1;
    for (int i = 0; count == 0 && i < concurrency; i++) {
        handles[i] = make(url, lines, &received);
        if (!handles[i]) count = -1;
    }
    double end = now() + seconds;
    if (count == 0 && concurrency == 1) {
        count = get_one_by_one(handles[0], end, limit);
    } else if (count == 0) {
        for (int i = 0; i < concurrency; i++) curl.multi_add_handle(multi, handles[i]);
        count = get_together(multi, concurrency, end, limit);
        for (int i = 0; i < concurrency; i++) curl.multi_remove_handle(multi, handles[i]);
    }
    for (int i = 0; handles && i < concurrency; i++) {
        if (handles[i]) curl.easy_cleanup(handles[i]);
    }
    free(handles);
    if (multi) curl.multi_cleanup(multi);
    curl.slist_free_all(lines);
    return received > 0 ? count : -1;
}

int64_t decorum_bare_curl_download(const char *url, const char *fields) {
    int64_t received = 0;
    if (!load()) return -1;
    void *lines = list(fields);
    void *easy = make(url, lines, &received);
    bool is_complete = easy && is_ok(easy, curl.easy_perform(easy));
    if (easy) curl.easy_cleanup(easy);
    curl.slist_free_all(lines);
    return is_complete ? received : -1;
}

bool decorum_bare_curl_upload(const char *path, int64_t size, const char *url, const char *fields) {
    int64_t received = 0;
    if (!load()) return false;
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    void *lines = list(fields);
    void *easy = make(url, lines, &received);
    bool is_complete = false;
    if (easy) {
        // Without a function of one's own, libcurl reads from the file.
        curl.easy_setopt(easy, OPTION_UPLOAD, 1L);
        curl.easy_setopt(easy, OPTION_READDATA, file);
        curl.easy_setopt(easy, OPTION_INFILESIZE_LARGE, size);
        is_complete = is_ok(easy, curl.easy_perform(easy));
        curl.easy_cleanup(easy);
    }
    curl.slist_free_all(lines);
    fclose(file);
    return is_complete;
}

#endif
