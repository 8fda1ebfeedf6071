// A node that is unsealed and does not lead writes nothing and calls nobody, whatever is due; it does when it
// leads, and has stopped when it rests. Every room of the server is there, with something to do for those that
// have work in the background; and rooms and engines that do not keep to it are found.

import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import type { Duplex } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { anyEngine, type EngineNeeds, type EngineType } from "@holdfast/plugin-sdk/engine";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import type { View } from "../../src/barrier/view.ts";
import type { Room } from "../../src/house/room.ts";
import { Identity } from "../../src/identity/identity.ts";
import { MemoryDisk } from "../../src/storage/engines/memory.ts";
import { Trimmer } from "../../src/storage/trimming.ts";
import { SystemNet } from "../../src/system/net.ts";
import { fakeWorld } from "../support/fake-world.ts";
import { Outside, type Step } from "../support/stores/outside.ts";
import { DAY, EngineServer, HOUR, MINUTE } from "../support/servers/engine-server.ts";
import type { TestServerOptions } from "../support/servers/test-server.ts";
import { WatchedEngine } from "../support/stores/watched-engine.ts";

const STEPS: readonly Step[] = ["issue", "recorded", "made", "renew", "revoke", "undo", "periodic"];
const ROLE = { primary: true };
const note = jsonCodec<string>();

class CountingNet extends SystemNet {
  calls = 0;

  override connect(...to: Parameters<SystemNet["connect"]>): Promise<Duplex> {
    this.calls++;
    return super.connect(...to);
  }
}

/** An engine with work of its own, which begins at one of its moments. */
function busyEngine(begins: "open" | "lead", outside: Outside): EngineType<unknown> {
  const begin = ({ storage, timers }: EngineNeeds) => {
    const timer = timers.after(MINUTE, () => {
      void outside.reach("periodic", "busy");
      void storage.write((tx) => tx.put("at", "work", note)).catch(() => {});
    });
    return () => timer.cancel();
  };
  interface Busy {
    readonly needs: EngineNeeds;
    stop: () => void;
  }
  return anyEngine<Busy>({
    type: "busy",
    kind: "secret",
    summary: "For tests.",
    version: "v1.0.0+builtin",
    paths: () => [],
    checkOptions: (options) => options,
    open: (needs) => ({ needs, stop: begins === "open" ? begin(needs) : () => {} }),
    lead: (busy) => {
      if (begins === "lead") busy.stop = begin(busy.needs);
    },
    rest: (busy) => busy.stop(),
  });
}

class Stage {
  readonly disk = new MemoryDisk();
  readonly outside = new Outside();
  readonly net = new CountingNet();
  /** Where automated snapshots lie. */
  readonly place = realpathSync(mkdtempSync(join(tmpdir(), "leading-")));
  readonly #t: TestContext;
  readonly #stop: (() => Promise<void>)[] = [];
  #watched: WatchedEngine | null = null;
  #writes: () => number = () => 0;
  #before = { writes: 0, calls: 0 };
  shares: readonly string[] = [];
  root = "";

  constructor(t: TestContext) {
    this.#t = t;
    t.after(async () => {
      for (const stop of this.#stop) await stop();
      rmSync(this.place, { recursive: true, force: true });
    });
  }

  async started(options: TestServerOptions): Promise<EngineServer> {
    const { disk, outside, net } = this;
    const server = new EngineServer({
      engineTypes: [busyEngine("lead", outside)],
      logRetention: { minEntries: 1n }, // so that there is always something to trim
      settings: { snapshot_roots: [this.place] },
      ...options,
      disk,
      outside,
      world: { net },
      engine: (inner) => (this.#watched = new WatchedEngine(inner)),
    });
    await server.start();
    this.#stop.push(() => server.test.stop().catch(() => {}));
    return server;
  }

  /** Unsealed without leading. */
  async resting(options: TestServerOptions = {}): Promise<EngineServer> {
    const server = await this.started({ ...options, leads: () => false });
    const { mock } = this.#t.mock.method(server.test.server.store, "write");
    this.#writes = () => mock.callCount();
    this.mark();
    // So late that everything there has a time for is due, yearly keys among it.
    server.time.clock.jump(server.time.clock.now() + 401n * DAY);
    await server.test.unseal(this.shares);
    server.root = this.root;
    return server;
  }

  /** How much was written and called since the mark. A write counts when it is begun: a node that does not lead seals
   *  nothing, so that most would come to nothing. */
  get done(): typeof QUIET {
    const commits = this.#watched?.batches.length ?? 0;
    const { writes, calls } = this.#before;
    return { commits, writes: this.#writes() - writes, calls: this.#calls() - calls };
  }

  get isQuiet(): boolean {
    return Object.values(this.done).every((count) => count === 0);
  }

  mark(): void {
    this.#watched?.batches.splice(0);
    this.#before = { writes: this.#writes(), calls: this.#calls() };
  }

  #calls(): number {
    return STEPS.reduce((sum, step) => sum + this.outside.reached(step), this.net.calls);
  }
}

const QUIET = { commits: 0, writes: 0, calls: 0 };

/** A store in which every room has left something to be done. */
async function fullStage(t: TestContext): Promise<Stage> {
  const stage = new Stage(t);
  const server = await stage.started({});
  await server.open();
  [stage.shares, stage.root] = [server.shares, server.root];
  await server.counting("count", { ttl: 600 });
  await server.issue(); // a lease that ends
  await server.enable("busy", "busy");
  await server.must("POST", "auth/token/create", { ttl: "10m", policies: ["default"] }); // a token too
  await server.must("POST", "acl/token", {
    Name: "short",
    Type: "management",
    ExpirationTTL: "2m",
  });
  // A record of something that was made outside, and never became a lease.
  stage.outside.fail("made", () => new Error("the provider is gone"), 1);
  await server.ask("GET", "count/creds/r");
  // A namespace that is being deleted, with a mount whose leases cannot be revoked yet.
  await server.namespaces("team");
  await server.counting("held", {}, "team");
  await server.issue("held/creds/r", { namespace: "team" });
  stage.outside.fail("revoke", () => new Error("not now"), 1);
  await server.must("DELETE", "sys/namespaces/team");
  // Keys of identity tokens, of which the next is there: to make one takes longer than the clock here says.
  const { barrier } = server.test.server;
  let ahead = 0n;
  const identity = new Identity({
    view: barrier.view("shared/").sub("identity/"),
    ...fakeWorld(),
    clock: { now: () => server.time.clock.now() + ahead },
    apiAddress: () => "https://hf.example:8200",
    clusterId: () => "other",
  });
  const bearer = { namespaceId: "root", kind: "secret", accessor: "count_1" } as const;
  for (ahead of [0n, 89n * DAY]) await identity.token(bearer, "a", HOUR);
  // A lease that has ended, and is not signed for; a snapshot that was stored, and is not proven.
  await server.revoke((await server.issue()).id, { sync: true });
  const AUTO = "sys/storage/raft/snapshot-auto";
  await server.must("POST", `${AUTO}/config/hourly`, {
    interval: "1h",
    path_prefix: stage.place,
    file_prefix: "hourly",
    storage_type: "local",
    local_max_space: 1_000_000_000,
    drill: "1d",
  });
  await server.must("POST", `${AUTO}/run/hourly`);
  await server.test.server.life.rest({ drained: async () => {} }); // no file is left open
  await server.die();
  return stage;
}

/** Longer than anything waits: what comes once a day comes. */
async function pass({ time }: EngineServer): Promise<void> {
  await time.passSlowly(2n * HOUR, 5n * MINUTE);
  await time.passSlowly(24n * HOUR, HOUR);
}

test("a node that does not lead writes nothing and calls nobody, whatever is due", async (t) => {
  const stage = await fullStage(t);
  const server = await stage.resting();
  assert.equal(server.test.server.life.leading, false);
  await pass(server);
  assert.deepEqual(stage.done, QUIET);

  const named = server.storedKeys("shared/namespaces/").length;
  const expiring = server.storedKeys("local/tokens/").length;
  await server.test.server.life.lead(ROLE);
  await server.passUntil(() => stage.outside.objects.length === 0);
  await server.passUntil(() => server.storedKeys("shared/namespaces/").length < named);
  await server.passUntil(() => server.storedKeys("local/tokens/").length < expiring);
  await server.passUntil(() => (server.test.server.store.tail?.first ?? 0n) > 1n); // the log is trimmed
  assert.ok(stage.outside.reached("undo") > 0);
  assert.ok(stage.outside.reached("periodic") > 0);

  await server.issue(); // there is something to end again
  await server.test.server.life.rest({ drained: async () => {} });
  stage.mark();
  await pass(server);
  assert.deepEqual(stage.done, QUIET, "it has stopped");

  await server.test.server.life.lead(ROLE);
  await server.passUntil(() => stage.outside.objects.length === 0);
});

/** What does nothing by itself: others hand it what is to be done, and those are found. */
const WOKEN = [
  "end the children of tokens", // when the token above them ends
  "empty namespaces", // waits for the mounts in it; below it is told from the others
  "remove what is left of namespaces", // when another cluster has deleted one
  "give up what was given by mounts that go", // when another cluster disables one
  "remove what is left of mounts", // when it has
  "tidy leases", // when an operator says so
  "queue leases for revocation", // when a token ends or a mount goes
  "revoke leases", // those that were found to end
];

test("everything that runs in the background has something to do here, and would be found", async (t) => {
  const stage = await fullStage(t);
  const idle: string[] = [];
  for (let at = 0, more = true; more; at++) {
    const server = await stage.resting();
    const { jobs } = server.test.server.life;
    jobs[at]?.work.open();
    for (let i = 0; i < 26 && stage.isQuiet; i++) await server.time.passSlowly(HOUR, 30n * MINUTE);
    const closed = jobs[at]?.work.close();
    if (stage.isQuiet) idle.push(jobs[at]?.name ?? ""); // it may wait for others that do not run
    else await closed;
    await server.die();
    more = at + 1 < jobs.length;
  }
  assert.deepEqual(idle, WOKEN);
});

test("a node that leads in a cluster that is not primary leaves what is shared to the primary", async (t) => {
  const stage = await fullStage(t);
  const server = await stage.resting();
  const { life } = server.test.server;
  const named = server.storedKeys("shared/namespaces/").length;
  await life.lead({ primary: false });
  await server.passUntil(() => stage.outside.objects.length === 0);
  await pass(server);
  assert.equal(server.storedKeys("shared/namespaces/").length, named);
  await life.rest({ drained: async () => {} });
  await life.lead(ROLE);
  await server.passUntil(() => server.storedKeys("shared/namespaces/").length < named);
});

test("a store that nobody has led yet is only read", async (t) => {
  const stage = new Stage(t);
  const made = await stage.started({});
  stage.shares = (await made.test.init()).shares;
  await made.test.stop();
  const server = await stage.resting();
  await server.time.passSlowly(HOUR, 5n * MINUTE);
  assert.deepEqual(stage.done, QUIET);
  await server.test.server.life.lead(ROLE);
  assert.ok(stage.done.commits > 0, "the key of wrappings and the version are stored");
});

const roomThat = (name: string, open: (view: View) => void | Promise<void>) => [
  ({ shared }: { readonly shared: View }): Room => ({
    name,
    endpoints: [],
    open: () => open(shared),
  }),
];

test("planted: a room that writes while it opens keeps the node sealed", async (t) => {
  const stage = await fullStage(t);
  const write = (view: View) =>
    view.write((tx) => tx.put("planted", new Uint8Array(1), bytesCodec));
  const server = await stage.started({ leads: () => false, rooms: roomThat("planted", write) });
  const unsealed = await server.test.call("POST", "/v1/sys/unseal", {
    body: { key: stage.shares[0] },
  });
  assert.equal(unsealed.status, 503, unsealed.text);
  assert.equal(server.test.server.keeper.sealed, true);
});

test("planted: a room that writes, deletes or arms something while it opens is found", async (t) => {
  const planted: Readonly<Record<string, (view: View) => void | Promise<void>>> = {
    deletes: (view) => view.write((tx) => tx.delete("tokens/bootstrap")),
    later: (view) =>
      void Promise.resolve().then(() => view.write((tx) => tx.delete("tokens/bootstrap"))),
  };
  for (const [name, open] of Object.entries(planted)) {
    const stage = await fullStage(t);
    const server = await stage.resting({ rooms: roomThat(name, open) });
    await server.time.passSlowly(HOUR, 5n * MINUTE);
    assert.notDeepEqual(stage.done, QUIET, name);
  }
});

test("planted: trimming that begins while a room opens is found", async (t) => {
  const stage = await fullStage(t);
  const begin = () => {
    const { store } = server.test.server;
    const retention = () => ({ minEntries: 1n });
    const trimmer = new Trimmer({ store, ...fakeWorld(), retention });
    t.after(() => trimmer.close());
    trimmer.open();
  };
  const server = await stage.started({ leads: () => false, rooms: roomThat("trims", begin) });
  stage.mark();
  await server.test.unseal(stage.shares);
  await server.time.passSlowly(HOUR, 5n * MINUTE);
  assert.notDeepEqual(stage.done, QUIET);
});

test("planted: an engine whose own work begins while it opens is found", async (t) => {
  const stage = await fullStage(t);
  const server = await stage.resting({ engineTypes: [busyEngine("open", stage.outside)] });
  await server.time.passSlowly(HOUR, 5n * MINUTE);
  assert.ok(stage.done.calls > 0);
});
