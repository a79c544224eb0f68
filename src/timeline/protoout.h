/* Encodes fields of protocol buffers into a growing buffer: varints, fixed numbers, bytes. Called
 * by perfetto.c. The encoding: protobuf.dev/programming-guides/encoding. Allocates; no I/O. */
#ifndef PW_TIMELINE_PROTOOUT_H
#define PW_TIMELINE_PROTOOUT_H

#include <stddef.h>
#include <stdint.h>

/* An empty buffer is {0}. After memory was short, `failed` is 1 and the content is useless. */
struct pw_proto {
    unsigned char *bytes;
    size_t n, capacity;
    int failed;
};

void pw_proto_fini(struct pw_proto *to);

/* A number without a field, a field with a number, a double, or a fixed64. Negative numbers are
 * encoded as int64. */
void pw_proto_varint(struct pw_proto *to, uint64_t value);
void pw_proto_number(struct pw_proto *to, int field, uint64_t value);
void pw_proto_double(struct pw_proto *to, int field, double value);
void pw_proto_fixed64(struct pw_proto *to, int field, uint64_t value);

/* A field of bytes, and one with a text. Bytes of the text that are not UTF-8 become U+FFFD. */
void pw_proto_bytes(struct pw_proto *to, int field, const void *bytes, size_t n);
void pw_proto_text(struct pw_proto *to, int field, const char *text);

/* Fields that are encoded already. */
void pw_proto_raw(struct pw_proto *to, const void *bytes, size_t n);

/* A field with a message. */
void pw_proto_message(struct pw_proto *to, int field, const struct pw_proto *message);

#endif
