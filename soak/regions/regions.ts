// Reliability R13: three regions, of which the authoritative one is cut off while tokens are made, changed, deleted and end. What needs it is
// refused in time and is not done; the rest goes on; a token that was revoked meanwhile is dead everywhere five seconds after healing; and
// one of a single region is never anybody in another.

import type { Nanos } from "@holdfast/shared/world";
import { at } from "../../tests/support/http-client.ts";
import type { Cluster } from "../../tests/support/replication/clusters.ts";
import { until } from "../../tests/support/until.ts";
import { withProcesses } from "../replication/processes.ts";
import { type Result, resultOf } from "../result.ts";
import {
  createToken,
  isGood,
  LateTimers,
  madeToken,
  type MadeToken,
  type ThreeRegions,
  threeRegions,
} from "./three-regions.ts";

export interface RegionsOptions {
  /** Cuts. */
  readonly rounds: number;
  /** Global tokens of each. */
  readonly n: number;
  readonly say: (line: string) => void;
  readonly plant?: "late-dialling";
}

const DEAD_WITHIN = 5000; // milliseconds
const REFUSED_WITHIN = 10_000;
const MINUTE: Nanos = 60_000_000_000n;
const GIVES_UP = 60_000;

interface Seen {
  readonly wrong: string[];
  dead: number;
  refused: number;
  refusals: number;
  looks: number;
}

export async function regions({ rounds, n, say, plant }: RegionsOptions): Promise<Result> {
  const seen: Seen = { wrong: [], dead: 0, refused: 0, refusals: 0, looks: 0 };
  await withProcesses(async (t) => {
    const late = plant === "late-dialling";
    const stage = await threeRegions(
      t,
      late ? { names: ["b"], world: { timers: new LateTimers() } } : {},
    );
    for (let round = 1; round <= rounds && seen.wrong.length === 0; round++) {
      await cutOff(stage, seen, { round, n, dials: late ? 1 : 6 });
      say(`cut ${round}: dead ${seen.dead.toFixed(0)} ms after healing at most`);
    }
  });
  const figure =
    `${rounds} cuts, tokens that were revoked meanwhile dead in ${seen.dead.toFixed(0)} ms at most; ` +
    `${seen.refusals} writes refused, in ${seen.refused.toFixed(0)} ms at most; ` +
    `${seen.looks} looks at tokens of other regions`;
  return resultOf(figure, seen.wrong);
}

interface Round {
  readonly round: number;
  readonly n: number;
  /** So often somebody tries to come through in vain. */
  readonly dials: number;
}

async function cutOff(stage: ThreeRegions, seen: Seen, { round, n, dials }: Round): Promise<void> {
  const { a, others, all, way, root, clock } = stage;
  const { wrong } = seen;
  const made: MadeToken[] = [];
  for (let i = 0; i < n; i++) {
    const by = all[i % all.length]!; // whoever is asked, they are written by the first
    const fields = { Name: `global ${round} ${i}`, Global: true };
    made.push(madeToken(await createToken(by, root, fields)));
  }
  const ending = madeToken(
    await createToken(a, root, { Name: `ends ${round}`, Global: true, ExpirationTTL: "10m" }),
  );
  const locals = new Map<Cluster, MadeToken>();
  for (const one of all) {
    const fields = { Name: `local ${round}`, Global: false };
    locals.set(one, madeToken(await createToken(one, root, fields)));
  }
  for (const token of [...made, ending]) {
    for (const one of all) await until(() => isGood(one, token));
  }
  await lookAtLocals(locals, seen);

  way.cut();
  const before = way.accepted;
  const [revoked, kept] = [made.slice(0, n / 2), made.slice(n / 2)];
  for (const { id } of revoked) {
    const gone = await a.server.call("DELETE", `/v1/acl/token/${id}`, { token: root });
    if (gone.status !== 200) wrong.push(`the first region deletes no token: ${gone.text}`);
  }
  clock.ahead += 11n * MINUTE;
  for (const one of all) {
    if (await isGood(one, ending)) wrong.push("a token that has ended is good in a region");
  }
  const [changed] = kept;
  for (const one of others) await refusedAt(stage, one, changed!, `${round}`, seen);
  await lookAtLocals(locals, seen);
  await until(() => way.accepted >= before + dials);

  const healed = performance.now();
  way.heal();
  for (const token of revoked) {
    for (const one of others) {
      while ((await isGood(one, token)) && performance.now() - healed < GIVES_UP);
      seen.dead = Math.max(seen.dead, performance.now() - healed);
    }
  }
  if (seen.dead > DEAD_WITHIN) {
    wrong.push(`a token that was revoked lived ${seen.dead.toFixed(0)} ms after healing`);
  }
  for (const token of kept) {
    for (const one of all) if (!(await isGood(one, token))) wrong.push("a good token is refused");
  }
  await lookAtLocals(locals, seen);
  await notDone(stage, changed!, wrong);
}

/** What needs the first region, asked of another: each is refused, in time. */
async function refusedAt(
  { root }: ThreeRegions,
  one: Cluster,
  { id, name }: MadeToken,
  round: string,
  seen: Seen,
): Promise<void> {
  const token = root;
  const global = { Type: "client", Policies: ["p"], Global: true };
  const requests = [
    ["POST", "/v1/acl/token", { ...global, Name: `never ${round}` }],
    ["POST", `/v1/acl/token/${id}`, { ...global, AccessorID: id, Name: `${name} never` }],
    ["DELETE", `/v1/acl/token/${id}`, undefined],
    ["POST", `/v1/sys/policies/acl/never-${round}`, { policy: 'path "x" { capabilities = [] }' }],
    ["POST", `/v1/secret/data/never-${round}`, { data: { n: "1" } }],
  ] as const;
  for (const [method, path, body] of requests) {
    const began = performance.now();
    const answer = await one.server.call(method, path, { token, body });
    const took = performance.now() - began;
    seen.refusals++;
    seen.refused = Math.max(seen.refused, took);
    const isClear = answer.status === 503 && /primary/.test(answer.text);
    if (!isClear) seen.wrong.push(`${method} without the first region: ${answer.text}`);
    if (took > REFUSED_WITHIN) seen.wrong.push(`refused after ${took.toFixed(0)} ms`);
  }
  const own = await createToken(one, root, { Name: `own ${round}`, Global: false });
  if (own.status !== 200) seen.wrong.push(`no local token without the first region: ${own.text}`);
  const read = await one.server.call("LIST", "/v1/sys/policies/acl", { token });
  if (read.status !== 200) seen.wrong.push(`no reading without the first region: ${read.text}`);
}

/** Of what was refused nothing is anywhere. */
async function notDone(
  { all, root }: ThreeRegions,
  { id, name }: MadeToken,
  wrong: string[],
): Promise<void> {
  for (const one of all) {
    const list = await one.server.call("GET", "/v1/acl/tokens", { token: root });
    if (list.text.includes("never"))
      wrong.push("a token that was refused is there, or was changed");
    const token = await one.server.call("GET", `/v1/acl/token/${id}`, { token: root });
    if (at(token, "Name") !== name) wrong.push(`a token that was to be left: ${token.text}`);
    for (const path of ["sys/policies/acl", "secret/metadata"]) {
      const names = await one.server.call("LIST", `/v1/${path}`, { token: root });
      if (names.text.includes("never")) wrong.push(`what was refused is there: ${path}`);
    }
  }
}

/** One of a single region is good there, and nobody elsewhere. */
async function lookAtLocals(locals: Map<Cluster, MadeToken>, seen: Seen): Promise<void> {
  for (const [home, token] of locals) {
    for (const one of locals.keys()) {
      seen.looks++;
      if ((await isGood(one, token)) === (one === home)) continue;
      seen.wrong.push(
        `a token of one region is ${one === home ? "refused there" : "good elsewhere"}`,
      );
    }
  }
}
