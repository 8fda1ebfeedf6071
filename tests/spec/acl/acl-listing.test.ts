// Lists of tokens, against a naive model: every order, prefix, page and filter over random tokens; and
// the refusals and edges that docs/cases/token-api.md has no row for.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  type AclServer,
  indexOf,
  refused,
  type WireStub,
} from "../../support/servers/acl-server.ts";
import type { Answer } from "../../support/http-client.ts";

type Query = Readonly<Record<string, string>>;

function digits(count: number): string {
  return Array.from(
    { length: count },
    () => "0123456789abcdef"[Math.floor(Math.random() * 16)],
  ).join("");
}

/** Few first digits, so that prefixes meet several. */
function accessor(): string {
  const [first = "a"] = ["a", "b"].toSorted(() => Math.random() - 0.5);
  return `${first}${digits(1)}00${digits(4)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`;
}

/** Local and global tokens, in a random order of accessors; some were changed after they were made. */
async function filled(server: AclServer, count: number): Promise<WireStub[]> {
  for (let i = 0; i < count; i++) {
    const token = await server.upload(accessor(), { Name: `n${i % 3}`, Global: i % 2 === 0 });
    if (i % 7 === 0) await server.update(token, { Name: `n${i % 3}`, Policies: ["other"] });
  }
  return [...(await server.stubs())];
}

/** What must come, by sorting everything. */
function model(all: readonly WireStub[], query: Query): WireStub[] {
  const prefix = (query["prefix"] ?? "").toLowerCase().replaceAll("-", "");
  const byAccessor = prefix !== "" || query["global"] === "true";
  const matching = all.filter(
    (stub) =>
      stub.AccessorID.replaceAll("-", "").startsWith(prefix) &&
      (query["global"] !== "true" || stub.Global) &&
      (query["filter"] === undefined || stub.Name === "n1"),
  );
  const sorted = matching.toSorted((a, b) =>
    byAccessor || a.CreateIndex === b.CreateIndex
      ? a.AccessorID < b.AccessorID
        ? -1
        : 1
      : a.CreateIndex - b.CreateIndex,
  );
  return query["reverse"] === "true" ? sorted.toReversed() : sorted;
}

function stubsOf(answer: Answer): WireStub[] {
  assert.equal(answer.status, 200, answer.text);
  return answer.json as WireStub[];
}

function cursorOf({ headers }: Answer): string | null {
  const cursor = headers["x-service-nexttoken"];
  return typeof cursor === "string" ? cursor : null;
}

test("every order, prefix, filter and page size gives what sorting everything gives", async (t) => {
  const server = await aclServer(t);
  const all = await filled(server, 40);
  const some = all.at(-1)?.AccessorID ?? "";
  const choices: Query[] = [{}];
  for (const prefix of ["", "a0", "b", some.slice(0, 8), some.slice(0, 11), some].map((text) =>
    text.slice(0, text.length - (text.replaceAll("-", "").length % 2)),
  )) {
    for (const global of ["", "true"]) {
      for (const reverse of ["", "true"]) {
        for (const filter of ["", 'Name == "n1"']) {
          choices.push(
            Object.fromEntries(
              Object.entries({ prefix, global, reverse, filter }).filter(
                ([, value]) => value !== "",
              ),
            ),
          );
        }
      }
    }
  }
  for (const query of choices) {
    const expected = model(all, query).map(({ AccessorID }) => AccessorID);
    const whole = await server.list(query);
    assert.deepEqual(
      stubsOf(whole).map(({ AccessorID }) => AccessorID),
      expected,
      JSON.stringify(query),
    );
    assert.equal(cursorOf(whole), null);
    for (const size of [1, 7, Math.max(1, expected.length)]) {
      const paged: string[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const answer: Answer = await server.list({
          ...query,
          per_page: String(size),
          next_token: cursor,
        });
        const page = stubsOf(answer);
        cursor = cursorOf(answer);
        assert.equal(page.length, cursor === null ? expected.length - paged.length : size);
        const following = cursor === null ? undefined : cursor.split(".").at(-1);
        paged.push(...page.map(({ AccessorID }) => AccessorID));
        assert.equal(following, expected[paged.length]);
        const byAccessor = "prefix" in query || "global" in query;
        if (cursor !== null) assert.equal(cursor.includes("."), !byAccessor, cursor);
      }
      assert.deepEqual(paged, expected, `${JSON.stringify(query)} by ${size}`);
    }
  }
});

test("a cursor whose token is gone starts at its neighbour, in every order", async (t) => {
  const server = await aclServer(t);
  const all = await filled(server, 12);
  for (const query of [
    {},
    { reverse: "true" },
    { global: "true" },
    { global: "true", reverse: "true" },
  ]) {
    const expected = model(all, query).map(({ AccessorID }) => AccessorID);
    // The token that asks may stand anywhere in the order: it is not the one that goes.
    const own = all.find(({ Type }) => Type === "management")?.AccessorID;
    const at = expected[2] === own ? 3 : 2;
    const first = await server.list({ ...query, per_page: String(at) });
    const gone = expected[at] ?? "";
    await server.manage("DELETE", `/acl/token/${gone}`);
    const left = all.findIndex(({ AccessorID }) => AccessorID === gone);
    all.splice(left, 1);
    const rest = stubsOf(await server.list({ ...query, next_token: cursorOf(first) ?? "" }));
    assert.deepEqual(
      rest.map(({ AccessorID }) => AccessorID),
      expected.slice(at + 1),
    );
  }
});

test("prefixes in any case, with hyphens anywhere, and without", async (t) => {
  const server = await aclServer(t);
  const id = "aabbccdd-eeff-4011-8233-445566778899";
  await server.upload(id);
  for (const prefix of [
    id,
    id.toUpperCase(),
    id.replaceAll("-", ""),
    "AABBCCDDEE",
    "aabbccdd-",
    "aabbccdd-ee",
    "a-a-b-b-",
  ]) {
    const found = await server.stubs({ prefix });
    assert.deepEqual(
      found.map(({ AccessorID }) => AccessorID),
      [id],
      prefix,
    );
  }
  assert.deepEqual(await server.stubs({ prefix: "aabbccddee00" }), []);
});

const badPrefixes: readonly (readonly [string, RegExp])[] = [
  ["abc", /must be even length/],
  ["zz", /Invalid UUID/],
  ["aa%00", /Invalid UUID/],
  ["a-a-b-b-c-c-", /Invalid UUID/],
  ["aa".repeat(17), /Invalid UUID/],
  ["aa".repeat(2000), /Invalid UUID/],
];

test("T-B30: prefixes that are none are refused, whatever their length", async (t) => {
  const server = await aclServer(t);
  for (const [prefix, text] of badPrefixes) {
    refused(await server.list({ prefix }), 400, text, "invalid_parameter");
  }
  assert.equal((await server.list({ prefix: "aa".repeat(5000) })).status, 400);
});

test("T-B30: a cursor of another order, and one that is none, are refused", async (t) => {
  const server = await aclServer(t);
  const id = "aabbccdd-eeff-4011-8233-445566778899";
  const bad: readonly Query[] = [
    { next_token: id },
    { next_token: "x" },
    { next_token: `5.${id}0` },
    { next_token: `-5.${id}` },
    { next_token: `5.${"-".repeat(36)}` },
    { next_token: `${"9".repeat(21)}.${id}` },
    { next_token: `5.${id}`, prefix: "aa" },
    { next_token: `5.${id}`, global: "true" },
    { next_token: "../../x", global: "true" },
  ];
  for (const query of bad) {
    refused(await server.list(query), 400, "invalid next_token", "invalid_parameter");
  }
  // Well formed, and of nothing that is there.
  assert.equal((await server.list({ next_token: `99999999.${id}` })).text, "[]");
  assert.equal((await server.list({ next_token: `18446744073709551615.${id}` })).text, "[]");
  assert.equal((await server.list({ next_token: id.toUpperCase(), prefix: "aa" })).status, 200);
});

test("per_page, reverse and global, spelt as they may be and otherwise", async (t) => {
  const server = await aclServer(t);
  const text = "Expect a number for `per_page` query string parameter";
  for (const size of ["x", "-1", "1.5", "0x10", "2147483648", "1e3", " 1"]) {
    refused(await server.list({ per_page: size }), 400, text, "invalid_parameter");
  }
  assert.equal((await server.stubs({ per_page: "2147483647" })).length, 1);
  assert.equal((await server.stubs({ per_page: "0" })).length, 1);
  for (const name of ["reverse", "global"]) {
    for (const value of [
      "1",
      "t",
      "T",
      "true",
      "TRUE",
      "True",
      "0",
      "f",
      "F",
      "false",
      "FALSE",
      "False",
    ]) {
      assert.equal((await server.list({ [name]: value })).status, 200, value);
    }
    const expected = `Expect \`true\` or \`false\` for \`${name}\` query string parameter`;
    for (const value of ["yes", "tRUE", "2"]) {
      refused(await server.list({ [name]: value }), 400, expected, "invalid_parameter");
    }
  }
});

test("who may not list learns nothing from its parameters (T-B08)", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  for (const query of [
    { prefix: "abc" },
    { filter: "(" },
    { per_page: "x" },
    { next_token: "x" },
  ]) {
    refused(await server.list(query, SecretID), 403, "Permission denied", "permission_denied");
  }
});

test("a filter that is none is refused before anybody waits", async (t) => {
  const server = await aclServer(t);
  const index = String(indexOf(await server.list()));
  refused(await server.list({ filter: "(", index }), 400, /failed to create result paginator/);
});

test("tokens of another namespace are in another list", async (t) => {
  const server = await aclServer(t);
  await server.manage("POST", "/v1/sys/namespaces/team");
  const options = { namespace: "team", body: { Type: "client", Policies: ["p"] } };
  const made = await server.manage("POST", "/acl/token", options);
  assert.equal(made.status, 200, made.text);
  const [id] = [(made.json as WireStub).AccessorID];
  const inTeam = await server.manage("GET", "/acl/tokens", { namespace: "team" });
  assert.deepEqual(
    (inTeam.json as WireStub[]).map(({ AccessorID }) => AccessorID),
    [id],
  );
  assert.ok((await server.stubs()).every(({ AccessorID }) => AccessorID !== id));
  refused(await server.manage("GET", `/acl/token/${id}`), 404, "ACL token not found");
});

test("a long list comes in full, and other requests are answered meanwhile", async (t) => {
  const server = await aclServer(t);
  const { tokens } = server.test.server;
  const spec = { type: "client", policies: ["readonly"], namespaceId: "root" } as const;
  await Promise.all(Array.from({ length: 3000 }, () => tokens.writes.create(spec)));
  const all = server.stubs();
  const filtered = server.stubs({ filter: 'Name matches "zzz" and CreateIndex != 0' });
  let others = 0;
  let listed = false;
  const lists = Promise.all([all, filtered]).finally(() => {
    listed = true;
  });
  while (!listed) {
    await server.self(server.management);
    others++;
  }
  const [stubs, none] = await lists;
  assert.ok(others > 2, `${others} others`);
  assert.equal(stubs.length, 3001);
  assert.deepEqual(stubs, model(stubs, {}));
  assert.deepEqual(none, []);
});

test("a change shows in the next list, however quickly it is asked for again", async (t) => {
  const server = await aclServer(t);
  for (let i = 2; i < 12; i++) {
    const { AccessorID } = await server.create({ Name: `t${i}` });
    const stubs = await server.stubs();
    assert.equal(stubs.length, 2);
    assert.equal(stubs.at(-1)?.Name, `t${i}`);
    await server.manage("DELETE", `/acl/token/${AccessorID}`);
    assert.equal((await server.stubs()).length, 1);
  }
});
