import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { madeAudit } from "../../tests/support/made/made-audit.ts";
import { Failure } from "@holdfast/shared/failure";
import { serve } from "@holdfast/shared/endpoint/endpoint";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { auditApi } from "./api.ts";

async function served(t: TestContext) {
  const made = await madeAudit(t);
  await made.audit.open();
  const endpoints = serve(made.audit, auditApi);
  /** As the pipeline does it: fields read from what was given, then the handler. */
  const call = async (name: string, fields: Record<string, unknown> = {}) => {
    const endpoint = endpoints.find((one) => one.name === name);
    assert.ok(endpoint, name);
    const input = Object.fromEntries(
      Object.entries(endpoint.input).map(([key, field]) => [
        key,
        field.read(fields[field.name] as never),
      ]),
    );
    const answer = await endpoint.run(input, {} as RequestContext);
    return answer instanceof Reply ? answer : new Reply(answer);
  };
  return { ...made, call, endpoints };
}

test("every endpoint needs sudo and is for the root namespace alone", async (t) => {
  const { endpoints } = await served(t);
  assert.equal(endpoints.length, 9);
  for (const { name, access, rootOnly, answers } of endpoints) {
    assert.deepEqual(access, { kind: "capability", sudo: true, openTo: null }, name);
    assert.deepEqual([rootOnly, answers], [true, "unsealed"], name);
  }
});

test("a device is enabled, listed, used for hashing, checked and disabled", async (t) => {
  const { call, file } = await served(t);
  const options = { file_path: file("a.log"), hmac_accessor: false };
  const enabled = await call("enableAuditDevice", { path: "file", type: "file", options });
  assert.deepEqual([enabled.data, enabled.warnings], [undefined, []]);
  const visible = { file_path: file("a.log"), hmac_accessor: "false" };
  assert.deepEqual((await call("listAuditDevices")).data, {
    "file/": {
      type: "file",
      description: "",
      options: visible,
      local: false,
      path: "file/",
      declared: false,
      healthy: true,
    },
  });
  const { data } = await call("hashForAudit", { path: "file", input: "text" });
  assert.match((data as { hash: string }).hash, /^hmac-sha256:[0-9a-f]{64}$/);
  assert.deepEqual((await call("verifyAuditTrail", { path: "file" })).data, {
    valid: true,
    records: 2,
    first: 1,
    last: 2,
    unchecked: 0,
    torn: 0,
    files: [file("a.log")],
    problem: null,
  });
  assert.equal((await call("disableAuditDevice", { path: "file" })).data, undefined);
  assert.deepEqual((await call("listAuditDevices")).data, {});
});

test("log_raw is warned of, when enabled and whenever listed", async (t) => {
  const { call, file, world } = await served(t);
  const options = { file_path: file("a.log"), log_raw: "true" };
  const enabled = await call("enableAuditDevice", { path: "raw", type: "file", options });
  const listed = await call("listAuditDevices");
  for (const { warnings } of [enabled, listed]) assert.match(warnings.join(), /raw\/.*in clear/);
  assert.ok(world.lines.some((line) => line.includes("records values in clear")));
});

test("unknown options and types are refused by name", async (t) => {
  const { call, file } = await served(t);
  const input = { path: "file", type: "file", options: { file_path: file("a.log"), colour: 1 } };
  await assert.rejects(call("enableAuditDevice", input), /unknown option colour/);
  await assert.rejects(
    call("enableAuditDevice", { ...input, type: "http" }),
    /^Failure: type must be/,
  );
  await assert.rejects(call("enableAuditDevice", { path: "x" }), Failure);
  await assert.rejects(
    call("hashForAudit", { path: "none", input: "x" }),
    /no audit device at none/,
  );
});

test("headers are set, read, listed and removed", async (t) => {
  const { call } = await served(t);
  assert.deepEqual((await call("listAuditedHeaders")).data, { headers: {} });
  await call("recordHeader", { name: "x-trace" });
  await call("recordHeader", { name: "x-other", hmac: false });
  assert.deepEqual((await call("readAuditedHeader", { name: "x-trace" })).data, {
    "x-trace": { hmac: true },
  });
  assert.deepEqual((await call("listAuditedHeaders")).data, {
    headers: { "x-trace": { hmac: true }, "x-other": { hmac: false } },
  });
  await call("stopRecordingHeader", { name: "x-trace" });
  await assert.rejects(call("readAuditedHeader", { name: "x-trace" }), /is not recorded/);
});
