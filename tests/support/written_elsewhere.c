/* SPDX-License-Identifier: BSD-3-Clause */
/* For clang's sanitizer of memory: what is written by functions that it does not know counts as
 * written. The programs of the tests are linked with --wrap of each (tests/unit/meson.build). The C
 * library has fstat() and its like as functions only since 2.33, after the sanitizer's list was
 * made; zlib is compiled without the sanitizer. */
#include <sanitizer/msan_interface.h>

#include <sys/stat.h>
#include <zlib.h>

#define STAT(name, parameters, ...)                                                                \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        const int status = __real_##name(__VA_ARGS__);                                             \
        if (status == 0)                                                                           \
            __msan_unpoison(out, sizeof *out);                                                     \
        return status;                                                                             \
    }
STAT(stat64, (const char *path, struct stat *out), path, out)
STAT(lstat64, (const char *path, struct stat *out), path, out)
STAT(fstat64, (int fd, struct stat *out), fd, out)
STAT(fstatat64, (int fd, const char *path, struct stat *out, int flags), fd, path, out, flags)

#define STREAM(name)                                                                               \
    int __real_##name(z_streamp z, int flush);                                                     \
    int __wrap_##name(z_streamp z, int flush);                                                     \
    int __wrap_##name(z_streamp z, int flush)                                                      \
    {                                                                                              \
        const Bytef *first = z->next_out;                                                          \
        const int status = __real_##name(z, flush);                                                \
        __msan_unpoison(z, sizeof *z);                                                             \
        __msan_unpoison(first, (size_t)(z->next_out - first));                                     \
        return status;                                                                             \
    }
STREAM(inflate)
STREAM(deflate)

/* zlib hands what it wrote itself to write(), which looks. */
#define FILE_OF_ZLIB(name, parameters, ...)                                                        \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        __msan_scoped_disable_interceptor_checks();                                                \
        const int status = __real_##name(__VA_ARGS__);                                             \
        __msan_scoped_enable_interceptor_checks();                                                 \
        return status;                                                                             \
    }
FILE_OF_ZLIB(gzwrite, (gzFile file, const void *bytes, unsigned count), file, bytes, count)
FILE_OF_ZLIB(gzclose, (gzFile file), file)
