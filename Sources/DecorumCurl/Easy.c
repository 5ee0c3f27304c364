#include "Library.h"

#if defined(__linux__)

#include <string.h>

void *decorum_curl_easy_init(const decorum_curl *library) { return library->easy_init(); }
void decorum_curl_easy_cleanup(const decorum_curl *library, void *easy) { library->easy_cleanup(easy); }
void decorum_curl_easy_reset(const decorum_curl *library, void *easy) { library->easy_reset(easy); }

int decorum_curl_easy_pause(const decorum_curl *library, void *easy, int directions) {
    return library->easy_pause(easy, directions);
}

int decorum_curl_set_number(
    const decorum_curl *library, void *easy, enum decorum_curl_number_option option, long value) {
    return library->easy_setopt(easy, (int)option, value);
}

int decorum_curl_set_offset(
    const decorum_curl *library, void *easy, enum decorum_curl_offset_option option, int64_t value) {
    return library->easy_setopt(easy, (int)option, value);
}

int decorum_curl_set_text(
    const decorum_curl *library, void *easy, enum decorum_curl_text_option option, const char *value) {
    return library->easy_setopt(easy, (int)option, value);
}

int decorum_curl_set_pointer(
    const decorum_curl *library, void *easy, enum decorum_curl_pointer_option option, void *value) {
    return library->easy_setopt(easy, (int)option, value);
}

void decorum_curl_set_context(const decorum_curl *library, void *easy, void *context) {
    library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_HEADERDATA, context);
    library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_WRITEDATA, context);
    library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_PREREQDATA, context);
    library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_OPENSOCKETDATA, context);
    library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_DEBUGDATA, context);
}

int decorum_curl_set_bytes(
    const decorum_curl *library, void *easy, enum decorum_curl_bytes_option option, const void *bytes, size_t count) {
    struct decorum_curl_blob blob = {(void *)bytes, count, DECORUM_CURL_BLOB_NOCOPY};
    return library->easy_setopt(easy, (int)option, &blob);
}

int decorum_curl_set_data_callback(
    const decorum_curl *library, void *easy, enum decorum_curl_data_callback_option option,
    decorum_curl_data_callback callback) {
    return library->easy_setopt(easy, (int)option, callback);
}

int decorum_curl_set_progress_callback(
    const decorum_curl *library, void *easy, decorum_curl_progress_callback callback) {
    return library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_XFERINFOFUNCTION, callback);
}

int decorum_curl_set_trailers_callback(
    const decorum_curl *library, void *easy, decorum_curl_trailers_callback callback) {
    return library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_TRAILERFUNCTION, callback);
}

int decorum_curl_set_prerequest_callback(
    const decorum_curl *library, void *easy, decorum_curl_prerequest_callback callback) {
    return library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_PREREQFUNCTION, callback);
}

int decorum_curl_set_debug_callback(const decorum_curl *library, void *easy, decorum_curl_debug_callback callback) {
    return library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_DEBUGFUNCTION, callback);
}

int decorum_curl_set_close_callback(const decorum_curl *library, void *easy, decorum_curl_close_callback callback) {
    return library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_CLOSESOCKETFUNCTION, callback);
}

int decorum_curl_set_socket_callback(const decorum_curl *library, void *easy, decorum_curl_socket_callback callback) {
    return library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_OPENSOCKETFUNCTION, callback);
}

/// Whether a text of the given length, without a null at its end, contains another text.
static int contains(const char *text, size_t count, const char *part) {
    size_t length = strlen(part);
    for (size_t start = 0; start + length <= count; start++) {
        if (memcmp(text + start, part, length) == 0) return 1;
    }
    return 0;
}

int decorum_curl_reports_close_notify(int type, const char *text, size_t count) {
    return type == DECORUM_CURL_INFOTYPE_TEXT && contains(text, count, "(IN), TLS alert, close notify");
}

static int refuse_to_seek(void *context, int64_t offset, int origin) {
    (void)context;
    (void)offset;
    (void)origin;
    return DECORUM_CURL_SEEK_FAIL;
}

int decorum_curl_refuse_rewinding(const decorum_curl *library, void *easy) {
    return library->easy_setopt(easy, (int)DECORUM_CURL_OPTION_SEEKFUNCTION, refuse_to_seek);
}

long decorum_curl_number(const decorum_curl *library, void *easy, enum decorum_curl_number_information information) {
    long value = 0;
    library->easy_getinfo(easy, (int)information, &value);
    return value;
}

int64_t decorum_curl_offset(
    const decorum_curl *library, void *easy, enum decorum_curl_offset_information information) {
    int64_t value = 0;
    library->easy_getinfo(easy, (int)information, &value);
    return value;
}

const char *decorum_curl_text(
    const decorum_curl *library, void *easy, enum decorum_curl_text_information information) {
    char *value = NULL;
    library->easy_getinfo(easy, (int)information, &value);
    return value;
}

const char *decorum_curl_certificate(const decorum_curl *library, void *easy, int number) {
    static const char name[] = "Cert:";
    struct decorum_curl_certificates *certificates = NULL;
    library->easy_getinfo(easy, DECORUM_CURL_INFORMATION_CERTINFO, &certificates);
    if (!certificates || number < 0 || number >= certificates->count) return NULL;
    for (const struct decorum_curl_line *line = certificates->lists[number]; line; line = line->next) {
        if (line->text && strncmp(line->text, name, sizeof name - 1) == 0) return line->text + sizeof name - 1;
    }
    return NULL;
}

void *decorum_curl_list_append(const decorum_curl *library, void *list, const char *line) {
    return library->slist_append(list, line);
}

void decorum_curl_list_free(const decorum_curl *library, void *list) { library->slist_free_all(list); }

#endif
