/* libcurl for Swift: named, typed wrappers of the variadic functions and unions that Swift cannot call. No logic. For
 * semantics, ownership and threads see curl's man page of the option or function that each comment names. */
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

/* curl_global_init(3) with all features. Call once, before any other function. */
CURLcode ccurl_prepare(void);

/* curl_easy_setopt(3), by the option's type. libcurl copies strings. */
CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value);
/* libcurl keeps the pointer: the list must live as long as the handle uses it. */
CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value);

/* The callbacks for the request's body and the response. Each, and CURLOPT_PRIVATE, receives `context`. */
CURLcode ccurl_set_callbacks(CURL *easy, curl_read_callback read, curl_seek_callback seek,
                             curl_write_callback write, curl_write_callback header, void *context);

/* CURLOPT_ERRORBUFFER: CURL_ERROR_SIZE bytes that live as long as the handle. */
CURLcode ccurl_set_error_buffer(CURL *easy, char *buffer);

/* The request's body: `size` bytes from the read callback. */
CURLcode ccurl_set_body_from_callback(CURL *easy, curl_off_t size);
/* The request's body: a copy of these bytes, sent together with the request's headers. */
CURLcode ccurl_set_body_copy(CURL *easy, const void *bytes, curl_off_t size);

/* CURLINFO_RESPONSE_CODE: the last status code received; 0: none. */
long ccurl_status(CURL *easy);
/* CURLINFO_EFFECTIVE_URL: the last URL used; NULL: none. The handle owns the memory. */
const char *ccurl_effective_url(CURL *easy);
/* CURLINFO_PRIVATE: the `context` above. */
void *ccurl_context(CURL *easy);

/* curl_multi_setopt(3) for options that take a number. */
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);

/* curl_multi_info_read(3): the next transfer that has ended, and its result; NULL: none. */
CURL *ccurl_multi_next_done(CURLM *multi, CURLcode *result);

#endif
