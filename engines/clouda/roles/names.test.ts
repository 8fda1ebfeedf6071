import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { SystemRandom } from "../../../src/system/random.ts";
import type { Caller } from "@holdfast/shared/endpoint/request";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import { callerName, checkTemplate, defaultTemplate, generatedName, sessionName } from "./names.ts";

const needs = { clock: new FakeClock(), random: new SystemRandom() };
const usual = defaultTemplate("service-");
const long = "x".repeat(60);

test("C14: the usual name says who and what, with the time and at least eight random letters", () => {
  const named = (displayName: string, policyName: string) =>
    generatedName(needs, usual, { type: "IAM", displayName, policyName });
  assert.match(named("ann", "deploy"), /^service-ann-deploy-\d{10}-[A-Za-z0-9]{20}$/);
  assert.match(named("ann b/ü", "deploy"), /^service-ann_b__-deploy-\d{10}-[A-Za-z0-9]{20}$/);
  const full = named(long, long);
  assert.equal(full.length, 64);
  assert.match(full, /^service-x{36}-\d{10}-[A-Za-z0-9]{8}$/);
});

test("the usual name of a session has at most 32 letters", () => {
  const name = generatedName(needs, usual, { type: "STS", displayName: long, policyName: long });
  assert.match(name, /^service-\d{10}-[A-Za-z0-9]{13}$/);
});

test("another prefix leaves as much randomness", () => {
  const template = defaultTemplate("our-vault-");
  const name = generatedName(needs, template, { type: "IAM", displayName: long, policyName: long });
  assert.match(name, /^our-vault-x{34}-\d{10}-[A-Za-z0-9]{8}$/);
});

test("C16, C17: a name over its cap is refused as a fault of ours, with the numbers", () => {
  const input = { displayName: long, policyName: "r" };
  const refusal = (text: string) => (error: unknown) =>
    error instanceof Failure && error.kind === "internal" && error.message === text;
  assert.throws(
    () => generatedName(needs, "{{.DisplayName}}-{{.PolicyName}}-abc", { type: "IAM", ...input }),
    refusal("generated IAM name has 66 bytes, limit 64"),
  );
  assert.throws(
    () => generatedName(needs, "{{.DisplayName | truncate 40}}", { type: "STS", ...input }),
    refusal("generated STS name has 40 bytes, limit 32"),
  );
  assert.throws(
    () => generatedName(needs, '{{ if eq .Type "STS" }}a{{ end }}', { type: "IAM", ...input }),
    refusal("generated IAM name is empty"),
  );
});

test("a broken template is refused with line and column", () => {
  assert.throws(
    () => checkTemplate("{{ .Type }}\n{{ .Nope }}", needs),
    (error: unknown) =>
      error instanceof Failure &&
      error.kind === "invalid" &&
      error.message.startsWith("username_template: line 2, column 4: there is no field .Nope"),
  );
  checkTemplate(usual, needs);
});

test("C29: a session's name keeps the provider's letters and 64 of them", () => {
  assert.equal(sessionName("a b/c+=,.@_-é"), "a_b_c+=,.@_-_");
  assert.equal(sessionName(`a ${"x".repeat(80)}`), `a_${"x".repeat(62)}`);
});

test("who asks is called as its token is, or by the beginning of its accessor", () => {
  const caller = { name: "", accessor: "0123456789abcdef" } as Caller;
  assert.equal(callerName(caller), "token-01234567");
  assert.equal(callerName({ ...caller, name: "ann" }), "ann");
});
