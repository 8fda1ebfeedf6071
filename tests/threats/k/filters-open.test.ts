// Section K, what filters withhold: nor by calls that were open before, by questions that members are asked, and by one that is no member
// any more.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import test, { type TestContext } from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { hex } from "@holdfast/shared/bytes";
import { namespaceScope } from "../../../src/barrier/scope.ts";
import { findToken } from "../../../src/forwarding/messages.ts";
import { isReplacedThere } from "../../../src/cluster/hello.ts";
import type { PeerLink } from "../../../src/cluster/peer-link.ts";
import { linkTo } from "../../../src/replication/links/dialing.ts";
import { storedUpstream } from "../../../src/replication/links/upstream.ts";
import * as messages from "../../../src/replication/stream/messages.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import { at } from "../../support/http-client.ts";
import {
  deny,
  makeNamespace,
  mountSecret,
  request,
  scopeOfMount,
  sharedRows,
  siftedRegion,
  storeOf,
} from "../../support/replication/filtered.ts";
import { ask, mountCounting } from "../../support/replication/outside-site.ts";
import {
  joinedRegion,
  performanceOf,
  startPerformancePrimary,
  withRoot,
} from "../../support/replication/performance.ts";
import { countingEngine } from "../../support/stores/counting-engine.ts";
import { Outside } from "../../support/stores/outside.ts";

const WORLD = { clock: new SystemClock(), timers: new SystemTimers(), net: new SystemNet() };
const LARGE = 300_000; // no two such rows are in one message

async function idOf(a: Cluster, namespace: string): Promise<string> {
  return String(at(await request(a, "GET", `sys/namespaces/${namespace}`), "data", "id"));
}

/** A second link of a region, beside the one that it follows by. */
function linkOf(t: TestContext, region: Cluster): { link: PeerLink; epoch: number } {
  const view = region.server.server.barrier.view("local/replication/performance/");
  const { role } = performanceOf(region);
  assert.ok(role.mode === "secondary");
  const link = linkTo(role.address, storedUpstream(view, "performance")!.member, WORLD);
  t.after(() => link.close());
  return { link, epoch: role.epoch.number };
}

/** The key of the largest row of a mount, and what is in it now. */
function largest(a: Cluster, uuid: string): { key: string; value: string } {
  const scope = scopeOfMount(uuid);
  const found = [...sharedRows(storeOf(a))].filter(([, row]) => row.startsWith(scope));
  const [key, row] = found.toSorted(([, x], [, y]) => y.length - x.length)[0]!;
  return { key, value: row.split(" ")[1]! };
}

async function write(a: Cluster, path: string, letter: string): Promise<void> {
  const answer = await request(a, "POST", path, { body: { of: letter.repeat(LARGE) } });
  assert.ok(answer.status < 300, answer.text);
}

async function regionWith(t: TestContext, mount: string) {
  const a = await startPerformancePrimary(t);
  const uuid = await mountSecret(a, mount);
  await write(a, `${mount}/one`, "x");
  const b = withRoot(await joinedRegion(t, a), a.token);
  await siftedRegion(a, b);
  const { link, epoch } = linkOf(t, b);
  await link.open({ clusterId: await b.clusterId(), version: "0.1.0" });
  const { key } = largest(a, uuid);
  const keys = Array.from({ length: messages.MAX_KEYS }, () => key);
  const call = link.stream(messages.fetchKeys, { epoch, keys });
  const first = await call.next();
  assert.ok(first.done !== true && !first.value.rows[0]!.isAbsent);
  return { a, b, uuid, call };
}

test("T-K01 a call that was open before a denial gives nothing that is written after it", async (t) => {
  const { a, b, uuid, call } = await regionWith(t, "eu");
  await deny(a, "eu/");
  await siftedRegion(a, b, [scopeOfMount(uuid)]);
  await write(a, "eu/one", "y");
  const { value } = largest(a, uuid);
  let absent = 0;
  for await (const { rows } of call) {
    for (const row of rows) {
      assert.notEqual(hex(row.value), value);
      if (row.isAbsent) absent++;
    }
  }
  assert.ok(absent > messages.MAX_KEYS / 2, String(absent)); // the rest was on its way already
});

test("T-K01 calls of a cluster end in whose place another has come, those that were open too", async (t) => {
  const { a, b, uuid, call } = await regionWith(t, "us");
  const { link: other } = linkOf(t, b);
  await other.open({ clusterId: randomUUID(), version: "0.1.0", logEpoch: 2, logFirst: "1" });
  await write(a, "us/one", "y");
  const { value } = largest(a, uuid);
  await assert.rejects(async () => {
    for await (const { rows } of call) {
      for (const row of rows) assert.notEqual(hex(row.value), value);
    }
  }, isReplacedThere);
  const { link: again } = linkOf(t, b);
  await assert.rejects(again.open({ clusterId: await b.clusterId(), version: "0.1.0" }));
});

test("T-K01 a region is not told whether there is a token in a namespace that it is not sent", async (t) => {
  const a = await startPerformancePrimary(t);
  await makeNamespace(a, "team");
  await deny(a, "team/");
  const b = withRoot(await joinedRegion(t, a), a.token);
  await siftedRegion(a, b, [hex(namespaceScope(await idOf(a, "team")))]);
  const { link } = linkOf(t, b);
  await link.open({ clusterId: await b.clusterId(), version: "0.1.0" });
  const isKnown = async (namespace: string) => {
    const body = { Name: "n", Type: "client", Policies: ["p"], Global: true };
    const made = await request(a, "POST", "acl/token", { namespace, body });
    assert.equal(made.status, 200, made.text);
    const hash = a.server.server.tokens.salt.hashOf(String(at(made, "SecretID")));
    return (await link.call(findToken, { hash }, {})).isKnown;
  };
  assert.equal(await isKnown(""), true);
  assert.equal(await isKnown("team"), false);
});

test("T-K01 a region is not asked for leases of a mount that it is not sent, and hears no name of a role in it", async (t) => {
  const a = await startPerformancePrimary(t, {
    engineTypes: [anyEngine(countingEngine(new Outside()))],
  });
  await mountCounting(a, "count");
  await mountCounting(a, "open");
  await deny(a, "count/");
  const engineTypes = [anyEngine(countingEngine(new Outside()))];
  const b = withRoot(await joinedRegion(t, a, "b", { engineTypes }), a.token);
  const answer = await request(a, "GET", "sys/mounts/count");
  const { uuid } = (JSON.parse(answer.text) as { data: { uuid: string } }).data;
  await siftedRegion(a, b, [scopeOfMount(uuid)]);
  const said: string[] = [];
  const codec = messages.streamLog.response as { encode: (value: never) => Uint8Array };
  const { encode } = codec;
  codec.encode = (value) => {
    const bytes = encode.call(codec, value);
    said.push(Buffer.from(bytes).toString("latin1"));
    return bytes;
  };
  t.after(() => {
    codec.encode = encode;
  });
  for (const [mount, role] of [
    ["count", "merger-with-acme"],
    ["open", "merger-with-others"],
  ]) {
    const path = `${mount}/roles/${role}`;
    assert.equal((await ask(a, a.token, "POST", path, { ttl: 3600 })).status, 204);
    const gone = await ask(a, a.token, "DELETE", path);
    assert.equal(gone.status, 204, gone.text);
  }
  assert.equal(
    said.some((text) => text.includes("roles/merger-with-others")),
    true,
  ); // it would have been heard
  assert.equal(
    said.some((text) => text.includes("merger-with-acme")),
    false,
  );
});
