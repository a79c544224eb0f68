/* Reads the text of an NVTX range. PyTorch's emit_nvtx() writes an operator's sequence number and
 * the shapes of its inputs into it; training loops write the number of the step. These numbers and
 * shapes are removed from the name, so that equal operators have equal names. Called by nvtx_name.c
 * and nvtx_event.c. In-app; pure functions on text, which allocate nothing. */
#ifndef PW_NVTX_LABEL_H
#define PW_NVTX_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* The most bytes of a text that are read; of shapes that are kept. */
enum { PW_LABEL_MOST = 4096, PW_LABEL_SHAPES = 1000 };

struct pw_nvtx_label {
    enum pw_kind kind;
    size_t name_length;   /* of the name, at the begin of the text */
    bool is_part;         /* the text has more than the name */
    int64_t sequence;     /* of the operator or step, -1 none */
    const char *shapes;   /* in the text: "[[32, 64], []]" */
    size_t shapes_length; /* 0 none */
};

/* `length` is at most PW_LABEL_MOST. */
struct pw_nvtx_label pw_nvtx_label_read(const char *text, size_t length);

/* The number of the step that the text names, -1 when it names none. */
int64_t pw_nvtx_label_step(const char *text, size_t length);

/* Whether the first character is I, P, S, i or s, as in names of steps; false for most other
 * texts. */
static inline bool pw_nvtx_label_may_be_step(uint32_t first)
{
    const uint64_t initials = 1 | 1 << ('P' - 'I') | 1 << ('S' - 'I') | UINT64_C(1) << ('i' - 'I') |
                              UINT64_C(1) << ('s' - 'I');
    const uint32_t at = first - 'I';
    return at < 64 && (initials >> at & 1);
}

#endif
