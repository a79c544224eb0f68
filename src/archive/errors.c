/* Keeps the first of OTF2's errors; see errors.h. */
#include "archive/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <otf2/otf2.h>

static char first[300];

static OTF2_ErrorCode pw_otf2_note_error(void *data, const char *file, uint64_t line,
                                         const char *function, OTF2_ErrorCode code,
                                         const char *format, va_list arguments)
{
    char more[200];
    (void)data, (void)file, (void)line, (void)function;
    if (first[0])
        return code;
    vsnprintf(more, sizeof(more), format, arguments);
    snprintf(first, sizeof(first), "%s%s%s", OTF2_Error_GetDescription(code), more[0] ? ": " : "",
             more);
    first[strcspn(first, "\n")] = '\0';
    return code;
}

void pw_otf2_errors_catch(void)
{
    first[0] = '\0';
    OTF2_Error_RegisterCallback(pw_otf2_note_error, NULL);
}

const char *pw_otf2_error(void)
{
    return first;
}
