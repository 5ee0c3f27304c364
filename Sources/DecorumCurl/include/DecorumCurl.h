#ifndef DECORUM_CURL_H
#define DECORUM_CURL_H

// An interface to libcurl for Swift: functions without variable arguments, and a type for each kind of option.
// The library is opened when the program runs. Its numbers are part of its binary interface and never change;
// `.ci/check-curl-constants` compares them with the real headers.

#if defined(__linux__)

#include <stddef.h>
#include <stdint.h>

/// The result of opening the library.
enum decorum_curl_status {
    DECORUM_CURL_OPENED,
    /// No library of that name can be loaded.
    DECORUM_CURL_MISSING,
    /// The library lacks a function; its version can still be asked for.
    DECORUM_CURL_INCOMPLETE,
    /// The library could not initialize itself.
    DECORUM_CURL_FAILED,
};

enum decorum_curl_number_option {
    DECORUM_CURL_OPTION_SSLVERSION = 32,
    DECORUM_CURL_OPTION_VERBOSE = 41,
    DECORUM_CURL_OPTION_NOPROGRESS = 43,
    DECORUM_CURL_OPTION_NOBODY = 44,
    DECORUM_CURL_OPTION_UPLOAD = 46,
    DECORUM_CURL_OPTION_FRESH_CONNECT = 74,
    DECORUM_CURL_OPTION_FORBID_REUSE = 75,
    DECORUM_CURL_OPTION_HTTP_VERSION = 84,
    DECORUM_CURL_OPTION_BUFFERSIZE = 98,
    DECORUM_CURL_OPTION_NOSIGNAL = 99,
    DECORUM_CURL_OPTION_CONNECTTIMEOUT_MS = 156,
    DECORUM_CURL_OPTION_HTTP_TRANSFER_DECODING = 157,
    DECORUM_CURL_OPTION_HTTP_CONTENT_DECODING = 158,
    DECORUM_CURL_OPTION_CERTINFO = 172,
    DECORUM_CURL_OPTION_PROTOCOLS = 181,
    DECORUM_CURL_OPTION_PATH_AS_IS = 234,
    DECORUM_CURL_OPTION_PIPEWAIT = 237,
    DECORUM_CURL_OPTION_STREAM_WEIGHT = 239,
    DECORUM_CURL_OPTION_PROXY_SSLVERSION = 250,
    DECORUM_CURL_OPTION_SUPPRESS_CONNECT_HEADERS = 265,
    DECORUM_CURL_OPTION_UPLOAD_BUFFERSIZE = 280,
    DECORUM_CURL_OPTION_MAXAGE_CONN = 288,
    DECORUM_CURL_OPTION_MAXLIFETIME_CONN = 314,
    /// Since 7.87.
    DECORUM_CURL_OPTION_QUICK_EXIT = 322,
};

enum decorum_curl_offset_option {
    DECORUM_CURL_OPTION_INFILESIZE_LARGE = 30115,
};

enum decorum_curl_text_option {
    DECORUM_CURL_OPTION_URL = 10002,
    DECORUM_CURL_OPTION_PROXY = 10004,
    DECORUM_CURL_OPTION_SSLCERT = 10025,
    DECORUM_CURL_OPTION_KEYPASSWD = 10026,
    DECORUM_CURL_OPTION_CUSTOMREQUEST = 10036,
    DECORUM_CURL_OPTION_CAINFO = 10065,
    DECORUM_CURL_OPTION_SSLCERTTYPE = 10086,
    DECORUM_CURL_OPTION_SSLKEY = 10087,
    DECORUM_CURL_OPTION_CAPATH = 10097,
    DECORUM_CURL_OPTION_PROXYUSERNAME = 10175,
    DECORUM_CURL_OPTION_PROXYPASSWORD = 10176,
    DECORUM_CURL_OPTION_NOPROXY = 10177,
    DECORUM_CURL_OPTION_PINNEDPUBLICKEY = 10230,
    DECORUM_CURL_OPTION_UNIX_SOCKET_PATH = 10231,
    DECORUM_CURL_OPTION_PROXY_CAINFO = 10246,
    DECORUM_CURL_OPTION_PROXY_CAPATH = 10247,
    DECORUM_CURL_OPTION_REQUEST_TARGET = 10266,
};

/// Options whose value is a pointer that libcurl keeps.
enum decorum_curl_pointer_option {
    DECORUM_CURL_OPTION_WRITEDATA = 10001,
    DECORUM_CURL_OPTION_READDATA = 10009,
    DECORUM_CURL_OPTION_ERRORBUFFER = 10010,
    DECORUM_CURL_OPTION_HTTPHEADER = 10023,
    DECORUM_CURL_OPTION_HEADERDATA = 10029,
    DECORUM_CURL_OPTION_XFERINFODATA = 10057,
    DECORUM_CURL_OPTION_DEBUGDATA = 10095,
    DECORUM_CURL_OPTION_OPENSOCKETDATA = 10164,
    DECORUM_CURL_OPTION_CLOSESOCKETDATA = 10209,
    DECORUM_CURL_OPTION_RESOLVE = 10203,
    DECORUM_CURL_OPTION_TRAILERDATA = 10284,
    DECORUM_CURL_OPTION_PREREQDATA = 10313,
};

/// Options whose value is a pointer to bytes, which libcurl does not copy.
enum decorum_curl_bytes_option {
    DECORUM_CURL_OPTION_SSLCERT_BLOB = 40291,
    DECORUM_CURL_OPTION_SSLKEY_BLOB = 40292,
    DECORUM_CURL_OPTION_CAINFO_BLOB = 40309,
    DECORUM_CURL_OPTION_PROXY_CAINFO_BLOB = 40310,
};

enum decorum_curl_data_callback_option {
    DECORUM_CURL_OPTION_WRITEFUNCTION = 20011,
    DECORUM_CURL_OPTION_READFUNCTION = 20012,
    DECORUM_CURL_OPTION_HEADERFUNCTION = 20079,
};

/// The options of other callbacks, each of which has its own setter.
enum decorum_curl_callback_option {
    DECORUM_CURL_OPTION_DEBUGFUNCTION = 20094,
    DECORUM_CURL_OPTION_OPENSOCKETFUNCTION = 20163,
    DECORUM_CURL_OPTION_SEEKFUNCTION = 20167,
    DECORUM_CURL_OPTION_CLOSESOCKETFUNCTION = 20208,
    DECORUM_CURL_OPTION_XFERINFOFUNCTION = 20219,
    DECORUM_CURL_OPTION_TRAILERFUNCTION = 20283,
    DECORUM_CURL_OPTION_PREREQFUNCTION = 20312,
};

enum decorum_curl_multi_option {
    DECORUM_CURL_MULTI_MAXCONNECTS = 6,
    DECORUM_CURL_MULTI_MAX_HOST_CONNECTIONS = 7,
    DECORUM_CURL_MULTI_MAX_TOTAL_CONNECTIONS = 13,
};

enum decorum_curl_number_information {
    DECORUM_CURL_INFORMATION_HTTP_CONNECTCODE = 0x200016,
    DECORUM_CURL_INFORMATION_OS_ERRNO = 0x200019,
    DECORUM_CURL_INFORMATION_NUM_CONNECTS = 0x20001A,
};

enum decorum_curl_text_information {
    DECORUM_CURL_INFORMATION_PRIMARY_IP = 0x100020,
};

/// Times, in microseconds from the start of the transfer.
enum decorum_curl_offset_information {
    DECORUM_CURL_INFORMATION_TOTAL_TIME = 0x600032,
    DECORUM_CURL_INFORMATION_NAMELOOKUP_TIME = 0x600033,
    DECORUM_CURL_INFORMATION_CONNECT_TIME = 0x600034,
    DECORUM_CURL_INFORMATION_STARTTRANSFER_TIME = 0x600036,
    DECORUM_CURL_INFORMATION_PRETRANSFER_TIME = 0x600035,
    DECORUM_CURL_INFORMATION_APPCONNECT_TIME = 0x600038,
    /// Since 8.6.
    DECORUM_CURL_INFORMATION_QUEUE_TIME = 0x600041,
};

enum {
    DECORUM_CURL_OK = 0,
    DECORUM_CURL_MULTI_OK = 0,
    DECORUM_CURL_PROTOCOL_HTTP = 1,
    DECORUM_CURL_PROTOCOL_HTTPS = 2,
    DECORUM_CURL_HTTP_VERSION_1_1 = 2,
    DECORUM_CURL_HTTP_VERSION_2TLS = 4,
    DECORUM_CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE = 5,
    DECORUM_CURL_SSLVERSION_TLSv1_2 = 6,
    DECORUM_CURL_SSLVERSION_TLSv1_3 = 7,
    DECORUM_CURL_INFOTYPE_TEXT = 0,
    DECORUM_CURL_PAUSE_RECEIVING = 1,
    DECORUM_CURL_PAUSE_SENDING = 4,
    DECORUM_CURL_WRITE_PAUSE = 0x10000001,
    DECORUM_CURL_READ_ABORT = 0x10000000,
    DECORUM_CURL_READ_PAUSE = 0x10000001,
    DECORUM_CURL_SEEK_FAIL = 1,
    DECORUM_CURL_TRAILERS_OK = 0,
    DECORUM_CURL_TRAILERS_ABORT = 1,
    DECORUM_CURL_PREREQUEST_OK = 0,
    DECORUM_CURL_PREREQUEST_ABORT = 1,
    DECORUM_CURL_ERROR_SIZE = 256,
};

/// An opened library, which stays open as long as the program runs.
typedef struct decorum_curl decorum_curl;

typedef size_t (*decorum_curl_data_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*decorum_curl_progress_callback)(
    void *context, int64_t toReceive, int64_t received, int64_t toSend, int64_t sent);
typedef int (*decorum_curl_trailers_callback)(void **list, void *context);
/// The start of `struct curl_sockaddr`.
struct decorum_curl_address {
    int family;
    int type;
    int protocol;
};

typedef int (*decorum_curl_debug_callback)(void *easy, int type, char *bytes, size_t count, void *context);
/// Returns a descriptor, or -1.
typedef int (*decorum_curl_socket_callback)(void *context, int purpose, struct decorum_curl_address *address);
typedef int (*decorum_curl_close_callback)(void *context, int socket);
typedef int (*decorum_curl_prerequest_callback)(
    void *context, char *remoteAddress, char *localAddress, int remotePort, int localPort);

/// Opens a library by its file's name; opening it again gives the same one.
///
/// The library is null unless the status is opened, incomplete or failed. Any thread may call this function.
enum decorum_curl_status decorum_curl_open(const char *name, const decorum_curl **library);

const char *decorum_curl_version(const decorum_curl *library);
unsigned decorum_curl_version_number(const decorum_curl *library);
/// The TLS library and its version, as in `OpenSSL/3.0.15`; null where there is none.
const char *decorum_curl_tls_version(const decorum_curl *library);
/// The features of the library, one bit each (`CURL_VERSION_…`).
int decorum_curl_features(const decorum_curl *library);
/// The name of a protocol, as in `wss`, by its number; null behind the last one.
const char *decorum_curl_protocol(const decorum_curl *library, int number);
const char *decorum_curl_error_text(const decorum_curl *library, int code);
/// The name of an option of any kind, as in `CAINFO_BLOB`; null where the library does not know it.
const char *decorum_curl_option_name(const decorum_curl *library, int option);

/// Names the calling thread, in at most 15 characters, and blocks the signal of a broken connection.
void decorum_curl_enter_thread(const char *name);

void *decorum_curl_easy_init(const decorum_curl *library);
void decorum_curl_easy_cleanup(const decorum_curl *library, void *easy);
void decorum_curl_easy_reset(const decorum_curl *library, void *easy);
int decorum_curl_easy_pause(const decorum_curl *library, void *easy, int directions);

int decorum_curl_set_number(const decorum_curl *library, void *easy, enum decorum_curl_number_option option, long value);
int decorum_curl_set_offset(
    const decorum_curl *library, void *easy, enum decorum_curl_offset_option option, int64_t value);
/// Sets a text, which libcurl copies. Null removes the text, which is not always the option's default.
int decorum_curl_set_text(
    const decorum_curl *library, void *easy, enum decorum_curl_text_option option, const char *value);
int decorum_curl_set_pointer(
    const decorum_curl *library, void *easy, enum decorum_curl_pointer_option option, void *value);
/// Sets the context of the callbacks that every transfer has. libcurl refuses none of these options.
void decorum_curl_set_context(const decorum_curl *library, void *easy, void *context);
/// Sets bytes, which must not move for as long as the handle has them.
int decorum_curl_set_bytes(
    const decorum_curl *library, void *easy, enum decorum_curl_bytes_option option, const void *bytes, size_t count);
int decorum_curl_set_data_callback(
    const decorum_curl *library, void *easy, enum decorum_curl_data_callback_option option,
    decorum_curl_data_callback callback);
int decorum_curl_set_progress_callback(
    const decorum_curl *library, void *easy, decorum_curl_progress_callback callback);
int decorum_curl_set_trailers_callback(
    const decorum_curl *library, void *easy, decorum_curl_trailers_callback callback);
int decorum_curl_set_prerequest_callback(
    const decorum_curl *library, void *easy, decorum_curl_prerequest_callback callback);
int decorum_curl_set_debug_callback(const decorum_curl *library, void *easy, decorum_curl_debug_callback callback);
int decorum_curl_set_close_callback(const decorum_curl *library, void *easy, decorum_curl_close_callback callback);
int decorum_curl_set_socket_callback(const decorum_curl *library, void *easy, decorum_curl_socket_callback callback);
/// Opens a socket that child processes do not inherit; returns -1 where the system gives none.
int decorum_curl_open_socket(const struct decorum_curl_address *address);
int decorum_curl_close_socket(int descriptor);
/// The local port of a connection; -1 where it has none.
int decorum_curl_local_port(int descriptor);
/// Whether a read would return at once, with bytes, the end or an error.
int decorum_curl_has_input(int descriptor);
/// Whether the peer of a socket sends no more, and all that it sent was read.
int decorum_curl_has_ended(int descriptor);
/// Whether a message for a debug callback reports that the server's close_notify has arrived.
///
/// libcurl reports it with OpenSSL and LibreSSL, on connections that were opened by a verbose transfer.
int decorum_curl_reports_close_notify(int type, const char *text, size_t count);
/// Prevents libcurl from sending content again from its start.
int decorum_curl_refuse_rewinding(const decorum_curl *library, void *easy);

long decorum_curl_number(const decorum_curl *library, void *easy, enum decorum_curl_number_information information);
int64_t decorum_curl_offset(const decorum_curl *library, void *easy, enum decorum_curl_offset_information information);
/// Returns a text that belongs to the handle, or null.
const char *decorum_curl_text(const decorum_curl *library, void *easy, enum decorum_curl_text_information information);

/// Returns a certificate of the server as PEM, by its number in the chain, which belongs to the handle; null where there is none.
///
/// Only a handle with `CERTINFO` whose transfer has made a TLS handshake has certificates.
const char *decorum_curl_certificate(const decorum_curl *library, void *easy, int number);

/// Returns the list with a copy of the line at its end; or null, and the list is unchanged.
void *decorum_curl_list_append(const decorum_curl *library, void *list, const char *line);
void decorum_curl_list_free(const decorum_curl *library, void *list);

void *decorum_curl_multi_init(const decorum_curl *library);
void decorum_curl_multi_cleanup(const decorum_curl *library, void *multi);
/// Prevents child processes from inheriting the descriptors that wake the handle, as they do up to 8.8.
///
/// libcurl does not name these descriptors. They are found by waking the handle, which puts bytes into them.
void decorum_curl_multi_close_on_exec(const decorum_curl *library, void *multi);
int decorum_curl_multi_set_number(
    const decorum_curl *library, void *multi, enum decorum_curl_multi_option option, long value);
int decorum_curl_multi_add(const decorum_curl *library, void *multi, void *easy);
int decorum_curl_multi_remove(const decorum_curl *library, void *multi, void *easy);
int decorum_curl_multi_perform(const decorum_curl *library, void *multi);
/// Returns how many connections the network needs; waking the handle counts as none.
int decorum_curl_multi_poll(const decorum_curl *library, void *multi, int milliseconds);
/// Wakes the handle. Only this function may be called by another thread while the handle is in use.
int decorum_curl_multi_wakeup(const decorum_curl *library, void *multi);
/// Returns the handle of a transfer that has ended, and its code; or null where no more have ended.
void *decorum_curl_multi_next_ended(const decorum_curl *library, void *multi, int *code);

#endif
#endif
