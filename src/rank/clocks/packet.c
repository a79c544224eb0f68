/* Packets between collectors, and the code that protects them; see packet.h. */
#include "rank/clocks/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>

#include "core/log.h"

/* ---- SipHash ---- */

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix(struct sip *s, int rounds)
{
    while (rounds--) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 = rotate(s->v2, 32);
    }
}

static uint64_t little_endian(const unsigned char *bytes, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void absorb(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s, 2);
    s->v0 ^= word;
}

uint64_t pw_siphash(const unsigned char key[16], const void *message, size_t length)
{
    const unsigned char *bytes = message;
    uint64_t k0 = little_endian(key, 8), k1 = little_endian(key + 8, 8);
    struct sip s = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                    k1 ^ 0x7465646279746573};
    size_t whole = length / 8 * 8;
    for (size_t at = 0; at < whole; at += 8)
        absorb(&s, little_endian(bytes + at, 8));
    absorb(&s, little_endian(bytes + whole, length - whole) | (uint64_t)(length & 255) << 56);
    s.v2 ^= 255;
    mix(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* ---- packets ---- */

#define MAGIC UINT64_C(0x31636f6c63775250) /* version of the packets' formats */

uint64_t pw_packet_magic(const unsigned char key[PW_KEY_BYTES], const char *purpose)
{
    return MAGIC ^ pw_siphash(key, purpose, strlen(purpose) + 1);
}

/* The word of memory at `at`, as a filter loads it. */
static uint32_t filter_word(const void *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return ntohl(word);
}

void pw_packet_filter(int fd, size_t bytes, const void *begin, int n)
{
    enum { UDP_HEADER = 8, MOST_WORDS = 4, FIRST = 2 };
    /* Jump distances count from the next instruction; the last instruction drops the packet. */
    const int last = FIRST + 2 * n;
    struct sock_filter code[FIRST + 2 * MOST_WORDS + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(UDP_HEADER + bytes), 0,
                 (unsigned char)(last + 1 - 2))};
    for (int i = 0; i < n; i++) {
        const uint32_t word = filter_word((const char *)begin + 4 * i);
        const unsigned char to_drop = (unsigned char)(2 * (n - 1 - i) + 1);
        code[FIRST + 2 * i] =
            (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(UDP_HEADER + 4 * i));
        code[FIRST + 2 * i + 1] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0, to_drop);
    }
    code[last] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT16_MAX);
    code[last + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    const struct sock_fprog program = {.len = (unsigned short)(last + 2), .filter = code};
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
        pw_debug(PW_LOG_CLOCK, 1, "packets are not filtered: %s", strerror(errno));
}
