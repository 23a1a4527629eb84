/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slos_table.h"

#include "slo/burn.h"
#include "slo/simulate.h"
#include "slo/slo_rules.h"

enum { CELL = 32 };
static const double outage_rates[] = {500, 60, 10};

static const char *seconds_text(double s, char dst[CELL])
{
    long whole = (long)(s + 0.5);

    if (s < 0)
        (void)snprintf(dst, CELL, "never");
    else if (whole < 60)
        (void)snprintf(dst, CELL, "%lds", whole);
    else if (whole < 3600)
        (void)snprintf(dst, CELL, "%ldm%02lds", whole / 60, whole % 60);
    else
        (void)snprintf(dst, CELL, "%ldh%02ldm", whole / 3600, whole % 3600 / 60);
    return dst;
}

static const char *factors_text(const struct slo_target *t, char dst[CELL])
{
    bool is_capped = slo_burn_is_capped(&slo_burns[0], t->target) ||
                     slo_burn_is_capped(&slo_burns[1], t->target);

    (void)snprintf(dst, CELL, "%.4g, %.4g%s", slo_burn_factor(&slo_burns[0], t->target),
                   slo_burn_factor(&slo_burns[1], t->target), is_capped ? " capped" : "");
    return dst;
}

static void row_print(const struct slo *s, enum slo_objective o, int n_months, FILE *out)
{
    const struct slo_target *t = &s->targets[o];
    char text[CELL], duration[CELL];
    double per_hour, n;

    (void)snprintf(text, CELL, "%s", slo_objective_name(o));
    if (slo_objective_is_duration(o))
        (void)snprintf(text, CELL, "%s <= %s", slo_objective_name(o),
                       slo_duration_text(t->threshold_ns, duration));
    (void)fprintf(out, "%-16s %7.6g%%  %-16s", text, t->target * 100, factors_text(t, duration));
    for (size_t i = 0; i < ARRAY_LEN(outage_rates); i++)
        (void)fprintf(out, " %8s",
                      seconds_text(slo_page_reach_s(t->target, s->min_bad, outage_rates[i]), text));
    n = simulate_false_pages(t->target, s->min_bad, n_months, &per_hour);
    (void)fprintf(out, " %8.3g/h", slo_page_least_per_hour(t->target, s->min_bad));
    if (n > 0)
        (void)fprintf(out, "   %.3f at %g/h\n", n, per_hour);
    else
        (void)fprintf(out, "   none\n");
    (void)fflush(out); /* the next row takes a moment */
}

void slos_table_print(const struct slo *slos, size_t n, int n_months, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(out,
                      "%sSLO %s: a page when everything is bad comes after (with so many requests "
                      "an hour),\n"
                      "needs so many, and comes so often in 30 days when just the budget is bad\n\n"
                      "%-16s %8s  %-16s %8s %8s %8s %10s   %s\n",
                      i > 0 ? "\n" : "", slos[i].name, "good", "target", "burn rates", "500/h",
                      "60/h", "10/h", "needs", "false pages");
        for (int o = 0; o < SLO_OBJECTIVE_COUNT_; o++) {
            if (slos[i].targets[o].is_set)
                row_print(&slos[i], (enum slo_objective)o, n_months, out);
        }
    }
    (void)fprintf(out,
                  "\nand up to 30 s more until the rules are evaluated. False pages: the worst "
                  "of 5 to 500 requests\nan hour, over %d simulated months.\n",
                  n_months);
}
