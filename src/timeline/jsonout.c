/* Escapes text and formats times; see jsonout.h. */
#include "timeline/jsonout.h"

#include <inttypes.h>
#include <string.h>

#include "core/text.h"

void pw_json_put_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    uint32_t code;
    putc('"', out);
    while (at < end) {
        size_t length = pw_utf8_decode(at, (size_t)(end - at), &code);
        if (length == 0)
            fputs("\\ufffd", out);
        else if (length == 1 && (*at < 0x20 || *at == '<' || *at == 0x7f))
            fprintf(out, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else
            fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    putc('"', out);
}

void pw_json_put_us(FILE *out, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    fprintf(out, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000, (unsigned)(size % 1000));
}
