/* Makes text from files safe; see names.h. */
#include "analysis/report/names.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the valid UTF-8 character at `in` (code in *code), or 0. */
static size_t decode(const unsigned char *in, size_t length, uint32_t *code)
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

/* C0, DEL and C1 controls, zero-width and bidirectional formatting, line separators. */
static bool is_unsafe(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},       {0x300, 0x36f},   {0x61c, 0x61c},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f}, {0xfe00, 0xfe0f},
        {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0x10ffff}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

static const char *copy(char *out, size_t size, const char *in, size_t length, bool printable)
{
    size_t used = 0;
    length = strnlen(in, length);
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t bytes = decode((const unsigned char *)in + at, length - at, &code);
        bool keep = bytes && !(printable && is_unsafe(code));
        size_t need = keep ? bytes : 1;
        if (used + need >= size)
            break;
        memcpy(out + used, keep ? in + at : "?", need);
        used += need;
        at += bytes ? bytes : 1;
    }
    if (size)
        out[used] = '\0';
    return out;
}

const char *pw_names_utf8(char *out, size_t size, const char *in, size_t length)
{
    return copy(out, size, in, length, false);
}

const char *pw_names_printable(char *out, size_t size, const char *in, size_t length)
{
    return copy(out, size, in, length, true);
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t pw_names_columns(const char *text)
{
    size_t columns = 0;
    for (; *text; text++)
        columns += !continues(*text);
    return columns;
}

size_t pw_names_offset(const char *text, size_t column)
{
    size_t at = 0;
    while (text[at] && column) {
        at++;
        while (continues(text[at]))
            at++;
        column--;
    }
    return at;
}
