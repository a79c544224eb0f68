/* Decodes, encodes and repairs UTF-8; see utf8.h. Used in the application, too. */
#include "core/utf8.h"

#include <stdbool.h>

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

void pw_utf8_repair(char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t bytes = pw_utf8_decode((unsigned char *)text + at, length - at, &code);
        if (!bytes)
            text[at] = '?';
        at += bytes ? bytes : 1;
    }
}
