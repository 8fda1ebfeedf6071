// The endpoints of ACL policies, and their older form under sys/policy.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { more } from "@holdfast/shared/endpoint/page";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { keysOf, listEndpoints } from "./api-listing.ts";
import { absent } from "./failures.ts";
import type { Policies } from "./policies.ts";
import { listing, named, part, whole } from "./policy-fields.ts";
import type { PolicyRecord } from "./policy-record.ts";
import type { NamePage } from "./policy-rows.ts";
import { aclOf, olderList, olderOf, shapes, trials, writtenAgain } from "./policy-view.ts";
import type { PolicyChange } from "./policy-write.ts";

const endpoint = endpointsOf<Policies>();

const { capability } = access;
const WRITES =
  "It counts for the next request of every token that carries its name. Answers 204, or 200 with " +
  "warnings about what is legal and hardly ever meant.";

export const policiesApi = [
  endpoint({
    name: "listAclPolicies",
    method: "LIST",
    path: "/sys/policies/acl",
    summary: "List the ACL policies.",
    access: capability,
    fromSnapshot: true,
    input: listing,
    output: out.keys("Names, sorted; root last, and only in the root namespace."),
    handler: (policies, page, { namespace }) => keysOf(policies.names(namespace.id, page)),
  }),
  ...listEndpoints({
    kind: "acl",
    word: "AclPolicies",
    noun: "ACL policies",
    shelf: (policies: Policies) => policies,
    show: (name, record) => ({ ...aclOf(name, record) }),
  }),
  endpoint({
    name: "readAclPolicy",
    method: "GET",
    path: "/sys/policies/acl/:name+",
    summary: "Read an ACL policy.",
    access: capability,
    fromSnapshot: true,
    input: named,
    output: shapes.acl,
    handler: (policies, { name }, context) => aclOf(...read(policies, context, name)),
  }),
  endpoint({
    name: "writeAclPolicy",
    method: "POST",
    path: "/sys/policies/acl/:name+",
    summary: "Write an ACL policy.",
    description: WRITES,
    access: capability,
    belongs: "shared",
    input: whole.acl,
    output: trials.acl,
    recovers,
    handler: (policies, change, context) => write(policies, context, change),
  }),
  endpoint({
    name: "patchAclPolicy",
    method: "PATCH",
    path: "/sys/policies/acl/:name+",
    summary: "Change some of an ACL policy.",
    description: "What is not sent stays.",
    access: capability,
    belongs: "shared",
    input: part.acl,
    output: trials.acl,
    handler: (policies, change, context) => write(policies, context, { ...change, partial: true }),
  }),
  endpoint({
    name: "deleteAclPolicy",
    method: "DELETE",
    path: "/sys/policies/acl/:name+",
    summary: "Delete an ACL policy. Tokens keep its name, which counts as empty.",
    access: capability,
    belongs: "shared",
    input: named,
    output: out.nothing,
    handler: remove,
  }),
];

export const olderPoliciesApi = [
  endpoint({
    name: "listPolicies",
    method: "LIST",
    path: "/sys/policy",
    summary: "List the ACL policies: the older form.",
    access: capability,
    fromSnapshot: true,
    input: listing,
    output: olderList,
    handler: (policies, page, context) => olderNames(policies, page, context),
  }),
  endpoint({
    name: "getPolicies",
    method: "GET",
    path: "/sys/policy",
    summary: "List the ACL policies: the older form, by GET.",
    access: capability,
    fromSnapshot: true,
    input: listing,
    output: olderList,
    handler: (policies, page, context) => olderNames(policies, page, context),
  }),
  endpoint({
    name: "readPolicy",
    method: "GET",
    path: "/sys/policy/:name+",
    summary: "Read an ACL policy: the older form.",
    access: capability,
    fromSnapshot: true,
    input: named,
    output: shapes.older,
    handler: (policies, { name }, context) => olderOf(...read(policies, context, name)),
  }),
  endpoint({
    name: "writePolicy",
    method: "POST",
    path: "/sys/policy/:name+",
    summary: "Write an ACL policy: the older form.",
    description: WRITES,
    access: capability,
    belongs: "shared",
    input: whole.older,
    output: trials.acl,
    recovers,
    handler: (policies, change, context) => write(policies, context, change),
  }),
  endpoint({
    name: "deletePolicy",
    method: "DELETE",
    path: "/sys/policy/:name+",
    summary: "Delete an ACL policy: the older form.",
    access: capability,
    belongs: "shared",
    input: named,
    output: out.nothing,
    handler: remove,
  }),
];

function read(
  policies: Policies,
  { namespace }: RequestContext,
  name: string,
): [string, PolicyRecord] {
  const record = policies.read(namespace.id, name);
  if (record === null) throw absent();
  return [name, record];
}

async function write(policies: Policies, context: RequestContext, change: PolicyChange) {
  const { id } = context.namespace;
  const { name, record, warnings } = await policies.write(id, change, context);
  const acl = change.trial === true ? aclOf(name, record) : undefined;
  return reply(acl, { warnings });
}

async function remove(
  policies: Policies,
  { name }: { name: string },
  { namespace }: RequestContext,
) {
  await policies.delete(namespace.id, name);
  return undefined;
}

function recovers(
  { held, now }: { readonly held: Policies; readonly now: Policies },
  { name = "" }: Readonly<Record<string, string>>,
  { namespace: { id } }: RequestContext,
) {
  const record = held.read(id, name);
  return record === null ? null : writtenAgain(record, now.read(id, name));
}

function olderNames(policies: Policies, page: NamePage, { namespace }: RequestContext) {
  const { names, next } = policies.names(namespace.id, page);
  return reply({ keys: names, policies: names }, more(next));
}
