/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/attr.h"
#include "collect/kafka.h"

bool kafka_is_secret(const char *name)
{
    static const char *const words[] = {"password", "passphrase", "secret", "key.pem"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strstr(name, words[i]))
            return true;
    }
    return strcmp(name, "sasl.oauthbearer.config") == 0;
}
