// Rate-limit quotas: their records, which are shared, and what they let pass, which each node counts
// for itself. A request is counted before its token, its body or its rights are looked at, by an
// address and a canonical path, so that no spelling has a counter of its own.

import type { CanonicalPath } from "../base/canonical-path.ts";
import { unlessDamaged } from "../base/damage.ts";
import { SECOND } from "../base/duration.ts";
import type { Clock } from "../base/world.ts";
import type { View } from "../barrier/view.ts";
import type { NamespaceRef } from "../endpoint/request.ts";
import { Meters, type Verdict } from "./buckets.ts";
import { clientOf } from "./client-address.ts";
import * as failures from "./failures.ts";
import * as quotas from "./quota.ts";
import { QuotaChoice, type Rule } from "./quota-choice.ts";

const CONFIG = "config";
const FOLDER = "rate-limit/";
const MAX_QUOTAS = 1000; // patterns among them are tried one by one
const NO_HEADERS: Readonly<Record<string, string>> = {};

export interface QuotasOptions {
  /** shared/quotas/ */
  readonly view: View;
  readonly clock: Pick<Clock, "elapsed">;
  /** What the segments of a whole path lead to on this server; null for nothing. */
  readonly classify: (segments: readonly string[]) => quotas.PlaceKind | null;
  /** Called for each request that is refused. */
  readonly onRefusal?: () => void;
}

export interface QuotaConfigChange {
  readonly exemptPaths: readonly string[] | undefined;
  readonly auditRefusals: boolean | undefined;
  readonly headers: boolean | undefined;
}

export class Quotas {
  readonly #options: QuotasOptions;
  readonly #meters = new Meters();
  readonly #rules = new Map<string, Rule>();
  #choice = new QuotaChoice([]);
  #config = quotas.NO_CONFIG;
  #stopWatching: (() => void) | null = null;

  constructor(options: QuotasOptions) {
    this.#options = options;
  }

  /** Loads what is stored and follows it. Buckets begin full. */
  open(): void {
    const { view } = this.#options;
    this.#stopWatching = view.watch("", ({ keys }) => this.#follow(keys));
    this.#follow([CONFIG, ...view.keys(FOLDER, { limit: MAX_QUOTAS })]);
  }

  close(): void {
    this.#stopWatching?.();
    this.#stopWatching = null;
    for (const { meter } of this.#rules.values()) this.#meters.drop(meter);
    this.#rules.clear();
    this.#choice = new QuotaChoice([]);
    this.#config = quotas.NO_CONFIG;
  }

  // --- what the pipeline asks ---

  /** Whether refused requests are to be audited. */
  get auditRefusals(): boolean {
    return this.#config.auditRefusals;
  }

  /** Counts the request. Gives headers to send with the answer, or refuses. */
  admit(request: {
    readonly namespace: NamespaceRef;
    readonly path: CanonicalPath;
    readonly mountPoint: string;
    readonly address: string;
    readonly exempt: boolean;
  }): Readonly<Record<string, string>> {
    if (request.exempt || this.#rules.size === 0) return NO_HEADERS;
    const base = request.namespace.path === "" ? "" : `${request.namespace.path}/`;
    const path = base + request.path.text;
    if (this.#config.exemptPaths.some((pattern) => quotas.matches(pattern, path))) {
      return NO_HEADERS;
    }
    const rule = this.#choice.choose(base, request.mountPoint, path);
    if (rule === null) return NO_HEADERS;
    const now = Number(this.#options.clock.elapsed());
    const verdict = rule.meter.take(clientOf(request.address), now);
    const headers = this.#config.headers ? headersOf(verdict) : NO_HEADERS;
    if (verdict.admitted) return headers;
    this.#options.onRefusal?.();
    throw failures.rateLimited(wholeSeconds(verdict.retry), headers);
  }

  // --- what operators ask ---

  get config(): quotas.QuotaConfig {
    return this.#options.view.get(CONFIG, quotas.configCodec) ?? quotas.NO_CONFIG;
  }

  /** Changes what is given and leaves the rest. */
  async configure(change: QuotaConfigChange): Promise<void> {
    const exemptPaths = change.exemptPaths?.map(quotas.exemptPath);
    await this.#options.view.write((tx) => {
      const before = tx.get(CONFIG, quotas.configCodec) ?? quotas.NO_CONFIG;
      const after: quotas.QuotaConfig = {
        exemptPaths: exemptPaths ?? before.exemptPaths,
        auditRefusals: change.auditRefusals ?? before.auditRefusals,
        headers: change.headers ?? before.headers,
      };
      tx.put(CONFIG, after, quotas.configCodec);
    });
  }

  names(): string[] {
    return this.#options.view.list(FOLDER, { limit: MAX_QUOTAS });
  }

  has(name: string): boolean {
    return this.#rules.has(name);
  }

  get(name: string): quotas.Quota {
    quotas.checkName(name);
    const quota = this.#options.view.get(FOLDER + name, quotas.quotaCodec);
    if (quota === null) throw failures.unknownQuota();
    return quota;
  }

  /** Creates the quota or puts this one in its place; its counting begins anew. */
  async set(name: string, asked: quotas.QuotaAsked): Promise<void> {
    quotas.checkName(name);
    const quota = quotas.makeQuota(asked, this.#options.classify);
    await this.#options.view.write((tx) => {
      const stored = tx.records(FOLDER, quotas.quotaCodec, { limit: MAX_QUOTAS + 1 });
      const others = stored.filter(({ key }) => key !== FOLDER + name);
      // Two on one path would leave it to chance which of them applies.
      const same = others.find(({ value }) => value.path === quota.path);
      if (same !== undefined) throw failures.pathTaken(same.key.slice(FOLDER.length));
      if (others.length >= MAX_QUOTAS) throw failures.tooMany(MAX_QUOTAS);
      tx.put(FOLDER + name, quota, quotas.quotaCodec);
    });
  }

  async delete(name: string): Promise<void> {
    quotas.checkName(name);
    await this.#options.view.write((tx) => {
      if (tx.get(FOLDER + name, quotas.quotaCodec) !== null) tx.delete(FOLDER + name);
    });
  }

  // --- following what is stored ---

  #follow(keys: readonly string[]): void {
    for (const key of keys) {
      if (key === CONFIG) this.#config = unlessDamaged(() => this.config, quotas.NO_CONFIG);
      else this.#reload(key.slice(FOLDER.length));
    }
    this.#choice = new QuotaChoice(this.#rules.values());
  }

  #reload(name: string): void {
    const before = this.#rules.get(name);
    if (before !== undefined) this.#meters.drop(before.meter);
    this.#rules.delete(name);
    const read = () => this.#options.view.get(FOLDER + name, quotas.quotaCodec);
    const quota = unlessDamaged(read, null);
    if (quota === null) return;
    const { rate, interval, blockInterval } = quota;
    const meter = this.#meters.meter({ rate, interval, block: blockInterval });
    this.#rules.set(name, { name, quota, meter });
  }
}

function headersOf({ limit, remaining, reset }: Verdict): Readonly<Record<string, string>> {
  return {
    "X-Ratelimit-Limit": String(limit),
    "X-Ratelimit-Remaining": String(remaining),
    "X-Ratelimit-Reset": String(wholeSeconds(reset)),
  };
}

/** Rounded up, so that whoever waits so long is let in; a nanosecond is not worth a second more. */
function wholeSeconds(nanos: number): number {
  return Math.ceil(nanos / Number(SECOND) - 1e-8);
}
