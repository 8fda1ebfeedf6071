// The storage of a mount as its plugin has it: keys of any form, and those that it keeps in this cluster alone beside the others.

import { bytesCodec } from "@holdfast/shared/codec";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { escapeKey, unescapeName } from "./key-escape.ts";
import type { SpecialPaths } from "./special-paths.ts";

const PAGE = 1000;

type Needs = Pick<EngineNeeds, "storage" | "localStorage">;

export class MountKeys {
  readonly #needs: Needs;
  readonly #special: () => SpecialPaths;

  constructor(needs: Needs, special: () => SpecialPaths) {
    this.#needs = needs;
    this.#special = special;
  }

  /** Whether another cluster writes it, and nobody here may. */
  isWrittenElsewhere(key: string): boolean {
    return this.#of(key).writtenElsewhere === true;
  }

  async get(key: string): Promise<Uint8Array | null> {
    return await this.#of(key).get(escapeKey(key), bytesCodec);
  }

  async write<T>(
    key: string,
    run: (tx: EngineTx, escaped: string) => T,
    deletion = false,
  ): Promise<T> {
    return await this.#of(key).write((tx) => run(tx, escapeKey(key)), { deletion });
  }

  /** One level down, in the order of their keys; `after` is a name of it. `limit` 0: all. */
  async list(prefix: string, after = "", limit = 0): Promise<string[]> {
    const found = new Set<string>();
    for (const storage of this.#sides) {
      for (const name of await listed(storage, prefix)) found.add(name);
    }
    const names = [...found].filter((name) => name > after).toSorted();
    return limit > 0 ? names.slice(0, limit) : names;
  }

  #of(key: string): EngineStorage {
    const { storage, localStorage = storage } = this.#needs;
    return this.#special().isLocal(key) ? localStorage : storage;
  }

  get #sides(): readonly EngineStorage[] {
    const { storage, localStorage } = this.#needs;
    if (localStorage === undefined || !this.#special().hasLocal) return [storage];
    return [storage, localStorage];
  }
}

/** A beginning that ends inside a segment is asked for as well. */
async function listed(storage: EngineStorage, prefix: string): Promise<string[]> {
  const cut = prefix.lastIndexOf("/") + 1;
  const folder = prefix.slice(0, cut);
  const begin = prefix.slice(cut);
  const below = folder === "" ? "" : `${escapeKey(folder.slice(0, -1))}/`;
  const names: string[] = [];
  for (let after: string | null = null; ;) {
    const page: string[] = await storage.list(below, {
      limit: PAGE,
      ...(after === null ? {} : { after }),
    });
    names.push(...page);
    if (page.length < PAGE) break;
    after = page.at(-1) ?? "";
  }
  const plain = names.map(unescapeName);
  if (begin === "") return plain;
  return plain.flatMap((name) =>
    name.startsWith(begin) && name !== begin ? [name.slice(begin.length)] : [],
  );
}
