// The leases of a role. They are known by the path that they were asked for by, in which the name of a
// role may be spelt with other cases: those spellings are kept, so that none is forgotten.

import { jsonCodec } from "../../base/codec.ts";
import type { EngineGiven } from "../../../plugin-sdk/engine.ts";
import * as failures from "./failures.ts";

const MOST = 16; // there are 2^n of a name of n letters, and nobody needs more than a few
const key = (name: string) => `spellings/${name}`;
const codec = jsonCodec<readonly string[]>();

export class RoleLeases {
  readonly #given: EngineGiven;

  constructor(given: EngineGiven) {
    this.#given = given;
  }

  /** Before the first lease by this spelling. */
  async spelt(name: string, spelling: string): Promise<void> {
    if (spelling === name) return;
    const { storage } = this.#given;
    if ((await storage.get(key(name), codec))?.includes(spelling) === true) return;
    await storage.write((tx) => {
      const known = tx.get(key(name), codec) ?? [];
      if (known.includes(spelling)) return;
      if (known.length >= MOST) throw failures.invalid(`write the name of the role as ${name}`);
      tx.put(key(name), [...known, spelling], codec);
    });
  }

  /** It is gone, and has none. */
  async forget(name: string): Promise<void> {
    await this.#given.storage.write((tx) => tx.delete(key(name)));
  }

  async count(name: string): Promise<number> {
    let count = 0;
    for (const place of await this.#places(name)) count += await this.#given.leases.count(place);
    return count;
  }

  async revoke(name: string): Promise<void> {
    for (const place of await this.#places(name)) await this.#given.leases.revoke(place);
  }

  async #places(name: string): Promise<string[]> {
    const others = (await this.#given.storage.get(key(name), codec)) ?? [];
    return [name, ...others].map((spelling) => `creds/${spelling}`);
  }
}
