import assert from "node:assert/strict";
import test from "node:test";
import { rawNumber } from "@holdfast/shared/json/json";
import { CubbyholeContents } from "./cubbyhole-contents.ts";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { WrapForm } from "@holdfast/shared/endpoint/request";
import {
  ASKING,
  holding,
  madeWrapping,
  named,
  wrappedIn,
  wrappingOver,
} from "../../tests/support/made/made-wrapping.ts";
import {
  HOUR,
  keysBelow,
  MINUTE,
  refused,
  restarted,
  SECOND,
  TEAM,
  turns,
} from "../../tests/support/made/made-tokens.ts";

const INVALID = "wrapping token is not valid or does not exist";
const FORMS: readonly WrapForm[] = ["token", "jwt"];

for (const wrapForm of FORMS) {
  test(`${wrapForm}: an answer comes back whole, with lease, token and warnings, and digits as they were`, async () => {
    const made = await madeWrapping();
    const { wrapping } = made;
    const auth = { client_token: "t", accessor: "inside", policies: ["default"] } as never;
    const leased = { id: "clouda/creds/ci/abc", seconds: 60, renewable: true };
    const data = { key: "value", number: rawNumber("1.50"), none: null, list: [1, "2"] };
    const reply = new Reply(data, { auth, leased, warnings: ["cut"] });
    const context = { ...ASKING, wrapForm };
    const { wrapInfo, warnings } = await wrapping.wrap(reply, 90n * SECOND, context);
    assert.deepEqual(warnings, []);
    assert.equal(wrapInfo.ttl, 90);
    assert.equal(wrapInfo.creation_path, "kv/app");
    assert.equal(wrapInfo.creation_time, "2026-01-01T00:00:00Z");
    assert.equal(wrapInfo.wrapped_accessor, "inside");
    const back = await wrapping.unwrap(holding(made, wrapInfo.token), undefined);
    assert.equal(
      JSON.stringify(back.data),
      '{"key":"value","number":1.50,"none":null,"list":[1,"2"]}',
    );
    assert.deepEqual(back.auth, auth);
    assert.deepEqual(back.leased, leased);
    assert.deepEqual(back.warnings, ["cut"]);
  });

  test(`${wrapForm}: of 64 unwraps at once one gets it`, async () => {
    const made = await madeWrapping();
    const { token } = await wrappedIn(made, { a: "b" }, { wrapForm });
    const context = holding(made, token);
    const attempts = Array.from({ length: 64 }, (_, i) =>
      i % 2 === 0
        ? made.wrapping.unwrap(context, undefined)
        : made.wrapping.unwrap(ASKING, named(token)),
    );
    const results = await Promise.allSettled(attempts);
    const won = results.filter(({ status }) => status === "fulfilled");
    assert.equal(won.length, 1);
    for (const result of results) {
      if (result.status === "rejected") refused(INVALID)(result.reason);
    }
  });

  test(`${wrapForm}: a used one leaves nothing behind, in the store or in memory`, async () => {
    const made = await madeWrapping();
    const before = [keysBelow(made, "local/"), keysBelow(made, "shared/")];
    const { token } = await wrappedIn(made, { a: "b" }, { wrapForm });
    assert.ok(keysBelow(made, "local/").some((key) => key.includes("/cubbyhole/")));
    await made.wrapping.unwrap(ASKING, named(token));
    assert.equal(made.wrapping.find(token), null);
    const table = "ns/root/tokens/table"; // the index of the last change, for those who list tokens
    const after = [
      keysBelow(made, "local/").filter((key) => key !== table),
      keysBelow(made, "shared/"),
    ];
    assert.deepEqual(after, before);
  });

  test(`${wrapForm}: it is over with its time, by the clock and by the sweep, for a sealed node too`, async () => {
    const made = await madeWrapping();
    const { token } = await wrappedIn(made, { a: "b" }, { wrapForm, ttl: MINUTE });
    const left = await wrappedIn(made, { a: "b" }, { wrapForm, ttl: HOUR });
    const context = holding(made, token);
    made.world.clock.pass(MINUTE + SECOND);
    await assert.rejects(made.wrapping.unwrap(context, undefined), refused(INVALID));
    assert.throws(() => made.wrapping.lookup(ASKING, named(token)), refused(INVALID));
    await made.world.timers.advance(MINUTE);
    await turns();
    assert.equal(keysBelow(made, "local/").filter((key) => key.includes("/cubbyhole/")).length, 1);
    made.world.clock.pass(HOUR);
    const again = wrappingOver(await restarted(made), made.cubbyholes);
    again.wrapping.open();
    await again.wrapping.lead();
    assert.equal(again.wrapping.find(left.token), null);
  });

  test(`${wrapForm}: a rewrap has the same content, time and path, and ends the old one`, async () => {
    const made = await madeWrapping();
    const auth = { accessor: "inside" } as never;
    const context = { ...ASKING, wrapForm };
    const old = (await made.wrapping.wrap(new Reply({ a: "b" }, { auth }), MINUTE, context))
      .wrapInfo;
    made.world.clock.pass(30n * SECOND);
    const { wrapInfo } = await made.wrapping.rewrap(holding(made, old.token), undefined);
    assert.equal(made.wrapping.find(old.token), null);
    assert.notEqual(wrapInfo.token, old.token);
    assert.deepEqual(
      [wrapInfo.ttl, wrapInfo.creation_path, wrapInfo.wrapped_accessor],
      [60, "kv/app", "inside"],
    );
    assert.equal(wrapInfo.creation_time, "2026-01-01T00:00:30Z");
    assert.equal(wrapInfo.token.includes("."), wrapForm === "jwt");
    const { data } = await made.wrapping.unwrap(ASKING, named(wrapInfo.token));
    assert.deepEqual(data, { a: "b" });
  });

  test(`${wrapForm}: an unwrap and a rewrap at once: one of them has it`, async () => {
    const made = await madeWrapping();
    const { token } = await wrappedIn(made, { a: "b" }, { wrapForm });
    const results = await Promise.allSettled([
      made.wrapping.rewrap(ASKING, named(token)),
      made.wrapping.unwrap(ASKING, named(token)),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
  });

  test(`${wrapForm}: a look-up uses nothing up`, async () => {
    const made = await madeWrapping();
    const { token } = await wrappedIn(made, { a: "b" }, { wrapForm, ttl: HOUR });
    const facts = { created: made.world.clock.now(), ttl: HOUR, path: "kv/app" };
    for (let i = 0; i < 3; i += 1) {
      assert.deepEqual(made.wrapping.lookup(ASKING, named(token)), facts);
      assert.deepEqual(made.wrapping.lookup(holding(made, token), undefined), facts);
    }
    assert.deepEqual((await made.wrapping.unwrap(ASKING, named(token))).data, { a: "b" });
  });
}

test("what is no wrapping token cannot be unwrapped, and stays as it is", async () => {
  const made = await madeWrapping();
  const client = await made.tokens.writes.create({
    type: "client",
    namespaceId: "root",
    policies: ["p"],
  });
  for (const text of [client.secret.reveal(), "", "unknown", "a.b.c"]) {
    await assert.rejects(made.wrapping.unwrap(ASKING, named(text)), refused(INVALID));
  }
  await assert.rejects(made.wrapping.unwrap(ASKING, undefined), refused(INVALID));
  assert.notEqual(made.tokens.find(client.secret.reveal()), null);
});

test("one wrapping token is no right to unwrap another", async () => {
  const made = await madeWrapping();
  const [one, other] = [await wrappedIn(made), await wrappedIn(made)];
  const context = holding(made, one.token);
  await assert.rejects(made.wrapping.unwrap(context, named(other.token)), refused(INVALID));
  assert.deepEqual((await made.wrapping.unwrap(context, named(one.token))).data, { a: "b" });
  assert.deepEqual((await made.wrapping.unwrap(ASKING, named(other.token))).data, { a: "b" });
});

for (const wrapForm of ["token", "jwt"] as const) {
  test(`${wrapForm}: it belongs to the namespace of the request, and says so`, async () => {
    const made = await madeWrapping();
    const other = { id: "o1", path: "other", created: 4n };
    made.spaces.set(other.id, other);
    const inTeam = { ...ASKING, namespace: TEAM };
    const inOther = { ...ASKING, namespace: other };
    const wrap = await wrappedIn(made, { a: "b" }, { namespace: TEAM, wrapForm });
    assert.equal(wrap.creation_path, "team/kv/app");
    for (const context of [ASKING, inOther]) {
      await assert.rejects(made.wrapping.unwrap(context, named(wrap.token)), refused(INVALID));
      assert.throws(() => made.wrapping.lookup(context, named(wrap.token)), refused(INVALID));
    }
    const { wrapInfo } = await made.wrapping.rewrap(inTeam, named(wrap.token));
    assert.equal(wrapInfo.creation_path, "team/kv/app");
    const below = { ...ASKING, namespace: { id: "t2", path: "team/a", created: 5n } };
    assert.equal(made.wrapping.lookup(below, named(wrapInfo.token)).path, "team/kv/app");
    assert.deepEqual((await made.wrapping.unwrap(inTeam, named(wrapInfo.token))).data, { a: "b" });
    // Nothing is left of what it counted as.
    const left = made.barrier.view("local/").keys("", { limit: 100 });
    assert.deepEqual(
      left.filter((key) => key.includes("wrapping")),
      [],
    );
  });
}

test("the secret inside a JWT opens nothing by itself, nor does a changed one", async () => {
  const made = await madeWrapping();
  const { wrapping } = made;
  const { token } = await wrappedIn(made, { a: "b" }, { wrapForm: "jwt" });
  const [head = "", payload = "", signature = ""] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<
    string,
    unknown
  >;
  const { st, jti, accessor } = claims;
  for (const bare of [st, jti, accessor]) assert.equal(wrapping.find(String(bare)), null);
  const changed = (more: object) =>
    Buffer.from(JSON.stringify({ ...claims, ...more })).toString("base64url");
  const other = await wrappedIn(made, { c: "d" }, { wrapForm: "jwt" });
  const foreign = other.token.split(".")[2] ?? "";
  for (const forged of [
    `${head}.${payload}.`,
    `${head}.${payload}`,
    `${head}.${payload}.${foreign}`,
    `${head}.${payload}.${signature.slice(0, -4)}`,
    `${head}.${changed({ exp: 9e9 })}.${signature}`,
    `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`,
    `${Buffer.from('{"alg":"ES512","typ":"JWT","kid":"x"}').toString("base64url")}.${payload}.${signature}`,
    `${head}.${payload}.${signature}.${signature}`,
    `${head}.!.${signature}`,
  ]) {
    assert.equal(wrapping.find(forged), null, forged);
    await assert.rejects(wrapping.unwrap(ASKING, named(forged)), refused(INVALID));
  }
  assert.deepEqual((await wrapping.unwrap(ASKING, named(token))).data, { a: "b" });
});

test("a JWT says where to go, and its maker is told when it cannot", async () => {
  const { wrapping } = await madeWrapping({ apiAddress: "" });
  const context = { ...ASKING, wrapForm: "jwt" } as const;
  const { warnings } = await wrapping.wrap(new Reply({ a: "b" }), MINUTE, context);
  assert.match(warnings.join(), /api_addr is not set/);
});

test("the key is made once, and the JWT of before a restart is as good after it", async () => {
  const made = await madeWrapping();
  const { token } = await wrappedIn(made, { a: "b" }, { wrapForm: "jwt" });
  const { pem } = made.wrapping.publicKey;
  const again = await restarted(made);
  const { wrapping } = wrappingOver(again, made.cubbyholes);
  assert.throws(() => wrapping.find(token), refused("service is sealed", "sealed"));
  wrapping.open();
  await wrapping.lead();
  assert.equal(wrapping.publicKey.pem, pem);
  assert.equal(wrapping.find(token)?.wrapping, "jwt");
  wrapping.close();
  assert.throws(() => wrapping.publicKey, refused("service is sealed", "sealed"));
});

test("to those who manage tokens it is one of them, without its secret, and fixed but for its end", async () => {
  const made = await madeWrapping();
  const { token, accessor } = await wrappedIn(made);
  const change = { type: "management", policies: [] };
  await assert.rejects(
    made.tokens.writes.update("root", accessor, change),
    refused("a wrapping token cannot be changed, only deleted"),
  );
  await made.tokens.writes.delete("root", accessor);
  assert.equal(made.wrapping.find(token), null);
  assert.equal(keysBelow(made, "local/").filter((key) => key.includes("/cubbyhole/")).length, 0);
});

test("an unwrap that did not become durable has not happened", async () => {
  const made = await madeWrapping();
  const { token } = await wrappedIn(made);
  made.engine.hold(); // nothing becomes durable any more
  void made.wrapping.unwrap(ASKING, named(token)).catch(() => {});
  const next = await restarted(made);
  const again = wrappingOver(next, new CubbyholeContents(next.barrier.view("local/")));
  again.wrapping.open();
  await again.wrapping.lead();
  assert.deepEqual((await again.wrapping.unwrap(ASKING, named(token))).data, { a: "b" });
  await assert.rejects(again.wrapping.unwrap(ASKING, named(token)), refused(INVALID));
});
