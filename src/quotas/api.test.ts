import assert from "node:assert/strict";
import test from "node:test";
import { answering } from "../../tests/support/answering.ts";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { quotasApi } from "./api.ts";
import { Quotas } from "./quotas.ts";

async function served() {
  const { barrier, world } = await madeBarrier();
  const quotas = new Quotas({
    view: barrier.view("shared/quotas/"),
    clock: world.clock,
    classify: ([first]) => (first === "secret" ? "mount" : null),
  });
  quotas.open();
  return { quotas, ask: answering(quotas, quotasApi) };
}

test("a quota is created, read, listed and deleted by its wire names", async () => {
  const { ask } = await served();
  assert.equal(
    await ask("writeRateLimitQuota", {
      name: "busy",
      path: "secret",
      rate: 2.5,
      interval: "1m30s",
      block_interval: 60,
    }),
    undefined,
  );
  assert.deepEqual(await ask("readRateLimitQuota", { name: "busy" }), {
    name: "busy",
    type: "rate-limit",
    path: "secret/",
    rate: 2.5,
    interval: 90,
    block_interval: 60,
    role: "",
    inheritable: false,
  });
  assert.deepEqual(await ask("listRateLimitQuotas"), { keys: ["busy"] });
  await ask("deleteRateLimitQuota", { name: "busy" });
  assert.deepEqual(await ask("listRateLimitQuotas"), { keys: [] });
});

test("left out, the path is every request, the interval a second, and nobody is blocked", async () => {
  const { ask } = await served();
  await ask("writeRateLimitQuota", { name: "all", rate: "100" });
  assert.deepEqual(await ask("readRateLimitQuota", { name: "all" }), {
    name: "all",
    type: "rate-limit",
    path: "",
    rate: 100,
    interval: 1,
    block_interval: 0,
    role: "",
    inheritable: true,
  });
});

test("the settings are read and changed by their wire names", async () => {
  const { ask } = await served();
  await ask("writeQuotaConfig", {
    rate_limit_exempt_paths: "sys/a,sys/b/*",
    enable_rate_limit_audit_logging: true,
    enable_rate_limit_response_headers: "true",
  });
  assert.deepEqual(await ask("readQuotaConfig"), {
    rate_limit_exempt_paths: ["sys/a", "sys/b/*"],
    enable_rate_limit_audit_logging: true,
    enable_rate_limit_response_headers: true,
  });
  await assert.rejects(ask("writeQuotaConfig", { rate_limit_exempt_paths: ["a*b"] }), /exempt/);
});

test("a rate is required, and out-of-range intervals are refused with their bounds", async () => {
  const { ask } = await served();
  await assert.rejects(ask("writeRateLimitQuota", { name: "a" }), /rate is missing/);
  await assert.rejects(
    ask("writeRateLimitQuota", { name: "a", rate: 1, interval: "10ms" }),
    /interval must be .* at least 1s, at most 24h0m0s/,
  );
});

test("whether a quota exists is known before it is written, for create or update", async () => {
  const { ask, quotas } = await served();
  const write = quotasApi.find(({ name }) => name === "writeRateLimitQuota");
  const exists = (name: string) => write?.exists?.(quotas, { name }, ask.context);
  assert.equal(exists("a"), false);
  await ask("writeRateLimitQuota", { name: "a", rate: 1 });
  assert.equal(exists("a"), true);
});

test("every endpoint of quotas is for the root namespace and needs a right", () => {
  for (const { rootOnly, access } of quotasApi) {
    assert.equal(rootOnly, true);
    assert.equal(access.kind, "capability");
  }
});
