// Images of plugins, unpacked: each once, by the digest of its configuration, for all that run it, who can only read it.
// Nothing of it is kept from one run of the server to the next: what is run was checked by this one.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { describe, Failure } from "@holdfast/shared/failure";
import type { ProgramFiles, TreeFiles } from "@holdfast/shared/world";
import { findImage, type ImageConfig, type ImageDocuments, type Layer } from "./documents.ts";
import { imageMissing, imageOther, imageRefused } from "./failures.ts";
import { type Layout, openLayout } from "./layout.ts";
import { IMAGE_LIMITS, type ImageLimits } from "./limits.ts";
import { TarError, TarReader } from "./tar.ts";
import { Tree } from "./tree.ts";

/** With the port of a registry at the first part, where others follow. */
const NAME =
  /^(?:[A-Za-z0-9][A-Za-z0-9_.-]*(?::\d{1,5})?\/)?[A-Za-z0-9][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9][A-Za-z0-9_.-]*)*$/;
const MAX_NAME = 512;
/** That nothing runs from. */
const MAX_KEPT = 4;
const FOR_ALL = 0o711; // who runs in it passes through, and is told the rest of the way

/** Where a runtime mounts something, and what it binds where the network is the machine's. */
const FOLDERS: readonly (readonly [path: string, mode: number])[] = [
  ["proc", 0o755],
  ["dev", 0o755],
  ["sys", 0o755],
  ["tmp", 0o1777], // a runtime gives what it mounts there the mode of what it finds
];
const BOUND = ["etc/resolv.conf", "etc/hosts"];

export interface ImageParts {
  readonly files: ProgramFiles & TreeFiles;
  /** plugin_directory; null: none. */
  readonly directory: string | null;
  /** Where they are unpacked: a folder of the server's own, for this alone. */
  readonly folder: string;
  readonly arch: string;
  readonly limits?: ImageLimits;
}

export interface Unpacked {
  readonly root: string;
  readonly config: ImageConfig;
  /** Files of it, by which names of users are found; null where it has none. */
  readonly passwd: string | null;
  readonly group: string | null;
}

export interface TakenImage extends Unpacked {
  /** Nothing runs from it any more. */
  release(): Promise<void>;
}

interface Kept {
  readonly unpacked: Promise<Unpacked>;
  readonly folder: string;
  users: number;
}

export class Images {
  readonly #parts: ImageParts;
  readonly #limits: ImageLimits;
  /** By digest; what was used last is last. */
  readonly #kept = new Map<string, Kept>();
  #count = 0;
  #isMade = false;

  constructor(parts: ImageParts) {
    this.#parts = parts;
    this.#limits = parts.limits ?? IMAGE_LIMITS;
  }

  /** What an earlier run has left goes. */
  async open(): Promise<void> {
    await this.#parts.files.removeFolder(this.#parts.folder);
    this.#kept.clear();
    this.#isMade = false;
  }

  async close(): Promise<void> {
    await this.open();
  }

  /** Throws a Failure: there is none, it is another one, or what is wrong with it. */
  async take(name: string, sha256: string): Promise<TakenImage> {
    const kept = this.#kept.get(sha256) ?? (await this.#begin(name, sha256));
    kept.users++;
    this.#kept.delete(sha256);
    this.#kept.set(sha256, kept);
    try {
      const unpacked = await kept.unpacked;
      let isOut = true;
      const release = async () => {
        if (!isOut) return;
        isOut = false;
        kept.users--;
        await this.#tidy();
      };
      return { ...unpacked, release };
    } catch (error) {
      kept.users--;
      if (this.#kept.get(sha256) === kept) this.#kept.delete(sha256);
      throw error;
    }
  }

  async #begin(name: string, sha256: string): Promise<Kept> {
    const { files, folder } = this.#parts;
    if (!this.#isMade) await files.makeFolder(folder, FOR_ALL);
    this.#isMade = true;
    const there = this.#kept.get(sha256);
    if (there !== undefined) return there;
    const place = join(folder, String(++this.#count));
    const unpacked = this.#unpack(name, sha256, place);
    unpacked.catch(() => {}); // told to whoever waits
    const kept = { unpacked, folder: place, users: 0 };
    this.#kept.set(sha256, kept);
    return kept;
  }

  async #tidy(): Promise<void> {
    const idle = [...this.#kept].filter(([, { users }]) => users === 0);
    for (const [sha256, kept] of idle.slice(0, Math.max(0, idle.length - MAX_KEPT))) {
      this.#kept.delete(sha256);
      await this.#parts.files.removeFolder(kept.folder);
    }
  }

  async #unpack(name: string, sha256: string, place: string): Promise<Unpacked> {
    const { files, directory, arch } = this.#parts;
    const path = join(directory ?? "/nowhere", "images", name);
    if (directory === null || !isImageName(name))
      throw imageMissing(name, "images in plugin_directory");
    const layout = await openLayout(files, path);
    if (layout === null) throw imageMissing(name, path);
    try {
      const found = await findImage(layout, sha256, this.#limits, { arch });
      if ("layers" in found) return await this.#unpackTo(place, layout, found);
      throw imageOther(name, sha256, found.slice(0, 5));
    } catch (error) {
      await files.removeFolder(place);
      throw refusalOf(name, error);
    } finally {
      await layout.close();
    }
  }

  async #unpackTo(
    place: string,
    layout: Layout,
    { config, layers }: ImageDocuments,
  ): Promise<Unpacked> {
    const { files } = this.#parts;
    await files.makeFolder(place, FOR_ALL);
    const root = join(place, "root");
    await files.makeFolder(root, 0o755);
    const tree = new Tree(files, root, this.#limits);
    for (const layer of layers) await this.#add(tree, layout, layer);
    for (const [path, mode] of FOLDERS) await tree.folder(path, mode);
    await tree.folder("etc");
    for (const path of BOUND) await tree.file(path);
    const [passwd, group] = [await tree.read("etc/passwd"), await tree.read("etc/group")];
    return { root, config, passwd, group };
  }

  async #add(tree: Tree, layout: Layout, layer: Layer): Promise<void> {
    const hash = createHash("sha256");
    const { ratio, slack } = this.#limits;
    const most = layer.size * ratio + slack;
    let bytes = 0;
    const inner = async function* () {
      for await (const piece of opened(layer, layout.read(layer))) {
        bytes += piece.length;
        if (bytes > most)
          throw new TarError(`a layer of it is more than ${ratio} times as large as it is packed`);
        hash.update(piece);
        yield piece;
      }
    };
    const reader = new TarReader(inner());
    try {
      await tree.add(reader);
      await reader.drain();
    } finally {
      await reader.close();
    }
    if (`sha256:${hash.digest("hex")}` !== layer.inner) {
      throw imageRefused("what is in a layer has another digest than its configuration says");
    }
  }
}

export function isImageName(name: string): boolean {
  return NAME.test(name) && name.length <= MAX_NAME && !name.includes("..");
}

/** By what the manifest says that it is packed with. */
function opened({ mediaType }: Layer, bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const [, how] =
    /^application\/vnd\.(?:oci\.image\.layer\.v1\.tar|docker\.image\.rootfs\.diff\.tar)(?:[.+](gzip|zstd))?$/.exec(
      mediaType,
    ) ?? [null, "unknown"];
  switch (how) {
    case undefined:
      return bytes;
    case "gzip":
      return through(bytes, createGunzip());
    case "zstd":
      return through(bytes, createZstdDecompress());
    default:
      throw imageRefused("it has a layer that is neither tar nor tar with gzip or zstd");
  }
}

function through(
  bytes: AsyncIterable<Uint8Array>,
  unpacks: ReturnType<typeof createGunzip>,
): AsyncIterable<Uint8Array> {
  pipeline(Readable.from(bytes), unpacks, () => {}); // an error of either reaches who reads
  return unpacks;
}

function refusalOf(name: string, error: unknown): unknown {
  const own = error instanceof Failure && error.code !== "plugin-image-refused";
  const isOurs = error instanceof TarError || error instanceof Failure || isOfUnpacking(error);
  if (own || !isOurs) return error;
  return imageRefused(`plugin image ${name}: ${describe(error)}`, { cause: error });
}

/** Errors of the runtime's own unpackers. */
function isOfUnpacking(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(?:Z_|ZSTD_)/.test(code);
}
