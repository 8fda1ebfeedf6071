import assert from "node:assert/strict";
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  X509Certificate,
} from "node:crypto";
import test from "node:test";
import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { failure } from "../../../tests/support/servers/sealed-node.ts";
import { SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import type { IssuedCertificate } from "../../cluster/authority.ts";
import { verifyServer } from "../../cluster/verify.ts";
import { makeHpkeKeys } from "../../crypto/hpke.ts";
import { SystemRandom } from "../../system/random.ts";
import { leaseLapsed } from "../failures.ts";
import {
  forgetPrimary,
  isRevoked,
  putRefused,
  putRevokedClusters,
  putRevokedThere,
  storedRefused,
  storedRevokedClusters,
  storedUnmarked,
} from "./primary-rows.ts";
import { Secondaries } from "./secondaries.ts";

const CLUSTER = "0b8e2f3e-0000-4000-8000-00000000000b";
const OTHER = "0b8e2f3e-0000-4000-8000-00000000000c";
const random = new SystemRandom();
const notKnown = failure("denied", /does not know the secondary/);

function spki(): Buffer {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-521" });
  return publicKey.export({ format: "der", type: "spki" });
}

test("a primary has an authority and a certificate of its port, and still after a restart", async () => {
  const stage = await SetStage.start();
  const before = stage.secondaries.material;
  assert.deepEqual([before.authority.set, before.authority.kind], [SET, "dr"]);
  await stage.restart();
  assert.deepEqual(stage.secondaries.material, before);
  const [server, authority] = [before.server, before.authority].map(
    ({ certificate }) => new X509Certificate(certificate),
  );
  assert.equal(verifyServer(server!, authority!, before.authority, stage.clock.now()), null);
  await stage.view.write((tx) => forgetPrimary(tx));
  assert.throws(() => stage.secondaries.material, failure("invalid", /not a primary/));
  await assert.rejects(stage.secondaries.admit("berlin"), failure("invalid", /not a primary/));
});

test("who stood in for a primary and was revoked is not believed in the other kind either, until it stands in again", async () => {
  const stage = await SetStage.start();
  const { random: own } = stage.made.world;
  const besideView = stage.made.barrier.view("local/replication/performance/");
  const { view, clock } = stage;
  const secondaries = new Secondaries({ view, kind: "dr", clock, random: own, besideView });
  const joins = async (id: string) => {
    const { pair } = await secondaries.admit(id);
    const peer = stage.peer(pair);
    await secondaries.confirm(peer, CLUSTER);
  };
  await joins("berlin");
  assert.equal(isRevoked(besideView, CLUSTER), false);
  await secondaries.revoke("berlin");
  assert.equal(isRevoked(besideView, CLUSTER), true);
  assert.deepEqual(storedRevokedClusters(besideView), [CLUSTER]);
  await besideView.write((tx) => putRevokedThere(tx, [CLUSTER, OTHER])); // as a primary of before has said
  await joins("berlin-again");
  assert.equal(isRevoked(besideView, CLUSTER), false);
  assert.deepEqual(storedRevokedClusters(besideView), [OTHER]);
});

/** A primary that has reached nobody for the time of its lease: it has revoked who stood in for it. */
async function revokedInLapse() {
  const stage = await SetStage.start();
  const besideView = () => stage.made.barrier.view("local/replication/performance/");
  const secondaries = () => {
    const { view, clock, made } = stage;
    const { random: own } = made.world;
    return new Secondaries({ view, kind: "dr", clock, random: own, besideView: besideView() });
  };
  const joins = async (id: string, cluster = CLUSTER) => {
    const { pair } = await secondaries().admit(id);
    await secondaries().confirm(stage.peer(pair), cluster);
  };
  await joins("berlin");
  await stage.made.store.follow(leaseLapsed);
  const lapsed = secondaries();
  assert.equal((await lapsed.revoke("berlin")).length, 1);
  assert.equal(isRevoked(besideView(), CLUSTER), false, "nothing of it can be written yet");
  await lapsed.markRevoked();
  assert.equal(isRevoked(besideView(), CLUSTER), false);
  return { stage, secondaries, besideView, joins };
}

test("who stood in for a primary and was revoked while nothing else could be written is marked when it can, also after a restart", async () => {
  const { stage, secondaries, besideView } = await revokedInLapse();
  await stage.restart();
  await secondaries().markRevoked();
  assert.equal(isRevoked(besideView(), CLUSTER), true);
  await besideView().write((tx) => putRevokedClusters(tx, [], [CLUSTER]));
  await secondaries().markRevoked();
  assert.equal(isRevoked(besideView(), CLUSTER), false, "once");
});

test("one that stands in again before that could be marked is not marked any more", async () => {
  const { stage, secondaries, besideView, joins } = await revokedInLapse();
  await joins("munich", OTHER);
  await secondaries().revoke("munich");
  await joins("berlin-again");
  await stage.made.store.lead();
  await secondaries().markRevoked();
  assert.deepEqual(storedRevokedClusters(besideView()), [OTHER]);
});

test("who becomes a primary again has another authority and knows nobody", async () => {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin");
  await stage.secondaries.revoke("berlin");
  await stage.secondaries.admit("paris");
  const before = stage.secondaries.material.authority.certificate;
  await stage.enable();
  assert.notDeepEqual(stage.secondaries.material.authority.certificate, before);
  assert.deepEqual(stage.secondaries.known(), []);
  assert.deepEqual(stage.secondaries.revokedSerials(), []);
  assert.throws(() => stage.peer(pair), /another authority/);
});

test("an id must fit into a certificate, be free, and its time in range", async () => {
  const { secondaries } = await SetStage.start();
  for (const id of ["", "-a", "a b", "a/b", "x".repeat(65), "ü"]) {
    await assert.rejects(secondaries.admit(id), failure("invalid", /id must have/));
  }
  for (const ttl of [0n, SECOND - 1n, 25n * HOUR, 24n * HOUR + 1n, -SECOND]) {
    await assert.rejects(
      secondaries.admit("a", ttl),
      failure("invalid", "ttl must be from 1s to 24h"),
    );
  }
  for (const [id, ttl] of [
    ["a", SECOND],
    ["b", 24n * HOUR],
  ] as const) {
    assert.equal((await secondaries.admit(id, ttl)).ttl, ttl);
  }
  assert.equal((await secondaries.admit("c")).ttl, 30n * MINUTE);
  await assert.rejects(secondaries.admit("c"), failure("invalid", /known already/));
  const [first, second] = await Promise.allSettled([
    secondaries.admit("d"),
    secondaries.admit("d"),
  ]);
  assert.deepEqual([first.status, second.status].toSorted(), ["fulfilled", "rejected"]);
  assert.deepEqual(
    secondaries.known().map(({ id }) => id),
    ["a", "b", "c", "d"],
  );
});

test("a primary takes fifty, unused ones included", async () => {
  const stage = await SetStage.start();
  const { secondaries } = stage;
  for (let i = 0; i < 50; i++) await secondaries.admit(`s${i}`);
  await assert.rejects(secondaries.admit("more"), failure("invalid", /at most 50/));
  await secondaries.revoke("s7");
  await secondaries.admit("more");
});

test("a primary takes as many as its operators say; those that it has stay where that is fewer", async () => {
  const stage = await SetStage.start();
  const { view, clock, secondaries } = stage;
  const { random } = stage.made.world;
  await secondaries.admit("a");
  await secondaries.admit("b");
  const one = new Secondaries({ view, kind: "dr", clock, random, maxSecondaries: 1 });
  await assert.rejects(one.admit("c"), failure("invalid", /at most 1 /));
  assert.equal(one.known().length, 2);
  const three = new Secondaries({ view, kind: "dr", clock, random, maxSecondaries: 3 });
  await three.admit("c");
  await assert.rejects(three.admit("d"), failure("invalid", /at most 3 /));
});

test("a member is unused before it has come, and from then on it may come at any time, as that one cluster", async () => {
  const stage = await SetStage.start();
  const { pair, activateBy } = await stage.secondaries.admit("berlin", MINUTE);
  const peer = stage.peer(pair);
  const [unused] = stage.secondaries.known();
  assert.deepEqual([unused?.used, unused?.clusterId, unused?.activateBy], [null, "", activateBy]);
  stage.clock.pass(MINUTE);
  const used = await stage.secondaries.confirm(peer, CLUSTER);
  assert.equal(used.used, stage.clock.now());
  await stage.restart();
  stage.clock.pass(200n * DAY);
  assert.equal((await stage.secondaries.confirm(peer, CLUSTER)).used, used.used);
  await assert.rejects(
    stage.secondaries.confirm(peer, OTHER),
    failure("denied", /another cluster/),
  );
});

test("a cluster that does not say who it is, is not taken", async () => {
  const stage = await SetStage.start();
  const peer = stage.peer((await stage.secondaries.admit("berlin")).pair);
  const wrong = ["", "cluster-b", "all is well\n", CLUSTER.toUpperCase(), `${CLUSTER}\u001b[2J`];
  for (const id of wrong) {
    await assert.rejects(
      stage.secondaries.confirm(peer, id),
      failure("invalid", /id of a cluster/),
    );
  }
  assert.equal(stage.secondaries.known()[0]?.used, null);
});

test("of two clusters that come at once with one certificate one is taken", async () => {
  const stage = await SetStage.start();
  const peer = stage.peer((await stage.secondaries.admit("berlin")).pair);
  const came = await Promise.allSettled([
    stage.secondaries.confirm(peer, CLUSTER),
    stage.secondaries.confirm(peer, OTHER),
  ]);
  assert.deepEqual(came.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
});

test("a token that ended unused lets nobody in, and is forgotten a day later", async () => {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin", SECOND);
  const peer = stage.peer(pair);
  stage.clock.pass(SECOND + 1n);
  await assert.rejects(stage.secondaries.confirm(peer, CLUSTER), failure("denied", /ended before/));
  stage.clock.pass(DAY - 1n);
  assert.equal(stage.secondaries.known().length, 1);
  stage.clock.pass(1n);
  assert.equal(stage.secondaries.known().length, 0);
  await assert.rejects(stage.secondaries.confirm(peer, CLUSTER), notKnown);
  // Its id is free, and its certificate is none of the next one of that name.
  const next = await stage.secondaries.admit("berlin");
  await assert.rejects(stage.secondaries.confirm(peer, CLUSTER), notKnown);
  await stage.secondaries.confirm(stage.peer(next.pair), CLUSTER);
});

test("who is revoked is refused for good, also when its id is used again", async () => {
  const stage = await SetStage.start();
  const first = await stage.secondaries.admit("berlin");
  const peer = stage.peer(first.pair);
  await stage.secondaries.confirm(peer, CLUSTER);
  assert.deepEqual(await stage.secondaries.revoke("berlin"), [first.pair.serial]);
  assert.deepEqual(stage.secondaries.known(), []);
  assert.deepEqual(await stage.secondaries.revoke("berlin"), []);
  for (const id of ["", "../x"]) {
    await assert.rejects(stage.secondaries.revoke(id), { code: "joining-id-invalid" });
  }
  const second = await stage.secondaries.admit("berlin");
  await stage.restart();
  assert.deepEqual(stage.secondaries.revokedSerials(), [first.pair.serial]);
  const key = makeHpkeKeys(random).publicKey;
  await assert.rejects(stage.secondaries.confirm(peer, CLUSTER), notKnown);
  await assert.rejects(stage.secondaries.register(peer, key), notKnown);
  await assert.rejects(stage.secondaries.renew(peer, spki()), notKnown);
  assert.throws(() => stage.secondaries.publicKeyOf(peer), notKnown);
  await stage.secondaries.confirm(stage.peer(second.pair), CLUSTER);
  // What has expired anyway is not kept.
  stage.clock.pass(366n * DAY);
  await stage.secondaries.revoke("berlin");
  assert.deepEqual(stage.secondaries.revokedSerials(), []);
});

test("where there is no other kind of replication nobody waits to be marked in it", async () => {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin");
  await stage.secondaries.confirm(stage.peer(pair), CLUSTER);
  await stage.secondaries.revoke("berlin");
  assert.deepEqual([isRevoked(stage.view, CLUSTER), storedUnmarked(stage.view)], [true, []]);
});

test("a revocation is stored before anybody hears of it", async () => {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin");
  const open = stage.made.engine.hold();
  let done = false;
  const revoked = stage.secondaries.revoke("berlin").then(() => (done = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(done, false);
  open();
  await revoked;
  assert.deepEqual(stage.secondaries.revokedSerials(), [pair.serial]);
});

test("a member registers one key, and no other takes its place", async () => {
  const stage = await SetStage.start();
  const peer = stage.peer((await stage.secondaries.admit("berlin")).pair);
  assert.throws(() => stage.secondaries.publicKeyOf(peer), failure("denied", /registered no key/));
  const { publicKey } = makeHpkeKeys(random);
  for (const bad of [Buffer.alloc(32), publicKey.subarray(1), Buffer.alloc(1 << 20)]) {
    await assert.rejects(stage.secondaries.register(peer, bad), failure("invalid", /public_key/));
  }
  await stage.secondaries.register(peer, publicKey);
  await stage.secondaries.register(peer, publicKey);
  await stage.restart();
  assert.deepEqual(Buffer.from(stage.secondaries.publicKeyOf(peer)), publicKey);
  await assert.rejects(
    stage.secondaries.register(peer, makeHpkeKeys(random).publicKey),
    failure("denied", /this token was used before/),
  );
});

test("a certificate is renewed when two thirds are over; both are taken, and both revoked", async () => {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin");
  const peer = stage.peer(pair);
  await stage.secondaries.confirm(peer, CLUSTER);
  await assert.rejects(stage.secondaries.renew(peer, spki()), failure("invalid", /two thirds/));
  stage.clock.pass(244n * DAY);
  await assert.rejects(
    stage.secondaries.renew(peer, Buffer.from("x")),
    failure("invalid", /P-521/),
  );
  const key = spki();
  const issued = await stage.secondaries.renew(peer, key);
  const next = stage.peer(issued);
  assert.ok(
    new X509Certificate(issued.certificate).publicKey.equals(
      createPublicKey({ key, format: "der", type: "spki" }),
    ),
  );
  assert.deepEqual([next.id, next.serial], ["berlin", issued.serial]);
  await stage.restart();
  await stage.secondaries.confirm(peer, CLUSTER);
  await stage.secondaries.confirm(next, CLUSTER);
  assert.deepEqual(await stage.secondaries.revoke("berlin"), [pair.serial, issued.serial]);
  await assert.rejects(stage.secondaries.confirm(next, CLUSTER), notKnown);
});

test("who is revoked while its certificate is made has none, and is known no more", async () => {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin");
  const peer = stage.peer(pair);
  await stage.secondaries.confirm(peer, CLUSTER);
  stage.clock.pass(244n * DAY);
  const renewing = stage.secondaries.renew(peer, spki());
  const refused = assert.rejects(renewing, notKnown);
  assert.deepEqual(await stage.secondaries.revoke("berlin"), [pair.serial]);
  await refused;
  assert.deepEqual(stage.secondaries.known(), []);
});

test("whom another leader has revoked is refused with all of its certificates while that one leads, and stays a member", async () => {
  const stage = await SetStage.start();
  const [berlin, paris] = [
    await stage.secondaries.admit("berlin"),
    await stage.secondaries.admit("paris"),
  ];
  const { serial } = berlin.pair;
  const refused = { serials: [serial], ids: ["berlin"] };
  assert.deepEqual(await stage.secondaries.refuse(["ff", serial], CLUSTER), refused);
  const { index } = stage.made.store;
  assert.deepEqual(await stage.secondaries.refuse([serial], CLUSTER), { ...refused, ids: [] });
  assert.equal(stage.made.store.index, index, "it is known");
  assert.deepEqual(
    stage.secondaries.known().map(({ id }) => id),
    ["berlin", "paris"],
  );
  assert.deepEqual(stage.secondaries.revokedSerials(), []);
  assert.deepEqual(stage.secondaries.refusedBy(CLUSTER), [serial]);
  assert.deepEqual(stage.secondaries.refusedBy(`${CLUSTER}0`), [], "another one leads");
  stage.secondaries.assertKnown(stage.peer(paris.pair));
});

test("who renews again and again has eight certificates at most: the oldest others are taken no more, and are none of a revoked member", async () => {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin");
  const peer = stage.peer(pair);
  await stage.secondaries.confirm(peer, CLUSTER);
  stage.clock.pass(300n * DAY);
  const issued: IssuedCertificate[] = [];
  for (let i = 0; i < 10; i++) {
    issued.push(await stage.secondaries.renew(peer, spki()));
    stage.clock.pass(4n * HOUR);
  }
  const serials = stage.secondaries.known()[0]!.certificates.map(({ serial }) => serial);
  assert.deepEqual(serials, [pair.serial, ...issued.slice(3).map(({ serial }) => serial)]);
  assert.throws(() => stage.secondaries.assertKnown(stage.peer(issued[0]!)), notKnown);
  assert.deepEqual(stage.secondaries.revokedSerials(), []);
  // Those that have expired are not kept.
  const last = stage.peer(issued.at(-1)!);
  stage.clock.pass(300n * DAY);
  await stage.secondaries.renew(last, spki());
  assert.equal(stage.secondaries.known()[0]!.certificates.length, 8);
});

test("of one member three certificates are renewed in a minute, whatever others do", async () => {
  const stage = await SetStage.start();
  const { secondaries } = stage;
  const peers = [];
  for (const id of ["berlin", "paris"]) {
    const { pair } = await secondaries.admit(id);
    peers.push(stage.peer(pair));
    await secondaries.confirm(peers.at(-1)!, id === "berlin" ? CLUSTER : OTHER);
  }
  const [berlin, paris] = peers;
  stage.clock.pass(300n * DAY);
  for (let i = 0; i < 3; i++) await secondaries.renew(berlin!, spki());
  const often = failure("rate-limited", /several certificates/);
  await assert.rejects(secondaries.renew(berlin!, spki()), often);
  await secondaries.renew(paris!, spki());
  assert.equal(secondaries.known().find(({ id }) => id === "berlin")!.certificates.length, 4);
  stage.clock.pass(20n * SECOND);
  await secondaries.renew(berlin!, spki());
  await assert.rejects(secondaries.renew(berlin!, spki()), often);
});

test("a member has six certificates in a day, also after a restart", async () => {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin");
  const peer = stage.peer(pair);
  await stage.secondaries.confirm(peer, CLUSTER);
  stage.clock.pass(300n * DAY);
  for (let i = 0; i < 6; i++) {
    await stage.secondaries.renew(peer, spki());
    stage.clock.pass(MINUTE);
    await stage.restart();
  }
  const often = failure("rate-limited", /several certificates/);
  await assert.rejects(stage.secondaries.renew(peer, spki()), often);
  stage.clock.pass(DAY - 7n * MINUTE);
  await assert.rejects(stage.secondaries.renew(peer, spki()), often);
  stage.clock.pass(MINUTE);
  await stage.secondaries.renew(peer, spki());
  await assert.rejects(stage.secondaries.renew(peer, spki()), often);
});

test("of those that are revoked the last that were issued are last, and each revocation is seen at once", async () => {
  const stage = await SetStage.start();
  const { secondaries } = stage;
  const issued: string[] = [];
  for (let i = 0; i < 7; i++) {
    issued.push((await secondaries.admit(`s${i}`)).pair.serial);
    stage.clock.pass(MINUTE);
  }
  for (let i = 6; i >= 0; i--) {
    await secondaries.revoke(`s${i}`);
    assert.deepEqual(secondaries.revokedSerials(), issued.slice(i));
  }
});

test("the certificate of the port is renewed likewise", async () => {
  const stage = await SetStage.start();
  const before = stage.secondaries.material.server;
  assert.equal(await stage.secondaries.renewServer(), null);
  stage.clock.pass(244n * DAY);
  const renewed = await stage.secondaries.renewServer();
  assert.notEqual(renewed!.serial, before.serial);
  const { serial, certificate, key } = stage.secondaries.material.server;
  assert.equal(serial, renewed!.serial);
  assert.ok(
    new X509Certificate(certificate).checkPrivateKey(
      createPrivateKey({ key: Buffer.from(key), format: "der", type: "pkcs8" }),
    ),
  );
});

test("that a member takes one for the primary that was revoked here is not kept", async () => {
  const { secondaries, peer } = await SetStage.start().then(async (stage) => {
    const [paris, rome] = [
      await stage.secondaries.admit("paris"),
      await stage.secondaries.admit("rome"),
    ];
    await stage.secondaries.confirm(stage.peer(rome.pair), OTHER);
    return { secondaries: stage.secondaries, peer: stage.peer(paris.pair) };
  });
  await secondaries.confirm(peer, CLUSTER);
  await secondaries.revoke("rome");
  assert.deepEqual(
    [OTHER, CLUSTER].map((one) => secondaries.isRevokedCluster(one)),
    [true, false],
  );
  secondaries.noteLater(peer, { number: 3, cluster: OTHER, first: "9" });
  assert.equal(secondaries.laterKnownBy("paris"), null);
});

test("that a member knows of a later primary counts until it comes to follow this one", async () => {
  const { secondaries, peer } = await SetStage.start().then(async (stage) => {
    const { pair } = await stage.secondaries.admit("paris");
    return { secondaries: stage.secondaries, peer: stage.peer(pair) };
  });
  await secondaries.confirm(peer, CLUSTER, {
    transactionBytes: 2 ** 20,
  });
  assert.equal(secondaries.laterKnownBy("paris"), null);
  const later = { number: 3, cluster: OTHER, first: "9" };
  secondaries.noteLater(peer, later);
  await secondaries.confirm(peer, CLUSTER); // only to say who leads
  assert.deepEqual(secondaries.laterKnownBy("paris"), later);
  await secondaries.confirm(peer, CLUSTER, {
    transactionBytes: 2 ** 20,
  });
  assert.equal(secondaries.laterKnownBy("paris"), null);
  await secondaries.revoke("paris");
  assert.throws(() => secondaries.noteLater(peer, later), notKnown);
});

test("of those that another leader has revoked a bounded number is kept, the last ones, and none of a leader before", async () => {
  const { view } = await SetStage.start();
  const many = Array.from({ length: 600 }, (_, i) => (4096 + i).toString(16));
  await view.write((tx) => putRefused(tx, CLUSTER, many.slice(0, 300)));
  await view.write((tx) => putRefused(tx, CLUSTER, many.slice(200)));
  assert.deepEqual(storedRefused(view, CLUSTER), many.slice(-512));
  const other = CLUSTER.replace(/.$/, "e");
  await view.write((tx) => putRefused(tx, other, ["4a"]));
  assert.deepEqual([storedRefused(view, CLUSTER), storedRefused(view, other)], [[], ["4a"]]);
});
