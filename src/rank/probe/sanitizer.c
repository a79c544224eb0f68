/* Lets programs that are built with AddressSanitizer start with the probe in LD_PRELOAD.
 *
 * gcc's runtime, and clang's shared one, stop a program when another library is loaded before them,
 * as every preloaded library is. This function of their public interface
 * (sanitizer/asan_interface.h) turns that check off. The order does no harm here, because the probe
 * replaces none of the functions that the runtime replaces. A definition in the program replaces
 * this one, and the user's ASAN_OPTIONS overrides it. We do not set ASAN_OPTIONS, because scripts
 * set it themselves, and the program can see it. */

/* Called before any constructor has run. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}
