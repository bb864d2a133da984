/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines THREAD_SANITIZER where the program is built with it: it knows no threads in a child.
 * UNDER_SANITIZER: with it or that of addresses, which make system calls of their own. */
#ifndef MERCER_TESTS_SANITIZER_H
#define MERCER_TESTS_SANITIZER_H

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(THREAD_SANITIZER)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif

#endif
