/* Reads texts at addresses that may be invalid; see cuda_text.h. */
#include "collectors/cuda/cuda_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096 /* the smallest page size */, PIECE = 512 };

/* Used when a filter for system calls forbids process_vm_readv(): asks the kernel whether the page
 * is mapped, then copies. A piece never crosses a page. */
static bool copy_checked(const char *address, char *out, size_t n)
{
    unsigned char state;
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (mincore((void *)((uintptr_t)address & ~(size - 1)), size, &state))
        return false;
    memcpy(out, address, n);
    return true;
}

static bool copy(const char *address, char *out, size_t n)
{
    const struct iovec to = {out, n}, from = {(void *)(uintptr_t)address, n};
    const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (got >= 0 || errno == EFAULT)
        return got == (ssize_t)n;
    return copy_checked(address, out, n);
}

size_t pw_cuda_text_read(const char *address, char *out, size_t size)
{
    const int saved = errno;
    size_t length = 0;
    while (length < size - 1) {
        const size_t in_page = PAGE - ((uintptr_t)address + length) % PAGE;
        size_t n = in_page < PIECE ? in_page : PIECE;
        n = n < size - 1 - length ? n : size - 1 - length;
        if (!copy(address + length, out + length, n)) {
            length = 0;
            break;
        }
        const char *end = memchr(out + length, '\0', n);
        length = end ? (size_t)(end - out) : length + n;
        if (end)
            break;
    }
    out[length] = '\0';
    errno = saved;
    return length;
}
