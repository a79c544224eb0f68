/* _dl_find_object(), for every glibc: before 2.35, the C library has no such function. The probe's
 * files call it, and so does the unwinder that is linked into the probe (stack.h). In-app code. */
#ifndef PW_RANK_PROBE_FINDOBJECT_H
#define PW_RANK_PROBE_FINDOBJECT_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

#ifndef DLFO_STRUCT_HAS_EH_DBASE /* a header from before 2.35; as on x86-64 and aarch64 */
struct dl_find_object {
    unsigned long long dlfo_flags;
    void *dlfo_map_start, *dlfo_map_end;
    struct link_map *dlfo_link_map;
    void *dlfo_eh_frame;
    unsigned long long dlfo_reserved[7];
};
int _dl_find_object(void *address, struct dl_find_object *result);
#endif

/* Whether _dl_find_object() is the C library's, and not the one of this file. */
bool pw_find_object_is_loaders(void);

/* Makes _dl_find_object() be the one of this file from now on, whatever the C library has. For
 * tests. */
void pw_find_object_without_loader(void);

#endif
