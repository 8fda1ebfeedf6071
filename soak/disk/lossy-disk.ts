// A disk that loses what was not synced, replayed from a trace: names and directories here, contents
// in lossy-file.ts. The rules are those of POSIX, not of one file system: syncing a file makes its
// contents durable but not its name; creating, renaming and removing become durable with a sync of
// the directory, each directory losing its newest changes first; a rename across directories happens
// in both or in neither. Left out of what remains after a crash: SQLite's -shm files (written through
// mappings, rebuilt from the WAL), permissions and times.

import type { Prng } from "../../sim/prng.ts";
import { LossyFile, type Fate, type FileOperation } from "./lossy-file.ts";
import { TraceError, type Handle, type TraceRecord } from "./trace.ts";

/** Paths are relative, with `/` between parts. */
export interface Tree {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly directories: readonly string[];
}

/**
 * none, all: of what was not synced. prefix: the disk wrote in order up to some moment. subset: each
 * operation by itself. torn: each 512-byte sector by itself.
 */
export const CHOICES = ["none", "all", "prefix", "subset", "torn"] as const;
export type Choice = (typeof CHOICES)[number];

type Names = Map<string, Node>;
type Node = LossyFile | Directory;

class Directory {
  readonly now: Names = new Map(); // as the process sees it
  readonly durable: Names = new Map();
}

/** One change of names: of two names, perhaps in two directories, for a rename. */
interface NameChange {
  readonly at: number;
  readonly parts: readonly { directory: Directory; name: string; node: Node | null }[];
}

export class LossyDisk {
  readonly #root = new Directory();
  readonly #open = new Map<Handle, { node: Node; ignored: boolean }>();
  #changes: NameChange[] = [];
  #at = 0;

  /** `initial` is what was durably there before the trace began. Default: an empty directory. */
  constructor(initial?: Tree) {
    const paths = [...(initial?.directories ?? []), ...(initial?.files.keys() ?? [])];
    for (const path of paths.toSorted()) {
      const contents = initial?.files.get(path);
      const { directory, name } = this.#place(path);
      const node = contents === undefined ? new Directory() : new LossyFile(contents);
      directory.now.set(name, node);
      directory.durable.set(name, node);
    }
  }

  apply(record: TraceRecord): void {
    const at = this.#at++;
    switch (record.type) {
      case "open": {
        if (record.created) {
          const made = this.#place(record.path);
          if (made.directory.now.has(made.name)) throw new TraceError(`${record.path} made twice`);
          this.#change(at, [{ ...made, node: new LossyFile() }]);
        }
        const node = this.#node(record.path);
        if (record.directory !== node instanceof Directory) {
          throw new TraceError(`${record.path} is not what was opened`);
        }
        this.#open.set(record.handle, { node, ignored: rebuilt(record.path) });
        if (record.truncated) this.#write(record.handle, { at, type: "truncate", size: 0 });
        break;
      }
      case "close":
        this.#open.delete(record.handle);
        break;
      case "write":
      case "truncate":
      case "allocate":
        this.#write(record.handle, { at, ...record });
        break;
      case "sync":
        this.#sync(this.#opened(record.handle).node);
        break;
      case "mkdir":
        if (record.path === "") break;
        this.#change(at, [{ ...this.#place(record.path), node: new Directory() }]);
        break;
      case "link":
        this.#change(at, [{ ...this.#place(record.to), node: this.#node(record.from) }]);
        break;
      case "unlink":
      case "rmdir":
        this.#node(record.path); // must exist
        this.#change(at, [{ ...this.#place(record.path), node: null }]);
        break;
      case "rename": {
        const node = this.#node(record.from);
        const target = this.#place(record.to);
        if (target.directory.now.get(target.name) === node) break; // POSIX: two names of one file
        this.#change(at, [
          { ...this.#place(record.from), node: null },
          { ...target, node },
        ]);
        break;
      }
      case "failed": {
        const node = record.handle === null ? undefined : this.#opened(record.handle).node;
        if (record.call === "sync" && node instanceof LossyFile) node.syncFailed();
        break;
      }
      case "ack":
        break;
    }
  }

  /** Whether a crash now could take anything away. */
  get atRisk(): boolean {
    return this.#changes.length > 0 || this.#files().some((file) => file.atRisk().length > 0);
  }

  /** What is left after a crash now. */
  afterCrash(choice: Choice, prng: Prng): Tree {
    const moments = this.#moments();
    const cut = moments[prng.int(moments.length + 1)] ?? Infinity;
    const kept = this.#keptChanges(choice, prng, cut);
    const names = new Map<Directory, Names>();
    const namesOf = (directory: Directory): Names => {
      const known = names.get(directory) ?? new Map(directory.durable);
      names.set(directory, known);
      return known;
    };
    for (const change of kept) applyNames(change, namesOf);

    const files = new Map<string, Buffer>();
    const directories: string[] = [];
    const walk = (directory: Directory, prefix: string): void => {
      for (const [name, node] of namesOf(directory)) {
        const path = prefix + name;
        if (node instanceof LossyFile) {
          if (!rebuilt(path)) files.set(path, node.afterCrash(fateOf(choice, prng, cut)));
        } else {
          directories.push(path);
          walk(node, `${path}/`);
        }
      }
    };
    walk(this.#root, "");
    return { files, directories };
  }

  /** Changes of names that survive: in each directory the first so many. */
  #keptChanges(choice: Choice, prng: Prng, cut: number): NameChange[] {
    if (choice === "none") return [];
    if (choice === "all") return this.#changes;
    if (choice === "prefix") return this.#changes.filter((change) => change.at < cut);
    const cuts = new Map<Directory, number>();
    const ended = new Set<Directory>();
    return this.#changes.filter((change) => {
      const touched = change.parts.map((part) => part.directory);
      for (const directory of touched) {
        if (!cuts.has(directory)) cuts.set(directory, this.#cutOf(directory, prng));
      }
      const survives = touched.every((d) => !ended.has(d) && change.at < (cuts.get(d) ?? 0));
      if (!survives) for (const directory of touched) ended.add(directory);
      return survives;
    });
  }

  #cutOf(directory: Directory, prng: Prng): number {
    const own = this.#changes.filter((c) => c.parts.some((part) => part.directory === directory));
    return own[prng.int(own.length + 1)]?.at ?? Infinity;
  }

  /** The places in the trace of everything at risk, in order. */
  #moments(): number[] {
    const moments = this.#changes.map((change) => change.at);
    for (const file of this.#files()) for (const { at } of file.atRisk()) moments.push(at);
    return moments.toSorted((a, b) => a - b);
  }

  /** Every file that may have a name after a crash. */
  #files(): LossyFile[] {
    const seen = new Set<Node>();
    const visit = (node: Node | null): void => {
      if (node === null || seen.has(node)) return;
      seen.add(node);
      if (node instanceof LossyFile) return;
      for (const child of node.durable.values()) visit(child);
      for (const child of node.now.values()) visit(child);
    };
    visit(this.#root);
    for (const change of this.#changes) for (const part of change.parts) visit(part.node);
    return [...seen].filter((node) => node instanceof LossyFile);
  }

  #write(handle: Handle, operation: FileOperation): void {
    const { node, ignored } = this.#opened(handle);
    if (!(node instanceof LossyFile)) throw new TraceError("a directory was written to");
    if (!ignored) node.append(operation);
  }

  #sync(node: Node): void {
    if (node instanceof LossyFile) return node.sync();
    // A change in two directories takes with it what happened earlier in the other one.
    const reached = new Set<Directory>([node]);
    const durable = new Set<NameChange>();
    for (const change of this.#changes.toReversed()) {
      if (!change.parts.some((part) => reached.has(part.directory))) continue;
      durable.add(change);
      for (const part of change.parts) reached.add(part.directory);
    }
    for (const change of this.#changes) {
      if (durable.has(change)) applyNames(change, (directory) => directory.durable);
    }
    this.#changes = this.#changes.filter((change) => !durable.has(change));
  }

  #change(at: number, parts: NameChange["parts"]): void {
    const change = { at, parts };
    applyNames(change, (directory) => directory.now);
    this.#changes.push(change);
  }

  #opened(handle: Handle): { node: Node; ignored: boolean } {
    const found = this.#open.get(handle);
    if (found === undefined) throw new TraceError(`handle ${handle} is not open`);
    return found;
  }

  #node(path: string): Node {
    if (path === "") return this.#root;
    const { directory, name } = this.#place(path);
    const node = directory.now.get(name);
    if (node === undefined) throw new TraceError(`${path} was never made; pass the initial tree`);
    return node;
  }

  #place(path: string): { directory: Directory; name: string } {
    const slash = path.lastIndexOf("/");
    const directory = slash === -1 ? this.#root : this.#node(path.slice(0, slash));
    if (!(directory instanceof Directory)) throw new TraceError(`${path} lies in a file`);
    return { directory, name: path.slice(slash + 1) };
  }
}

function applyNames(change: NameChange, namesOf: (directory: Directory) => Names): void {
  for (const { directory, name, node } of change.parts) {
    if (node === null) namesOf(directory).delete(name);
    else namesOf(directory).set(name, node);
  }
}

/** Drawn per file: some files all new beside others all old is what ordering mistakes show on. */
function fateOf(choice: Choice, prng: Prng, cut: number): (operation: FileOperation) => Fate {
  const kept = prng.pick([0, 0.1, 0.5, 0.9, 1]);
  const beyond = prng.pick(["absent", "zero", "garbage"] as const);
  switch (choice) {
    case "none":
      return () => "lost";
    case "all":
      return () => "kept";
    case "prefix":
      return (operation) => (operation.at < cut ? "kept" : "lost");
    case "subset":
      return () => (prng.chance(kept) ? "kept" : "lost");
    case "torn":
      return () => ({ prng, kept, beyond });
  }
}

function rebuilt(path: string): boolean {
  return path.endsWith("-shm");
}
