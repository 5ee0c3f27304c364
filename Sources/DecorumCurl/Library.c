#include "Library.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Guards the list of libraries, and the initialization of each, which before 7.84 is not thread-safe.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct decorum_curl *libraries;

static enum decorum_curl_status load(struct decorum_curl *library, void *handle) {
    struct decorum_curl_version_start *(*version_info)(int);
    version_info = (struct decorum_curl_version_start * (*)(int)) dlsym(handle, "curl_version_info");
    if (!version_info) return DECORUM_CURL_MISSING;
    const struct decorum_curl_version_start *start = version_info(DECORUM_CURL_VERSION_FIRST);
    library->version = start->version;
    library->version_number = start->version_num;
    library->tls_version = start->ssl_version;
    library->features = start->features;
    library->protocols = start->protocols;
#define LOAD(result, name, parameters)                                        \
    library->name = (result(*) parameters)dlsym(handle, "curl_" #name);       \
    if (!library->name) return DECORUM_CURL_INCOMPLETE;
    DECORUM_CURL_FUNCTIONS(LOAD)
#undef LOAD
    return library->global_init(DECORUM_CURL_GLOBAL_ALL) == 0 ? DECORUM_CURL_OPENED : DECORUM_CURL_FAILED;
}

static struct decorum_curl *find(const char *name) {
    struct decorum_curl *library = libraries;
    while (library && strcmp(library->name, name) != 0) library = library->next;
    return library;
}

static struct decorum_curl *add(const char *name) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return NULL;
    struct decorum_curl *library = calloc(1, sizeof *library);
    char *copy = strdup(name);
    if (!library || !copy) {
        free(library);
        free(copy);
        dlclose(handle);
        return NULL;
    }
    library->name = copy;
    library->status = load(library, handle);
    library->next = libraries;
    libraries = library;
    return library;
}

enum decorum_curl_status decorum_curl_open(const char *name, const decorum_curl **result) {
    pthread_mutex_lock(&mutex);
    struct decorum_curl *library = find(name);
    if (!library) library = add(name);
    pthread_mutex_unlock(&mutex);
    enum decorum_curl_status status = library ? library->status : DECORUM_CURL_MISSING;
    *result = status == DECORUM_CURL_MISSING ? NULL : library;
    return status;
}

const char *decorum_curl_version(const decorum_curl *library) { return library->version; }
unsigned decorum_curl_version_number(const decorum_curl *library) { return library->version_number; }
const char *decorum_curl_tls_version(const decorum_curl *library) { return library->tls_version; }
int decorum_curl_features(const decorum_curl *library) { return library->features; }

const char *decorum_curl_protocol(const decorum_curl *library, int number) {
    const char *const *protocols = library->protocols;
    while (*protocols && number-- > 0) ++protocols;
    return *protocols;
}

const char *decorum_curl_error_text(const decorum_curl *library, int code) { return library->easy_strerror(code); }

const char *decorum_curl_option_name(const decorum_curl *library, int option) {
    const struct decorum_curl_option_start *start = library->easy_option_by_id(option);
    return start ? start->name : NULL;
}

#endif
