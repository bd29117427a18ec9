/* A disk that loses its power, for the program that this is loaded into (`LD_PRELOAD`).
 *
 * Whenever a file whose path holds POWERED_FILES was synchronised, a copy of it is put into the folder POWERED_SHADOW:
 * what is there is all that a loss of power at this moment is sure to leave. A file that is removed goes there, too: file
 * systems write removals down in their order, with the next synchronisation at the latest. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void copy(int file) {
    const char *files = getenv("POWERED_FILES"), *shadow = getenv("POWERED_SHADOW");
    char link[64], path[4096], part[4400], whole[4400], bytes[65536];
    if (!files || !shadow) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (!strstr(path, files)) return;
    snprintf(part, sizeof part, "%s/part-%d", shadow, (int)gettid());
    snprintf(whole, sizeof whole, "%s/%s", shadow, strrchr(path, '/') + 1);
    int from = open(path, O_RDONLY), to = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while (from >= 0 && to >= 0 && (length = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, length) != length) abort();
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    if (from >= 0 && to >= 0) rename(part, whole);
}

#define AND_COPY(name)                                              \
    int name(int file) {                                            \
        static int (*real)(int);                                    \
        if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, #name);    \
        int result = real(file), before = errno;                    \
        if (!result) copy(file);                                    \
        errno = before;                                             \
        return result;                                              \
    }

AND_COPY(fsync)
AND_COPY(fdatasync)

int unlink(const char *path) {
    static int (*real)(const char *);
    const char *files = getenv("POWERED_FILES"), *shadow = getenv("POWERED_SHADOW");
    char whole[4400];
    if (!real) real = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    int result = real(path), before = errno;
    if (!result && files && shadow && strstr(path, files)) {
        snprintf(whole, sizeof whole, "%s/%s", shadow, strrchr(path, '/') + 1);
        real(whole);
    }
    errno = before;
    return result;
}
