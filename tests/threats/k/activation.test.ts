// Section K about activation: tokens that are used twice, late, by others or after a revocation; keys that are none; and
// addresses that lead inside, and very many of them. The members come over TLS to a port that asks the stored secondaries.

import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Activation } from "../../../src/replication/joining/activation.ts";
import {
  ActivationKey,
  makeToken,
  openToken,
} from "../../../src/replication/joining/activation-token.ts";
import { enablePrimary, Secondaries } from "../../../src/replication/joining/secondaries.ts";
import { PeerCalls } from "../../../src/outbound/peer-calls.ts";
import { OutboundError } from "@holdfast/plugin-sdk/outbound";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { Failure } from "@holdfast/shared/failure";
import { FakeClock, FakeTimers } from "../../support/fake-world.ts";
import { at } from "../../support/http-client.ts";
import { madeBarrier } from "../../support/made/made-barrier.ts";
import { startPrimary } from "../../support/replication/clusters.ts";
import { ADDRESS, EPOCH } from "../../support/replication/set-stage.ts";
import { askWho, ClusterStage, SELF } from "../../support/servers/cluster-stage.ts";

const BOUND = { timeout: 300_000 };
const PLACE = { address: ADDRESS, epoch: EPOCH };

/** A port in front of stored secondaries. */
class Primary {
  readonly stage: ClusterStage;
  readonly secondaries: Secondaries;

  private constructor(stage: ClusterStage, secondaries: Secondaries) {
    this.stage = stage;
    this.secondaries = secondaries;
  }

  static async start(): Promise<Primary> {
    const stage = await ClusterStage.start();
    const { authority, server, world } = stage;
    const { barrier } = await madeBarrier();
    const view = barrier.view("core/replication/dr/");
    await view.write((tx) => enablePrimary(tx, { authority, server }));
    const secondaries = new Secondaries({ view, kind: "dr", ...world });
    stage.greet = async (hello, peer) => {
      try {
        await secondaries.confirm(peer, hello.clusterId);
      } catch (error) {
        assert.ok(error instanceof Failure);
        throw new StatusError(Status.permissionDenied, error.message);
      }
      return {
        clusterId: "0b8e2f3e-0000-4000-8000-00000000000a",
        protocol: hello.protocol,
        version: "0.1.0",
      };
    };
    return new Primary(stage, secondaries);
  }

  /** A cluster that has opened a token for `id`. */
  async activated(id: string, ttl = HOUR): Promise<Activation> {
    const { barrier, world } = await madeBarrier();
    const key = new ActivationKey(barrier.view("core/replication/dr/"));
    const publicKey = await key.generate(world.random);
    const token = await makeToken(this.secondaries, { id, ttl, publicKey }, PLACE, world.random);
    assert.ok(token.form === "encrypted");
    const opened = openToken(token.text, { kind: "dr", key, clock: this.stage.world.clock });
    assert.ok(opened.form === "encrypted");
    return opened.activation;
  }

  /** Comes and says hello. */
  async linked(activation: Activation, as: { id?: string; clusterId?: string } = {}) {
    const { id, expires, serial, certificate, key } = activation;
    const pair = { expires, serial, certificate, key };
    const link = this.stage.link(id, pair, as.id === undefined ? {} : { id: as.id });
    await link.open({ ...SELF, clusterId: as.clusterId ?? SELF.clusterId });
    return link;
  }

  async takes(
    activation: Activation,
    as: { id?: string; clusterId?: string } = {},
  ): Promise<boolean> {
    try {
      const link = await this.linked(activation, as);
      assert.equal(await askWho(link), activation.id);
      await link.close();
      return true;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return false;
    }
  }
}

describe("activation", BOUND, () => {
  let primary: Primary;
  afterEach(() => primary.stage.close());

  test("T-K07: an activation lets in one cluster, in its time, under its own name", async () => {
    primary = await Primary.start();
    const { clock } = primary.stage.world;
    const berlin = await primary.activated("berlin", MINUTE);
    const late = await primary.activated("late", SECOND);
    assert.equal(await primary.takes(berlin, { id: "paris" }), false, "another id");
    assert.ok(await primary.takes(berlin));
    assert.equal(
      await primary.takes(berlin, { clusterId: "0b8e2f3e-0000-4000-8000-00000000000c" }),
      false,
      "a second use",
    );
    clock.pass(2n * SECOND);
    assert.equal(await primary.takes(late), false, "after its time");
    clock.pass(HOUR);
    assert.ok(await primary.takes(berlin), "the time limits activation and not what follows");
  });

  test("T-K07: a revocation cuts the member at once, and its certificate stays refused", async () => {
    primary = await Primary.start();
    const { stage, secondaries } = primary;
    const berlin = await primary.activated("berlin");
    const link = await primary.linked(berlin);
    assert.equal(await askWho(link), "berlin");
    const serials = await secondaries.revoke("berlin");
    const cut = serials.map((serial) => stage.port.revoke(stage.authority, serial));
    assert.deepEqual(cut, [1]);
    await assert.rejects(askWho(link));
    const again = await primary.activated("berlin");
    assert.ok(await primary.takes(again), "its id may be used again");
    assert.equal(await primary.takes(berlin), false, "at the port");
    // Also where only what is stored knows of it.
    stage.serve();
    assert.equal(await primary.takes(berlin), false, "at its hello");
    stage.serve(undefined, secondaries.revokedSerials());
    assert.equal(await primary.takes(berlin), false, "at the port, after a restart");
    assert.ok(await primary.takes(again));
  });
});

test("T-K10: a name that leads to where no cluster is, is judged before it is connected to, and in bounded time", async () => {
  const clock = new FakeClock();
  const timers = new FakeTimers(clock);
  const { signal } = new AbortController();
  const places = new Map([
    ["peer.example", ["10.0.0.7", "2606:4700::1"]],
    ["inside.example", ["10.0.0.7", "169.254.169.254"]],
    ["self.example", ["127.0.0.1"]],
    ["none.example", []],
  ]);
  const calls = new PeerCalls({
    allow: [],
    dev: false,
    timers,
    net: { connect: () => assert.fail("nothing is connected to") },
    resolve: (host) => {
      const found = places.get(host);
      return found === undefined ? new Promise(() => {}) : Promise.resolve(found);
    },
  });
  const locate = (address: string) => calls.locate("update_primary_addrs", address, signal);
  assert.deepEqual(await locate("https://peer.example:8201"), [
    { host: "10.0.0.7", port: 8201 },
    { host: "2606:4700::1", port: 8201 },
  ]);
  const trouble = (kind: string) => (error: unknown) =>
    error instanceof OutboundError && error.trouble === kind;
  for (const host of ["inside.example", "self.example", "169.254.169.254", "[fe80::1]"]) {
    await assert.rejects(locate(`https://${host}:8201`), trouble("forbidden"), host);
  }
  await assert.rejects(locate("https://none.example:8201"), trouble("unreachable"));
  for (const address of [
    "http://peer.example:8201",
    "https://a b",
    "x",
    "https://u@peer.example",
  ]) {
    await assert.rejects(locate(address), Failure, address);
  }
  // A hundred that hang, one after the other: five seconds each, and nothing of them stays.
  for (let i = 0; i < 100; i++) {
    const hangs = assert.rejects(locate(`https://h${i}.example:8201`), trouble("unreachable"));
    await timers.advance(5n * SECOND);
    await hangs;
  }
  assert.equal(clock.elapsed(), 500n * SECOND);
  assert.equal(timers.armed, 0);
});

test("T-K04: activations of one address that no token stands for come to an end, and those of others are opened", async (t) => {
  // Time stands still: what an address may do comes back with it.
  const clock = new FakeClock();
  const primary = await startPrimary(t, {
    listener: { forwardedForFrom: ["127.0.0.1"] },
    world: { clock },
  });
  const { server } = primary;
  const unwrap = async (address: string, token: string) => {
    const headers = { "X-Forwarded-For": address };
    return (await server.call("POST", "/v1/sys/wrapping/unwrap", { token, headers })).status;
  };
  const made = await server.call("POST", "/v1/sys/wrapping/wrap", {
    token: primary.token,
    body: { some: "thing" },
    headers: { "X-Service-Wrap-TTL": "60" },
  });
  const good = String(at(made, "wrap_info", "token"));
  const statuses: number[] = [];
  for (let i = 0; i < 60; i++) statuses.push(await unwrap("192.0.2.1", `wrapped-by-nobody-${i}`));
  assert.deepEqual(new Set(statuses.slice(0, 50)), new Set([400]));
  assert.deepEqual(new Set(statuses.slice(50)), new Set([429]));
  assert.equal(await unwrap("192.0.2.2", "wrapped-by-nobody"), 400);
  // Whoever has one is not slowed down by who has none, also behind the same address.
  assert.equal(await unwrap("192.0.2.1", good), 200);
});
