/* SPDX-License-Identifier: Apache-2.0 */
/* In place of kafka.c and its helpers where the build has no librdkafka. */
#include <errno.h>

#include "collect/kafka.h"

int kafka_check(const struct kafka_config *c, struct err *reterr)
{
    (void)c;
    (void)err_set(reterr, -ENOTSUP, "this program was built without Kafka");
    err_hint(reterr, "build it with librdkafka-dev and cmake -DKAFKA=ON, or scrape a "
                     "kafka_exporter");
    return -ENOTSUP;
}

static int begin(const void *config, void **ret, struct err *reterr)
{
    (void)ret;
    return kafka_check(config, reterr);
}

/* Nothing ever began. */
static enum source_state read_nothing(void *source, int64_t t_ms, struct batch *out,
                                      struct err *reterr)
{
    (void)source;
    (void)t_ms;
    (void)out;
    (void)kafka_check(NULL, reterr);
    return SOURCE_BROKEN;
}

static void end(void *source)
{
    (void)source;
}

const struct source_kind source_kafka = {"kafka", begin, read_nothing, end};
