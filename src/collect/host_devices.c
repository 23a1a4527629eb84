/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect/host_devices.c - /proc/diskstats and /proc/net/dev.
 */
#include <math.h>

#include "collect/host_private.h"

#define SECTOR_BYTES 512.0 /* of diskstats, whatever the disk has */

enum { NAME_BYTES_MAX = 64 };

/* Devices of memory and files, which are no disks. */
static bool is_made_up(struct span device)
{
    return span_starts_with(device, SPAN("loop")) || span_starts_with(device, SPAN("ram"));
}

/* A line without its end may have lost digits. */
static bool next_line(struct span *text, struct span *ret)
{
    size_t n = span_find_char(*text, '\n');

    if (n == text->n)
        return false;
    *ret = span_take(text, n);
    *text = span_from(*text, 1);
    return true;
}

void host_diskstats(struct span text, bool (*is_disk)(void *ctx, struct span device), void *ctx,
                    struct source_out *o)
{
    enum { READ_SECTORS = 2, WRITTEN_SECTORS = 6, BUSY_MS = 9, COUNT };
    struct span line;

    for (int n = 0; n < HOST_DEVICES_MAX && next_line(&text, &line);) {
        struct span device;
        double v[COUNT];

        (void)host_word(&line); /* major and minor number */
        (void)host_word(&line);
        device = host_word(&line);
        if (device.n == 0 || device.n > NAME_BYTES_MAX || is_made_up(device) ||
            (is_disk && !is_disk(ctx, device)))
            continue;
        for (int i = 0; i < COUNT; i++)
            v[i] = host_next(&line);
        host_add_of(o, "host_disk_read_bytes_total", "device", device,
                    v[READ_SECTORS] * SECTOR_BYTES);
        host_add_of(o, "host_disk_written_bytes_total", "device", device,
                    v[WRITTEN_SECTORS] * SECTOR_BYTES);
        host_add_of(o, "host_disk_io_seconds_total", "device", device, v[BUSY_MS] * 1e-3);
        n++;
    }
}

void host_netdev(struct span text, struct source_out *o)
{
    static const struct {
        int column;
        const char *series;
    } rows[] = {
        {0, "host_network_receive_bytes_total"},    {2, "host_network_receive_errors_total"},
        {3, "host_network_receive_drops_total"},    {8, "host_network_transmit_bytes_total"},
        {10, "host_network_transmit_errors_total"}, {11, "host_network_transmit_drops_total"},
    };
    enum { COLUMNS = 12 };
    struct span line;

    for (int n = 0; n < HOST_DEVICES_MAX && next_line(&text, &line);) {
        struct span rest = line, device = span_trim(span_split(&rest, ':'));
        double v[COLUMNS];

        if (rest.n == 0 || device.n == 0 || device.n > NAME_BYTES_MAX)
            continue; /* the two lines of the head have no colon */
        for (int i = 0; i < COLUMNS; i++)
            v[i] = host_next(&rest);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
            host_add_of(o, rows[i].series, "device", device, v[rows[i].column]);
        n++;
    }
}
