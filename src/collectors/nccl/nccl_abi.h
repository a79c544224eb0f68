/* NCCL's profiler plugin interface, versions 1 to 7: our own declarations with the same binary
 * layout as the public headers src/include/plugin/profiler/profiler_v1.h to _v7.h and
 * nccl_profiler.h of NCCL 2.31. A library uses the highest version that the plugin has, up to: 2.23
 * v1; 2.24 and 2.25 to v2; 2.26 to v3; 2.27 to v4; 2.28 to v5; 2.29 and 2.30 to v6; 2.31 and 2.32
 * to v7.
 *
 * Texts and pointers in a description are valid only during the call. Functions and data types are
 * numbers in v1, and names from v2 on. Used by nccl_plugin.c and nccl_event.c; only declarations.
 */
#ifndef PW_NCCL_ABI_H
#define PW_NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Types of events: bits of the activation mask. */
enum {
    PW_NCCL_GROUP = 1 << 0, /* a plan: the tasks of one kernel */
    PW_NCCL_COLL = 1 << 1,
    PW_NCCL_P2P = 1 << 2,
    PW_NCCL_PROXY_OP = 1 << 3,
    PW_NCCL_PROXY_STEP = 1 << 4,
    PW_NCCL_PROXY_CTRL = 1 << 5,
    PW_NCCL_KERNEL_CH = 1 << 6, /* from v3 on */
    PW_NCCL_NET_PLUGIN = 1 << 7,
    PW_NCCL_GROUP_API = 1 << 8, /* from v5 on */
    PW_NCCL_COLL_API = 1 << 9,
    PW_NCCL_P2P_API = 1 << 10,
    PW_NCCL_KERNEL_LAUNCH = 1 << 11,
    PW_NCCL_CE_COLL = 1 << 12, /* from v6 on: copy engines do the work */
    PW_NCCL_CE_SYNC = 1 << 13,
    PW_NCCL_CE_BATCH = 1 << 14,
};

/* States that are recorded. 0 to 7 belong to v1 to v3. */
enum {
    PW_NCCL_STEP_SEND_GPU_WAIT = 8,
    PW_NCCL_STEP_SEND_WAIT = 9,
    PW_NCCL_STEP_RECV_WAIT = 10,
    PW_NCCL_STEP_RECV_FLUSH_WAIT = 11,
    PW_NCCL_STEP_RECV_GPU_WAIT = 12,
    PW_NCCL_STEP_SEND_PEER_WAIT = 20, /* from v4 on */
    PW_NCCL_KERNEL_CH_STOP = 22,
};

/* ncclResult_t: 0 is success. With any other value NCCL continues without a profiler. */
typedef int pw_nccl_result;
typedef void (*pw_nccl_logger)(int level, unsigned long flags, const char *file, int line,
                               const char *format, ...);

struct pw_nccl_proxy_op {
    pid_t pid; /* process of the operation; with PXN, another one than the caller */
    uint8_t channel;
    int peer, steps, chunk_bytes, is_send;
};

struct pw_nccl_proxy_step {
    int step;
};

struct pw_nccl_kernel_channel {
    uint8_t channel;
    uint64_t timer; /* from v4 on: the GPU's global timer, ns */
};

struct pw_nccl_net_plugin {
    int64_t id;
    void *data;
};

struct pw_nccl_descr_v1 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t comm_hash, seq;
            uint8_t func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            uint8_t datatype;
            uint32_t op;
            size_t traffic_bytes;
            uint8_t most_channels, warps, algorithm, protocol;
            int is_collnet, is_nvls;
        } coll;
        struct {
            const char *name;
            uint64_t comm_hash;
            uint8_t func;
            void *buffer;
            uint8_t datatype;
            size_t count;
            int peer;
        } p2p;
        struct pw_nccl_proxy_op proxy_op;
        struct pw_nccl_proxy_step proxy_step;
    };
};

struct pw_nccl_p2p_v2 {
    const char *name;
    uint64_t comm_hash;
    const char *func;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
};

struct pw_nccl_descr_v2 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t comm_hash, seq;
            const char *func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *datatype;
            size_t traffic_bytes;
            uint8_t most_channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct pw_nccl_p2p_v2 p2p;
        struct pw_nccl_proxy_op proxy_op;
        struct pw_nccl_proxy_step proxy_step;
    };
};

/* Like v2, without the bytes of traffic and with channels of kernels. */
struct pw_nccl_descr_v3 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t comm_hash, seq;
            const char *func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *datatype;
            uint8_t most_channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct pw_nccl_p2p_v2 p2p;
        struct pw_nccl_proxy_op proxy_op;
        struct pw_nccl_proxy_step proxy_step;
        struct {
            uint8_t channel;
        } kernel_channel;
        struct pw_nccl_net_plugin net_plugin;
    };
};

/* The communicator's properties are passed to init() instead. */
struct pw_nccl_descr_v4 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            uint64_t seq;
            const char *func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll;
        struct {
            const char *func;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
        } p2p;
        struct pw_nccl_proxy_op proxy_op;
        struct pw_nccl_proxy_step proxy_step;
        struct pw_nccl_kernel_channel kernel_channel;
        struct pw_nccl_net_plugin net_plugin;
    };
};

/* v5 to v7. v6 adds the last three members of the union. v7 adds fields at the ends of members (a
 * tag of the call, which kernel it is) and one more member; all fields here are the same. The
 * parent of coll and p2p is the call; `plan` is a separate field. */
struct pw_nccl_descr_v6 {
    uint64_t type;
    void *parent;
    int rank;
    union {
        struct {
            bool graph_captured;
            int depth;
        } group_api;
        struct {
            const char *func;
            size_t count;
            const char *datatype;
            int root;
            void *stream;
            bool graph_captured;
        } coll_api;
        struct {
            const char *func;
            size_t count;
            const char *datatype;
            void *stream;
            bool graph_captured;
        } p2p_api;
        struct {
            void *stream;
        } kernel_launch;
        struct {
            uint64_t seq;
            const char *func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *datatype;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
            void *plan;
        } coll;
        struct {
            const char *func;
            void *buffer;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t channels;
            void *plan;
        } p2p;
        struct pw_nccl_proxy_op proxy_op;
        struct pw_nccl_proxy_step proxy_step;
        struct pw_nccl_kernel_channel kernel_channel;
        struct pw_nccl_net_plugin net_plugin;
        struct {
            uint64_t seq;
            const char *func;
            const void *send;
            void *recv;
            size_t count;
            int root;
            const char *datatype, *sync_strategy;
            bool intra_batch_sync;
            uint32_t batch_size, batches, ce_seq;
            void *stream;
        } ce_coll;
        struct {
            bool is_complete;
            int ranks;
        } ce_sync;
        struct {
            int ops;
            size_t total_bytes;
            bool use_intra_sync;
        } ce_batch;
    };
};

/* In v1 to v3, the number of steps follows the bytes. */
union pw_nccl_state_args {
    struct {
        size_t transferred_bytes;
    } proxy_step; /* v1 to v3: bytes of the whole operation */
    struct {
        uint64_t timer;
    } kernel_channel; /* from v4 on */
};

typedef pw_nccl_result pw_nccl_start(void *context, void **handle, void *description);
typedef pw_nccl_result pw_nccl_stop(void *handle);
typedef pw_nccl_result pw_nccl_state(void *handle, int state, void *args);
typedef pw_nccl_result pw_nccl_finalize(void *context);

/* v1 to v3. */
struct pw_nccl_plugin_v1 {
    const char *name;
    pw_nccl_result (*init)(void **context, int *mask);
    pw_nccl_start *start;
    pw_nccl_stop *stop;
    pw_nccl_state *state;
    pw_nccl_finalize *finalize;
};

struct pw_nccl_plugin_v4 {
    const char *name;
    pw_nccl_result (*init)(void **context, int *mask, const char *comm_name, uint64_t comm_hash,
                           int nodes, int ranks, int rank, pw_nccl_logger log);
    pw_nccl_start *start;
    pw_nccl_stop *stop;
    pw_nccl_state *state;
    pw_nccl_finalize *finalize;
};

/* v5 and v6. */
struct pw_nccl_plugin_v5 {
    const char *name;
    pw_nccl_result (*init)(void **context, uint64_t comm_hash, int *mask, const char *comm_name,
                           int nodes, int ranks, int rank, pw_nccl_logger log);
    pw_nccl_start *start;
    pw_nccl_stop *stop;
    pw_nccl_state *state;
    pw_nccl_finalize *finalize;
};

/* Libraries derived from NCCL have further functions after these, which may be NULL. */
struct pw_nccl_plugin_v7 {
    struct pw_nccl_plugin_v5 functions;
    void *none[4];
};

#endif
