import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { failureOf, ProviderError } from "../../cloud/provider-error.ts";
import type { CloudAProvider } from "../provider/provider.ts";
import { emptyRole, type Role } from "./role.ts";
import { sessionPolicies } from "./session-policies.ts";

interface GroupOf {
  readonly arns: readonly string[];
  readonly inline: Readonly<Record<string, string>>;
}

function providerOf(groups: Readonly<Record<string, GroupOf>>): CloudAProvider {
  return {
    attachedGroupPolicies: async (group: string) => [...(groups[group]?.arns ?? [])],
    groupPolicies: async (group: string) => Object.keys(groups[group]?.inline ?? {}),
    groupPolicy: async (group: string, name: string) => groups[group]?.inline[name] ?? "",
  } as unknown as CloudAProvider; // all that is asked of one here
}

const role = (more: Partial<Role>): Role => ({ ...emptyRole("r"), ...more });

test("without groups the role's own text and ARNs are sent as they are", async () => {
  const own = '{ "Statement": 1e400 }';
  const found = await sessionPolicies(
    providerOf({}),
    role({ policyDocument: own, policyArns: ["arn:a", "arn:a"] }),
  );
  assert.deepEqual(found, { policy: own, policyArns: ["arn:a"] });
});

test("C32: documents of groups come first, in order; a lone statement counts as one of a list", async () => {
  const provider = providerOf({
    one: {
      arns: ["arn:a", "arn:b"],
      inline: { x: '{"Version":"v","Statement":[{"Sid":"1"},{"Sid":"2"}]}' },
    },
    two: { arns: ["arn:b", "arn:c"], inline: { y: '{"Statement": { "Sid" : "3" } }', z: "{}" } },
  });
  const found = await sessionPolicies(
    provider,
    role({
      iamGroups: ["one", "two"],
      policyArns: ["arn:c"],
      policyDocument: '{"Statement":[{"Sid":"4","N":1.50}]}',
    }),
  );
  assert.deepEqual(found, {
    policy:
      '{"Version":"2012-10-17","Statement":[{"Sid":"1"},{"Sid":"2"},{"Sid":"3"},{"Sid":"4","N":1.50}]}',
    policyArns: ["arn:c", "arn:a", "arn:b"],
  });
});

test("C35: too many ARNs or too long a document are refused with the numbers", async () => {
  const eleven = Array.from({ length: 11 }, (_, i) => `arn:${i}`);
  const invalid = (text: RegExp) => (error: unknown) =>
    error instanceof Failure && error.kind === "invalid" && text.test(error.message);
  await assert.rejects(
    sessionPolicies(providerOf({}), role({ policyArns: eleven })),
    invalid(/11 policy ARNs for a session; the provider takes at most 10/),
  );
  await assert.rejects(
    sessionPolicies(providerOf({}), role({ policyDocument: `{"a":"${"b".repeat(2092)}"}` })),
    invalid(/document of 2100 characters .* at most 2048 together/),
  );
});

test("a document of the role without a Statement is refused where it would be dropped", async () => {
  const groups = { one: { arns: [], inline: { x: '{"Statement":[{"Sid":"1"}]}' } } };
  const own = role({ iamGroups: ["one"], policyDocument: '{"Version":"2012-10-17"}' });
  await assert.rejects(sessionPolicies(providerOf(groups), own), {
    kind: "invalid",
    message: /^policy_document of role "r" has no Statement/,
  });
});

test("a document of a group that is no JSON is a fault of the provider", async () => {
  const groups = { one: { arns: [], inline: { x: "%7B" } } };
  const own = role({ iamGroups: ["one"] });
  await assert.rejects(sessionPolicies(providerOf(groups), own), (error) => {
    assert.ok(error instanceof ProviderError && failureOf(error).kind === "upstream");
    assert.match(error.message, /^iam:GetGroupPolicy: .*policy x of group one is not JSON/);
    return true;
  });
});
