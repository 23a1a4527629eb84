/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/tls_errors.c - OpenSSL's reasons in words that say what is wrong with which side.
 */
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "io/tls_private.h"

struct reason {
    long code;
    const char *text;
};

static const struct reason of_certificates[] = {
    {X509_V_ERR_CERT_HAS_EXPIRED, "its certificate has expired"},
    {X509_V_ERR_CERT_NOT_YET_VALID, "its certificate is not valid yet"},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "its certificate is self-signed and not trusted"},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "the issuer of its certificate is not trusted"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, "the issuer of its certificate is unknown"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, "the issuer of its certificate is unknown"},
    {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, "the issuer of its certificate is unknown"},
    {X509_V_ERR_HOSTNAME_MISMATCH, "its certificate is for another name"},
    {X509_V_ERR_IP_ADDRESS_MISMATCH, "its certificate is for another address"},
    {X509_V_ERR_INVALID_PURPOSE, "its certificate is not one for servers"},
    {X509_V_ERR_CERT_REVOKED, "its certificate is revoked"},
    {X509_V_ERR_CERT_SIGNATURE_FAILURE, "the signature on its certificate is wrong"},
    {X509_V_ERR_EE_KEY_TOO_SMALL, "the key in its certificate is too small"},
    {X509_V_ERR_CA_KEY_TOO_SMALL, "the key of its certificate's issuer is too small"},
    {X509_V_ERR_CA_MD_TOO_WEAK, "the signature on its certificate is of a weak kind"},
};

static const struct reason of_handshakes[] = {
    {SSL_R_WRONG_VERSION_NUMBER, "it does not speak TLS there"},
    {SSL_R_HTTP_REQUEST, "it speaks plain HTTP to a port for TLS"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "it speaks only versions of TLS older than 1.2"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "it speaks no version of TLS from 1.2 on"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, "it wants a client certificate"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "it refused our certificate"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "it says that our certificate has expired"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, "it refused our certificate"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, "it does not trust the issuer of our certificate"},
    {SSL_R_TLSV1_ALERT_ACCESS_DENIED, "it refused our certificate"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
     "it refused what we offered (ciphers, or a missing client certificate)"},
    {SSL_R_TLSV1_UNRECOGNIZED_NAME, "it does not know that server name"},
    {SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, "it does not speak HTTP/1.1"},
    {SSL_R_NO_APPLICATION_PROTOCOL, "it does not speak HTTP/1.1"},
    {SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, "its data was changed on the way"},
};

static const char *text_of(const struct reason *table, size_t n, long code)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].code == code)
            return table[i].text;
    return NULL;
}

static bool is_verdict(unsigned long e)
{
    return ERR_GET_LIB(e) == ERR_LIB_SSL && ERR_GET_REASON(e) == SSL_R_CERTIFICATE_VERIFY_FAILED;
}

const char *tls_error_text(const SSL *ssl)
{
    unsigned long e = ERR_peek_error(); /* the first one is the cause of those behind it */
    const char *text = NULL;

    /* Only the verdict comes last: behind what the mathematics had to say. */
    if (is_verdict(ERR_peek_last_error())) {
        long verdict = SSL_get_verify_result(ssl);

        text = text_of(of_certificates, ARRAY_LEN(of_certificates), verdict);
        return text ? text : X509_verify_cert_error_string(verdict);
    }
    if (ERR_GET_LIB(e) == ERR_LIB_SSL)
        text = text_of(of_handshakes, ARRAY_LEN(of_handshakes), ERR_GET_REASON(e));
    if (!text)
        text = ERR_reason_error_string(e);
    return text ? text : "the TLS library failed";
}
