/* Packets between collectors; see packet.h. */
#include "rank/clocks/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>

#include "core/log.h"
#include "rank/clocks/siphash.h"

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
