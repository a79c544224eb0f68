/* Formats quantities; see text.h. */
#include "core/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void pw_sentence_add(struct pw_sentence *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(s->out + s->used, s->size - s->used, format, args);
    va_end(args);
    s->used = n < 0 || (size_t)n >= s->size - s->used ? s->size - 1 : s->used + (size_t)n;
}

size_t pw_utf8_decode(const unsigned char *in, size_t length, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = in[0] < 0x80 ? 1 : in[0] >> 5 == 6 ? 2 : in[0] >> 4 == 14 ? 3 : 4;
    if (bytes == 1) {
        *code = in[0];
        return 1;
    }
    if (in[0] < 0xc2 || in[0] > 0xf4 || length < bytes)
        return 0;
    *code = in[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if (in[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (in[i] & 0x3f);
    }
    bool surrogate = *code >= 0xd800 && *code <= 0xdfff;
    return *code >= least[bytes] && *code <= 0x10ffff && !surrogate ? bytes : 0;
}

size_t pw_utf8_encode(uint32_t code, char out[PW_UTF8_MOST])
{
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        code = '?';
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t bytes = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = bytes - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00u >> bytes & 0xff) | code);
    return bytes;
}

/* Returns the position from `at` on up to which words of eight bytes have ASCII only. */
static size_t skip_ascii(const char *text, size_t at, size_t length)
{
    uint64_t word;
    while (at + sizeof(word) <= length) {
        memcpy(&word, text + at, sizeof(word));
        if (word & 0x8080808080808080u)
            break;
        at += sizeof(word);
    }
    return at;
}

void pw_utf8_repair(char *text, size_t length)
{
    for (size_t at = skip_ascii(text, 0, length); at < length;) {
        uint32_t code;
        size_t bytes = pw_utf8_decode((unsigned char *)text + at, length - at, &code);
        if (!bytes)
            text[at] = '?';
        at += bytes ? bytes : 1;
    }
}

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
