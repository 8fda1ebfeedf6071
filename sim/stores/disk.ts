// A disk that behaves as badly as real ones may: what was written is read back at once but survives
// a power cut only if a sync has completed since. Of the rest a cut leaves nothing, a part, or single
// sectors of it. A failed sync loses what it should have written, and a later one that succeeds does
// not bring it back (as Linux does it).

import type { Prng } from "../prng.ts";
import { type Life, MICROSECOND, MILLISECOND, type SimWorld, type Tick } from "../world.ts";

const SECTOR = 512; // what a disk writes wholly or not at all

export interface SimFile {
  size(): number;
  read(offset: number, length: number): Buffer;
  write(offset: number, bytes: Uint8Array): void;
  truncate(size: number): void;
  /** Resolves when everything written before the call is durable. */
  sync(): Promise<void>;
}

/** The disk as one process sees it. */
export interface Volume {
  open(name: string): SimFile | null;
  create(name: string): SimFile;
  rename(from: string, to: string): void;
  /** Makes created and renamed names durable. */
  syncNames(): Promise<void>;
  freeBytes(): number;
}

type Change = { readonly offset: number; readonly bytes: Uint8Array } | { readonly size: number };

interface Inode {
  readonly cached: Extent;
  readonly synced: Extent;
  pending: Change[]; // in the cache and not synced, oldest first
  diverged: boolean; // a failed sync has left the cache with bytes that will never be written
}

type Naming = (names: Map<string, Inode>) => void;

export class SimDisk {
  /** The next sync or write fails, once. */
  failing: "sync" | "write" | null = null;
  /** Every sync takes seconds. */
  slow = false;
  free = 1024 ** 4;
  /** Once it was nearly full: that may be told later, when somebody looks again. */
  wasFull = false;
  /** Told when a failure was injected, before the process hears of it. */
  onFailure: (what: string) => void = () => {};

  /** Told when a sync begins, and how long it will take. */
  onSync: (latency: Tick) => void = () => {};

  readonly #world: SimWorld;
  readonly #prng: Prng;
  #names = new Map<string, Inode>();
  #syncedNames = new Map<string, Inode>();
  #namings: Naming[] = [];

  constructor(world: SimWorld, prng: Prng) {
    this.#world = world;
    this.#prng = prng;
  }

  /** For one process. Once its life has ended, none of its operations does anything. */
  mount(life: Life): Volume {
    const name = (naming: Naming) => {
      assertAlive(life);
      naming(this.#names);
      this.#namings.push(naming);
    };
    return {
      open: (path) => {
        const inode = this.#names.get(path);
        return inode === undefined ? null : this.#file(inode, life);
      },
      create: (path) => {
        const cached = new Extent();
        const inode = { cached, synced: new Extent(), pending: [], diverged: false };
        name((names) => names.set(path, inode));
        return this.#file(inode, life);
      },
      rename: (from, to) => {
        name((names) => {
          const inode = names.get(from);
          if (inode === undefined) return;
          names.delete(from);
          names.set(to, inode);
        });
      },
      syncNames: () => {
        const count = this.#namings.length;
        return this.#sync(life, () => {
          for (const naming of this.#namings.splice(0, count)) naming(this.#syncedNames);
        });
      },
      freeBytes: () => this.free,
    };
  }

  /** The process dies and the machine goes on: the cache survives, if it still has what it had. */
  kill(): void {
    for (const inode of this.#names.values()) {
      if (!inode.diverged || this.#prng.chance(0.3)) continue;
      inode.cached.become(inode.synced);
      for (const change of inode.pending) apply(inode.cached, change);
      inode.diverged = false;
    }
  }

  /** The power is cut: of what was not synced, chance decides. */
  cutPower(): void {
    const kept = this.#prng.int(this.#namings.length + 1);
    for (const naming of this.#namings.slice(0, kept)) naming(this.#syncedNames);
    this.#namings = [];
    this.#names = new Map(this.#syncedNames);
    for (const inode of new Set(this.#names.values())) {
      this.#tear(inode.synced, inode.pending);
      inode.pending = [];
      inode.cached.become(inode.synced);
      inode.diverged = false;
    }
  }

  #file(inode: Inode, life: Life): SimFile {
    const change = (made: Change) => {
      apply(inode.cached, made);
      inode.pending.push(made);
    };
    return {
      size: () => inode.cached.length,
      read: (offset, length) => inode.cached.read(offset, length),
      write: (offset, bytes) => {
        assertAlive(life);
        if (this.failing !== "write") return change({ offset, bytes: Uint8Array.from(bytes) });
        this.failing = null;
        const length = this.#prng.int(bytes.length);
        change({ offset, bytes: Uint8Array.from(bytes.subarray(0, length)) });
        this.onFailure("write");
        throw new Error("EIO: i/o error, write");
      },
      truncate: (size) => {
        assertAlive(life);
        change({ size });
      },
      sync: () => {
        const count = inode.pending.length;
        const done = () => {
          for (const made of inode.pending.splice(0, count)) apply(inode.synced, made);
        };
        const failed = () => {
          this.#tear(inode.synced, inode.pending.splice(0, count));
          inode.diverged = true;
        };
        return this.#sync(life, done, failed);
      },
    };
  }

  #sync(life: Life, done: () => void, failed: () => void = () => {}): Promise<void> {
    assertAlive(life);
    const latency = this.#latency();
    this.onSync(latency);
    return new Promise((resolve, reject) => {
      this.#world.after(latency, life, () => {
        if (this.failing !== "sync") {
          done();
          resolve();
          return;
        }
        this.failing = null;
        failed();
        this.onFailure("sync");
        reject(new Error("EIO: i/o error, fsync"));
      });
    });
  }

  /** Mostly a good SSD, now and then a busy one, rarely one that hangs. */
  #latency(): Tick {
    const roll = this.#prng.next();
    const max = this.slow || roll < 0.02 ? 3000 : roll < 0.15 ? 40 : 3;
    return 50 * MICROSECOND + Math.floor(this.#prng.next() * max * MILLISECOND);
  }

  /** Brings a part of the changes onto the medium: none, all, the first ones, or any sectors. */
  #tear(extent: Extent, changes: readonly Change[]): void {
    const way = this.#prng.pick(["none", "all", "prefix", "torn", "torn", "subset"] as const);
    if (way === "none" || changes.length === 0) return;
    const count = changes.length;
    const whole = way === "all" ? count : this.#prng.int(way === "torn" ? count : count + 1);
    // All but one sector or two is what a missing check notices least.
    const share = this.#prng.chance(0.5) ? 0.85 : this.#prng.next();
    changes.forEach((change, i) => {
      if (way !== "subset" && i < whole) apply(extent, change);
      else if (way === "subset" || (way === "torn" && i === whole)) {
        apply(extent, change, () => this.#prng.chance(share));
      }
    });
  }
}

/** Applies a change, or only those of its sectors that `keeps` wants. */
function apply(extent: Extent, change: Change, keeps: () => boolean = () => true): void {
  if ("size" in change) {
    if (keeps()) extent.truncate(change.size);
    return;
  }
  const { offset, bytes } = change;
  let at = 0;
  while (at < bytes.length) {
    const end = Math.min(bytes.length, at + SECTOR - ((offset + at) % SECTOR));
    if (keeps()) extent.write(offset + at, bytes.subarray(at, end));
    at = end;
  }
}

function assertAlive(life: Life): void {
  if (life.ended) throw new Error(`${life.name} has crashed and can no longer use its disk`);
}

/** The bytes of a file; a gap left by a lost write reads as zeros. */
class Extent {
  #bytes = Buffer.alloc(4096);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  read(offset: number, length: number): Buffer {
    return Buffer.from(this.#bytes.subarray(offset, Math.min(offset + length, this.#length)));
  }

  write(offset: number, bytes: Uint8Array): void {
    const end = offset + bytes.length;
    if (end > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, offset);
    this.#length = Math.max(this.#length, end);
  }

  truncate(size: number): void {
    if (size > this.#length) this.write(size, new Uint8Array(0));
    this.#bytes.fill(0, size, this.#length);
    this.#length = size;
  }

  become(other: Extent): void {
    this.#bytes = Buffer.from(other.#bytes);
    this.#length = other.#length;
  }
}
