// R-108 of docs/cases/replication.md on processes, with real TLS between them: certificates that a primary does not take, those that
// are renewed before they end, and a secondary that is killed while and after it gets another one. All that is used is
// issued today or before, since TLS goes by the clock of the machine; what is issued first has ended by that one too.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { issueMember, makeAuthority } from "../../../src/cluster/authority.ts";
import { type Activation, readActivation } from "../../../src/replication/joining/activation.ts";
import { type DialledMember, linkTo } from "../../../src/replication/links/dialing.ts";
import { SystemClock } from "../../../src/system/clock.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import { type Stage, StagedProgram } from "../../support/daemon/staged-server.ts";
import { at } from "../../support/http-client.ts";
import { eventsIn, is, suiteEnds } from "../../support/replication/case-suite.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";
import { freePort } from "../../support/replication/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const DAY = 86_400;
const RENEWED = "replication.certificate-renewed";
/** In days from today on. A certificate is good for 365. */
const [FIRST, JOINED, DUE, OVER] = [-500, -250, 0, 120];
const CLUSTER = randomUUID(); // that of the members that nobody is
const WORLD = {
  clock: new SystemClock(),
  timers: new SystemTimers(),
  net: new SystemNet(),
  random: new SystemRandom(),
};

describe("certificates of clusters as processes", () => {
  const ends = suiteEnds();
  const [here, there] = [staged(FIRST), staged(JOINED)];
  let a: ClusterProcess;
  let b: ClusterProcess;
  /** Of members that nobody is: whoever has what their tokens hold can come as them. */
  let ended: Activation;
  let one: Activation;
  let other: Activation;

  before(async () => {
    [a, b] = await Promise.all([
      startPrimaryProcess(ends, undefined, here.command),
      ClusterProcess.start(ends, undefined, there.command),
    ]);
    ended = await activated("ended", FIRST);
  });

  function staged(days: number): StagedProgram {
    const place = mkdtempSync(join(tmpdir(), "holdfast-certificates-"));
    ends.after(() => rmSync(place, { recursive: true, force: true }));
    return new StagedProgram(place, { secondsAhead: days * DAY });
  }

  async function activated(id: string, days: number): Promise<Activation> {
    const made = await a.dr("primary/secondary-token", { id, ttl: "24h" });
    is(made, 200);
    const token = String(at(made, "wrap_info", "token"));
    const opened = await a.call("POST", "/v1/sys/wrapping/unwrap", { token });
    is(opened, 200);
    const now = WORLD.clock.now() + BigInt(days * DAY) * 1_000_000_000n;
    return readActivation(at(opened, "data"), "dr", { now });
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

  async function again(cluster: ClusterProcess, program: StagedProgram, stage: Stage) {
    program.set(stage);
    await cluster.kill().catch(() => {}); // it may be gone already
    await cluster.startAgain();
  }

  const atDay = (days: number) => ({ secondsAhead: days * DAY });
  const isRenewed = (cluster: ClusterProcess) => eventsIn(cluster, RENEWED) > 0;
  const NOT_TAKEN = /the peer does not take us/;

  test("R-108: the port has another certificate when two thirds of its life are over, before anybody needs it", async () => {
    assert.equal(isRenewed(a), false);
    await again(a, here, atDay(JOINED));
    await until(() => isRenewed(a));
    await joinProcess(a, b);
    await equalProcesses(a, b);
  });

  test("R-108: an expired certificate, one of another authority of that name, and another name are refused, and so is one that was revoked", async () => {
    [one, other] = [await activated("one", JOINED), await activated("other", JOINED)];
    await greeted(one);
    await assert.rejects(greeted({ ...ended, authority: one.authority }), NOT_TAKEN);
    const authority = await makeAuthority(one, WORLD);
    const forged = await issueMember(authority, "one", WORLD);
    await assert.rejects(greeted({ ...one, ...forged }), NOT_TAKEN);
    await assert.rejects(
      greeted({ ...one, set: randomUUID() }),
      /answers there that does not lead this set/,
    );
    await greeted(one);
    is(await a.dr("primary/revoke-secondary", { id: "one" }), 204);
    await assert.rejects(greeted(one), /certificate is revoked/);
    await greeted(other);
    await equalProcesses(a, b);
  });

  /** From its next start on it says to be where nobody is. */
  async function saysElsewhere(cluster: ClusterProcess): Promise<string> {
    const file = join(cluster.home, "h.hcl");
    const address = `https://127.0.0.1:${await freePort()}`;
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(`https://127.0.0.1:${cluster.way.port}`, address));
    return address;
  }

  test("R-108: a secondary that is killed when it is given another certificate, and when it has it, comes back and follows, by the one address of two that somebody is at", async () => {
    const nowhere = await saysElsewhere(a);
    await again(a, here, atDay(JOINED));
    await until(async () => {
      const [first] = (await b.status())["known_primary_cluster_addrs"] as string[];
      return first === nowhere;
    });
    await again(a, here, atDay(DUE));
    await until(() => isRenewed(a));
    await again(b, there, { ...atDay(DUE), diesRenewing: true });
    let isGone = false;
    void b.ended.then(() => (isGone = true));
    await until(() => isGone);
    assert.equal(isRenewed(b), false);
    is(await a.put("x", "1"), 200);
    await again(b, there, atDay(DUE));
    await until(() => isRenewed(b));
    await b.kill();
    await greeted(other);
    // The one that it had before has ended by now: without the other one nobody takes it.
    await again(a, here, atDay(OVER));
    is(await a.put("x", "2"), 200);
    await again(b, there, atDay(OVER));
    await equalProcesses(a, b);
    await assert.rejects(greeted(other), NOT_TAKEN);
    is(await a.put("x", "3"), 200);
    await equalProcesses(a, b);
  });
});
