// Dynamic credentials on both sides of a set while the way between them comes and goes: whatever was cut, revoked, renewed or given up, in the end the
// provider holds what the leases of both clusters account for, and nothing else.

import { setTimeout as pause } from "node:timers/promises";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { SECOND } from "@holdfast/shared/text/duration";
import { Prng } from "../../sim/prng.ts";
import { type Answer, at } from "../../tests/support/http-client.ts";
import type { Cluster } from "../../tests/support/replication/clusters.ts";
import { leasesOf, mountCounting } from "../../tests/support/replication/outside-site.ts";
import { regionInSync } from "../../tests/support/replication/performance.ts";
import { countingEngine } from "../../tests/support/stores/counting-engine.ts";
import { Outside } from "../../tests/support/stores/outside.ts";
import { withProcesses } from "../replication/processes.ts";
import { type Result, resultOf } from "../result.ts";
import {
  createToken,
  madeToken,
  type MadeToken,
  type ThreeRegions,
  threeRegions,
} from "./three-regions.ts";

export interface RegionCredentialsOptions {
  /** Seconds. */
  readonly n: number;
  readonly seed: number;
  readonly say: (line: string) => void;
  readonly plant?: "forgotten-ends";
}

const CREDS = "/v1/count/creds/r";
const CLIENTS = 3; // of each side
const SETTLES = 60_000; // milliseconds
/** It goes on until the second region has revoked so many: a slow machine comes to few of them in seconds. */
const ENOUGH = 5;
const LONGEST = 60_000; // milliseconds more
/** Ends by itself while the experiment runs. */
const SHORT_ROLE = { ttl: 3 };
const POLICY = 'path "count/creds/*" { capabilities = ["read"] }';

interface Counts {
  issued: number;
  revoked: number;
  /** Of those, by the second region. */
  there: number;
  renewed: number;
  ended: number;
  cuts: number;
}

export async function regionCredentials(options: RegionCredentialsOptions): Promise<Result> {
  const { n, seed, say, plant } = options;
  const counts: Counts = { issued: 0, revoked: 0, there: 0, renewed: 0, ended: 0, cuts: 0 };
  const wrong: string[] = [];
  const outside = new Outside();
  let seconds = 0;
  const settles = plant === undefined ? SETTLES : SETTLES / 10; // what does not come is not waited for
  await withProcesses(async (t) => {
    const typesOf = (provider: Outside) => ({
      engineTypes: [anyEngine(countingEngine(provider, { minUndoAge: 2n * SECOND }))],
    });
    const members = plant === "forgotten-ends" ? typesOf(forgetting(outside)) : {};
    const stage = await threeRegions(t, { names: ["b"], server: typesOf(outside), members });
    const { a, way, others } = stage;
    const [b] = others as [Cluster];
    await mountCounting(a, "count");
    await call(a, stage.root, "POST", "/v1/count/roles/short", SHORT_ROLE);
    await call(a, stage.root, "POST", "/v1/sys/policies/acl/p", { policy: POLICY });
    await regionInSync(a, b);
    const objects = new Map<string, string>(); // by lease
    const begun = performance.now();
    const end = begun + n * 1000;
    const prng = new Prng(`region credentials ${seed}`);
    const isOver = () => performance.now() >= (counts.there >= ENOUGH ? end : end + LONGEST);
    const work = stage.all.flatMap((one) =>
      Array.from({ length: CLIENTS }, (_, i) => {
        const own = prng.fork(`${one === a ? "a" : "b"} ${i}`);
        return client(one, stage, { prng: own, objects, counts, isOver });
      }),
    );
    const links = comesAndGoes(way, prng.fork("link"), counts, isOver);
    await Promise.all([...work, links]);
    seconds = (performance.now() - begun) / 1000;
    way.heal();
    await regionInSync(a, b);
    say(JSON.stringify(counts));
    wrong.push(...(await balance(stage, outside, objects, settles)));
  });
  const { issued, revoked, renewed, ended, cuts } = counts;
  const figure =
    `${issued} credentials in ${seconds.toFixed(0)} s over ${cuts} cuts, ${revoked} revoked, ${renewed} renewed, ${ended} ended with their tokens; ` +
    `${outside.objects.length} left, as leases say`;
  return resultOf(figure, wrong);
}

interface Client {
  readonly prng: Prng;
  readonly objects: Map<string, string>;
  readonly counts: Counts;
  readonly isOver: () => boolean;
}

async function client(
  one: Cluster,
  { a, root }: ThreeRegions,
  { prng, objects, counts, isOver }: Client,
): Promise<void> {
  let token: MadeToken | null = null;
  const leases: string[] = [];
  while (!isOver()) {
    const roll = prng.next();
    if (token === null || roll < 0.06) {
      if (token !== null) {
        // By the first region, which is always there: the other one hears of it when it can.
        await call(a, root, "DELETE", `/v1/acl/token/${token.id}`);
        counts.ended++;
      }
      token = madeToken(await createToken(a, root, { Name: "client", Global: true }));
    } else if (roll < 0.7) {
      const path = prng.chance(0.3) ? "/v1/count/creds/short" : CREDS;
      // A token may not be known yet on the other side of a cut.
      const answer = await one.server.call("GET", path, { token: token.secret });
      if (answer.status !== 200) await pause(10);
      else {
        const id = String(at(answer, "lease_id"));
        objects.set(id, String(at(answer, "data", "object")));
        leases.push(id);
        counts.issued++;
      }
    } else {
      const id = leases.length === 0 ? undefined : leases.splice(prng.int(leases.length), 1)[0];
      if (id === undefined) continue;
      const renews = prng.chance(0.3);
      const path = renews ? "/v1/sys/leases/renew" : "/v1/sys/leases/revoke";
      const { status } = await one.server.call("POST", path, {
        token: root,
        body: { lease_id: id },
      });
      if (status < 300) counts[renews ? "renewed" : "revoked"]++;
      if (status < 300 && !renews && one !== a) counts.there++;
    }
    await pause(prng.int(20));
  }
}

async function comesAndGoes(
  way: ThreeRegions["way"],
  prng: Prng,
  counts: Counts,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await pause(300 + prng.int(1500));
    way.cut();
    counts.cuts++;
    await pause(200 + prng.int(2500));
    way.heal();
  }
}

/** What the provider holds, and what leases of both sides say: the same, as soon as everything that was begun has ended. */
async function balance(
  { all, root }: ThreeRegions,
  outside: Outside,
  objects: ReadonlyMap<string, string>,
  within: number,
): Promise<string[]> {
  const end = performance.now() + within;
  for (;;) {
    const known = new Set<string>();
    for (const one of all) {
      for (const role of ["r", "short"]) {
        const names = await leasesOf(one, root, `count/creds/${role}`);
        for (const name of names) known.add(objects.get(`count/creds/${role}/${name}`) ?? name);
      }
    }
    const there = new Set(outside.objects);
    const unknown = [...there].filter((object) => !known.has(object));
    const missing = [...known].filter((object) => !there.has(object));
    if (unknown.length + missing.length === 0) return [];
    if (performance.now() > end) {
      return [
        `${unknown.length} things outside that no lease accounts for, ${missing.length} leases of nothing`,
      ];
    }
    await pause(250);
  }
}

/** A known bug: who is told that something has ended there does not end it, and says that it has. */
function forgetting(outside: Outside): Outside {
  return new Proxy(outside, {
    get(target, name) {
      if (name === "remove") return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

async function call(
  { server }: Cluster,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const answer = await server.call(method, path, { token, body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer;
}
