/* A disk between a process and its files, by LD_PRELOAD: it records what is written, or fails at a chosen call.

   Nothing happens until keepstep_shim_arm(); then only one database counts: PATH, PATH-wal, PATH-journal, PATH-shm and
   their directory. A record is 16 bytes (operation, file, 2 unused, length, offset; little-endian), then the data. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { OFF, RECORD, COUNT, EIO_ONCE, EIO_STICKY, ENOSPC_STICKY, KILL_BEFORE, KILL_AFTER, TORN };
enum file { NONE, MAIN, WAL, JOURNAL, SHM, FOLDER };

#define MOST_FILES 4096
#define MOST_CALLS 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char main_path[4096], folder[4096];
static int mode, at, count, fired, log_fd = -1;
static uint8_t file_of[MOST_FILES];
static char calls[MOST_CALLS][2];

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (!real) real = (result (*)(__VA_ARGS__)) dlsym(RTLD_NEXT, name)

static int kind(const char *path) {
  size_t length = strlen(main_path);
  if (!mode || !path || !length) return NONE;
  if (!strcmp(path, folder)) return FOLDER;
  if (strncmp(path, main_path, length)) return NONE;
  const char *rest = path + length;
  if (!*rest) return MAIN;
  if (!strcmp(rest, "-wal")) return WAL;
  if (!strcmp(rest, "-journal")) return JOURNAL;
  return strcmp(rest, "-shm") ? NONE : SHM;
}

static int file(int fd) { return mode && fd >= 0 && fd < MOST_FILES ? file_of[fd] : NONE; }

static void record(char op, int which, uint64_t offset, const void *data, uint32_t length) {
  static ssize_t (*put)(int, const struct iovec *, int);
  if (!put) put = (ssize_t (*)(int, const struct iovec *, int)) dlsym(RTLD_NEXT, "writev");
  char head[16] = {op, (char) which};
  if (mode != RECORD || which == SHM) return;
  memcpy(head + 4, &length, 4);
  memcpy(head + 8, &offset, 8);
  struct iovec parts[2] = {{head, 16}, {(void *) data, length}};
  if (put(log_fd, parts, length ? 2 : 1) != (ssize_t) (16 + length)) _exit(74);
}

/* Before a call that changes the disk: 0 to make it, an errno to fail with, -1 for half of it and the end. */
static int fault(char op, int which) {
  if (mode < COUNT) return 0;
  if (count < MOST_CALLS) calls[count][0] = op, calls[count][1] = (char) ('0' + which);
  count++;
  if (mode == COUNT || count < at) return 0;
  int exactly = count == at, grows = op == 'W' || op == 'T';
  if (mode == EIO_ONCE && !exactly) return 0;
  if (mode == ENOSPC_STICKY && !grows) return 0;
  if (mode == KILL_BEFORE && exactly) raise(SIGKILL);
  if (mode == TORN && exactly) return -1;
  if (mode > ENOSPC_STICKY) return 0;
  fired++;
  return mode == ENOSPC_STICKY ? ENOSPC : EIO;
}

static void after(void) {
  if (mode == KILL_AFTER && count == at) raise(SIGKILL);
}

/* what the tests call */

void keepstep_shim_arm(const char *path, int wanted, int call, int log) {
  strncpy(main_path, path, sizeof main_path - 1);
  strncpy(folder, path, sizeof folder - 1);
  *strrchr(folder, '/') = 0;
  at = call, count = fired = 0, log_fd = log, mode = wanted;
}

void keepstep_shim_lift(void) { mode = COUNT; }
int keepstep_shim_fired(void) { return fired; }
int keepstep_shim_count(void) { return count; }
const char *keepstep_shim_call(int number) { return calls[number]; }

/* what the process calls */

static int opened(int fd, const char *path, int existed) {
  int which = fd < 0 || fd >= MOST_FILES ? NONE : kind(path);
  if (fd >= 0 && fd < MOST_FILES) file_of[fd] = (uint8_t) which;
  if (which && which != FOLDER && !existed) record('C', which, 0, 0, 0);
  return fd;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(int, #name, const char *, int, ...); \
    va_list rest; \
    va_start(rest, flags); \
    int rights = flags & O_CREAT ? va_arg(rest, int) : 0; \
    va_end(rest); \
    int existed = !kind(path) || !access(path, F_OK); \
    return opened(real(path, flags, rights), path, existed); \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  REAL(int, "close", int);
  if (fd >= 0 && fd < MOST_FILES) file_of[fd] = NONE;
  return real(fd);
}

#define GUARDED(op, which, offset, data, whole, half, length) \
  pthread_mutex_lock(&lock); \
  int cause = fault(op, which); \
  if (cause > 0) { \
    pthread_mutex_unlock(&lock); \
    errno = cause; \
    return -1; \
  } \
  if (cause < 0) { \
    half; \
    raise(SIGKILL); \
  } \
  __typeof__(whole) result = whole; \
  int kept = errno; \
  if (result >= 0) record(op, which, offset, data, length); \
  after(); \
  pthread_mutex_unlock(&lock); \
  errno = kept; \
  return result

static size_t part(size_t length) { return length / 2 & ~(size_t) 511; }

#define PWRITE(name, type) \
  ssize_t name(int fd, const void *data, size_t length, type offset) { \
    REAL(ssize_t, #name, int, const void *, size_t, type); \
    int which = file(fd); \
    if (!which) return real(fd, data, length, offset); \
    GUARDED('W', which, (uint64_t) offset, data, real(fd, data, length, offset), \
            (void) !real(fd, data, part(length), offset), (uint32_t) result); \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t length) {
  REAL(ssize_t, "write", int, const void *, size_t);
  int which = file(fd);
  if (!which) return real(fd, data, length);
  uint64_t offset = (uint64_t) lseek(fd, 0, SEEK_CUR);
  GUARDED('W', which, offset, data, real(fd, data, length), (void) !real(fd, data, part(length)), (uint32_t) result);
}

#define TRUNCATE(name, type) \
  int name(int fd, type length) { \
    REAL(int, #name, int, type); \
    int which = file(fd); \
    if (!which) return real(fd, length); \
    GUARDED('T', which, (uint64_t) length, 0, real(fd, length), (void) 0, 0); \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name) \
  int name(int fd) { \
    REAL(int, #name, int); \
    int which = file(fd); \
    if (!which) return real(fd); \
    GUARDED('S', which, 0, 0, real(fd), (void) 0, 0); \
  }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  int which = kind(path);
  if (!which) return real(path);
  GUARDED('U', which, 0, 0, real(path), (void) 0, 0);
}
