// What somebody else has written reaches the memory of the engine whose storage it is: on a node that
// follows another one, and whatever the engine keeps.

import assert from "node:assert/strict";
import test from "node:test";
import type { CloudA } from "../../../engines/clouda/engine.ts";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import {
  type StaticCreds,
  type StaticRole,
  staticCredsCodec,
  staticCredsKey,
  staticRoleCodec,
  staticRoleKey,
} from "../../../engines/clouda/keys/static-role.ts";
import { cloudbType } from "@holdfast/engines/cloudb/cloudb";
import type { CloudB } from "../../../engines/cloudb/engine.ts";
import { type Kv, kvEngine } from "@holdfast/engines/kv/kv";
import { anyEngine, type EngineNeeds, type EngineType } from "@holdfast/plugin-sdk/engine";
import { jsonCodec } from "@holdfast/shared/codec";
import { SECOND } from "@holdfast/shared/text/duration";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { catchUp, followingBarrier } from "../../support/stores/followed-store.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { madeBarrier, ROOT_KEY } from "../../support/made/made-barrier.ts";
import { type MadeMounts, mountsOver } from "../../support/made/made-mounts.ts";

const note = jsonCodec<string>();

/** Remembers what it was told of. */
class Hearer {
  readonly needs: EngineNeeds;
  readonly heard: (readonly string[])[] = [];
  /** What it read when it was opened. */
  readonly found: string | null;

  constructor(needs: EngineNeeds, found: string | null) {
    this.needs = needs;
    this.found = found;
  }

  write(key: string, text: string): Promise<void> {
    return this.needs.storage.write((tx) => tx.put(key, text, note));
  }
}

interface HearerStage {
  opening: () => Promise<void>;
  refuses: boolean;
}

function hearerType(stage: HearerStage): EngineType<unknown> {
  return anyEngine<Hearer>({
    type: "hearer",
    kind: "secret",
    summary: "For tests.",
    version: "v1.0.0+builtin",
    paths: () => [],
    checkOptions: (options) => options,
    open: async (needs) => {
      const found = await needs.storage.get("a", note);
      await stage.opening();
      return new Hearer(needs, found);
    },
    invalidate: ({ heard }, keys) => {
      heard.push(keys);
      if (stage.refuses) throw new Error("cannot");
    },
  });
}

/** A node that leads and one that follows it, both with the same types. */
async function twoNodes(mounted: readonly string[], hearing = calm()) {
  const types = [kvEngine, cloudaType, cloudbType].map((type) => anyEngine(type as never));
  const all = { types: [...types, hearerType(hearing)] };
  const leader = await mountsOver(await madeBarrier(), all);
  for (const type of mounted) {
    await leader.mounts.enable(ROOT_NAMESPACE, { kind: "secret", type, path: type });
  }
  const barrier = await followingBarrier(leader);
  assert.ok(barrier.barrier.unseal(ROOT_KEY));
  const follower = await mountsOver(barrier, { ...all, leads: false });
  const replicate = async () => {
    await catchUp(follower, leader.engine);
    await nextTurn(); // engines read what is new by promises
  };
  return { leader, follower, replicate };
}

const calm = (): HearerStage => ({ opening: async () => {}, refuses: false });

function engineAt<E>({ mounts }: MadeMounts, path: string): E {
  const found = mounts.find(ROOT_NAMESPACE, [path]);
  assert.ok(found !== null && found.ref.engine !== null, path);
  return found.ref.engine as E;
}

test("kv: settings that the leader has changed hold on the follower", async () => {
  const { leader, follower, replicate } = await twoNodes(["kv"]);
  const [there, here] = [engineAt<Kv>(leader, "kv"), engineAt<Kv>(follower, "kv")];
  await there.versioned.configure({ maxVersions: 7 });
  assert.equal(here.versioned.settings.maxVersions, 0);
  await replicate();
  assert.equal(here.versioned.settings.maxVersions, 7);
});

test("clouda: a static role that the leader has made, changed or deleted is known on the follower", async () => {
  const { leader, follower, replicate } = await twoNodes(["clouda"]);
  const [there, here] = [engineAt<CloudA>(leader, "clouda"), engineAt<CloudA>(follower, "clouda")];
  const role: StaticRole = {
    name: "app",
    id: "AIDA",
    username: "",
    rotationPeriod: 3600,
    rotationSchedule: "",
    rotationWindow: 0,
    overlap: null,
  };
  const now = leader.world.clock.now();
  const creds: StaticCreds = {
    accessKey: "AKIA",
    secretKey: "secret",
    createdAt: now,
    expiration: now + 3600n * SECOND,
    previousKey: null,
    retireAt: null,
    attempts: 0,
    lastError: "",
    retryAt: null,
    ended: false,
  };
  const put = (username: string) =>
    there.needs.storage.write((tx) => {
      tx.put(staticRoleKey("app"), { ...role, username }, staticRoleCodec);
      tx.put(staticCredsKey("app"), creds, staticCredsCodec);
    });
  await put("ann");
  await replicate();
  assert.deepEqual(here.staticRoles.managed(), [["ann", "app"]]);
  await put("bob");
  await replicate();
  assert.deepEqual(here.staticRoles.managed(), [["bob", "app"]]);
  await there.needs.storage.write((tx) => tx.delete(staticRoleKey("app")));
  await replicate();
  assert.deepEqual(here.staticRoles.managed(), []);
});

test("cloudb: what is kept of the provider goes with each write of the configuration, and with no other", async () => {
  const { leader, follower, replicate } = await twoNodes(["cloudb"]);
  const [there, here] = [engineAt<CloudB>(leader, "cloudb"), engineAt<CloudB>(follower, "cloudb")];
  const tenantId = "11111111-1111-4111-8111-111111111111";
  const write = () =>
    there.config.write({ tenantId, clientId: tenantId, subscriptionId: tenantId });
  await write();
  await replicate();
  const first = await here.connections.current();
  await there.needs.storage.write((tx) => tx.put("elsewhere", "1", note));
  await replicate();
  assert.equal(await here.connections.current(), first);
  await write();
  await replicate();
  assert.notEqual(await here.connections.current(), first);
});

test("an engine hears of its own keys, in its own words, and of those that others wrote alone", async () => {
  const { leader, follower, replicate } = await twoNodes(["hearer", "kv"]);
  const options = { kind: "secret", type: "hearer", path: "local", local: true } as const;
  await leader.mounts.enable(ROOT_NAMESPACE, options);
  await replicate();
  const here = engineAt<Hearer>(follower, "hearer");
  const there = engineAt<Hearer>(leader, "hearer");
  await there.write("a", "1");
  await there.write("b/c", "1");
  await engineAt<Kv>(leader, "kv").versioned.configure({ maxVersions: 7 });
  await engineAt<Hearer>(leader, "local").write("d", "1");
  await replicate();
  assert.deepEqual(here.heard, [["a", "b/c"]]);
  assert.deepEqual(engineAt<Hearer>(follower, "local").heard, [["d"]]);
  assert.deepEqual(there.heard, []);
});

test("an engine that leads hears of shared keys that were applied, and not of its own", async () => {
  const { leader } = await twoNodes(["hearer", "kv"]);
  const { store, barrier } = leader;
  const [hearer, kv] = [engineAt<Hearer>(leader, "hearer"), engineAt<Kv>(leader, "kv")];
  await kv.versioned.configure({ maxVersions: 7 });
  const uuidAt = (path: string) => leader.mounts.find(ROOT_NAMESPACE, [path])?.ref.uuid;
  const data = barrier.view("shared/ns/root/mounts/");
  const [settings = "", ...others] = data.keys(`${uuidAt("kv")}/data/`, { limit: 10 });
  assert.deepEqual([settings !== "", others], [true, []]);
  store.leaveShared(true);
  await store.writeApplied((raw) => {
    const tx = data.within(raw);
    tx.put(`${uuidAt("hearer")}/data/a`, "1", note);
    tx.delete(settings);
  });
  await nextTurn();
  assert.deepEqual(hearer.heard, [["a"]]);
  assert.equal(kv.versioned.settings.maxVersions, 0);
});

test("what was written while an engine was being opened reaches it when it is open", async () => {
  const hearing = calm();
  const { leader, follower, replicate } = await twoNodes([], hearing);
  const { promise, resolve } = Promise.withResolvers<void>();
  await leader.mounts.enable(ROOT_NAMESPACE, { kind: "secret", type: "hearer", path: "hearer" });
  hearing.opening = () => promise;
  await replicate(); // it has read, and is not open yet
  await engineAt<Hearer>(leader, "hearer").write("a", "1");
  await replicate();
  resolve();
  await nextTurn();
  const here = engineAt<Hearer>(follower, "hearer");
  assert.equal(here.found, null);
  assert.deepEqual(here.heard, [["a"]]);
});

test("an engine that does not take a change in is opened anew, and others are told all the same", async () => {
  const hearing = calm();
  const { leader, follower, replicate } = await twoNodes(["hearer", "kv"], hearing);
  const before = engineAt<Hearer>(follower, "hearer");
  hearing.refuses = true;
  await engineAt<Hearer>(leader, "hearer").write("a", "1");
  await engineAt<Kv>(leader, "kv").versioned.configure({ maxVersions: 7 });
  await replicate();
  await nextTurn();
  const after = engineAt<Hearer>(follower, "hearer");
  assert.notEqual(after, before);
  assert.equal(after.found, "1");
  assert.equal(engineAt<Kv>(follower, "kv").versioned.settings.maxVersions, 7);
});
