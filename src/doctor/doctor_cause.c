/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/doctor_cause.c - the table. Remedies are sentences without a full stop.
 */
#include "doctor/doctor_cause.h"

#define SUSPECT DOCTOR_SUSPECT
#define WARN    DOCTOR_WARN
#define FAIL    DOCTOR_FAIL

const char *doctor_level_name(enum doctor_level l)
{
    static const char *const names[] = {
        [DOCTOR_OK] = "OK",     [DOCTOR_SUSPECT] = "OK", [DOCTOR_SKIP] = "SKIP",
        [DOCTOR_WARN] = "WARN", [DOCTOR_FAIL] = "FAIL",
    };

    return names[l];
}

const struct doctor_cause_info doctor_causes[CAUSE_COUNT_] = {
    [CAUSE_NO_CAUSE] = {"", DOCTOR_OK, 0, 0, ""},

    [CAUSE_URL_NONE] =
        {"url_none", DOCTOR_SKIP, 0, 0,
         "give the URL that clients use, for example: inferometer doctor http://127.0.0.1:8000/v1"},
    [CAUSE_URL_SCHEME] = {"url_scheme", FAIL, 0, 0, "begin the URL with http:// or https://"},
    [CAUSE_URL_BAD] = {"url_bad", FAIL, 0, 0, "write it as http://HOST:PORT/v1"},
    [CAUSE_URL_STRAY] = {"url_stray_space", FAIL, 0, 0,
                         "take spaces and line ends out of it; in files of Windows every line ends "
                         "with one too many"},
    [CAUSE_URL_QUOTES] = {"url_quotes", FAIL, 0, 0,
                          "take the quotation marks out of the value: a shell removes them, "
                          "Docker's --env-file and others do not"},
    [CAUSE_URL_DOUBLED_V1] = {"url_doubled_v1", WARN, 0, ABOUT_PATH, "leave one /v1"},
    [CAUSE_URL_ENDPOINT] = {"url_endpoint", WARN, 0, ABOUT_PATH,
                            "end the base URL before the endpoint: clients add it themselves"},
    [CAUSE_URL_SLASH] = {"url_trailing_slash", WARN, 0, ABOUT_PATH,
                         "drop the slash at the end: some clients make //chat/completions of it, "
                         "which servers answer with 404 or 307"},
    [CAUSE_URL_QUERY] = {"url_query", WARN, 0, ABOUT_PATH,
                         "clients add paths behind the base URL, so that a query or fragment there "
                         "ends up in the wrong place; use the client's own option for it"},
    [CAUSE_URL_LISTEN] = {"url_listen_address", WARN, 0, ABOUT_REACH,
                          "0.0.0.0 and [::] are addresses to listen on; connect to 127.0.0.1 or to "
                          "the machine's name"},
    [CAUSE_URL_NO_V1] = {"url_without_v1", FAIL, ABOUT_PATH, 0, "add /v1 to the base URL"},
    [CAUSE_URL_EXTRA_V1] = {"url_with_extra_v1", FAIL, ABOUT_PATH, 0,
                            "take /v1 off the base URL: this client adds it itself"},
    [CAUSE_URL_IS_KEY] = {"url_is_key", FAIL, 0, 0,
                          "it looks like a key: the two variables were mixed up"},
    [CAUSE_URLS_DIFFER] = {"base_urls_differ", WARN, 0, 0,
                           "which one counts depends on the client's version; set OPENAI_BASE_URL "
                           "and unset OPENAI_API_BASE, the older name"},
    [CAUSE_URL_UNUSED] = {"base_url_unused", WARN, 0, 0,
                          "unset the variable that sends Claude Code to a cloud, or the base URL"},

    [CAUSE_KEY_UNSET] = {"key_unset", FAIL, 0, 0,
                         "export the variable, or name another one with --key-env"},
    [CAUSE_KEY_NONE] = {"key_none", SUSPECT, 0, ABOUT_AUTH,
                        "export a key, or name its variable with --key-env"},
    [CAUSE_KEY_NEWLINE] =
        {"key_newline", FAIL, 0, 0,
         "take line ends and control characters out of it: no client can send it like that"},
    [CAUSE_KEY_STRAY] = {"key_stray_space", WARN, 0, ABOUT_AUTH,
                         "take spaces and invisible characters out of it"},
    [CAUSE_KEY_QUOTES] = {"key_quotes", WARN, 0, ABOUT_AUTH,
                          "take the quotation marks out of the value: a shell removes them, "
                          "Docker's --env-file and others do not"},
    [CAUSE_KEY_BEARER] = {"key_with_bearer", WARN, 0, ABOUT_AUTH,
                          "leave \"Bearer\" out: clients write it themselves"},
    [CAUSE_KEY_UNEXPANDED] = {"key_unexpanded", WARN, 0, ABOUT_AUTH,
                              "the name of a variable stands where its value should be: it was set "
                              "where nothing expands it"},
    [CAUSE_KEY_PLACEHOLDER] = {"key_placeholder", SUSPECT, 0, ABOUT_AUTH,
                               "put the real key in its place"},
    [CAUSE_KEY_VENDOR] = {"key_of_other_vendor", WARN, 0, ABOUT_AUTH,
                          "use a key of the service that is asked"},
    [CAUSE_KEY_IS_LOGIN] = {"key_is_login_token", WARN, 0, ABOUT_AUTH,
                            "put it into CLAUDE_CODE_OAUTH_TOKEN: as an API key it is refused"},
    [CAUSE_KEY_IS_URL] = {"key_is_url", WARN, 0, ABOUT_AUTH,
                          "it is a URL: the two variables were mixed up"},
    [CAUSE_KEY_AND_TOKEN] =
        {"key_and_token", WARN, 0, ABOUT_AUTH,
         "unset one: ANTHROPIC_API_KEY is sent as x-api-key, ANTHROPIC_AUTH_TOKEN as a bearer "
         "token, and clients send one or both"},
    [CAUSE_KEYS_DIFFER] = {"keys_differ", WARN, 0, ABOUT_AUTH,
                           "unset one: which counts depends on the client"},
    [CAUSE_OAUTH_AND_KEY] = {"oauth_and_key", WARN, 0, ABOUT_AUTH,
                             "unset one: a login token and a key are billed differently, and the "
                             "token may be used instead of the key"},

    [CAUSE_SETTINGS_BROKEN] = {"settings_broken", WARN, 0, 0,
                               "correct the file: its tool may ignore all of it"},
    [CAUSE_SETTINGS_OVERRIDE] =
        {"settings_override", WARN, 0, ABOUT_AUTH | ABOUT_PATH | ABOUT_REACH,
         "change or remove it in the file: what you export in the shell has no effect there"},
    [CAUSE_SETTINGS_DIFFER] =
        {"settings_differ", WARN, 0, ABOUT_AUTH | ABOUT_PATH,
         "make them the same: some tools take the file, others the environment"},
    [CAUSE_SETTINGS_ENV_UNSET] = {"settings_variable_unset", WARN, 0, 0,
                                  "export the variable that the file names"},
    [CAUSE_LOGIN_OVERRIDES] =
        {"login_overrides_key", WARN, 0, 0,
         "log out in that tool, or tell it to use the key: the login is used and the key is not"},
    [CAUSE_LOGIN_TO_OTHER] = {"login_to_other_server", WARN, 0, 0,
                              "set ANTHROPIC_AUTH_TOKEN for that server: with a login alone its "
                              "token goes to a server that does not know it"},
    [CAUSE_KEY_REJECTED] = {"key_rejected_before", WARN, 0, 0,
                            "remove the key's entry in customApiKeyResponses.rejected of "
                            "~/.claude.json, or choose it in /config"},
    [CAUSE_HELPER_AND_KEY] = {"helper_and_key", WARN, 0, 0, "keep one of them"},

    [CAUSE_PROXY_UNUSABLE] =
        {"proxy_unusable", FAIL, 0, 0,
         "write the proxy as http://HOST:PORT, or except the server in no_proxy"},
    [CAUSE_PROXY_TWINS] =
        {"proxy_variables_differ", WARN, 0, ABOUT_REACH,
         "make both spellings say the same: some programs read the one, some the other"},
    [CAUSE_PROXY_LOOPBACK] = {"proxy_for_loopback", WARN, 0, ABOUT_REACH,
                              "add localhost,127.0.0.1,::1 to no_proxy and NO_PROXY: curl and "
                              "Python's clients send even loopback requests to the proxy"},
    [CAUSE_PROXY_UPPER] =
        {"proxy_upper_case_only", WARN, 0, ABOUT_REACH,
         "set http_proxy in lower case, too: curl and others do not read HTTP_PROXY"},
    [CAUSE_PROXY_EXCEPTION] =
        {"no_proxy_entry", WARN, 0, ABOUT_REACH,
         "write names, domains or addresses alone, separated by commas: no scheme, no path"},
    [CAUSE_PROXY_USED] =
        {"proxy_used", SUSPECT, 0, ABOUT_BUFFER,
         "except the server in no_proxy, or have the proxy pass streams on at once"},
    [CAUSE_PROXY_LOGIN] = {"proxy_login", FAIL, 0, 0,
                           "put credentials into the proxy's URL: http://USER:PASSWORD@HOST:PORT"},
    [CAUSE_PROXY_REFUSED] = {"proxy_refused", FAIL, 0, 0,
                             "allow the server in the proxy, or except it in no_proxy"},
    [CAUSE_PROXY_DOWN] = {"proxy_down", FAIL, 0, 0,
                          "start the proxy, correct its address, or unset the variable"},

    [CAUSE_DNS_NO_NAME] =
        {"dns_no_such_name", FAIL, ABOUT_REACH, 0,
         "check the spelling; in containers names of the host and of other networks are not known"},
    [CAUSE_DNS_TROUBLE] = {"dns_trouble", FAIL, ABOUT_REACH, 0,
                           "check the name servers in /etc/resolv.conf"},
    [CAUSE_TCP_REFUSED] =
        {"tcp_refused", FAIL, ABOUT_REACH, 0,
         "start the server, or correct the port; in a container 127.0.0.1 is the container itself"},
    [CAUSE_TCP_TIMEOUT] = {"tcp_timeout", FAIL, ABOUT_REACH, 0,
                           "look for a firewall on the way, and whether the address is right"},
    [CAUSE_TCP_UNREACHABLE] = {"tcp_unreachable", FAIL, ABOUT_REACH, 0,
                               "check routes and VPN: there is no way to that address"},
    [CAUSE_TCP_FAILED] = {"tcp_failed", FAIL, ABOUT_REACH, 0, "check address and port"},
    [CAUSE_TCP_FIRST_ADDRESS] = {"tcp_some_addresses", WARN, 0, 0,
                                 "listen on all of the name's addresses, or use the address: "
                                 "clients that try only the first one fail or wait"},
    [CAUSE_TLS_PLAIN_SERVER] =
        {"tls_plain_server", FAIL, ABOUT_TLS, 0,
         "the server speaks plain HTTP there: use http://, or its port for TLS"},
    [CAUSE_TLS_EXPIRED] = {"tls_expired", FAIL, ABOUT_TLS, 0, "renew the server's certificate"},
    [CAUSE_TLS_EXPIRES] = {"tls_expires_soon", WARN, 0, 0, "renew the server's certificate"},
    [CAUSE_TLS_NAME] = {"tls_wrong_name", FAIL, ABOUT_TLS, 0,
                        "use the name that the certificate is for, or have it made for this one"},
    [CAUSE_TLS_ISSUER] = {"tls_unknown_issuer", FAIL, ABOUT_TLS, 0,
                          "have clients trust the issuer (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, "
                          "REQUESTS_CA_BUNDLE); where a firewall opens TLS, that is the firewall's "
                          "own; a server also has to send the certificates between"},
    [CAUSE_TLS_OTHER] = {"tls_failed", FAIL, ABOUT_TLS, 0, "see what the server wants of TLS"},
    [CAUSE_CLOCK_SKEW] = {"clock_skew", WARN, 0, ABOUT_TLS,
                          "synchronise the clocks (NTP) on both machines"},

    [CAUSE_HTTP_TO_TLS] = {"http_to_tls_port", FAIL, 0, 0,
                           "the server speaks TLS there: use https://"},
    [CAUSE_HTTP_NOT] = {"http_not", FAIL, 0, 0,
                        "see what listens there: it does not speak HTTP/1.1"},
    [CAUSE_HTTP_SILENT] = {"http_silent", FAIL, 0, 0,
                           "the connection stands and no answer comes: look at the server's log, "
                           "and at what stands in front of it"},
    [CAUSE_HTTP_401] = {"http_401", FAIL, ABOUT_AUTH, 0, "use a key that this server knows"},
    [CAUSE_HTTP_401_PROXY] =
        {"http_401_in_front", FAIL, 0, 0,
         "something in front of the API wants a login of its own (Basic, Negotiate, a login page): "
         "reach the API without it, or log in there"},
    [CAUSE_HTTP_402] = {"http_402", FAIL, 0, 0, "the account has no credit left: add some"},
    [CAUSE_HTTP_403] =
        {"http_403", FAIL, ABOUT_AUTH, 0,
         "the key is known and may not do this: look at its models, project and region"},
    [CAUSE_HTTP_403_WALL] = {"http_403_wall", FAIL, 0, 0,
                             "a firewall or CDN in front of the API refused, not the API: its page "
                             "says why (region, address, program)"},
    [CAUSE_HTTP_404] =
        {"http_404", FAIL, ABOUT_PATH, 0,
         "nothing is at that path: check the base URL, and whether the API listens on this port"},
    [CAUSE_HTTP_405] =
        {"http_405", FAIL, ABOUT_PATH, 0,
         "the path exists for another method: the base URL points at a page or at one endpoint"},
    [CAUSE_HTTP_REDIRECT] = {"http_redirect", FAIL, 0, 0,
                             "use the address it points to as the base URL: on redirects clients "
                             "lose the body or the key"},
    [CAUSE_HTTP_429] = {"http_429", WARN, 0, 0,
                        "wait, or raise the limit: quota, rate or concurrency is used up"},
    [CAUSE_HTTP_400] = {"http_400", FAIL, 0, 0,
                        "see the server's log for what it did not like about the request"},
    [CAUSE_HTTP_501] =
        {"http_501", FAIL, ABOUT_PATH, 0,
         "what listens there is no API (a file server, a proxy): check host and port"},
    [CAUSE_HTTP_502] = {"http_502", FAIL, 0, 0,
                        "the gateway answers, the engine behind it does not: look whether the "
                        "engine runs and where the gateway sends to"},
    [CAUSE_HTTP_503] =
        {"http_503", FAIL, 0, 0,
         "the server is starting, draining or overloaded: wait, then look at its log"},
    [CAUSE_HTTP_504] = {"http_504", FAIL, 0, 0,
                        "the engine did not answer in the gateway's time: look at its queue, then "
                        "at the gateway's time limit"},
    [CAUSE_HTTP_5XX] = {"http_5xx", FAIL, 0, 0, "see the server's log"},
    [CAUSE_HTTP_PAGE] = {"http_page", FAIL, ABOUT_PATH, 0,
                         "a web page answers instead of the API: a login page, a wrong port, or a "
                         "web UI of the same host"},
    [CAUSE_HTTP_ERROR_IN_200] =
        {"http_error_in_200", FAIL, ABOUT_AUTH, 0,
         "something on the way (a relay) tells errors with status 200, which clients take for an "
         "answer: check the key and the account there"},
    [CAUSE_MODELS_UNREADABLE] =
        {"models_unreadable", WARN, ABOUT_PATH, 0,
         "see what answers there: the list should have \"data\" with objects that have an \"id\""},
    [CAUSE_MODELS_EMPTY] = {"models_none", FAIL, 0, 0,
                            "load a model, or look at which models the key may use"},
    [CAUSE_MODEL_UNKNOWN] = {"model_unknown", FAIL, ABOUT_MODEL, 0, "use a name from the list"},
    [CAUSE_MODEL_UNTOLD] = {"model_untold", DOCTOR_SKIP, 0, 0,
                            "name one with --model: the server has no list of models"},

    [CAUSE_STREAM_NOT] = {"stream_ignored", FAIL, 0, 0,
                          "\"stream\": true was ignored: something on the way answers for the "
                          "engine, or it cannot stream"},
    [CAUSE_STREAM_TYPE] = {"stream_content_type", WARN, 0, ABOUT_BUFFER,
                           "send Content-Type: text/event-stream: clients and proxies go by it"},
    [CAUSE_STREAM_ERROR] = {"stream_error", FAIL, 0, 0,
                            "an error came inside of an answer with status 200: count it as one"},
    [CAUSE_STREAM_CUT] =
        {"stream_cut", FAIL, 0, 0,
         "something ends streams early: an engine that dies, or a time or size limit on the way"},
    [CAUSE_STREAM_BAD_JSON] =
        {"stream_bad_json", FAIL, 0, 0,
         "something on the way changes events, or the server does not speak this API"},
    [CAUSE_STREAM_NO_OUTPUT] =
        {"stream_no_output", WARN, 0, 0,
         "there is no first token to measure: look at the model's template and stop words"},
    [CAUSE_STREAM_NO_DONE] =
        {"stream_no_done", WARN, 0, 0,
         "clients wait for [DONE] or take the stream for cut: have the server send it"},
    [CAUSE_STREAM_NO_CHOICES] =
        {"stream_no_choices", FAIL, 0, 0,
         "events have no \"choices\": it is another API, or the server is not compatible"},
    [CAUSE_STREAM_FILTER] =
        {"stream_content_filter", WARN, 0, 0,
         "make sure that clients take an event with empty \"choices\" (a content filter's "
         "verdict): choices[0] fails there, and it is no first token"},
    [CAUSE_USAGE_REFUSED] = {"usage_refused", WARN, 0, 0,
                             "the server refuses stream_options: have the gateway leave it out (it "
                             "learns that by itself)"},
    [CAUSE_USAGE_MISSING] = {"usage_missing", WARN, 0, 0,
                             "tokens cannot be counted exactly: update the server, or what stands "
                             "in front of it and drops usage"},
    [CAUSE_USAGE_WRONG] = {"usage_wrong", WARN, 0, 0, "do not bill by these numbers"},
    [CAUSE_BUFFERED] = {"stream_buffered", FAIL, ABOUT_BUFFER, 0,
                        "have whatever stands on the way pass events on at once"},
    [CAUSE_BUFFERED_PART] = {"stream_buffered_in_parts", FAIL, ABOUT_BUFFER, 0,
                             "have whatever stands on the way pass events on at once"},
    [CAUSE_GZIP_UNASKED] = {"gzip_unasked", WARN, 0, ABOUT_BUFFER,
                            "switch compression of event streams off: it was not asked for, and "
                            "not every client can undo it"},
    [CAUSE_GZIP_BUFFERS] = {"gzip_holds_back", WARN, 0, 0,
                            "switch compression of text/event-stream off in what stands on the "
                            "way: clients that accept gzip get the stream all at once"},

    [CAUSE_METRICS_OFF] = {"metrics_off", WARN, 0, 0, "switch it on in the engine"},
    [CAUSE_METRICS_HIDDEN] =
        {"metrics_hidden", WARN, 0, 0,
         "give the engine's own address, or let what stands in front of it pass /metrics"},
    [CAUSE_METRICS_NOT] = {"metrics_no_page", WARN, 0, 0, "see what answers at /metrics"},
    [CAUSE_METRICS_LOG_STATS] =
        {"metrics_log_stats_off", WARN, 0, 0,
         "start vLLM without --disable-log-stats: with it there are no metrics of the engine"},
    [CAUSE_METRICS_UNKNOWN] = {"metrics_unknown", WARN, 0, 0,
                               "see what \"inferometer targets explain\" says about the page"},
    [CAUSE_METRICS_MISSING] =
        {"metrics_signals_missing", WARN, 0, 0,
         "see \"inferometer targets explain\" for each missing signal and its reason"},
    [CAUSE_METRICS_MISTAKES] = {"metrics_unreadable_lines", WARN, 0, 0,
                                "these lines are lost; Prometheus drops the whole page"},
    [CAUSE_BUCKETS_SMALL] =
        {"buckets_too_small", WARN, 0, 0,
         "p99 cannot be told from it: widen the buckets, or go by the gateway's own histograms"},
    [CAUSE_CONFIG_MISTAKE] = {"config_mistake", FAIL, 0, 0,
                              "\"inferometer config check\" lists all mistakes"},
    [CAUSE_RULES_MISTAKE] = {"rules_mistake", FAIL, 0, 0,
                             "\"inferometer rules check\" lists all mistakes"},
    [CAUSE_FOR_SHORT] =
        {"for_shorter_than_interval", WARN, 0, 0,
         "make `for` at least two intervals, so that one bad sample is not an alert"},
    [CAUSE_RANGE_SHORT] = {"range_shorter_than_two_samples", WARN, 0, 0,
                           "a range needs at least two samples, better four: make it longer"},
    [CAUSE_METRIC_UNKNOWN_NAME] = {"unknown_metric", WARN, 0, 0,
                                   "correct the name: an expression about nothing never fires"},
};
