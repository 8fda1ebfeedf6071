// A node for tests: a real store and barrier over memory, a keeper, and the small rooms it asks for.
// Nodes on one disk are nodes of one cluster, or one node before and after a crash.

import assert from "node:assert/strict";
import { createHash, type KeyObject } from "node:crypto";
import { decrypt, generateKey, readMessage, readPrivateKey } from "openpgp";
import { jsonCodec } from "@holdfast/shared/codec";
import { SystemClock } from "../../../src/system/clock.ts";
import { Failure, type FailureKind } from "@holdfast/shared/failure";
import { type Log, makeLog } from "@holdfast/shared/log";
import { SystemRandom } from "../../../src/system/random.ts";
import type { Instant, Nanos, Random, Timer, Timers } from "@holdfast/shared/world";
import { Barrier } from "../../../src/barrier/barrier.ts";
import type { Tx } from "../../../src/barrier/view.ts";
import { type Batch, EngineError } from "../../../src/storage/engines/engine.ts";
import { MemoryDisk, MemoryEngine } from "../../../src/storage/engines/memory.ts";
import { Store } from "../../../src/storage/store.ts";
import type { InitOptions, Initialised } from "../../../src/seal/init.ts";
import { SealKeeper } from "../../../src/seal/keeper.ts";
import type { FirstTokens, Hooks } from "../../../src/seal/keeper-options.ts";

/** Timers that never fire: nothing here waits for time. */
class StillTimers implements Timers {
  after(): Timer {
    return { cancel: () => {} };
  }

  turn(): Promise<void> {
    return Promise.resolve();
  }
}

/** The real time, or some time ahead of it. */
export class MovableClock extends SystemClock {
  ahead = 0n;

  override now(): Instant {
    return super.now() + this.ahead;
  }
}

/** The same where time has really passed: by both clocks. */
export class PassingClock extends MovableClock {
  override elapsed(): Nanos {
    return super.elapsed() + this.ahead;
  }
}

/** An engine whose next commit fails: before it reached the disk, or after. */
export class FailingEngine extends MemoryEngine {
  failNext: "never" | "before" | "after" = "never";
  /** The data keys of every commit. */
  readonly commits: string[][] = [];

  override async commit(batch: Batch): Promise<void> {
    this.commits.push(batch.data.map((row) => row.key));
    const when = this.failNext;
    this.failNext = "never";
    if (when === "before") throw new EngineError("the disk is gone");
    await super.commit(batch);
    if (when === "after") throw new EngineError("the disk is gone");
  }
}

const tokenCodec = jsonCodec<{ name: string }>();
const doorCodec = jsonCodec<{ open: boolean }>();

/** Tokens by hash, and the door, in rows of their own. */
export class SmallTokens implements FirstTokens {
  readonly length = 36;
  readonly minted: string[] = [];
  readonly #barrier: Barrier;
  readonly #random: Random;

  constructor(barrier: Barrier, random: Random) {
    this.#barrier = barrier;
    this.#random = random;
  }

  mintFirst(tx: Tx): string {
    this.#setDoor(tx, false);
    return this.#mint(tx, "initial root");
  }

  leaveDoorOpen(tx: Tx): void {
    this.#setDoor(tx, true);
  }

  mintGenerated(tx: Tx): string {
    return this.#mint(tx, "generated root");
  }

  nameOf(token: string): string | null {
    return this.#barrier.view("shared/tokens/").get(digest(token), tokenCodec)?.name ?? null;
  }

  get count(): number {
    return this.#barrier.view("shared/tokens/").keys("", { limit: 100 }).length;
  }

  get doorOpen(): boolean | null {
    return this.#barrier.view("shared/").get("door", doorCodec)?.open ?? null;
  }

  #mint(tx: Tx, name: string): string {
    const token = this.#random.uuid();
    tx.on(this.#barrier.view("shared/tokens/")).put(digest(token), { name }, tokenCodec);
    this.minted.push(token);
    return token;
  }

  #setDoor(tx: Tx, open: boolean): void {
    tx.on(this.#barrier.view("shared/")).put("door", { open }, doorCodec);
  }
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

export interface NodeOptions {
  readonly disk?: MemoryDisk;
  readonly staticKey?: KeyObject;
  readonly hooks?: Partial<Hooks>;
  readonly random?: Random;
  readonly timers?: Timers;
  readonly clusterName?: string;
  readonly lines?: string[];
}

export interface TestNode {
  readonly disk: MemoryDisk;
  readonly clock: MovableClock;
  readonly engine: FailingEngine;
  readonly store: Store;
  readonly barrier: Barrier;
  readonly keeper: SealKeeper;
  readonly tokens: SmallTokens;
  readonly log: Log;
  /** Every line that was logged, by the store and the barrier as well. */
  readonly lines: string[];
  /** What the hooks were called for, in order. */
  readonly calls: string[];
}

export function makeNode(options: NodeOptions = {}): TestNode {
  const disk = options.disk ?? new MemoryDisk();
  const lines = options.lines ?? [];
  const calls: string[] = [];
  const clock = new PassingClock();
  const timers = new StillTimers();
  const random = options.random ?? new SystemRandom();
  const write = (line: string) => void lines.push(line);
  const log = makeLog({ level: "debug", format: "standard", write, clock });
  const engine = new FailingEngine(disk);
  const store = new Store({ engine, clock, timers, log });
  const barrier = new Barrier({ store, clock, timers, random, log });
  const tokens = new SmallTokens(barrier, random);
  const hooks: Hooks = {
    created: (tx) => {
      calls.push("created");
      options.hooks?.created?.(tx);
    },
    opened: async () => {
      calls.push("opened");
      barrier.activate();
      await options.hooks?.opened?.();
    },
    closing: async () => {
      calls.push("closing");
      await options.hooks?.closing?.();
    },
  };
  const { staticKey, clusterName } = options;
  const keeper = new SealKeeper({
    store,
    barrier,
    clock,
    timers: options.timers ?? new StillTimers(),
    random,
    log,
    tokens,
    hooks,
    clusterName,
    autoSeal: staticKey === undefined ? undefined : { type: "static", key: staticKey },
    version: "1.2.3",
    buildDate: "2026-11-15",
  });
  return { disk, clock, engine, store, barrier, keeper, tokens, log, lines, calls };
}

/** The same disk under a new process: what is in memory is gone, nothing was sealed in good order. */
export async function crash(node: TestNode, options: NodeOptions = {}): Promise<TestNode> {
  await node.engine.close();
  return makeNode({ ...options, disk: node.disk });
}

export interface Begun {
  readonly node: TestNode;
  readonly made: Initialised;
  /** Hex of the shares that operators hold. */
  readonly shares: readonly string[];
}

export async function initialised(
  init: InitOptions = {},
  options: NodeOptions = {},
): Promise<Begun> {
  const node = makeNode(options);
  const made = await node.keeper.init(init);
  const shares = [...made.keys.reveal(), ...made.recoveryKeys.reveal()];
  return { node, made, shares };
}

/** An initialised and unsealed node with Shamir shares. */
export async function opened(init: InitOptions = {}, options: NodeOptions = {}): Promise<Begun> {
  const found = await initialised(init, options);
  await give(found.node, found.shares.slice(0, init.secretThreshold ?? 3));
  assert.equal(found.node.keeper.sealed, false);
  return found;
}

/** Gives shares to the unsealing, in order. */
export async function give(
  node: TestNode,
  shares: readonly string[],
  seal: "" | "recovery" = "",
): Promise<void> {
  for (const key of shares) await node.keeper.unseal({ key, seal });
}

/** Whether these shares unseal what is on the disk, tried by a new process. */
export async function unseals(
  node: TestNode,
  shares: readonly string[],
  seal: "" | "recovery" = "",
): Promise<boolean> {
  const next = await crash(node);
  try {
    await give(next, shares, seal);
    return !next.keeper.sealed;
  } catch (error) {
    assert.ok(error instanceof Failure && error.message === "invalid key", String(error));
    return false;
  } finally {
    await next.keeper.seal();
    await next.engine.close();
  }
}

/** For assert.rejects: a Failure of this kind whose message says this. */
export function failure(kind: FailureKind, says: string | RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.kind, kind, error.message);
    if (typeof says === "string") assert.equal(error.message, says);
    else assert.match(error.message, says);
    return true;
  };
}

/** Somebody with a PGP key pair. */
export interface Operator {
  readonly publicKey: string; // armored
  readonly fingerprint: string;
  read(message: Uint8Array): Promise<string>;
}

/** A key that is a minute old; with a number, one that will expire. */
export async function makeOperator(expiresInSeconds?: number): Promise<Operator> {
  const age = 60;
  const { publicKey, privateKey } = await generateKey({
    userIDs: [{ name: "operator" }],
    type: "curve25519",
    date: new Date(Date.now() - age * 1000),
    keyExpirationTime: expiresInSeconds === undefined ? 0 : expiresInSeconds + age,
  });
  const key = await readPrivateKey({ armoredKey: privateKey });
  return {
    publicKey,
    fingerprint: key.getFingerprint(),
    read: async (binaryMessage) => {
      const message = await readMessage({ binaryMessage });
      const { data } = await decrypt({ message, decryptionKeys: key });
      return String(data);
    },
  };
}
