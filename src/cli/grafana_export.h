/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/grafana_export.h - "inferometer grafana export": dashboards and provisioning files.
 */
#ifndef CLI_GRAFANA_EXPORT_H
#define CLI_GRAFANA_EXPORT_H

int grafana_export_main(int argc, char **argv);

#endif
