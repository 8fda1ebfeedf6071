import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { JsonObject } from "@holdfast/shared/json/json";
import { Failure } from "@holdfast/shared/failure";
import { openEngine, type TestedEngine } from "../../../tests/support/engine-host.ts";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { cloudaType } from "../clouda.ts";
import type { CloudA } from "../engine.ts";
import { oldRoleCodec, oldRoleKey } from "./stored-role.ts";

const POLICY = "arn:aws:iam::aws:policy/ReadOnlyAccess";
const ROLE = "arn:aws:iam::123456789012:role/deploy";
const USER: JsonObject = { credential_type: "iam_user", policy_arns: [POLICY] };
const ASSUMED: JsonObject = { credential_type: "assumed_role", role_arns: [ROLE] };
const FEDERATED: JsonObject = { credential_type: "federation_token", policy_arns: [POLICY] };

class Tried {
  readonly engine: TestedEngine<CloudA>;

  constructor(engine: TestedEngine<CloudA>) {
    this.engine = engine;
  }

  async write(body: JsonObject, name = "r"): Promise<readonly string[]> {
    return (await this.engine.ask("POST", `roles/${name}`, { body })).warnings;
  }

  async read(name = "r"): Promise<JsonObject> {
    return (await this.engine.ask("GET", `roles/${name}`)).data as JsonObject;
  }

  async refusal(body: JsonObject, name = "r"): Promise<string> {
    try {
      await this.write(body, name);
    } catch (error) {
      assert.ok(error instanceof Failure && error.kind === "invalid", String(error));
      return error.message;
    }
    return assert.fail(`accepted: ${JSON.stringify(body)}`);
  }

  async leaveOld(name: string, text: string): Promise<void> {
    await this.engine.needs.storage.write((tx) => tx.put(oldRoleKey(name), text, oldRoleCodec));
  }
}

async function tried(): Promise<Tried> {
  return new Tried(await openEngine(cloudaType, fakeWorld()));
}

const BROKEN: readonly (readonly [string, JsonObject, string])[] = [
  [
    "V1",
    { policy_arns: [POLICY] },
    "credential_type is required: iam_user, assumed_role, federation_token",
  ],
  [
    "V2",
    { ...USER, credential_type: "root" },
    'unknown credential_type "root"; accepted are iam_user, assumed_role, federation_token',
  ],
  ["V3", { ...USER, role_arns: [ROLE] }, "role_arns is for assumed_role only"],
  [
    "V4",
    { credential_type: "assumed_role" },
    "role_arns is required when credential_type is assumed_role",
  ],
  [
    "V4, T-I10",
    { credential_type: "assumed_role", role_arns: "," },
    "role_arns is required when credential_type is assumed_role",
  ],
  [
    "V5",
    { credential_type: "iam_user", iam_groups: ["g"] },
    "at least one of policy_arns or policy_document is required for iam_user",
  ],
  [
    "V5, T-I10",
    { credential_type: "federation_token", policy_arns: [""] },
    "at least one of policy_arns or policy_document is required for federation_token",
  ],
  [
    "V6",
    { ...USER, policy_document: '{\n "a": x}' },
    "policy_document is not JSON: line 2, column 7",
  ],
  [
    "V7",
    { ...USER, default_sts_ttl: 900 },
    "default_sts_ttl is for assumed_role and federation_token only",
  ],
  [
    "V7",
    { ...USER, max_sts_ttl: "1h" },
    "max_sts_ttl is for assumed_role and federation_token only",
  ],
  [
    "V8",
    { ...ASSUMED, default_sts_ttl: "2h", max_sts_ttl: "1h" },
    "default_sts_ttl exceeds max_sts_ttl",
  ],
  ["V9", { ...ASSUMED, user_path: "/a/" }, "user_path is for iam_user only"],
  [
    "V10",
    { ...USER, user_path: "a/" },
    "user_path is invalid: it begins and ends with /, with at most 510 printable characters between",
  ],
  [
    "V10",
    { ...USER, user_path: `/${"a".repeat(511)}/` },
    "user_path is invalid: it begins and ends with /, with at most 510 printable characters between",
  ],
  [
    "V11",
    { ...ASSUMED, permissions_boundary_arn: POLICY },
    "permissions_boundary_arn is for iam_user only",
  ],
  [
    "V12",
    { ...USER, permissions_boundary_arn: ROLE },
    "permissions_boundary_arn is not a policy ARN",
  ],
  ["V13", { ...USER, session_tags: { a: "b" } }, "session_tags is for assumed_role only"],
  ["V13", { ...FEDERATED, external_id: "x" }, "external_id is for assumed_role only"],
  [
    "V15",
    { ...USER, iam_tags: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, "v"])) },
    "iam_tags has 51 tags; the provider takes at most 50",
  ],
  [
    "V15",
    { ...USER, iam_tags: { ["k".repeat(129)]: "v" } },
    "iam_tags has more than 128 characters in a key or 256 in a value",
  ],
  [
    "V15",
    { ...USER, iam_tags: { k: "v".repeat(257) } },
    "iam_tags has more than 128 characters in a key or 256 in a value",
  ],
  [
    "T-I01",
    { ...ASSUMED, role_arns: ["arn:aws:iam::1\r\n:role/x"] },
    "role_arns has an item with characters that no ARN has",
  ],
  [
    "T-I01",
    { ...ASSUMED, role_arns: ["arn:aws:iam::1@evil:role/x"] },
    "role_arns has an item with characters that no ARN has",
  ],
  [
    "T-I01",
    { ...ASSUMED, role_arns: ["arn:aws:iam::1:role\\x"] },
    "role_arns has an item with characters that no ARN has",
  ],
];

for (const odd of ["5", '"x"', "[]", "null", "true"]) {
  test(`C1, V6: policy_document ${odd} is JSON and no policy`, async () => {
    const body = { credential_type: "iam_user", policy_document: odd };
    assert.equal(await (await tried()).refusal(body), "policy_document is not a JSON object");
  });
}

for (const [row, body, text] of BROKEN) {
  test(`C1, ${row}: ${text.slice(0, 80)}`, async () => {
    assert.equal(await (await tried()).refusal(body), text);
  });
}

test("C1: several faults are told in one text, in the order of the table", async () => {
  const text = await (
    await tried()
  ).refusal({
    credential_type: "iam_user",
    role_arns: [ROLE],
    policy_document: "{",
    max_sts_ttl: 1,
  });
  assert.equal(
    text,
    "role_arns is for assumed_role only; policy_document is not JSON: line 1, column 2; " +
      "max_sts_ttl is for assumed_role and federation_token only",
  );
});

test("C3: a list of ARNs may be an array or a text with commas", async () => {
  const at = await tried();
  await at.write({ ...ASSUMED, role_arns: [`${ROLE}1`, `${ROLE}2`] });
  const [asArray, text] = [await at.read(), ` ${ROLE}1 , ${ROLE}2 ,`];
  await at.write({ role_arns: text });
  assert.deepEqual(await at.read(), asArray);
  assert.deepEqual(asArray["role_arns"], [`${ROLE}1`, `${ROLE}2`]);
});

test("C4: a document loses its white space and nothing else", async () => {
  const at = await tried();
  const document = ' {\n"a" : [ 1e400 , -0.50 ] , "a": "b \\u00e9 \\" , {" ,\t"a":{ } } ';
  await at.write({ credential_type: "iam_user", policy_document: document });
  const stored = '{"a":[1e400,-0.50],"a":"b \\u00e9 \\" , {","a":{}}';
  assert.equal((await at.read())["policy_document"], stored);
});

test("C5: what is left out or null stays, an empty value clears", async () => {
  const at = await tried();
  await at.write({
    ...ASSUMED,
    default_sts_ttl: "15m",
    session_tags: { a: "b" },
    external_id: "x",
  });
  const before = await at.read();
  await at.write({ max_sts_ttl: "1h", external_id: null });
  assert.deepEqual(await at.read(), { ...before, max_sts_ttl: 3600 });
  await at.write({ session_tags: {}, external_id: "", default_sts_ttl: "", max_sts_ttl: 0 });
  const cleared = { session_tags: {}, external_id: "", default_sts_ttl: 0, max_sts_ttl: 0 };
  assert.deepEqual(await at.read(), { ...before, ...cleared });
});

test("a role changes its type only together with what the old one had", async () => {
  const at = await tried();
  await at.write(ASSUMED);
  assert.match(await at.refusal(USER), /role_arns is for assumed_role only/);
  await at.write({ ...USER, role_arns: [] });
  assert.equal((await at.read())["credential_type"], "iam_user");
});

test("C6: a minimal role is read with every field", async () => {
  const at = await tried();
  assert.deepEqual(await at.write(USER), []);
  assert.deepEqual(await at.read(), {
    credential_type: "iam_user",
    role_arns: [],
    policy_arns: [POLICY],
    policy_document: "",
    iam_groups: [],
    iam_tags: {},
    default_sts_ttl: 0,
    max_sts_ttl: 0,
    user_path: "",
    permissions_boundary_arn: "",
    session_tags: {},
    external_id: "",
  });
});

test("C7: tags are an object, a list of pairs, or one pair, split at the first =", async () => {
  const at = await tried();
  for (const tags of [{ k: "v=w" }, ["k=v=w"], "k=v=w"]) {
    await at.write({ ...USER, iam_tags: tags });
    assert.deepEqual((await at.read())["iam_tags"], { k: "v=w" });
  }
  await at.write({ iam_tags: "k=v,l=w" });
  assert.deepEqual((await at.read())["iam_tags"], { k: "v,l=w" });
  assert.equal(await at.refusal({ iam_tags: ["=v"] }), "iam_tags has an empty key");
  const accepted = "iam_tags must be an object of texts, a list of key=value, or one key=value";
  for (const odd of [["k"], [1], 7, { k: ["v"] }, ["__proto__=x"]]) {
    assert.equal(await at.refusal({ iam_tags: odd }), accepted);
  }
});

test("C8, C9, C10: a legacy text makes the role that it stands for, with a warning", async () => {
  const at = await tried();
  const rows: readonly (readonly [JsonObject, JsonObject])[] = [
    [{ arn: ROLE }, { credential_type: "assumed_role", role_arns: [ROLE] }],
    [{ policy: POLICY }, { credential_type: "iam_user", policy_arns: [POLICY], role_arns: [] }],
    [
      { policy: ' { "Version": "2012-10-17" }' },
      { credential_type: "iam_user,federation_token", policy_document: '{"Version":"2012-10-17"}' },
    ],
  ];
  for (const [body, expected] of rows) {
    const [warning] = await at.write(body);
    assert.match(String(warning), /^policy and arn are deprecated/);
    const role = await at.read();
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(role[field], value);
  }
  const role = await at.engine.engine.roles.find("r");
  assert.equal(role?.pathBound, true);
  assert.match(await at.refusal({ max_sts_ttl: 0 }), /^credential_type is required/);
  await at.write({ credential_type: "federation_token" });
  assert.equal((await at.engine.engine.roles.find("r"))?.pathBound, false);
});

test("C11, V14: a legacy text goes with no field of the new form, nor with the other one", async () => {
  const at = await tried();
  const fields: JsonObject = {
    credential_type: "iam_user",
    role_arns: [ROLE],
    policy_arns: [POLICY],
    policy_document: "{}",
    iam_groups: ["g"],
    iam_tags: { a: "b" },
    default_sts_ttl: 1,
    max_sts_ttl: 1,
    user_path: "/",
    permissions_boundary_arn: POLICY,
    session_tags: { a: "b" },
    external_id: "x",
  };
  for (const [field, value] of Object.entries(fields)) {
    const text = await at.refusal({ arn: POLICY, [field]: value! });
    assert.equal(text, `legacy policy/arn cannot be mixed with ${field}`);
  }
  assert.match(await at.refusal({ arn: POLICY, policy: "{}" }), /^policy and arn cannot be given/);
  for (const odd of ["arn:aws:s3:::bucket", "text", "7", "arn:role/x"]) {
    const text = "legacy value is neither a role ARN, a policy ARN nor a JSON policy";
    assert.equal(await at.refusal({ policy: odd }), text);
  }
});

test("C12: what an earlier version stored is read, converted where it can be, shown where not", async () => {
  const at = await tried();
  await at.leaveOld("old", "not json");
  await at.leaveOld("good", '{ "Statement": [] }');
  await at.write(USER, "new");
  const listed = await at.engine.ask("LIST", "roles");
  assert.deepEqual(listed.data, { keys: ["good", "new", "old"] });
  const old = await at.read("old");
  assert.deepEqual([old["credential_type"], old["invalid_data"]], ["", "not json"]);
  assert.deepEqual(await at.write(USER, "old"), [
    'invalid data from an earlier version were dropped: "not json"',
  ]);
  assert.equal("invalid_data" in (await at.read("old")), false);
  assert.equal((await at.read("good"))["policy_document"], '{"Statement":[]}');
  const { storage } = at.engine.needs;
  assert.deepEqual(await storage.keys("policy/", { limit: 9 }), []);
  assert.deepEqual(await storage.keys("role/", { limit: 9 }), [
    "role/good",
    "role/new",
    "role/old",
  ]);
});

test("a role stored by a newer version is not guessed at", async () => {
  const at = await tried();
  await at.engine.needs.storage.write((tx) => tx.put("role/r", '{"version":2}', oldRoleCodec));
  await assert.rejects(at.read(), { kind: "internal", message: "stored by a newer version" });
});

test("what the provider will refuse is told, and stored all the same", async () => {
  const at = await tried();
  const many = Array.from({ length: 11 }, (_, i) => `${POLICY}${i}`);
  const warnings = await at.write({
    ...ASSUMED,
    role_arns: ["deploy"],
    policy_arns: many,
    policy_document: JSON.stringify({ a: "b".repeat(2100) }),
    iam_tags: { a: "b" },
    iam_groups: many,
  });
  assert.deepEqual(warnings, [
    'role_arns: not an ARN: "deploy"',
    "iam_tags have no effect: they are for iam_user only",
    "iam_groups: the provider lets a user be in 10 groups by itself",
    "policy_arns: the provider takes at most 10 for a session",
    "policy_document: the provider takes at most 2048 characters for a session",
  ]);
});

test("M5, M7: a role that is not there is neither read nor deleted", async () => {
  const { engine } = await tried();
  for (const verb of ["GET", "DELETE"]) {
    await assert.rejects(engine.ask(verb, "roles/none"), { kind: "not-found", texts: [] });
  }
  for (const odd of ["-x", "x-", ".x", "a b", "é"]) {
    await assert.rejects(engine.ask("GET", `roles/${odd}`), { message: "unsupported path" });
  }
});

test("X5: whatever is written as a role is either refused in words or a role that can be read", async () => {
  const at = await tried();
  const value = fc.oneof(
    fc.constantFrom(
      "iam_user",
      "assumed_role",
      "federation_token",
      POLICY,
      ROLE,
      "{}",
      "",
      "/a/",
      "1h",
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const names = Object.keys(await roleOf(at));
  const body = fc.dictionary(fc.constantFrom(...names, "policy", "arn", "more"), value, {
    maxKeys: 8,
  });
  await fc.assert(
    fc.asyncProperty(body, async (fields) => {
      try {
        await at.write(fields as JsonObject);
        const role = await at.engine.engine.roles.find("r");
        assert.ok(role !== null && role.credentialTypes.length > 0);
      } catch (error) {
        assert.ok(error instanceof Failure && error.kind === "invalid", String(error));
      }
    }),
    { numRuns: 500 },
  );
});

async function roleOf(at: Tried): Promise<JsonObject> {
  await at.write(USER);
  return at.read();
}
