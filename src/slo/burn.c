/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slo/burn.c - the pairs of windows of the SRE Workbook (chapter 5, table 5-8) and a third ticket
 * between them, with what follows from them for a target.
 */
#include "slo/burn.h"

#include <errno.h>
#include <math.h>

#define PART_MAX 0.5

#define MINUTE INT64_C(60)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

const struct slo_burn slo_burns[SLO_BURNS] = {
    {true, "1h", "5m", HOUR, 5 * MINUTE, 14.4, 1},
    {true, "6h", "30m", 6 * HOUR, 30 * MINUTE, 6, 1.5},
    {false, "1d", "2h", DAY, 2 * HOUR, 3, 1},
    {false, "3d", "6h", 3 * DAY, 6 * HOUR, 1, 1},
};

/* 1 - 0.99 is a little more than 0.01, and would be written so. */
static double tidy(double v)
{
    return round(v * 1e12) / 1e12;
}

double slo_burn_part(const struct slo_burn *b, double target)
{
    return tidy(fmin(b->factor * (1 - target), PART_MAX));
}

double slo_burn_factor(const struct slo_burn *b, double target)
{
    return tidy(fmin(b->factor, PART_MAX / (1 - target)));
}

bool slo_burn_is_capped(const struct slo_burn *b, double target)
{
    return b->factor * (1 - target) > PART_MAX + 1e-9;
}

uint32_t slo_burn_min_bad(const struct slo_burn *b, double target, uint32_t min_bad)
{
    return (uint32_t)ceil(min_bad * b->weight * b->factor / slo_burn_factor(b, target) - 1e-9);
}

double slo_burn_reach_s(const struct slo_burn *b, double target, uint32_t min_bad, double per_hour)
{
    double part_s = slo_burn_part(b, target) * (double)b->long_s;
    double count_s = slo_burn_min_bad(b, target, min_bad) * (double)HOUR / per_hour;

    return count_s > (double)b->long_s ? -1 : fmax(part_s, count_s);
}

double slo_page_reach_s(double target, uint32_t min_bad, double per_hour)
{
    double soonest = -1;

    for (int i = 0; i < SLO_BURN_PAGES; i++) {
        double s = slo_burn_reach_s(&slo_burns[i], target, min_bad, per_hour);

        if (s >= 0 && (soonest < 0 || s < soonest))
            soonest = s;
    }
    return soonest;
}

double slo_page_least_per_hour(double target, uint32_t min_bad)
{
    double least = HUGE_VAL;

    for (int i = 0; i < SLO_BURN_PAGES; i++) {
        const struct slo_burn *b = &slo_burns[i];

        least =
            fmin(least, slo_burn_min_bad(b, target, min_bad) * (double)HOUR / (double)b->long_s);
    }
    return least;
}

/* In hundredths of a percent, upwards: what is printed has to work. */
static double percent_up(double part)
{
    return ceil(part * 1e4 - 1e-9) / 100;
}

int slo_factor_check(double target, double factor, struct err *ret)
{
    double part = factor * (1 - target);

    if (part <= PART_MAX + 1e-9)
        return 0;
    if (part <= 1 + 1e-9) {
        (void)err_set(ret, 1, "a burn rate of %.6g needs %.4g %% of the requests to be bad", factor,
                      part * 100);
        err_hint(
            ret, "it comes late; a factor of %.4g, or a target of %.6g %% and more, needs 50 %%",
            floor(PART_MAX / (1 - target) * 100 + 1e-6) / 100, percent_up(1 - PART_MAX / factor));
        return 1;
    }
    (void)err_set(ret, -ERANGE,
                  "a burn rate of %.6g needs %.4g %% of the requests to be bad: with a target of "
                  "%.6g %% it never comes",
                  factor, part * 100, target * 100);
    err_hint(ret,
             "it can come with a target of %.6g %% and more, and in time with %.6g %% and more",
             percent_up(1 - 1 / factor), percent_up(1 - PART_MAX / factor));
    return -ERANGE;
}

int slo_target_check(double target, struct err *reterr)
{
    const struct slo_burn *least = &slo_burns[SLO_BURN_PAGES - 1];

    if (!(target < 1)) {
        (void)err_set(reterr, -ERANGE, "a target of %.6g %% leaves no budget for anything bad",
                      target * 100);
        err_hint(reterr, "for example 99.9%%");
        return -ERANGE;
    }
    if (least->factor * (1 - target) <= 1 + 1e-9)
        return 0;
    (void)err_set(reterr, -ERANGE,
                  "a target of %.6g %% can never page: even the slowest page, at a burn rate of "
                  "%.6g, needs %.4g %% of the requests to be bad",
                  target * 100, least->factor, least->factor * (1 - target) * 100);
    err_hint(reterr, "use %.6g%% or more, perhaps with a longer threshold",
             percent_up(1 - 1 / least->factor));
    return -ERANGE;
}
