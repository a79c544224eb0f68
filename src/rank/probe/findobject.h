/* The object that is mapped at an address, for every glibc: before 2.35, the C library has no
 * _dl_find_object(). The unwinder that is linked into the probe (stack.h) calls the function of
 * this file, and the probe's own files call pw_find_object(). In-app code. */
#ifndef PW_RANK_PROBE_FINDOBJECT_H
#define PW_RANK_PROBE_FINDOBJECT_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

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

/* Sets *object to the object at the address. Returns false when there is none. */
bool pw_find_object(const void *address, struct dl_find_object *object);

/* As dl_iterate_phdr(). Before glibc 2.35 it calls nothing and returns 0 when it would wait for
 * ever: in a signal handler that interrupts its own thread while that changes the loader's lock. */
typedef int pw_object_visit(struct dl_phdr_info *info, size_t size, void *arg);
int pw_list_objects(pw_object_visit *visit, void *arg);

/* How often the unwinder got no object because none could be looked up at that moment. */
unsigned pw_find_object_failures(void);

/* Whether the C library has the function. */
bool pw_find_object_is_loaders(void);

/* Whether the loader's lock and counters were found. */
bool pw_find_object_knows_lock(void);

/* Does from now on as if the C library did not have it. For tests. */
void pw_find_object_without_loader(void);

#endif
