/* The table of formats; see formats.h. */
#include "import/formats.h"

#include <stdlib.h>
#include <string.h>

#include "import/kineto.h"

/* In the order in which a file is tried. */
static const struct pw_import_format *const formats[] = {
    &pw_import_kineto,
};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct pw_import_format *pw_import_format_borrow(size_t number)
{
    return number < FORMATS ? formats[number] : NULL;
}

const struct pw_import_format *pw_import_format_find(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

void pw_import_head_fini(struct pw_import_head *head)
{
    for (size_t i = 0; i < head->ngroups; i++)
        free(head->groups[i].members);
    free(head->groups);
    head->groups = NULL;
    head->ngroups = 0;
}
