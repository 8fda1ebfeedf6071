// The state behind the interposed calls of calls.c, configured by the environment alone:
//   HF_SHIM_DIR            the watched directory: absolute, no links in it, no slash at the end
//   HF_SHIM_TRACE          append one binary record per completed call to this file
//   HF_SHIM_FAIL           kind:n:EIO|ENOSPC|EDQUOT|short, e.g. sync:3:EIO, counted in this process
//   HF_SHIM_FAIL_STICKY=1  later calls of that kind fail too
//   HF_SHIM_FIRED          a line is appended here when the fault happens
//   HF_SHIM_COUNT          the counts per kind as JSON, rewritten at each counted call
//   HF_SHIM_SYNC_DELAY_US  sleep this long before each sync
// A wrong setting or a call outside the disk model ends the process with status 97 and a message.
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS 65536 // above every sensible `ulimit -n` of a test
#define MAGIC 0x31544648u // "HFT1"

// Little-endian on both platforms we run on (x86-64, arm64); soak/disk/trace.ts reads it field by field.
struct header {
  uint32_t magic;
  uint8_t type, flags;
  uint16_t path_length, path2_length, reserved;
  uint32_t pid, handle;
  int32_t error;
  int64_t offset;
  uint64_t length;
  uint32_t data_length, trailer; // trailer = MAGIC again: a header from a torn record is not believed
};
_Static_assert(sizeof(struct header) == 48, "the trace format has no padding");

static const char *const kind_names[KINDS] = {"sync", "write", "truncate", "rename", "open", "unlink"};

static char root[PATH_MAX];
static size_t root_length; // 0 = nothing is watched
static bool ordered;
static int trace_fd = -1, fired_fd = -1, count_fd = -1;
static long delay_us;

static struct {
  enum kind kind;
  unsigned long n;
  int error;
  bool cut, sticky;
} fault = {.kind = K_NONE};

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static unsigned long counts[KINDS];
static struct handle handles[DESCRIPTORS];
static uint32_t last_handle;

// Our own output goes past every interposed function, including syscall().
static long raw(long number, long a, long b, long c, long d) {
  static long (*next)(long, ...);
  if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, a, b, c, d);
}

_Noreturn static void die(const char *what, const char *detail) {
  char line[PATH_MAX + 256];
  int n = snprintf(line, sizeof line, "hf-shim: %s: %s\n", what, detail);
  raw(SYS_write, 2, (long)line, n < (int)sizeof line ? n : (long)sizeof line - 1, 0);
  _exit(97);
}

void outside_model(const char *what, const char *path) {
  char text[256];
  snprintf(text, sizeof text, "%s is not part of the disk model, extend soak/shim to allow it", what);
  die(text, path);
}

struct handle *handle_of(int fd) {
  if (fd < 0 || fd >= DESCRIPTORS) return NULL;
  return __atomic_load_n(&handles[fd].id, __ATOMIC_ACQUIRE) ? &handles[fd] : NULL;
}

uint32_t handle_attach(int fd, const struct handle *handle) {
  if (fd >= DESCRIPTORS) die("descriptor out of range", handle->path);
  struct handle *slot = &handles[fd];
  // The kernel would not hand out a descriptor that is still open: a close went past us.
  if (slot->id) die("a close was not seen", slot->path);
  uint32_t id = __atomic_add_fetch(&last_handle, 1, __ATOMIC_RELAXED);
  *slot = *handle;
  if (!(slot->path = strdup(handle->path))) die("out of memory", handle->path);
  __atomic_store_n(&slot->id, id, __ATOMIC_RELEASE);
  return id;
}

void handle_detach(int fd) {
  free(handles[fd].path);
  __atomic_store_n(&handles[fd].id, 0, __ATOMIC_RELEASE);
}

bool inside(int dirfd, const char *path, char out[PATH_MAX]) {
  if (!root_length || !path || !*path) return false;
  // Audit files are reached through the descriptor of their directory.
  int through, used = 0;
  if (!strncmp(path, "/proc/self/fd/", 14) && sscanf(path + 14, "%d/%n", &through, &used) == 1 && used) {
    dirfd = through;
    path += 14 + used;
  }
  char joined[2 * PATH_MAX + 2] = "";
  if (*path != '/') {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
    ssize_t n = readlink(dirfd == AT_FDCWD ? "/proc/self/cwd" : link, joined, PATH_MAX);
    if (n < 0) return false;
    joined[n] = '/';
    joined[n + 1] = 0;
  }
  if (strlen(path) >= PATH_MAX) return false;
  strcat(joined, path);

  // By the letter: "//", "." and ".." are folded, links are not followed.
  char folded[2 * PATH_MAX + 2];
  size_t length = 0;
  for (char *at = joined; *at;) {
    while (*at == '/') at++;
    size_t part = strcspn(at, "/");
    if (part == 2 && at[0] == '.' && at[1] == '.') {
      while (length && folded[--length] != '/') {}
    } else if (part && !(part == 1 && at[0] == '.')) {
      folded[length++] = '/';
      memcpy(folded + length, at, part);
      length += part;
    }
    at += part;
  }
  folded[length] = 0;
  if (strncmp(folded, root, root_length) != 0) return false;
  if (folded[root_length] != '/' && folded[root_length] != 0) return false;
  const char *rest = folded + root_length + (folded[root_length] == '/');
  if (strlen(rest) >= PATH_MAX) return false;
  strcpy(out, rest);
  return true;
}

void order_begin(void) {
  if (ordered) pthread_mutex_lock(&order);
}

void order_end(void) {
  if (ordered) pthread_mutex_unlock(&order);
}

static const char *error_name(int error) {
  return error == EIO ? "EIO" : error == EDQUOT ? "EDQUOT" : "ENOSPC";
}

static void note_fired(const char *outcome, const char *call, const char *path) {
  if (fired_fd < 0) return;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char line[PATH_MAX + 128];
  int n = snprintf(line, sizeof line, "%lld %s %lu %s %s %s\n",
                   now.tv_sec * 1000LL + now.tv_nsec / 1000000, kind_names[fault.kind],
                   counts[fault.kind], outcome, call, path);
  if (raw(SYS_write, fired_fd, (long)line, n, 0) != n) die("cannot write", "HF_SHIM_FIRED");
}

int judge(enum kind kind, const char *call, const char *path, bool *cut) {
  if (kind == K_NONE || !ordered) return 0;
  unsigned long n = ++counts[kind];
  if (count_fd >= 0) {
    // Padded, so that the shorter of two texts never leaves a tail of the longer.
    char text[256];
    int size = snprintf(text, sizeof text,
                        "{\"sync\":%10lu,\"write\":%10lu,\"truncate\":%10lu,\"rename\":%10lu,"
                        "\"open\":%10lu,\"unlink\":%10lu}\n",
                        counts[K_SYNC], counts[K_WRITE], counts[K_TRUNCATE], counts[K_RENAME],
                        counts[K_OPEN], counts[K_UNLINK]);
    if (raw(SYS_pwrite64, count_fd, (long)text, size, 0) != size) die("cannot write", "HF_SHIM_COUNT");
  }
  if (kind != fault.kind || n < fault.n) return 0;
  if (n == fault.n && fault.cut && cut) {
    *cut = true;
    note_fired("short", call, path);
    return 0;
  }
  bool second = fault.cut && n == fault.n + 1; // after a short write the disk is full
  if (n > fault.n && !second && !fault.sticky) return 0;
  if (n == fault.n || second) note_fired(error_name(fault.error), call, path);
  return fault.error;
}

void record(const struct event *event) {
  if (trace_fd < 0) return;
  struct header header = {
      .magic = MAGIC,
      .type = event->type,
      .flags = event->flags,
      .path_length = event->path ? strlen(event->path) : 0,
      .path2_length = event->path2 ? strlen(event->path2) : 0,
      .pid = getpid(),
      .handle = event->handle,
      .error = event->error,
      .offset = event->offset,
      .length = event->length,
      .data_length = event->data_length,
      .trailer = MAGIC,
  };
  struct iovec parts[4] = {
      {&header, sizeof header},
      {(void *)event->path, header.path_length},
      {(void *)event->path2, header.path2_length},
      {(void *)event->data, event->data_length},
  };
  ssize_t size = sizeof header + header.path_length + header.path2_length + event->data_length;
  if (raw(SYS_writev, trace_fd, (long)parts, 4, 0) != size) die("cannot write", "HF_SHIM_TRACE");
}

void sync_delay(void) {
  if (delay_us <= 0) return;
  struct timespec left = {delay_us / 1000000, delay_us % 1000000 * 1000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

static int open_output(const char *name, int how) {
  const char *path = getenv(name);
  if (!path || !*path) return -1;
  char unused[PATH_MAX];
  if (inside(AT_FDCWD, path, unused)) die("must lie outside HF_SHIM_DIR", name);
  int fd = raw(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
  if (fd < 0) die("cannot open", name);
  return fd;
}

static void parse_fault(const char *text) {
  char kind[16], outcome[16], rest;
  if (sscanf(text, "%15[a-z]:%lu:%15[A-Za-z]%c", kind, &fault.n, outcome, &rest) != 3 || !fault.n)
    die("HF_SHIM_FAIL must read kind:n:outcome", text);
  for (int k = 0; k < KINDS; k++)
    if (!strcmp(kind, kind_names[k])) fault.kind = k;
  if (fault.kind == K_NONE) die("HF_SHIM_FAIL has an unknown kind", text);
  fault.cut = !strcmp(outcome, "short");
  fault.error = !strcmp(outcome, "EIO") ? EIO : !strcmp(outcome, "EDQUOT") ? EDQUOT : ENOSPC;
  if (!fault.cut && strcmp(outcome, error_name(fault.error)))
    die("HF_SHIM_FAIL has an unknown outcome", text);
  if (fault.cut && fault.kind != K_WRITE) die("only a write can be short", text);
  const char *sticky = getenv("HF_SHIM_FAIL_STICKY");
  fault.sticky = sticky && !strcmp(sticky, "1");
}

// Before this has run nothing is watched and every call passes through.
__attribute__((constructor)) static void configure(void) {
  const char *directory = getenv("HF_SHIM_DIR");
  if (!directory || !*directory) return;
  size_t length = strlen(directory);
  if (*directory != '/' || length < 2 || directory[length - 1] == '/' || length >= PATH_MAX)
    die("HF_SHIM_DIR must be absolute and not end in a slash", directory);
  strcpy(root, directory);
  root_length = length;

  const char *delay = getenv("HF_SHIM_SYNC_DELAY_US");
  if (delay && *delay) {
    char *end;
    delay_us = strtol(delay, &end, 10);
    if (*end || delay_us < 0) die("HF_SHIM_SYNC_DELAY_US must be a number", delay);
  }
  const char *fail = getenv("HF_SHIM_FAIL");
  if (fail && *fail) parse_fault(fail);
  trace_fd = open_output("HF_SHIM_TRACE", O_APPEND);
  fired_fd = open_output("HF_SHIM_FIRED", O_APPEND);
  count_fd = open_output("HF_SHIM_COUNT", O_TRUNC);
  // With a delay alone nothing is counted, so one thread's slow sync need not hold up another's write.
  ordered = trace_fd >= 0 || count_fd >= 0 || fault.kind != K_NONE;
}
