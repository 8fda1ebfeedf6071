// ACL policies as clients of spec 1 read them before they make a token (acl-tokens D57): all of them for
// management, for others those that their token carries. Policies neither grant nor deny here
// (decision 38).

import { createHash } from "node:crypto";
import { access } from "../endpoint/access.ts";
import { endpointsOf } from "../endpoint/endpoint.ts";
import { out, type OutputOf } from "../endpoint/output.ts";
import { reply } from "../endpoint/reply.ts";
import type { Asked } from "../endpoint/request.ts";
import { wire } from "../endpoint/wire.ts";
import { policyName } from "../policy/acl-name.ts";
import { DEFAULT, ROOT } from "./built-in.ts";
import { viewAbsent, viewDenied } from "./failures.ts";
import type { Policies } from "./policies.ts";
import { openPage } from "./policy-pages.ts";
import type { PolicyRecord } from "./policy-record.ts";

const endpoint = endpointsOf<Policies>();

const MOST = 10_000;
// A region of one server is its own leader (acl-tokens 9).
const READ_HEADERS = { "X-Service-LastContact": "0", "X-Service-KnownLeader": "true" };

const members = {
  Name: out.string("Its name."),
  Description: out.string("Empty: there are none."),
  Hash: out.string("Changes with the document: base64 of 32 bytes."),
  CreateIndex: out.integer("Index of the write that made it."),
  ModifyIndex: out.integer("Index of the write that changed it last."),
};
const stub = out.object(members);
const record = out.object({ ...members, Rules: out.string("The document.") });

export const aclViewsApi = [
  endpoint({
    name: "viewAclPolicies",
    method: "GET",
    path: "/acl/policies",
    summary: "List the ACL policies; for clients those that their token carries.",
    access: access.token,
    family: "acl",
    runs: "active",
    input: {
      prefix: wire.query("prefix").string("Only names that begin so.").default(""),
    },
    output: out.list(stub, "By name."),
    handler: (policies, { prefix }, asked) => {
      const { namespace } = asked;
      const names = namesFor(policies, asked).filter((name) => name.startsWith(prefix));
      const open = (name: string) => policies.read(namespace.id, name);
      const page = openPage({ names, next: null }, open, (found, name) => stubOf(name, found));
      const warnings = page.next === null ? [] : ["there are more than one answer shows"];
      return reply(Object.values(page.shown), { headers: READ_HEADERS, warnings });
    },
  }),
  endpoint({
    name: "viewAclPolicy",
    method: "GET",
    path: "/acl/policy/:name+",
    summary: "Read an ACL policy: for management, and for tokens that carry it.",
    access: access.token,
    family: "acl",
    runs: "active",
    input: { name: wire.path("name").string("Name of the policy.") },
    output: record,
    handler: (policies, input, asked) => {
      const name = policyName(input.name);
      const all = asked.caller?.type === "management";
      // Whoever may not read it learns nothing, not even whether it is there.
      if (!all && (name === null || !carried(asked).has(name))) throw viewDenied();
      const found = name === null || name === ROOT ? null : policies.read(asked.namespace.id, name);
      if (name === null || found === null) throw viewAbsent();
      return reply({ ...stubOf(name, found), Rules: found.text }, { headers: READ_HEADERS });
    },
  }),
];

function namesFor(policies: Policies, asked: Asked): readonly string[] {
  const { id } = asked.namespace;
  if (asked.caller?.type === "management") {
    return policies.names(id, { limit: MOST }).names.filter((name) => name !== ROOT);
  }
  return [...carried(asked)].filter((name) => policies.read(id, name) !== null).toSorted();
}

/** Names on a token mean policies of the token's own namespace. */
function carried({ caller, namespace }: Asked): ReadonlySet<string> {
  if (caller === null || caller.namespace.id !== namespace.id) return new Set();
  const names = caller.policies.flatMap((name) => policyName(name) ?? []);
  return new Set([...names, ...(caller.withoutDefault === true ? [] : [DEFAULT])]);
}

function stubOf(name: string, found: PolicyRecord): OutputOf<typeof stub> {
  return {
    Name: name,
    Description: "",
    Hash: createHash("sha256").update(`${name}\n${found.text}`).digest("base64"),
    CreateIndex: Number(found.created),
    ModifyIndex: Number(found.written),
  };
}
