// The files of an image, layer upon layer. What is there is remembered here, and no name of an archive is ever handed to the
// system before it was walked in memory, link by link, without leaving the tree: so nothing in it can lead outside.

import { join } from "node:path";
import type { TreeFiles } from "@holdfast/shared/world";
import type { ImageLimits } from "./limits.ts";
import { quoted, type TarEntry, TarError, type TarReader } from "./tar.ts";

const FOLDER = 0o755;
const EXECUTABLE = 0o111;
const MAX_LINKS = 40; // one after another
const MAX_DEPTH = 128;
const WHITEOUT = ".wh.";
const OPAQUE = ".wh..wh..opq";
/** Between two looks at how much is free. */
const LOOK_EVERY = 16 * 2 ** 20;

interface Node {
  kind: "folder" | "file" | "link";
  /** That wrote it last. */
  layer: number;
  readonly target: string;
  readonly children: Map<string, Node>;
}

interface Spot {
  readonly folder: Node;
  readonly name: string;
  /** Whole path on this machine; no part of it is a link. */
  readonly path: string;
}

export class Tree {
  readonly #files: TreeFiles;
  readonly #root: string;
  readonly #limits: ImageLimits;
  readonly #top: Node = newNode("folder", 0);
  #layer = 0;
  #entries = 0;
  #nameBytes = 0;
  #bytes = 0;
  #unlooked = Infinity;

  constructor(files: TreeFiles, root: string, limits: ImageLimits) {
    this.#files = files;
    this.#root = root;
    this.#limits = limits;
  }

  /** Throws a TarError at the first thing that is not taken. */
  async add(reader: TarReader): Promise<void> {
    this.#layer++;
    for (let entry = await reader.next(); entry !== null; entry = await reader.next()) {
      this.#count(entry);
      await this.#place(entry, reader);
    }
  }

  /** A folder that is none of a layer; where something else has its name, that goes. */
  async folder(path: string, mode = FOLDER): Promise<void> {
    const spot = await this.#spotOf(partsOf(path), path);
    await this.#putFolder(spot, mode);
  }

  /** An empty file, where there is none. */
  async file(path: string): Promise<void> {
    const spot = await this.#spotOf(partsOf(path), path);
    const there = spot.folder.children.get(spot.name);
    if (there?.kind === "file") return;
    await this.#clear(spot);
    await this.#files.writeNew(spot.path, nothing(), 0o644);
    spot.folder.children.set(spot.name, newNode("file", this.#layer));
  }

  /** The beginning of a text file in it; null where there is none. */
  async read(path: string): Promise<string | null> {
    let spot: Spot;
    try {
      spot = await this.#spotOf(partsOf(path), path, true);
    } catch (error) {
      if (error instanceof TarError) return null;
      throw error;
    }
    const kind = spot.folder.children.get(spot.name)?.kind;
    return kind === "file" ? await this.#files.readSmall(spot.path) : null;
  }

  async #place(entry: TarEntry, reader: TarReader): Promise<void> {
    const parts = partsOf(entry.path);
    if (parts.length === 0) {
      if (entry.kind !== "folder") throw new TarError("an entry in it has no name");
      return;
    }
    const last = parts.at(-1) ?? "";
    if (last.startsWith(WHITEOUT)) return await this.#hide(parts, entry.path);
    const spot = await this.#spotOf(parts, entry.path);
    switch (entry.kind) {
      case "folder":
        return await this.#putFolder(spot, FOLDER);
      case "file":
        await this.#clear(spot);
        // Who runs in it is not who owns it: what may be run may be by all. Other rights are not carried over.
        await this.#files.writeNew(
          spot.path,
          this.#counted(reader),
          (entry.mode & EXECUTABLE) === 0 ? 0o644 : 0o755,
        );
        spot.folder.children.set(spot.name, newNode("file", this.#layer));
        return;
      case "link":
        await this.#clear(spot);
        await this.#files.makeLink(spot.path, entry.target);
        spot.folder.children.set(spot.name, newNode("link", this.#layer, entry.target));
        return;
      case "name": {
        const of = await this.#spotOf(partsOf(entry.target), entry.target);
        const node = of.folder.children.get(of.name);
        if (node === undefined || node.kind === "folder") {
          throw new TarError(`${quoted(entry.path)} is another name of what is no file in it`);
        }
        if (of.path === spot.path) return;
        await this.#clear(spot);
        if (node.kind === "file") await this.#files.addName(spot.path, of.path);
        else await this.#files.makeLink(spot.path, node.target);
        spot.folder.children.set(spot.name, newNode(node.kind, this.#layer, node.target));
      }
    }
  }

  /** Removes what lower layers have; what this one has put there stays. */
  async #hide(parts: readonly string[], path: string): Promise<void> {
    const last = parts.at(-1) ?? "";
    if (last === OPAQUE) {
      const spot = await this.#spotOf([...parts.slice(0, -1), "."], path);
      for (const [name, node] of spot.folder.children) {
        await this.#removeLower({ ...spot, name, path: join(spot.path, name) }, node);
      }
      return;
    }
    const name = last.slice(WHITEOUT.length);
    if (name === "" || name === "." || name === ".." || name.startsWith(WHITEOUT)) {
      throw new TarError(`${quoted(path)} hides nothing`);
    }
    const spot = await this.#spotOf([...parts.slice(0, -1), name], path);
    const node = spot.folder.children.get(name);
    if (node !== undefined) await this.#removeLower(spot, node);
  }

  /** Whether nothing is left of it. */
  async #removeLower(spot: Spot, node: Node): Promise<boolean> {
    let isEmpty = true;
    for (const [name, child] of node.children) {
      const below = { folder: node, name, path: join(spot.path, name) };
      isEmpty = (await this.#removeLower(below, child)) && isEmpty;
    }
    if (node.layer === this.#layer || !isEmpty) return false;
    await this.#clear(spot);
    return true;
  }

  async #putFolder(spot: Spot, mode: number): Promise<void> {
    const there = spot.folder.children.get(spot.name);
    if (there?.kind === "folder") {
      there.layer = this.#layer;
      if (mode !== FOLDER) await this.#files.makeFolder(spot.path, mode);
      return;
    }
    await this.#clear(spot);
    await this.#files.makeFolder(spot.path, mode);
    spot.folder.children.set(spot.name, newNode("folder", this.#layer));
  }

  async #clear({ folder, name, path }: Spot): Promise<void> {
    const there = folder.children.get(name);
    if (there === undefined) return;
    if (there.kind === "folder") await this.#files.removeFolder(path);
    else await this.#files.remove(path);
    folder.children.delete(name);
  }

  /** Where a name leads, through links as far as the last part; folders that are missing on the way are made. With "." at its
   *  end the last part is a folder too. */
  async #spotOf(parts: readonly string[], path: string, followsLast = false): Promise<Spot> {
    let links = 0;
    const way: { readonly node: Node; readonly path: string }[] = [];
    const top = { node: this.#top, path: this.#root };
    const here = () => way.at(-1) ?? top;
    const left = parts.toReversed();
    for (let part = left.pop(); part !== undefined; part = left.pop()) {
      if (part === ".") continue;
      if (part === "..") {
        way.pop(); // above the top is the top, as inside
        continue;
      }
      const { node, path: place } = here();
      const next = node.children.get(part);
      const isLast = left.length === 0;
      if (isLast && !(followsLast && next?.kind === "link")) {
        return { folder: node, name: part, path: join(place, part) };
      }
      if (next?.kind === "link") {
        if (++links > MAX_LINKS) throw new TarError(`${quoted(path)} leads through too many links`);
        if (next.target.startsWith("/")) way.length = 0;
        left.push(
          ...next.target
            .split("/")
            .filter((one) => one !== "")
            .toReversed(),
        );
        if (left.length > MAX_DEPTH) throw new TarError(`${quoted(path)} lies too deep`);
        continue;
      }
      if (next?.kind === "file") throw new TarError(`${quoted(path)} lies below a file`);
      if (way.length >= MAX_DEPTH) throw new TarError(`${quoted(path)} lies too deep`);
      way.push({
        node: next ?? (await this.#addFolder(node, part, place)),
        path: join(place, part),
      });
    }
    return { folder: here().node, name: "", path: here().path };
  }

  async #addFolder(folder: Node, name: string, place: string): Promise<Node> {
    const node = newNode("folder", this.#layer);
    await this.#files.makeFolder(join(place, name), FOLDER);
    folder.children.set(name, node);
    return node;
  }

  #count({ path, target }: TarEntry): void {
    const { entries, nameBytes } = this.#limits;
    this.#entries++;
    this.#nameBytes += path.length + target.length;
    if (this.#entries > entries) throw new TarError(`it has more than ${entries} entries`);
    if (this.#nameBytes > nameBytes) throw new TarError("the names in it are too long together");
  }

  async *#counted(reader: TarReader): AsyncGenerator<Uint8Array> {
    const { bytes, reserve } = this.#limits;
    for await (const piece of reader.content()) {
      this.#bytes += piece.length;
      this.#unlooked += piece.length;
      if (this.#bytes > bytes) throw new TarError(`it has more than ${bytes} bytes`);
      if (this.#unlooked >= LOOK_EVERY) {
        this.#unlooked = 0;
        if ((await this.#files.free(this.#root)) < reserve) {
          throw new TarError("there is too little room on the disk to unpack it");
        }
      }
      yield piece;
    }
  }
}

function newNode(kind: Node["kind"], layer: number, target = ""): Node {
  return { kind, layer, target, children: new Map() };
}

/** Of a name in an archive. Throws where it leads anywhere but down. */
function partsOf(path: string): string[] {
  if (path.startsWith("/")) throw new TarError(`${quoted(path)} is no name below the image`);
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new TarError(`${quoted(path)} leads out of the image`);
  if (parts.length > MAX_DEPTH) throw new TarError(`${quoted(path)} lies too deep`);
  return parts;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
