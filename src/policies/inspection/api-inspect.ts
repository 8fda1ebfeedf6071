// The endpoint that tells what would become of a request, and why.

import { readAddress } from "@holdfast/shared/text/addresses";
import { whoSends } from "@holdfast/shared/sliced";
import { withoutFirstSlash, withoutSlashes } from "@holdfast/shared/text/slashes";
import { foldedUuid } from "@holdfast/shared/text/uuid";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { canonicalTime, parseTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import { type Field, fieldOf } from "@holdfast/shared/endpoint/field";
import { withMembers } from "@holdfast/shared/endpoint/members";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Explanation, RulePlace } from "../../acl/explain.ts";
import * as failures from "../failures.ts";
import { ENFORCEMENT_LEVELS } from "../governing/governing-record.ts";
import type { Inspected, Inspection } from "./inspection.ts";
import type { Judged } from "../governing/judging.ts";
import { plainPolicyText } from "../policy-text.ts";
import type { TrialDocument } from "../governing/trial-documents.ts";

const endpoint = endpointsOf<Inspection>();

const MAX_DOCUMENTS = 100;
const OPERATIONS = ["create", "read", "update", "patch", "delete", "list", "scan"] as const;

const position = {
  line: out.integer("Line in the document."),
  column: out.integer("Column in the document."),
};
const places = out.list(
  out.object({
    name: out.string("Name of the policy."),
    namespace_id: out.string("Namespace that it belongs to."),
    path: out.string("As written there."),
    ...position,
  }),
  "Where the rule stands.",
);
const step = out.object({
  kind: out.oneOf(["acl", "rgp", "egp"], "Kind of the policy."),
  name: out.string(
    "Name of the policy; empty where no rule of any matches, and for one of a namespace above.",
  ),
  namespace_id: out.string("Namespace that it belongs to; empty as the name."),
  result: out.string("allow or deny of an ACL; pass, fail or error of a program."),
  level: out.optional(out.oneOf(ENFORCEMENT_LEVELS, "What a failure of the program does.")),
  message: out.optional(out.string("Why, in words.")),
  rules: out.optional(
    out.list(
      out.object({
        name: out.string("Name of the rule."),
        ...position,
        value: out.nullable(out.boolean("What it came to; null: an error.")),
      }),
      "Rules of the program that were evaluated.",
    ),
  ),
});
const inspected = out.object({
  allowed: out.boolean("Whether the request would pass."),
  capability: out.string("What it needs on its path."),
  sudo: out.boolean("Whether it needs sudo beside it."),
  reason: out.string("Why, in words."),
  rule: out.nullable(
    out.object({
      policy: out.string("First policy that the rule stands in."),
      path: out.string("The rule as it is written."),
      ...position,
      capabilities: out.list(out.string("Word."), "What the rule grants."),
      policies: places,
    }),
  ),
  candidates: out.list(
    out.object({ path: out.string("The rule."), policies: places, why: out.string("In words.") }),
    "Other rules that match, and why they do not decide.",
  ),
  steps: out.list(step, "The policies that were asked, in order."),
  override_needed: out.boolean("Whether a soft-mandatory policy fails."),
  minimal_policy: out.nullable(out.string("The smallest rule that would let the ACL allow it.")),
  minimal_policy_replaces: out.optional(places),
});

const TIME = "When; RFC 3339. Default: now.";
const time: Field<Instant | null> = {
  source: "body",
  name: "time",
  help: TIME,
  secret: false,
  required: false,
  schema: { type: "string", format: "date-time", description: TIME },
  canonical: canonicalTime,
  read: (value) => parseTime(value),
};

const addressText = wire
  .body("remote_address")
  .string("Where from: an IP address, or unix. Default: as this request.", { max: 64 })
  .optional();
const address: Field<string | undefined> = {
  ...fieldOf(addressText),
  read: (value) => {
    const text = addressText.read(value);
    if (text !== undefined && !isPlace(text)) throw failures.addressInvalid();
    return text;
  },
};

/** `unix` is where requests of that socket come from. */
function isPlace(text: string): boolean {
  return text === "unix" || readAddress(text) !== null;
}

const DOCUMENTS =
  "Documents that are tried and not stored, each in place of the stored one of its name: type, name, " +
  "policy, and for rgp and egp enforcement_level and paths.";
const documents: Field<readonly TrialDocument[]> = withMembers(
  {
    source: "body",
    name: "documents",
    help: DOCUMENTS,
    secret: false,
    required: false,
    schema: { type: "array", items: { type: "object" }, description: DOCUMENTS },
    canonical: (value) =>
      readDocuments(value).map(({ kind, name, text, level, paths }) => {
        return { type: kind, name, policy: text, enforcement_level: level, paths };
      }),
    read: (value) => readDocuments(value ?? []),
  },
  ["type", "name", "policy", "enforcement_level", "paths"].map((name) => ({ name })),
);

export const inspectionApi = [
  endpoint({
    name: "inspectRequest",
    method: "POST",
    path: "/sys/inspect/request",
    summary: "Tell what would become of a request, and why.",
    description:
      "Nothing is executed. Without token_accessor and policies it is a request without a token.",
    access: access.sudo,
    belongs: "local",
    runs: "anywhere",
    input: {
      accessor: wire
        .body("token_accessor")
        .string("Accessor of the token that asks, instead of policies.", { form: foldedUuid })
        .optional(),
      policies: wire.body("policies").policies("Policies of a token that asks.").optional(),
      withoutDefault: wire
        .body("no_default_policy")
        .boolean("The policies do without the built-in default.")
        .default(false),
      operation: wire.body("operation").oneOf(OPERATIONS, "What is done."),
      path: wire
        .body("path")
        .string("Where, relative to the namespace.", { form: withoutFirstSlash }),
      namespace: wire
        .body("namespace")
        .string("Namespace below that of the request.", { form: withoutSlashes })
        .default(""),
      data: wire.body("data").object("Body, or parameters of the query.").default({}),
      address,
      port: wire
        .body("remote_port")
        .integer("Port there. Default: as this request.", { min: 0, max: 65_535 })
        .optional(),
      headers: wire.body("headers").texts("Headers that programs may see.").default({}),
      time,
      wrapTtl: wire.body("wrap_ttl").duration("Wrapping that is asked for.").optionalUnlessEmpty(),
      override: wire.body("policy_override").boolean("Override that is asked for.").default(false),
      documents,
    },
    output: inspected,
    handler: async (inspection, { address, port, wrapTtl = 0n, ...described }, context) => {
      const question = {
        ...described,
        id: context.id,
        remote: { address: address ?? context.remote.address, port: port ?? context.remote.port },
        wrapTtl: wrapTtl === 0n ? null : wrapTtl,
      };
      const found = await inspection.inspect(context.namespace, question, whoSends(context));
      return showInspected(found, inspection.above(context.caller));
    },
  }),
];

function showInspected(found: Inspected, above: ReadonlySet<string>): OutputOf<typeof inspected> {
  const { explanation } = found;
  return {
    allowed: found.allowed,
    capability: found.operation,
    sudo: found.sudo,
    reason: found.reason,
    rule: ruleOf(explanation),
    candidates: (explanation?.candidates ?? []).map(({ label, policies, why }) => {
      return { path: label, policies: policies.map(placeOf), why };
    }),
    steps: [...aclSteps(explanation), ...found.judged.map((judged) => programStep(judged, above))],
    override_needed: found.overrideNeeded,
    minimal_policy: explanation?.suggestion?.text ?? null,
    ...replacedBy(explanation),
  };
}

function ruleOf(explanation: Explanation | null) {
  const rule = explanation?.rule ?? null;
  const [first] = rule?.policies ?? [];
  if (rule === null || first === undefined) return null;
  return {
    policy: first.name,
    path: rule.label,
    line: first.line,
    column: first.column,
    capabilities: rule.capabilities,
    policies: rule.policies.map(placeOf),
  };
}

/** Only where it is not enough to add the rule. */
function replacedBy(explanation: Explanation | null) {
  const replaces = explanation?.suggestion?.replaces ?? [];
  return replaces.length === 0 ? {} : { minimal_policy_replaces: replaces.map(placeOf) };
}

function placeOf({ name, namespaceId, label, line, column }: RulePlace) {
  return { name, namespace_id: namespaceId, path: label, line, column };
}

function aclSteps(explanation: Explanation | null): OutputOf<typeof step>[] {
  if (explanation === null) return [];
  const { allowed, reason, rule } = explanation;
  const said = { kind: "acl", result: allowed ? "allow" : "deny", message: reason } as const;
  const policies = rule?.policies ?? [];
  if (policies.length === 0) return [{ ...said, name: "", namespace_id: "" }];
  return policies.map(({ name, namespaceId }) => ({ ...said, name, namespace_id: namespaceId }));
}

/** Of a policy above whoever asks, no more than that there is one and what it says. */
function programStep(
  { policy, level, verdict }: Judged,
  above: ReadonlySet<string>,
): OutputOf<typeof step> {
  const { passed, error, description, rules } = verdict;
  const message = error ?? description;
  const result = passed ? "pass" : error === null ? "fail" : "error";
  if (above.has(policy.namespaceId)) {
    return { kind: policy.kind, name: "", namespace_id: "", level, result };
  }
  return {
    kind: policy.kind,
    name: policy.name,
    namespace_id: policy.namespaceId,
    level,
    result,
    ...(message === "" ? {} : { message }),
    rules: rules.map(({ name, line, column, value }) => ({ name, line, column, value })),
  };
}

function readDocuments(value: JsonValue): readonly TrialDocument[] {
  if (!Array.isArray(value) || value.length > MAX_DOCUMENTS) throw failures.documentsInvalid();
  return value.map((one: JsonValue) => {
    if (!isObject(one)) throw failures.documentsInvalid();
    const { type, name, policy: text, paths = ["*"] } = one;
    const level = one["enforcement_level"] ?? "hard-mandatory";
    const kind = (["acl", "rgp", "egp"] as const).find((word) => word === type);
    const known = ENFORCEMENT_LEVELS.find((word) => word === level);
    const places = typeof paths === "string" ? paths.split(",") : paths;
    if (kind === undefined || typeof name !== "string" || typeof text !== "string") {
      throw failures.documentsInvalid();
    }
    if (known === undefined || !Array.isArray(places)) throw failures.documentsInvalid();
    const texts = places.filter((path: JsonValue) => typeof path === "string");
    if (texts.length !== places.length) throw failures.documentsInvalid();
    return { kind, name, text: plainPolicyText(text), level: known, paths: texts };
  });
}
