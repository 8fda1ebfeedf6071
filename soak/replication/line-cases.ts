// Cases of docs/cases/replication.md about two clusters as processes and the line between them, for tests and for longer runs of
// the same: whoever calls says how much is written, and how often is killed.

import assert from "node:assert/strict";
import { at } from "../../tests/support/http-client.ts";
import { until } from "../../tests/support/until.ts";
import { eventsIn, firstOf, is } from "../../tests/support/replication/case-suite.ts";
import {
  type ClusterProcess,
  equalProcesses,
  joinProcess,
} from "../../tests/support/replication/cluster-process.ts";
import type { Direction } from "../../tests/support/replication/tcp-proxy.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const PIECE = 64 * KIB;
const MBIT = 125_000; // bytes in a second

/** Of the primary, in bytes: the least that can be configured, so that it is soon written full. */
export const KEPT = 16 * MIB;

/** A primary, and who follows it or is to. */
export interface Pair {
  readonly a: ClusterProcess;
  readonly b: ClusterProcess;
}

/** Each is written by one of so many clients, as soon as the one before it was answered. Gives how long each has taken, in milliseconds,
 *  the shortest first. */
async function load({ a }: Pair, { writes, clients, bytes }: Load): Promise<number[]> {
  const took: number[] = [];
  let next = 0;
  const client = async () => {
    for (let write = next++; write < writes; write = next++) {
      const begun = performance.now();
      is(await a.put(`load-${write % 64}`, text(bytes, write)), 200);
      took.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return took.toSorted((one, other) => one - other);
}

export interface Load {
  readonly writes: number;
  readonly clients: number;
  /** Of each. */
  readonly bytes: number;
}

/** Another one each time. */
function text(bytes: number, write: number): string {
  return `${write} `.padEnd(bytes, "x");
}

async function indexesOf({ a, b }: Pair): Promise<{ readonly head: number; readonly has: number }> {
  const [here, there] = [await a.status(), await b.status()];
  return { head: Number(here["last_dr_wal"]), has: Number(there["last_remote_wal"] ?? 0) };
}

/** Nothing that is stored on the secondary differs from what its hashes say. */
async function isSound({ b }: Pair): Promise<void> {
  const answer = await b.operate("merkle-check", { deep: true });
  is(answer, 200);
  assert.equal(at(answer, "data", "merkle_corruption_report", "corrupted_root"), false);
}

// ── R-92 ──

/** When it is killed: so many bytes have come to the secondary, and no more do until it is in that state. */
export interface KillPoint {
  readonly bytes: number;
  /** Default: whichever it is. */
  readonly state?: "merkle-diff" | "merkle-sync";
}

/** Gives what it said of itself then. */
async function killedAt(
  { a, b }: Pair,
  { bytes, state }: KillPoint,
  begin: () => Promise<void>,
): Promise<string> {
  const before = a.way.carried("back");
  a.way.hold("back", { after: bytes });
  await begin();
  await until(() => a.way.carried("back") - before >= bytes);
  let said: unknown;
  await until(async () => {
    said = (await b.status())["state"];
    return state === undefined || said === state;
  });
  await b.kill();
  a.way.heal();
  return String(said);
}

/** A secondary is killed again and again while it copies everything: it goes on where it was. */
export async function killedWhileCopying(
  pair: Pair,
  { kills, bytes }: { readonly kills: number; readonly bytes: number },
): Promise<string> {
  const { a, b } = pair;
  const values = bytes / PIECE;
  for (let i = 0; i < values; i++) is(await a.put(`copied-${i}`, text(PIECE, i)), 200);
  const before = a.way.carried("back");
  const step = Math.floor(bytes / (kills + 2));
  assert.ok(step >= 2 * MIB, "a kill costs a chunk, and more than one is to come before it");
  for (let kill = 0; kill < kills; kill++) {
    const begin = () => (kill === 0 ? joinProcess(a, b) : b.startAgain());
    await killedAt(pair, { bytes: step }, begin);
  }
  await b.startAgain();
  await equalProcesses(a, b);
  const came = a.way.carried("back") - before;
  // At most a chunk comes twice for each kill, of what are hashes and handshakes very little.
  assert.ok(came < bytes + kills * 1.25 * MIB + MIB / 2, `${came} bytes came of ${bytes}`);
  await isSound(pair);
  return `${kills} kills while ${bytes / MIB} MiB were copied, for which ${(came / MIB).toFixed(1)} came`;
}

/** The secondary is gone, and what it lacks is in no log any more. */
export async function leftBehind({ a, b }: Pair, changed = 16): Promise<void> {
  await b.kill();
  for (let i = 0; i < changed; i++) is(await a.put(`copied-${i}`, text(PIECE, i + 1000)), 200);
  const body = { max_versions: 1 };
  is(await a.call("POST", "/v1/secret/metadata/large", { token: a.token, body }), 204);
  const large = text(8 * PIECE, 0);
  for (let i = 0; i < (1.125 * KEPT) / large.length; i++) is(await a.put("large", large), 200);
  is(await a.put("large", "small"), 200);
}

/** One that was left behind is killed again and again while it compares and mends. It is gone at the end. */
export async function killedWhileComparing(
  pair: Pair,
  points: readonly KillPoint[],
): Promise<string> {
  const states: string[] = [];
  for (const point of points) states.push(await killedAt(pair, point, () => pair.b.startAgain()));
  return `killed in ${states.join(", ")}`;
}

// ── R-97 ──

/** As many entries as writers that wait for it leave it behind by; and how many others make in a second: three times what 1 Mbit/s carries. */
const [CLOSE, QUICK] = [64, 150];

/** One that was left behind comes back to a primary that is written to all the time: by those who wait for it, once it follows, or
 *  (`isAbove`) faster than the line carries. */
export async function busyPrimary(
  pair: Pair,
  { isAbove, more }: { readonly isAbove: boolean; readonly more: number },
): Promise<string> {
  const { a, b } = pair;
  const begun = performance.now();
  let now = { head: 0, has: 0 };
  let writes = 0;
  let isOver = false;
  const mayWrite = () =>
    isAbove ? writes < ((performance.now() - begun) / 1000) * QUICK : now.head - now.has < CLOSE;
  const client = async (one: number) => {
    while (!isOver) {
      await until(() => isOver || mayWrite());
      writes++;
      is(await a.put(`copied-${(writes * 8 + one) % 96}`, text(2 * KIB, writes)), 200);
    }
  };
  try {
    if (isAbove) a.way.limit(MBIT);
    const clients = Promise.all(Array.from({ length: 8 }, (_, one) => client(one)));
    await b.startAgain();
    await until(async () => (await b.status())["state"] === "stream-wals");
    const [first, converged] = [await indexesOf(pair), writes];
    now = first;
    await until(async () => {
      now = await indexesOf(pair);
      return writes >= converged + more && now.has > first.has;
    });
    const [behind, was] = [now.head - now.has, first.head - first.has];
    isOver = true;
    await clients;
    assert.ok(converged > 10, `${converged} writes until it followed`);
    if (isAbove) assert.ok(behind > CLOSE, `${was} entries behind, then ${behind}`);
    a.way.heal();
    await equalProcesses(a, b);
    assert.equal(eventsIn(b, "replication.sync-started"), 1, "one comparison");
    assert.equal(eventsIn(b, "replication.sync-failed"), 0);
    await isSound(pair);
    return `${converged} writes until it followed, ${was} entries behind; ${behind} after ${writes - converged} more`;
  } finally {
    isOver = true;
    a.way.heal();
  }
}

// ── R-98 ──

/** The same load with a line as it is and with one of 1 Mbit/s. */
export async function slowLine(
  pair: Pair,
  of: Load & {
    /** By which the primary may grow meanwhile, where that is less than what waits for the line. Default: by anything. */
    readonly memory?: number;
  },
): Promise<string> {
  const { a, b } = pair;
  const memory = async () => {
    const answer = await a.call("GET", "/v1/sys/host-info", { token: a.token });
    is(answer, 200);
    return Number(at(answer, "data", "process", "resident_bytes"));
  };
  await equalProcesses(a, b);
  const quick = await load(pair, of);
  await equalProcesses(a, b);
  const before = await memory();
  a.way.limit(MBIT);
  const slow = await load(pair, of);
  const grown = (await memory()) - before;
  const { head, has } = await indexesOf(pair);
  assert.ok(head - has >= of.writes / 2, `${head - has} entries behind`);
  const [middle, late] = [0.5, 0.95];
  const [one, other] = [quick, slow].map((all) =>
    [middle, late].map((part) => all[Math.floor(all.length * part)]!),
  );
  const latencies = `${show(one!)} ms without, ${show(other!)} ms with the slow line`;
  // Who waited for that one would take a tenth of a second for each 12 KiB.
  for (const i of [0, 1]) assert.ok(other![i]! < one![i]! * 4 + 25, latencies);
  assert.ok(grown < (of.memory ?? Infinity), `it has grown by ${grown} bytes`);
  a.way.heal();
  await equalProcesses(a, b);
  return `${latencies}; ${head - has} entries behind, ${(grown / MIB).toFixed()} MiB more of memory`;
}

function show(times: readonly number[]): string {
  return times.map((time) => time.toFixed(1)).join(" and ");
}

// ── R-99 ──

/** For 15 seconds nobody has heard anything, and then somebody is asked. */
const SEEN_MS = 18_000;

export async function oneWay(pair: Pair, direction: Direction): Promise<string> {
  const { a, b } = pair;
  await equalProcesses(a, b);
  const connected = async () => {
    const [here, there] = [await a.status(), await b.status()];
    return [
      firstOf(here["secondaries"])["connection_status"] === "connected",
      there["connection_state"] === "ready" &&
        firstOf(there["primaries"])["connection_status"] === "connected",
    ];
  };
  await until(async () => (await connected()).every(Boolean));
  a.way.hold(direction);
  const begun = performance.now();
  is(await a.put("meanwhile", text(PIECE, begun)), 200);
  await until(async () => !(await connected()).some(Boolean));
  const seen = performance.now() - begun;
  assert.ok(seen < SEEN_MS, `${seen} ms until both have said it`);
  a.way.heal();
  const healed = performance.now();
  await equalProcesses(a, b);
  await until(async () => (await connected()).every(Boolean));
  const mended = performance.now() - healed;
  is(await a.put("afterwards", text(PIECE, healed)), 200);
  await equalProcesses(a, b);
  assert.equal(((await a.status())["secondaries"] as unknown[]).length, 1);
  return `${seen.toFixed()} ms until both said it, ${mended.toFixed()} ms until both followed again`;
}
