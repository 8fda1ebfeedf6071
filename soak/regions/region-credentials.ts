// Dynamic credentials on both sides of a set while the way between them comes and goes: whatever was cut, revoked, renewed or given up, in the end the
// cloud, which both speak to over HTTP, holds what the leases of both clusters account for, and nothing else.

import { setTimeout as pause } from "node:timers/promises";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";
import { SECOND } from "@holdfast/shared/text/duration";
import { Prng } from "../../sim/prng.ts";
import { type FakeCloudA, startFakeCloudA } from "../../tests/fakes/clouda/fake.ts";
import { type Answer, at } from "../../tests/support/http-client.ts";
import type { Cluster } from "../../tests/support/replication/clusters.ts";
import { leasesOf } from "../../tests/support/replication/outside-site.ts";
import { regionInSync } from "../../tests/support/replication/performance.ts";
import { READ_ONLY } from "../../tests/support/servers/cloud-server.ts";
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

/** Mounts that both regions share. What the second gives ends by itself while the experiment runs. */
const LASTING = "clouda";
const SHORT = "short";
const ROLE = "deploy";
const CLIENTS = 3; // of each side
const SETTLES = 60_000; // milliseconds
/** It goes on until the second region has revoked so many: a slow machine comes to few of them in seconds. */
const ENOUGH = 5;
const LONGEST = 60_000; // milliseconds more
const POLICY = [LASTING, SHORT]
  .map((mount) => `path "${mount}/creds/*" { capabilities = ["read"] }`)
  .join("\n");

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
  let left = 0;
  let seconds = 0;
  const settles = plant === undefined ? SETTLES : SETTLES / 10; // what does not come is not waited for
  await withProcesses(async (t) => {
    const cloud = await startFakeCloudA();
    t.after(() => cloud.close());
    const settings = { outbound_allow: ["127.0.0.1"] };
    const server = { settings, engineTypes: [HURRIED] };
    const members = plant === "forgotten-ends" ? { engineTypes: [FORGETTING] } : {};
    const stage = await threeRegions(t, { names: ["b"], server, members });
    const { a, way, others } = stage;
    const [b] = others as [Cluster];
    await mountCloud(stage, cloud);
    await call(a, stage.root, "POST", "/v1/sys/policies/acl/p", { policy: POLICY });
    await regionInSync(a, b);
    const users = new Map<string, string>(); // by lease
    const begun = performance.now();
    const end = begun + n * 1000;
    const prng = new Prng(`region credentials ${seed}`);
    const isOver = () => performance.now() >= (counts.there >= ENOUGH ? end : end + LONGEST);
    const work = stage.all.flatMap((one) =>
      Array.from({ length: CLIENTS }, (_, i) => {
        const own = prng.fork(`${one === a ? "a" : "b"} ${i}`);
        return client(one, stage, { prng: own, users, counts, isOver });
      }),
    );
    const links = comesAndGoes(way, prng.fork("link"), counts, isOver);
    await Promise.all([...work, links]);
    seconds = (performance.now() - begun) / 1000;
    way.heal();
    await regionInSync(a, b);
    say(JSON.stringify(counts));
    wrong.push(...(await balance(stage, cloud, users, settles)));
    left = usersIn(cloud).length;
  });
  const { issued, revoked, renewed, ended, cuts } = counts;
  const figure =
    `${issued} credentials in ${seconds.toFixed(0)} s over ${cuts} cuts, ${revoked} revoked, ${renewed} renewed, ${ended} ended with their tokens; ` +
    `${left} users in the cloud, as leases say`;
  return resultOf(figure, wrong);
}

interface Client {
  readonly prng: Prng;
  readonly users: Map<string, string>;
  readonly counts: Counts;
  readonly isOver: () => boolean;
}

async function client(
  one: Cluster,
  { a, root }: ThreeRegions,
  { prng, users, counts, isOver }: Client,
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
      const path = `/v1/${prng.chance(0.3) ? SHORT : LASTING}/creds/${ROLE}`;
      // A token may not be known yet on the other side of a cut.
      const answer = await one.server.call("GET", path, { token: token.secret });
      if (answer.status !== 200) await pause(10);
      else {
        const id = String(at(answer, "lease_id"));
        users.set(id, String(at(answer, "data", "username")));
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

async function mountCloud({ a, root }: ThreeRegions, cloud: FakeCloudA): Promise<void> {
  const { url, accessKeyId: access_key, secretAccessKey: secret_key } = cloud;
  const config = { access_key, secret_key, iam_endpoint: url, sts_endpoint: url };
  await call(a, root, "POST", `/v1/sys/mounts/${SHORT}`, { type: "clouda" });
  for (const mount of [LASTING, SHORT]) {
    await call(a, root, "POST", `/v1/${mount}/config/root`, config);
    const role = { credential_type: "iam_user", policy_arns: [READ_ONLY] };
    await call(a, root, "POST", `/v1/${mount}/roles/${ROLE}`, role);
  }
  const terms = { lease: "3s", lease_max: "60s" };
  await call(a, root, "POST", `/v1/${SHORT}/config/lease`, terms);
}

/** Those that were made for leases. */
function usersIn(cloud: FakeCloudA) {
  return cloud.control.state().users.filter(({ name }) => name !== "holdfast");
}

/** What the cloud holds, and what leases of both sides say: the same, as soon as everything that was begun has ended. */
async function balance(
  { all, root }: ThreeRegions,
  cloud: FakeCloudA,
  users: ReadonlyMap<string, string>,
  within: number,
): Promise<string[]> {
  const end = performance.now() + within;
  for (;;) {
    const known = new Set<string>();
    for (const one of all) {
      for (const path of [LASTING, SHORT].map((mount) => `${mount}/creds/${ROLE}`)) {
        for (const name of await leasesOf(one, root, path)) {
          known.add(users.get(`${path}/${name}`) ?? name);
        }
      }
    }
    const there = usersIn(cloud);
    const unknown = there.filter(({ name }) => !known.has(name));
    const names = new Set(there.map(({ name }) => name));
    const missing = [...known].filter((user) => !names.has(user));
    const bare = there.filter(({ keys }) => keys.length !== 1);
    if (unknown.length + missing.length + bare.length === 0) return [];
    if (performance.now() > end) {
      return [
        `${unknown.length} users in the cloud that no lease accounts for, ${missing.length} leases of nobody, ` +
          `${bare.length} users without their one key`,
      ];
    }
    await pause(250);
  }
}

/** What was begun and has come to nothing is taken back while the experiment runs. */
const HURRIED: EngineType<unknown> = { ...anyEngine(cloudaType), minUndoAge: 2n * SECOND };

/** A known bug: who is told that a lease has ended there does not end it, and says that it has. */
const FORGETTING: EngineType<unknown> = {
  ...HURRIED,
  secrets: { ...HURRIED.secrets, iam_user: { renew: null, revoke: async () => {} } },
};

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
