/* Reads /devices and /samples/gpu; see clocksamples.h. */
#include "aggregate/gpu/clocksamples.h"

#include <stdlib.h>
#include <string.h>

#include "core/h5/h5reader.h"

static void read_devices(hid_t file, struct pw_row_c_gpu_rank *row)
{
    void *rows;
    size_t n = 0;
    if (pw_h5_read_all(file, PW_TABLE_device, &rows, &n))
        return;
    const struct pw_row_device *devices = rows;
    row->devices = (int32_t)n;
    if (n)
        memcpy(row->device, devices[0].name, sizeof(row->device));
    row->device[sizeof(row->device) - 1] = '\0';
    free(rows);
}

static void read_clocks(hid_t file, struct pw_row_c_gpu_rank *row)
{
    struct pw_gpu_clocks clocks = {0};
    void *rows;
    size_t n = 0;
    if (pw_h5_read_all(file, PW_TABLE_gpu, &rows, &n))
        return;
    const struct pw_row_gpu *samples = rows;
    for (size_t i = 0; i < n; i++)
        pw_gpu_clocks_add(&clocks, &samples[i]);
    row->samples = clocks.samples;
    row->sm_clock_mhz = pw_gpu_clocks_mean(&clocks);
    row->clock_reasons = pw_gpu_clocks_reasons(&clocks);
    row->slowed_share =
        clocks.samples ? (double)clocks.slowed / (double)clocks.samples : row->slowed_share;
    free(rows);
}

void pw_gpuclocks_read(const struct pw_input *input, struct pw_row_c_gpu_rank *row)
{
    hid_t file;
    row->sm_clock_mhz = row->slowed_share = -1;
    if (pw_h5_open(input->path, &file))
        return;
    read_devices(file, row);
    read_clocks(file, row);
    pw_h5_close(file);
}
