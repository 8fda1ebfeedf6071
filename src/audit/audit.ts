// The room: the rule that a request is answered only if at least one device has its record. Devices
// are written at the same time; the first that has it lets the request go on, and one that hangs or
// fails holds up nobody as long as another works.

import { SECOND } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Nanos, Clock } from "@holdfast/shared/world";
import { freshKey } from "../crypto/aead.ts";
import { Attempt } from "./attempt.ts";
import type { AuditedAnswer, AuditedRequest } from "../endpoint/audited.ts";
import { type AuditMetrics, Device, type DeviceParts, type DeviceRecord } from "./device.ts";
import { type DeclaredDevice, DeviceSet } from "./device-set.ts";
import { type AuditViews, DeviceStore } from "./device-store.ts";
import { fileRefused, hashedTooOften, noDeviceOpens, testFailed } from "./failures.ts";
import type { ExchangedChain } from "./devices/file.ts";
import { HeaderList } from "./header-list.ts";
import { type OptionTexts, readOptions } from "./options.ts";
import type { AuditAnchor } from "../signed/report.ts";
import { type TrailVerdict, verifyTrail } from "./trail.ts";

const LOG_PERIOD: Nanos = 10n * SECOND; // a full disk must not fill the server's log as well
const HASHES_PER_SECOND = 10;

export interface NewDevice {
  readonly path: string;
  readonly type: string;
  readonly description: string;
  readonly options: OptionTexts;
  readonly local: boolean;
  /** Default false. */
  readonly skipTest?: boolean;
}

export interface ListedDevice extends DeviceRecord {
  readonly declared: boolean;
  readonly healthy: boolean;
  /** Its records are not hashed. */
  readonly raw: boolean;
}

export interface AuditOptions extends Omit<
  DeviceParts,
  "headers" | "heads" | "checkpointHeads" | "healthChanged" | "metrics"
> {
  readonly views: AuditViews;
  readonly declared: readonly DeclaredDevice[];
  /** Whether another cluster writes what is shared, devices too. Default: none does. */
  readonly sharedElsewhere?: () => boolean;
  /** Default: nobody listens. */
  readonly metrics?: AuditMetrics;
}

/** A file opens in a moment; what has to be called and does not answer is not waited for. */
const OPENS_WITHIN: Nanos = 2n * SECOND;
const NO_METRICS: AuditMetrics = { wrote: () => {}, healthy: () => {} };

export class Audit {
  readonly headers: HeaderList;
  readonly #parts: DeviceParts;
  readonly #store: DeviceStore;
  readonly #set: DeviceSet;
  readonly #log: Log;
  readonly #hashing: Pace;
  #declared: readonly DeclaredDevice[];
  #open = false;
  readonly #sharedElsewhere: () => boolean;
  /** Ids of stored devices that this cluster has had open once. */
  #met: ReadonlySet<string> = new Set();
  #unwatch: () => void = () => {};
  /** While devices that another cluster has made are opened here for the first time: whether they can be is not known. */
  #opening: Promise<void> | null = null;
  #rested: readonly Device[] = []; // when it was closed
  #lostRecords = 0;
  #lossLogged: Nanos | null = null;

  constructor(options: AuditOptions) {
    const { views, metrics = NO_METRICS, log, clock, declared } = options;
    this.#sharedElsewhere = options.sharedElsewhere ?? (() => false);
    this.#log = log;
    this.#declared = declared;
    this.#store = new DeviceStore(views);
    this.headers = new HeaderList(this.#store);
    this.#hashing = new Pace(clock, HASHES_PER_SECOND);
    this.#parts = {
      ...options,
      metrics,
      headers: () => this.headers.rules,
      heads: (device) => this.#store.heads(device),
      checkpointHeads: (device) => this.#store.checkpointHeads(device),
      healthChanged: () => this.#healthChanged(),
    };
    this.#set = new DeviceSet(this.#store, this.#parts);
  }

  // --- life ---

  get isOpen(): boolean {
    return this.#open;
  }

  /** After unsealing. Throws when devices are configured and not one of them opens, unless they are another cluster's
   *  and need not be possible here: then what has to be recorded is refused, and nothing else. */
  async open({ foreign = false }: { readonly foreign?: boolean } = {}): Promise<void> {
    this.headers.load();
    this.#met = this.#store.met();
    this.#set.adoptStored();
    const { problems } = await this.#set.adoptDeclared(this.#declared);
    for (const problem of problems) {
      this.#log.error("a declared audit device is refused", { problem });
    }
    const started = await Promise.all(this.#set.active.map((device) => device.start()));
    const configured = !this.#set.empty || problems.length > 0;
    if (configured && !started.includes(true)) {
      const failed = this.#set.active.map(({ record, problem }) => {
        return `audit device ${record.path}/: ${problem ?? "it does not open"}`;
      });
      const unusable = this.#set.unusable.map(({ path }) => {
        return `audit device ${path}/: it is not possible on this server`;
      });
      const failure = noDeviceOpens([...problems, ...failed, ...unusable]);
      if (!foreign && (this.#counts || problems.length > 0)) {
        await closeAll(this.#set.clear());
        throw failure;
      }
      this.#log.error("no audit device opens on this secondary", { cause: describe(failure) });
    }
    if (!configured) this.#log.warn("no audit device is enabled: requests leave no trail");
    this.#unwatch = this.#store.watch(
      () => this.#follow(),
      () => this.headers.load(),
    );
    this.#open = true;
    this.#healthChanged();
  }

  /** Before sealing: what is queued goes out first. */
  async close(): Promise<void> {
    this.#open = false;
    this.#unwatch();
    const devices = this.#set.clear();
    await closeAll(devices);
    this.#rested = devices;
  }

  /** Opens files anew and follows the configuration. Gives what did not work, a line each. */
  async reload(declared: readonly DeclaredDevice[] = this.#declared): Promise<readonly string[]> {
    this.#declared = declared;
    if (!this.#open) return [];
    const before = this.#set.active;
    const { problems, removed } = await this.#set.adoptDeclared(declared);
    const opened = await Promise.all(
      this.#set.active.map(async (device) => ({
        path: device.record.path,
        ok: await (before.includes(device) ? device.reopen() : device.start()),
      })),
    );
    await closeAll(removed);
    this.#tellHealth();
    const failed = opened.filter(({ ok }) => !ok);
    return [
      ...problems,
      ...failed.map(({ path }) => `audit device ${path}: it cannot be opened; the log says why`),
    ];
  }

  #follow(): void {
    const { added, removed } = this.#set.adoptStored();
    if (added.length > 0) {
      const opening = this.#opened(added, this.#opening).finally(() => {
        if (this.#opening === opening) this.#opening = null;
      });
      this.#opening = opening;
    }
    void closeAll(removed);
    this.#healthChanged();
  }

  /** Resolves when each is open, or is known not to be, or has had its time. */
  async #opened(added: readonly Device[], before: Promise<void> | null): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = this.#parts.timers.after(OPENS_WITHIN, late.resolve);
    const opening = Promise.all(
      added.map((device) => device.start().then(() => this.#healthChanged())),
    );
    await Promise.race([opening, late.promise]);
    timer.cancel();
    await before;
  }

  /**
   * Whether there is a device without which nothing is answered. One that another cluster has made for all, and that was never open
   * here, is none: it may not be possible on this machine, and whoever made it does not know. Once it was open here it is.
   */
  get #counts(): boolean {
    if (!this.#sharedElsewhere()) return !this.#set.empty;
    const { active, unusable } = this.#set;
    return (
      active.some(({ record, declared }) => declared || !this.#isElsewhere(record)) ||
      unusable.some((record) => !this.#isElsewhere(record))
    );
  }

  #isElsewhere({ id, local }: DeviceRecord): boolean {
    return !local && !this.#met.has(id) && this.#sharedElsewhere();
  }

  /** Written where it changes: when a device is first open, and when it is gone. */
  #meet(): void {
    const { active, unusable } = this.#set;
    const stored = [
      ...active.filter(({ declared }) => !declared).map(({ record }) => record),
      ...unusable,
    ];
    const open = active.filter(({ healthy }) => healthy).map(({ record }) => record.id);
    const known = new Set(stored.map(({ id }) => id));
    const met = new Set([...this.#met, ...open].filter((id) => known.has(id)));
    if (met.size === this.#met.size && this.#met.isSupersetOf(met)) return;
    this.#met = met;
    this.#store.putMet(met).catch((error: unknown) => {
      this.#log.warn("could not store which audit devices were open", { cause: describe(error) });
    });
  }

  // --- records ---

  /** Nothing to wait for where no device is enabled. */
  request(request: AuditedRequest, error: string): Promise<void> | void {
    return this.#recorded(request, (device, attempt) => device.request(request, error, attempt));
  }

  response(request: AuditedRequest, answer: AuditedAnswer): Promise<void> | void {
    return this.#recorded(request, (device, attempt) => device.response(request, answer, attempt));
  }

  #recorded(
    request: AuditedRequest,
    write: (device: Device, attempt: Attempt) => void,
  ): Promise<void> | void {
    if (this.#counts) return this.#audit(request, write);
    return this.#opening?.then(() => (this.#counts ? this.#audit(request, write) : undefined));
  }

  #audit(
    request: AuditedRequest,
    write: (device: Device, attempt: Attempt) => void,
  ): Promise<void> {
    const devices = this.#set.active;
    const attempt = new Attempt(devices.length, (full) => this.#tellLoss(request.id, full));
    for (const device of devices) {
      try {
        write(device, attempt);
      } catch (error) {
        // A record that cannot be made is one that was not taken.
        attempt.failed();
        const fields = { device: device.record.path, request_id: request.id };
        this.#log.error("an audit record cannot be made", { ...fields, cause: describe(error) });
      }
    }
    return attempt.done;
  }

  // --- devices ---

  list(): ListedDevice[] {
    const usable = this.#set.active.map((device) => ({
      ...device.record,
      declared: device.declared,
      healthy: device.healthy,
      raw: device.options.raw,
    }));
    const unusable = this.#set.unusable.map((record) => ({
      ...record,
      declared: false,
      healthy: false,
      raw: false,
    }));
    return [...usable, ...unusable].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Of each device what somebody should know, at no cost. */
  facts(): readonly {
    readonly path: string;
    readonly healthy: boolean;
    readonly raw: boolean;
    readonly broken: string | null;
    readonly elsewhere: boolean;
  }[] {
    const usable = this.#set.active.map(({ record, healthy, options, file, declared }) => ({
      path: record.path,
      healthy,
      raw: options.raw,
      broken: file?.source.broken ?? null,
      elsewhere: !declared && this.#isElsewhere(record),
    }));
    const unusable = this.#set.unusable.map((record) => ({
      path: record.path,
      healthy: false,
      raw: false,
      broken: null,
      elsewhere: this.#isElsewhere(record),
    }));
    return [...usable, ...unusable];
  }

  /** How far the devices with a chain have come, or had when they were closed: by it evidence can be placed among their
   *  records. */
  anchors(): readonly AuditAnchor[] {
    const devices = this.#open ? this.#set.active : this.#rested;
    return devices.flatMap(({ record, file }) => {
      const head = file?.source.head ?? null;
      if (head === null) return [];
      return [{ device: `${record.path}/`, number: head.number, digest: head.mac }];
    });
  }

  /** Where chains have ended, as rows: for data whose keys are not those that made them. Closed. */
  leftChains(): readonly { readonly key: string; readonly value: Uint8Array }[] {
    return this.#store.leftChains(chainsOf(this.#rested));
  }

  async enable(input: NewDevice): Promise<void> {
    const { path, type, description, options, local, skipTest = false } = input;
    this.#set.assertFree(path);
    readOptions(type, options, this.#parts); // its refusals come before a key is made
    const id = this.#parts.random.uuid();
    const key = freshKey(this.#parts.random);
    const record = { id, path, type, description, options, local };
    const device = new Device(record, key, false, this.#parts);
    try {
      await this.#set.whileAlone(device, async () => {
        const started = await device.start();
        if (!skipTest) await test(device, started);
        await this.#set.whilePrepared(device, () => this.#store.add(record, key));
      });
    } catch (error) {
      await device.close();
      throw error;
    }
    this.#log.info("audit device enabled", { device: path, type });
    if (device.options.raw) {
      this.#log.warn("an audit device records values in clear (log_raw)", { device: path });
    }
  }

  async disable(path: string): Promise<void> {
    await this.#store.remove(this.#set.changeable(path));
    this.#log.info("audit device disabled", { device: path });
  }

  /** The hash that stands for a text in the records of a device. */
  hash(path: string, input: string): string {
    const device = this.#set.named(path);
    const wait = this.#hashing.take();
    if (wait > 0) throw hashedTooOften(wait);
    return device.hash(input);
  }

  /** Follows the chain through the files of a device. */
  async verify(path: string): Promise<TrailVerdict> {
    const { files, timers } = this.#parts;
    return verifyTrail(this.#set.named(path), files, timers);
  }

  // --- telling ---

  #healthChanged(): void {
    if (this.#open) this.#meet();
    this.#tellHealth();
  }

  #tellHealth(): void {
    if (!this.#open) return;
    const healthy = this.#set.active.filter((device) => device.healthy);
    this.#parts.metrics.healthy(healthy.length);
  }

  #tellLoss(requestId: string, full: boolean): void {
    this.#lostRecords++;
    const now = this.#parts.clock.elapsed();
    if (this.#lossLogged !== null && now - this.#lossLogged < LOG_PERIOD) return;
    const why = full ? "no audit device had room for a record" : "no audit device took a record";
    this.#log.error(`${why}: requests are refused`, {
      request_id: requestId,
      records: this.#lostRecords,
    });
    this.#lossLogged = now;
    this.#lostRecords = 0;
  }
}

function chainsOf(devices: readonly Device[]): ReadonlyMap<string, ExchangedChain> {
  const chains = new Map<string, ExchangedChain>();
  for (const { record, file } of devices) {
    const chain = file?.source.chain ?? null;
    if (chain !== null) chains.set(record.path, chain);
  }
  return chains;
}

async function closeAll(devices: readonly Device[]): Promise<void> {
  await Promise.all(devices.map((device) => device.close()));
}

async function test(device: Device, started: boolean): Promise<void> {
  const { path, type } = device.record;
  if (!started) throw type === "file" ? fileRefused() : testFailed(path);
  try {
    await device.test();
  } catch {
    throw testFailed(path); // the device has logged the cause
  }
}

// --- pace ---

// So many a second, and as many at once. Hashing a guess and comparing it is how a hashed value is
// found out: whoever may ask for hashes must not be able to try a dictionary.

export class Pace {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #perSecond: number;
  #left: number;
  #at: Nanos;

  constructor(clock: Pick<Clock, "elapsed">, perSecond: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#at = clock.elapsed();
  }

  /** 0 when it may go on, else the seconds to wait. */
  take(): number {
    const now = this.#clock.elapsed();
    const gained = (Number(now - this.#at) / Number(SECOND)) * this.#perSecond;
    this.#left = Math.min(this.#perSecond, this.#left + gained);
    this.#at = now;
    if (this.#left < 1) return 1;
    this.#left--;
    return 0;
  }
}
