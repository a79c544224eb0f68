/* A random walk in and out of ranges of profwrap.h and of two NVTX domains, while recording is
 * stopped and started:
 *
 *     rangewalk SEED CALLS
 *
 * Prints "NAME DOMAIN DEPTH" of each range that must be recorded, in the order in which they end,
 * by a list of its own of what is open. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

#include "profwrap.h"

enum { API, DEFAULT, OTHER, KINDS, NAMES = 40, KNOWN = 128, DEEPEST = 140 };

static struct {
    int kind, name, is_recorded, depth;
} stack[DEEPEST];
static int depth, is_recording = 1;
static char names[NAMES][24];
static const char *const domains[KINDS] = {"-", "-", "other"};
static nvtxDomainHandle_t other;

static void push(int kind, int name)
{
    stack[depth].kind = kind;
    stack[depth].name = name;
    stack[depth].depth = depth;
    stack[depth].is_recorded = is_recording && depth < KNOWN;
    depth++;
    if (kind == API) {
        profwrap_range_push(names[name]);
    } else if (kind == DEFAULT) {
        nvtxRangePushA(names[name]);
    } else {
        const nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                                  .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                                  .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                                  .message.ascii = names[name]};
        nvtxDomainRangePushEx(other, &attributes);
    }
}

/* When there are more ranges than are known, the last one ends, whatever it is. */
static void forget(int kind)
{
    int at = depth - 1;
    if (depth <= KNOWN)
        while (at >= 0 && stack[at].kind != kind)
            at--;
    if (at < 0)
        return;
    if (stack[at].is_recorded)
        printf("%s %s %d\n", names[stack[at].name], domains[kind], stack[at].depth);
    for (; at + 1 < depth; at++)
        stack[at] = stack[at + 1];
    depth--;
}

static void pop(int kind)
{
    forget(kind);
    if (kind == API)
        profwrap_range_pop();
    else if (kind == DEFAULT)
        nvtxRangePop();
    else
        nvtxDomainRangePop(other);
}

static void turn(void)
{
    is_recording = !is_recording;
    if (is_recording)
        profwrap_start();
    else
        profwrap_stop();
}

int main(int argc, char **argv)
{
    srand((unsigned)atoi(argc > 1 ? argv[1] : "1"));
    int calls = argc > 2 ? atoi(argv[2]) : 1000;
    int deeper = 1; /* which way it tends */
    other = nvtxDomainCreateA("other");
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof(names[i]), "range-%d", i);
    for (; calls > 0; calls--) {
        const int what = rand() % 100, kind = rand() % 4 % KINDS;
        if (rand() % 300 == 0)
            deeper = !deeper;
        if (what < 4)
            turn();
        else if (depth < DEEPEST && what < (deeper ? 70 : 35))
            push(kind, rand() % NAMES);
        else
            pop(kind);
    }
    return 0;
}
