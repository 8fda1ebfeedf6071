// libc's functions that change files, as Node (libuv, libstdc++'s file system functions) and SQLite
// call them. Each passes straight through unless it touches the watched directory; then it is
// counted, perhaps failed, and recorded. Not traced: stores through a mapping. The only one allowed
// is SQLite's -shm index, which is rebuilt from the WAL after a crash and so is never in an image.
// Permissions and times are not part of the model either.
#define _GNU_SOURCE
#include "shim.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// libc's own function behind ours. Looked up on first use, because others' constructors run first.
#define NEXT(name)                                                      \
  ({                                                                    \
    static __typeof__(&name) next;                                      \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);       \
    next;                                                               \
  })

#define ACK_FILE "ack.log"

// Writes the record of a finished call, gives up the order, and leaves errno as the call left it.
static long finish(struct event *event, long result, int error, bool injected) {
  event->error = result == -1 ? error : 0;
  if (injected) event->flags |= FLAG_INJECTED;
  record(event);
  order_end();
  if (result == -1) errno = error;
  return result;
}

/* open and close */

static int do_open(int dirfd, const char *path, int flags, mode_t mode, const char *call) {
  char rel[PATH_MAX];
  if (!inside(dirfd, path, rel)) return NEXT(openat)(dirfd, path, flags, mode);
  if ((flags & O_TMPFILE) == O_TMPFILE) outside_model("O_TMPFILE", rel);
  struct handle handle = {
      .appends = flags & O_APPEND,
      .syncs = flags & (O_SYNC | O_DSYNC),
      .ack = !strcmp(rel, ACK_FILE),
      .path = rel,
  };
  struct event event = {.type = T_OPEN, .path = rel};
  order_begin();
  int error = judge(handle.ack ? K_NONE : K_OPEN, call, rel, NULL);
  if (error) return finish(&event, -1, error, true);
  struct stat info;
  bool existed = !(flags & O_CREAT) || fstatat(dirfd, path, &info, 0) == 0;
  int fd = NEXT(openat)(dirfd, path, flags, mode);
  if (fd < 0) return finish(&event, -1, errno, false);
  if (fstat(fd, &info) != 0 || !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) {
    order_end(); // a socket or pipe: nothing that a crash image holds
    return fd;
  }
  handle.directory = S_ISDIR(info.st_mode);
  event.handle = handle_attach(fd, &handle);
  if (!existed) event.flags |= FLAG_CREATED;
  if (handle.directory) event.flags |= FLAG_DIRECTORY;
  if (existed && (flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY) event.flags |= FLAG_TRUNCATED;
  return finish(&event, fd, 0, false);
}

static mode_t mode_argument(int flags, va_list list) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

#define OPEN(name)                                                      \
  int name(const char *path, int flags, ...) {                          \
    va_list list;                                                       \
    va_start(list, flags);                                              \
    mode_t mode = mode_argument(flags, list);                           \
    va_end(list);                                                       \
    return do_open(AT_FDCWD, path, flags, mode, "open");                \
  }
#define OPENAT(name)                                                    \
  int name(int dirfd, const char *path, int flags, ...) {               \
    va_list list;                                                       \
    va_start(list, flags);                                              \
    mode_t mode = mode_argument(flags, list);                           \
    va_end(list);                                                       \
    return do_open(dirfd, path, flags, mode, "open");                   \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

// The checked variants that _FORTIFY_SOURCE makes of calls without a mode.
int __open_2(const char *path, int flags) { return do_open(AT_FDCWD, path, flags, 0, "open"); }
int __open64_2(const char *path, int flags) { return do_open(AT_FDCWD, path, flags, 0, "open"); }
int __openat_2(int dirfd, const char *path, int flags) { return do_open(dirfd, path, flags, 0, "open"); }
int __openat64_2(int dirfd, const char *path, int flags) { return do_open(dirfd, path, flags, 0, "open"); }

int creat(const char *path, mode_t mode) {
  return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode, "creat");
}
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

// Before the real call, because another thread may be given this number as soon as it is free.
static void forget(int fd) {
  struct handle *handle = handle_of(fd);
  if (!handle) return;
  struct event event = {.type = T_CLOSE, .handle = handle->id};
  order_begin();
  handle_detach(fd);
  finish(&event, 0, 0, false);
}

int close(int fd) {
  forget(fd);
  return NEXT(close)(fd);
}

// These close a descriptor inside libc; libstdc++ wraps what it opened in both.
int closedir(DIR *stream) {
  forget(dirfd(stream));
  return NEXT(closedir)(stream);
}
int fclose(FILE *stream) {
  forget(fileno(stream));
  return NEXT(fclose)(stream);
}

/* contents */

static ssize_t do_write(int fd, const void *data, size_t size, off64_t offset, const char *call) {
  struct handle *handle = handle_of(fd);
  struct event event = {.type = T_WRITE, .handle = handle->id, .length = size, .offset = offset};
  order_begin();
  bool cut = false;
  int error = judge(handle->ack ? K_NONE : K_WRITE, call, handle->path, size < 2 ? NULL : &cut);
  if (error) return finish(&event, -1, error, true);
  size_t wanted = cut ? size / 2 : size;
  ssize_t done = offset < 0 ? NEXT(write)(fd, data, wanted) : NEXT(pwrite64)(fd, data, wanted, offset);
  if (done < 0) return finish(&event, -1, errno, false);
  // Where the bytes went: an appending descriptor writes at the end, whatever the caller said.
  struct stat info;
  if (offset < 0) event.offset = lseek64(fd, 0, SEEK_CUR) - done;
  else if (handle->appends && fstat(fd, &info) == 0) event.offset = info.st_size - done;
  event.data = data;
  event.data_length = done;
  if (handle->syncs) {
    record(&event);
    event = (struct event){.type = T_SYNC, .handle = handle->id};
  }
  return finish(&event, done, 0, cut);
}

// One contiguous write: the trace needs the bytes in one piece anyway.
static ssize_t do_writev(int fd, const struct iovec *parts, int count, off64_t offset, const char *call) {
  size_t size = 0, at = 0;
  for (int i = 0; i < count; i++) size += parts[i].iov_len;
  char *data = malloc(size ? size : 1);
  if (!data) {
    errno = ENOMEM;
    return -1;
  }
  for (int i = 0; i < count; at += parts[i++].iov_len) memcpy(data + at, parts[i].iov_base, parts[i].iov_len);
  ssize_t done = do_write(fd, data, size, offset, call);
  int error = errno;
  free(data);
  errno = error;
  return done;
}

ssize_t write(int fd, const void *data, size_t size) {
  return handle_of(fd) ? do_write(fd, data, size, -1, "write") : NEXT(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  return handle_of(fd) ? do_write(fd, data, size, offset, "pwrite") : NEXT(pwrite)(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  return handle_of(fd) ? do_write(fd, data, size, offset, "pwrite") : NEXT(pwrite64)(fd, data, size, offset);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  return handle_of(fd) ? do_writev(fd, parts, count, -1, "writev") : NEXT(writev)(fd, parts, count);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return handle_of(fd) ? do_writev(fd, parts, count, offset, "pwritev") : NEXT(pwritev)(fd, parts, count, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return handle_of(fd) ? do_writev(fd, parts, count, offset, "pwritev")
                       : NEXT(pwritev64)(fd, parts, count, offset);
}
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
  if (handle_of(fd)) outside_model("pwritev2", handle_of(fd)->path);
  return NEXT(pwritev2)(fd, parts, count, offset, flags);
}

int ftruncate64(int fd, off64_t size) {
  struct handle *handle = handle_of(fd);
  if (!handle) return NEXT(ftruncate64)(fd, size);
  struct event event = {.type = T_TRUNCATE, .handle = handle->id, .length = size};
  order_begin();
  int error = judge(handle->ack ? K_NONE : K_TRUNCATE, "ftruncate", handle->path, NULL);
  int result = error ? -1 : NEXT(ftruncate64)(fd, size);
  return finish(&event, result, error ? error : errno, error);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int truncate64(const char *path, off64_t size) {
  char rel[PATH_MAX];
  if (inside(AT_FDCWD, path, rel)) outside_model("truncate by path", rel);
  return NEXT(truncate64)(path, size);
}
int truncate(const char *path, off_t size) { return truncate64(path, size); }

// Full disks show here first, so for faults it counts as a write.
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  struct handle *handle = handle_of(fd);
  if (!handle) return NEXT(fallocate64)(fd, mode, offset, length);
  if (mode & ~FALLOC_FL_KEEP_SIZE) outside_model("this mode of fallocate", handle->path);
  struct event event = {.type = T_ALLOCATE, .handle = handle->id, .offset = offset, .length = length};
  if (mode & FALLOC_FL_KEEP_SIZE) event.length = 0;
  order_begin();
  int error = judge(handle->ack ? K_NONE : K_WRITE, "fallocate", handle->path, NULL);
  int result = error ? -1 : NEXT(fallocate64)(fd, mode, offset, length);
  return finish(&event, result, error ? error : errno, error);
}
int fallocate(int fd, int mode, off_t offset, off_t length) { return fallocate64(fd, mode, offset, length); }

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  if (!handle_of(fd)) return NEXT(posix_fallocate64)(fd, offset, length);
  return fallocate64(fd, 0, offset, length) == 0 ? 0 : errno; // the error is the result, not errno
}
int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }

static int do_sync(int fd, int (*next)(int), const char *call) {
  struct handle *handle = handle_of(fd);
  if (!handle) return next(fd);
  if (!handle->ack) sync_delay();
  struct event event = {.type = T_SYNC, .handle = handle->id};
  order_begin();
  int error = judge(handle->ack ? K_NONE : K_SYNC, call, handle->path, NULL);
  int result = error ? -1 : next(fd);
  return finish(&event, result, error ? error : errno, error);
}
int fsync(int fd) { return do_sync(fd, NEXT(fsync), "fsync"); }
int fdatasync(int fd) { return do_sync(fd, NEXT(fdatasync), "fdatasync"); }

/* names */

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags) {
  char old[PATH_MAX], new[PATH_MAX];
  bool leaves = inside(from_fd, from, old), arrives = inside(to_fd, to, new);
  if (!leaves && !arrives)
    return flags ? NEXT(renameat2)(from_fd, from, to_fd, to, flags) : NEXT(renameat)(from_fd, from, to_fd, to);
  if (leaves != arrives) outside_model("a rename across the watched directory's border", leaves ? old : new);
  if (flags & ~RENAME_NOREPLACE) outside_model("this kind of rename", old);
  struct event event = {.type = T_RENAME, .path = old, .path2 = new};
  order_begin();
  int error = judge(K_RENAME, "rename", old, NULL);
  int result = error ? -1 : NEXT(renameat2)(from_fd, from, to_fd, to, flags);
  return finish(&event, result, error ? error : errno, error);
}
int renameat(int from_fd, const char *from, int to_fd, const char *to) {
  return renameat2(from_fd, from, to_fd, to, 0);
}
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int dirfd, const char *path, int flags) {
  char rel[PATH_MAX];
  if (!inside(dirfd, path, rel)) return NEXT(unlinkat)(dirfd, path, flags);
  bool directory = flags & AT_REMOVEDIR;
  struct event event = {.type = directory ? T_RMDIR : T_UNLINK, .path = rel};
  order_begin();
  int error = judge(strcmp(rel, ACK_FILE) ? K_UNLINK : K_NONE, directory ? "rmdir" : "unlink", rel, NULL);
  int result = error ? -1 : NEXT(unlinkat)(dirfd, path, flags);
  return finish(&event, result, error ? error : errno, error);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int remove(const char *path) {
  int result = unlink(path);
  return result != 0 && (errno == EISDIR || errno == EPERM) ? rmdir(path) : result;
}

int mkdirat(int dirfd, const char *path, mode_t mode) {
  char rel[PATH_MAX];
  if (!inside(dirfd, path, rel)) return NEXT(mkdirat)(dirfd, path, mode);
  struct event event = {.type = T_MKDIR, .path = rel};
  order_begin();
  int result = NEXT(mkdirat)(dirfd, path, mode);
  return finish(&event, result, errno, false);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

char *mkdtemp(char *template) {
  char rel[PATH_MAX];
  if (!inside(AT_FDCWD, template, rel)) return NEXT(mkdtemp)(template);
  struct event event = {.type = T_MKDIR, .path = rel};
  order_begin();
  char *made = NEXT(mkdtemp)(template);
  int error = errno;
  if (made) inside(AT_FDCWD, made, rel);
  return finish(&event, made ? 0 : -1, error, false) == 0 ? made : NULL;
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
  char old[PATH_MAX], new[PATH_MAX];
  bool leaves = inside(from_fd, from, old), arrives = inside(to_fd, to, new);
  if (!leaves && !arrives) return NEXT(linkat)(from_fd, from, to_fd, to, flags);
  if (leaves != arrives) outside_model("a link across the watched directory's border", leaves ? old : new);
  struct event event = {.type = T_LINK, .path = old, .path2 = new};
  order_begin();
  int result = NEXT(linkat)(from_fd, from, to_fd, to, flags);
  return finish(&event, result, errno, false);
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

/* other ways to change a file: refused where the caller has a fallback, fatal where it has none */

ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t size, unsigned flags) {
  if (!handle_of(out)) return NEXT(copy_file_range)(in, in_at, out, out_at, size, flags);
  errno = EXDEV; // the callers then try sendfile, and after that read and write
  return -1;
}
ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) {
  if (!handle_of(out)) return NEXT(sendfile64)(out, in, offset, size);
  errno = EINVAL;
  return -1;
}
ssize_t sendfile(int out, int in, off_t *offset, size_t size) { return sendfile64(out, in, offset, size); }
ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t size, unsigned flags) {
  if (!handle_of(out)) return NEXT(splice)(in, in_at, out, out_at, size, flags);
  errno = EINVAL;
  return -1;
}
int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (!handle_of(fd) || (request != FICLONE && request != FICLONERANGE))
    return NEXT(ioctl)(fd, request, argument);
  errno = EOPNOTSUPP;
  return -1;
}

int symlinkat(const char *target, int dirfd, const char *path) {
  char rel[PATH_MAX];
  if (inside(dirfd, path, rel)) outside_model("a symbolic link", rel);
  return NEXT(symlinkat)(target, dirfd, path);
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

// libc opens the file itself, past our open().
static void refuse_stream(const char *path, const char *mode) {
  char rel[PATH_MAX];
  if (strpbrk(mode, "wa+") && inside(AT_FDCWD, path, rel)) outside_model("writing through fopen", rel);
}
FILE *fopen64(const char *path, const char *mode) {
  refuse_stream(path, mode);
  return NEXT(fopen64)(path, mode);
}
FILE *fopen(const char *path, const char *mode) {
  refuse_stream(path, mode);
  return NEXT(fopen)(path, mode);
}
int mkostemp64(char *template, int flags) {
  char rel[PATH_MAX];
  if (inside(AT_FDCWD, template, rel)) outside_model("mkstemp", rel);
  return NEXT(mkostemp64)(template, flags);
}
int mkostemp(char *template, int flags) { return mkostemp64(template, flags); }
int mkstemp64(char *template) { return mkostemp64(template, 0); }
int mkstemp(char *template) { return mkostemp64(template, 0); }

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) {
  struct handle *handle = fd < 0 ? NULL : handle_of(fd);
  if (handle && (protection & PROT_WRITE) && (flags & MAP_TYPE) != MAP_PRIVATE) {
    size_t length = strlen(handle->path);
    if (length < 4 || strcmp(handle->path + length - 4, "-shm") != 0)
      outside_model("a writable shared mapping", handle->path);
  }
  return NEXT(mmap64)(at, size, protection, flags, fd, offset);
}
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  return mmap64(at, size, protection, flags, fd, offset);
}

// A second descriptor for the same open file would be written through unseen.
static void refuse_duplicate(int fd) {
  if (handle_of(fd)) outside_model("a duplicated descriptor", handle_of(fd)->path);
}
int dup(int fd) {
  refuse_duplicate(fd);
  return NEXT(dup)(fd);
}
int dup2(int fd, int to) {
  refuse_duplicate(fd);
  refuse_duplicate(to);
  return NEXT(dup2)(fd, to);
}
int dup3(int fd, int to, int flags) {
  refuse_duplicate(fd);
  refuse_duplicate(to);
  return NEXT(dup3)(fd, to, flags);
}

#define FCNTL(name)                                                     \
  int name(int fd, int command, ...) {                                  \
    va_list list;                                                       \
    va_start(list, command);                                            \
    void *argument = va_arg(list, void *);                              \
    va_end(list);                                                       \
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) refuse_duplicate(fd); \
    return NEXT(name)(fd, command, argument);                           \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

// libuv closes files with syscall(SYS_close) to avoid a cancellation point.
long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_close) return close(a[0]);
  if (number == SYS_copy_file_range)
    return copy_file_range(a[0], (off64_t *)a[1], a[2], (off64_t *)a[3], a[4], a[5]);
  return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
