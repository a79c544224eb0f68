/* Finds, compares and writes the calls in which ranks ended; see opencall.h. */
#include "report/content/opencall.h"

#include <stdio.h>

const struct pw_row_c_open_call *pw_opencall_last(const struct pw_cluster *c, int32_t rank)
{
    const struct pw_row_c_open_call *found = NULL;
    for (size_t i = 0; i < c->nopen_calls; i++)
        if (c->open_calls[i].rank == rank && (!found || c->open_calls[i].start > found->start))
            found = &c->open_calls[i];
    return found;
}

int pw_opencall_is_same(const struct pw_row_c_open_call *a, const struct pw_row_c_open_call *b)
{
    return a->source == b->source && a->op == b->op && a->awaited == b->awaited &&
           a->comm_uid == b->comm_uid && a->seq == b->seq && a->peer == b->peer && a->tag == b->tag;
}

const char *pw_opencall_write(const struct pw_row_c_open_call *call, char text[PW_CALL_TEXT])
{
    char name[sizeof(call->comm_name) + 1]; /* the name in the file may have no NUL */
    snprintf(name, sizeof(name), "%.*s", (int)sizeof(call->comm_name), call->comm_name);
    const struct pw_call_words words = {
        .source = call->source,
        .op = call->op,
        .awaited = call->awaited,
        .comm_name = name,
        .comm_uid = call->comm_uid,
        .seq = call->seq,
        .peer = call->peer,
        .tag = call->tag,
    };
    return pw_call_write(&words, text, PW_CALL_TEXT);
}
