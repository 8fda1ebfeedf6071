// Mounts: which there are, what they are tuned to, and how they come and go. Requests
// find them in memory (mount-table.ts); changes are decided inside a transaction, on the rows.

import { describe, Failure, type FailureKind } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import {
  type Endpoint,
  type Served,
  serve,
  serveMounted,
  type WritesTo,
} from "@holdfast/shared/endpoint/endpoint";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { NamespaceContents } from "../namespaces/contents.ts";
import type { PathsTaken } from "../namespaces/namespaces.ts";
import type { Concern, ConcernKind } from "@holdfast/plugin-sdk/concern";
import type { EngineOptions, EngineType, MountFacts } from "@holdfast/plugin-sdk/engine";
import { NO_SERVICES } from "@holdfast/plugin-sdk/engine-services";
import type { Job } from "../house/room.ts";
import { orphansApi } from "./api/api-orphans.ts";
import { Disabling } from "./disabling.ts";
import { EngineRoutes } from "./engine-routes.ts";
import { type EvacuationReport, Evacuating } from "./evacuating.ts";
import { leavingOf, type MountLogins, type MountsElsewhere, stopped } from "./teardown.ts";
import * as failures from "./failures.ts";
import { FixedMounts } from "./table/fixed-mounts.ts";
import { changed, checkConfig, type ServerTtls } from "./table/mount-config.ts";
import { readKnownPath } from "./table/mount-path.ts";
import type { MountKind, MountRecord } from "./table/mount-record.ts";
import { MountRows } from "./table/mount-rows.ts";
import { Table } from "./table/mount-table.ts";
import type { DisableProgress, MountChange, MountsOptions, NewMount, MountView } from "./ports.ts";
import { changedOptions, checkVersion, MountTypes, type TypeOf } from "./table/mount-types.ts";
import { Moves } from "./moves.ts";
import type { FoundMount, Mount, MountWorld, OpenMount } from "./open-mount.ts";
import { MountRemains } from "./remains.ts";
import { SnapshotMounts } from "./then/snapshot-mounts.ts";
import { Orphans } from "./undo/orphans.ts";
import { Rollback } from "./undo/rollback.ts";

const MAX_MOUNTS = 20_000; // each is held in memory, and a namespace's administrator can make them
const NO_LOGINS: MountLogins = { end: async () => {}, has: () => false };
const NOWHERE_ELSE: MountsElsewhere = {
  evacuated: async () => [],
  leftOf: () => 0,
  tell: () => {},
  withholds: () => false,
};
/** Of a plugin that does not start. */
const TRANSIENT: ReadonlySet<FailureKind> = new Set(["unavailable", "upstream", "timed-out"]);
const DISABLE_WAIT: Nanos = 60n * SECOND; // then it goes on in the background

export class Mounts implements PathsTaken, NamespaceContents {
  readonly name = "mounts";
  readonly rows: MountRows;
  readonly orphans: Orphans;
  readonly moves: Moves;
  readonly #options: MountsOptions;
  readonly #described = new WeakMap<readonly Endpoint<never>[], readonly Served[]>();
  readonly #types: MountTypes;
  readonly #table: Table;
  readonly #fixed: FixedMounts;
  readonly #rollback: Rollback;
  readonly #disabling: Disabling;
  readonly #evacuating: Evacuating;
  readonly #elsewhere: MountsElsewhere;
  readonly #remains: MountRemains;
  readonly #routes: EngineRoutes;
  #started = awaited();
  #leading = false;

  constructor(options: MountsOptions) {
    this.#options = options;
    const { shared, local, clock, timers, random, log, ttls, namespaces } = options;
    const { logins = NO_LOGINS } = options;
    this.rows = new MountRows({ shared, local, logins });
    this.#remains = new MountRemains({ shared, local, logins, timers, log });
    this.#routes = new EngineRoutes({
      routes: options.routes,
      besides: (type) => (type.undo === undefined ? [] : serve(this.orphans, orphansApi)),
    });
    const routes = this.#routes;
    const {
      services = () => NO_SERVICES,
      tookOver = () => null,
      sharedSince = () => null,
    } = options;
    const parts = { shared, local, clock, timers, random, log, ttls };
    const leads = () => this.#leading;
    const leadsSince = () => later(tookOver()?.at ?? null, sharedSince());
    const world: MountWorld = { ...parts, routes, services, leads, leadsSince };
    this.#fixed = new FixedMounts(world, options.fixed ?? []);
    const { types, aliases = new Map() } = options;
    const { foreign } = options;
    const fixed = this.#fixed.types();
    this.#types = new MountTypes({ types, foreign, aliases, fixed, random, ttls });
    const typeOf = (record: TypeOf) => this.typeOf(record);
    const changed = (uuid: string) => this.#evacuating.look(uuid);
    const withholds = (uuid: string) => this.#elsewhere.withholds(uuid);
    this.#table = new Table({ rows: this.rows, world, typeOf, namespaces, changed, withholds });
    const all = () => this.#table.all();
    this.#rollback = new Rollback({ mounts: all, tookOver, clock, timers, log });
    const { leases, requestsLeft, elsewhere = NOWHERE_ELSE } = options;
    const rollback = this.#rollback;
    const evacuation = { leases, logins, rollback, requestsLeft, elsewhere, timers, log };
    this.#elsewhere = elsewhere;
    this.#evacuating = new Evacuating({
      evacuation,
      mounts: () => Array.from(all()).filter((mount) => !this.#isOurs(mount)),
      mount: (uuid) => {
        const mount = this.#table.byUuid(uuid);
        return mount === null || this.#isOurs(mount) ? null : mount;
      },
      withholds,
      tell: () => elsewhere.tell(),
    });
    this.#disabling = new Disabling({ rows: this.rows, evacuation, log });
    this.moves = new Moves({
      rows: this.rows,
      table: this.#table,
      evacuation,
      random,
      log,
      namespaces,
    });
    this.orphans = new Orphans({ table: this.#table, clock });
  }

  /** What is asked for from now on waits until the room's work has begun. */
  lead(): void {
    this.#started = awaited();
  }

  /** Loads the table. */
  open(): Promise<void> {
    return this.#table.open();
  }

  /** Whoever mounted something here looks after it, also where the mount is shared. */
  get jobs(): readonly Job[] {
    const work = { open: () => this.start(), close: () => this.stop() };
    const when = "while-active";
    return [
      { name: "undo, disable and move", when, work },
      { name: "give up what was given by mounts that go", when, work: this.#evacuating },
      { name: "remove what is left of mounts", when, work: this.#remains },
    ];
  }

  /** Goes on with what a crash or a seal has cut off. */
  start(): void {
    this.#disabling.open();
    this.moves.open();
    this.#leading = true;
    this.#table.lead();
    for (const mount of this.#table.all()) {
      const { kind } = mount.record.state;
      if (!this.#isOurs(mount)) continue; // who writes it does
      if (kind === "disabling") this.#disabling.start(mount);
      if (kind === "moving") this.moves.resume(mount);
    }
    this.#rollback.start();
    this.#started.resolve();
  }

  /** Whether engines may write. */
  get leads(): boolean {
    return this.#leading;
  }

  /** Waits for the steps that have begun. */
  async stop(): Promise<void> {
    this.#started = awaited();
    this.#started.reject(stopped());
    this.#leading = false;
    const jobs = [this.#rollback.stop(), this.#disabling.stop(), this.moves.stop()];
    await Promise.all([...jobs, this.#table.rest()]);
  }

  async close(): Promise<void> {
    await this.#table.close();
    await this.#fixed.close();
  }

  // --- what every request asks ---

  find(namespace: NamespaceRef, segments: readonly string[]): FoundMount | null {
    return this.#table.find(namespace, segments) ?? this.#fixed.find(namespace, segments);
  }

  /** Also one that is being disabled; null while its engine is not there. */
  byUuid(uuid: string): OpenMount | null {
    return (this.#table.byUuid(uuid) ?? this.#fixed.byUuid(uuid))?.opened ?? null;
  }

  /** For another cluster, by the engine of a mount that is shared with it; null where this one cannot do it. */
  async takeUse(uuid: string, what: JsonObject): Promise<boolean | null> {
    const mount = this.#table.byUuid(uuid);
    const { type = null, opened = null } = mount ?? {};
    if (mount === null || opened === null || type?.takeUse === undefined) return null;
    if (mount.record.local || mount.isOthers || !this.isOpen(uuid)) return null;
    return await type.takeUse(opened.ref.engine, what);
  }

  /** Whether nothing is known of it: it was disabled, here or where it is written. */
  isGone(uuid: string): boolean {
    return this.#table.byUuid(uuid) === null && this.#fixed.byUuid(uuid) === null;
  }

  /** Whether requests reach it: not while it is being disabled or moved, nor when it is gone. */
  isOpen(uuid: string): boolean {
    return this.#table.byUuid(uuid)?.record.state.kind === "active";
  }

  /** Mounts with logins that a path leads to, or into, or that lie below it; with what is left of the path. */
  loginsAt(namespace: NamespaceRef, prefix: string): { mount: string; login: string }[] {
    const folder = `${prefix}/`;
    return this.#table.of(namespace.id).flatMap(({ record: { kind, uuid, path } }) => {
      if (kind !== "auth") return [];
      if (path.startsWith(folder)) return [{ mount: uuid, login: "" }];
      return folder.startsWith(path) ? [{ mount: uuid, login: prefix.slice(path.length) }] : [];
    });
  }

  hasAccessor(accessor: string): boolean {
    return this.#accessors().has(accessor);
  }

  get types(): readonly EngineType<unknown>[] {
    return this.#options.types;
  }

  /** Not of those that every namespace has. */
  typeOf({ kind, type, plugin }: TypeOf): EngineType<unknown> | null {
    return plugin === undefined
      ? this.#types.of(kind, type)
      : this.#types.any({ kind, type, plugin });
  }

  /** Whether something is mounted there. Looks only: a path that cannot be one is none. */
  has(namespace: NamespaceRef, kind: MountKind, path: string): boolean {
    const prefix = kind === "auth" ? "auth/" : "";
    const whole = `${prefix}${path}/`;
    const there = this.#table.at(namespace.id, whole)?.record.kind ?? null;
    return there === kind || this.#fixed.has(whole);
  }

  /** Where what is written of the mount there belongs; what is not mounted is nobody's yet, and shared by itself. */
  belongs(namespace: NamespaceRef, kind: MountKind, path: string): WritesTo {
    const whole = kind === "auth" ? `auth/${path}/` : `${path}/`;
    return this.#table.at(namespace.id, whole)?.record.local === true ? "local" : "shared";
  }

  // --- reading ---

  /** In the order of their paths. */
  list(namespace: NamespaceRef, kind: MountKind): MountView[] {
    const own = this.#table.of(namespace.id).filter(({ record }) => record.kind === kind);
    const fixed = this.#fixed.records(namespace, kind);
    const all = [...own.map((mount) => this.#view(mount)), ...fixed.map(fixedView)];
    return all.toSorted((a, b) => (a.record.path < b.record.path ? -1 : 1));
  }

  read(namespace: NamespaceRef, kind: MountKind, path: string): MountView {
    const whole = readKnownPath(path, kind);
    const fixed = this.#fixed.records(namespace, kind).find((record) => record.path === whole);
    if (fixed !== undefined) return fixedView(fixed);
    const mount = this.#table.at(namespace.id, whole);
    if (mount === null) throw failures.notMounted(kind, whole);
    return this.#view(mount);
  }

  /** The one that serves the path, by whatever is in the table. */
  serving(namespace: NamespaceRef, segments: readonly string[]): MountView | null {
    const found = this.find(namespace, segments);
    if (found === null) return null;
    const mount = this.#table.byUuid(found.ref.uuid) ?? this.#fixed.byUuid(found.ref.uuid);
    return mount === null ? null : this.#view(mount);
  }

  /** Where the one lies that serves the path, also one that nothing is stored of. */
  placeOf(
    namespace: NamespaceRef,
    segments: readonly string[],
  ): { readonly path: string; readonly isLocal: boolean; readonly isFixed: boolean } | null {
    const fixed = [segments.slice(0, 1), segments.slice(0, 2)].map((some) => `${some.join("/")}/`);
    const path = fixed.find((one) => this.#fixed.has(one));
    if (path !== undefined) return { path, isLocal: true, isFixed: true };
    const { record } = this.serving(namespace, segments) ?? {};
    if (record === undefined) return null;
    return { path: record.path, isLocal: record.local, isFixed: false };
  }

  /** Whether something is at the path, above or below it; also what is being disabled or moved. */
  isMounted(namespace: NamespaceRef, path: string): boolean {
    const prefix = `${path.replace(/\/$/, "")}/`;
    const mounts = [...this.list(namespace, "secret"), ...this.list(namespace, "auth")];
    return mounts.some(
      ({ record }) => prefix.startsWith(record.path) || record.path.startsWith(prefix),
    );
  }

  /** What such a mount answers to; of one that is there, what its engine has declared. */
  endpointsOf(
    record: Pick<MountRecord, "kind" | "type" | "options" | "plugin"> & Partial<MountRecord>,
  ): readonly Served[] {
    const type = this.#types.any(record);
    if (type === null) return [];
    const opened = record.uuid === undefined ? null : (this.byUuid(record.uuid) ?? null);
    const sorted = opened === null ? undefined : type.sorts?.(opened.ref.engine);
    // Of several sets nobody can tell which of them answers on a path that is not asked yet.
    if (opened !== null && sorted !== undefined && Object.keys(sorted.sets).length === 1) {
      return this.#routes.opened(type, record.options, opened.ref.engine).endpoints;
    }
    return this.#routes.of(type, record.options).endpoints;
  }

  /** What is known of a mount for documents beyond what is declared, and a text where it is not known now; null where nothing is. */
  describedOf({ uuid }: MountRecord): Promise<readonly Served[] | string> | null {
    const mount = this.#table.byUuid(uuid);
    const { type = null, opened = null } = mount ?? {};
    if (type?.described === undefined) return null;
    if (opened === null) return Promise.resolve("it does not run");
    const found = type.described(opened.ref.engine);
    return found.then((said) => (typeof said === "string" ? said : this.#servedOf(said)));
  }

  /** The same list for the same one: documents are kept by it. */
  #servedOf(said: readonly Endpoint<never>[]): readonly Served[] {
    const served = this.#described.get(said) ?? serveMounted(said);
    this.#described.set(said, served);
    return served;
  }

  get ttls(): ServerTtls {
    return this.#options.ttls;
  }

  /** Records that rollback cannot undo, by mount. */
  orphansByMount(): { readonly uuid: string; readonly accessor: string; readonly count: number }[] {
    return [...this.#table.all()].flatMap(({ record: { uuid, accessor } }) => {
      const count = this.#rollback.orphansOf(uuid);
      return count === 0 ? [] : [{ uuid, accessor, count }];
    });
  }

  /** What engines say that somebody should look at: from their memory. */
  concerns(kind: ConcernKind): { readonly record: MountRecord; readonly concern: Concern }[] {
    return [...this.#table.all()].flatMap(({ record, type, opened }) => {
      if (type?.concerns === undefined || opened === null) return [];
      const own = type.concerns(opened.ref.engine).filter((concern) => concern.kind === kind);
      return own.map((concern) => ({ record, concern }));
    });
  }

  /** Another cluster has sent it: mounts in it may have been here before. */
  namespaceCame(id: string): void {
    this.#table.lookIn(id);
  }

  /** They are withheld from this cluster by whoever shares them, or are not any more. */
  lookAt(uuids: readonly string[]): void {
    for (const uuid of uuids) {
      this.#table.look(uuid);
      this.#evacuating.look(uuid);
    }
  }

  /** Resolves when nothing is left that was given by these. */
  evacuated(uuids: readonly string[], signal: AbortSignal): Promise<void> {
    return this.#evacuating.done(uuids, signal);
  }

  /** How far this cluster is with mounts that another one disables or moves. */
  evacuations(): EvacuationReport[] {
    return this.#evacuating.reports();
  }

  /** Of a mount that another cluster writes; null where there is none. */
  sharedFacts(uuid: string): Pick<MountFacts, "uuid" | "namespace" | "path"> | null {
    const mount = this.#table.byUuid(uuid);
    if (mount === null || mount.record.local || !mount.isOthers) return null;
    return { uuid, namespace: mount.namespace, path: () => mount.record.path };
  }

  /** All of them, in every namespace. */
  *everywhere(): Iterable<Pick<Mount, "record" | "namespace">> {
    for (const { record, namespace } of this.#table.all()) yield { record, namespace };
  }

  recordOf(uuid: string): MountRecord | null {
    return this.#table.byUuid(uuid)?.record ?? null;
  }

  /** Mounts as a loaded snapshot has them, for reading. */
  in(data: { readonly shared: View; readonly local: View }): SnapshotMounts {
    const { clock, timers, random, log, ttls } = this.#options;
    const { shared, local } = data;
    const typeOf = (record: TypeOf) => this.typeOf(record);
    const today = (uuid: string) => this.recordOf(uuid);
    const world = { clock, timers, random, log, ttls };
    return new SnapshotMounts({ ...world, shared, local, typeOf, today });
  }

  // --- changing ---

  /** `check` is told, before anything is changed, that there is no such mount: else it is refused. */
  async enable(
    namespace: NamespaceRef,
    input: NewMount,
    check?: (exists: boolean) => void,
  ): Promise<MountRecord> {
    const record = this.#types.newRecord(namespace, input, this.#accessors());
    await this.#options.shared.write((tx) => {
      this.#add(tx, namespace, record);
      check?.(false);
    });
    const mount = this.#table.byUuid(record.uuid);
    await mount?.settled();
    if (mount !== null && mount.opened === null) {
      // Nothing has been in it: it goes as it came.
      const cause = mount.cause ?? "";
      const texts = mount.troubleTexts ?? undefined;
      await this.rows.viewOf(record).write((tx) => this.rows.remove(tx, record));
      throw record.plugin === undefined
        ? failures.notReady(cause)
        : failures.pluginNotStarted(cause, texts);
    }
    return record;
  }

  async tune(
    namespace: NamespaceRef,
    kind: MountKind,
    path: string,
    change: MountChange,
  ): Promise<void> {
    const mount = this.#changeable(namespace, kind, path);
    const { type, record } = mount;
    const { options, version } = change;
    const wasThere = mount.opened !== null;
    if (record.plugin !== undefined && version !== undefined) {
      await this.#changeVersion(mount, this.#types.chosenVersion(record, version), change);
    } else {
      if (type !== null) checkVersion(type, version);
      if (options !== undefined) await askForOptions(mount, options);
      await this.#change(mount, change);
    }
    if (options === undefined) return;
    await mount.settled(); // with other ones it is opened anew
    if (wasThere && record.plugin !== undefined && mount.opened === null) {
      await this.#takeBackOptions(mount, record);
    }
  }

  /** A plugin has refused them: it goes on with those that it had. */
  async #takeBackOptions(mount: Mount, { options }: MountRecord): Promise<never> {
    const refused = failures.pluginNotStarted(mount.cause ?? "", mount.troubleTexts ?? undefined);
    await this.#options.shared.write((tx) => {
      const record = this.rows.current(tx, mount.record);
      if (record !== null) this.rows.put(tx, { ...record, options });
    });
    await mount.settled();
    throw refused;
  }

  /** One that does not start takes no other's place. */
  async #changeVersion(mount: Mount, version: string, change: MountChange): Promise<void> {
    const { record } = mount;
    const before = record.plugin;
    const type = this.typeOf({ ...record, plugin: { version } });
    try {
      await mount.replace(type, version, () => this.#change(mount, change, { version }));
    } catch (error) {
      const { plugin } = mount.record;
      if (before?.version !== plugin?.version) {
        await this.#change(mount, { config: {} }, before);
        await mount.settled();
      }
      throw asNotStarted(error);
    }
  }

  #change(mount: Mount, change: MountChange, plugin?: MountRecord["plugin"]): Promise<void> {
    return this.#options.shared.write((tx) => {
      const record = this.rows.current(tx, mount.record);
      if (record === null) throw failures.notMounted(mount.record.kind, mount.record.path);
      if (record.state.kind !== "active") throw failures.busy(record.state.kind);
      const config = changed(record.config, change.config);
      checkConfig(config, this.ttls);
      const description = change.description ?? record.description;
      const { options } = change;
      const next =
        options === undefined ? record.options : changedOptions(mount.type, record, options);
      const after = { ...record, config, description, options: next };
      this.rows.put(tx, plugin === undefined ? after : { ...after, plugin });
    });
  }

  // --- plugins ---

  /** Those of a plugin, in every namespace; of one of its kinds, or of any. */
  ofPlugin(name: string, kind: MountKind | null): MountRecord[] {
    return [...this.#table.all()]
      .map(({ record }) => record)
      .filter(({ type, plugin }) => type === name && plugin !== undefined)
      .filter((record) => kind === null || record.kind === kind);
  }

  /** Of plugins that are missing or do not start. */
  unloaded(): { readonly record: MountRecord; readonly isTriedAgain: boolean }[] {
    return [...this.#table.all()].flatMap(({ record, trouble, isTriedAgain }) => {
      const isAtRest = record.state.kind === "active" && trouble !== null;
      return isAtRest && record.plugin !== undefined ? [{ record, isTriedAgain }] : [];
    });
  }

  /** Another engine takes the place of that of the mount, once it is opened. Throws with nothing changed where it cannot be. */
  async reload(uuid: string): Promise<void> {
    const mount = this.#table.byUuid(uuid);
    if (mount === null) return;
    try {
      await mount.reload();
    } catch (error) {
      throw asNotStarted(error);
    }
  }

  /** Null: there is nothing. Otherwise it goes on after the wait is over, and after a crash. */
  async disable(
    namespace: NamespaceRef,
    kind: MountKind,
    path: string,
    how: { readonly abandon: boolean; readonly wait?: Nanos },
  ): Promise<DisableProgress | null> {
    const whole = readKnownPath(path, kind);
    if (this.#fixed.has(whole)) throw failures.fixedMount(whole);
    const mount = this.#table.at(namespace.id, whole);
    if (mount === null) return null;
    const warnings = await this.#disabling.mark(mount, how.abandon);
    const job = this.#disabling.start(mount);
    await this.#waitFor(job.done, how.wait ?? DISABLE_WAIT);
    if (job.running || job.cutOff)
      return { done: false, leasesLeft: this.#leasesLeft(mount), warnings };
    if (job.failure !== null) throw failures.notDisabled(job.failure);
    return { done: true, leasesLeft: 0, warnings };
  }

  // --- namespaces ---

  takenBy(tx: Tx, namespace: { readonly id: string }, name: string): string | null {
    const way = this.rows.inTheWay(tx, namespace.id, `${name}/`);
    return way === null ? null : `the mount ${way}`;
  }

  /** One mount at a time, each to its end: leases first, then what it has stored. */
  async wipe(namespaceId: string): Promise<boolean> {
    await this.#started.promise;
    await this.moves.settled(namespaceId);
    await this.#fixed.forget(namespaceId);
    const own = () => this.#table.within(namespaceId).filter((mount) => this.#isOurs(mount));
    const [mount] = own();
    if (mount === undefined) return true;
    await this.#disabling.mark(mount, true);
    const job = this.#disabling.start(mount);
    await job.done;
    if (job.failure !== null) throw job.failure;
    return own().length === 0;
  }

  /** In the transaction that makes the store: the default mounts, once and for all. */
  created(tx: Tx): void {
    for (const { path, type, options, description } of this.#options.defaults ?? []) {
      if (this.#types.of("secret", type) === null) continue;
      const mount = { kind: "secret", path, type, options, description } as const;
      this.#add(
        tx,
        ROOT_NAMESPACE,
        this.#types.newRecord(ROOT_NAMESPACE, mount, this.#accessors()),
      );
    }
  }

  /** Rollback and periodic work of every mount, now: for whoever cannot wait for the minute. */
  tick(): Promise<void> {
    return this.#rollback.tick();
  }

  // --- inside ---

  #isOurs({ record }: Mount): boolean {
    return !this.rows.viewOf(record).writtenElsewhere;
  }

  #accessors(): Set<string> {
    return new Set([...this.#table.all()].map(({ record }) => record.accessor));
  }

  #add(tx: Tx, namespace: NamespaceRef, record: MountRecord): void {
    const { namespaces, maxMounts = MAX_MOUNTS } = this.#options;
    if (this.#table.size >= maxMounts) throw failures.tooMany(maxMounts);
    this.rows.checkFree(tx, namespaces, namespace, record.path);
    this.rows.claim(tx, record, namespace.id, record.path);
    this.rows.put(tx, { ...record, created: tx.index });
  }

  #changeable(namespace: NamespaceRef, kind: MountKind, path: string): Mount {
    const whole = readKnownPath(path, kind);
    if (this.#fixed.has(whole)) throw failures.fixedMount(whole);
    const mount = this.#table.at(namespace.id, whole);
    if (mount === null) throw failures.notMounted(kind, whole);
    return mount;
  }

  #view(mount: Mount): MountView {
    const { record, type, trouble, opened } = mount;
    const running = opened === null ? null : (type?.running?.(opened.ref.engine) ?? null);
    const job = this.#disabling.jobOf(record.uuid);
    const disabling = record.state.kind === "disabling";
    return {
      record,
      version: running?.version ?? type?.version ?? "",
      sha256: running?.sha256 ?? "",
      trouble: job?.failure?.message ?? (disabling ? null : trouble),
      leasesLeft: disabling ? this.#leasesLeft(mount) : null,
      shadowed: this.#table.shadowedBy(mount).map((other) => other.record),
    };
  }

  #leasesLeft({ record }: Mount): number {
    const { uuid } = record;
    const job = this.#disabling.jobOf(uuid);
    const counted = job?.running === true ? job.left : null; // of one that stopped it may be long ago
    const here = counted ?? this.#options.leases.countOf(uuid);
    const leaving = leavingOf(record);
    return here + (leaving === null ? 0 : this.#elsewhere.leftOf(leaving));
  }

  async #waitFor(done: Promise<void>, wait: Nanos): Promise<void> {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.timers.after(wait, resolve);
    await Promise.race([done, over]);
    timer.cancel();
  }
}

function later(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || (other !== null && other > one) ? other : one;
}

/** Nobody may be waiting when it is refused. */
function awaited(): PromiseWithResolvers<void> {
  const made = Promise.withResolvers<void>();
  made.promise.catch(() => {});
  return made;
}

function fixedView(record: MountRecord): MountView {
  const version = "v1.0.0+builtin";
  return { record, version, sha256: "", trouble: null, leasesLeft: null, shadowed: [] };
}

/** Whoever asks for it is told why, and that it is nothing that passes by itself. */
function asNotStarted(error: unknown): unknown {
  const isCause = error instanceof Failure && TRANSIENT.has(error.kind);
  return isCause ? failures.pluginNotStarted(describe(error), error.texts) : error;
}

/** Engines in other processes say themselves what they may go on with; one that is not there is not asked. */
async function askForOptions({ type, record, opened }: Mount, options: EngineOptions) {
  if (opened === null || type?.mayChangeOptions === undefined) return;
  const after = { ...record.options, ...options };
  const why = await type.mayChangeOptions(opened.ref.engine, record.options, after);
  if (why !== null) throw failures.optionsFixed(why);
}
