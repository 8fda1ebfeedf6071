// A second machine whose store follows the first: it is handed the leader's durable log in portions of any
// size, locked or unlocked, now and then a wrong one, and crashes when it likes. Whatever it holds must be
// what the leader held at that index, and everybody on it must be told as on the leader.

import { Barrier } from "../../src/barrier/barrier.ts";
import { equalBytes } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { entryTerm } from "../../src/crypto/aead.ts";
import { EngineError, type Reads } from "../../src/storage/engines/engine.ts";
import type { CommittedEntry } from "../../src/storage/following/foreign-entries.ts";
import {
  decodeHead,
  decodeTail,
  HEAD_ROW,
  TAIL_ROW,
  TIMELINE_ROW,
} from "../../src/storage/rows/head.ts";
import { decodeEntry } from "../../src/storage/rows/log-entry.ts";
import { leafHash } from "../../src/storage/rows/merkle.ts";
import { trimLog } from "../../src/storage/trimming.ts";
import { Adoption } from "./adoption.ts";
import { SimDisk } from "./disk.ts";
import { SimEngine } from "./engine.ts";
import { FollowingStore } from "./following-store.ts";
import { type Machine, plainCodec } from "../machine.ts";
import { type Plant, plantVolume } from "../plants.ts";
import type { Prng } from "../prng.ts";
import { NAMES } from "../readings.ts";
import { inByteOrder, isIgnored, State, Violation } from "../state.ts";
import type { Trace } from "../trace.ts";
import {
  Life,
  MILLISECOND,
  SECOND,
  SimClock,
  SimRandom,
  SimTimers,
  type SimWorld,
} from "../world.ts";

const ALL = { from: "", to: null, limit: Infinity };
const MAX_CRASHES = 8;
const KEYRING_UPDATE = 1;
const PLACES = [
  "shared/sim/",
  "shared/sim/b/",
  "local/sim/",
  "shared/sim/a",
  "shared/raw/",
] as const;

export interface FollowerOptions {
  readonly world: SimWorld;
  readonly prng: Prng;
  readonly trace: Trace;
  readonly leader: Machine;
  readonly plant: Plant | null;
  readonly report: (violation: unknown) => void;
}

interface Group {
  readonly entries: readonly CommittedEntry[];
  readonly head: Uint8Array | null;
  readonly end: bigint;
}

interface Watch {
  readonly place: string;
  readonly heard: Map<string, bigint>; // the last index that each key was told with
}

/** A process that is up. */
interface Running {
  readonly life: Life;
  readonly engine: SimEngine;
  readonly store: FollowingStore;
  readonly barrier: Barrier;
  readonly timers: SimTimers;
  readonly watches: Set<Watch>;
  trimming: boolean;
  adopting: boolean; // a step of it is under way
  sentTo: bigint; // the last index that was handed over
}

export class Follower {
  /** Entries applied, wrong groups refused, crashes, how often everything was taken over without
   *  entries, and how often that was found half done. */
  readonly counts = { applied: 0, refused: 0, crashes: 0, adopted: 0, resumed: 0 };
  readonly #adoption = new Adoption();
  readonly #options: FollowerOptions;
  readonly #disk: SimDisk;
  readonly #clock: SimClock;
  #running: Running | null = null;
  #living: Promise<void> | null = null; // the present life, until it has come to rest
  #lives = 0;
  #acknowledged = 0n; // must survive
  #ends = new Set<bigint>(); // of groups that were handed over: it may stand nowhere else
  #failure = false; // the disk has failed
  #finishing = false;

  constructor(options: FollowerOptions) {
    const { world, prng } = options;
    this.#options = options;
    this.#disk = new SimDisk(world, prng.fork("disk"));
    this.#clock = new SimClock(world, prng.fork("clock"));
    this.#disk.onFailure = () => (this.#failure = true);
  }

  start(): void {
    const { world, prng } = this.#options;
    world.after(prng.fork("start").int(100 * MILLISECOND), null, () => this.#spawn());
  }

  /** The leader is at rest: the follower catches up, and holds the same before and after a power cut. */
  async finish(): Promise<void> {
    this.#finishing = true;
    this.#disk.failing = null; // armed, and never met
    while (this.#living === null) await this.#options.world.sleep(10 * MILLISECOND, null);
    await this.#living;
    const { prng } = this.#options;
    for (const last of [false, true]) {
      const running = this.#running ?? (await this.#boot());
      if (running === null) throw new Violation("the follower did not start again");
      if (running.store.adopting !== null) {
        if (running.store.locked) this.#unseal(running, prng.fork("last"));
        while (running.store.adopting !== null) await this.#adopt(running, prng.fork("rest"));
      }
      if (running.store.locked !== true && !running.barrier.sealed) await running.barrier.seal();
      for (;;) {
        const group = this.#next(running, Infinity);
        if (group === null) break;
        await this.#hand(running, group);
      }
      await running.store.settled();
      this.#check(running.engine);
      this.#compare(running.engine);
      if (last) return;
      this.#crash("power");
    }
  }

  #spawn(): void {
    if (this.#running !== null) return;
    this.#living = this.#live();
    this.#living.catch((error: unknown) => this.#options.report(error));
  }

  async #live(): Promise<void> {
    const { world, prng } = this.#options;
    const own = prng.fork(`life ${this.#lives}`);
    const running = await this.#boot();
    if (running === null) {
      world.after(50 * MILLISECOND, null, () => this.#spawn()); // the leader was down
      this.#living = null;
      return;
    }
    const waiting = new Set<Promise<void>>();
    let idle = 0; // turns since the leader last had anything new: it may rest for a day
    while (!this.#finishing) {
      idle = this.#options.leader.history.tip.index === running.sentTo ? idle + 1 : 0;
      const busy = own.chance(0.2) ? 200 * MILLISECOND : 8 * MILLISECOND;
      await world.sleep(own.int(idle > 20 ? idle * SECOND : busy), running.life);
      if (this.#failure) return this.#crash(own.pick(["kill", "power"]));
      const act = this.#act(running, own).catch((error: unknown) => this.#failed(error, running));
      const done = act.finally(() => waiting.delete(done));
      waiting.add(done);
      if (own.chance(0.7)) await done;
      if (own.chance(0.03) && this.counts.crashes < MAX_CRASHES) this.#crashSoon(own);
    }
    await Promise.all(waiting);
    if (this.#failure) this.#crash("kill");
  }

  #crashSoon(prng: Prng): void {
    const { world } = this.#options;
    const fault = prng.pick(["kill", "power", "power", "sync", "write"] as const);
    const life = this.#running?.life;
    world.after(prng.int(8 * MILLISECOND), null, () => {
      if (this.#finishing || life?.ended !== false) return;
      if (fault === "sync" || fault === "write") this.#disk.failing = fault;
      else this.#crash(fault);
    });
  }

  #crash(how: "kill" | "power"): void {
    const { world, trace, prng } = this.#options;
    this.counts.crashes++;
    trace.add(`follower: crash: ${how}`);
    this.#running?.life.end();
    this.#running = null;
    this.#failure = false;
    this.#disk.failing = null;
    if (how === "kill") this.#disk.kill();
    else this.#disk.cutPower();
    if (this.#finishing) return;
    this.#living = null;
    const down = prng.fork(`down ${this.counts.crashes}`).int(SECOND);
    world.after(down, null, () => this.#spawn());
  }

  /** Null when there is no leader to begin from. */
  async #boot(): Promise<Running | null> {
    const { world, trace, prng, leader, plant } = this.#options;
    const { rootKey } = leader.history.acknowledged;
    const life = new Life(`follower life ${++this.#lives}`);
    const own = prng.fork(life.name);
    const planted = own.fork("plant");
    const follow = plant?.follow ?? null;
    const volume = plantVolume(this.#disk.mount(life), follow === null ? null : plant, planted);
    const engine = await SimEngine.open(volume);
    if (engine.meta(HEAD_ROW) === null) {
      if (this.#acknowledged > 0n) throw new Violation("the follower has lost everything");
      if (rootKey === null || leader.running === null || leader.running.failed) return null;
      await this.#begin(engine, leader.running.engine);
    }
    const index = this.#check(engine);
    trace.add(`follower: recovered at ${index}`);
    const timers = new SimTimers(world, life);
    const log = this.#log();
    const store = new FollowingStore(
      { engine, clock: this.#clock, timers, log, maxEntryBytes: 4096 },
      follow,
      planted,
    );
    await store.follow();
    const random = new SimRandom(own.fork("random"));
    const cacheBytes = own.pick([4096, 32 * 1024 * 1024]);
    const barrier = new Barrier({ store, clock: this.#clock, timers, log, random, cacheBytes });
    const watches = new Set<Watch>();
    const running = {
      life,
      engine,
      store,
      barrier,
      timers,
      watches,
      trimming: false,
      adopting: false,
      sentTo: index,
    };
    if (own.chance(0.7)) this.#unseal(running, own);
    return (this.#running = running);
  }

  /** As a copy of everything that the leader has now. */
  async #begin(engine: SimEngine, leader: Reads): Promise<void> {
    const names = [HEAD_ROW, TAIL_ROW, TIMELINE_ROW];
    const meta = names.map((name) => ({ name, value: leader.meta(name) }));
    const log = leader.logs(0n, Infinity);
    const index = indexOf(leader);
    this.#options.leader.history.acknowledgeIndex(index);
    this.#ends.add(index);
    await engine.commit({
      expect: { name: HEAD_ROW, value: null },
      data: leader.rows(ALL),
      leaves: leader.leaves(null, Infinity).map(({ slot, key, ...leaf }) => ({ slot, key, leaf })),
      sums: leader.sums(),
      log,
      cutLogAbove: null,
      trimLogBelow: null,
      meta,
    });
    this.#acknowledged = index;
  }

  // --- what it does ---

  async #act(running: Running, prng: Prng): Promise<void> {
    const { store, barrier } = running;
    const roll = prng.int(100);
    if (prng.chance(store.adopting === null ? 0.25 : 0.7)) {
      if (!store.locked) await this.#adopt(running, prng);
      else if (barrier.sealed) this.#unseal(running, prng);
    } else if (roll < 45) {
      const group = this.#next(running, prng.pick([1, 1, 2, 3, 10, Infinity]), prng.chance(0.5));
      if (group !== null) await this.#hand(running, group);
    } else if (roll < 55) await this.#handWrong(running, prng);
    else if (roll < 78) this.#read(running, prng);
    else if (roll < 84) this.#watch(running, prng);
    else if (roll < 90) await this.#writeOwn(running, prng);
    else if (roll < 93) await this.#writeForeign(running);
    else if (roll < 95) await this.#trim(running, BigInt(prng.int(60)));
    else if (!barrier.sealed) await barrier.seal();
    else if (store.locked) this.#unseal(running, prng);
  }

  async #trim(running: Running, minEntries: bigint): Promise<void> {
    if (running.trimming || running.adopting || running.store.adopting !== null) return; // two at once would each cut from the same tail
    running.trimming = true;
    try {
      const world = { clock: this.#clock, timers: running.timers };
      await trimLog(running.store, world, { minEntries });
    } finally {
      running.trimming = false;
    }
  }

  /** Takes over what the leader holds: begins with it, or goes on. */
  async #adopt(running: Running, prng: Prng): Promise<void> {
    const { store, watches } = running;
    const leader = this.#options.leader.running;
    const ready = running.sentTo === store.index && !store.locked && !running.trimming;
    if (running.adopting || leader === null || leader.failed || !ready) return;
    running.adopting = true;
    try {
      this.#options.leader.history.acknowledgeIndex(indexOf(leader.engine));
      if (store.adopting === null) return await this.#adoption.begin(running, leader.engine);
      const anchor = decodeHead(store.adopting.head).index;
      this.#ends.add(anchor);
      const watching = [...watches];
      for (const { heard } of watching) heard.clear();
      const keys = await this.#adoption.step(running, leader.engine, prng);
      for (const { place, heard } of watching) {
        const covered = keys.filter((key) => covers(place, key));
        const deaf = covered.find((key) => !heard.has(key));
        if (deaf !== undefined)
          throw new Violation(`a watcher of ${place} was not told of ${deaf}`);
      }
      if (keys.length > 0) return;
      running.sentTo = anchor;
      this.#acknowledged = anchor;
      this.counts.adopted++;
      this.#adoption.reached(store.index);
    } catch (error) {
      if (error instanceof EngineError) return; // the leader's disk has failed
      throw error;
    } finally {
      running.adopting = false;
    }
  }

  #unseal(running: Running, prng: Prng): void {
    const { barrier } = running;
    const { rootKey } = this.#options.leader.history.acknowledged;
    if (rootKey === null || !barrier.unseal(rootKey)) {
      throw new Violation("the root key does not open the barrier of the follower");
    }
    if (prng.chance(0.5)) barrier.activate();
    this.#checkTerm(running);
  }

  /** The next entries of the leader. A locked store needs leaves and the head after the last. */
  #next(running: Running, max: number, proven = true): Group | null {
    const { leader } = this.#options;
    const { sentTo, store } = running;
    const source = leader.running;
    if (source === null || source.failed || running.adopting || store.adopting !== null)
      return null;
    let rows;
    let head;
    try {
      rows = source.engine.logs(sentTo + 1n, store.locked ? Infinity : max);
      head = source.engine.meta(HEAD_ROW);
    } catch (error) {
      if (error instanceof EngineError) return null; // the leader's disk has failed
      throw error;
    }
    if (rows.length === 0) return null;
    const end = rows.at(-1)!.index;
    leader.history.acknowledgeIndex(end);
    const whole = end === indexOf(source.engine);
    const withProof = store.locked || proven;
    const entries = rows.map(({ entry }) => {
      if (!withProof) return { entry };
      const puts = decodeEntry(entry).operations.filter(({ value }) => value !== null);
      return {
        entry,
        leaves: puts.map((op) => leafHash(leader.treeKey, op.key, op.scope, op.valueDigest)),
      };
    });
    return { entries, head: withProof && whole ? head : null, end };
  }

  async #hand(running: Running, { entries, head, end }: Group): Promise<void> {
    const { store, watches } = running;
    this.#ends.add(end);
    const before = running.sentTo;
    running.sentTo = end;
    const watching = [...watches];
    try {
      await store.apply(entries, head);
    } catch (error) {
      if (running.sentTo === end) running.sentTo = before;
      throw error;
    }
    this.counts.applied += entries.length;
    if (end > this.#acknowledged) this.#acknowledged = end;
    this.#adoption.reached(store.index);
    if (store.index < end) throw new Violation("the follower acknowledged what it does not show");
    for (const { key } of entries.flatMap(({ entry }) => decodeEntry(entry).operations)) {
      for (const { place, heard } of watching) {
        if (covers(place, key) && watches.has(watching.find((watch) => watch.place === place)!)) {
          const known = heard.get(key) ?? 0n;
          if (known < end) throw new Violation(`a watcher of ${place} was not told of ${key}`);
        }
      }
    }
    this.#checkTerm(running);
  }

  /** A group that does not fit: it is refused, and nothing of it stays. */
  async #handWrong(running: Running, prng: Prng): Promise<void> {
    const group = this.#next(running, 4);
    if (group === null || running.sentTo !== running.store.index) return; // one at a time
    const entries = [...group.entries];
    let { head } = group;
    const at = prng.int(entries.length);
    const flip = (bytes: Uint8Array, end = bytes.length) => {
      const place = prng.int(end);
      return bytes.map((byte, i) => (i === place ? byte ^ (1 << prng.int(8)) : byte));
    };
    const way = prng.pick(["gap", "replay", "entry", "leaf", "head"]);
    const victim = entries[at]!;
    if (way === "gap" && entries.length > 1) entries.splice(prng.int(entries.length - 1), 1);
    else if (way === "leaf" && (entries.at(-1)!.leaves?.length ?? 0) > 0) {
      // One that stays: a locked store cannot know the leaf of what the same group replaces.
      const last = entries.pop()!;
      entries.push({
        ...last,
        leaves: last.leaves!.map((leaf, i) => (i === 0 ? flip(leaf) : leaf)),
      });
    } else if (way === "head" && head !== null) head = flip(head, head.length - 32);
    else if (way === "replay") entries.splice(at, 0, victim);
    else entries[at] = { ...victim, entry: flip(victim.entry) };
    const { index } = running.store;
    try {
      await running.store.apply(entries, head);
    } catch (error) {
      if (!(error instanceof Failure) || !error.code.startsWith("log-")) throw error;
      this.counts.refused++;
      if (running.store.index !== index) throw new Violation("a refused group has left something");
      return;
    }
    throw new Violation(`a wrong group was applied: ${way}`);
  }

  /** All of one turn: each record is what the leader had at the index that is shown. */
  #read({ store, barrier }: Running, prng: Prng): void {
    const { index } = store;
    if (index !== this.#acknowledged && !this.#ends.has(index)) {
      throw new Violation(`the follower shows index ${index}, where no group ends`);
    }
    if (barrier.sealed || this.#adoption.isMixed) return;
    const { history } = this.#options.leader;
    const state = this.#stateAt(index);
    for (let left = 1 + prng.int(6); left > 0; left--) {
      const view = barrier.view(prng.pick(["shared/sim/", "local/sim/"]));
      const name = prng.chance(0.4) ? `counter/${prng.int(3)}` : prng.pick(NAMES);
      const found = view.get(name, plainCodec(history));
      if (found !== state.plain(view.prefix + name)) {
        throw new Violation(`the follower reads ${view.prefix}${name} as it was at another index`);
      }
    }
    const keys = barrier.view("shared/sim/").keys("", { limit: 999 });
    const right = state.keysBelow("shared/sim/").map((key) => key.slice("shared/sim/".length));
    if (keys.join() !== right.toSorted(inByteOrder).join()) {
      throw new Violation("the follower lists other keys than the leader had");
    }
  }

  #watch({ store, watches }: Running, prng: Prng): void {
    const watch: Watch = { place: prng.pick(PLACES), heard: new Map() };
    for (const other of watches) if (other.place === watch.place) return;
    store.watch(watch.place, ({ index, keys }) => {
      for (const key of keys) watch.heard.set(key, index);
    });
    watches.add(watch);
  }

  async #writeOwn({ store, barrier }: Running, prng: Prng): Promise<void> {
    const value = `own ${prng.int(1e9)}`;
    const codec = plainCodec(this.#options.leader.history);
    if (barrier.active && !barrier.sealed && prng.chance(0.7)) {
      const view = barrier.view("core/follower/");
      await view.write((tx) => tx.put(`sealed ${prng.int(5)}`, value, codec));
      this.#options.leader.history.plain = null; // it is no change of the leader's
      return;
    }
    await store.write((tx) => tx.put(`core/follower/${prng.int(5)}`, Buffer.from(value)));
    const [row] = store.rows("core/follower/", { limit: 1 });
    if (row === undefined) throw new Violation("the follower has lost a row of its own");
  }

  async #writeForeign({ store }: Running): Promise<void> {
    try {
      await store.write((tx) => tx.put("shared/sim/a", Buffer.from("of the follower")));
    } catch (error) {
      if (error instanceof Failure && /^store-(following|locked)$/.test(error.code)) return;
      throw error;
    }
    throw new Violation("a follower took a write that only the leader may take");
  }

  // --- what must be true ---

  /** The leader's state at an index, as the history has it. */
  #stateAt(index: bigint): State {
    const state = new State();
    const { log } = this.#options.leader.history.tip;
    if (BigInt(log.length) < index) throw new Violation(`index ${index} was never the leader's`);
    for (const entry of log.slice(0, Number(index))) {
      const changes = entry.changes.filter(({ key }) => !isIgnored(key));
      state.apply({ ...entry, changes, tail: null, rootKey: null });
    }
    return state;
  }

  /** Every row against the leader's history at the index found. Gives that index. */
  #check(engine: SimEngine): bigint {
    const { leader } = this.#options;
    const index = indexOf(engine);
    if (index < this.#acknowledged)
      throw new Violation("the follower has lost what it acknowledged");
    if (index !== this.#acknowledged && !this.#ends.has(index)) {
      throw new Violation(`the follower stands at ${index}, in the middle of a group`);
    }
    this.#acknowledged = index;
    this.#ends = new Set([index]);
    if (this.#adoption.found(engine, index)) this.counts.resumed++;
    if (this.#adoption.isMixed) return index;
    const state = this.#stateAt(index);
    // The entries themselves, not their copies: what the audit knows of them it knows by identity.
    state.log.splice(0, state.log.length, ...leader.history.tip.log.slice(0, Number(index)));
    for (const { key, value } of engine.rows(ALL)) {
      if (isIgnored(key)) state.rows.set(key, { value, scope: Buffer.alloc(16), plain: null });
    }
    const tail = engine.meta(TAIL_ROW);
    state.tail = tail === null ? null : decodeTail(tail);
    state.rootKey = leader.history.acknowledged.rootKey;
    leader.audit.check(engine, state);
    return index;
  }

  #checkTerm({ store, barrier }: Running): void {
    if (barrier.sealed) return;
    const entries = this.#options.leader.history.tip.log.slice(0, Number(store.index));
    const last = entries.findLast(({ control }) => control?.type === KEYRING_UPDATE);
    const term = last === undefined ? 1 : entryTerm(last.control!.body);
    if (barrier.keyStatus.term === term) return;
    throw new Violation(`the follower has key ${barrier.keyStatus.term}, the log has ${term}`);
  }

  /** Byte for byte, but for what is each one's own. */
  #compare(engine: SimEngine): void {
    const source = this.#options.leader.running?.engine;
    if (source === undefined) throw new Violation("the leader is gone");
    const rows = (reads: Reads) => reads.rows(ALL).filter(({ key }) => !isIgnored(key));
    const families: [string, (reads: Reads) => unknown][] = [
      ["rows", rows],
      ["leaves", (reads) => reads.leaves(null, Infinity)],
      // One that is empty again has a row, one that was never used has none.
      ["sums", (reads) => reads.sums().filter(({ count }) => count > 0)],
    ];
    // None is left of a log that was given up for another state.
    const last = (reads: Reads) => reads.logs(engine.lastLog()!, 1);
    if (engine.lastLog() !== null) families.push(["last entry", last]);
    for (const [name, read] of families) {
      if (display(read(engine)) !== display(read(source))) {
        throw new Violation(`the ${name} of the follower differ from those of the leader`);
      }
    }
    const [head, right] = [engine.meta(HEAD_ROW), source.meta(HEAD_ROW)];
    if (head === null || right === null || !equalBytes(head, right)) {
      throw new Violation("the head of the follower differs from that of the leader");
    }
  }

  #failed(error: unknown, { life }: Running): void {
    if (life.ended) return;
    const failed = error instanceof Failure && error.code === "storage-failed";
    if (failed && this.#failure) return;
    // Sealing, and what was handed over behind a group that was refused meanwhile.
    const passing = ["store-locked", "barrier-sealed", "barrier-sealing", "barrier-inactive"];
    passing.push("log-proof-missing", "log-gap");
    if (error instanceof Failure && passing.includes(error.code)) return;
    this.#options.report(error);
  }

  #log(): Log {
    const quiet = () => {};
    const error = (message: string) => {
      if (this.#failure) return;
      this.#options.report(new Violation(`the follower logged an error: ${message}`));
    };
    const log: Log = { debug: quiet, info: quiet, warn: quiet, error, child: () => log };
    return log;
  }
}

/** The log may have been trimmed to nothing; the head says where it ends. */
function indexOf(engine: Reads): bigint {
  const head = engine.meta(HEAD_ROW);
  return head === null ? 0n : decodeHead(head).index;
}

function covers(place: string, key: string): boolean {
  return place.endsWith("/") ? key.startsWith(place) : key === place;
}

function display(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part instanceof Uint8Array
      ? Buffer.from(part).toString("hex")
      : typeof part === "bigint"
        ? String(part)
        : part,
  );
}
