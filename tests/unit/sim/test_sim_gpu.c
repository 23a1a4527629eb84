/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_gpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "memfail.h"

enum { PAGE_MAX = 1 << 18 };

static mono_t at(int64_t s)
{
    return (mono_t){s * NS_PER_S};
}

static struct batching_counts busy(int64_t ms)
{
    return (struct batching_counts){.busy_ns = ms * NS_PER_MS};
}

static void look(struct sim_gpu *g, const struct sim_gpu_config *c, int64_t busy_ms, double speed,
                 int64_t reasons, int64_t at_s)
{
    struct batching_counts n = busy(busy_ms);
    sim_gpu_look(g, c, &n, speed, reasons, at(at_s));
}

static char *render(const struct sim_gpu *g, const struct sim_gpu_config *c,
                    enum sim_gpu_names names)
{
    static char text[PAGE_MAX];
    struct buf out;
    buf_init(&out, PAGE_MAX - 1);
    assert_int_equal(sim_gpu_render(g, c, names, &out), 0);
    memcpy(text, buf_span(&out).p, buf_len(&out));
    text[buf_len(&out)] = '\0';
    buf_done(&out);
    return text;
}

/* Of GPU 3; NaN: no such family. */
static double value(const char *text, const char *name)
{
    char start[96];
    (void)snprintf(start, sizeof(start), "\nDCGM_FI_%s{gpu=\"3\",", name);
    const char *p = strstr(text, start);
    return p ? strtod(strstr(p, "} ") + 2, NULL) : (double)NAN;
}

static void test_both_names(void **state)
{
    static const struct {
        const char *old_name, *new_name;
        double old_value, new_value;
    } rows[] = {
        {"DEV_GPU_UTIL", "DEV_GPU_UTIL_RATIO", 50, 0.5},
        {"DEV_FB_USED", "DEV_FB_USED_BYTES", 73728, 73728.0 * 1048576},
        {"DEV_POWER_USAGE", "DEV_BOARD_POWER_WATTS", 405, 405},
        {"DEV_TOTAL_ENERGY_CONSUMPTION", "DEV_GPU_ENERGY_JOULES_TOTAL", 4050e3, 4050},
        {"DEV_SM_CLOCK", "DEV_SM_CLOCK_HERTZ", 1980, 1980e6},
        {"DEV_MEM_CLOCK", "DEV_MEMORY_CLOCK_HERTZ", 2619, 2619e6},
        {"DEV_GPU_TEMP", "DEV_GPU_TEMP_CELSIUS", 55, 55},
        {"DEV_CLOCKS_EVENT_REASONS", "DEV_CLOCKS_EVENT_REASONS", 0, 0},
        {"PROF_GR_ENGINE_ACTIVE", "PROF_GR_ENGINE_UTIL_RATIO", 0.5, 0.5},
        {"DEV_XID_ERRORS", "DEV_XID_ERROR", 0, 0},
    };
    struct sim_gpu_config c;
    struct sim_gpu g = {0};
    (void)state;
    sim_gpu_config_init(&c);
    look(&g, &c, 1000, 1, 0, 100);
    look(&g, &c, 6000, 1, 0, 110);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *text = render(&g, &c, SIM_GPU_NAMES_DCGM_4_8);
        assert_row(rows[i].old_name, value(text, rows[i].old_name) == rows[i].old_value);
        bool is_renamed = strcmp(rows[i].old_name, rows[i].new_name) != 0;
        assert_row(rows[i].new_name, !is_renamed || isnan(value(text, rows[i].new_name)));
        text = render(&g, &c, SIM_GPU_NAMES_DCGM_4_9);
        assert_row(rows[i].new_name, value(text, rows[i].new_name) == rows[i].new_value);
        assert_row(rows[i].old_name, !is_renamed || isnan(value(text, rows[i].old_name)));
    }
    const char *text = render(&g, &c, SIM_GPU_NAMES_DCGM_4_8);
    assert_non_null(strstr(text, "Hostname=\"sim\",DCGM_FI_DRIVER_VERSION="));
    double total = value(text, "DEV_FB_USED") + value(text, "DEV_FB_FREE");
    assert_true(total + value(text, "DEV_FB_RESERVED") == c.memory_mib);
    assert_non_null(strstr(text, "gpu=\"7\""));
    assert_null(strstr(text, "gpu=\"8\""));
    text = render(&g, &c, SIM_GPU_NAMES_DCGM_4_9);
    assert_non_null(strstr(text, "hostname=\"sim\",DCGM_FI_SYSTEM_DRIVER_VERSION="));
}

static void test_idle_busy_slow(void **state)
{
    struct sim_gpu_config c;
    struct sim_gpu g = {0};
    (void)state;
    sim_gpu_config_init(&c);
    look(&g, &c, 0, 1, 0, 10);
    assert_true(g.util == 0 && g.reasons == SIM_GPU_REASON_IDLE && g.watts == c.idle_watts);
    look(&g, &c, 12000, 1, 0, 20); /* an iteration that began earlier: not more than all */
    assert_true(g.util == 1 && g.reasons == 0 && g.watts == c.limit_watts);
    double cool = g.celsius;

    look(&g, &c, 22000, 0.8, SIM_GPU_REASON_HW_THERMAL | SIM_GPU_REASON_HW_SLOWDOWN, 30);
    const char *text = render(&g, &c, SIM_GPU_NAMES_DCGM_4_8);
    assert_true(value(text, "DEV_SM_CLOCK") == 1584);
    assert_true(value(text, "DEV_CLOCKS_EVENT_REASONS") == 0x48);
    assert_true(value(text, "DEV_THERMAL_VIOLATION") == 10e9);
    assert_true(value(text, "DEV_POWER_VIOLATION") == 0);
    assert_true(g.watts < c.limit_watts && g.celsius > cool);

    look(&g, &c, 32000, 0.9, SIM_GPU_REASON_POWER_CAP, 40);
    text = render(&g, &c, SIM_GPU_NAMES_DCGM_4_9);
    assert_true(value(text, "DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL") == 10);
    assert_true(value(text, "DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL") == 10);
    look(&g, &c, 32000, 1, SIM_GPU_REASON_POWER_CAP, 50); /* no reason at full speed */
    assert_true(g.reasons == SIM_GPU_REASON_IDLE);
    assert_true(fabs(g.energy_joules -
                     (7000 + 10 * (110 + 590 * 0.8) + 10 * (110 + 590 * 0.9) + 1100)) < 1e-6);
}

static int attempt(void *ctx)
{
    struct sim_gpu_config c;
    struct sim_gpu g = {0};
    struct buf out;
    int r;
    (void)ctx;
    sim_gpu_config_init(&c);
    buf_init(&out, PAGE_MAX);
    r = sim_gpu_render(&g, &c, SIM_GPU_NAMES_DCGM_4_8, &out);
    buf_done(&out);
    return r;
}

static void test_no_room(void **state)
{
    struct sim_gpu_config c;
    struct sim_gpu g = {0};
    (void)state;
    sim_gpu_config_init(&c);
    for (size_t room = 1; room < 5000; room += 11) {
        struct buf out;
        buf_init(&out, room);
        assert_int_equal(sim_gpu_render(&g, &c, SIM_GPU_NAMES_DCGM_4_9, &out), -EMSGSIZE);
        buf_done(&out);
    }
    assert_true(memfail_each(attempt, NULL) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_names),
        cmocka_unit_test(test_idle_busy_slow),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests_name("sim/sim_gpu", tests, NULL, NULL);
}
