/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/prometheus_export.h - "inferometer prometheus export": what a Prometheus and an Alertmanager
 * need to take over what a running gateway does.
 */
#ifndef CLI_PROMETHEUS_EXPORT_H
#define CLI_PROMETHEUS_EXPORT_H

/* Exit status: 0 written, 1 no answer or a file that cannot be written, 2 wrong flags. */
int prometheus_export_main(int argc, char **argv);

#endif
