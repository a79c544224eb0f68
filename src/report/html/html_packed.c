/* Deflates, encodes and writes bytes; see html_packed.h. */
#include "report/html/html_packed.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/deflater.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Writes the last 1 or 2 bytes. */
static void write_rest(FILE *out, const uint8_t *bytes, size_t n)
{
    const uint32_t group = (uint32_t)bytes[0] << 16 | (n > 1 ? (uint32_t)bytes[1] << 8 : 0);
    const char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                          n > 1 ? digits[group >> 6 & 63] : '=', '='};
    fwrite(text, 1, sizeof(text), out);
}

/* The two digits of 12 bits. */
struct pairs {
    char text[4096][2];
};

static void make_pairs(struct pairs *pairs)
{
    for (size_t i = 0; i < sizeof(pairs->text) / sizeof(pairs->text[0]); i++) {
        pairs->text[i][0] = digits[i >> 6];
        pairs->text[i][1] = digits[i & 63];
    }
}

/* Writes large blocks, which stdio passes to the kernel as they are. */
static void write_base64(FILE *out, const uint8_t *bytes, size_t n)
{
    char block[32768];
    struct pairs pairs;
    size_t used = 0;
    make_pairs(&pairs);
    for (; n >= 3; bytes += 3, n -= 3) {
        const uint32_t group = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        memcpy(block + used, pairs.text[group >> 12], 2);
        memcpy(block + used + 2, pairs.text[group & 4095], 2);
        used += 4;
        if (used == sizeof(block)) {
            fwrite(block, 1, used, out);
            used = 0;
        }
    }
    fwrite(block, 1, used, out);
    if (n)
        write_rest(out, bytes, n);
}

int pw_packed_write(FILE *out, const void *bytes, size_t n, int level)
{
    const size_t most = pw_deflater_bound(n);
    struct pw_deflater *deflater = pw_deflater_create(level);
    char *packed = malloc(most);
    if (deflater && level == PW_PACKED_PLANE)
        pw_deflater_find_near(deflater);
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
