/* Gives buffers to CUPTI, takes full ones back and converts them; see cuda_buffers.h. */
#include "collectors/cuda/cuda_buffers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collectors/cuda/cuda_convert.h"
#include "collectors/cuda/cuda_segments.h"
#include "collectors/cuda/cuda_state.h"
#include "rank/probe/intern.h"
#include "rank/probe/recording.h"

/* Reads texts at addresses from CUPTI's records. These may be unmapped by then, so the kernel
 * copies them and reports an error instead of a fault. */

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

/* Returns the length of the text, at most size - 1; `out` ends with a NUL. 0: the address is not
 * readable. */
static size_t cuda_text_read(const char *address, char *out, size_t size)
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

/* Scrap buffers, which CUPTI gets when no buffer of the pool is free. Their records are counted as
 * lost. They are needed because, before API version 27 (CUDA 12.9), libcupti crashes when it gets
 * NULL. */

/* Scrap buffers are small, because records are lost until the buffer is full, even when the pool
 * has room again. CUPTI uses one or two at a time; with buffers per thread, one more for each
 * thread. */
enum { SCRAPS = 64, SCRAP_BYTES = 16 << 10 };

static struct {
    _Atomic int is_taken[SCRAPS];
    _Alignas(64) uint8_t bytes[SCRAPS][SCRAP_BYTES];
    /* Given out when all scrap buffers are in use; to any number of users at once, because it is
     * never read. */
    _Alignas(64) uint8_t shared[SCRAP_BYTES];
} scrap;

/* Returns a buffer; never fails. */
static void scrap_take(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *size = SCRAP_BYTES;
    *most_records = 0;
    for (int i = 0; i < SCRAPS; i++) {
        int no = 0;
        if (!atomic_compare_exchange_strong(&scrap.is_taken[i], &no, 1))
            continue;
        *buffer = scrap.bytes[i];
        return;
    }
    *buffer = scrap.shared;
    *most_records = 1; /* so each buffer is one lost record */
}

static size_t count_records(uint8_t *bytes, size_t used)
{
    void *at = NULL;
    size_t n = 0;
    while (pw_subscriber_next(bytes, used, &at) == PW_CUPTI_SUCCESS && at)
        n++;
    return n;
}

/* Returns whether the buffer is a scrap buffer; if so, frees it and sets *lost to the number of
 * records in it. */
static bool scrap_complete(uint8_t *buffer, size_t used, size_t *lost)
{
    const uintptr_t offset = (uintptr_t)buffer - (uintptr_t)scrap.bytes;
    if (buffer == scrap.shared) {
        *lost = used != 0;
        return true;
    }
    if (offset >= sizeof(scrap.bytes))
        return false;
    *lost = used ? count_records(buffer, used < SCRAP_BYTES ? used : SCRAP_BYTES) : 0;
    atomic_store(&scrap.is_taken[offset / SCRAP_BYTES], 0);
    return true;
}

/* Counts CUPTI's scrap buffers in the pool's notes, for the collector that reads the pool after the
 * program was killed. */
static void count_scrap(int delta)
{
    if (pw_gate->on && pw_cuda.pool)
        atomic_fetch_add(&pw_cuda_borrow_notes()->scraps, (uint32_t)delta);
}

static void request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = NULL;
    *size = 0;
    *most_records = 0;
    if (pw_theirs_request(buffer, size, most_records))
        return;
    int slot = pw_gate->on && pw_cuda.pool ? pw_pool_take(pw_cuda.pool) : -1;
    if (slot < 0) {
        scrap_take(buffer, size, most_records);
        count_scrap(1);
        return;
    }
    *buffer = pw_cuda.pool->bytes[slot];
    *size = PW_POOL_SLOT;
}

static void count_drops(void *context, uint32_t stream)
{
    size_t dropped = 0;
    if (pw_subscriber_drops(context, stream, &dropped) == PW_CUPTI_SUCCESS)
        pw_gpu_lose(&pw_cuda_borrow_notes()->dropped, dropped);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t used)
{
    int slot = pw_gate->on && pw_cuda.pool ? pw_pool_find(pw_cuda.pool, buffer) : -1;
    size_t lost = 0;
    if (scrap_complete(buffer, used, &lost)) {
        count_scrap(-1);
        pw_cuda_lose(lost);
        return;
    }
    if (slot < 0) {
        pw_theirs_complete(context, stream, buffer, size, used);
        return;
    }
    pw_pool_complete(pw_cuda.pool, slot, used);
    count_drops(context, stream);
    pw_cuda_wake_worker();
}

static void request_v2(uint8_t **buffer, size_t *size, size_t *most_records, void *info)
{
    (void)info;
    request(buffer, size, most_records);
}

static void complete_v2(uint8_t *buffer, size_t size, size_t used, void *info)
{
    (void)info;
    complete(NULL, 0, buffer, size, used);
}

int pw_cuda_offer_buffers(void)
{
    static const struct pw_subscriber_calls calls = {request, complete, request_v2, complete_v2};
    return pw_subscriber_set_callbacks(&calls);
}

/* ---- names ---- */

/* Number of the buffer that is being converted. The text at an address is read once per buffer:
 * after its module was unloaded, another text or nothing may be there. */
static uint32_t reading;

static uint32_t name_at(void *arg, const char *address)
{
    enum { MOST = 8191 };
    static const struct pw_intern_entry *entries[PW_CUDA_NAMES];
    static uint32_t read_in[PW_CUDA_NAMES];
    static char text[MOST + 1];
    struct pw_thread *thread = arg;
    if (!address)
        return 0;
    struct pw_cuda_name *slot =
        pw_cuda_name_slot(pw_cuda_borrow_notes(), (uint64_t)(uintptr_t)address);
    const size_t at = slot ? (size_t)(slot - pw_cuda_borrow_notes()->names) : 0;
    const struct pw_intern_entry *known = slot && atomic_load(&slot->address) ? entries[at] : NULL;
    if (known && read_in[at] == reading)
        return pw_name_use(thread, known);
    const size_t length = cuda_text_read(address, text, sizeof(text));
    const bool is_same = known && length == known->length && !memcmp(known->bytes, text, length);
    const struct pw_intern_entry *entry = is_same  ? known
                                          : length ? pw_name_keep(text, length)
                                                   : known; /* the text that was there before */
    const uint32_t id = pw_name_use(thread, entry);
    if (slot && entry) {
        entries[at] = entry;
        read_in[at] = reading;
        atomic_store(&slot->id, id);
        atomic_store(&slot->address, (uint64_t)(uintptr_t)address);
    }
    return id;
}

bool pw_cuda_launches(const char *function)
{
    if (strstr(function, "Launch"))
        return !strstr(function, "HostFunc");
    const char *rest = strncmp(function, "cuda", 4) == 0 ? function + 4 : function + 2;
    return strncmp(rest, "Memcpy", 6) == 0 || strncmp(rest, "Memset", 6) == 0;
}

/* Returns the id of the name of a runtime or driver function; see struct pw_cuda_names. */
static uint32_t cuda_function(struct pw_thread *thread, int domain, uint32_t callback,
                              bool *launches)
{
    if (callback >= PW_CUDA_FUNCTIONS)
        return 0;
    _Atomic uint32_t *known =
        &pw_cuda_borrow_notes()->functions[domain == PW_CUPTI_DOMAIN_RUNTIME][callback];
    uint32_t what = atomic_load_explicit(known, memory_order_relaxed);
    if (!what) {
        const char *name = NULL;
        if (!pw_cuda.cupti->callback_name ||
            pw_cuda.cupti->callback_name(domain, callback, &name) || !name || strlen(name) < 3)
            name = "(unknown function)";
        what = PW_CUDA_KNOWN | pw_probe_intern(thread, name);
        what |= pw_cuda_launches(name) ? PW_CUDA_LAUNCHER : 0;
        atomic_store(known, what);
    }
    *launches = (what & PW_CUDA_LAUNCHER) != 0;
    return what & ~(PW_CUDA_KNOWN | PW_CUDA_LAUNCHER);
}

static uint32_t function_name(void *arg, int domain, uint32_t callback, bool *launches)
{
    return cuda_function(arg, domain, callback, launches);
}

/* ---- records ---- */

/* Stores the distance between two records of a kind, for the collector, which cannot ask CUPTI for
 * it. */
static void learn_stride(struct pw_cuda_notes *notes, const void *before, const void *now)
{
    uint32_t kind;
    memcpy(&kind, before, sizeof(kind));
    if (kind < PW_CUPTI_KINDS)
        atomic_store_explicit(&notes->stride[kind],
                              (uint32_t)((const char *)now - (const char *)before),
                              memory_order_relaxed);
}

static void convert_buffer(struct pw_thread *thread, int slot)
{
    struct pw_cuda_notes *notes = pw_cuda_borrow_notes();
    struct pw_pool_slot *shown = &pw_cuda.pool->slots[slot];
    uint8_t *bytes = pw_cuda.pool->bytes[slot];
    const uint32_t used = atomic_load(&shown->used);
    const struct pw_cuda_names names = {name_at, function_name, thread,
                                        atomic_load(&notes->keeps_calls) != 0};
    struct pw_recording_turns turns;
    void *at = NULL, *before = NULL;
    int result;
    pw_recording_read_turns(&turns);
    reading++;
    while (!(result = pw_subscriber_next(bytes, used, &at)) && at) {
        struct pw_record record;
        const uint32_t offset = (uint32_t)((uint8_t *)at - bytes);
        if (before)
            learn_stride(notes, before, at);
        before = at;
        const enum pw_cuda_converted what = pw_cuda_convert(at, used - offset, &names, &record);
        if (what == PW_CUDA_UNTIMED)
            pw_gpu_lose(&pw_cuda_borrow_notes()->untimed, 1);
        if (what != PW_CUDA_RECORDED)
            continue;
        if (record.type == PW_REC_GPU_DEVICE)
            record.start = record.end = pw_probe_now();
        else if (!pw_recording_was_open(&turns, record.start))
            continue;
        /* Before the record is written: if the program is killed in between, the record is lost,
         * not recorded twice. */
        atomic_store(&shown->done, offset + 1);
        pw_cuda_put(thread, &record);
    }
    if (result == PW_CUPTI_INVALID_KIND)
        pw_cuda_lose(1); /* at least one; how many is not known */
    pw_pool_free(pw_cuda.pool, slot);
    atomic_fetch_add(&pw_cuda.converted, 1);
}

void pw_cuda_convert_all(struct pw_thread *thread)
{
    int slot;
    while ((slot = pw_pool_oldest(pw_cuda.pool)) >= 0)
        convert_buffer(thread, slot);
    pw_cuda_segments_put(thread);
    atomic_store(&pw_cuda_borrow_notes()->last_pass, pw_probe_now());
    pw_gpu_put_loss(thread, &pw_cuda_borrow_notes()->dropped, PW_REASON_CUPTI_FULL,
                    PW_CUDA_PATIENCE_MS);
    pw_gpu_put_loss(thread, &pw_cuda_borrow_notes()->untimed, PW_REASON_CUPTI_UNTIMED,
                    PW_CUDA_PATIENCE_MS);
}
