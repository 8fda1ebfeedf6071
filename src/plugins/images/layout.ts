// Where the parts of images are: an OCI layout, as a folder or as one archive of it. A part is known by its digest, and what
// is read as that part has it, or the read fails.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { GrowingBytes } from "@holdfast/shared/bytes";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import type { ProgramFile, ProgramFiles } from "@holdfast/shared/world";
import { imageRefused } from "./failures.ts";
import { type TarEntry, TarError, TarReader } from "./tar.ts";

const INDEX = "index.json";
const MAX_PARTS = 10_000; // in an archive

export interface Part {
  /** sha256:… */
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
}

export interface Layout {
  index(most: number): Promise<JsonObject>;
  /** Throws a Failure at the end where what was read is not that part. */
  read(part: Part): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** Null where there is none. */
export async function openLayout(files: ProgramFiles, path: string): Promise<Layout | null> {
  const folder = await files.look(path);
  if (folder !== null && !folder.isFile) return new FolderLayout(files, path);
  const at = path.lastIndexOf("/");
  const file = await files.open(path.slice(0, at), `${path.slice(at + 1)}.tar`);
  if (file === null) return null;
  try {
    return await ArchiveLayout.read(file);
  } catch (error) {
    await file.close();
    throw error;
  }
}

export async function readDocument(layout: Layout, part: Part, most: number): Promise<JsonObject> {
  if (part.size > most)
    throw imageRefused(`${part.digest} has ${part.size} bytes; a document may have ${most}`);
  return parsed(await whole(layout.read(part), most), part.digest);
}

class FolderLayout implements Layout {
  readonly #files: ProgramFiles;
  readonly #path: string;

  constructor(files: ProgramFiles, path: string) {
    this.#files = files;
    this.#path = path;
  }

  async index(most: number): Promise<JsonObject> {
    const file = await this.#open(this.#path, INDEX, INDEX);
    try {
      return parsed(await whole(file.read(), most), INDEX);
    } finally {
      await file.close();
    }
  }

  async *read(part: Part): AsyncGenerator<Uint8Array> {
    const hex = hexOf(part);
    const file = await this.#open(join(this.#path, "blobs", "sha256"), hex, part.digest);
    try {
      yield* checked(part, file.read());
    } finally {
      await file.close();
    }
  }

  async close(): Promise<void> {}

  async #open(folder: string, name: string, what: string): Promise<ProgramFile> {
    const file = await this.#files.open(folder, name);
    if (file === null)
      throw imageRefused(`it has no ${what}: it is no OCI layout, or not all of one`);
    if ((await file.facts()).isFile) return file;
    await file.close();
    throw imageRefused(`${what} is no file`);
  }
}

class ArchiveLayout implements Layout {
  readonly #file: ProgramFile;
  readonly #parts: ReadonlyMap<string, TarEntry>;

  private constructor(file: ProgramFile, parts: ReadonlyMap<string, TarEntry>) {
    this.#file = file;
    this.#parts = parts;
  }

  static async read(file: ProgramFile): Promise<ArchiveLayout> {
    const { isFile } = await file.facts();
    if (!isFile) throw imageRefused("the archive is no file");
    const parts = new Map<string, TarEntry>();
    try {
      for (let at = 0; ;) {
        // Content is skipped and not read: each look is at the next head alone.
        const reader = new TarReader(file.read(at));
        const entry = await reader.next();
        if (entry === null) break;
        if (parts.size > MAX_PARTS) throw new TarError("it has too many files");
        const from = at + entry.at;
        const name = entry.path.replace(/^\.\//, "");
        if (entry.kind === "file") parts.set(name, { ...entry, at: from });
        at = from + Math.ceil(entry.size / 512) * 512;
      }
    } catch (error) {
      if (!(error instanceof TarError)) throw error;
      throw imageRefused(`the archive cannot be read: ${error.message}`, { cause: error });
    }
    return new ArchiveLayout(file, parts);
  }

  async index(most: number): Promise<JsonObject> {
    return parsed(await whole(this.#read(INDEX), most), INDEX);
  }

  async *read(part: Part): AsyncGenerator<Uint8Array> {
    yield* checked(part, this.#read(`blobs/sha256/${hexOf(part)}`));
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #read(name: string): AsyncIterable<Uint8Array> {
    const entry = this.#parts.get(name);
    if (entry === undefined) {
      throw imageRefused(`the archive has no ${name}: it is no OCI layout, or not all of one`);
    }
    return this.#file.read(entry.at, entry.size);
  }
}

async function* checked(
  { digest, size }: Part,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > size) break;
    hash.update(piece);
    yield piece;
  }
  const found = hash.digest("hex");
  if (length !== size || `sha256:${found}` !== digest) {
    throw imageRefused(`${digest} is damaged: what lies there has another digest or size`);
  }
}

async function whole(bytes: AsyncIterable<Uint8Array>, most: number): Promise<Buffer> {
  const all = new GrowingBytes();
  for await (const piece of bytes) {
    all.add(piece);
    if (all.length > most) throw imageRefused(`a document in it has more than ${most} bytes`);
  }
  return all.bytes;
}

function parsed(bytes: Buffer, what: string): JsonObject {
  let value: unknown = null;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    // told below
  }
  if (!isObject(value)) throw imageRefused(`${what} is no document that describes an image`);
  return value;
}

export function hexOf({ digest }: Pick<Part, "digest">): string {
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(digest) ?? [];
  if (hex === undefined) throw imageRefused("it names a part by something else than sha256");
  return hex;
}

/** Of what a document says of a part. */
export function partOf(value: unknown): Part {
  if (!isObject(value)) throw imageRefused("it names a part without its digest");
  const { digest, size, mediaType } = value;
  const isPart =
    typeof digest === "string" &&
    typeof size === "number" &&
    Number.isSafeInteger(size) &&
    size >= 0;
  if (!isPart) throw imageRefused("it names a part without its digest or size");
  hexOf({ digest });
  return { digest, size, mediaType: typeof mediaType === "string" ? mediaType : "" };
}
