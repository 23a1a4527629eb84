/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_smi_table.h"

#include <math.h>
#include <stdio.h>

#include "base/num.h"

#define MIB_BYTES 1048576.0
#define MHZ       1e6
#define US        1e-6
#define PERCENT   1e-2

enum kind { NUMBER, BITS, BITS_KNOWN, INDEX, UUID, NAME, DRIVER };

static const struct {
    const char *names[2]; /* the newest first */
    enum kind kind;
    enum gpu_value to; /* of a number */
    double scale;
} fields[] = {
    {{"index"}, INDEX, 0, 0},
    {{"uuid", "gpu_uuid"}, UUID, 0, 0},
    {{"name", "gpu_name"}, NAME, 0, 0},
    {{"driver_version"}, DRIVER, 0, 0},
    {{"utilization.gpu"}, NUMBER, GPU_UTIL, PERCENT},
    {{"utilization.memory"}, NUMBER, GPU_MEM_UTIL, PERCENT},
    {{"memory.total"}, NUMBER, GPU_MEM_TOTAL, MIB_BYTES},
    {{"memory.used"}, NUMBER, GPU_MEM_USED, MIB_BYTES},
    {{"memory.free"}, NUMBER, GPU_MEM_FREE, MIB_BYTES},
    {{"memory.reserved"}, NUMBER, GPU_MEM_RESERVED, MIB_BYTES},
    {{"power.draw", "power.draw.instant"}, NUMBER, GPU_POWER, 1},
    {{"enforced.power.limit", "power.limit"}, NUMBER, GPU_POWER_LIMIT, 1},
    {{"temperature.gpu"}, NUMBER, GPU_TEMP, 1},
    {{"temperature.memory"}, NUMBER, GPU_MEM_TEMP, 1},
    {{"clocks.current.sm", "clocks.sm"}, NUMBER, GPU_SM_CLOCK, MHZ},
    {{"clocks.current.memory", "clocks.mem"}, NUMBER, GPU_MEM_CLOCK, MHZ},
    {{"clocks_event_reasons.active", "clocks_throttle_reasons.active"}, BITS, GPU_REASONS, 1},
    {{"clocks_event_reasons.supported", "clocks_throttle_reasons.supported"}, BITS_KNOWN, 0, 0},
    {{"clocks_event_reasons_counters.sw_power_cap"}, NUMBER, GPU_THROTTLE_POWER, US},
    {{"clocks_event_reasons_counters.sw_thermal_slowdown"}, NUMBER, GPU_THROTTLE_SW_THERMAL, US},
    {{"clocks_event_reasons_counters.hw_thermal_slowdown"}, NUMBER, GPU_THROTTLE_HW_THERMAL, US},
    {{"clocks_event_reasons_counters.hw_power_brake_slowdown"},
     NUMBER,
     GPU_THROTTLE_POWER_BRAKE,
     US},
    {{"clocks_event_reasons_counters.sync_boost"}, NUMBER, GPU_THROTTLE_SYNC_BOOST, US},
    {{"ecc.errors.corrected.volatile.total"}, NUMBER, GPU_ECC_CORRECTED, 1},
    {{"ecc.errors.uncorrected.volatile.total"}, NUMBER, GPU_ECC_UNCORRECTED, 1},
};
_Static_assert(ARRAY_LEN(fields) <= GPU_SMI_COLUMNS_MAX, "every field has its column");

static struct span name_of(const struct gpu_smi_columns *c, size_t i)
{
    return span_cstr(fields[c->at[i].field].names[c->at[i].name]);
}

void gpu_smi_columns_all(struct gpu_smi_columns *c)
{
    c->n = ARRAY_LEN(fields);
    for (size_t i = 0; i < c->n; i++) {
        c->at[i].field = (uint8_t)i;
        c->at[i].name = 0;
    }
}

/* As its help prints names: within double quotes, several of one field in a line. */
static bool is_listed(struct span help, const char *name)
{
    struct span wanted = span_cstr(name);

    for (struct span rest = help; rest.n > 0;) {
        size_t at = span_find(rest, wanted);

        if (at == rest.n)
            return false;
        if (at > 0 && rest.p[at - 1] == '"' && at + wanted.n < rest.n &&
            rest.p[at + wanted.n] == '"')
            return true;
        rest = span_from(rest, at + 1);
    }
    return false;
}

size_t gpu_smi_columns_known(struct gpu_smi_columns *c, struct span help)
{
    c->n = 0;
    for (uint8_t i = 0; i < ARRAY_LEN(fields); i++) {
        for (uint8_t k = 0; k < ARRAY_LEN(fields[i].names); k++) {
            if (!fields[i].names[k] || !is_listed(help, fields[i].names[k]))
                continue;
            c->at[c->n].field = i;
            c->at[c->n++].name = k;
            break;
        }
    }
    return c->n;
}

bool gpu_smi_columns_refuse(struct gpu_smi_columns *c, struct span name)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!span_eq(name_of(c, i), name))
            continue;
        if (c->at[i].name == 0 && fields[c->at[i].field].names[1]) {
            c->at[i].name = 1;
        } else {
            c->n--;
            memmove(&c->at[i], &c->at[i + 1], (c->n - i) * sizeof(c->at[0]));
        }
        return true;
    }
    return false;
}

struct span gpu_smi_table_refused(struct span said)
{
    struct span rest = said, name = {0};
    size_t at = span_find(said, SPAN("is not a valid field"));

    if (at == said.n)
        return name;
    rest.n = at;
    while (rest.n > 0) { /* the last text in quotes before these words */
        (void)span_split(&rest, '"');
        if (rest.n > 0)
            name = span_split(&rest, '"');
    }
    return name;
}

void gpu_smi_columns_print(const struct gpu_smi_columns *c, char *to, size_t cap)
{
    size_t n = span_copy(SPAN("--query-gpu="), to, cap);

    for (size_t i = 0; i < c->n; i++) {
        if (i > 0)
            n += span_copy(SPAN(","), to + n, cap - n);
        n += span_copy(name_of(c, i), to + n, cap - n);
    }
}

/* --- values --- */

static struct span trim(struct span s)
{
    while (s.n > 0 && (s.p[s.n - 1] == '\r' || s.p[s.n - 1] == '\n'))
        s.n--;
    return span_trim(s);
}

/* NaN where it is no number. */
static double number_of(struct span text)
{
    double v;

    return num_parse_double(text, &v) == 0 ? v : (double)NAN;
}

static double bits_of(struct span text)
{
    uint64_t v;

    if (!span_starts_with(text, SPAN("0x")) || num_parse_hex(span_from(text, 2), &v) < 0)
        return (double)NAN;
    return (double)v;
}

/* What a device has no answer for. */
static bool is_told(struct span text)
{
    return text.n > 0 && text.p[0] != '[' && !span_eq_nocase(text, SPAN("N/A"));
}

static bool is_printable(struct span text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < ' ' || text.p[i] > '~')
            return false;
    return true;
}

/* False: a row would not have this here. */
static bool take(struct gpu_reading *r, size_t field, struct span text)
{
    uint64_t index;
    double bits;

    switch (fields[field].kind) {
    case INDEX:
        if (num_parse_u64(text, &index) < 0 || index >= GPU_MAX)
            return false;
        (void)snprintf(r->gpu, sizeof(r->gpu), "%u", (unsigned)index); /* without zeros */
        return true;
    case UUID:
        (void)span_copy(text, r->uuid, is_told(text) ? sizeof(r->uuid) : 1);
        return is_printable(text);
    case NAME:
        (void)span_copy(text, r->name, is_told(text) ? sizeof(r->name) : 1);
        return is_printable(text);
    case DRIVER:
        (void)span_copy(text, r->driver, is_told(text) ? sizeof(r->driver) : 1);
        return is_printable(text);
    case BITS:
        gpu_reading_put(r, GPU_REASONS, bits_of(text));
        return true;
    case BITS_KNOWN:
        bits = bits_of(text);
        if (bits > 0 && bits <= UINT32_MAX)
            r->reasons_known = (uint64_t)bits;
        return true;
    default:
        gpu_reading_put(r, fields[field].to, number_of(text) * fields[field].scale);
        return true;
    }
}

static size_t count_columns(struct span line)
{
    size_t n = 1;

    for (size_t i = 0; i < line.n; i++)
        n += line.p[i] == ',';
    return n;
}

bool gpu_smi_table_row(const struct gpu_smi_columns *c, struct span line, size_t row,
                       struct gpu_reading *ret)
{
    gpu_reading_init(ret);
    (void)snprintf(ret->gpu, sizeof(ret->gpu), "%u", (unsigned)row);
    line = trim(line);
    if (line.n == 0 || count_columns(line) != c->n)
        return false;
    for (size_t i = 0; i < c->n; i++)
        if (!take(ret, c->at[i].field, trim(span_split(&line, ','))))
            return false;
    return true;
}

bool gpu_smi_table_process(struct span line, struct span *ret_uuid, uint32_t *ret_pid,
                           double *ret_bytes)
{
    struct span uuid = trim(span_split(&line, ','));
    uint64_t pid;

    if (num_parse_u64(trim(span_split(&line, ',')), &pid) < 0 || pid > INT32_MAX || uuid.n == 0)
        return false;
    *ret_uuid = uuid;
    *ret_pid = (uint32_t)pid;
    *ret_bytes = number_of(trim(line)) * MIB_BYTES;
    return true;
}
