// R12 on processes, with everything: a performance set of three regions, two of which have a cluster that stands in for them, and a walk over what
// operators do with it and what goes wrong meanwhile: writes, mounts, filters, failovers, others that lead, regions that leave, keys that are
// rotated, kills, and connections that are cut. At rest each region has what the walk itself thinks that its filter says, and nothing else: on
// no disk of it either. What was answered is there, but for what a forced failover has given up, and that is reported.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fromHex } from "@holdfast/shared/bytes";
import { Prng } from "../../sim/prng.ts";
import { at } from "../../tests/support/http-client.ts";
import {
  ClusterProcess,
  equalProcesses,
  rejoinProcess,
} from "../../tests/support/replication/cluster-process.ts";
import {
  is,
  isOnDiskOf,
  joinRegionProcess,
  perf,
  perfStatus,
  regionFollows,
  standInProcess,
  within,
} from "../../tests/support/replication/regions/region-process.ts";
import { until } from "../../tests/support/until.ts";
import { withProcesses } from "../replication/processes.ts";
import { type Place, type PlacedFilter, withheldBy } from "./set-places.ts";

export interface SetWalkOptions {
  readonly steps: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

const REST_EVERY = 25;
const NAMESPACES = ["n1", "n2", "n2/deep"];
const MAX_MOUNTS = 9;
const KEYS = 4;
/** How long a file may go on to have what is withheld. */
const GONE_WITHIN_MS = 60_000;

/** How often each is taken, against the others. */
const STEPS = [
  ["write", 46],
  ["filter", 12],
  ["unfilter", 2],
  ["mount", 5],
  ["unmount", 2],
  ["move", 3],
  ["cut off", 6],
  ["kill region", 4],
  ["kill leader", 2],
  ["kill stand-in", 2],
  ["rotate", 2],
  ["new token", 2],
  ["leave", 2],
  ["failover", 4],
  ["forced failover", 2],
  ["promote region", 2],
  ["revoke stand-in", 2],
] as const;
type Step = (typeof STEPS)[number][0];

interface Mount extends Place {
  /** By key, what was answered. */
  readonly values: Map<string, string>;
}

/** A region: the cluster that answers there, and the one that stands in for it. */
interface Member {
  readonly name: string;
  active: ClusterProcess;
  standIn: ClusterProcess | null;
  /** By which the one that leads knows it; empty where it leads itself. */
  id: string;
  filter: PlacedFilter | null;
}

/** Throws where something is not as it must be. Returns what was done. */
export async function setWalk({ steps, seed, say }: SetWalkOptions): Promise<string> {
  return await withProcesses(async (t) => {
    const start = (region: string) => ClusterProcess.start(t, () => `region = "${region}"\n`);
    const [a, b, c, d, e] = await Promise.all([
      start("a"),
      start("a"),
      start("c"),
      start("c"),
      start("e"),
    ]);
    is(await perf(a, "primary/enable"), 200);
    const walk = new SetWalk(new Prng(`set walk ${seed}`), say, {
      members: [
        { name: "a", active: a, standIn: b, id: "", filter: null },
        { name: "c", active: c, standIn: d, id: "", filter: null },
        { name: "e", active: e, standIn: null, id: "", filter: null },
      ],
    });
    await walk.begin();
    return await walk.run(steps);
  });
}

class SetWalk {
  readonly #prng: Prng;
  readonly #say: (line: string) => void;
  readonly #members: readonly Member[];
  #leader: Member;
  readonly #mounts = new Map<string, Mount>(); // by uuid
  readonly #counts: Record<string, number> = {};
  #numbers = 0;

  constructor(
    prng: Prng,
    say: (line: string) => void,
    { members }: { readonly members: readonly Member[] },
  ) {
    this.#prng = prng;
    this.#say = say;
    this.#members = members;
    this.#leader = members[0]!;
  }

  async begin(): Promise<void> {
    const { active } = this.#leader;
    for (const path of ["clouda", "cloudb"]) {
      assert.ok((await within(active, "DELETE", `sys/mounts/${path}`)).status < 300); // they are there at first
    }
    for (const path of NAMESPACES) {
      const [, above = "", name = path] = /^(?:(.+)\/)?([^/]+)$/.exec(path) ?? [];
      const made = await within(active, "POST", `sys/namespaces/${name}`, above, {});
      assert.ok(made.status < 300, made.text);
    }
    for (const namespace of ["", "", "n1", "n2", "n2/deep"]) await this.#mount(namespace);
    await this.#standIn(this.#leader);
    for (const member of this.#followers) await this.#join(member);
    await this.#standIn(this.#followers[0]!);
    await this.#rest();
  }

  async run(steps: number): Promise<string> {
    for (let step = 0; step < steps; step++) {
      const name = this.#pick();
      if (name !== "write") this.#say(`${step}: ${name}`);
      await this.#act(name);
      if (step % REST_EVERY === REST_EVERY - 1 || step === steps - 1) await this.#rest();
    }
    return Object.entries(this.#counts)
      .map((one) => one.join(" "))
      .join(", ");
  }

  get #followers(): readonly Member[] {
    return this.#members.filter((one) => one !== this.#leader);
  }

  #pick(): Step {
    let roll = this.#prng.int(STEPS.reduce((sum, [, weight]) => sum + weight, 0));
    return STEPS.find(([, weight]) => (roll -= weight) < 0)![0];
  }

  #count(name: string, by = 1): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + by;
  }

  async #act(name: Step): Promise<void> {
    this.#count(name);
    const prng = this.#prng;
    const member = prng.pick(this.#followers);
    switch (name) {
      case "write":
        return await this.#write();
      case "filter":
        return await this.#filter(member);
      case "unfilter":
        return await this.#unfilter(member);
      case "mount":
        return await this.#mount(prng.pick(["", ...NAMESPACES]));
      case "unmount":
        return await this.#unmount();
      case "move":
        return await this.#move();
      case "cut off":
        return await this.#cutOff();
      case "kill region":
        return await this.#killed(member.active);
      case "kill leader":
        return await this.#killed(this.#leader.active);
      case "kill stand-in": {
        const { standIn } = prng.pick(this.#standing);
        return await this.#killed(standIn!);
      }
      case "rotate":
        is(await within(this.#leader.active, "POST", "sys/rotate", "", {}), 204);
        return;
      case "new token":
        return await this.#newToken(member);
      case "leave":
        return await this.#leave();
      case "failover":
        return await this.#failOver(prng.pick(this.#standing));
      case "forced failover":
        return await this.#forced();
      case "promote region":
        return await this.#promoteRegion(member);
      case "revoke stand-in":
        return await this.#revokeStandIn(prng.pick(this.#standing));
    }
  }

  get #standing(): readonly Member[] {
    return this.#members.filter(({ standIn }) => standIn !== null);
  }

  // --- what clients do ---

  async #write(): Promise<void> {
    const mounts = [...this.#mounts.values()];
    if (mounts.length > 0) await this.#put(this.#leader.active, this.#prng.pick(mounts));
  }

  /** Of what was answered for. */
  async #put(cluster: ClusterProcess, mount: Mount): Promise<void> {
    const [key, of] = [`k${this.#prng.int(KEYS)}`, `${++this.#numbers}`];
    const path = `${mount.path}/${key}`;
    const answer = await within(cluster, "POST", path, mount.namespace, { of });
    assert.ok(answer.status < 300, answer.text);
    mount.values.set(key, of);
  }

  async #mount(namespace: string): Promise<void> {
    if (this.#mounts.size >= MAX_MOUNTS) return;
    const { active } = this.#leader;
    const path = `m${++this.#numbers}`;
    const body = { type: "kv", options: { version: "1" } };
    const made = await within(active, "POST", `sys/mounts/${path}`, namespace, body);
    assert.ok(made.status < 300, made.text);
    const entry = await within(active, "GET", `sys/mounts/${path}`, namespace);
    const uuid = String(at(entry, "data", "uuid"));
    const mount = { uuid, path, namespace, values: new Map<string, string>() };
    this.#mounts.set(uuid, mount);
    await this.#put(active, mount);
  }

  async #unmount(): Promise<void> {
    if (this.#mounts.size <= 4) return;
    const mount = this.#prng.pick([...this.#mounts.values()]);
    const { active } = this.#leader;
    const { uuid, path, namespace } = mount;
    await this.#together();
    this.#mounts.delete(uuid);
    const gone = await within(active, "DELETE", `sys/mounts/${path}`, namespace);
    assert.ok(gone.status < 300, gone.text);
    await until(async () => {
      const { status } = await within(active, "GET", `sys/mounts/${path}`, namespace);
      return status === 404 || status === 400;
    });
  }

  /** Within its namespace: what withholds it stays with it. */
  async #move(): Promise<void> {
    if (this.#mounts.size === 0) return;
    const mount = this.#prng.pick([...this.#mounts.values()]);
    const { active } = this.#leader;
    const [from, to] = [mount.path, `m${++this.#numbers}`];
    await this.#together();
    const moved = await within(active, "POST", "sys/remount", mount.namespace, { from, to });
    assert.ok(moved.status < 300, moved.text);
    mount.path = to;
    const found = () => within(active, "GET", `sys/mounts/${to}`, mount.namespace);
    await until(async () => (await found()).status === 200);
    const id = String(at(moved, "data", "migration_id"));
    await until(async () => {
      const status = await within(active, "GET", `sys/remount/status/${id}`, mount.namespace);
      return at(status, "data", "migration_info", "status") === "success";
    });
  }

  // --- what operators do ---

  #drawnFilter(): PlacedFilter {
    const places = [...this.#mounts.values()];
    const named = this.#prng.shuffle(places).slice(0, this.#prng.int(3));
    const namespaces = this.#prng.shuffle(NAMESPACES).slice(0, this.#prng.int(2));
    const mode = this.#prng.chance(0.65) ? "deny" : "allow";
    return { mode, mounts: named.map(({ uuid }) => uuid), namespaces };
  }

  async #filter(member: Member): Promise<void> {
    const filter = this.#drawnFilter();
    const paths = [
      ...filter.mounts.map((uuid) => wholePath(this.#mounts.get(uuid)!)),
      ...filter.namespaces.map((path) => `${path}/`),
    ];
    const path = `primary/paths-filter/${member.id}`;
    is(await perf(this.#leader.active, path, { mode: filter.mode, paths }), 200);
    member.filter = filter;
  }

  async #unfilter(member: Member): Promise<void> {
    is(await perf(this.#leader.active, `primary/paths-filter/${member.id}`, {}, "DELETE"), 204);
    member.filter = null;
  }

  /** What a region would be sent is changed while nobody comes to the one that leads. */
  async #cutOff(): Promise<void> {
    const { way } = this.#leader.active;
    way.cut();
    for (let i = this.#prng.int(4); i >= 0; i--) await this.#write();
    await this.#filter(this.#prng.pick(this.#followers));
    if (this.#prng.chance(0.5)) await this.#mount(this.#prng.pick(["", ...NAMESPACES]));
    for (let i = this.#prng.int(3); i >= 0; i--) await this.#write();
    way.heal();
  }

  async #killed(cluster: ClusterProcess): Promise<void> {
    await cluster.kill();
    if (cluster !== this.#leader.active) {
      await this.#write();
      await this.#filter(this.#prng.pick(this.#followers));
      await this.#write();
    }
    await cluster.startAgain();
  }

  async #join(member: Member): Promise<void> {
    member.id = `${member.name}-${++this.#numbers}`;
    member.filter = null;
    if (this.#prng.chance(0.5)) await this.#filter(member);
    await joinRegionProcess(this.#leader.active, member.active, member.id);
  }

  async #standIn(member: Member): Promise<void> {
    const { active, standIn } = member;
    if (member !== this.#leader) await this.#followed(member);
    await standInProcess(active, standIn!, `stand-in-${++this.#numbers}`);
  }

  /** By another id, with the filter that it has; and what it had is good no more. */
  async #newToken(member: Member): Promise<void> {
    await this.#followed(member); // before it has copied it knows nobody's token
    const { active: leader } = this.#leader;
    const [before, id] = [member.id, `${member.name}-${++this.#numbers}`];
    const copied = member.filter === null ? {} : { copy_filter_from: before };
    await this.#comeBy(member, id, copied);
    await this.#followed(member);
    is(await perf(leader, "primary/revoke-secondary", { id: before }), 204);
  }

  async #comeBy(member: Member, id: string, more: object = {}): Promise<void> {
    const { active } = member;
    const key = await perf(active, "secondary/generate-public-key");
    is(key, 200);
    const body = { id, secondary_public_key: at(key, "data", "secondary_public_key"), ...more };
    const made = await perf(this.#leader.active, "primary/secondary-token", body);
    is(made, 200);
    member.id = id;
    is(await perf(active, "secondary/update-primary", { token: at(made, "data", "token") }), 200);
  }

  /** One without a stand-in, and it comes back with nothing. */
  async #leave(): Promise<void> {
    const member = this.#followers.find(({ standIn }) => standIn === null);
    if (member === undefined) return;
    await this.#followed(member);
    // A filter that follows what was mounted or moved has rows compared once more.
    await until(async () => {
      const left = await perf(member.active, "secondary/disable");
      const isHalf = left.headers["x-service-error"] === "replication_half_copied";
      if (!isHalf) is(left, 200);
      return !isHalf;
    });
    is(await perf(this.#leader.active, "primary/revoke-secondary", { id: member.id }), 204);
    await this.#join(member);
  }

  async #revokeStandIn({ active, standIn }: Member): Promise<void> {
    const { secondary_id: id } = await standIn!.status();
    is(await active.dr("primary/revoke-secondary", { id }), 204);
    await this.#rejoin(active, standIn!);
  }

  /** Everything is there, and nothing is lost. */
  async #failOver(member: Member): Promise<void> {
    await this.#together();
    const { active: before, standIn: next } = member;
    is(await before.dr("primary/demote"), 200);
    const token = await next!.operationToken();
    await until(async () => {
      const promoted = await next!.operate("promote", {}, token);
      return promoted.status === 200;
    });
    await this.#follow(member);
  }

  async #follow(member: Member): Promise<void> {
    const { active, standIn } = member;
    [member.active, member.standIn] = [standIn!, active];
    await this.#rejoin(member.active, member.standIn);
    await this.#together();
  }

  async #rejoin(primary: ClusterProcess, standIn: ClusterProcess): Promise<void> {
    await rejoinProcess(primary, standIn, `stand-in-${++this.#numbers}`);
  }

  /** What came to the one that leads after it was cut off is lost, and the cluster that gives it up says so. */
  async #forced(): Promise<void> {
    const member = this.#leader;
    if (member.standIn === null) return;
    await this.#together();
    const { active: before, standIn: next } = member;
    before.way.cut();
    const kept = new Map(
      [...this.#mounts.values()].map(({ uuid, values }) => [uuid, new Map(values)]),
    );
    const tail = 1 + this.#prng.int(4);
    for (let i = 0; i < tail; i++) await this.#write();
    const divergent = await entriesOf(before);
    is(await next.operate("promote", { force: true }), 200);
    before.way.heal();
    await until(async () => (await before.status())["state"] === "fenced");
    is(await before.dr("primary/demote"), 200);
    for (const [uuid, values] of kept) {
      const now = this.#mounts.get(uuid)!.values;
      now.clear();
      for (const [key, value] of values) now.set(key, value);
    }
    await this.#follow(member);
    const more = (await entriesOf(before)) - divergent;
    assert.ok(more >= tail, `${tail} entries were given up, and ${more} are reported`);
  }

  /** One that is sent everything leads the set; what the others are not sent is said anew before they come. */
  async #promoteRegion(member: Member): Promise<void> {
    if (member.filter !== null) await this.#unfilter(member);
    await this.#together();
    const before = this.#leader;
    is(await perf(before.active, "primary/demote"), 200);
    await until(async () => (await perf(member.active, "secondary/promote")).status === 200);
    this.#leader = member;
    member.id = "";
    for (const other of this.#followers) {
      const id = `${other.name}-${++this.#numbers}`;
      other.id = id;
      other.filter = null;
      if (this.#prng.chance(0.5)) await this.#filter(other);
      await this.#comeBy(other, id);
    }
  }

  // --- what must be so ---

  async #followed({ active }: Member): Promise<void> {
    const { epoch } = await perfStatus(this.#leader.active);
    await regionFollows(active, Number(epoch));
  }

  /** Everybody follows, and has all that there is for it. */
  async #together(): Promise<void> {
    for (const member of this.#followers) {
      await this.#followed(member);
      await this.#caughtUp(member);
    }
    for (const { active, standIn } of this.#standing) {
      if (standIn !== null && (await isPrimary(active))) await equalProcesses(active, standIn);
    }
    for (const member of this.#followers) await this.#knowsStandIns(member);
  }

  /** It says that it is not sent what the walk thinks that it is not, and has what was written last in all other mounts. */
  async #caughtUp(member: Member): Promise<void> {
    const { active } = member;
    const expected = this.#withheldFrom(member);
    const says = async (cluster: ClusterProcess, side: string) => {
      const answer = await perf(cluster, `${side}/dynamic-filter/${member.id}`, {}, "GET");
      return answer.status === 200 ? at(answer, "data") : null;
    };
    const lists = {
      dynamic_filtered_mounts: expected.mounts.map(wholePath).toSorted(),
      dynamic_filtered_namespaces: expected.namespaces.map((path) => `${path}/`).toSorted(),
    };
    assert.deepEqual(await says(this.#leader.active, "primary"), lists);
    await until(async () => {
      return JSON.stringify(await says(active, "secondary")) === JSON.stringify(lists);
    });
    const withheld = new Set(expected.mounts);
    for (const mount of this.#mounts.values()) {
      for (const [key, value] of mount.values) {
        const wanted = withheld.has(mount) ? null : value;
        await until(async () => (await valueAt(active, mount, key)) === wanted);
      }
    }
  }

  #withheldFrom({ filter }: Member) {
    return withheldBy(filter, [...this.#mounts.values()], NAMESPACES);
  }

  async #knowsStandIns({ active }: Member): Promise<void> {
    const { standIn, active: leader } = this.#leader;
    if (standIn === null || !(await isPrimary(leader))) return;
    const address = `https://127.0.0.1:${standIn.way.port}`;
    await until(async () => {
      const { failover_cluster_addrs: known } = await perfStatus(active);
      return Array.isArray(known) && known.includes(address);
    });
  }

  async #rest(): Promise<void> {
    await this.#together();
    for (const mount of this.#mounts.values()) {
      for (const [key, value] of mount.values) {
        assert.equal(await valueAt(this.#leader.active, mount, key), value, wholePath(mount));
      }
    }
    for (const member of this.#followers) {
      await this.#checkDisks(member);
      await this.#checkWrites(member);
      const { active } = member;
      is(await within(active, "POST", "sys/replication/merkle-check", "", {}), 200);
      const { corrupted_merkle_tree: isDamaged } = await perfStatus(active);
      assert.equal(isDamaged, false, `${member.name} is damaged`);
    }
    await this.#together();
    this.#count("rests");
  }

  /** No file of a region, and of who stands in for it, has what is withheld; whatever is written next takes the rest with it. */
  async #checkDisks(member: Member): Promise<void> {
    const { active, standIn, name } = member;
    const { mounts } = this.#withheldFrom(member);
    const all = [active, ...(standIn === null ? [] : [standIn])];
    const left = () =>
      mounts.filter(({ uuid }) => all.some((cluster) => isOnDiskOf(cluster, uuid)));
    const end = performance.now() + GONE_WITHIN_MS;
    while (left().length > 0) {
      if (performance.now() >= end) {
        const found = left().map((mount) => [
          wholePath(mount),
          ...all.flatMap((cluster) => filesWith(cluster, mount.uuid)),
        ]);
        assert.fail(`withheld from ${name}, and on a disk of it: ${JSON.stringify(found)}`);
      }
      const written = await within(active, "POST", "cubbyhole/x", "", { a: `${++this.#numbers}` });
      assert.ok(written.status < 300, written.text);
      await new Promise((resolve) => void setTimeout(resolve, 50));
    }
    this.#count("withheld", mounts.length);
  }

  /** It changes what it is sent, at the one that leads, and nothing else. */
  async #checkWrites(member: Member): Promise<void> {
    const withheld = new Set(this.#withheldFrom(member).mounts);
    for (const mount of this.#mounts.values()) {
      if (!withheld.has(mount)) {
        await this.#put(member.active, mount);
        continue;
      }
      const path = `${mount.path}/k0`;
      const answer = await within(member.active, "POST", path, mount.namespace, { of: "denied" });
      assert.ok(answer.status === 404 || answer.status === 403, answer.text);
    }
  }
}

function wholePath({ namespace, path }: Place): string {
  return namespace === "" ? `${path}/` : `${namespace}/${path}/`;
}

async function valueAt(cluster: ClusterProcess, mount: Mount, key: string): Promise<unknown> {
  const { path, namespace } = mount;
  const answer = await within(cluster, "GET", `${path}/${key}`, namespace);
  // Of a namespace that is not there nobody is told so.
  if (answer.status === 404 || (namespace !== "" && answer.status === 403)) return null;
  return answer.status === 200 ? at(answer, "data", "of") : undefined;
}

async function isPrimary(cluster: ClusterProcess): Promise<boolean> {
  return (await cluster.status())["mode"] === "primary";
}

/** Where a file of it has a uuid, with what stands around that. */
function filesWith({ home }: ClusterProcess, uuid: string): string[] {
  const files = readdirSync(join(home, "data"), { recursive: true, withFileTypes: true });
  return files.flatMap((file) => {
    const name = join(file.parentPath, file.name);
    if (!file.isFile()) return [];
    const bytes = readFileSync(name);
    const scope = fromHex(uuid.replaceAll("-", ""))!;
    const places = [bytes.indexOf(uuid), bytes.indexOf(scope)].filter((at) => at >= 0);
    return places.map((at) => {
      const around = bytes.subarray(Math.max(0, at - 80), at + 80).toString("latin1");
      return `${name} at ${at}: ${around.replaceAll(/[^ -~]/g, ".")}`;
    });
  });
}

/** Entries that it has given up and keeps. */
async function entriesOf(cluster: ClusterProcess): Promise<number> {
  const { divergent_entries } = await cluster.status();
  return Number(divergent_entries ?? 0);
}
