// Lease-count quotas: how many leases there may be below a path. Which of them a new
// lease falls under is decided here; leases are counted where they are kept.

import { unlessDamaged } from "../base/damage.ts";
import type { View } from "../barrier/view.ts";
import type { MountRef } from "@holdfast/shared/endpoint/request";
import * as quotas from "./quota.ts";
import { QuotaChoice } from "./quota-choice.ts";
import { QuotaRecords } from "./quota-records.ts";

export interface LeaseLimit {
  readonly name: string;
  readonly quota: quotas.LeaseQuota;
}

export interface LeaseQuotasOptions {
  /** shared/quotas/lease-count/ */
  readonly view: View;
  /** What the segments of a whole path lead to on this server; null for nothing. */
  readonly classify: (segments: readonly string[]) => quotas.PlaceKind | null;
  /** The one spelling of a path, as requests are counted by it. Default: as it is. */
  readonly spelling?: (path: string) => string;
  /** How many leases there are that it counts. */
  readonly counted: (limit: LeaseLimit) => Promise<number>;
}

export class LeaseQuotas {
  readonly #options: LeaseQuotasOptions;
  readonly #records: QuotaRecords<quotas.LeaseQuota>;
  readonly #limits = new Map<string, LeaseLimit>();
  #choice = new QuotaChoice<LeaseLimit>([]);
  #stop: (() => void) | null = null;

  constructor(options: LeaseQuotasOptions) {
    this.#options = options;
    this.#records = new QuotaRecords(options.view, quotas.leaseQuotaCodec);
  }

  open(): void {
    this.#stop = this.#records.follow((names) => {
      for (const name of names) this.#reload(name);
      this.#choice = new QuotaChoice(this.#limits.values());
    });
  }

  close(): void {
    this.#stop?.();
    this.#stop = null;
    this.#limits.clear();
    this.#choice = new QuotaChoice<LeaseLimit>([]);
  }

  /** The one that a lease of the mount falls under, given on `path`, which is relative to the mount's
   *  namespace; null for none. */
  on(mount: MountRef, path: string): LeaseLimit | null {
    if (this.#limits.size === 0) return null;
    const { namespace } = mount;
    const base = namespace.path === "" ? "" : `${namespace.path}/`;
    return this.#choice.choose(base, mount.path, base + path);
  }

  names(): string[] {
    return this.#records.names();
  }

  has(name: string): boolean {
    return this.#limits.has(name);
  }

  async get(name: string): Promise<quotas.LeaseQuota & { readonly counted: number }> {
    const quota = this.#records.get(name);
    return { ...quota, counted: await this.#options.counted({ name, quota }) };
  }

  async set(
    name: string,
    input: quotas.LeaseQuotaInput,
    check?: (exists: boolean) => void,
  ): Promise<void> {
    quotas.checkName(name);
    const spelt = { ...input, path: this.#options.spelling?.(input.path) ?? input.path };
    await this.#records.set(name, quotas.makeLeaseQuota(spelt, this.#options.classify), check);
  }

  delete(name: string): Promise<void> {
    return this.#records.delete(name);
  }

  #reload(name: string): void {
    const quota = unlessDamaged(() => this.#records.find(name), null);
    if (quota === null) this.#limits.delete(name);
    else this.#limits.set(name, { name, quota });
  }
}
