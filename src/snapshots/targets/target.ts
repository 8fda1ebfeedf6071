// Where archives are put. What we made visible under a name is whole and was checked after it was written; everything
// else that lies there is somebody else's, and not touched. A name alone does not say whose it is.

import type { Instant } from "@holdfast/shared/world";

/** What is put: it can be read again, and from the middle, since what was cut off is sent again. */
export interface Source {
  readonly size: number;
  /** Of all of it. */
  readonly sha256: Uint8Array;
  /** The bytes from `from` up to, and without, `to`. */
  read(from: number, to: number): AsyncIterable<Uint8Array>;
}

export interface StoredSnapshot {
  readonly name: string;
  readonly size: number;
}

/** What is known of a put before it began, so that what is left of it can be cleared away after a crash. */
export interface BegunPut {
  readonly name: string;
  readonly size: number;
  readonly sha256: Uint8Array;
  /** What the last `note` said; null when it said nothing. */
  readonly handle: string | null;
}

/** What was put, as it should lie there. */
export type PutSnapshot = Omit<BegunPut, "handle">;

export interface PutOptions {
  readonly signal: AbortSignal;
  /** Told, and waited for, before the first byte is sent: by it the upload is found after a crash. */
  readonly note?: (handle: string) => Promise<void>;
  /** Bytes that have arrived so far. */
  readonly progress?: (bytes: number) => void;
}

/** Every call throws StoreError or Failure, whose texts hold no secret. */
export interface Target {
  /** Where it lies under that name, as status shows it. */
  urlOf(name: string): string;
  /** Whether so many bytes more may be put; throws where not. */
  checkRoom(bytes: number, signal: AbortSignal): Promise<void>;
  /** When it resolves, it is visible, durable and as it should be; when it throws, nothing of it is visible. */
  put(name: string, source: Source, options: PutOptions): Promise<void>;
  /** What has names such as we give, oldest first; others may have written some of it. */
  list(signal: AbortSignal): Promise<StoredSnapshot[]>;
  /** Whether what was put is what lies there: by its length, and by its sum where the store tells it. */
  holds(put: PutSnapshot, signal: AbortSignal): Promise<boolean>;
  /** Deleting what is not there is what was wanted. */
  delete(name: string, signal: AbortSignal): Promise<void>;
  /** As it comes; must be read to its end or left. */
  read(
    name: string,
    signal: AbortSignal,
  ): Promise<{
    readonly size: number;
    readonly chunks: AsyncIterable<Uint8Array>;
  }>;
  /** Writes a small object, looks for it and removes it: everything that a run will need. */
  probe(signal: AbortSignal): Promise<void>;
  /** Clears away what is left of a put that did not end. True when it had ended, whole, and stays. */
  settle(begun: BegunPut, signal: AbortSignal): Promise<boolean>;
}

const DIGITS = 19; // of nanoseconds since 1970, until 2286
const REST = /^\d{19}\.snap$/;

export function nameAt(filePrefix: string, at: Instant): string {
  return `${filePrefix}-${String(at).padStart(DIGITS, "0")}.snap`;
}

/** Whether it is a name such as we give, exactly. */
export function isOurName(filePrefix: string, name: string): boolean {
  return name.startsWith(`${filePrefix}-`) && REST.test(name.slice(filePrefix.length + 1));
}

/** Names of one prefix in the order in which they were given. */
export function byAge(one: StoredSnapshot, other: StoredSnapshot): number {
  return one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
}
