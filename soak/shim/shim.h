// What the two halves of the preload library share: shim.c keeps the state (which descriptors are
// watched, the trace, the planned fault, the counts), calls.c stands in front of libc's functions.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The values are part of the trace format; soak/disk/trace.ts decodes them.
enum type {
  T_OPEN = 1,
  T_CLOSE,
  T_WRITE,
  T_TRUNCATE,
  T_ALLOCATE,
  T_SYNC,
  T_RENAME,
  T_UNLINK,
  T_RMDIR,
  T_MKDIR,
  T_LINK,
};

enum { FLAG_CREATED = 1, FLAG_TRUNCATED = 2, FLAG_DIRECTORY = 4, FLAG_INJECTED = 8 };

// What can be made to fail, and is counted.
enum kind { K_SYNC, K_WRITE, K_TRUNCATE, K_RENAME, K_OPEN, K_UNLINK, KINDS, K_NONE = KINDS };

// A watched descriptor. `id` is never reused, unlike descriptor numbers; 0 = not watched.
struct handle {
  uint32_t id;
  bool appends;   // O_APPEND: Linux then ignores the offset of pwrite
  bool syncs;     // O_SYNC or O_DSYNC: each write is durable when it returns
  bool directory;
  bool ack;       // ack.log: traced, but never failed, counted or delayed
  char *path;     // relative to the watched directory, as it was opened
};

struct event {
  enum type type;
  int flags;
  uint32_t handle;
  int error; // 0 = the call succeeded
  const char *path, *path2;
  int64_t offset;
  uint64_t length;
  const void *data;
  size_t data_length;
};

// Cheap enough to be asked about every descriptor the process uses. NULL = not watched.
struct handle *handle_of(int fd);
uint32_t handle_attach(int fd, const struct handle *handle);
void handle_detach(int fd);

// True when `path` lies in the watched directory; `out` is then relative to it ("" = itself).
bool inside(int dirfd, const char *path, char out[PATH_MAX]);

// Held from before the real call until its record is written: order in the trace = order of effect.
void order_begin(void);
void order_end(void);

// Counts the call and decides: 0 = let it happen, else the errno to fail with. `cut`, where given,
// is set when half of the bytes are to be written.
int judge(enum kind kind, const char *call, const char *path, bool *cut);
void record(const struct event *event);
void sync_delay(void);

// For whatever the disk model cannot express: a silent gap in the trace would make every image wrong.
_Noreturn void outside_model(const char *what, const char *path);
