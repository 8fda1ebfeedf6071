// How much of a disk snapshots may take: whoever makes, receives, loads or stores one asks here.

/** Stays free beside them: the store, which may share the disk, takes no writes below 64 MiB. */
export const KEPT_FREE: number = 128 * 1024 * 1024;

/** What a byte of an archive becomes in a store, with its leaf and what SQLite adds. */
export const GROWTH = 2.5;

/** Throws what `refusal` makes of it where so many bytes more leave too little. `free` is null where nobody can say. */
export function checkRoom(
  free: number | null,
  bytes: number,
  refusal: (free: number, needed: number) => Error,
): void {
  const needed = Math.ceil(bytes) + KEPT_FREE;
  if (free !== null && free < needed) throw refusal(free, needed);
}
