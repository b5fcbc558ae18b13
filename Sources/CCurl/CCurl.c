#include "CCurl.h"

CURLcode ccurl_prepare(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_callbacks(CURL *easy, curl_read_callback read, curl_seek_callback seek,
                             curl_write_callback write, curl_write_callback header, void *context) {
    CURLcode code;
    if ((code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, read))) return code;
    if ((code = curl_easy_setopt(easy, CURLOPT_READDATA, context))) return code;
    if ((code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek))) return code;
    if ((code = curl_easy_setopt(easy, CURLOPT_SEEKDATA, context))) return code;
    if ((code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write))) return code;
    if ((code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context))) return code;
    if ((code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header))) return code;
    if ((code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context))) return code;
    return curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
}

CURLcode ccurl_set_error_buffer(CURL *easy, char *buffer) {
    return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}

CURLcode ccurl_set_body_from_callback(CURL *easy, curl_off_t size) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, (void *)0);
    return code ? code : curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, size);
}

CURLcode ccurl_set_body_copy(CURL *easy, const void *bytes, curl_off_t size) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, size);
    return code ? code : curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes);
}

long ccurl_status(CURL *easy) {
    long status = 0;
    return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

const char *ccurl_effective_url(CURL *easy) {
    char *url = 0;
    return curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK ? url : 0;
}

void *ccurl_context(CURL *easy) {
    char *context = 0;
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context) == CURLE_OK ? context : 0;
}

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

CURL *ccurl_multi_next_done(CURLM *multi, CURLcode *result) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return 0;
}
