// Who may do what: at the door, when the body is there, and again when a request has waited.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { madeHouse } from "../../tests/support/made/made-house.ts";
import type { AskOptions } from "../../tests/support/small-house.ts";
import { until } from "../../tests/support/until.ts";

test("RGPs, then EGPs, come after the ACL and before the record", async () => {
  const small = madeHouse();
  small.carry("client", ["office"]);
  for (const one of ["rgp office", "egp sys/things/x"]) small.failing.add(one);
  const write = () => small.answer("POST", "/sys/things/x", { token: "client", body: { size: 1 } });
  assert.equal(await write(), "denied permission-denied");
  assert.deepEqual(small.trace.slice(3), [
    "decide create |sys/things/x",
    "audit request refused",
    "audit response refused",
  ]);
  small.trace.length = 0;
  small.grants.add("create |sys/things/x");
  assert.equal(await write(), "denied policy-denied");
  assert.deepEqual(small.trace.slice(3), [
    "decide create |sys/things/x",
    "rgp office",
    "egp sys/things/x",
    "audit request refused",
    "audit response refused",
  ]);
  const { request, error } = small.records.at(-1) ?? assert.fail();
  assert.equal(request.judgement?.results.length, 2);
  assert.doesNotMatch(error, /the trace/); // that is for the caller; a record has the results
});

test("a denial tells its trace, by the words of whoever asks where", async () => {
  const small = madeHouse();
  small.carry("client", ["office"]);
  small.failing.add("rgp office");
  small.grants.add("read |sys/things/x");
  const { result } = await small.ask("GET", "/sys/things/x", { token: "client" });
  assert.ok(result instanceof Failure);
  assert.deepEqual(result.texts, ["the trace"]);
  const { result: onAcl } = await small.ask("GET", "/acl/nothing", { token: "client" });
  assert.ok(onAcl instanceof Failure);
  assert.equal(onAcl.code, "permission_denied"); // the ACL comes first
});

test("management is not governed, and nobody is where no token is known", async () => {
  const small = madeHouse();
  for (const path of ["sys/things/x", "sys/health", "sys/ceremony"])
    small.failing.add(`egp ${path}`);
  assert.equal(await small.answer("GET", "/sys/things/x", { token: "root" }), "ok");
  assert.equal(await small.answer("GET", "/sys/health"), "ok");
  assert.equal(await small.answer("POST", "/sys/ceremony"), "ok");
  assert.equal(await small.answer("POST", "/sys/ceremony", { token: "client" }), "ok");
});

test("a login is governed though nobody is known, and tells nothing", async () => {
  const small = madeHouse();
  small.failing.add("egp sys/login");
  const { result } = await small.ask("POST", "/sys/login", { body: {} });
  assert.ok(result instanceof Failure);
  assert.deepEqual(result.texts, ["permission denied"]);
  small.failing.clear();
  assert.equal(await small.answer("POST", "/sys/login", { body: {} }), "ok");
});

test("T-N04: whoever brings a request learns whether its caller is known before anything is read, or that nobody is", async () => {
  for (const [verb, path, token, known] of [
    ["GET", "/sys/things/x", "root", true],
    ["POST", "/sys/ceremony", "client", true],
    ["POST", "/sys/ceremony", undefined, false],
    ["POST", "/sys/ceremony", "nobody's", false],
    ["GET", "/sys/health", "client", false],
  ] as const) {
    const small = madeHouse();
    const findings: boolean[] = [];
    const identified = (found: boolean) => {
      findings.push(found);
      assert.ok(!small.trace.some((word) => /^(body|decide|audit|run)/.test(word)));
    };
    const options = { identified, ...(token !== undefined && { token }) };
    assert.equal(await small.answer(verb, path, options), "ok", path);
    assert.deepEqual(findings, [known], `${verb} ${path} ${token}`);
  }
});

test("T-N04: where there is no room for it nothing is done, and no use of its token is taken", async () => {
  const small = madeHouse();
  const client = small.tokens.get("client") ?? assert.fail();
  small.tokens.set("client", { ...client, counted: true });
  small.uses.set("client", 1);
  small.grants.add("create |sys/things/x");
  const identified = () => {
    throw new Failure("unavailable", "too-many-streams", "full");
  };
  const options = { token: "client", body: { size: 1 }, identified };
  assert.equal(
    await small.answer("POST", "/sys/things/x", options),
    "unavailable too-many-streams",
  );
  assert.ok(!small.trace.some((word) => /^(body|decide|run)/.test(word)), small.trace.join(", "));
  assert.equal(small.uses.get("client"), 1);
});

/** Asks, and has something change while that waits for its turn. */
async function meanwhile(
  small: ReturnType<typeof madeHouse>,
  [verb, path, options]: readonly [string, string, AskOptions?],
  change: () => void,
) {
  const { promise, resolve } = Promise.withResolvers<void>();
  small.room.turn = promise;
  const outcome = small.ask(verb, path, options);
  await until(() => small.trace.some((word) => word.startsWith("run ")));
  change();
  small.node = { ...small.node, index: small.node.index + 1n };
  resolve();
  return (await outcome).result;
}

test("a login that waited is governed as of its turn", async () => {
  const small = madeHouse();
  const result = await meanwhile(small, ["POST", "/sys/login"], () =>
    small.failing.add("egp sys/login"),
  );
  assert.ok(result instanceof Failure);
  assert.deepEqual([result.kind, result.texts], ["denied", ["permission denied"]]);
  const last = small.records.at(-1);
  assert.deepEqual([last?.kind, last?.request.judgement?.allowed], ["response", false]);
  small.failing.clear();
  assert.ok((await meanwhile(madeHouse(), ["POST", "/sys/login"], () => {})) instanceof Reply);
});

test("what is judged again as before is recorded as it was: nothing of it is hashed twice", async () => {
  const small = madeHouse();
  assert.ok(
    (await meanwhile(small, ["GET", "/sys/look", { token: "client" }], () => {})) instanceof Reply,
  );
  assert.equal(small.trace.filter((word) => word === "token").length, 2);
  const [request, response] = small.records;
  assert.deepEqual([request?.kind, response?.kind], ["request", "response"]);
  assert.equal(response?.request, request?.request);
  const other = madeHouse();
  const client = other.tokens.get("client");
  assert.ok(client !== undefined);
  await meanwhile(other, ["GET", "/sys/look", { token: "client" }], () => {
    other.tokens.set("client", { ...client, name: "renamed" });
  });
  assert.equal(other.records.at(-1)?.request.caller?.name, "renamed");
});

test("T-B05: a large request is judged again behind its record, however short that took", async () => {
  for (const [size, expected] of [
    [20_000, "denied invalid-token"],
    [10, "ok"], // nothing has waited: the revocation came behind it
  ] as const) {
    const small = madeHouse();
    small.grants.add("create |sys/things/x");
    small.recorded = () => {
      small.tokens.delete("client");
      small.node = { ...small.node, index: small.node.index + 1n };
    };
    const body = { size: 1, more: "m".repeat(size) };
    const answer = await small.answer("POST", "/sys/things/x", { token: "client", body });
    assert.equal(answer, expected);
  }
});

test("a token that ends while its request waits is as none where none is needed, as at the door", async () => {
  const small = madeHouse();
  const go = () => small.tokens.delete("client");
  const result = await meanwhile(small, ["GET", "/sys/look", { token: "client" }], go);
  assert.ok(result instanceof Reply);
  assert.deepEqual(result.data, { caller: null });
  assert.equal(small.records.at(-1)?.request.caller, null);
  const { result: atTheDoor } = await small.ask("GET", "/sys/look", { token: "client" });
  assert.ok(atTheDoor instanceof Reply);
  assert.deepEqual(atTheDoor.data, result.data);
  const other = madeHouse();
  const still = await meanwhile(other, ["GET", "/sys/look", { token: "client" }], () => {});
  assert.deepEqual(still instanceof Reply && still.data, { caller: "client" });
});

test("T-A14: who waits without a token where one is needed meanwhile learns what it would at the door", async () => {
  const small = madeHouse();
  const team = { namespace: "team" };
  const result = await meanwhile(small, ["POST", "/sys/login", team], () => {
    small.namespaces.delete("team");
  });
  assert.ok(result instanceof Failure);
  const { result: atTheDoor } = await small.ask("POST", "/sys/login", team);
  assert.ok(atTheDoor instanceof Failure);
  assert.deepEqual([result.code, result.texts], [atTheDoor.code, atTheDoor.texts]);
});

test("who may act on a path where there is nothing is governed before it learns so", async () => {
  const small = madeHouse();
  small.grants.add("read |secret/x");
  small.grants.add("delete |sys/things/x");
  assert.equal(
    await small.answer("GET", "/secret/x", { token: "client" }),
    "not-found unsupported-path",
  );
  for (const path of ["secret/x", "sys/things/x"]) small.failing.add(`egp ${path}`);
  assert.equal(await small.answer("GET", "/secret/x", { token: "client" }), "denied policy-denied");
  assert.equal(
    await small.answer("DELETE", "/sys/things/x", { token: "client" }),
    "denied policy-denied",
  );
});

test("a restricted endpoint is refused as such, governed or not", async () => {
  const small = madeHouse();
  small.failing.add("egp sys/rotate");
  const options = { token: "team-client", namespace: "team", body: {} };
  assert.equal(await small.answer("POST", "/sys/rotate", options), "denied restricted-endpoint");
});

test("who has no right gets a refusal and no word about the fields", async () => {
  const small = madeHouse();
  const options = { token: "client", body: { size: "not a number" } };
  assert.equal(await small.answer("POST", "/sys/things/x", options), "denied permission-denied");
  assert.equal(
    await small.answer("POST", "/sys/things/x", { ...options, token: "root" }),
    "invalid field-invalid",
  );
  assert.deepEqual(
    small.records.map(({ kind, error }) => [kind, error !== ""]),
    [
      ["request", true],
      ["response", true],
      ["request", false], // it had the right; only its field was wrong
      ["response", true],
    ],
  );
});

test("rights that must be worked out first are waited for, and nothing goes on without them", async () => {
  const small = madeHouse();
  small.grants.add("create |sys/things/x");
  const { promise, resolve } = Promise.withResolvers<void>();
  small.rights = promise;
  const answers = ["x", "y"].map((id) =>
    small.answer("POST", `/sys/things/${id}`, { token: "client", body: { size: 1 } }),
  );
  await new Promise((turn) => setImmediate(turn));
  assert.deepEqual(small.trace, ["quota", "token", "body", "quota", "token", "body"]);
  resolve();
  assert.deepEqual(await Promise.all(answers), ["ok", "denied permission-denied"]);
});

test("rights that cannot be worked out are a refusal, recorded as such", async () => {
  const small = madeHouse();
  small.rights = Promise.reject(new Failure("damaged", "policy-damaged", "it cannot be read"));
  const body = { size: 1 };
  assert.equal(
    await small.answer("POST", "/sys/things/x", { token: "client", body }),
    "damaged policy-damaged",
  );
  assert.deepEqual(small.trace.slice(-2), ["audit request refused", "audit response refused"]);
  assert.deepEqual(
    small.records.map(({ error }) => error),
    ["it cannot be read", "it cannot be read"],
  );
});

test("a body is not read before there is a valid token", async () => {
  const small = madeHouse();
  assert.equal(
    await small.answer("POST", "/sys/things/x", { body: { size: 1 } }),
    "denied missing-token",
  );
  const unknown = { token: "nobody", body: { size: 1 } };
  assert.equal(await small.answer("POST", "/sys/things/x", unknown), "denied invalid-token");
  assert.equal(small.trace.includes("body"), false);
});

test("what exists asks for update, what does not for create", async () => {
  const small = madeHouse();
  small.grants.add("update |sys/things/x");
  const write = () => small.answer("POST", "/sys/things/x", { token: "client", body: { size: 1 } });
  assert.equal(await write(), "denied permission-denied");
  small.room.present = true;
  assert.equal(await write(), "ok");
});

test("key ceremonies are open, need a token or are off, as the listener says", async () => {
  const small = madeHouse();
  const start = (keyCeremonies: "open" | "token" | "off", token?: string) =>
    small.ask("POST", "/sys/ceremony", {
      listener: { keyCeremonies },
      ...(token === undefined ? {} : { token }),
    });
  const data = async (answer: ReturnType<typeof start>) => {
    const { result } = await answer;
    return result instanceof Reply ? result.data : result.code;
  };
  assert.deepEqual(await data(start("open")), { caller: null, can: false });
  assert.deepEqual(await data(start("open", "nobody")), { caller: null, can: false });
  assert.deepEqual(await data(start("open", "root")), { caller: "root", can: true });
  assert.deepEqual(await data(start("open", "client")), { caller: "client", can: false });
  assert.equal(await data(start("token")), "missing-token");
  assert.equal(await data(start("token", "nobody")), "invalid-token");
  assert.deepEqual(await data(start("token", "client")), { caller: "client", can: false });
  assert.equal(await data(start("off", "root")), "ceremonies-off");
});

test("metrics are open where the listener says so, and a listener can be for them alone", async () => {
  const small = madeHouse();
  assert.equal(await small.answer("GET", "/sys/metrics"), "denied missing-token");
  const open = { listener: { openings: { metrics: true } } };
  assert.equal(await small.answer("GET", "/sys/metrics", open), "ok");
  assert.equal(await small.answer("GET", "/sys/metrics", { ...open, token: "nobody" }), "ok");
  const only = { listener: { metricsOnly: true, openings: { metrics: true } } };
  assert.equal(await small.answer("GET", "/sys/metrics", only), "ok");
  assert.equal(await small.answer("GET", "/sys/health", only), "ok");
  assert.equal(
    await small.answer("GET", "/sys/things/x", { ...only, token: "root" }),
    "not-found metrics-only",
  );
});

test("logins that fail by another cluster are counted for that one too, whatever addresses it says; others go on", async () => {
  const small = madeHouse();
  small.loopback = false;
  small.failing.add("egp sys/login");
  const by = (member: string) => {
    small.attempts = 0; // each is from another address
    const from = { clusterId: "b", attested: null, attests: null, wrapsItself: true };
    const forwarded = { ...from, member, namedRegion: false };
    return small.answer("POST", "/sys/login", { body: {}, forwarded });
  };
  for (let n = 0; n < 3; n++) assert.equal(await by("region-b"), "denied permission-denied");
  assert.equal(await by("region-b"), "rate-limited too-often");
  assert.equal(small.attempts, 0, "one that was not looked at is no attempt");
  assert.equal(await by("region-c"), "denied permission-denied");
  assert.deepEqual([...small.members.values()], [3, 1]);
});
