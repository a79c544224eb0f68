/* Says where ranks differ in the order of collectives; see orderview.h. */
#include "report/live/orderview.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/ops.h"
#include "core/text.h"
#include "report/writing/json_row.h"
#include "report/writing/words.h"

enum { CALL = PW_CALL_TEXT, RANKS = 160 };

/* "MPI_Allreduce #412 on tp", or with `is_bare` only "MPI_Allreduce". */
static const char *write_call(const struct pw_order_finding *f, const struct pw_ordered_call *call,
                              int is_bare, char out[CALL])
{
    const struct pw_call_words words = {
        .source = f->source,
        .op = call->op,
        .comm_name = f->comm_name,
        .comm_uid = is_bare ? 0 : f->comm_uid,
        .seq = call->seq < 0 ? -1 : f->seq,
        .peer = -1,
        .tag = -1,
    };
    return pw_call_write(&words, out, CALL);
}

static const char *ranks_of(const int32_t *ranks, size_t n, char out[RANKS])
{
    return pw_call_ranks(ranks, n, out, RANKS);
}

/* " with root 1", " with 16 bytes", " with MPI_MAX": what of the two calls differs. */
static void add_part(struct pw_sentence *s, const struct pw_ordered_call *call,
                     enum pw_callorder_part part)
{
    const char *reduction = pw_callorder_reduction(call->signature);
    switch (part) {
    case PW_PART_ROOT:
        pw_sentence_add(s, " with root %" PRId32, call->root);
        break;
    case PW_PART_BYTES:
        if (call->bytes >= 0)
            pw_sentence_add(s, " with %" PRId64 " bytes", call->bytes);
        break;
    case PW_PART_REDUCTION:
        pw_sentence_add(s, " with %s", reduction[0] ? reduction : "no reduction");
        break;
    default:
        break;
    }
}

static void add_site(struct pw_sentence *s, const char *site)
{
    if (site[0])
        pw_sentence_add(s, " at %s", site);
}

/* "rank 5 called MPI_Barrier #412 on tp, where ranks 0-4 called MPI_Allreduce". */
static void say_other(const struct pw_order_finding *f, struct pw_sentence *s)
{
    char call[CALL], bare[CALL], ranks[RANKS];
    const enum pw_callorder_part part = pw_callorder_part(&f->of_most, &f->of_others);
    const int is_same = part != PW_PART_OPERATION;
    pw_sentence_add(s, "%s called %s", ranks_of(f->others, f->nothers, ranks),
                    write_call(f, &f->of_others, 0, call));
    add_part(s, &f->of_others, part);
    add_site(s, f->site_of_others);
    pw_sentence_add(s, is_same ? ", %s" : ", where %s called %s",
                    ranks_of(f->most, f->nmost, ranks), write_call(f, &f->of_most, 1, bare));
    add_part(s, &f->of_most, part);
    if (part == PW_PART_BYTES && (f->of_most.bytes < 0 || f->of_others.bytes < 0))
        pw_sentence_add(s, f->of_most.bytes < 0 ? " with another size" : ", which is another size");
    add_site(s, f->site_of_most);
}

static void say_skipped(const struct pw_order_finding *f, struct pw_sentence *s)
{
    char call[CALL], next[CALL], ranks[RANKS];
    pw_sentence_add(s, "%s skipped %s, which ", ranks_of(f->others, f->nothers, ranks),
                    write_call(f, &f->of_most, 0, call));
    pw_sentence_add(s, "%s called", ranks_of(f->most, f->nmost, ranks));
    add_site(s, f->site_of_most);
    pw_sentence_add(s, ", and went on to %s", write_call(f, &f->of_others, 1, next));
    add_site(s, f->site_of_others);
}

static void say_extra(const struct pw_order_finding *f, struct pw_sentence *s)
{
    char call[CALL], ranks[RANKS];
    pw_sentence_add(s, "%s called %s", ranks_of(f->others, f->nothers, ranks),
                    write_call(f, &f->of_others, 0, call));
    add_site(s, f->site_of_others);
    pw_sentence_add(s, ", which %s did not call", ranks_of(f->most, f->nmost, ranks));
}

static void say_gap(const struct pw_order_finding *f, struct pw_sentence *s)
{
    char name[96], ranks[RANKS];
    pw_sentence_add(s, "%s and ", ranks_of(f->others, f->nothers, ranks));
    pw_sentence_add(s,
                    "%s made different collectives on %s, from #%" PRId64 " to #%" PRId64
                    "; the first one is not known, because calls of them are not in the records",
                    ranks_of(f->most, f->nmost, ranks),
                    pw_call_comm(f->comm_name, f->comm_uid, name, sizeof(name)), f->agreed,
                    f->differ - 1);
}

const char *pw_order_write(const struct pw_order_finding *f, char *out, size_t size)
{
    struct pw_sentence s = pw_sentence_on(out, size);
    char call[CALL];
    switch (f->kind) {
    case PW_CALLORDER_SKIPPED:
        say_skipped(f, &s);
        break;
    case PW_CALLORDER_EXTRA:
        say_extra(f, &s);
        break;
    case PW_CALLORDER_OTHER:
        say_other(f, &s);
        break;
    case PW_CALLORDER_LIKELY:
        say_other(f, &s);
        pw_sentence_add(&s, ", which %s likely to have skipped: before, %s came after it",
                        f->nothers == 1 ? "it is" : "they are",
                        write_call(f, &f->of_others, 1, call));
        break;
    default:
        say_gap(f, &s);
        break;
    }
    if (f->nmore)
        pw_sentence_add(&s, "; %zu more rank%s differ%s from both", f->nmore,
                        f->nmore == 1 ? "" : "s", f->nmore == 1 ? "s" : "");
    return out;
}

static json_t *ranks_json(const int32_t *ranks, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        json_array_append_new(array, json_integer(ranks[i]));
    return array;
}

static json_t *call_json(const struct pw_ordered_call *call, const char *site)
{
    const char *reduction = pw_callorder_reduction(call->signature);
    if (call->op == PW_OP_None)
        return json_null();
    return json_pack("{s:s, s:o, s:I, s:o, s:o}", "op", pw_op_info(call->op)->name, "root",
                     pw_json_int(call->root), "bytes", (json_int_t)call->bytes, "reduction",
                     reduction[0] ? json_string(reduction) : json_null(), "site",
                     site[0] ? pw_json_text(site, 256) : json_null());
}

json_t *pw_order_json(const struct pw_order_finding *f)
{
    static const char *const kinds[] = {
        [PW_CALLORDER_SAME] = "between",    [PW_CALLORDER_GAP] = "between",
        [PW_CALLORDER_OTHER] = "different", [PW_CALLORDER_SKIPPED] = "skipped",
        [PW_CALLORDER_EXTRA] = "extra",     [PW_CALLORDER_LIKELY] = "likely_skipped",
    };
    char text[PW_ORDER_TEXT], uid[24];
    snprintf(uid, sizeof(uid), "0x%" PRIx64, f->comm_uid);
    pw_order_write(f, text, sizeof(text));
    return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:I, s:I}", "text",
                     pw_json_text(text, sizeof(text)), "kind", kinds[f->kind], "comm_uid", uid,
                     "comm_name", pw_json_text(f->comm_name, sizeof(f->comm_name)), "seq",
                     pw_json_int(f->seq), "ranks", ranks_json(f->others, f->nothers), "other_ranks",
                     ranks_json(f->most, f->nmost), "even", f->is_even, "call",
                     call_json(&f->of_others, f->site_of_others), "other_call",
                     call_json(&f->of_most, f->site_of_most), "agreed", (json_int_t)f->agreed,
                     "differ", (json_int_t)f->differ);
}
