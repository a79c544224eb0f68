/* Formats quantities; see text.h. */
#include "core/text.h"

#include <stdio.h>

const char *pw_text_ns(char *out, size_t size, int64_t ns)
{
    double value = (double)ns;
    if (ns < 0)
        snprintf(out, size, "n/a");
    else if (ns < 1000)
        snprintf(out, size, "%d ns", (int)ns);
    else if (value < 999.5e3)
        snprintf(out, size, "%.*f us", value < 99.95e3 ? 1 : 0, value / 1e3);
    else if (value < 999.5e6)
        snprintf(out, size, "%.*f ms", value < 99.95e6 ? 1 : 0, value / 1e6);
    else if (value < 599.5e9)
        snprintf(out, size, "%.*f s", value < 9.995e9 ? 2 : 1, value / 1e9);
    else if (value < 3600e9)
        snprintf(out, size, "%.0f min", value / 60e9);
    else
        snprintf(out, size, "%d h %02d min", (int)(value / 3600e9), (int)((ns / 60000000000) % 60));
    return out;
}

const char *pw_text_bytes(char *out, size_t size, int64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    if (bytes < 0) {
        snprintf(out, size, "n/a");
    } else if (bytes < 1024) {
        snprintf(out, size, "%d B", (int)bytes);
    } else {
        double value = (double)bytes / 1024;
        int unit = 0;
        for (; value >= 1024 && unit < 4; unit++)
            value /= 1024;
        snprintf(out, size, "%.1f %s", value, units[unit]);
    }
    return out;
}

const char *pw_text_rate(char *out, size_t size, double bytes_per_s)
{
    if (!(bytes_per_s > 0))
        snprintf(out, size, "n/a");
    else if (bytes_per_s < 0.95e6)
        snprintf(out, size, "%.1f kB/s", bytes_per_s / 1e3);
    else if (bytes_per_s < 0.95e9)
        snprintf(out, size, "%.1f MB/s", bytes_per_s / 1e6);
    else
        snprintf(out, size, "%.1f GB/s", bytes_per_s / 1e9);
    return out;
}

const char *pw_text_flops(char *out, size_t size, double flops)
{
    static const char *const units[] = {"M", "G", "T", "P", "E"};
    double value = flops / 1e6;
    int unit = 0;
    for (; value >= 999.5 && unit < 4; unit++)
        value /= 1000;
    if (flops < 0)
        snprintf(out, size, "n/a");
    else
        snprintf(out, size, "%.*f %sFLOP",
                 value < 9.995   ? 2
                 : value < 99.95 ? 1
                                 : 0,
                 value, units[unit]);
    return out;
}
