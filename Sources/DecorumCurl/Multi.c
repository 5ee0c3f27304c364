#include "Library.h"

#if defined(__linux__)

void *decorum_curl_multi_init(const decorum_curl *library) { return library->multi_init(); }
void decorum_curl_multi_cleanup(const decorum_curl *library, void *multi) { library->multi_cleanup(multi); }

int decorum_curl_multi_set_number(
    const decorum_curl *library, void *multi, enum decorum_curl_multi_option option, long value) {
    return library->multi_setopt(multi, (int)option, value);
}

int decorum_curl_multi_add(const decorum_curl *library, void *multi, void *easy) {
    return library->multi_add_handle(multi, easy);
}

int decorum_curl_multi_remove(const decorum_curl *library, void *multi, void *easy) {
    return library->multi_remove_handle(multi, easy);
}

int decorum_curl_multi_perform(const decorum_curl *library, void *multi) {
    int running = 0;
    return library->multi_perform(multi, &running);
}

int decorum_curl_multi_poll(const decorum_curl *library, void *multi, int milliseconds) {
    int ready = 0;
    library->multi_poll(multi, NULL, 0, milliseconds, &ready);
    return ready;
}

int decorum_curl_multi_wakeup(const decorum_curl *library, void *multi) { return library->multi_wakeup(multi); }

void *decorum_curl_multi_next_ended(const decorum_curl *library, void *multi, int *code) {
    int left = 0;
    struct decorum_curl_message *message;
    while ((message = library->multi_info_read(multi, &left))) {
        if (message->msg == DECORUM_CURL_MESSAGE_DONE) {
            *code = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

#endif
