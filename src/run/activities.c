/* What can be recorded; see activities.h. */
#include "run/activities.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collectors/modules.h"
#include "core/choices.h"
#include "rank/ring/record.h"

const struct pw_module *pw_cli_modules(void)
{
    static struct pw_module table[13]; /* the last row is empty */
    table[0] = pw_module_mpi;
    table[1] = pw_module_annotations;
    table[2] = pw_module_nvtx; /* after annotations, whose steps have priority */
    table[3] = pw_module_sys;
    table[4] = pw_module_host;
    table[5] = pw_module_gpu;
    table[6] = pw_module_nccl; /* after gpu, whose kernels time its operations */
    table[7] = pw_module_torch;
    table[8] = pw_module_mindspore;
    table[9] = pw_module_null;
    table[10] = pw_module_workers;
    table[11] = pw_module_network;
    return table;
}

static bool is_named(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && strncmp(name, word, length) == 0;
}

/* Returns the bits of an activity's word or a module's name; 0: unknown name. */
static uint32_t bits_of(const char *word, size_t length)
{
    static const struct {
        const char *name;
        uint32_t bits;
    } words[] = {
#define WORD(name, remark, bit) {#name, bit},
        PW_ACTIVITIES(WORD, WORD)
#undef WORD
            {"note", PW_ACTIVITY_ANNOTATIONS}, /* the former name of annotations */
    };
    const struct pw_module *modules = pw_cli_modules();
    uint32_t bits = 0;
    for (int i = 0; modules[i].name; i++)
        bits |= is_named(modules[i].name, word, length) ? modules[i].activity : 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        bits |= is_named(words[i].name, word, length) ? words[i].bits : 0;
    return bits;
}

uint32_t pw_cli_parse_activities(const char *list, char *problem, size_t size)
{
    uint32_t bits = 0;
    while (*list) {
        size_t length = strcspn(list, ",");
        const uint32_t found = bits_of(list, length);
        if (!found) {
            snprintf(problem, size,
                     "--activities: '%.*s' is not one of " PW_CHOICE_LIST(PW_ACTIVITIES),
                     (int)length, list);
            return 0;
        }
        bits |= found;
        list += length + (list[length] == ',');
    }
    if (!bits)
        snprintf(problem, size, "--activities names nothing of " PW_CHOICE_LIST(PW_ACTIVITIES));
    return bits;
}
