/* Deflates, encodes and writes bytes; see html_packed.h. */
#include "report/html/html_packed.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/deflater.h"

static void write_base64(FILE *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char block[4096];
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t b = i + 1 < n ? bytes[i + 1] : 0, c = i + 2 < n ? bytes[i + 2] : 0;
        uint32_t group = (uint32_t)bytes[i] << 16 | b << 8 | c;
        char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        i + 1 < n ? digits[group >> 6 & 63] : '=',
                        i + 2 < n ? digits[group & 63] : '='};
        memcpy(block + used, text, sizeof(text));
        used += sizeof(text);
        if (used == sizeof(block)) {
            fwrite(block, 1, used, out);
            used = 0;
        }
    }
    fwrite(block, 1, used, out);
}

int pw_packed_write(FILE *out, const void *bytes, size_t n, int level)
{
    const size_t most = pw_deflater_bound(n);
    struct pw_deflater *deflater = pw_deflater_create(level);
    char *packed = malloc(most);
    int err = deflater && packed ? 0 : -ENOMEM;
    const size_t size = err ? 0 : pw_deflater_run(deflater, bytes, n, packed, most);
    if (!err && size)
        write_base64(out, (const uint8_t *)packed, size);
    if (!err && (!size || ferror(out)))
        err = -EIO;
    free(packed);
    pw_deflater_destroy(deflater);
    return err;
}
