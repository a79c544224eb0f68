/* Packed bytes; see html_packed.h. */
#include "report/html/html_packed.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>

enum { DEFLATE_LEVEL = 6 };

static void write_base64(FILE *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t b = i + 1 < n ? bytes[i + 1] : 0, c = i + 2 < n ? bytes[i + 2] : 0;
        uint32_t group = (uint32_t)bytes[i] << 16 | b << 8 | c;
        char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        i + 1 < n ? digits[group >> 6 & 63] : '=',
                        i + 2 < n ? digits[group & 63] : '='};
        fwrite(text, 1, sizeof(text), out);
    }
}

int pw_packed_write(FILE *out, const void *bytes, size_t n)
{
    struct libdeflate_compressor *packer = libdeflate_alloc_compressor(DEFLATE_LEVEL);
    size_t bound = packer ? libdeflate_zlib_compress_bound(packer, n) : 0;
    uint8_t *packed = malloc(bound + 1);
    int err = packer && packed ? 0 : -ENOMEM;
    if (!err) {
        write_base64(out, packed, libdeflate_zlib_compress(packer, bytes, n, packed, bound));
        err = ferror(out) ? -EIO : 0;
    }
    free(packed);
    if (packer)
        libdeflate_free_compressor(packer);
    return err;
}
