import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { SECOND } from "@holdfast/shared/text/duration";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { Failure } from "@holdfast/shared/failure";
import type { PlaceKind, QuotaInput } from "./quota.ts";
import { Quotas } from "./quotas.ts";

const NAMESPACES = ["team", "team/apps", "team/apps/web"];
const MOUNTS = ["sys", "secret", "auth/token"];

/** Namespaces team, team/apps and team/apps/web, each with the same mounts. */
function classify(segments: readonly string[]): PlaceKind | null {
  const path = segments.join("/");
  if (NAMESPACES.includes(path)) return "namespace";
  const base = NAMESPACES.toReversed().find((one) => path.startsWith(`${one}/`));
  const rest = base === undefined ? path : path.slice(base.length + 1);
  if (MOUNTS.includes(rest)) return "mount";
  return MOUNTS.some((mount) => rest.startsWith(`${mount}/`)) ? "inside" : null;
}

async function opened() {
  const made = await madeBarrier();
  let refusals = 0;
  const make = () => {
    const quotas = new Quotas({
      view: made.barrier.view("shared/quotas/"),
      clock: made.world.clock,
      classify,
      onRefusal: () => refusals++,
    });
    quotas.open();
    return quotas;
  };
  return { ...made, quotas: make(), make, refusals: () => refusals };
}

const input: QuotaInput = {
  path: "",
  rate: 1,
  interval: SECOND,
  blockInterval: 0n,
  role: "",
  inheritable: undefined,
};

interface From {
  readonly namespace?: string;
  readonly address?: string;
  readonly exempt?: boolean;
}

function admit(quotas: Quotas, raw: string, from: From = {}) {
  const path = CanonicalPath.parse(`/${raw}`);
  const mount = MOUNTS.find((one) => path.text === one || path.text.startsWith(`${one}/`));
  const namespace =
    from.namespace === undefined
      ? ROOT_NAMESPACE
      : { id: from.namespace, path: from.namespace, created: 1n };
  return quotas.admit({
    namespace,
    path,
    mountPoint: `${mount ?? "sys"}/`,
    address: from.address ?? "192.0.2.1",
    exempt: from.exempt ?? false,
  });
}

/** How many of ten requests are let in. */
function passing(quotas: Quotas, path: string, from: From = {}): number {
  let passed = 0;
  for (let i = 0; i < 10; i++) {
    try {
      admit(quotas, path, from);
      passed++;
    } catch (error) {
      assert.ok(error instanceof Failure && error.kind === "rate-limited");
    }
  }
  return passed;
}

test("without a quota nothing is counted, refused or said", async () => {
  const { quotas } = await opened();
  assert.equal(passing(quotas, "sys/mounts"), 10);
  assert.deepEqual(admit(quotas, "sys/mounts"), {});
});

test("T-N14: a quota is in force with the answer that made it, and gone with its deletion", async () => {
  const { quotas, world, refusals } = await opened();
  await quotas.set("all", { ...input, rate: 3 });
  assert.equal(passing(quotas, "sys/mounts"), 3);
  assert.equal(refusals(), 7);
  world.clock.pass(SECOND);
  assert.equal(passing(quotas, "sys/mounts"), 3);
  await quotas.delete("all");
  assert.equal(passing(quotas, "sys/mounts"), 10);
});

test("a refusal is of its own kind, says when to come back and repeats nothing", async () => {
  const { quotas } = await opened();
  await quotas.set("all", { ...input, rate: 0.25 });
  admit(quotas, "secret/data/canary");
  assert.throws(
    () => admit(quotas, "secret/data/canary"),
    (error) => {
      assert.ok(error instanceof Failure && error.kind === "rate-limited");
      assert.equal(error.kind, "rate-limited");
      assert.equal(error.retryAfter, 4);
      assert.deepEqual(error.headers, {});
      assert.ok(!error.message.includes("canary"));
      return true;
    },
  );
});

test("the wall clock may be set without giving anybody a new allowance", async () => {
  const { quotas, world } = await opened();
  await quotas.set("all", { ...input, rate: 1 });
  assert.equal(passing(quotas, "sys/mounts"), 1);
  world.clock.jump(world.clock.now() + 3600n * SECOND);
  assert.equal(passing(quotas, "sys/mounts"), 0);
});

test("T-N14: folder and file, header and prefix, both spellings of an address share one counter", async () => {
  const { quotas } = await opened();
  await quotas.set("inside", { ...input, path: "team/secret/data/x", rate: 4 });
  admit(quotas, "secret/data/x", { namespace: "team" });
  admit(quotas, "secret/data/x/", { namespace: "team" });
  admit(quotas, "secret/data/x", { namespace: "team", address: "::ffff:192.0.2.1" });
  admit(quotas, "secret/data/x", { namespace: "team" });
  assert.throws(
    () => admit(quotas, "secret/data/x/", { namespace: "team" }),
    /rate limit quota exceeded/,
  );
  await quotas.set("v6", { ...input, path: "secret/", rate: 2 });
  admit(quotas, "secret/a", { address: "2001:db8::1" });
  admit(quotas, "secret/a", { address: "2001:db8::2:0:0:1" });
  assert.throws(
    () => admit(quotas, "secret/a", { address: "2001:db8::3" }),
    /rate limit quota exceeded/,
  );
  admit(quotas, "secret/a", { address: "2001:db8:0:1::3" });
});

test("the most specific quota applies alone", async () => {
  const { quotas } = await opened();
  const on = async (path: string, rate: number, inheritable?: boolean) =>
    quotas.set(`q${rate}`, { ...input, path, rate, inheritable });
  await on("", 1);
  await on("team", 2, true);
  await on("team/apps/", 3);
  await on("team/apps/secret", 4);
  await on("team/apps/secret/data/*", 5);
  await on("team/apps/secret/data/fo*", 6);
  await on("team/apps/secret/data/foo", 7);
  await on("/secret/", 8);

  const apps = { namespace: "team/apps" };
  assert.equal(passing(quotas, "sys/mounts"), 1);
  assert.equal(passing(quotas, "secret/x"), 8);
  assert.equal(passing(quotas, "sys/mounts", { namespace: "team" }), 2);
  assert.equal(passing(quotas, "sys/mounts", apps), 3);
  assert.equal(passing(quotas, "secret/config", apps), 4);
  assert.equal(passing(quotas, "secret/data/bar", apps), 5);
  assert.equal(passing(quotas, "secret/data/foobar", apps), 6);
  assert.equal(passing(quotas, "secret/data/foo", apps), 7);
});

test("a namespace inherits from the nearest one above that lets it, else from all", async () => {
  const { quotas } = await opened();
  const web = { namespace: "team/apps/web" };
  await quotas.set("all", { ...input, rate: 1 });
  await quotas.set("team", { ...input, path: "team/", rate: 2, inheritable: true });
  await quotas.set("apps", { ...input, path: "team/apps/", rate: 3 });
  assert.equal(passing(quotas, "sys/mounts", web), 2);
  await quotas.set("apps", { ...input, path: "team/apps/", rate: 3, inheritable: true });
  assert.equal(passing(quotas, "sys/mounts", web), 3);
  await quotas.delete("apps");
  await quotas.set("team", { ...input, path: "team/", rate: 2 });
  assert.equal(passing(quotas, "sys/mounts", web), 1);
});

test("what a declaration exempts is never counted, and what operators exempt is not either", async () => {
  const { quotas } = await opened();
  await quotas.set("all", input);
  assert.equal(passing(quotas, "sys/health", { exempt: true }), 10);
  assert.equal(passing(quotas, "secret/a"), 1);
  await quotas.configure({
    exemptPaths: ["/secret/a", "secret/b/*", "team/secret/c*"],
    auditRefusals: undefined,
    headers: undefined,
  });
  assert.deepEqual(quotas.config.exemptPaths, ["secret/a", "secret/b/*", "team/secret/c*"]);
  assert.equal(passing(quotas, "secret/a"), 10);
  assert.equal(passing(quotas, "secret/b/c/d"), 10);
  assert.equal(passing(quotas, "secret/cd", { namespace: "team" }), 10);
  assert.equal(passing(quotas, "secret/cd"), 0);
  assert.equal(passing(quotas, "secret/ab", { address: "192.0.2.2" }), 1);
});

test("headers are sent when they are switched on, with the refusal too", async () => {
  const { quotas } = await opened();
  await quotas.set("all", { ...input, rate: 2, interval: 10n * SECOND });
  await quotas.configure({ exemptPaths: undefined, auditRefusals: true, headers: true });
  assert.equal(quotas.auditRefusals, true);
  assert.deepEqual(admit(quotas, "sys/mounts"), {
    "X-Ratelimit-Limit": "2",
    "X-Ratelimit-Remaining": "1",
    "X-Ratelimit-Reset": "5",
  });
  admit(quotas, "sys/mounts");
  assert.throws(
    () => admit(quotas, "sys/mounts"),
    (error) =>
      error instanceof Failure &&
      error.kind === "rate-limited" &&
      error.retryAfter === 5 &&
      error.headers["X-Ratelimit-Remaining"] === "0",
  );
});

test("settings change one by one and are off to begin with", async () => {
  const { quotas } = await opened();
  assert.deepEqual(quotas.config, { exemptPaths: [], auditRefusals: false, headers: false });
  await quotas.configure({ exemptPaths: ["a"], auditRefusals: undefined, headers: true });
  await quotas.configure({ exemptPaths: undefined, auditRefusals: undefined, headers: false });
  assert.deepEqual(quotas.config, { exemptPaths: ["a"], auditRefusals: false, headers: false });
});

test("quotas and settings are there after a restart, and at another reader of the store", async () => {
  const { quotas, make } = await opened();
  const other = make();
  await quotas.set("all", { ...input, rate: 2 });
  assert.equal(passing(other, "sys/mounts"), 2); // by watching
  const later = make();
  assert.equal(passing(later, "sys/mounts"), 2); // by loading
  assert.equal(later.has("all"), true);
  later.close();
  assert.equal(passing(later, "sys/mounts"), 10);
  await quotas.set("all", { ...input, rate: 1 });
  assert.equal(later.has("all"), false); // it follows no more
});

test("the count of one quota goes on when another changes", async () => {
  const { quotas } = await opened();
  await quotas.set("all", input);
  assert.equal(passing(quotas, "sys/mounts"), 1);
  await quotas.set("other", { ...input, path: "secret/" });
  assert.equal(passing(quotas, "sys/mounts"), 0);
});

const refused: readonly [string, Partial<QuotaInput>, RegExp][] = [
  ["a rate of 0", { rate: 0 }, /rate must be a number above 0/],
  ["a negative rate", { rate: -1 }, /rate must be a number above 0/],
  ["a role", { role: "ci" }, /role is not supported/],
  ["a path that nothing serves", { path: "nowhere/x" }, /names no namespace or mount/],
  ["a star in the middle", { path: "secret/*/x" }, /at most one \*/],
  ["a star alone", { path: "*" }, /at most one \*/],
  ["a star after a mount", { path: "secret/*" }, /without a \*/],
  ["dot segments", { path: "secret/../sys" }, /path must be/],
  ["a path with two slashes", { path: "secret//x" }, /path must be/],
  [
    "inheritance from a mount",
    { path: "secret/", inheritable: true },
    /is for the quota of a name/,
  ],
  ["no inheritance from everything", { inheritable: false }, /cannot be false/],
];
for (const [what, change, text] of refused) {
  test(`${what} is refused, with what would be accepted`, async () => {
    const { quotas } = await opened();
    await assert.rejects(quotas.set("q", { ...input, ...change }), (error) => {
      assert.ok(error instanceof Failure);
      assert.equal(error.kind, "invalid");
      assert.match(error.message, text);
      return true;
    });
    assert.deepEqual(quotas.names(), []);
  });
}

test("two quotas cannot be on one path, in whatever spelling, even when made at once", async () => {
  const { quotas } = await opened();
  const results = await Promise.allSettled([
    quotas.set("a", { ...input, path: "team" }),
    quotas.set("b", { ...input, path: "/team/" }),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected"],
  );
  await assert.rejects(quotas.set("b", { ...input, path: "team/" }), /the quota a is on this path/);
  await quotas.set("a", { ...input, path: "team/", rate: 9 }); // itself is no obstacle
  assert.equal(quotas.get("a").rate, 9);
});

test("names that are no names are refused, unknown ones not found, and deletion repeats", async () => {
  const { quotas } = await opened();
  for (const name of ["", "-a", "a/b", "a b", "a".repeat(129)]) {
    await assert.rejects(quotas.set(name, input), /name of a quota/);
  }
  assert.throws(
    () => quotas.get("none"),
    (error) => error instanceof Failure && error.kind === "not-found" && error.texts.length === 0,
  );
  await quotas.delete("none");
});

test("there are at most a thousand quotas", async () => {
  const { quotas, barrier } = await opened();
  const { quotaCodec } = await import("./quota.ts");
  await barrier.view("shared/quotas/").write((tx) => {
    for (let i = 0; i < 1000; i++) {
      const quota = {
        path: `secret/${i}`,
        rate: 1,
        interval: 1e9,
        blockInterval: 0,
        inheritable: false,
      };
      tx.put(`rate-limit/q${i}`, quota, quotaCodec);
    }
  });
  await assert.rejects(quotas.set("one-more", input), /1000 quotas already/);
  await quotas.set("q7", input);
});
