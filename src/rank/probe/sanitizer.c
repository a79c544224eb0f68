/* What programs built with AddressSanitizer need of a library that is preloaded.
 *
 * The runtime of gcc, and clang's shared one, stop a program in whose list of libraries another
 * comes before them, as whatever LD_PRELOAD names does. They ask this function of the public
 * interface for options (sanitizer/asan_interface.h); a program that defines it itself comes first,
 * and so does what the user has in ASAN_OPTIONS. The order does no harm here: the probe replaces
 * none of the functions that the runtime replaces. By a function, not by the environment, since
 * scripts set ASAN_OPTIONS themselves, and programs show their environment. */

/* Called before any constructor has run. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}
