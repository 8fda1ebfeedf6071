// R-108 of docs/cases/replication.md on processes, with real TLS between them: certificates that a primary does not take, and
// those that are renewed before they end. The clusters begin 250 days ago, so that what they issue is good today.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { before, describe, test } from "node:test";
import { issueMember, makeAuthority } from "../../../src/cluster/authority.ts";
import { hostOf } from "../../../src/cluster/names.ts";
import { type Activation, readActivation } from "../../../src/replication/joining/activation.ts";
import { type DialledMember, linkTo } from "../../../src/replication/links/dialing.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import { at } from "../../support/http-client.ts";
import { is, isRefused, suiteEnds, textOf } from "../../support/replication/case-suite.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";
import { StagedProgram } from "../../support/daemon/staged-server.ts";
import { until } from "../../support/until.ts";

const DAY = 86_400;
const CLUSTER = randomUUID(); // that of the members that nobody is
const TWO_THIRDS = 250; // of a year and a bit, in days
const WORLD = {
  clock: new SystemClock(),
  timers: new SystemTimers(),
  net: new SystemNet(),
  random: new SystemRandom(),
};

describe("certificates of clusters as processes", () => {
  const ends = suiteEnds();
  let a: ClusterProcess;
  let b: ClusterProcess;
  let c: ClusterProcess;
  let stages: readonly StagedProgram[] = [];
  /** Of members that nobody is: whoever has their token can come as them. */
  let one: Activation;
  let other: Activation;

  before(async () => {
    stages = Array.from({ length: 3 }, () => {
      const place = mkdtempSync(join(tmpdir(), "holdfast-certificates-"));
      ends.after(() => rmSync(place, { recursive: true, force: true }));
      return new StagedProgram(place, { secondsAhead: -TWO_THIRDS * DAY });
    });
    const [first, ...others] = stages.map(({ command }) => command);
    [a, b, c] = (await Promise.all([
      startPrimaryProcess(ends, undefined, first),
      ...others.map((command) => ClusterProcess.start(ends, undefined, command)),
    ])) as [ClusterProcess, ClusterProcess, ClusterProcess];
    await joinProcess(a, b, "site-b");
    await joinProcess(a, c, "site-c");
    for (const cluster of [b, c]) await equalProcesses(a, cluster);
    [one, other] = [await activated("one"), await activated("other")];
  });

  async function activated(id: string): Promise<Activation> {
    const made = await a.dr("primary/secondary-token", { id, ttl: "24h" });
    is(made, 200);
    const token = String(at(made, "wrap_info", "token"));
    const opened = await a.call("POST", "/v1/sys/wrapping/unwrap", { token });
    is(opened, 200);
    return readActivation(at(opened, "data"), "dr", { now: WORLD.clock.now() });
  }

  /** Comes to the port of the primary, and is greeted; throws where it is not. */
  async function greeted(member: DialledMember): Promise<void> {
    const link = linkTo(`https://127.0.0.1:${a.clusterPort}`, member, WORLD);
    try {
      await link.open({ clusterId: CLUSTER, version: "0.1.0" });
    } finally {
      await link.close();
    }
  }

  /** The serial of the certificate that the primary shows. */
  async function serialAtPort(): Promise<string> {
    const socket = connect({
      host: "127.0.0.1",
      port: a.clusterPort,
      servername: hostOf(one),
      ALPNProtocols: ["h2"],
      rejectUnauthorized: false,
    });
    socket.on("error", () => {});
    try {
      await new Promise((resolve) => socket.once("secureConnect", resolve));
      return socket.getPeerCertificate().serialNumber;
    } finally {
      socket.destroy();
    }
  }

  /** Days from today on. */
  async function startedAgain(clusters: readonly (readonly [ClusterProcess, number, number])[]) {
    for (const [cluster, index, days] of clusters) {
      stages[index]!.set({ secondsAhead: days * DAY });
      await cluster.kill();
    }
    for (const [cluster] of clusters) await cluster.startAgain();
  }

  test("R-108: another authority of that name, another name and a certificate that was revoked are refused", async () => {
    await greeted(one);
    const authority = await makeAuthority(one, WORLD);
    const forged = { ...one, ...(await issueMember(authority, "one", WORLD)) };
    await assert.rejects(greeted(forged));
    await assert.rejects(greeted({ ...one, set: randomUUID() }));
    await greeted(one);
    is(await a.dr("primary/revoke-secondary", { id: "one" }), 204);
    await assert.rejects(greeted(one));
    await greeted(other);
    await equalProcesses(a, b);
  });

  test("R-108: certificates are renewed at two thirds of their life, and one that has ended is refused", async () => {
    const serial = await serialAtPort();
    await c.kill();
    await startedAgain([
      [a, 0, 0],
      [b, 1, 0],
    ]);
    await until(async () => (await serialAtPort()) !== serial);
    await equalProcesses(a, b);
    await greeted(other);
    is(await a.put("x", "1"), 200);
    // A year and more after the first ones were issued: b has another by now, and the others have not.
    await startedAgain([
      [a, 0, 370 - TWO_THIRDS],
      [b, 1, 370 - TWO_THIRDS],
    ]);
    is(await a.put("x", "2"), 200);
    await equalProcesses(a, b);
    await assert.rejects(greeted(other));
    // One that takes its own for good still, as its clock is behind, is refused by the primary.
    stages[2]!.set({ secondsAhead: 2 * DAY });
    await c.startAgain();
    await isRefused(c);
    assert.match(textOf(await c.status(), "last_sync_error"), /the peer does not take us/);
  });
});
