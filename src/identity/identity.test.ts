import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import {
  crashed,
  type MadeBarrier,
  madeBarrier,
  unsealed,
} from "../../tests/support/made/made-barrier.ts";
import { Identity } from "./identity.ts";

const SECOND = 1_000_000_000n;
const HOUR = 3600n * SECOND;
const DAY = 24n * HOUR;
const MOUNT = { namespaceId: "root", kind: "secret", accessor: "cloudb_5f3a9c01" } as const;

const ADDRESS = "https://hf.example:8200";

function identityOver(
  { barrier, world }: MadeBarrier,
  address = ADDRESS,
  cluster = "first",
  hasRegions = () => false,
): Identity {
  const view = barrier.view("shared/").sub("identity/");
  const clusterId = () => cluster;
  return new Identity({ view, ...world, apiAddress: () => address, clusterId, hasRegions });
}

async function made() {
  const barrier = await madeBarrier();
  return { ...barrier, identity: identityOver(barrier) };
}

function read(token: string) {
  const [header = "", payload = "", signature = ""] = token.split(".");
  const parsed = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
  return {
    header: parsed(header) as { readonly kid: string },
    claims: parsed(payload) as { readonly jti: string; readonly iss: string },
    signed: `${header}.${payload}`,
    signature: Buffer.from(signature, "base64url"),
  };
}

/** As somebody who has nothing but the list of keys would. */
function isGood(identity: Identity, token: string): boolean {
  const { header, signed, signature } = read(token);
  const jwk = identity.publicKeys().find(({ kid }) => kid === header.kid);
  if (jwk === undefined) return false;
  const key = createPublicKey({ key: { kty: "RSA", n: jwk.n, e: jwk.e }, format: "jwk" });
  assert.ok((key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048);
  return verify("sha256", Buffer.from(signed), key, signature);
}

test("a token says who sends it, to whom and until when, signed with a key that is listed", async () => {
  const { identity, world } = await made();
  assert.deepEqual(identity.publicKeys(), []);
  const token = await identity.token(MOUNT, "api://exchange", HOUR);
  const { header, claims } = read(token);
  const now = Number(world.clock.now() / SECOND);
  const [{ kid } = { kid: "" }] = identity.publicKeys();
  assert.deepEqual(header, { alg: "RS256", kid, typ: "JWT" });
  assert.match(claims.jti, /^[0-9a-f-]{36}$/);
  assert.deepEqual(claims, {
    iss: "https://hf.example:8200/v1/identity/oidc/plugins",
    sub: "plugin-identity:root:secret:cloudb_5f3a9c01",
    aud: "api://exchange",
    iat: now,
    nbf: now - 5,
    exp: now + 3600,
    jti: claims.jti,
  });
  assert.ok(isGood(identity, token));
  const again = read(
    await identity.token({ ...MOUNT, namespaceId: "ns1" }, "api://exchange", HOUR),
  );
  const forged = `${token.slice(0, token.lastIndexOf("."))}.${again.signature.toString("base64url")}`;
  assert.ok(!isGood(identity, forged));
  assert.notEqual(again.claims.jti, claims.jti);
  assert.equal((again.claims as { sub?: string }).sub?.split(":")[1], "ns1");
});

test("tokens asked for at once, before there is a key, are signed with one and the same", async () => {
  const { identity } = await made();
  const tokens = await Promise.all(
    Array.from({ length: 5 }, () => identity.token(MOUNT, "a", HOUR)),
  );
  assert.equal(new Set(tokens.map((token) => read(token).header.kid)).size, 1);
  assert.ok(tokens.every((token) => isGood(identity, token)));
});

test("of two nodes that make the first key at once, one key counts", async () => {
  const barrier = await madeBarrier();
  const [a, b] = [identityOver(barrier), identityOver(barrier)];
  const tokens = await Promise.all([a.token(MOUNT, "a", HOUR), b.token(MOUNT, "a", HOUR)]);
  assert.ok(tokens.every((token) => isGood(a, token) && isGood(b, token)));
  assert.equal(a.publicKeys().length, 1);
});

test("the key is the same after a restart, and nothing but the barrier's text is on the disk", async () => {
  const before = await made();
  const token = await before.identity.token(MOUNT, "a", HOUR);
  const after = await crashed(before);
  assert.ok(unsealed(after.barrier));
  const identity = identityOver(after);
  assert.ok(isGood(identity, token));
  const { kid } = read(await identity.token(MOUNT, "a", HOUR)).header;
  assert.equal(kid, read(token).header.kid);
});

test("a key signs for 90 days; the next is listed before it signs, the old one while a token of it lives", async () => {
  const { identity, world, barrier } = await made();
  const kidOf = async () => read(await identity.token(MOUNT, "a", DAY)).header.kid;
  const secrets = () =>
    barrier.view("shared/").sub("identity/secrets/").keys("", { limit: 10 }).length;
  const first = await kidOf();
  world.clock.pass(89n * DAY - SECOND);
  assert.equal(await kidOf(), first);
  assert.equal(identity.publicKeys().length, 1);
  world.clock.pass(2n * SECOND);
  assert.equal(await kidOf(), first);
  const [, next] = identity.publicKeys();
  assert.ok(next !== undefined);
  assert.equal(secrets(), 2);
  world.clock.pass(DAY - 2n * SECOND); // one second before the 90 days are over
  const last = await identity.token(MOUNT, "a", DAY);
  assert.equal(read(last).header.kid, first);
  world.clock.pass(SECOND);
  assert.equal(await kidOf(), next.kid);
  assert.equal(secrets(), 1);
  world.clock.pass(DAY - 2n * SECOND);
  assert.ok(isGood(identity, last)); // it has a second left
  world.clock.pass(HOUR);
  assert.deepEqual(
    identity.publicKeys().map(({ kid }) => kid),
    [next.kid],
  );
});

test("after a long rest the next key is still listed for an hour before it signs", async () => {
  const { identity, world } = await made();
  const kidOf = async () => read(await identity.token(MOUNT, "a", HOUR)).header.kid;
  const first = await kidOf();
  world.clock.pass(400n * DAY);
  assert.equal(await kidOf(), first);
  const [, next] = identity.publicKeys();
  world.clock.pass(HOUR - SECOND);
  assert.equal(await kidOf(), first);
  world.clock.pass(SECOND);
  assert.equal(await kidOf(), next?.kid);
});

test("rotations go on and on, and what has ended is not kept", async () => {
  const { identity, world, barrier } = await made();
  const kids = new Set<string>();
  for (let i = 0; i < 3; i++) {
    kids.add(read(await identity.token(MOUNT, "a", HOUR)).header.kid);
    world.clock.pass(90n * DAY);
    await identity.token(MOUNT, "a", HOUR);
    world.clock.pass(HOUR);
  }
  assert.equal(kids.size, 3);
  const view = barrier.view("shared/").sub("identity/");
  assert.ok((view.get("ring", bytesCodec)?.length ?? 0) < 2000);
  assert.equal(identity.publicKeys().length, 2); // the one that signs next, and the last
});

const issuerAt = (address: string) => `${address}/v1/identity/oidc/plugins`;
const OTHER = "https://other.example:8200";

test("a cluster that has the ring from another names that one's address as issuer, also when it takes its place", async () => {
  const { identity, ...rest } = await made();
  const others = identityOver(rest, OTHER, "second");
  assert.equal(others.issuer, issuerAt(OTHER), "nobody has issued any");
  await identity.token(MOUNT, "a", HOUR);
  await others.lead();
  for (const one of [identity, others, identityOver(rest, "", "third")]) {
    assert.equal(one.issuer, issuerAt(ADDRESS));
    const token = await one.token(MOUNT, "a", HOUR);
    assert.equal(read(token).claims.iss, issuerAt(ADDRESS));
    assert.ok(isGood(identity, token));
  }
  rest.world.clock.pass(90n * DAY); // and with the next key
  await others.token(MOUNT, "a", HOUR);
  rest.world.clock.pass(HOUR);
  assert.equal(read(await others.token(MOUNT, "a", HOUR)).claims.iss, issuerAt(ADDRESS));
});

test("the cluster that has made the ring may come under another address; the others hear of it", async () => {
  const { identity, ...rest } = await made();
  await identity.token(MOUNT, "a", HOUR);
  const moved = identityOver(rest, "https://moved.example");
  const others = identityOver(rest, OTHER, "second");
  assert.equal(moved.issuer, issuerAt("https://moved.example"));
  assert.equal(others.issuer, issuerAt(ADDRESS));
  await moved.lead();
  assert.equal(others.issuer, issuerAt("https://moved.example"));
  const { index } = rest.store;
  await moved.lead();
  await identityOver(rest, "").lead(); // it is not known yet
  assert.equal(rest.store.index, index, "nothing is written that is there");
});

test("a ring of an earlier version gets its issuer when a cluster leads with it, or signs", async () => {
  const { identity, barrier, ...rest } = await made();
  await identity.token(MOUNT, "a", HOUR);
  const view = barrier.view("shared/").sub("identity/");
  const older = async () => {
    const { issuer: _, ...ring } = view.get("ring", jsonCodec<Record<string, unknown>>()) ?? {};
    await view.write((tx) => tx.put("ring", ring, jsonCodec()));
    assert.equal(others.issuer, issuerAt(OTHER));
  };
  const others = identityOver({ barrier, ...rest }, OTHER, "second");
  await older();
  await identity.lead();
  assert.equal(others.issuer, issuerAt(ADDRESS));
  await older();
  await identity.token(MOUNT, "a", HOUR);
  assert.equal(others.issuer, issuerAt(ADDRESS));
});

test("where another cluster writes shared rows, tokens are signed with what there is and the ring is left alone", async () => {
  const { identity, store, world, ...rest } = await made();
  const alarms = () => world.lines.filter((line) => line.includes("shared-write-refused"));
  const others = identityOver({ store, world, ...rest }, OTHER, "second");
  store.leaveShared(true);
  const says = (error: unknown) =>
    error instanceof Failure && error.code === "identity-key-elsewhere";
  await assert.rejects(others.token(MOUNT, "a", HOUR), says);
  store.leaveShared(false);
  const first = await identity.token(MOUNT, "a", HOUR);
  const { index } = store;
  store.leaveShared(true);
  await others.lead();
  for (const after of [0n, 89n * DAY, 2n * DAY]) {
    world.clock.pass(after);
    const token = await others.token(MOUNT, "a", HOUR);
    assert.equal(read(token).header.kid, read(first).header.kid);
    assert.equal(read(token).claims.iss, issuerAt(ADDRESS));
    assert.ok(isGood(others, token));
  }
  assert.equal(store.index, index);
  assert.deepEqual(alarms(), []);
});

test("where only other regions sign, keys change in time by those that look after them", async () => {
  const { identity, world, barrier, ...rest } = await made();
  const kidOf = async () => {
    rest.store.leaveShared(true);
    const token = await identity.token(MOUNT, "a", DAY); // as a region does
    rest.store.leaveShared(false);
    return read(token).header.kid;
  };
  await identity.keep();
  assert.deepEqual(identity.publicKeys(), [], "nobody has asked for any");
  await identityOver({ barrier, world, ...rest }, "", "first", () => true).keep();
  assert.deepEqual(identity.publicKeys(), [], "there would be no issuer");
  await identityOver({ barrier, world, ...rest }, ADDRESS, "first", () => true).keep();
  const kids = [await kidOf()];
  for (const after of [89n * DAY, DAY]) {
    world.clock.pass(after);
    kids.push(await kidOf());
    await identity.keep();
  }
  kids.push(await kidOf());
  const [first, next] = [kids[0], kids[3]];
  assert.deepEqual(kids, [first, first, first, next]);
  assert.notEqual(first, next);
  rest.store.leaveShared(true);
  world.clock.pass(90n * DAY);
  await identity.keep();
  assert.equal(await kidOf(), next, "what another cluster writes is left to it");
});

test("what makes no sense is refused, with what would be accepted", async () => {
  const { identity, ...rest } = await made();
  const says = (code: string) => (error: unknown) =>
    error instanceof Failure && error.code === code;
  await assert.rejects(identity.token(MOUNT, "", HOUR), says("audience-missing"));
  await assert.rejects(identity.token(MOUNT, "a", 0n), says("identity-ttl"));
  await assert.rejects(identity.token(MOUNT, "a", DAY + 1n), says("identity-ttl"));
  await assert.rejects(identityOver(rest, "").token(MOUNT, "a", HOUR), says("issuer-missing"));
  assert.deepEqual(identity.publicKeys(), []);
});

test("after closing, no key is held in memory: signing needs the barrier again", async () => {
  const { identity, barrier } = await made();
  await identity.token(MOUNT, "a", HOUR);
  identity.close();
  await barrier.seal();
  await assert.rejects(identity.token(MOUNT, "a", HOUR));
});
