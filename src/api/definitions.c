/* SPDX-License-Identifier: Apache-2.0 */
#include "api/definitions.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/stat.h"
#include "collect/source_out.h"
#include "collect/target.h"
#include "engine/signal.h"
#include "export/export.h"
#include "metrics/family.h"
#include "record/record.h"

static const char *const family_types[] = {
    [FAMILY_COUNTER] = "counter",
    [FAMILY_GAUGE] = "gauge",
    [FAMILY_HISTOGRAM] = "histogram",
};

struct writer {
    struct jsonw *w;
    size_t at; /* where the last one was found: the orders are the same */
};

static const char *chinese_of(struct writer *d, const char *name)
{
    for (size_t i = 0; i < definitions_zh_n; i++) {
        size_t k = (d->at + i) % definitions_zh_n;
        if (strcmp(definitions_zh[k].name, name) == 0) {
            d->at = k + 1;
            return definitions_zh[k].text;
        }
    }
    return NULL;
}

struct entry {
    const char *name, *kind, *type, *unit; /* type: NULL: none */
    const char *en, *zh;
    const char *title_en, *title_zh; /* NULL: none */
};

static void entry_write(struct jsonw *w, const struct entry *e)
{
    const struct {
        const char *key, *value;
    } members[] = {
        {"name", e->name},
        {"kind", e->kind},
        {"type", e->type},
        {"unit", e->unit},
        {"en", e->en},
        {"zh", e->zh ? e->zh : e->en},
        {"title_en", e->title_en},
        {"title_zh", e->title_zh},
    };

    jsonw_begin_object(w);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (members[i].value)
            jsonw_put_cstr(w, members[i].key, members[i].value);
    jsonw_end_object(w);
}

static void metric_write(struct writer *d, const char *name, const char *type, const char *unit,
                         const char *help)
{
    entry_write(d->w, &(struct entry){.name = name,
                                      .kind = "metric",
                                      .type = type,
                                      .unit = unit,
                                      .en = help,
                                      .zh = chinese_of(d, name)});
}

/* The unit that the name of one of our own counters tells. */
static const char *stat_unit(const char *name)
{
    static const char *const units[] = {"bytes", "microseconds"};

    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strstr(name, units[i]))
            return units[i];
    return "";
}

static void source_write(struct writer *d, const struct source_series *s)
{
    metric_write(d, s->series, metric_type_name(s->type), s->unit, s->help);
}

static void metrics_write(struct writer *d)
{
    const struct source_series *s;
    const char *source;

    for (size_t i = 0; i < METRIC_COUNT_; i++) {
        const struct family *f = &family_table[i];
        metric_write(d, f->name, family_types[f->type], f->unit, f->help);
    }
    for (size_t i = 0; i < STAT_COUNT_; i++) {
        const struct stat_desc *t = &stat_table[i];
        if (i == 0 || strcmp(t->name, t[-1].name) != 0)
            metric_write(d, t->name, t->type == STAT_COUNTER ? "counter" : "gauge",
                         stat_unit(t->name), t->help);
    }
    for (size_t i = 0; i < SIGNAL_COUNT_; i++) {
        const struct signal_info *g = &signal_table[i];
        metric_write(d, g->series, metric_type_name(g->type), g->unit, g->help);
    }
    for (size_t i = 0; (s = target_series_at(i)); i++)
        source_write(d, s);
    for (size_t i = 0; (s = source_out_at(i, &source)); i++)
        source_write(d, s);
}

int definitions_write(struct jsonw *w)
{
    struct writer d = {.w = w};

    jsonw_begin_object(w);
    jsonw_put_cstr(w, "status", "success");
    jsonw_key(w, "data");
    jsonw_begin_array(w);
    for (size_t i = 0; i < record_n_fields; i++) {
        const struct record_field *f = &record_fields[i];
        entry_write(w, &(struct entry){.name = f->name,
                                       .kind = "field",
                                       .unit = f->unit,
                                       .en = f->help,
                                       .zh = chinese_of(&d, f->name)});
    }
    metrics_write(&d);
    for (size_t i = 0; i < definitions_figures_n; i++) {
        const struct definition_figure *f = &definitions_figures[i];
        entry_write(w, &(struct entry){.name = f->key,
                                       .kind = "figure",
                                       .unit = f->unit,
                                       .en = f->text[LANGUAGE_EN],
                                       .zh = f->text[LANGUAGE_ZH],
                                       .title_en = f->title[LANGUAGE_EN],
                                       .title_zh = f->title[LANGUAGE_ZH]});
    }
    jsonw_end_array(w);
    jsonw_end_object(w);
    return jsonw_error(w);
}

void definitions_handle(const struct api_request *req, struct api_answer *ret)
{
    struct buf plain;
    struct jsonw w;
    int r;

    buf_init(&plain, MIB);
    jsonw_init(&w, &plain);
    r = definitions_write(&w);
    ret->cache = "private, max-age=600";
    ret->fields = "Vary: Accept-Encoding\r\n";
    ret->is_gzip = negotiate_gzip(http1_field_value(req->head, SPAN("Accept-Encoding")));
    if (r == 0)
        r = ret->is_gzip ? export_gzip(buf_span(&plain), &ret->body)
                         : buf_append(&ret->body, buf_span(&plain));
    buf_done(&plain);
    if (r < 0)
        api_answer_error(ret, 500, "out of memory");
}
