// Snapshots in a directory of this machine. A file has a temporary name until all of it is on the disk. Files that
// are not exactly ours (names that only look alike, links, directories) are neither counted nor touched.

import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";
import { hex, utf8 } from "@holdfast/shared/bytes";
import type { HeldDirectory, Random, SnapshotFiles } from "@holdfast/shared/world";
import { checkRoom, KEPT_FREE } from "../disk-room.ts";
import { holdPlace, type SnapshotPlaces } from "./local-place.ts";
import type { LocalSettings } from "./settings.ts";
import { checkWhole, feed } from "./source-sums.ts";
import { storeRefuses } from "./store-error.ts";
import { type BegunPut, byAge, isOurName, type PutOptions, type Source } from "./target.ts";
import type { PutSnapshot, StoredSnapshot, Target } from "./target.ts";

export interface LocalNeeds {
  readonly files: SnapshotFiles;
  readonly places: SnapshotPlaces;
  readonly random: Random;
}

/** How much is written between two looks at the allowance. */
const LOOK_EVERY = 64 * 1024 * 1024;

export class LocalTarget implements Target {
  readonly #settings: LocalSettings;
  readonly #needs: LocalNeeds;

  constructor(settings: LocalSettings, needs: LocalNeeds) {
    this.#settings = settings;
    this.#needs = needs;
  }

  urlOf(name: string): string {
    return pathToFileURL(`${this.#settings.pathPrefix.replace(/\/+$/, "")}/${name}`).href;
  }

  async checkRoom(bytes: number): Promise<void> {
    await this.#holding((directory) => this.#checkRoom(directory, bytes));
  }

  async put(name: string, source: Source, options: PutOptions): Promise<void> {
    await this.#holding(async (directory) => {
      await this.#checkRoom(directory, source.size);
      if ((await directory.look(name)) !== null) {
        throw storeRefuses("writing the snapshot", `there is something called ${name} already`);
      }
      const temporary = temporaryName(name, hex(this.#needs.random.bytes(6)));
      try {
        await this.#write(directory, temporary, source, options);
        await this.#check(directory, temporary, source);
        await this.#checkRoom(directory, source.size, 0);
        await directory.rename(temporary, name);
      } catch (error) {
        await directory.remove(temporary).catch(() => {}); // the first cause is the one to tell
        throw error;
      }
      await directory.sync();
    });
  }

  async list(): Promise<StoredSnapshot[]> {
    return this.#holding((directory) => this.#ours(directory));
  }

  async holds({ name, size }: PutSnapshot): Promise<boolean> {
    return this.#holding((directory) => hasSize(directory, name, size));
  }

  async delete(name: string): Promise<void> {
    await this.#holding(async (directory) => {
      const found = await directory.look(name);
      // What took its place since it was listed is not ours to delete.
      if (found?.plain !== true || !isOurName(this.#settings.filePrefix, name)) return;
      await directory.remove(name);
      await directory.sync();
    });
  }

  async read(name: string) {
    const directory = await this.#hold();
    const found = await directory.look(name).catch(() => null);
    if (found?.plain !== true) {
      await directory.close();
      throw storeRefuses("reading a snapshot", `there is no snapshot called ${name}`);
    }
    return { size: found.size, chunks: closing(directory, name, found.size) };
  }

  async probe(): Promise<void> {
    await this.#holding(async (directory) => {
      const mark = hex(this.#needs.random.bytes(8));
      const name = `.${this.#settings.filePrefix}-probe-${mark}`;
      const file = await directory.create(name);
      try {
        await file.write(utf8("Written to see whether snapshots can be; may be deleted.\n"));
        await file.sync();
      } finally {
        await file.close();
        await directory.remove(name);
      }
    });
  }

  async settle({ name, size }: BegunPut): Promise<boolean> {
    return this.#holding(async (directory) => {
      await removeLeftOvers(directory, name);
      return hasSize(directory, name, size); // its name comes when it is whole
    });
  }

  async #write(
    directory: HeldDirectory,
    temporary: string,
    source: Source,
    { signal, progress }: PutOptions,
  ): Promise<void> {
    const file = await directory.create(temporary);
    try {
      let written = 0;
      let looked = 0;
      for await (const chunk of source.read(0, source.size)) {
        if (signal.aborted) throw storeRefuses("writing the snapshot", "the server is stopping");
        await file.write(chunk);
        written += chunk.length;
        progress?.(written);
        if (written - looked < LOOK_EVERY) continue;
        looked = written;
        await this.#checkRoom(directory, source.size, source.size - written);
      }
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** What lies there is read back before it gets its name. */
  async #check(directory: HeldDirectory, temporary: string, source: Source): Promise<void> {
    const { size, sha256 } = source;
    const found = await directory.look(temporary);
    if (found?.plain !== true || found.size !== size) {
      throw storeRefuses("checking the snapshot", "the file is not what was written");
    }
    const sum = createHash("sha256");
    const read = (from: number, to: number) => directory.read(temporary, from, to);
    await feed({ size, sha256, read }, 0, size, [sum]);
    checkWhole(source, sum.digest());
  }

  /** By the allowance and, for what is not written yet, by the disk. */
  async #checkRoom(directory: HeldDirectory, bytes: number, ahead = bytes): Promise<void> {
    const { maxSpace } = this.#settings;
    const free = await directory.freeBytes();
    if (ahead > 0) checkRoom(free, ahead, () => diskFull(free, ahead));
    const ours = await this.#ours(directory);
    const used = ours.reduce((sum, { size }) => sum + size, 0);
    if (used + bytes <= maxSpace) return;
    throw storeRefuses(
      "looking for space",
      `local_max_space is ${maxSpace} bytes; ${ours.length} snapshots have ${used} and this one needs ${bytes}`,
    );
  }

  async #ours(directory: HeldDirectory): Promise<StoredSnapshot[]> {
    const { filePrefix } = this.#settings;
    const found: StoredSnapshot[] = [];
    for (const name of await directory.names()) {
      if (!isOurName(filePrefix, name)) continue;
      const facts = await directory.look(name);
      if (facts?.plain === true) found.push({ name, size: facts.size });
    }
    return found.sort(byAge);
  }

  #hold(): Promise<HeldDirectory> {
    const { files, places } = this.#needs;
    return holdPlace(files, places, this.#settings.pathPrefix);
  }

  async #holding<T>(use: (directory: HeldDirectory) => Promise<T>): Promise<T> {
    const directory = await this.#hold();
    try {
      return await use(directory);
    } finally {
      await directory.close();
    }
  }
}

function diskFull(free: number, needed: number): Error {
  const message = `${free} bytes are free there, ${needed} are needed and ${KEPT_FREE} stay free`;
  return storeRefuses("looking for space", message);
}

function temporaryName(name: string, mark: string): string {
  return `.${name}.${mark}.tmp`;
}

/** Of the put of that name alone: what others are writing there has names of its own. */
async function removeLeftOvers(directory: HeldDirectory, name: string): Promise<void> {
  for (const left of await directory.names()) {
    if (/^\.(.+)\.[0-9a-f]{12}\.tmp$/.exec(left)?.[1] !== name) continue;
    const facts = await directory.look(left);
    if (facts?.plain === true) await directory.remove(left);
  }
}

async function hasSize(directory: HeldDirectory, name: string, size: number): Promise<boolean> {
  const found = await directory.look(name);
  return found?.plain === true && found.size === size;
}

async function* closing(
  directory: HeldDirectory,
  name: string,
  size: number,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* directory.read(name, 0, size);
  } finally {
    await directory.close();
  }
}
