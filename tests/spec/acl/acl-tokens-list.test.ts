// Cases of docs/cases/token-api.md: order, pages and filters of the list.

import assert from "node:assert/strict";
import test from "node:test";
import type { Answer } from "../../support/http-client.ts";
import {
  aclServer,
  type AclServer,
  refused,
  succeeded,
  tokenOf,
  type WireStub,
} from "../../support/servers/acl-server.ts";

const STUB_KEYS = [
  "AccessorID",
  "CreateIndex",
  "CreateTime",
  "ExpirationTime",
  "Global",
  "Hash",
  "ModifyIndex",
  "Name",
  "Policies",
  "Roles",
  "Type",
];
/** Not in the order of their accessors; half of them global. */
const UPLOADED = [
  "aaff0000-0000-4000-8000-000000000001",
  "bb000000-0000-4000-8000-000000000002",
  "aabbccdd-1122-4334-8556-000000000003",
  "aa000000-0000-4000-8000-000000000004",
  "aabbccdd-1199-4334-8556-000000000005",
  "01000000-0000-4000-8000-000000000006",
];

async function withUploads(server: AclServer): Promise<void> {
  for (const [i, accessor] of UPLOADED.entries()) {
    await server.upload(accessor, { Name: `token ${i}`, Global: i % 2 === 0 });
  }
}

function names(stubs: readonly WireStub[]): string[] {
  return stubs.map(({ Name }) => Name);
}

function accessors(stubs: readonly WireStub[]): string[] {
  return stubs.map(({ AccessorID }) => AccessorID);
}

/** Follows the cursors to the end. */
async function pages(
  server: AclServer,
  query: Readonly<Record<string, string>>,
): Promise<{ readonly stubs: readonly WireStub[]; readonly cursor: string | undefined }[]> {
  const found: { stubs: readonly WireStub[]; cursor: string | undefined }[] = [];
  let cursor: string | undefined;
  do {
    const next: Record<string, string> = cursor === undefined ? {} : { next_token: cursor };
    const answer = await server.list({ ...query, ...next });
    succeeded(answer);
    cursor = cursorOf(answer);
    found.push({ stubs: answer.json as WireStub[], cursor });
  } while (cursor !== undefined);
  return found;
}

function cursorOf({ headers }: Answer): string | undefined {
  const cursor = headers["x-service-nexttoken"];
  return cursor === undefined ? undefined : String(cursor);
}

test("A-64 the list has every token in the order of creation, and no secret", async (t) => {
  const server = await aclServer(t);
  const made = [await server.create({ Name: "a" }), await server.createManagement({ Name: "b" })];
  await withUploads(server);
  const answer = await server.list();
  succeeded(answer);
  const stubs = answer.json as WireStub[];
  assert.equal(stubs.length, 1 + made.length + UPLOADED.length);
  for (const stub of stubs) assert.deepEqual(Object.keys(stub).toSorted(), STUB_KEYS);
  const indexes = stubs.map(({ CreateIndex }) => CreateIndex);
  assert.deepEqual(
    indexes,
    indexes.toSorted((a, b) => a - b),
  );
  assert.deepEqual(accessors(stubs).slice(-UPLOADED.length), UPLOADED);
  assert.doesNotMatch(answer.text, /secret/i);
  for (const secret of [server.management, ...made.map(({ SecretID }) => SecretID)]) {
    assert.ok(!answer.text.includes(secret));
  }
  const { SecretID, ExpirationTTL, ...stub } = made[0] ?? assert.fail();
  assert.deepEqual([stubs[1], SecretID.length, ExpirationTTL], [stub, 36, ""]);
  assert.equal(answer.headers["x-service-lastcontact"], "0");
  assert.equal(answer.headers["x-service-knownleader"], "true");
});

test("A-65 an update does not move a token in the list", async (t) => {
  const server = await aclServer(t);
  const oldest = await server.create({ Name: "oldest" });
  await withUploads(server);
  const before = accessors(await server.stubs());
  tokenOf(await server.update(oldest, { Name: "renamed" }));
  const after = await server.stubs();
  assert.deepEqual(accessors(after), before);
  assert.equal(after[1]?.Name, "renamed");
});

test("A-66 reverse is exactly the other way round", async (t) => {
  const server = await aclServer(t);
  await withUploads(server);
  const forward = await server.stubs();
  for (const reverse of ["true", "1", "T"]) {
    assert.deepEqual(await server.stubs({ reverse }), forward.toReversed());
  }
  assert.deepEqual(await server.stubs({ reverse: "false" }), forward);
  refused(await server.list({ reverse: "yes" }), 400, /reverse/, "invalid_parameter");
});

test("A-67 pages follow one another without gaps or repeats, both ways", async (t) => {
  const server = await aclServer(t);
  await withUploads(server); // seven tokens with the root token
  for (const reverse of ["false", "true"]) {
    const all = await server.stubs({ reverse });
    const found = await pages(server, { per_page: "2", reverse });
    assert.deepEqual(
      found.map(({ stubs }) => stubs.length),
      [2, 2, 2, 1],
    );
    assert.deepEqual(
      found.flatMap(({ stubs }) => stubs),
      all,
    );
    for (const [i, { cursor }] of found.slice(0, -1).entries()) {
      const next = all[2 * (i + 1)];
      assert.equal(cursor, `${next?.CreateIndex}.${next?.AccessorID}`);
    }
  }
  // A last page that is full has nothing behind it, and says so.
  assert.equal(cursorOf(await server.list({ per_page: "7" })), undefined);
  assert.notEqual(cursorOf(await server.list({ per_page: "6" })), undefined);
});

test("A-68 the token that a cursor names may vanish", async (t) => {
  const server = await aclServer(t);
  await withUploads(server);
  for (const reverse of ["false", "true"]) {
    const all = await server.stubs({ reverse });
    const next_token = cursorOf(await server.list({ per_page: "2", reverse }));
    assert.ok(next_token !== undefined);
    succeeded(await server.manage("DELETE", `/acl/token/${all[2]?.AccessorID}`));
    const rest = await server.stubs({ per_page: "2", reverse, next_token });
    assert.deepEqual(rest, all.slice(3, 5));
  }
});

test("A-69 a prefix lists in the order of accessors", async (t) => {
  const server = await aclServer(t);
  await withUploads(server);
  const expected = UPLOADED.filter((accessor) => accessor.startsWith("aa")).toSorted();
  assert.equal(expected.length, 4);
  assert.deepEqual(accessors(await server.stubs({ prefix: "aa" })), expected);
  const back = await server.stubs({ prefix: "aa", reverse: "true" });
  assert.deepEqual(accessors(back), expected.toReversed());
  const found = await pages(server, { prefix: "aa", per_page: "3" });
  assert.deepEqual(
    found.map(({ stubs, cursor }) => [accessors(stubs), cursor]),
    [
      [expected.slice(0, 3), expected[3]],
      [expected.slice(3), undefined],
    ],
  );
});

test("A-70 a prefix may have hyphens and capitals", async (t) => {
  const server = await aclServer(t);
  await withUploads(server);
  for (const [prefix, count] of [
    ["AABBCCDD-11", 2],
    ["aabbccdd11", 2],
    ["AaBb-", 2],
    ["AABBCCDD-1122", 1],
    ["AABBCCDD-1122-4334-8556-000000000003", 1],
    ["aabbccdd-1123", 0],
  ] as const) {
    assert.equal((await server.stubs({ prefix })).length, count, prefix);
  }
});

test("A-71 a prefix that is no whole number of bytes is refused", async (t) => {
  const server = await aclServer(t);
  refused(await server.list({ prefix: "abc" }), 400, /must be even length/, "invalid_parameter");
  refused(await server.list({ prefix: "zz" }), 400, /./, "invalid_parameter");
});

test("A-72 global lists the global tokens, in the order of accessors", async (t) => {
  const server = await aclServer(t);
  await withUploads(server);
  const all = await server.stubs();
  const expected = accessors(all.filter(({ Global }) => Global)).toSorted();
  assert.ok(expected.length >= 3 && expected.length < all.length);
  assert.deepEqual(accessors(await server.stubs({ global: "true" })), expected);
  const back = await server.stubs({ global: "1", reverse: "true" });
  assert.deepEqual(accessors(back), expected.toReversed());
  const found = await pages(server, { global: "true", per_page: "2" });
  assert.deepEqual(accessors(found.flatMap(({ stubs }) => stubs)), expected);
  assert.equal(found[0]?.cursor, expected[2]);
  assert.deepEqual(await server.stubs({ global: "false" }), all);
  refused(await server.list({ global: "maybe" }), 400, /global/, "invalid_parameter");
});

test("A-73 global and prefix apply together", async (t) => {
  const server = await aclServer(t);
  await withUploads(server);
  // Of one byte: the first token has an accessor of chance, which begins with it now and then.
  const all = accessors(await server.stubs({ global: "true" }));
  const expected = all.filter((accessor) => accessor.startsWith("aa"));
  assert.ok(expected.length >= 3);
  assert.deepEqual(accessors(await server.stubs({ global: "true", prefix: "aa" })), expected);
});

test("A-74 per_page is a number that is not negative", async (t) => {
  const server = await aclServer(t);
  const text = "Expect a number for `per_page` query string parameter";
  for (const per_page of ["x", "-1", "1.5", "2147483648"]) {
    refused(await server.list({ per_page }), 400, text, "invalid_parameter");
  }
  assert.equal((await server.stubs({ per_page: "0" })).length, 1);
});

test("A-75 a filter joins conditions", async (t) => {
  const server = await aclServer(t);
  await server.create({ Name: "both", Policies: ["other", "readonly"] });
  await server.create({ Name: "policy missing", Policies: ["other"] });
  await server.createManagement({ Name: "type differs" });
  const filter = 'Type == "client" and Policies contains "readonly"';
  assert.deepEqual(names(await server.stubs({ filter })), ["both"]);
});

test("A-76 a filter finds the tokens that expire", async (t) => {
  const server = await aclServer(t);
  await server.create({ Name: "stays" });
  await server.create({ Name: "goes", ExpirationTTL: "1h" });
  const filter = "ExpirationTime is not nil";
  assert.deepEqual(names(await server.stubs({ filter })), ["goes"]);
  assert.ok(!names(await server.stubs({ filter: "ExpirationTime is nil" })).includes("goes"));
});

test("A-77 a filter looks at every policy of a token", async (t) => {
  const server = await aclServer(t);
  await server.create({ Name: "has it", Policies: ["x", "readwrite"] });
  await server.create({ Name: "has not", Policies: ["unread"] });
  const filter = 'any Policies as p { p matches "^read" }';
  assert.deepEqual(names(await server.stubs({ filter })), ["has it"]);
});

test("A-78 not binds before or", async (t) => {
  const server = await aclServer(t);
  await server.create({ Name: "", Global: true });
  await server.create({ Name: "local", Global: false });
  await server.create({ Name: "global", Global: true });
  const filter = "Name is empty or not Global == true";
  assert.deepEqual(names(await server.stubs({ filter })).toSorted(), ["", "local"]);
});

test("A-79 a filter that does not parse is refused in the words that clients know", async (t) => {
  const server = await aclServer(t);
  const text =
    /^failed to create result paginator: failed to read filter expression: \d+:\d+ \(\d+\): /;
  refused(await server.list({ filter: "NotValid" }), 400, text, "invalid_parameter");
});

test("A-80 a filter names no field that is unknown or hidden", async (t) => {
  const server = await aclServer(t);
  for (const [field, value] of [
    ["Bogus", "x"],
    ["SecretID", server.management],
    ["Hash", "x"],
  ]) {
    const text = `failed to read result page: error finding value in datum: /${field} at part 0: couldn't find key: struct field with name "${field}"`;
    const filter = `${field} == "${value}"`;
    refused(await server.list({ filter }), 400, text, "invalid_parameter");
    // Whatever stands before it, and with nothing to look at.
    const behind = { filter: `Name == "none" and ${filter}`, prefix: "00ff00ff" };
    refused(await server.list(behind), 400, text, "invalid_parameter");
  }
});

test("A-81 a filter with a broken regular expression is refused", async (t) => {
  const server = await aclServer(t);
  const answer = await server.list({ filter: 'Name matches "("' });
  refused(answer, 400, /^failed to read result page: /, "invalid_parameter");
});

test("A-82 a filtered list has full pages, and cursors that match", async (t) => {
  const server = await aclServer(t);
  for (let i = 0; i < 15; i++) {
    await server.create({ Name: `${i}`, Policies: [i % 3 === 0 ? "third" : "other"] });
  }
  const filter = "third in Policies";
  const all = await server.stubs({ filter });
  assert.deepEqual(names(all), ["0", "3", "6", "9", "12"]);
  const found = await pages(server, { filter, per_page: "2" });
  assert.deepEqual(
    found.map(({ stubs }) => names(stubs)),
    [["0", "3"], ["6", "9"], ["12"]],
  );
  const [, , third, , fifth] = all;
  assert.deepEqual(
    found.map(({ cursor }) => cursor),
    [
      `${third?.CreateIndex}.${third?.AccessorID}`,
      `${fifth?.CreateIndex}.${fifth?.AccessorID}`,
      undefined,
    ],
  );
});

test("A-83 nothing found is an empty list", async (t) => {
  const server = await aclServer(t);
  for (const query of [{ filter: 'Name == "nobody"' }, { prefix: "00ff00ff" }]) {
    const answer = await server.list(query);
    succeeded(answer);
    assert.equal(answer.text, "[]");
    assert.equal(cursorOf(answer), undefined);
  }
});
