// Section K at the cluster port, over TLS and sockets that are real: who may speak the inner protocol, what strangers
// may hold, and what becomes of a member that is revoked.

import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import test, { afterEach, describe } from "node:test";
import { DAY, SECOND } from "@holdfast/shared/text/duration";
import {
  issueMember,
  issueServer,
  makeAuthority,
  renewMember,
} from "../../../src/cluster/authority.ts";
import { hello, NO_STANDING } from "../../../src/cluster/hello.ts";
import { hostOf } from "../../../src/cluster/names.ts";
import type { Credentials } from "../../../src/cluster/tls.ts";
import type { Peer } from "../../../src/cluster/verify.ts";
import { ClientSession } from "@holdfast/shared/grpc/client-session";
import { callUnary, serveUnary } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { TestAuthority } from "../../support/certificates.ts";
import { FakeClock } from "../../support/fake-world.ts";
import { askWho, ClusterStage, SELF, SET, who } from "../../support/servers/cluster-stage.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };
const OTHER_KIND = { ...SET, kind: "performance" } as const;
const HELLO = { ...NO_STANDING, ...SET, secondaryId: "paris", protocol: 1, ...SELF };

describe("the cluster port", BOUND, () => {
  let stage: ClusterStage;
  afterEach(() => stage.close());

  const withOwn = (pair: { certificate: Uint8Array; key: Uint8Array }): Credentials => ({
    ...pair,
    authority: stage.authority.certificate,
  });

  /** Whether a client that shows this gets an answer to its hello: nothing else is a proof. */
  async function isTaken(credentials: Credentials | null, options: object = {}): Promise<boolean> {
    const socket = await stage.handshake(credentials, options);
    if (socket.destroyed) return false;
    const session = new ClientSession(socket, hostOf(SET), stage.world);
    try {
      await callUnary(session, hello, HELLO, { timeout: 10n * SECOND });
      return true;
    } catch {
      return false;
    } finally {
      session.destroy();
    }
  }

  test("T-K03, R-108: a certificate that was not made for this member of this set gets no answer", async () => {
    stage = await ClusterStage.start();
    const { world, authority } = stage;
    const paris = await stage.member("paris");
    assert.ok(await isTaken(withOwn(paris)), "the harness");

    const sameName = await makeAuthority(SET, world);
    const kin = await makeAuthority(OTHER_KIND, world);
    const late = { ...world, clock: new FakeClock(world.clock.now() - 366n * DAY) };
    const early = { ...world, clock: new FakeClock(world.clock.now() + 2n * DAY) };
    const client = await TestAuthority.make();
    const pem = await client.issue("paris", "02", { usages: ["1.3.6.1.5.5.7.3.2"] });
    const certificates: Readonly<Record<string, Credentials | null>> = {
      "none at all": null,
      "of another authority of that name": withOwn(await issueMember(sameName, "paris", world)),
      "of the same set's other kind": withOwn(await issueMember(kin, "paris", world)),
      "of the other kind, by our authority": withOwn(
        await issueMember({ ...authority, kind: "performance" }, "paris", world),
      ),
      "the port's own": withOwn(stage.server),
      "a second one of a port": withOwn(await issueServer(authority, world)),
      "the authority's": withOwn(authority),
      "one that has expired": withOwn(await issueMember(authority, "paris", late)),
      "one that is not valid yet": withOwn(await issueMember(authority, "paris", early)),
      "another member's": withOwn(await stage.member("rome")), // its hello says paris
    };
    for (const [name, credentials] of Object.entries(certificates)) {
      assert.equal(await isTaken(credentials), false, name);
    }
    assert.equal(await isTaken(null, { cert: pem.cert, key: pem.key }), false, "of a listener");
    assert.ok(await isTaken(withOwn(paris)), "still taken");
  });

  test("T-K03, R-108: another name, protocol or version of TLS is refused, and no session goes on", async () => {
    stage = await ClusterStage.start();
    const paris = withOwn(await stage.member("paris"));
    for (const [name, options] of Object.entries({
      "another set": { servername: `dr.${"0".repeat(8)}.repl` },
      "another kind": { servername: hostOf(OTHER_KIND) },
      "no name": { servername: "" },
      "another protocol": { ALPNProtocols: ["http/1.1"] },
      "no protocol": { ALPNProtocols: [] },
      "an older version": { maxVersion: "TLSv1.2", minVersion: "TLSv1.2" },
    })) {
      assert.equal(await isTaken(paris, options), false, name);
    }
    const first = await stage.handshake(paris);
    const tickets: Buffer[] = [];
    first.on("session", (ticket) => tickets.push(ticket));
    const session = new ClientSession(first, hostOf(SET), stage.world);
    await callUnary(session, hello, HELLO);
    const ticket = tickets.at(-1) ?? first.getSession();
    if (ticket !== undefined) {
      const again = await stage.handshake(paris, { session: ticket });
      assert.equal(again.isSessionReused(), false);
    }
    session.destroy();
  });

  test("T-K03: a session that goes on is refused, should TLS ever let one", async (t) => {
    stage = await ClusterStage.start();
    const paris = withOwn(await stage.member("paris"));
    assert.ok(await isTaken(paris), "the harness");
    const saying = t.mock.method(TLSSocket.prototype, "isSessionReused", () => true);
    assert.equal(await isTaken(paris), false);
    assert.ok(saying.mock.callCount() > 0);
    saying.mock.restore();
    assert.ok(stage.world.lines.some((line) => line.includes("older session")));
    assert.ok(await isTaken(paris));
  });

  test("T-K03: before its hello a session may call nothing else", async () => {
    stage = await ClusterStage.start();
    const socket = await stage.handshake(withOwn(await stage.member("paris")));
    const session = new ClientSession(socket, hostOf(SET), stage.world);
    const refused = (error: unknown) =>
      error instanceof StatusError && error.status === Status.failedPrecondition;
    await assert.rejects(callUnary(session, who, { text: "" }), refused);
    await assert.rejects(callUnary(session, hello, { ...HELLO, protocol: 9 }), refused);
    await assert.rejects(callUnary(session, who, { text: "" }), refused);
    for (const name of [{ set: "0" }, { kind: "performance" }, { secondaryId: "rome" }]) {
      await assert.rejects(callUnary(session, hello, { ...HELLO, ...name }), /another member's/);
    }
    await callUnary(session, hello, { ...HELLO, isTrial: true }); // a trial opens nothing
    await assert.rejects(callUnary(session, who, { text: "" }), refused);
    await callUnary(session, hello, HELLO);
    assert.equal((await callUnary(session, who, { text: "" })).text, "paris");
    const silent = await stage.handshake(withOwn(await stage.member("rome")));
    await stage.world.timers.advance(11n * SECOND);
    await until(() => silent.destroyed);
    session.destroy();
  });

  test("T-K03: a member refuses a port that is not that of its set", async () => {
    stage = await ClusterStage.start();
    const { world } = stage;
    const paris = await stage.member("paris");
    const same = await makeAuthority(SET, world);
    stage.server = await issueServer(same, world); // of another authority
    stage.serve();
    await assert.rejects(stage.link("paris", paris).open(SELF));
    stage.server = await issueMember(stage.authority, "paris", world); // for another use
    stage.serve();
    await assert.rejects(stage.link("paris", paris).open(SELF));
    stage.server = await issueServer(stage.authority, world);
    stage.serve();
    await stage.link("paris", paris).open(SELF);
    // What TLS itself takes, by the machine's clock, and we do not, by ours.
    world.clock.jump(world.clock.now() + 366n * DAY);
    await assert.rejects(stage.link("paris", paris).open(SELF), /not the port of this set: it has/);
  });

  test("T-K04: 2,000 strangers who say nothing, half a hello or garbage hold eight places each", async () => {
    stage = await ClusterStage.start();
    const link = stage.link("paris", await stage.member("paris"));
    await link.open(SELF);
    const half = Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]);
    const says = [
      Buffer.alloc(0),
      half,
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      Buffer.alloc(99, 0x16),
    ];
    const open = new Set<Socket>();
    let most = 0;
    for (let i = 0; i < 2000; i++) {
      const socket = stage.tcp(`127.0.0.${2 + (i % 5)}`);
      open.add(socket);
      socket.on("close", () => open.delete(socket));
      const words = says[i % says.length];
      if (words !== undefined && words.length > 0) socket.write(words);
      most = Math.max(most, stage.port.unproven);
      if (i % 100 === 99) {
        await until(() => open.size <= 40);
        assert.equal(await askWho(link), "paris");
      }
    }
    assert.ok(most <= 40, `${most} places were held`);
    // The rest has ten seconds.
    assert.ok(stage.port.unproven > 0);
    await stage.world.timers.advance(11n * SECOND);
    await until(() => stage.port.unproven === 0 && open.size === 0);
    assert.equal(await askWho(link), "paris");
  });

  test("T-K04: what does not begin like TLS costs no handshake, and one line of the log", async () => {
    stage = await ClusterStage.start();
    for (let i = 0; i < 20; i++) {
      const socket = stage.tcp("127.0.0.2");
      socket.write("GET / HTTP/1.1\r\n\r\n");
      await until(() => socket.destroyed);
    }
    const [line = "", ...more] = stage.world.lines.filter((text) => text.includes("refused"));
    assert.match(line, /does not speak TLS/);
    assert.deepEqual(more, []);
  });

  test("T-K04: the log names the address of who was refused, also where the handshake has failed and it is gone", async () => {
    stage = await ClusterStage.start();
    const lines = () => stage.world.lines.filter((text) => text.includes("refused"));
    const stranger = stage.tcp("127.0.0.2");
    stranger.write("GET / HTTP/1.1\r\n\r\n");
    await until(() => lines().length === 1);
    assert.match(lines()[0]!, /from=127\.0\.0\.2\b.*does not speak TLS/);
    await stage.world.timers.advance(61n * SECOND);
    await until(() => stage.port.unproven === 0);
    stage.tcp("127.0.0.7"); // another one, who is still there
    await until(() => stage.port.unproven === 1);
    const other = stage.tcp("127.0.0.3");
    await stage.handshake(null, { socket: other });
    await until(() => lines().length === 2);
    assert.match(lines()[1]!, /from=127\.0\.0\.3\b.*handshake failed/);
    await stage.world.timers.advance(61n * SECOND);
    await stage.handshake(null, { socket: stage.tcp("127.0.0.4"), servername: "nobody.repl" });
    await until(() => lines().length === 3);
    assert.match(lines()[2]!, /from=127\.0\.0\.4\b.*no such set/);
    await until(() => stage.port.unproven === 0);
  });

  test("T-K04: with all places held, a member from elsewhere comes in", async () => {
    stage = await ClusterStage.start();
    const paris = await stage.member("paris");
    for (let i = 0; i < 80; i++) stage.tcp(`127.0.0.${2 + (i % 10)}`);
    await until(() => stage.port.unproven === 64);
    const link = stage.link("paris", paris);
    await link.open(SELF);
    assert.equal(await askWho(link), "paris");
    assert.ok(stage.port.unproven <= 64);
  });

  test("T-K04: a certificate has four sessions, and a session 64 calls", async () => {
    let calls = 0;
    const waiting = serveUnary<Peer, { text: string }, { text: string }>(
      who,
      (_request, { signal }) => {
        calls++;
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("over"))),
        );
      },
    );
    stage = await ClusterStage.start({ served: [waiting] });
    const paris = await stage.member("paris");
    const links = Array.from({ length: 4 }, () => stage.link("paris", paris));
    for (const link of links) await link.open(SELF);
    await assert.rejects(stage.link("paris", paris).open(SELF), /does not take us/);
    await stage.link("rome", await stage.member("rome")).open(SELF);
    const [first] = links;
    assert.ok(first !== undefined);
    const ends = Array.from({ length: 80 }, () => first.call(who, { text: "" }).catch(() => {}));
    await until(() => calls === 64);
    await first.close();
    await Promise.all(ends);
    await until(async () => {
      const fifth = stage.link("paris", paris);
      return await fifth.open(SELF).then(
        () => true,
        () => false,
      );
    });
  });

  test("T-K03: a member that is revoked is cut at once, and gets no answer any more", async () => {
    let aborted = 0;
    let begun = 0;
    const waiting = serveUnary<Peer, { text: string }, { text: string }>(
      who,
      (_request, { signal }) => {
        begun++;
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            aborted++;
            reject(new Error("over"));
          }),
        );
      },
    );
    stage = await ClusterStage.start({ served: [waiting] });
    const paris = await stage.member("paris");
    const rome = await stage.member("rome");
    const links = [stage.link("paris", paris), stage.link("paris", paris)];
    const other = stage.link("rome", rome);
    for (const link of [...links, other]) await link.open(SELF);
    const calls = links.map((link) => assert.rejects(link.call(who, { text: "" })));
    const going = other.call(who, { text: "" }).catch(() => {});
    await until(() => begun === 3);
    assert.equal(stage.port.revoke(SET, paris.serial), 2);
    await Promise.all(calls);
    for (const link of links) await link.closed;
    await until(() => aborted === 2);
    await assert.rejects(stage.link("paris", paris).open(SELF), /certificate is revoked/);
    // A new certificate of the same id is another one.
    await stage.link("paris", await stage.member("paris")).open(SELF);
    // Nor does it come back with the list that is loaded at a start.
    stage.serve(undefined, [rome.serial]);
    await other.closed;
    await going;
    await assert.rejects(stage.link("rome", rome).open(SELF), /certificate is revoked/);
    assert.ok(aborted >= 3);
    // Where others are refused in their place, those are cut off, and these heard again.
    const back = stage.link("paris", paris);
    await back.open(SELF);
    stage.port.refuseOnly(SET, [paris.serial]);
    await back.closed;
    await assert.rejects(stage.link("paris", paris).open(SELF), /certificate is revoked/);
    await stage.link("rome", rome).open(SELF);
  });

  test("T-K03, R-108: a certificate that expires while its session is open is refused with its next call", async () => {
    stage = await ClusterStage.start();
    const link = stage.link("paris", await stage.member("paris"));
    await link.open(SELF);
    assert.equal(await askWho(link), "paris");
    stage.world.clock.jump(stage.world.clock.now() + 366n * DAY);
    await assert.rejects(
      askWho(link),
      (error) => error instanceof StatusError && error.status === Status.unauthenticated,
    );
  });

  test("T-K03: a call that lasts ends with the certificate it began with", async () => {
    let begun = 0;
    let ended = 0;
    const waiting = serveUnary<Peer, { text: string }, { text: string }>(
      who,
      (_request, { signal }) => {
        begun++;
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            ended++;
            reject(new Error("over"));
          }),
        );
      },
    );
    stage = await ClusterStage.start({ served: [waiting] });
    const { clock, timers } = stage.world;
    const before = {
      ...stage.world,
      clock: new FakeClock(clock.now() - 365n * DAY + 60n * SECOND),
    };
    const link = stage.link("paris", await issueMember(stage.authority, "paris", before));
    await link.open(SELF);
    const lost = assert.rejects(askWho(link));
    await until(() => begun === 1);
    for (let i = 0; i < 55; i++) await timers.advance(SECOND); // pings come back meanwhile
    assert.equal(ended, 0);
    for (let i = 0; i < 10; i++) await timers.advance(SECOND);
    await until(() => ended === 1);
    await lost;
  });

  test("T-K11: a key of another kind, or none, is not signed; a foreign key is of no use to others", async () => {
    stage = await ClusterStage.start();
    const { authority, world } = stage;
    const spki = (key: KeyObject) => key.export({ type: "spki", format: "der" });
    const good = generateKeyPairSync("ec", { namedCurve: "P-521" });
    const bad: Readonly<Record<string, Buffer>> = {
      "P-256": spki(generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey),
      RSA: spki(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey),
      Ed25519: spki(generateKeyPairSync("ed25519").publicKey),
      "a private key": good.privateKey.export({ type: "pkcs8", format: "der" }),
      nothing: Buffer.alloc(0),
      garbage: Buffer.alloc(158, 7),
      "a mebibyte": Buffer.alloc(1024 * 1024),
      "with more behind it": Buffer.concat([spki(good.publicKey), Buffer.alloc(8)]),
    };
    for (const [name, key] of Object.entries(bad)) {
      const signing = renewMember(authority, "paris", key, world);
      await assert.rejects(signing, { code: "cluster-key-weak" }, name);
    }
    const issued = await renewMember(authority, "paris", spki(good.publicKey), world);
    const key = good.privateKey.export({ type: "pkcs8", format: "der" });
    await stage.link("paris", { ...issued, key }).open(SELF);
  });

  test("closing ends strangers at once and waits for calls under way", async () => {
    const answer = Promise.withResolvers<{ text: string }>();
    let calls = 0;
    const slow = serveUnary<Peer, { text: string }, { text: string }>(who, () => {
      calls++;
      return answer.promise;
    });
    stage = await ClusterStage.start({ served: [slow] });
    const link = stage.link("paris", await stage.member("paris"));
    await link.open(SELF);
    const stranger = stage.tcp("127.0.0.2");
    await until(() => stage.port.unproven === 1);
    const call = askWho(link);
    await until(() => calls === 1);
    let isClosed = false;
    const closing = stage.port.close(30n * SECOND).then(() => (isClosed = true));
    await until(() => stranger.destroyed);
    assert.equal(isClosed, false);
    answer.resolve({ text: "late" });
    assert.equal(await call, "late");
    await link.close();
    await closing;
  });
});
