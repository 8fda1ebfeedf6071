// What each configuration has written and not deleted. By this list alone snapshots are counted and make way: a name
// says nothing of who wrote what has it. Whatever is not in it, as after an older archive was restored, is left alone.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { SnapshotConfig } from "./config.ts";

export interface WrittenSnapshot {
  readonly name: string;
  /** Where it lies: the place of a configuration may change. */
  readonly url: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}

const WRITTEN = "written/";
const SLICE = 256;
/** More than the most that are kept: some that could not be deleted, some at places of before. */
const MAX_WRITTEN = 101_000;
const DIGITS_AND_ENDING = 24;

const codec = jsonCodec<WrittenSnapshot>();

export class WrittenSnapshots {
  /** core/snapshots/auto/ */
  readonly #view: View;
  readonly #timers: Pick<Timers, "turn">;

  constructor(view: View, timers: Pick<Timers, "turn">) {
    this.#view = view;
    this.#timers = timers;
  }

  add(tx: Tx, name: string, config: SnapshotConfig, written: WrittenSnapshot): void {
    tx.on(this.#view).put(folderOf(name, config) + written.name, written, codec);
  }

  /** All of them, wherever they lie. Those beyond the bound are forgotten, oldest first, and stay where they are. */
  async of(name: string, config: SnapshotConfig): Promise<readonly WrittenSnapshot[]> {
    const folder = folderOf(name, config);
    const found: WrittenSnapshot[] = [];
    for (let after = folder; ;) {
      const page = this.#view.records(folder, codec, { after, limit: SLICE });
      found.push(...page.map(({ value }) => value));
      const last = page.at(-1);
      if (last === undefined || page.length < SLICE) break;
      after = last.key;
      await this.#timers.turn();
    }
    if (found.length <= MAX_WRITTEN) return found;
    found.sort((one, other) => (timeIn(one) < timeIn(other) ? -1 : 1));
    const forgotten = found.splice(0, found.length - MAX_WRITTEN);
    await this.drop(
      name,
      config,
      forgotten.map((one) => one.name),
    );
    return found;
  }

  async drop(name: string, config: SnapshotConfig, files: readonly string[]): Promise<void> {
    const folder = folderOf(name, config);
    await this.#delete(files.map((file) => folder + file));
  }

  /** After its configuration was deleted. */
  async forget(name: string): Promise<void> {
    const folder = `${WRITTEN}${name}/`;
    for (;;) {
      const keys = this.#view.keys(folder, { limit: SLICE });
      if (keys.length === 0) return;
      await this.#delete(keys);
    }
  }

  async #delete(keys: readonly string[]): Promise<void> {
    for (let at = 0; at < keys.length; at += SLICE) {
      await this.#view.write((tx) => {
        for (const key of keys.slice(at, at + SLICE)) {
          if (tx.keys(key, { limit: 1 })[0] === key) tx.delete(key);
        }
      });
    }
  }
}

/** One that is made anew under the name of another has written nothing yet. */
function folderOf(name: string, { created }: SnapshotConfig): string {
  return `${WRITTEN}${name}/${created}/`;
}

function timeIn({ name }: WrittenSnapshot): string {
  return name.slice(-DIGITS_AND_ENDING);
}
