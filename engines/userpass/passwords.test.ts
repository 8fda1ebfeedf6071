import { OWN_WORK } from "@holdfast/shared/waiting";
import assert from "node:assert/strict";
import test from "node:test";
import { SystemRandom } from "../../src/system/random.ts";
import { type Caller, type Origin, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { Secret } from "@holdfast/shared/secret";
import { refused } from "../../tests/support/made/made-tokens.ts";
import { Passwords, DEFAULT_COST } from "./passwords.ts";

const CHEAP = { n: 16, r: 1, p: 1 };
const random = new SystemRandom();
const request = { ...OWN_WORK, signal: new AbortController().signal, caller: null };
const asking = { address: "192.0.2.1", request };
const setting = { namespace: "", request };

test("a password matches its own hash, also after the cost was raised", async () => {
  const hash = await new Passwords(CHEAP).hash(new Secret("x"), random, setting);
  const dearer = new Passwords({ n: 32, r: 1, p: 2 });
  assert.equal(await dearer.matches(new Secret("x"), hash, asking), true);
  assert.equal(await dearer.matches(new Secret("y"), hash, asking), false);
  assert.equal(await dearer.matches(new Secret(""), hash, asking), false);
  assert.equal(await dearer.matches(new Secret("x"), null, asking), false);
});

test("the usual cost is one that guides to password storage recommend", async () => {
  assert.deepEqual(DEFAULT_COST, { n: 32_768, r: 8, p: 3 });
  const passwords = new Passwords();
  const hash = await passwords.hash(new Secret("x"), random, setting);
  assert.deepEqual([hash.n, hash.r, hash.p], [32_768, 8, 3]);
  assert.equal(await passwords.matches(new Secret("x"), hash, asking), true);
});

test("of an address eight wait, and 512 in all; whoever comes after is told to come back", async () => {
  const passwords = new Passwords(CHEAP);
  const from = (address: string) =>
    passwords.matches(new Secret("x"), null, { ...asking, address });
  const one = await Promise.allSettled(Array.from({ length: 40 }, () => from("192.0.2.1")));
  assert.equal(one.filter(({ status }) => status === "rejected").length, 31);
  const all = Array.from({ length: 524 }, (_, i) => from(`192.0.2.${Math.floor(i / 8)}`));
  const results = await Promise.allSettled(all);
  const refusals = results.filter(({ status }) => status === "rejected");
  assert.equal(refusals.length, 10);
  await assert.rejects(
    async () => {
      const [first] = refusals;
      assert.ok(first?.status === "rejected");
      throw first.reason;
    },
    refused(/too many logins at once/, "unavailable"),
  );
  assert.equal(await passwords.matches(new Secret("x"), null, asking), false);
});

test("who has gone before its turn costs no work, and a tenant has one line however many addresses it has", async () => {
  const passwords = new Passwords();
  const gone = new AbortController();
  const first = passwords.hash(new Secret("x"), random, setting);
  const left = Array.from({ length: 60 }, () =>
    passwords.hash(new Secret("x"), random, {
      namespace: "n1",
      request: { ...request, signal: gone.signal },
    }),
  );
  const seen = Promise.allSettled(left);
  const next = passwords.hash(new Secret("x"), random, setting);
  gone.abort();
  await Promise.all([first, next]); // at the usual cost sixty more would take half a minute
  assert.ok((await seen).every(({ status }) => status === "rejected"));
});

test("sixty wait to set one, each tenant behind its own: whatever others do, and whatever goes on at the logins", async () => {
  const passwords = new Passwords(CHEAP);
  const done: string[] = [];
  const set = (namespace: string, name = namespace) =>
    passwords.hash(new Secret("x"), random, { ...setting, namespace }).then(
      () => void done.push(name),
      () => void done.push("refused"),
    );
  const logins = Array.from({ length: 40 }, () => passwords.matches(new Secret("x"), null, asking));
  const flood = Array.from({ length: 100 }, (_, i) => set(`n1/below-${i}`, "n1"));
  const team = Array.from({ length: 60 }, () => set("", "root"));
  await Promise.all([...flood, ...team, Promise.allSettled(logins)]);
  assert.equal(done.filter((name) => name === "root").length, 60);
  assert.equal(done.filter((name) => name === "refused").length, 100 - 65);
  const served = done.filter((name) => name !== "refused");
  assert.deepEqual(served.slice(0, 5), ["n1", "n1", "root", "n1", "root"]);
  const all = Array.from({ length: 66 }, () => passwords.hash(new Secret("x"), random, setting));
  const results = await Promise.allSettled(all);
  const last = results.at(-1);
  assert.ok(last?.status === "rejected");
  await assert.rejects(
    () => Promise.reject(last.reason as Error),
    refused(/^too many passwords are being set at once; /, "unavailable"),
  );
});

function callerWith(accessor: string, origin: Partial<Origin> = {}): Caller {
  const none = { namespaceId: "root", mount: null, login: "", name: "", metadata: {} };
  return {
    accessor,
    type: "client",
    name: "",
    policies: [],
    namespace: ROOT_NAMESPACE,
    global: false,
    created: 0n,
    expires: null,
    origin: { ...none, ...origin },
  };
}

test("no caller has all the places of its tenant, however many tokens it has: another finds one, and is next", async () => {
  const login = { mount: "m1", login: "login/eve", name: "people-eve" };
  for (const floods of [
    () => callerWith("one"),
    (i: number) => callerWith(`child-${i}`, { first: "one" }),
    (i: number) => callerWith(`login-${i}`, login),
  ]) {
    const passwords = new Passwords(CHEAP);
    const done: string[] = [];
    const set = (name: string, caller: Caller, namespace = "n1") =>
      passwords.hash(new Secret("x"), random, { namespace, request: { ...request, caller } }).then(
        () => void done.push(name),
        () => void done.push(`${name} refused`),
      );
    const flood = Array.from({ length: 65 }, (_, i) => set("flood", floods(i)));
    const others = [set("ops", callerWith("ops")), set("tenant", callerWith("x"), "n2")];
    others.push(set("ops", callerWith("ops")), set("ann", callerWith("ann")));
    await Promise.all([...flood, ...others]);
    assert.equal(done.filter((name) => name === "flood").length, 65 - 3);
    assert.equal(done.filter((name) => name === "flood refused").length, 3);
    const served = done.filter((name) => !name.endsWith("refused"));
    assert.deepEqual(served.slice(0, 7), [
      "flood",
      "flood",
      "tenant",
      "ops",
      "ann",
      "flood",
      "ops",
    ]);
  }
});

test("a caller that has gone costs no work", async () => {
  const gone = AbortSignal.abort();
  const passwords = new Passwords(CHEAP);
  await assert.rejects(
    passwords.matches(new Secret("x"), null, { ...asking, request: { ...request, signal: gone } }),
    refused(/did not wait/, "timed-out"),
  );
  assert.equal(await passwords.matches(new Secret("x"), null, asking), false);
});
