/* Reads the texts of ranges; see nvtx_label.h. */
#include "collectors/nvtx/nvtx_label.h"

#include <string.h>

struct cursor {
    const char *at, *end;
};

static bool skip(struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a number. Returns -1 when there is none or it is too large. */
static int64_t read_number(struct cursor *c)
{
    const int64_t most = UINT32_MAX - 1;
    int64_t number = 0;
    if (c->at == c->end || !is_digit(*c->at))
        return -1;
    for (; c->at < c->end && is_digit(*c->at); c->at++)
        number = number > most ? number : number * 10 + (*c->at - '0');
    return number > most ? -1 : number;
}

/* Skips "KEY = " or "KEY=" (older versions). Returns false when neither is there. */
static bool skip_key(struct cursor *c, const char *key)
{
    struct cursor ahead = *c;
    if (!skip(&ahead, key))
        return false;
    while (skip(&ahead, " "))
        ;
    if (!skip(&ahead, "="))
        return false;
    while (skip(&ahead, " "))
        ;
    *c = ahead;
    return true;
}

/* Returns the length of a bracketed text, brackets included. */
static size_t bracketed(const struct cursor *c)
{
    int open = 0;
    for (const char *at = c->at; at < c->end; at++) {
        open += (*at == '[') - (*at == ']');
        if (open == 0)
            return *at == ']' ? (size_t)(at + 1 - c->at) : 0;
    }
    return (size_t)(c->end - c->at); /* the text was cut */
}

/* Reads one of the fields that emit_nvtx() appends, after its comma. Returns false when it is none.
 * A backward function has the sequence number of its forward operator. */
static bool read_decoration(struct cursor *c, struct pw_nvtx_label *label)
{
    if (skip_key(c, "seq") || skip_key(c, "stashed seq")) {
        label->sequence = read_number(c);
        return true;
    }
    if (skip_key(c, "op_id")) {
        read_number(c);
        return true;
    }
    if (skip_key(c, "sizes")) {
        label->shapes = c->at;
        label->shapes_length = bracketed(c);
        c->at += label->shapes_length;
        if (label->shapes_length > PW_LABEL_SHAPES)
            label->shapes_length = PW_LABEL_SHAPES;
        return true;
    }
    if (skip_key(c, "input_op_ids")) {
        c->at += bracketed(c);
        return true;
    }
    return false;
}

static bool read_operator(const char *text, size_t length, struct pw_nvtx_label *label)
{
    struct cursor c = {text, text + length};
    while ((c.at = memchr(c.at, ',', (size_t)(c.end - c.at)))) {
        const char *comma = c.at;
        while (skip(&c, ", ") && read_decoration(&c, label)) {
            label->name_length = label->is_part ? label->name_length : (size_t)(comma - text);
            label->is_part = true;
        }
        if (label->is_part)
            return true;
        c.at = comma + 1;
    }
    return false;
}

static bool starts_with(const char *text, size_t length, const char *prefix)
{
    struct cursor c = {text, text + length};
    return skip(&c, prefix);
}

/* Reads a step number: "ProfilerStep#12" (PyTorch's profiler), "step 12", "Iteration_12",
 * "iter#12". Returns false for other texts. */
static bool read_step(const char *text, size_t length, struct pw_nvtx_label *label)
{
    static const char *const words[] = {"ProfilerStep", "iteration", "Iteration", "iter",
                                        "Iter",         "step",      "Step"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct cursor c = {text, text + length};
        if (!skip(&c, words[i]))
            continue;
        const char *word_end = c.at;
        if (!skip(&c, "#") && !skip(&c, "_") && !skip(&c, ": "))
            while (skip(&c, " "))
                ;
        skip(&c, "#");
        int64_t number = c.at > word_end ? read_number(&c) : -1;
        if (number < 0 || c.at != c.end)
            continue;
        label->name_length = (size_t)(word_end - text);
        label->is_part = true;
        label->sequence = number;
        return true;
    }
    return false;
}

int64_t pw_nvtx_label_step(const char *text, size_t length)
{
    struct pw_nvtx_label label = {.sequence = -1};
    return read_step(text, length, &label) ? label.sequence : -1;
}

static bool is_phase(const char *text, size_t length)
{
    for (const struct pw_enum_item *item = pw_enum_borrow(PW_F_PHASE); item->name; item++)
        if (item->value != PW_PHASE_NONE && item->value != PW_PHASE_OTHER &&
            strlen(item->name) == length && memcmp(item->name, text, length) == 0)
            return true;
    return false;
}

struct pw_nvtx_label pw_nvtx_label_read(const char *text, size_t length)
{
    struct pw_nvtx_label label = {.kind = PW_KIND_USER, .name_length = length, .sequence = -1};
    if (read_operator(text, length, &label) || starts_with(text, length, "aten::"))
        label.kind = PW_KIND_OPERATOR;
    else if (read_step(text, length, &label))
        label.kind = PW_KIND_STEP;
    else if (is_phase(text, length))
        label.kind = PW_KIND_PHASE;
    else if (starts_with(text, length, "enumerate(DataLoader)#"))
        label.kind = PW_KIND_DATA;
    return label;
}
