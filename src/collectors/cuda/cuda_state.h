/* The state of recording by CUPTI in the application: one CUPTI, one pool of buffers, one worker
 * thread, and what the application itself has of CUPTI. Used by the files of this folder that run
 * in the application. In-app code: nothing here waits longer than a second, but pw_cuda_put(). */
#ifndef PW_CUDA_STATE_H
#define PW_CUDA_STATE_H

#include "collectors/cuda/cuda_library.h"
#include "collectors/cuda/cuda_notes.h"
#include "collectors/gpu/gpu_inside.h"

enum pw_cuda_mode {
    PW_CUDA_INERT = 0,
    PW_CUDA_ARMING,
    PW_CUDA_ARMED,
    PW_CUDA_YIELDED, /* the application uses CUPTI itself */
};

/* The application's own use of CUPTI, for example by PyTorch's profiler. */
struct pw_cuda_theirs {
    pw_cupti_request *_Atomic request;
    pw_cupti_complete *_Atomic complete;
    _Atomic uint64_t kinds; /* kinds that the application has enabled */
    _Atomic int64_t last_ns;
    _Atomic int ending; /* number of threads in cuptiFinalize() */
    void *_Atomic subscriber;
};

struct pw_cuda {
    _Atomic int mode; /* enum pw_cuda_mode; changed by pw_cuda_set_mode() and pw_cuda_turn() */
    _Atomic int is_default; /* CUPTI has its default settings and is not in use */
    const struct pw_cupti *cupti;
    void *_Atomic subscriber; /* our subscription; NULL: none */
    _Atomic int is_shared;    /* subscribed by the _v2 functions: others may subscribe, too */
    _Atomic int has_process;  /* our callbacks are registered for the whole process */
    bool was_shared;          /* is_shared was 1 at least once */
    char holder[64];          /* profiler that CUPTI was left to; written before `taken_since` */
    char other[64];           /* profiler that had CUPTI when our subscription was refused */
    struct pw_pool *pool;
    uint32_t level, version;
    int result;            /* result of the call because of which recording, or a kind, could not be
                            * enabled */
    uint32_t lacking;      /* bits of enum pw_gpu_lack: kinds that CUPTI refused the last time */
    int lacking_result;    /* result for the first of them */
    _Atomic int is_left;   /* our subscription was not ended, because our thread was in CUPTI */
    bool is_recording;     /* recording was enabled at least once */
    uint64_t device_bytes; /* memory that CUPTI may use on each device; 0: not known */
    _Atomic int caller;    /* tid of our thread while it is in CUPTI; 0: none */
    _Atomic uint32_t wake; /* futex on which the worker sleeps */
    _Atomic int stopping, has_ended;
    _Atomic uint32_t converted; /* number of buffers that the worker has converted */
    struct pw_cuda_theirs theirs;
};

extern struct pw_cuda pw_cuda __attribute__((visibility("hidden")));

static inline struct pw_cuda_notes *pw_cuda_borrow_notes(void)
{
    return (struct pw_cuda_notes *)pw_cuda.pool->notes;
}

void pw_cuda_set_mode(enum pw_cuda_mode mode);

/* Changes the mode if it is `from`, else returns false. */
bool pw_cuda_turn(enum pw_cuda_mode from, enum pw_cuda_mode to);

/* The kinds that are recorded. */
struct pw_cuda_kind {
    int kind;
    uint32_t level; /* lowest level at which the kind is recorded */
    enum pw_gpu_lack lack;
};

enum { PW_CUDA_KINDS = 11 };

extern const struct pw_cuda_kind pw_cuda_kinds[PW_CUDA_KINDS] __attribute__((visibility("hidden")));

/* Whether records of this kind are enabled while we record. */
bool pw_cuda_uses(int kind);

/* Surrounds a call of CUPTI by our thread: pw_cuda_await_calls() waits until no thread is between
 * enter and leave. Returns false when the application uses CUPTI now: then the call must not be
 * made. */
bool pw_cuda_enter(void);
void pw_cuda_leave(void);

/* To be called when the application begins to use CUPTI: waits until our thread has left CUPTI.
 * Returns false when it has not after a second. */
bool pw_cuda_await_calls(void);

void pw_cuda_wake_worker(void);

/* Counts `n` lost records of CUPTI. */
void pw_cuda_lose(size_t n);

enum { PW_CUDA_PATIENCE_MS = 2000 };

/* Writes one record; waits for room for a limited time, so only the worker may call it. */
void pw_cuda_put(struct pw_thread *thread, const struct pw_record *record);

/* Passes CUPTI's request for a buffer to the application when it uses CUPTI. Returns false when the
 * probe must answer. */
bool pw_theirs_request(uint8_t **buffer, size_t *size, size_t *most_records);

/* Gives a buffer that is not ours to the application. */
void pw_theirs_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t used);

/* The bit of the kind in theirs.kinds. */
uint64_t pw_theirs_bit(int kind);

/* Whether the application has enabled the kind. */
bool pw_theirs_has(int kind);

/* Whether the application uses CUPTI now, did so a moment ago, or is about to. */
bool pw_theirs_is_on(void);

/* Whether a profiler is loaded whose calls the probe cannot see, and the name of its library. */
bool pw_theirs_find_dlsym_user(void);
extern const char pw_theirs_dlsym_user[] __attribute__((visibility("hidden")));

/* Subscribes to CUPTI and enables kinds. From CUDA 13.4 on, several subscribers may record
 * independently. In older versions, and when the application uses the older functions, which cannot
 * be mixed with the new ones, the process has one set of callbacks, kinds and clocks. Then our
 * subscription shows other profilers that CUPTI is in use, even those whose calls the probe does
 * not see. */

/* Subscribes with the callback for functions, and sets the clock of the records. Returns 0 or
 * CUPTI's result; with PW_CUPTI_OTHER_SUBSCRIBER, pw_cuda.other is the name of the other
 * subscriber. */
int pw_subscriber_begin(pw_cupti_clock *clock, pw_cupti_callback *call);

/* Ends the subscription. All kinds must be disabled before. */
void pw_subscriber_end(void);

/* The callbacks for buffers, for both interfaces. */
struct pw_subscriber_calls {
    pw_cupti_request *request;
    pw_cupti_complete *complete;
    pw_cupti_request_v2 *request_v2;
    pw_cupti_complete_v2 *complete_v2;
};

int pw_subscriber_set_callbacks(const struct pw_subscriber_calls *calls);
void pw_subscriber_set_thread_ids(void);
int pw_subscriber_get_attribute(int attribute, size_t *size, void *value);
int pw_subscriber_set_attribute(int attribute, size_t *size, void *value);
int pw_subscriber_switch_kind(int kind, bool is_on);

/* Whether CUPTI can enable single functions of the runtime and the driver. */
bool pw_subscriber_chooses_calls(void);

/* Enables or disables records of one function, of a kind that is enabled. */
void pw_subscriber_switch_call(int domain, uint32_t callback, bool is_on);

int pw_subscriber_drops(void *context, uint32_t stream, size_t *count);

/* As cuptiActivityGetNextRecord(), but works also after the subscription has ended. */
int pw_subscriber_next(uint8_t *bytes, size_t used, void **record);

#endif
