/* A disk whose n-th operation fails, for the program that this is loaded into (`LD_PRELOAD`).
 *
 * Writes, synchronisations and changes of length of files whose path holds FAILING_FILES are counted, and fail with EIO
 * where the file FAILING_DISK says so, which is shared with the test: four numbers of 32 bits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

struct disk {
    volatile uint32_t at;     /* this operation fails, counted from 1; 0: none does */
    volatile uint32_t ever;   /* all behind it do, too */
    volatile uint32_t count;  /* so many there were */
    volatile uint32_t failed; /* so many failed */
};

static struct disk *disk;
static const char *files;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAILING_DISK");
    files = getenv("FAILING_FILES");
    int shared = path && files ? open(path, O_RDWR) : -1;
    if (shared >= 0) {
        void *at = mmap(NULL, sizeof *disk, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
        disk = at == MAP_FAILED ? NULL : at;
        close(shared);
    }
}

static int fails(int file) {
    char link[64], path[4096];
    if (!disk) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    int before = errno;
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, files)) return 0;
    uint32_t own = __atomic_add_fetch(&disk->count, 1, __ATOMIC_SEQ_CST), at = disk->at;
    if (!at || own < at || (own > at && !disk->ever)) return 0;
    __atomic_add_fetch(&disk->failed, 1, __ATOMIC_SEQ_CST);
    errno = EIO;
    return 1;
}

#define INSTEAD(result, name, arguments, values)                    \
    result name arguments {                                         \
        static result(*real) arguments;                             \
        if (!real) real = (result(*) arguments)dlsym(RTLD_NEXT, #name); \
        return fails(file) ? -1 : real values;                      \
    }

INSTEAD(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count))
INSTEAD(ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
INSTEAD(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
INSTEAD(int, fsync, (int file), (file))
INSTEAD(int, fdatasync, (int file), (file))
INSTEAD(int, ftruncate, (int file, off_t length), (file, length))
INSTEAD(int, ftruncate64, (int file, off64_t length), (file, length))
