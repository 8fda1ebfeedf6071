import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { aRequest } from "../../../tests/support/made/made-audit.ts";
import { FakeClock, nextTurn, START } from "../../../tests/support/fake-world.ts";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { SystemRandom } from "../../system/random.ts";
import { freshKey } from "../../crypto/aead.ts";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import { Hasher } from "./hasher.ts";
import { type RecordFormat, Records } from "./record.ts";

const random = new SystemRandom();
const hasher = new Hasher(freshKey(random), random);
const hash = (text: string) => hasher.hash(text);

function records(
  change: Partial<RecordFormat> = {},
  headers: { name: string; hmac: boolean }[] = [],
) {
  return new Records({
    veil: hasher,
    format: { hmacAccessor: true, elideLists: false, prefix: "", ...change },
    cluster: { clusterId: () => "cluster", region: () => "north" },
    headers: () => headers,
    clock: new FakeClock(START + 1_500_000_000n),
  });
}

test("a response record has every member, with what is secret hashed", () => {
  const answer = { data: { version: 2, note: "done" }, warnings: ["old"], error: "" };
  const token = hash("token-of-ci");
  const accessor = hash("accessor-of-ci");
  const policies = ["default", "app"];
  assert.deepEqual(JSON.parse(records().response(aRequest(), answer)), {
    time: "2026-01-01T00:00:01.500000000Z",
    type: "response",
    auth: {
      client_token: token,
      accessor,
      display_name: "ci",
      policies,
      token_policies: policies,
      policy_results: {
        allowed: true,
        granting_policies: [{ name: "app", namespace_id: "root", type: "acl" }],
      },
      token_type: "service",
      token_ttl: 3600,
      token_issue_time: "2026-01-01T00:00:00Z",
      type: "client",
    },
    request: {
      id: "0f5a3c9e-0000-4000-8000-000000000001",
      operation: "update",
      path: "secret/data/x",
      mount_point: "secret/",
      mount_type: "kv",
      mount_accessor: "",
      namespace: { id: "root", path: "" },
      client_token: token,
      client_token_accessor: accessor,
      data: { data: { password: hash("hunter2") } },
      remote_address: "127.0.0.1",
      remote_port: 51_234,
      wrap_ttl: 0,
      policy_override: false,
      headers: {},
      replication_cluster: "cluster",
      region: "north",
    },
    response: {
      mount_type: "kv",
      data: { version: 2, note: hash("done") },
      secret: { lease_id: "" },
      wrap_info: null,
      warnings: ["old"],
    },
    error: "",
    forwarded_from: "",
  });
});

test("a token that an answer gives out is hashed, and so is what was noted with it", () => {
  const auth: AuthBlock = {
    client_token: "new-token",
    accessor: "new-accessor",
    policies: ["default", "app"],
    token_policies: ["default", "app"],
    metadata: { team: "blue" },
    lease_duration: 60,
    renewable: true,
    token_type: "service",
    entity_id: "",
    orphan: false,
    num_uses: 3,
  };
  const answer = { data: undefined, auth, warnings: [], error: "" };
  assert.deepEqual(JSON.parse(records().response(aRequest(), answer)).response, {
    mount_type: "kv",
    data: null,
    auth: {
      client_token: hash("new-token"),
      accessor: hash("new-accessor"),
      policies: ["default", "app"],
      token_policies: ["default", "app"],
      metadata: { team: hash("blue") },
      token_type: "service",
      token_ttl: 60,
      renewable: true,
      orphan: false,
      num_uses: 3,
    },
    secret: { lease_id: "" },
    wrap_info: null,
    warnings: [],
  });
  const clear = records({ hmacAccessor: false }).response(aRequest(), answer);
  assert.equal(JSON.parse(clear).response.auth.accessor, "new-accessor");
  assert.doesNotMatch(clear, /new-token/);
});

test("the built-in policy is shown where it counts", () => {
  const { caller } = aRequest();
  assert.ok(caller !== null);
  const recordOf = (change: object) =>
    JSON.parse(records().request(aRequest({ caller: { ...caller, ...change } }), "")).auth.policies;
  assert.deepEqual(recordOf({ policies: ["app"], withoutDefault: true }), ["app"]);
  assert.deepEqual(recordOf({ policies: ["app", "default"] }), ["default", "app"]);
});

test("a request record is the same without a response, at the time when the request came", () => {
  const both = records();
  const request = aRequest({ wrapTtl: 60_000_000_000n, policyOverride: true });
  const first = JSON.parse(both.request(request, "permission denied"));
  const second = JSON.parse(both.response(request, { data: undefined, warnings: [], error: "no" }));
  assert.equal(first.time, "2026-01-01T00:00:00.000000000Z");
  assert.equal(first.type, "request");
  assert.equal(first.error, "permission denied");
  assert.equal("response" in first, false);
  assert.deepEqual(first.request, second.request);
  assert.deepEqual(first.auth, second.auth);
  assert.equal(first.request.wrap_ttl, 60);
  assert.equal(first.request.policy_override, true);
  assert.equal(second.response.data, null);
  assert.equal(second.error, "no");
});

test("a request that was judged again leaves nothing behind when it is answered", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const both = records();
  const judgedAgain = () => {
    const first = aRequest({ data: { large: "x".repeat(100_000) } });
    both.request(first, "");
    const second = { ...first, policyOverride: true };
    const text = both.response(second, { data: undefined, warnings: [], error: "" });
    assert.equal(
      JSON.parse(text).request.policy_override,
      true,
      "what was judged last is recorded",
    );
    return new WeakRef(first);
  };
  const kept = Array.from({ length: 10 }, judgedAgain);
  return nextTurn().then(() => {
    collect();
    assert.equal(kept.filter((one) => one.deref() !== undefined).length, 0);
  });
});

test("what governing policies said is recorded, with or without a token", () => {
  const failed = { kind: "egp", namespaceId: "root", name: "hours" } as const;
  const judgement = {
    allowed: false,
    results: [
      { ...failed, level: "soft-mandatory", passed: false, error: null },
      { ...failed, name: "office", level: "advisory", passed: false, error: "quotes a value" },
      { ...failed, kind: "rgp", name: "fine", level: "hard-mandatory", passed: true, error: null },
    ],
    overrideNeeded: true,
    warnings: [],
    denial: "a trace",
  } as const;
  for (const caller of [aRequest().caller, null]) {
    const decision = caller === null ? null : aRequest().decision;
    const request = aRequest({ caller, decision, judgement, policyOverride: true });
    const text = records().request(request, "");
    const record = JSON.parse(text);
    assert.deepEqual(record.request.governing_policies, [
      {
        type: "egp",
        name: "hours",
        namespace_id: "root",
        enforcement_level: "soft-mandatory",
        result: "fail",
      },
      {
        type: "egp",
        name: "office",
        namespace_id: "root",
        enforcement_level: "advisory",
        result: "error",
      },
      {
        type: "rgp",
        name: "fine",
        namespace_id: "root",
        enforcement_level: "hard-mandatory",
        result: "pass",
      },
    ]);
    assert.equal(record.request.policy_override, true);
    assert.equal(record.request.policy_override_needed, true);
    assert.equal(record.auth?.policy_results.allowed ?? false, false);
    assert.doesNotMatch(text, /quotes a value|a trace/);
  }
});

test("an override that nobody asked for is not told, one that was not needed is", () => {
  const recordOf = (policyOverride: boolean) =>
    JSON.parse(records().request(aRequest({ policyOverride }), "")).request.policy_override_needed;
  assert.equal(recordOf(false), undefined);
  assert.equal(recordOf(true), false);
});

test("without a caller there is no auth, and an unknown token still shows as a hash", () => {
  const request = aRequest({ caller: null, credential: "made-up", data: null, decision: null });
  const record = JSON.parse(records().request(request, "permission denied"));
  assert.equal(record.auth, null);
  assert.equal(record.request.client_token, hash("made-up"));
  assert.equal(record.request.client_token_accessor, "");
  assert.deepEqual(record.request.data, {});
});

test("a management token, a namespace and a list are shown as such", () => {
  const { caller } = aRequest();
  const request = aRequest({
    operation: "list",
    path: CanonicalPath.parse("/secret/metadata/"),
    namespace: { id: "a1b2c", path: "team/one", created: 3n },
    caller: caller === null ? null : { ...caller, type: "management", policies: [], expires: null },
  });
  const { auth, request: logged } = JSON.parse(records().request(request, ""));
  assert.deepEqual([auth.type, auth.policies, auth.token_ttl], ["management", [], 0]);
  assert.equal(logged.path, "secret/metadata/");
  assert.deepEqual(logged.namespace, { id: "a1b2c", path: "team/one/" });
});

test("T-A04: a path refused for its spelling is recorded as it came, apart from real ones", () => {
  for (const rawPath of [
    "/v1/sys//audit",
    "/v1/sys/%2e%2e/x",
    '/v1/"\u0000\n\u2028',
    "/\u001b[2J",
  ]) {
    const line = records().request(aRequest({ path: null, rawPath }), "the path is not valid");
    const { request } = JSON.parse(line);
    assert.deepEqual([request.path, request.raw_path], ["", rawPath]);
    // oxlint-disable-next-line no-control-regex -- none of them may be in a record
    assert.doesNotMatch(line, /[\u0000-\u001f\u2028]/);
  }
});

test("options: accessors in clear, lists as counts, a prefix", () => {
  const plain = JSON.parse(records({ hmacAccessor: false }).request(aRequest(), ""));
  assert.equal(plain.auth.accessor, "accessor-of-ci");
  assert.equal(plain.request.client_token, hash("token-of-ci"));

  const data = { keys: ["a", "b/"], key_info: { a: { n: "x" } }, other: "y" };
  const answer = { data, warnings: [], error: "" };
  const elided = records({ elideLists: true });
  const list = JSON.parse(elided.response(aRequest({ operation: "list" }), answer));
  assert.deepEqual(list.response.data, { keys: 2, key_info: 1, other: hash("y") });
  const read = JSON.parse(elided.response(aRequest({ operation: "read" }), answer));
  assert.deepEqual(read.response.data.keys, [hash("a"), hash("b/")]);

  assert.ok(records({ prefix: "@cee: " }).request(aRequest(), "").startsWith('@cee: {"time"'));
});

test("headers are recorded as configured: hashed, in clear, or not at all", () => {
  const values: Record<string, string> = { "x-one": "1", "x-two": "2", "x-three": "3" };
  const rules = [
    { name: "x-one", hmac: true },
    { name: "x-two", hmac: false },
    { name: "x-absent", hmac: false },
  ];
  const request = aRequest({ header: (name) => values[name] });
  const { headers } = JSON.parse(records({}, rules).request(request, "")).request;
  assert.deepEqual(headers, { "x-one": [hash("1")], "x-two": ["2"] });
});

test("T-G07: whatever stands in a text field, a record is one line of valid JSON", () => {
  const odd = fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.constantFrom("\r\n{}", "\u001b[31m", "\u2028\u2029", "\u202e", "\ud800", '","x":"', "\\"),
  );
  fc.assert(
    fc.property(odd, odd, odd, (a, b, c) => {
      const { caller } = aRequest();
      const request = aRequest({
        id: a,
        mountPoint: b,
        mountType: c,
        caller: caller === null ? null : { ...caller, name: a, policies: [b], accessor: c },
        credential: a,
        data: { [b]: c },
        decision: { allowed: false, granting: [{ name: a, namespaceId: b }] },
        header: () => c,
      });
      const built = records({ hmacAccessor: false }, [{ name: "x", hmac: false }]);
      const lines = [
        built.request(request, c),
        built.response(request, { data: { [a]: b }, warnings: [c], error: a }),
      ];
      for (const line of lines) {
        assert.equal(JSON.parse(line).request.id, a);
        assert.doesNotMatch(line, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }
    }),
    { numRuns: 100 },
  );
  const long = "n".repeat(1024 * 1024);
  assert.equal(
    JSON.parse(records().request(aRequest({ mountPoint: long }), "")).request.mount_point,
    long,
  );
});

test("an answer that is told to many is shown once, one that can change each time", () => {
  const made = records();
  const recordOf = (data: { keys: string[] }) =>
    JSON.parse(made.response(aRequest(), { data, warnings: [], error: "" })).response.data;
  const fixed = Object.freeze({ keys: ["a"] });
  assert.deepEqual(recordOf(fixed), { keys: [hash("a")] });
  assert.deepEqual(recordOf(fixed), { keys: [hash("a")] });
  assert.deepEqual(recordOf(Object.freeze({ keys: ["b"] })), { keys: [hash("b")] });
  const open = { keys: ["c"] };
  assert.deepEqual(recordOf(open), { keys: [hash("c")] });
  open.keys = ["d"];
  assert.deepEqual(recordOf(open), { keys: [hash("d")] });
  const readable = { request: new Set<string>(), response: new Set(["keys"]) };
  const text = made.response(aRequest({ readable }), { data: fixed, warnings: [], error: "" });
  assert.deepEqual(JSON.parse(text).response.data, { keys: ["a"] });
});
