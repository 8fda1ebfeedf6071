// Copies of plugin files, which only we can write: what was hashed is what runs, whatever becomes of the file meanwhile.
// A copy is kept as long as the file is the same one, and while something runs from it.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { Failure } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import type { ProgramFacts, ProgramFile, ProgramFiles } from "@holdfast/shared/world";
import type { PluginFiles } from "../ports.ts";
import { fileRefused, noDirectory, sumMismatch } from "./failures.ts";
import { HEAD_BYTES, readProgramHead } from "./program-head.ts";

const MAX_BYTES = 2 ** 30;
const EXECUTABLE = 0o111;
const WRITABLE_BY_OTHERS = 0o022;
/** Files whose copies are kept while nothing runs from them. */
const MAX_KEPT = 16;

export interface CopySettings {
  /** Null: there is none, and nothing can be started. */
  readonly directory: string | null;
  /** Who may own files and directory, beside ourselves and root. */
  readonly fileOwner: number | null;
  /** Those that a file may have at most. */
  readonly filePermissions: number;
  /** Where the copies go: made here, and emptied. */
  readonly folder: string;
  /** Copies are run by somebody else than us. */
  readonly isForOthers: boolean;
}

export interface PrivateCopy {
  readonly path: string;
  /** Nothing runs from it any more. */
  release(): Promise<void>;
}

interface Machine {
  readonly platform: string;
  readonly arch: string;
}

/** A file as it was when it was hashed. */
interface Known {
  readonly facts: ProgramFacts;
  readonly sum: string;
  /** Null where it was not the registered one. */
  readonly copy: Copy | null;
}

interface Copy {
  readonly folder: string;
  readonly path: string;
  readonly identity: string;
  users: number;
  isCurrent: boolean;
}

export class PrivateCopies implements PluginFiles {
  readonly #files: ProgramFiles;
  readonly #settings: CopySettings;
  readonly #machine: Machine;
  readonly #known = new Map<string, Known>();
  readonly #lines = new Map<string, Promise<unknown>>();
  #count = 0;
  #isMade = false;

  constructor(files: ProgramFiles, settings: CopySettings, machine: Machine) {
    this.#files = files;
    this.#settings = settings;
    this.#machine = machine;
  }

  /** What an earlier run has left goes. */
  async open(): Promise<void> {
    await this.#files.removeFolder(this.#settings.folder);
    this.#known.clear();
    this.#isMade = false;
  }

  async close(): Promise<void> {
    await this.open();
  }

  /** Throws a Failure: what is wrong with the file. What is in it is not looked at. */
  async check(command: string): Promise<void> {
    await this.#look(command, false);
  }

  /** The same, and whether it is a program for this machine. */
  async examine(command: string): Promise<void> {
    await this.#look(command, true);
  }

  /** Throws a Failure: what is wrong with the file, or that it is not the registered one. */
  async take(command: string, sha256: string): Promise<PrivateCopy> {
    const before = this.#lines.get(command) ?? Promise.resolve();
    const mine = before.then(() => this.#take(command, sha256));
    const settled = mine.then(
      () => {},
      () => {},
    );
    this.#lines.set(command, settled);
    try {
      const copy = await mine;
      let isOut = true;
      return {
        path: copy.path,
        release: async () => {
          if (!isOut) return;
          isOut = false;
          copy.users--;
          await this.#tidy(copy);
        },
      };
    } finally {
      if (this.#lines.get(command) === settled) this.#lines.delete(command);
    }
  }

  async #look(command: string, isRead: boolean): Promise<void> {
    const { directory } = this.#settings;
    if (directory === null) throw noDirectory();
    const file = await this.#open(directory, command);
    try {
      this.#judge(command, file, await file.facts());
      if (!isRead) return;
      let head: Uint8Array = new Uint8Array();
      for await (const piece of file.read(0, HEAD_BYTES)) head = piece;
      await this.#canRun(command, head);
    } finally {
      await file.close();
    }
  }

  async #take(command: string, sha256: string): Promise<Copy> {
    const { directory } = this.#settings;
    if (directory === null) throw noDirectory();
    const file = await this.#open(directory, command);
    try {
      const facts = await file.facts();
      this.#judge(command, file, facts);
      const known = this.#known.get(command);
      if (known?.facts.identity === facts.identity) {
        if (known.sum !== sha256) throw sumMismatch(command, sha256, known.sum);
        const { copy } = known;
        if (copy !== null && (await this.#isWhole(copy))) return this.#use(copy);
      }
      return this.#use(await this.#copy(command, sha256, file, facts));
    } finally {
      await file.close();
    }
  }

  async #open(directory: string, command: string): Promise<ProgramFile> {
    try {
      const file = await this.#files.open(directory, command);
      if (file === null)
        throw fileRefused(command, "there is no such file in the plugin directory");
      return file;
    } catch (error) {
      if (!(error instanceof Failure) || error.code === "plugin-file-refused") throw error;
      throw fileRefused(command, error.message, { cause: error.cause });
    }
  }

  #judge(command: string, file: ProgramFile, facts: ProgramFacts): void {
    const why = this.#whyNot(file, facts);
    if (why !== null) throw fileRefused(command, why);
  }

  #whyNot(file: ProgramFile, facts: ProgramFacts): string | null {
    const { fileOwner, filePermissions } = this.#settings;
    const owners = [this.#files.us, 0, fileOwner];
    const beyond = facts.mode & ~filePermissions;
    if (!facts.isFile) return "it is no regular file";
    if (facts.names !== 1) {
      return `it has ${facts.names} names (hard links), so that it can be written by another one; copy it`;
    }
    if (!owners.includes(facts.user)) {
      return `it belongs to user ${facts.user}, who is neither the server's nor plugin_file_uid`;
    }
    if (!owners.includes(file.directory.user)) {
      return `the plugin directory belongs to user ${file.directory.user}, who is neither the server's nor plugin_file_uid`;
    }
    if ((beyond & WRITABLE_BY_OTHERS) !== 0) {
      return `others may write to it (mode ${octal(facts.mode)}); chmod go-w`;
    }
    if (beyond !== 0) {
      return `its mode ${octal(facts.mode)} goes beyond plugin_file_permissions, ${octal(filePermissions)}`;
    }
    if ((file.directory.mode & WRITABLE_BY_OTHERS & ~filePermissions) !== 0) {
      return `others may write to the plugin directory (mode ${octal(file.directory.mode)}); chmod go-w`;
    }
    if ((facts.mode & EXECUTABLE) === 0)
      return `it is not executable (mode ${octal(facts.mode)}); chmod +x`;
    if (facts.size > MAX_BYTES) return `it has ${facts.size} bytes; there may be ${MAX_BYTES}`;
    return null;
  }

  async #copy(
    command: string,
    sha256: string,
    file: ProgramFile,
    facts: ProgramFacts,
  ): Promise<Copy> {
    const { isForOthers } = this.#settings;
    const folder = await this.#newFolder();
    const path = join(folder, command);
    try {
      const read = new HashedRead(file);
      await this.#files.write(path, read.all(), isForOthers ? 0o555 : 0o500);
      const sum = read.sum();
      // Of one that was written meanwhile nothing is remembered.
      const isSame = (await file.facts()).identity === facts.identity;
      const isRight = sum === sha256;
      if (isRight) await this.#canRun(command, read.head);
      const made = isRight ? await this.#files.look(path) : null;
      const copy = made && { folder, path, identity: made.identity, users: 0, isCurrent: isSame };
      await this.#remember(command, isSame ? { facts, sum, copy } : null);
      if (copy === null) throw sumMismatch(command, sha256, sum);
      return copy;
    } catch (error) {
      await this.#files.removeFolder(folder);
      throw error;
    }
  }

  async #canRun(command: string, head: Uint8Array): Promise<void> {
    const { platform, arch } = this.#machine;
    const { problem, interpreter } = readProgramHead(head, platform, arch);
    if (problem !== null) throw fileRefused(command, problem);
    if (interpreter !== null && (await this.#files.look(interpreter)) === null) {
      throw fileRefused(command, `its interpreter ${interpreter} is not there`);
    }
  }

  /** Nobody but us, or who has all our rights, could have changed it. */
  async #isWhole(copy: Copy): Promise<boolean> {
    return (await this.#files.look(copy.path))?.identity === copy.identity;
  }

  async #newFolder(): Promise<string> {
    const { folder, isForOthers } = this.#settings;
    const mode = isForOthers ? 0o711 : 0o700;
    if (!this.#isMade) await this.#files.makeFolder(folder, mode);
    this.#isMade = true;
    const path = join(folder, String(++this.#count));
    await this.#files.makeFolder(path, mode);
    return path;
  }

  #use(copy: Copy): Copy {
    copy.users++;
    return copy;
  }

  async #remember(command: string, now: Known | null): Promise<void> {
    const before = this.#known.get(command)?.copy ?? null;
    this.#known.delete(command);
    if (now !== null) this.#known.set(command, now);
    if (before !== null) await this.#outdate(before);
    for (const [name, { copy }] of this.#known) {
      if (this.#known.size <= MAX_KEPT) break;
      if (name === command || (copy !== null && copy.users > 0)) continue;
      this.#known.delete(name);
      if (copy !== null) await this.#outdate(copy);
    }
  }

  async #outdate(copy: Copy): Promise<void> {
    copy.isCurrent = false;
    await this.#tidy(copy);
  }

  async #tidy(copy: Copy): Promise<void> {
    invariant(copy.users >= 0, "a copy is released once for each use");
    if (copy.users === 0 && !copy.isCurrent) await this.#files.removeFolder(copy.folder);
  }
}

/** Hashes what goes by, and keeps its beginning. */
class HashedRead {
  readonly #file: ProgramFile;
  readonly #hash = createHash("sha256");
  head: Uint8Array = new Uint8Array();

  constructor(file: ProgramFile) {
    this.#file = file;
  }

  async *all(): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const piece of this.#file.read()) {
      if (bytes === 0) this.head = piece.subarray(0, HEAD_BYTES);
      bytes += piece.length;
      if (bytes > MAX_BYTES) break; // it grows: its sum will be another
      this.#hash.update(piece);
      yield piece;
    }
  }

  sum(): string {
    return this.#hash.digest("hex");
  }
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
