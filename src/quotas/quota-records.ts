// The stored records of one kind of quota, which are shared: by name, one to a path. What follows from
// them is their room's.

import type { Codec } from "@holdfast/shared/codec";
import type { View } from "../barrier/view.ts";
import * as failures from "./failures.ts";
import { checkName } from "./quota.ts";

const MAX_QUOTAS = 1000; // patterns among them are tried one by one

export class QuotaRecords<Q extends { readonly path: string }> {
  readonly #view: View;
  readonly #codec: Codec<Q>;

  /** The view is of this kind alone. */
  constructor(view: View, codec: Codec<Q>) {
    this.#view = view;
    this.#codec = codec;
  }

  names(): string[] {
    return this.#view.list("", { limit: MAX_QUOTAS });
  }

  /** Null when there is none. */
  find(name: string): Q | null {
    return this.#view.get(name, this.#codec);
  }

  get(name: string): Q {
    checkName(name);
    const quota = this.find(name);
    if (quota === null) throw failures.unknownQuota();
    return quota;
  }

  /** Creates the quota or puts this one in its place. */
  /** `check` is told, before anything is changed, whether there is one of the name. */
  async set(name: string, quota: Q, check?: (exists: boolean) => void): Promise<void> {
    checkName(name);
    await this.#view.write((tx) => {
      const stored = tx.records("", this.#codec, { limit: MAX_QUOTAS + 1 });
      const others = stored.filter(({ key }) => key !== name);
      check?.(others.length < stored.length);
      // Two on one path would leave it to chance which of them applies.
      const same = others.find(({ value }) => value.path === quota.path);
      if (same !== undefined) throw failures.pathTaken(same.key);
      if (others.length >= MAX_QUOTAS) throw failures.tooMany(MAX_QUOTAS);
      tx.put(name, quota, this.#codec);
    });
  }

  async delete(name: string): Promise<void> {
    checkName(name);
    await this.#view.write((tx) => {
      if (tx.get(name, this.#codec) !== null) tx.delete(name);
    });
  }

  /** Calls with the names that have changed, at once with all there are. Gives what ends that. */
  follow(changed: (names: readonly string[]) => void): () => void {
    const stop = this.#view.watch("", ({ keys }) => changed(keys));
    changed(this.names());
    return stop;
  }
}
