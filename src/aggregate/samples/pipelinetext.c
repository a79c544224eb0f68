/* Reads the pipeline that a program wrote down; see pipelinequeues.h. */
#include <stdio.h>
#include <string.h>

#include "aggregate/samples/pipelinequeues.h"

enum { NAME = 64 };

/* Without the spaces, and arrows of any kind, around it. */
static void copy_operator(char *out, const char *from, size_t length)
{
    static const char around[] = " \t\r\n-=>,|";
    while (length && strchr(around, *from)) {
        from++;
        length--;
    }
    while (length && strchr(around, from[length - 1]))
        length--;
    snprintf(out, NAME, "%.*s", (int)(length < NAME ? length : NAME - 1), from);
}

int32_t pw_pipeline_place(const char *pipeline, const char *queue, char *filled_by,
                          char *emptied_by)
{
    int32_t place = 0;
    const char *at = pipeline;
    for (const char *open; (open = strchr(at, '[')); place++) {
        const char *close = strchr(open, ']');
        if (!close)
            return -1;
        size_t length = (size_t)(close - open) - 1;
        if (strlen(queue) == length && strncmp(open + 1, queue, length) == 0) {
            copy_operator(filled_by, at, (size_t)(open - at));
            if (!strchr(close, '['))
                copy_operator(emptied_by, close + 1, strlen(close + 1));
            return place;
        }
        at = close + 1;
    }
    return -1;
}
