/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/usual.h"

#include <errno.h>

#include "base/log.h"
#include "baseline/baseline.h"

int usual_init(struct usual *u, const char *zone, struct err *reterr)
{
    *u = (struct usual){.slot_ms = INT64_MIN};
    arena_init(&u->arena, NULL);
    int r = zone_load(&u->arena, span_cstr(zone), &u->zone);
    if (r == 0)
        return 0;
    err_set(reterr, r, "there is no time zone \"%s\": %s", zone, err_str(r));
    err_hint(reterr, "time_zone is a name like Europe/Berlin or Asia/Shanghai, UTC, or Local");
    usual_done(u);
    return r;
}

void usual_done(struct usual *u)
{
    arena_done(&u->arena);
    u->zone = NULL;
}

static int collect(struct store *s, const struct baseline_ask *ask)
{
    struct batch *batch = NULL;
    uint64_t number;
    int r = batch_new(&batch);
    for (size_t i = 0; i < n_baseline_metrics && r == 0; i++) {
        struct err err = {0};
        r = baseline_collect(&baseline_metrics[i], ask, batch, &err);
        if (r < 0 && r != -ECANCELED)
            LOG_WARN("no baselines of %s at this hour: %s", baseline_metrics[i].name,
                     err.text[0] ? err.text : err_str(r));
        r = r == -ECANCELED || r == -ENOMEM ? r : 0;
    }
    if (r == 0 && batch->n > 0) {
        r = store_write(s, batch, &number);
        batch = r == 0 ? NULL : batch;
    }
    batch_free(batch);
    return r;
}

void usual_tick(struct usual *u, struct store *s, int64_t now_ms, int (*is_over)(void *ctx),
                void *ctx)
{
    int64_t slot_ms = baseline_slot_ms(u->zone, now_ms);
    struct baseline_ask ask = {.zone = u->zone, .now_ms = now_ms, .is_over = is_over, .ctx = ctx};
    if (slot_ms == u->slot_ms || store_reader_open(s, &ask.reader) < 0)
        return;
    int r = collect(s, &ask);
    if (r < 0 && r != -ECANCELED)
        LOG_WARN("no baselines at this hour: %s", err_str(r));
    if (r != -ECANCELED)
        u->slot_ms = slot_ms;
    tsdb_reader_close(ask.reader);
}
