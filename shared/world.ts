// The world as the house sees it: time, timers, randomness, files and sockets. Everything outside
// the five files that implement these interfaces is handed one, so that the simulator can run
// production code under a seed. Storage engines are the sixth part of the world: storage/engines/engine.ts.

import type { Duplex, Readable } from "node:stream";

/** Nanoseconds since 1970-01-01T00:00:00Z. */
export type Instant = bigint;
/** A length of time in nanoseconds. */
export type Nanos = bigint;

export interface Clock {
  /** Wall time; it may jump. */
  now(): Instant;
  /** Time since some fixed point; it never goes back. For measuring and for time-outs. */
  elapsed(): Nanos;
}

export interface Timer {
  cancel(): void;
}

export interface Timers {
  /** Calls once, not before `delay` has passed. Delays beyond 24.8 days are honoured. */
  after(delay: Nanos, call: () => void): Timer;
  /** Resolves after everything that is already due had its turn: how long work is sliced. */
  turn(): Promise<void>;
}

export interface Random {
  /** Fresh unpredictable bytes in a Buffer of their own. A failing source throws: it is fatal. */
  bytes(length: number): Buffer;
  /** A version 4 UUID in lower case. */
  uuid(): string;
}

export interface FileInfo {
  readonly kind: "file" | "directory" | "other";
  readonly size: number;
  readonly mode: number; // permission bits only
  readonly ours: boolean; // owned by the user we run as
}

/** Files outside the storage engine: configuration, keys, reset files, snapshots. No links are followed. */
export interface Fs {
  read(path: string, maxBytes: number): Buffer | null;
  /** All or nothing and durable: temporary file, sync, rename, sync of the directory. Mode 0600. */
  replace(path: string, bytes: Uint8Array): void;
  info(path: string): FileInfo | null;
  /** Makes a directory (and its parents) with mode 0700; no error if it exists. */
  makeDirectory(path: string): void;
  list(path: string): string[];
  remove(path: string): void;
  /** Removes a directory that is empty, durably; no error if there is none. */
  removeDirectory(path: string): void;
  /** Bytes that an unprivileged process can still write on the file system holding `path`. */
  freeBytes(path: string): number;
}

/** A directory as it is, whatever path led to it. */
export interface DirectoryFacts {
  readonly path: string; // without links
  /** Device and inode of the directory and of every one above it: equal for two paths to one place. */
  readonly identities: readonly string[];
  readonly ours: boolean;
  readonly mode: number; // permission bits only
}

/** A file that only grows; every call may hang as long as its disk does. */
export interface AppendFile {
  /** Device and inode. */
  readonly identity: string;
  /** When it was opened. */
  readonly size: number;
  readonly modified: Instant;
  /** All of it, or an AppendError (append-file.ts) that says how much went in. One call at a time. */
  append(bytes: Uint8Array): Promise<void>;
  read(at: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** Files that records are appended to. Regular files with one name and ours; no links are followed. */
export interface AppendFiles {
  /** Makes the file if there is none. `allow` looks at the directory that was opened, and throws. */
  open(
    path: string,
    options: { readonly mode: number; readonly allow: (directory: DirectoryFacts) => void },
  ): Promise<AppendFile>;
  /** For reading alone; null when there is none. */
  look(path: string): Promise<Omit<AppendFile, "append"> | null>;
  /** What a directory is; null when there is none. */
  directory(path: string): Promise<DirectoryFacts | null>;
  makeDirectory(path: string): Promise<void>;
  names(directory: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** The process's own standard output. */
  readonly output: AppendFile;
}

/** What lies under a name in a directory. */
export interface FileFacts {
  readonly size: number;
  /** A regular file of ours with one name. */
  readonly plain: boolean;
}

/** A file that is written from its beginning to its end. */
export interface WrittenFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Durable from then on. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A directory that is held open: what lies inside is reached through it, whatever its path leads to by now. No
 *  links are followed. */
export interface HeldDirectory {
  readonly facts: DirectoryFacts;
  names(): Promise<string[]>;
  /** Null where there is nothing of that name. */
  look(name: string): Promise<FileFacts | null>;
  /** A new file with mode 0600; one that is there already is an error. */
  create(name: string): Promise<WrittenFile>;
  /** From `from` up to `to`; throws where it is no plain file of ours. */
  read(name: string, from: number, to: number): AsyncIterable<Uint8Array>;
  rename(from: string, to: string): Promise<void>;
  /** What is not there is gone. */
  remove(name: string): Promise<void>;
  /** Names are as durable as the files from then on. */
  sync(): Promise<void>;
  freeBytes(): Promise<number>;
  close(): Promise<void>;
}

/** Directories of snapshots. */
export interface SnapshotFiles {
  /** Null where there is no directory. */
  hold(path: string): Promise<HeldDirectory | null>;
  /** Device and inode, and the path without links; null where there is no directory. */
  look(path: string): Promise<DirectoryFacts | null>;
  makeDirectory(path: string): Promise<void>;
}

/** A large file that one of us writes once and reads; every call may take as long as its disk does. */
export interface WorkFile {
  /** Bytes in it. */
  readonly size: number;
  append(bytes: Uint8Array): Promise<void>;
  /** Over what is there. */
  overwrite(at: number, bytes: Uint8Array): Promise<void>;
  /** Fewer bytes only where the file ends. */
  read(at: number, length: number): Promise<Buffer>;
  /** What was written is on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Files for large work. Regular files; no links are followed. */
export interface WorkFiles {
  /** A new one, mode 0600. */
  create(path: string): Promise<WorkFile>;
  /** A new one without a name: it is gone when it is closed, and after a crash. */
  createUnnamed(directory: string): Promise<WorkFile>;
  /** For reading alone; null when there is none. */
  open(path: string): Promise<WorkFile | null>;
  /** Takes the place of whatever is there, durably. */
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
}

/** What a file is by its descriptor: equal facts are the same bytes, unless somebody with all rights wants it otherwise. */
export interface ProgramFacts {
  /** Device, inode, size, and when content and rights were changed last. */
  readonly identity: string;
  readonly isFile: boolean;
  readonly size: number;
  readonly mode: number; // permission bits only
  readonly user: number;
  /** How many names it has. */
  readonly names: number;
}

/** A file of a directory, both open: what their paths lead to by now does not matter. */
export interface ProgramFile {
  /** By now. */
  facts(): Promise<ProgramFacts>;
  readonly directory: Pick<ProgramFacts, "mode" | "user">;
  /** Default: from its beginning, to its end. */
  read(from?: number, length?: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** Programs that operators have put into a directory, and our own copies of them. */
export interface ProgramFiles {
  /** Number of the user that we run as. */
  readonly us: number;
  readonly ourGroup: number;
  /** Follows a link neither to the directory nor to the file: then it throws, as where the name leads elsewhere. Null: there is none. */
  open(directory: string, name: string): Promise<ProgramFile | null>;
  /** Writes a new file from its beginning to its end, with this mode. Nothing is left where `bytes` throws. */
  write(path: string, bytes: AsyncIterable<Uint8Array>, mode: number): Promise<void>;
  look(path: string): Promise<ProgramFacts | null>;
  /** Makes it with this mode whatever the umask is; one that is there already must be a directory of ours, which gets it. */
  makeFolder(path: string, mode: number): Promise<void>;
  /** A folder that is somebody else's from then on. */
  giveFolder(path: string, user: number, group: number): Promise<void>;
  names(folder: string): Promise<string[]>;
  /** With all that is in it; follows no links. */
  removeFolder(path: string): Promise<void>;
  removeFile(path: string): Promise<void>;
  readSmall(path: string): Promise<string | null>;
  writeSmall(path: string, text: string): Promise<void>;
}

/** A tree that is unpacked below a folder which only we can write to: nothing here takes the place of what is there. */
export interface TreeFiles {
  makeFolder(path: string, mode: number): Promise<void>;
  writeNew(path: string, bytes: AsyncIterable<Uint8Array>, mode: number): Promise<void>;
  makeLink(path: string, target: string): Promise<void>;
  /** Another name of a file. */
  addName(path: string, of: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  removeFolder(path: string): Promise<void>;
  readSmall(path: string): Promise<string | null>;
  /** Bytes that may still be written below it. */
  free(path: string): Promise<number>;
}

/** A program to start: no shell reads it, and nothing of our own environment reaches it. */
export interface ChildStart {
  /** The whole path. */
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its standard input stays open until we end, however we do. Default: it has none. */
  readonly isTied?: boolean;
  /** What it finds to read at its descriptor 3. */
  readonly third?: Uint8Array;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The first of a group of processes. */
export interface Child {
  readonly pid: number;
  /** When it began, as the system counts: tells it from another one that has its number later. Empty where that is not known. */
  readonly began: string;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<ChildExit>;
  /** All of the group at once; also what is left of it when the first has ended. */
  killGroup(): void;
}

export interface ProcessFacts {
  readonly began: string;
  readonly group: number;
  /** Whose memory it counts, in bytes. */
  readonly memory: number;
}

/** Other programs: started, looked at, ended. */
export interface ChildProcesses {
  /** Rejects with an error of the system where it cannot be started. */
  start(what: ChildStart): Promise<Child>;
  /** What runs under a number; null where nothing does. What has ended and was not collected yet is nothing. */
  look(pid: number): ProcessFacts | null;
  /** Numbers of all that run. */
  all(): number[];
  /** Whether it was started with this in its environment, NAME=value. */
  hasVariable(pid: number, variable: string): boolean;
  kill(pid: number): void;
  killGroup(group: number): void;
  /** Our own. */
  readonly pid: number;
  /** The runtime that we run on. */
  readonly runtime: string;
  /** Of a name or a number; null where the system does not know it. */
  user(name: string): { readonly user: number; readonly group: number } | null;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Listener {
  readonly address: Address;
  close(): Promise<void>;
}

export interface Net {
  connect(to: Address, signal?: AbortSignal): Promise<Duplex>;
  listen(on: Address, accept: (connection: Duplex) => void): Promise<Listener>;
}

export interface World {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly fs: Fs;
  readonly net: Net;
}
