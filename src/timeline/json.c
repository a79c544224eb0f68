/* Writes pieces of JSON; see json.h. */
#include "timeline/json.h"

#include <inttypes.h>

/* Bytes of the UTF-8 sequence at `text`, 0 when it is none (Unicode 15, table 3-7). */
static int sequence(const unsigned char *text)
{
    unsigned char lead = text[0], low = 0x80, high = 0xbf;
    int more = lead < 0x80 ? 0 : lead >= 0xc2 && lead < 0xe0 ? 1 : (lead & 0xf0) == 0xe0 ? 2 : 3;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4))
        return 0;
    if (lead == 0xe0)
        low = 0xa0;
    if (lead == 0xed)
        high = 0x9f;
    if (lead == 0xf0)
        low = 0x90;
    if (lead == 0xf4)
        high = 0x8f;
    for (int i = 1; i <= more; i++) {
        if (text[i] < low || text[i] > high)
            return 0;
        low = 0x80, high = 0xbf;
    }
    return more + 1;
}

void pw_json_put_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    putc('"', out);
    while (*at) {
        int length = sequence(at);
        if (length == 0)
            fputs("\\ufffd", out);
        else if (length == 1 && (*at < 0x20 || *at == '<' || *at == 0x7f))
            fprintf(out, "\\u%04x", *at);
        else if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else
            fwrite(at, 1, (size_t)length, out);
        at += length ? length : 1;
    }
    putc('"', out);
}

void pw_json_put_us(FILE *out, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    fprintf(out, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000, (unsigned)(size % 1000));
}
