// The storage of a mount as its plugin has it: keys of any form, and those that it keeps in this cluster alone beside the others.

import { bytesCodec } from "@holdfast/shared/codec";
import type { EngineStorage, EngineTx } from "@holdfast/plugin-sdk/storage";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { escapeKey, escapeName, unescapeName } from "./key-escape.ts";
import type { SpecialPaths } from "./special-paths.ts";

const PAGE = 1000;

type Needs = Pick<EngineNeeds, "storage" | "localStorage">;

export class MountKeys {
  readonly #needs: Needs;
  readonly #special: () => SpecialPaths;
  #changes = 0;
  #underWay = 0;

  constructor(needs: Needs, special: () => SpecialPaths) {
    this.#needs = needs;
    this.#special = special;
  }

  /** Whether another cluster writes it, and nobody here may. */
  isWrittenElsewhere(key: string): boolean {
    return this.sideOf(key).writtenElsewhere === true;
  }

  /** Another number when anything was changed since; null while something is. */
  get state(): number | null {
    return this.#underWay > 0 ? null : this.#changes;
  }

  /** Somebody else has changed some of them. */
  changed(): void {
    this.#changes++;
  }

  async get(key: string): Promise<Uint8Array | null> {
    return await this.sideOf(key).get(escapeKey(key), bytesCodec);
  }

  async write<T>(
    key: string,
    run: (tx: EngineTx, escaped: string) => T,
    deletion = false,
  ): Promise<T> {
    const side = this.sideOf(key);
    return await this.writeOn(side, (tx) => run(tx, escapeKey(key)), deletion);
  }

  async writeOn<T>(side: EngineStorage, run: (tx: EngineTx) => T, deletion: boolean): Promise<T> {
    this.#underWay++;
    try {
      return await side.write(run, { deletion });
    } finally {
      this.#underWay--;
      this.#changes++;
    }
  }

  /** One level down, in the order of their keys. */
  async list(prefix: string): Promise<string[]> {
    return (await this.listPage(prefix, "", Infinity)).toSorted();
  }

  /** So many of them after a name, from where storage has them: each page costs what it holds. */
  async listPage(prefix: string, after: string, limit: number): Promise<string[]> {
    const sides = await Promise.all(
      this.sides.map((storage) => listed(storage, prefix, { after, limit })),
    );
    return merged(sides, limit);
  }

  /** Where it lies. */
  sideOf(key: string): EngineStorage {
    const { storage, localStorage = storage } = this.#needs;
    return this.#special().isLocal(key) ? localStorage : storage;
  }

  /** All where something may lie. */
  get sides(): readonly EngineStorage[] {
    const { storage, localStorage } = this.#needs;
    if (localStorage === undefined || !this.#special().hasLocal) return [storage];
    return [storage, localStorage];
  }
}

export interface Listed {
  readonly stored: string;
  readonly name: string;
}

export interface ListPage {
  readonly after: string;
  readonly limit: number;
}

export async function listed(
  storage: EngineStorage,
  prefix: string,
  page: ListPage,
): Promise<Listed[]> {
  const steps = listing(prefix, page);
  let step = steps.next([]);
  while (step.done !== true) step = steps.next(await storage.list(...step.value));
  return step.value;
}

/** The same inside of a transaction. */
export function listedIn(tx: EngineTx, prefix: string, page: ListPage): Listed[] {
  const steps = listing(prefix, page);
  let step = steps.next([]);
  while (step.done !== true) step = steps.next(tx.list(...step.value));
  return step.value;
}

type ListRequest = Parameters<EngineTx["list"]>;

/** Asks for lists, and makes one of what it is given. A beginning that ends inside a segment is asked for as well. */
function* listing(
  prefix: string,
  page: ListPage,
): Generator<ListRequest, Listed[], readonly string[]> {
  const cut = prefix.lastIndexOf("/") + 1;
  const folder = prefix.slice(0, cut);
  const begin = prefix.slice(cut);
  const below = folder === "" ? "" : `${escapeKey(folder.slice(0, -1))}/`;
  const common = begin === "" ? "" : escapeName(begin);
  const found: Listed[] = [];
  // What is just the beginning is no name below it.
  const first = `${begin}${page.after}`;
  for (let after = first === "" ? null : escapeName(first); found.length < page.limit;) {
    const limit = Math.min(PAGE, page.limit - found.length);
    const names = yield [below, { limit, ...(after === null ? {} : { after }) }];
    const here = names.filter((name) => name.startsWith(common));
    for (const stored of here) {
      const name = unescapeName(stored).slice(begin.length);
      if (name !== "") found.push({ stored, name });
    }
    if (names.length < limit || here.length < names.length) break;
    after = names.at(-1) ?? "";
  }
  return found;
}

/** Each once, in the order of storage. */
function merged(sides: readonly (readonly Listed[])[], limit: number): string[] {
  const [first = [], ...others] = sides;
  if (others.length === 0) return first.map(({ name }) => name);
  const all = new Map(sides.flat().map(({ stored, name }) => [stored, name]));
  const inOrder = [...all].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return inOrder.slice(0, limit).map(([, name]) => name);
}
