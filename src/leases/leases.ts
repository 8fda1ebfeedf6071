// Secrets that end: what engines hand out is kept track of until it is ended outside.
// Here the parts are put together and opened; leases are of class local, those of
// shared mounts too.

import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Random, Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import type { LeaseOffer } from "@holdfast/shared/endpoint/lease";
import type { RequestContext, NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { MountFacts, ReceiptFacts } from "@holdfast/plugin-sdk/engine";
import type { Job } from "../house/room.ts";
import { attempt, factsOf } from "./revocation/attempt.ts";
import { LeaseExpiry } from "./revocation/expiry.ts";
import * as failures from "./failures.ts";
import type {
  LeaseEnded,
  LeaseReceipts,
  CubbyholeContents,
  LeaseLimit,
  LeaseLimits,
  LeaseLogins,
  LeaseMetrics,
  LeaseMounts,
  LeaseNamespaces,
  LeaseOwners,
} from "./ports.ts";
import { type Issued, Issuing, type IssuingParts } from "./issuing.ts";
import type { Lease, LeaseOwner } from "./lease.ts";
import { IdCounts } from "./rows/id-counts.ts";
import { isKeyText, isLeaseIdOf } from "./rows/lease-id.ts";
import { COUNTS } from "./rows/lease-keys.ts";
import { Limiting } from "./lease-limits.ts";
import { type LeaseCount, LeaseRows } from "./rows/lease-rows.ts";
import { LeaseTime } from "./lease-time.ts";
import { MountLeases } from "./mount-leases.ts";
import { Outcomes } from "./revocation/outcomes.ts";
import { Renewing } from "./renewing.ts";
import { Revocations } from "./revocation/revocations.ts";
import { Revoking } from "./revocation/revoking.ts";
import { unlessAborted } from "./revocation/waiting.ts";
import { StuckLeases } from "./revocation/stuck-leases.ts";
import { Sweeps } from "./revocation/sweeps.ts";
import { Tidying } from "./tidying.ts";

export interface LeasesOptions {
  /** Of everything below local/. */
  readonly local: View;
  readonly mounts: LeaseMounts;
  readonly owners: LeaseOwners;
  readonly namespaces: LeaseNamespaces;
  /** Whether something is mounted at the path, above or below it. Default: everywhere. */
  readonly isMounted?: ((namespace: NamespaceRef, path: string) => boolean) | undefined;
  /** Default: nobody has logged in. */
  readonly logins?: LeaseLogins | undefined;
  /** Where the records lie that a lease settles. */
  readonly writeAheadKey: IssuingParts["writeAheadKey"];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** Asked when it opens: how late it was where leases have been looked after until now; null: nowhere else. Default null. */
  readonly goesOnAt?: (() => Instant | null) | undefined;
  /** Default: there may be any number. */
  readonly limits?: LeaseLimits | undefined;
  /** Default: tokens have no private space. */
  readonly cubbyholes?: CubbyholeContents | undefined;
  /** Default: none are kept. */
  readonly receipts?: LeaseReceipts | undefined;
  /** Default: nobody counts. */
  readonly metrics?: LeaseMetrics | undefined;
}

export class Leases {
  readonly renewing: Renewing;
  readonly revoking: Revoking;
  readonly stuck: StuckLeases;
  readonly tidying: Tidying;
  readonly #options: LeasesOptions;
  readonly #rows: LeaseRows;
  readonly #time: LeaseTime;
  readonly #ids: IdCounts;
  readonly #limiting: Limiting;
  readonly #issuing: Issuing;
  readonly #revocations: Revocations;
  readonly #expiry: LeaseExpiry;
  readonly #sweeps: Sweeps;
  readonly #counts = new Map<string, LeaseCount>(); // by mount
  #stop = new AbortController();
  /** Whoever goes on with something at the start may do so before revocations begin. */
  #opened = Promise.withResolvers<void>();
  #unwatch = () => {};

  constructor(options: LeasesOptions) {
    const { mounts, owners, namespaces, clock, timers, random, writeAheadKey } = options;
    const log = options.log.child("leases");
    const rows = new LeaseRows(options.local, log);
    const time = new LeaseTime(clock, log);
    const now = () => time.now();
    const count: LeaseMetrics["revoked"] = (result) => options.metrics?.revoked(result);
    const ended: LeaseEnded = (tx, lease, { now: when, ...end }) => {
      const secret = mounts.byUuid(lease.mountUuid)?.type.secrets?.[lease.secretType];
      let facts: ReceiptFacts = {};
      try {
        facts = secret?.receipt?.(factsOf(lease)) ?? {};
      } catch {
        log.warn("an engine does not say what a lease stood for"); // that it has ended counts for more
      }
      options.receipts?.(tx, { lease, facts, ...end }, when);
    };
    const outcomes = new Outcomes({ rows, now, random, count, ended });
    const revocations: Revocations = new Revocations({
      local: options.local,
      clock,
      timers,
      attempt: (lease, stop) => attempt(lease, { mounts, timers, log }, stop),
      record: (lease, attempted, cause) => outcomes.record(lease, attempted, cause),
      onRoom: (uuid, unwritten) => this.#expiry.onRoom(uuid, unwritten),
    });
    const sweeps = new Sweeps({ rows, now, timers, random, log });
    this.#options = options;
    this.#rows = rows;
    this.#time = time;
    this.#revocations = revocations;
    this.#sweeps = sweeps;
    this.#expiry = new LeaseExpiry({ rows, revocations, now, timers, log });
    this.#ids = new IdCounts(rows);
    this.#limiting = new Limiting({
      limits: options.limits ?? { on: () => null },
      mounts,
      counts: this.#counts,
      ids: this.#ids,
      timers,
    });
    this.#issuing = new Issuing({
      limiting: this.#limiting,
      rows,
      mounts,
      owners,
      now,
      random,
      log,
      writeAheadKey,
      attempt: (lease) => attempt(lease, { mounts, timers, log }, new AbortController().signal),
    });
    const isEnding = revocations.has.bind(revocations);
    this.renewing = new Renewing({ rows, mounts, now, isEnding });
    const { logins = { endBelow: async () => {} } } = options;
    this.revoking = new Revoking({
      rows,
      revocations,
      sweeps,
      now,
      timers,
      log,
      count,
      logins,
      ended,
    });
    this.stuck = new StuckLeases({ rows, mounts, namespaces, timers, now });
    this.tidying = new Tidying({ rows, owners, now, timers, log });
  }

  /** Whether another cluster ends tokens that are global. */
  get globalElsewhere(): boolean {
    return this.#options.logins?.globalElsewhere ?? false;
  }

  // --- life ---

  open(): void {
    this.#counts.clear();
    const time = this.#options.goesOnAt?.() ?? null;
    if (time !== null) this.#time.goOnAt(time);
    for (const [uuid, { seen, ...count }] of this.#rows.counts()) {
      this.#counts.set(uuid, count);
      this.#time.atLeast(seen);
    }
    this.#unwatch = this.#options.local.watch(COUNTS, ({ keys }) => {
      for (const key of keys) this.#recount(key.slice(COUNTS.length));
    });
  }

  close(): void {
    this.#unwatch();
    this.#ids.close();
    this.#counts.clear();
  }

  /** Leases are of class local: each cluster ends its own. */
  get jobs(): readonly Job[] {
    const when = "while-active";
    const expiry = {
      open: () => this.#expiry.open(this.#counts.keys()),
      close: () => this.#expiry.close(),
    };
    const revocations = { open: () => this.#begin(), close: () => this.#end() };
    return [
      { name: "tidy leases", when, work: this.tidying },
      { name: "queue leases for revocation", when, work: this.#sweeps },
      { name: "find leases that end", when, work: expiry },
      { name: "revoke leases", when, work: revocations },
    ];
  }

  #begin(): void {
    this.#stop = new AbortController();
    this.#revocations.open();
    this.#opened.resolve();
  }

  /** What is being revoked is cut off, and begun again. */
  #end(): Promise<void> {
    this.#opened = Promise.withResolvers();
    this.#stop.abort();
    return this.#revocations.close();
  }

  // --- what others ask ---

  /** Before a secret is made: refuses where there are as many leases as there may be. */
  admit({ mount, path }: RequestContext): void {
    if (mount !== null) this.#limiting.admit(mount, path.text);
  }

  /** How many leases there are below the path of a quota. */
  counted(limit: LeaseLimit): Promise<number> {
    return this.#limiting.counted(limit);
  }

  issue(offer: LeaseOffer, context: RequestContext): Promise<Issued> {
    return this.#issuing.issue(offer, context);
  }

  /** Of an answer that is refused: what it stands for is ended. */
  end(offer: LeaseOffer, context: RequestContext): Promise<void> {
    return this.#issuing.end(offer, context);
  }

  /** In the transaction that ends the token: its private space goes, its leases are sure to. */
  ends(tx: Tx, owner: LeaseOwner): void {
    this.#options.cubbyholes?.wipe(tx, owner.namespaceId, owner.accessor);
    this.#sweeps.ownerEnds(tx, owner);
  }

  /** Rejects when one cannot be revoked, or when the signal says to stop. */
  async revokeMount(
    uuid: string,
    signal: AbortSignal,
    progress: (left: number) => void,
  ): Promise<void> {
    await unlessAborted(this.#opened.promise, signal);
    await this.revoking.revokeMount(uuid, signal, progress);
  }

  /** All of a token; rejects like `revokeMount`. */
  async revokeOwner(owner: LeaseOwner, signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#opened.promise, signal);
    await this.revoking.revokeOwner(owner, signal);
  }

  /** What an engine may ask of the leases that it has given. */
  of(mount: Pick<MountFacts, "uuid" | "namespace" | "path">): MountLeases {
    const { timers } = this.#options;
    const parts = { rows: this.#rows, sweeps: this.#sweeps, stuck: this.stuck, timers };
    return new MountLeases(parts, mount);
  }

  /** From storage: what is decided by it must not depend on who opens first. */
  countOf(mountUuid: string): number {
    return this.#rows.countOf(mountUuid).leases;
  }

  /** All there are, at no cost. */
  get total(): LeaseCount {
    let [leases, irrevocable] = [0, 0];
    for (const count of this.#counts.values()) {
      leases += count.leases;
      irrevocable += count.irrevocable;
    }
    return { leases, irrevocable };
  }

  /** Mounts with leases that could not be revoked, at no cost. */
  stuckByMount(): readonly { readonly uuid: string; readonly count: number }[] {
    const stuck = Array.from(this.#counts).filter(([, { irrevocable }]) => irrevocable > 0);
    return stuck.map(([uuid, { irrevocable: count }]) => ({ uuid, count }));
  }

  /** Of a namespace that goes away, some. True when none is left. */
  async wipe(namespaceId: string): Promise<boolean> {
    const { signal } = this.#stop;
    await unlessAborted(this.#opened.promise, signal);
    return this.revoking.wipe(namespaceId, signal);
  }

  hasAny(tx: Tx, namespaceId: string): boolean {
    return this.#rows.below(namespaceId, "", { limit: 1 }, tx).length > 0;
  }

  // --- reading ---

  lookup(namespace: NamespaceRef, id: string): Lease {
    const lease = isLeaseIdOf(namespace, id)
      ? this.#rows.at({ namespaceId: namespace.id, id })
      : null;
    if (lease === null) throw failures.invalidLease();
    return lease;
  }

  isMounted(namespace: NamespaceRef, path: string): boolean {
    return this.#options.isMounted?.(namespace, path) ?? true;
  }

  now(): Instant {
    return this.#time.now();
  }

  /** Names one level below the path, which may be empty. */
  list(
    namespace: NamespaceRef,
    prefix: string,
    page: { readonly after?: string | undefined; readonly limit: number },
  ): string[] {
    const { after, limit } = page;
    if (prefix !== "" && !isKeyText(prefix)) throw failures.prefixInvalid();
    const from = after === undefined || after === "" ? { limit } : { limit, after };
    return this.#rows.names(namespace.id, prefix === "" ? "" : `${prefix}/`, from);
  }

  #recount(mountUuid: string): void {
    const count = this.#rows.countOf(mountUuid);
    if (count.leases === 0) this.#counts.delete(mountUuid);
    else this.#counts.set(mountUuid, { leases: count.leases, irrevocable: count.irrevocable });
  }
}
