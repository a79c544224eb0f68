/* Copies text character by character and replaces what is not safe; see safenames.h. */
#include "report/writing/safenames.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/text.h"

/* 1 for C0 and C1 controls, DEL, zero-width and bidirectional formatting characters, and line
 * separators. */
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
        size_t bytes = pw_utf8_decode((const unsigned char *)in + at, length - at, &code);
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
