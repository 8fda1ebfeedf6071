// Activation tokens in both forms, from a primary as it is stored to a secondary as it is stored: real certificates, real keys.

import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { madeBarrier, sealedBarrier, unsealed } from "../../../tests/support/made/made-barrier.ts";
import { failure } from "../../../tests/support/servers/sealed-node.ts";
import { ADDRESS, EPOCH, SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import { hpkeOpen, hpkeSeal } from "../../crypto/hpke.ts";
import { type Activation, readActivation } from "./activation.ts";
import { ActivationKey, makeToken, openToken, type TokenRequest } from "./activation-token.ts";

const PLACE = { address: ADDRESS, epoch: EPOCH };
const damaged = failure("invalid", /what the activation token holds/);
const unreadable = failure(
  "invalid",
  /^token is no activation token, or not the whole of one: give the whole of .* as one line; where that is lost, make another/,
);

function tokenFrom(stage: SetStage, request: TokenRequest) {
  return makeToken(stage.secondaries, request, PLACE, stage.made.world.random);
}

interface Wrapped extends JsonObject {
  readonly ca_cert: string;
  readonly client_key: { readonly d: string; readonly x: string };
}

async function wrapFrom(stage: SetStage, id = "berlin"): Promise<Wrapped> {
  const token = await tokenFrom(stage, { id });
  assert.ok(token.form === "wrapped");
  return JSON.parse(JSON.stringify(token.wrap)) as Wrapped;
}

/** The same certificate with another signature: all else of it, and its key, are as they were. */
function signedByNobody(certificate: string): string {
  const der = Buffer.from(certificate, "base64");
  der[der.length - 1]! ^= 1;
  return der.toString("base64");
}

/** A cluster that wants to join. */
async function joining() {
  const made = await madeBarrier();
  const key = () => new ActivationKey(made.barrier.view("core/replication/dr/"));
  return { made, key, random: made.world.random };
}

/** What a token of the encrypted form holds in clear. */
function envelopeOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token, "base64url").toString()) as Record<string, unknown>;
}

function textOf(envelope: object): string {
  return Buffer.from(JSON.stringify(envelope)).toString("base64url");
}

function assertWhole(activation: Activation, stage: SetStage): void {
  const { authority } = stage.secondaries.material;
  assert.deepEqual(
    [activation.id, activation.set, activation.kind, activation.address, activation.epoch],
    ["berlin", SET, "dr", ADDRESS, EPOCH],
  );
  assert.ok(Buffer.from(authority.certificate).equals(activation.authority));
  const certificate = new X509Certificate(activation.certificate);
  const key = createPrivateKey({ key: Buffer.from(activation.key), format: "der", type: "pkcs8" });
  assert.ok(certificate.checkPrivateKey(key));
  const peer = stage.peer(activation);
  assert.deepEqual(
    [peer.id, peer.serial, peer.expires],
    ["berlin", activation.serial, activation.expires],
  );
}

test("the wrapped form holds every member, and nothing of the authority's key", async () => {
  const stage = await SetStage.start();
  const token = await tokenFrom(stage, { id: "berlin", ttl: 2n * MINUTE });
  assert.ok(token.form === "wrapped");
  assert.equal(token.ttl, 2n * MINUTE);
  const { wrap } = token;
  assert.deepEqual(Object.keys(wrap).toSorted(), [
    "ca_cert",
    "client_cert",
    "client_key",
    "cluster_id",
    "epoch",
    "epoch_cluster",
    "epoch_first",
    "epoch_proof",
    "expires_at",
    "format",
    "id",
    "mode",
    "primary_cluster_addr",
  ]);
  assert.deepEqual([wrap["mode"], wrap["epoch"], wrap["format"]], ["dr", 3, 1]);
  assert.equal((wrap["client_key"] as JsonObject)["type"], "p521");
  const secret = Buffer.from(stage.secondaries.material.authority.key).toString("base64");
  assert.ok(!JSON.stringify(wrap).includes(secret.slice(0, 40)));
  assertWhole(readActivation(wrap, "dr", { now: stage.clock.now() }), stage);
  await assert.rejects(tokenFrom(stage, { id: "berlin" }), failure("invalid", /known already/));
});

test("an activation is checked member by member", async () => {
  const stage = await SetStage.start();
  const other = await SetStage.start();
  const now = stage.clock.now();
  const data = await wrapFrom(stage);
  const paris = await wrapFrom(stage, "paris");
  const foreign = await wrapFrom(other);
  const server = Buffer.from(stage.secondaries.material.server.certificate).toString("base64");
  const key = data.client_key;
  const keyOfParis = paris.client_key;
  const read = (changes: Record<string, unknown>) =>
    readActivation({ ...data, ...changes }, "dr", { now });
  assertWhole(read({}), stage);
  const wrong: readonly Record<string, unknown>[] = [
    { id: "paris" },
    { id: "" },
    { id: "a/b" },
    { id: 7 },
    { cluster_id: "5f3d2c10-0000-4000-8000-0000000000ab" },
    { cluster_id: "-" },
    { primary_cluster_addr: "" },
    { primary_cluster_addr: "http://a:1" },
    { primary_cluster_addr: "https://a" },
    { primary_cluster_addr: "https://u@a:1" },
    { primary_cluster_addr: "https://a:1/x" },
    { primary_cluster_addr: "https://a:65536" },
    { primary_cluster_addr: `https://${"a".repeat(600)}:1` },
    { ca_cert: foreign["ca_cert"] },
    { ca_cert: data["client_cert"] },
    { ca_cert: "" },
    { ca_cert: "A".repeat(1 << 20) },
    { ca_cert: `${data.ca_cert.replace(/=+$/, "")}AAAA` },
    { ca_cert: signedByNobody(data.ca_cert) },
    { client_cert: paris["client_cert"] },
    { client_cert: foreign["client_cert"] },
    { client_cert: data["ca_cert"] },
    { client_cert: server },
    { client_cert: "AAAA" },
    { client_key: keyOfParis },
    { client_key: { ...key, type: "p256" } },
    { client_key: { ...key, d: keyOfParis.d } },
    { client_key: { ...key, x: keyOfParis.x } },
    { client_key: { ...key, d: "AA" } },
    { client_key: { ...key, d: `${key.d}=` } },
    { client_key: { ...key, more: 1 } },
    { client_key: null },
    { client_key: key.d },
    { epoch: 4 },
    { epoch: 0 },
    { epoch: "3" },
    { epoch: 3.5 },
    { epoch_cluster: "0b8e2f3e-0000-4000-8000-00000000000b" },
    { epoch_first: "42" },
    { epoch_first: "x" },
    { epoch_proof: foreign["epoch_proof"] },
    { epoch_proof: "AAAA" },
    { expires_at: showTime(stage.clock.now() + DAY) },
    { expires_at: "tomorrow" },
    { format: "1" },
    { more: 1 },
    { id: undefined },
  ];
  for (const changes of wrong) {
    assert.throws(() => read(changes), damaged, JSON.stringify(changes).slice(0, 80));
  }
  for (const nothing of [null, [], "x", 1]) {
    assert.throws(() => readActivation(nothing, "dr", { now }), damaged);
  }
  for (const name of Object.keys(data)) {
    const { [name]: _, ...rest } = data;
    assert.throws(() => readActivation(rest, "dr", { now }), damaged, name);
  }
  assert.throws(() => read({ mode: "performance" }), failure("invalid", /not one for dr/));
  assert.throws(
    () => readActivation(data, "performance", { now }),
    failure("invalid", /not one for performance/),
  );
  assert.throws(() => read({ format: 2, more: 1 }), failure("invalid", /upgrade this cluster/));
  for (const later of [-2n * DAY, 366n * DAY]) {
    assert.throws(() => readActivation(data, "dr", { now: now + later }), damaged);
  }
});

test("an authority that has ended is none, though the certificate has not", async () => {
  const stage = await SetStage.start();
  stage.clock.pass((30n * 365n - 100n) * DAY);
  const data = await wrapFrom(stage);
  const now = stage.clock.now();
  assertWhole(readActivation(data, "dr", { now }), stage);
  assert.throws(
    () => readActivation(data, "dr", { now: now + 150n * DAY }),
    failure("invalid", /ca_cert: it is not valid now/),
  );
});

test("the encrypted form opens with the key that it was made for, as often as its holder tries", async () => {
  const stage = await SetStage.start();
  const { key, random, made } = await joining();
  const publicKey = await key().generate(random);
  assert.equal(Buffer.from(publicKey, "base64").length, 32);
  const token = await tokenFrom(stage, { id: "berlin", publicKey });
  assert.ok(token.form === "encrypted");
  assert.match(token.text, /^[A-Za-z0-9_-]+$/);
  assert.deepEqual(Object.keys(envelopeOf(token.text)), ["v", "kind", "set", "id", "enc", "ct"]);
  // The private half is there until the connection has succeeded, also after a restart.
  for (let i = 0; i < 2; i++) {
    const opened = openToken(token.text, { kind: "dr", key: key(), clock: stage.clock });
    assert.ok(opened.form === "encrypted");
    assertWhole(opened.activation, stage);
  }
  await made.barrier.seal();
  const again = sealedBarrier(made.disk);
  unsealed(again.barrier);
  const kept = new ActivationKey(again.barrier.view("core/replication/dr/"));
  const reader = { kind: "dr", key: kept, clock: stage.clock } as const;
  assert.equal(openToken(token.text, reader).form, "encrypted");
  await kept.forget();
  assert.throws(() => openToken(token.text, reader), failure("invalid", /make a public key here/));
});

test("only the last key of the cluster counts, and it is written nowhere in clear", async () => {
  const stage = await SetStage.start();
  const { key, random, made } = await joining();
  const first = await key().generate(random);
  const second = await key().generate(random);
  const reader = { kind: "dr", key: key(), clock: stage.clock } as const;
  const tokens = await Promise.all(
    [first, second].map((publicKey, i) => tokenFrom(stage, { id: `s${i}`, publicKey })),
  );
  const texts = tokens.map((token) => (token.form === "encrypted" ? token.text : ""));
  assert.throws(() => openToken(texts[0]!, reader), failure("invalid", /does not open/));
  assert.equal(openToken(texts[1]!, reader).form, "encrypted");
  const raw = key().privateKey!.export({ format: "der", type: "pkcs8" }).subarray(-32);
  const rows = made.engine.rows({ from: "", to: null, limit: Infinity });
  assert.ok(rows.every(({ value }) => !Buffer.from(value).includes(raw)));
});

test("a token that was changed, has ended, or is for another kind or member is refused", async () => {
  const stage = await SetStage.start();
  const { key, random } = await joining();
  const publicKey = await key().generate(random);
  const token = await tokenFrom(stage, { id: "berlin", publicKey, ttl: HOUR });
  assert.ok(token.form === "encrypted");
  const reader = { kind: "dr", key: key(), clock: stage.clock } as const;
  const envelope = envelopeOf(token.text);
  const open = (changes: object) => openToken(textOf({ ...envelope, ...changes }), reader);
  assert.equal(open({}).form, "encrypted");
  const otherKey = failure("invalid", /does not open/);
  assert.throws(() => open({ id: "paris" }), otherKey);
  assert.throws(() => open({ set: "5f3d2c10-0000-4000-8000-0000000000ab" }), otherKey);
  const ct = Buffer.from(envelope["ct"] as string, "base64url");
  for (const at of [0, ct.length >> 1, ct.length - 1]) {
    const changed = Buffer.from(ct);
    changed[at]! ^= 1;
    assert.throws(() => open({ ct: changed.toString("base64url") }), otherKey);
  }
  assert.throws(() => open({ enc: Buffer.alloc(32).toString("base64url") }), otherKey);
  const ofKind = failure("invalid", /not one for/);
  assert.throws(() => open({ kind: "performance" }), ofKind);
  assert.throws(() => openToken(token.text, { ...reader, kind: "performance" }), ofKind);
  for (const changes of [
    { v: 2 },
    { v: "1" },
    { enc: 1 },
    { ct: "+" },
    { set: 1 },
    { id: "" },
    { x: 1 },
  ]) {
    assert.throws(() => open(changes), unreadable, JSON.stringify(changes));
  }
  for (const text of [
    "",
    "x",
    "a.b",
    "a.b.c.d",
    "....",
    token.text.slice(0, -2),
    `${token.text}=`,
    "A".repeat(40_000),
  ]) {
    assert.throws(() => openToken(text, reader), unreadable, text.slice(0, 20));
  }
  const spaced = failure("invalid", /^token holds spaces or line breaks.* as one line/);
  const half = token.text.length >> 1;
  for (const text of [
    `${token.text}\n`,
    ` ${token.text}`,
    `${token.text.slice(0, half)}\r\n${token.text.slice(half)}`,
    `${token.text}\u00a0`,
    "a.b .c",
    "\n",
  ]) {
    assert.throws(() => openToken(text, reader), spaced, text.slice(0, 20));
  }
  stage.clock.pass(HOUR + SECOND);
  assert.throws(() => openToken(token.text, reader), failure("invalid", /has expired/));
});

test("what an envelope says of its member is what lies in it, also where both are sealed right", async () => {
  const stage = await SetStage.start();
  const { key, random } = await joining();
  const publicKey = await key().generate(random);
  const token = await tokenFrom(stage, { id: "berlin", publicKey });
  assert.ok(token.form === "encrypted");
  const envelope = envelopeOf(token.text);
  const bytesOf = (name: string) => Buffer.from(envelope[name] as string, "base64url");
  const infoOf = (set: string, id: string) => ({
    info: Buffer.from(["holdfast activation 1", "dr", set, id].join("\0")),
  });
  const sent = { enc: bytesOf("enc"), ciphertext: bytesOf("ct") };
  const inner = hpkeOpen(key().privateKey!, sent, infoOf(SET, "berlin"));
  assert.ok(inner !== null, "the harness");
  const recipient = Buffer.from(publicKey, "base64");
  const opened = (set: string, id: string) => {
    const sealed = hpkeSeal(recipient, inner, infoOf(set, id), random)!;
    const ct = Buffer.from(sealed.ciphertext).toString("base64url");
    const enc = Buffer.from(sealed.enc).toString("base64url");
    const reader = { kind: "dr", key: key(), clock: stage.clock } as const;
    return openToken(textOf({ ...envelope, set, id, enc, ct }), reader).form;
  };
  assert.equal(opened(SET, "berlin"), "encrypted");
  assert.throws(() => opened(SET, "paris"), unreadable);
  assert.throws(() => opened("5f3d2c10-0000-4000-8000-0000000000ab", "berlin"), unreadable);
});

test("a public key that is none makes no member known", async () => {
  const stage = await SetStage.start();
  const bad = [
    "",
    "x",
    Buffer.alloc(32).toString("base64"),
    Buffer.alloc(31, 9).toString("base64"),
    Buffer.alloc(64, 9).toString("base64"),
    "A".repeat(1 << 20),
    stage.secondaries.material.authority.certificate.toString(),
  ];
  for (const publicKey of bad) {
    await assert.rejects(
      tokenFrom(stage, { id: "berlin", publicKey }),
      failure("invalid", /secondary_public_key/),
    );
  }
  assert.deepEqual(stage.secondaries.known(), []);
});

test("of the wrapped form is read where it is to be unwrapped, and that it has not ended", async () => {
  const stage = await SetStage.start();
  const { key } = await joining();
  const reader = { kind: "dr", key: key(), clock: stage.clock } as const;
  const end = Number(stage.clock.now() / SECOND) + 60;
  const jwt = (claims: object) => `e30.${textOf(claims)}.c2ln`;
  const whole = { type: "wrapping", addr: "https://a.example:8200", exp: end };
  assert.deepEqual(openToken(jwt(whole), reader), {
    form: "wrapped",
    jwt: jwt(whole),
    address: "https://a.example:8200",
  });
  assert.equal((openToken(jwt({ ...whole, addr: "" }), reader) as { address: string }).address, "");
  for (const changes of [{ type: "x" }, { addr: 7 }, { exp: "1" }, { exp: undefined }]) {
    assert.throws(() => openToken(jwt({ ...whole, ...changes }), reader), unreadable);
  }
  stage.clock.pass(61n * SECOND);
  assert.throws(() => openToken(jwt(whole), reader), failure("invalid", /has expired/));
});
