/* Encodes fields of protocol buffers; see protoout.h. */
#include "timeline/protoout.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

void pw_proto_fini(struct pw_proto *to)
{
    free(to->bytes);
    *to = (struct pw_proto){0};
}

void pw_proto_raw(struct pw_proto *to, const void *bytes, size_t n)
{
    if (to->capacity - to->n < n) {
        size_t capacity = to->capacity ? to->capacity : 256;
        while (capacity - to->n < n)
            capacity *= 2;
        void *moved = realloc(to->bytes, capacity);
        to->failed |= !moved;
        if (!moved)
            return;
        to->bytes = moved;
        to->capacity = capacity;
    }
    if (n)
        memcpy(to->bytes + to->n, bytes, n);
    to->n += n;
}

void pw_proto_varint(struct pw_proto *to, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (unsigned char)(value | 0x80);
    bytes[n++] = (unsigned char)value;
    pw_proto_raw(to, bytes, n);
}

static void put_tag(struct pw_proto *to, int field, int type)
{
    pw_proto_varint(to, (uint64_t)field << 3 | (uint64_t)type);
}

void pw_proto_number(struct pw_proto *to, int field, uint64_t value)
{
    put_tag(to, field, VARINT);
    pw_proto_varint(to, value);
}

void pw_proto_fixed64(struct pw_proto *to, int field, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put_tag(to, field, FIXED64);
    pw_proto_raw(to, bytes, sizeof(bytes));
}

void pw_proto_double(struct pw_proto *to, int field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    pw_proto_fixed64(to, field, bits);
}

void pw_proto_bytes(struct pw_proto *to, int field, const void *bytes, size_t n)
{
    put_tag(to, field, BYTES);
    pw_proto_varint(to, n);
    pw_proto_raw(to, bytes, n);
}

void pw_proto_message(struct pw_proto *to, int field, const struct pw_proto *message)
{
    to->failed |= message->failed;
    pw_proto_bytes(to, field, message->bytes, message->n);
}

void pw_proto_text(struct pw_proto *to, int field, const char *text)
{
    static const char unknown[] = "\xef\xbf\xbd"; /* U+FFFD */
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    struct pw_proto valid = {0};
    uint32_t code;
    while (at < end) {
        const size_t length = pw_utf8_decode(at, (size_t)(end - at), &code);
        pw_proto_raw(&valid, length ? (const void *)at : unknown, length ? length : 3);
        at += length ? length : 1;
    }
    pw_proto_message(to, field, &valid);
    pw_proto_fini(&valid);
}
