// Rate-limit quotas: their records, which are shared, and what they let pass, which each node counts
// for itself. A request is counted before its token, its body or its rights are looked at, by an
// address and a canonical path, so that no spelling has a counter of its own.

import type { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { unlessDamaged } from "../base/damage.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import { type Meter, Meters, type Verdict } from "./buckets.ts";
import { clientOf } from "@holdfast/shared/text/client-address";
import * as failures from "./failures.ts";
import * as quotas from "./quota.ts";
import { QuotaChoice } from "./quota-choice.ts";
import { QuotaRecords } from "./quota-records.ts";

const CONFIG = "config";
const FOLDER = "rate-limit/";
const NO_HEADERS: Readonly<Record<string, string>> = {};

export interface QuotasOptions {
  /** shared/quotas/ */
  readonly view: View;
  readonly clock: Pick<Clock, "elapsed">;
  /** What the segments of a whole path lead to on this server; null for nothing. */
  readonly classify: (segments: readonly string[]) => quotas.PlaceKind | null;
  /** The one spelling of a path, as requests are counted by it. Default: as it is. */
  readonly spelling?: (path: string) => string;
  /** Called for each request that is refused. */
  readonly onRefusal?: () => void;
}

interface Rule {
  readonly name: string;
  readonly quota: quotas.Quota;
  readonly meter: Meter;
}

export interface QuotaConfigChange {
  readonly exemptPaths: readonly string[] | undefined;
  readonly auditRefusals: boolean | undefined;
  readonly headers: boolean | undefined;
}

export class Quotas {
  readonly #options: QuotasOptions;
  readonly #records: QuotaRecords<quotas.Quota>;
  readonly #meters = new Meters();
  readonly #rules = new Map<string, Rule>();
  #choice = new QuotaChoice<Rule>([]);
  #config = quotas.NO_CONFIG;
  #stopWatching: (() => void)[] = [];

  constructor(options: QuotasOptions) {
    this.#options = options;
    this.#records = new QuotaRecords(options.view.sub(FOLDER), quotas.quotaCodec);
  }

  /** Loads what is stored and follows it. Buckets begin full. */
  open(): void {
    const { view } = this.#options;
    const configure = () => {
      this.#config = unlessDamaged(() => this.config, quotas.NO_CONFIG);
    };
    this.#stopWatching = [
      view.watch(CONFIG, configure),
      this.#records.follow((names) => {
        for (const name of names) this.#reload(name);
        this.#choice = new QuotaChoice(this.#rules.values());
      }),
    ];
    configure();
  }

  close(): void {
    for (const stop of this.#stopWatching) stop();
    this.#stopWatching = [];
    for (const { meter } of this.#rules.values()) this.#meters.drop(meter);
    this.#rules.clear();
    this.#choice = new QuotaChoice<Rule>([]);
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
    return this.#records.names();
  }

  has(name: string): boolean {
    return this.#rules.has(name);
  }

  get(name: string): quotas.Quota {
    return this.#records.get(name);
  }

  /** Creates the quota or puts this one in its place; its counting begins anew. */
  async set(
    name: string,
    input: quotas.QuotaInput,
    check?: (exists: boolean) => void,
  ): Promise<void> {
    quotas.checkName(name);
    const spelt = { ...input, path: this.#options.spelling?.(input.path) ?? input.path };
    await this.#records.set(name, quotas.makeQuota(spelt, this.#options.classify), check);
  }

  delete(name: string): Promise<void> {
    return this.#records.delete(name);
  }

  // --- following what is stored ---

  #reload(name: string): void {
    const before = this.#rules.get(name);
    if (before !== undefined) this.#meters.drop(before.meter);
    this.#rules.delete(name);
    const quota = unlessDamaged(() => this.#records.find(name), null);
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
