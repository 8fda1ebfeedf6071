// ACL policies as clients of the ACL API see them: read by management and by tokens that carry them, written by
// management. Policies neither grant nor deny here.

import { whoSends } from "@holdfast/shared/sliced";
import { createHash } from "node:crypto";
import { Failure } from "@holdfast/shared/failure";
import { access } from "@holdfast/shared/endpoint/access";
import * as query from "../endpoint/acl-query.ts";
import { notHere } from "../endpoint/acl-query-failures.ts";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import type { Field, InputOf } from "@holdfast/shared/endpoint/field";
import { wire } from "@holdfast/shared/endpoint/wire";
import { policyName } from "@holdfast/shared/text/policy-name";
import { DEFAULT, ROOT } from "./built-in.ts";
import * as failures from "./failures.ts";
import type { Policies } from "./policies.ts";
import type { PolicyIndexes, PolicyIndexRows } from "./policy-indexes.ts";
import { LOOKED_AT, openPage } from "./policy-pages.ts";
import { decoded } from "./policy-fields.ts";
import type { PolicyRecord } from "./policy-record.ts";

/** What the endpoints are answered from. */
export interface AclPolicyRoom {
  readonly policies: Policies;
  /** Name of the own region. */
  readonly region: () => string;
  readonly indexes: Pick<PolicyIndexRows, "in">;
}

const endpoint = endpointsOf<AclPolicyRoom>();

const MAX_LISTED = 10_000;
const MAX_DESCRIPTION = 256;
/** What callers without a token are judged by elsewhere: anybody may know it. */
const ANONYMOUS = "anonymous";
// A region of one server is its own leader.
const READ_HEADERS = { "X-Service-LastContact": "0", "X-Service-KnownLeader": "true" };

const members = {
  Name: out.string("Its name."),
  Description: out.string("For people; may be empty."),
  Hash: out.string("Changes with the document: base64 of 32 bytes."),
  CreateIndex: out.integer("Index of the write that made it."),
  ModifyIndex: out.integer("Index of the write that changed it last."),
};
const stub = out.object(members);
const record = out.object({ ...members, Rules: out.string("The document.") });

const { region, stale } = query;
const options = { stale, region, index: refusedUnless0(query.index), wait: query.wait };
const paged = { perPage: query.perPage, nextToken: query.nextToken, reverse: query.reverse };
const listed = {
  prefix: wire.query("prefix").string("Only names that begin so.").default(""),
  ...paged,
  ...options,
  filter: refusedUnlessEmpty(query.filter),
};
const name = wire
  .path("name", { folds: "case", called: "policy name" })
  .string("Name of the policy.");
const fields = {
  name: wire.body("Name").string("Name of the policy, as in the path.").default(""),
  description: wire.body("Description").string("For people.", { max: MAX_DESCRIPTION }).default(""),
  rules: decoded(wire.body("Rules").string("The document: an ACL policy.").default("")),
  jobs: wire.body("JobACL").json("Must be null: there are no jobs.").optional(),
  hash: wire.body("Hash").json("Ignored.").optional(),
  createIndex: wire.body("CreateIndex").json("Ignored.").optional(),
  modifyIndex: wire.body("ModifyIndex").json("Ignored.").optional(),
  region,
};

const reads = { method: "GET", family: "acl", runs: "active", head: true } as const;
const writes = {
  method: "POST",
  access: access.management,
  belongs: "shared",
  family: "acl",
  bodyMissing: "Request body is empty",
} as const;
const deletes = {
  method: "DELETE",
  access: access.management,
  belongs: "shared",
  family: "acl",
} as const;
const WRITES = "What is sent is the whole policy. Its name must stand in path and body.";

export const aclViewsApi = [
  endpoint({
    ...reads,
    name: "viewAclPolicies",
    path: "/acl/policies",
    summary: "List the ACL policies; for clients those that their token carries.",
    access: access.token,
    folderText: "leave the slash at the end out: the list is GET /acl/policies",
    input: listed,
    output: out.list(stub, "By name."),
    handler: list,
  }),
  endpoint({
    ...reads,
    name: "viewOwnAclPolicies",
    path: "/acl/policy/self",
    summary: "The ACL policies that the token carries; all of them for management.",
    access: access.token,
    input: listed,
    output: out.list(stub, "By name."),
    handler: list,
  }),
  endpoint({
    ...reads,
    name: "viewAclPolicy",
    path: "/acl/policy/:name+",
    summary: "Read an ACL policy: for management, and for tokens that carry it.",
    access: access.token,
    folderText: "Missing Policy Name",
    input: { name, ...options },
    output: record,
    handler: (room, input, context) => read(room, context, input),
  }),
  endpoint({
    ...writes,
    name: "applyAclPolicy",
    path: "/acl/policy/:name+",
    summary: "Write an ACL policy.",
    description: WRITES,
    input: { path: name, ...fields },
    output: out.nothing,
    handler: (room, input, context) => write(room, context, input.path, input),
  }),
  endpoint({
    ...deletes,
    name: "removeAclPolicy",
    path: "/acl/policy/:name+",
    summary: "Delete an ACL policy. Tokens keep its name, which counts as empty.",
    input: { name, region },
    output: out.nothing,
    handler: (room, input, context) => remove(room, context, input),
  }),
  endpoint({
    ...reads,
    name: "viewAnonymousAclPolicy",
    path: `/acl/policy/${ANONYMOUS}`,
    summary: "Read the ACL policy for callers without a token; everybody may.",
    access: access.openWithCaller,
    input: options,
    output: record,
    handler: (room, input, context) => read(room, context, { ...input, name: ANONYMOUS }),
  }),
  endpoint({
    ...writes,
    name: "applyAnonymousAclPolicy",
    path: `/acl/policy/${ANONYMOUS}`,
    summary: "Write the ACL policy for callers without a token.",
    description: WRITES,
    input: fields,
    output: out.nothing,
    handler: (room, input, context) => write(room, context, ANONYMOUS, input),
  }),
  endpoint({
    ...deletes,
    name: "removeAnonymousAclPolicy",
    path: `/acl/policy/${ANONYMOUS}`,
    summary: "Delete the ACL policy for callers without a token.",
    input: { region },
    output: out.nothing,
    handler: (room, input, context) => remove(room, context, { ...input, name: ANONYMOUS }),
  }),
];

// --- reading ---

async function list(room: AclPolicyRoom, input: InputOf<typeof listed>, context: RequestContext) {
  query.checkRegion(input.region, room.region());
  const { policies } = room;
  const { prefix, reverse, perPage, nextToken } = input;
  const all = namesFor(policies, context).filter((one) => one.startsWith(prefix));
  const ordered = reverse ? all.toReversed() : all;
  const isThere = (one: string) => (reverse ? one <= nextToken : one >= nextToken);
  const from = nextToken === "" ? ordered : ordered.filter(isThere);
  const names = perPage === 0 ? from : from.slice(0, perPage);
  const open = (one: string) => policies.read(context.namespace.id, one);
  const indexesOf = room.indexes.in(context.namespace.id);
  const show = (found: PolicyRecord, one: string) => stubOf(one, found, indexesOf(one, found));
  const pages = openPage({ names, next: null }, open, show, LOOKED_AT);
  const page = await policies.inSlices(pages, whoSends(context), context);
  // A page ends where enough was read, too.
  const next = from[page.keys.length];
  const cursor = next === undefined ? {} : { "X-Service-NextToken": next };
  const cut = perPage === 0 && next !== undefined;
  return reply(Object.values(page.documents), {
    headers: { ...READ_HEADERS, ...cursor },
    warnings: cut ? ["there are more than one answer shows; go on with next_token"] : [],
  });
}

function read(
  room: AclPolicyRoom,
  context: RequestContext,
  input: { readonly name: string; readonly region: string },
) {
  query.checkRegion(input.region, room.region());
  const { name: called } = input;
  const all = context.caller?.type === "management";
  // Whoever may not read it learns nothing, not even whether it is there.
  const may = all || called === ANONYMOUS || carried(context).has(called);
  if (!may) throw failures.viewDenied();
  const found = called === ROOT ? null : room.policies.read(context.namespace.id, called);
  if (found === null) throw failures.viewAbsent();
  const indexes = room.indexes.in(context.namespace.id)(called, found);
  const stubbed = stubOf(called, found, indexes);
  return reply({ ...stubbed, Rules: found.text }, { headers: READ_HEADERS });
}

function namesFor(policies: Policies, context: RequestContext): readonly string[] {
  const { id } = context.namespace;
  if (context.caller?.type === "management") {
    return policies.names(id, { limit: MAX_LISTED }).names.filter((one) => one !== ROOT);
  }
  return [...carried(context)].filter((one) => policies.read(id, one) !== null).toSorted();
}

/** Names on a token mean policies of the token's own namespace. */
function carried({ caller, namespace }: RequestContext): ReadonlySet<string> {
  if (caller === null || caller.namespace.id !== namespace.id) return new Set();
  const names = caller.policies.flatMap((one) => policyName(one) ?? []);
  return new Set([...names, ...(caller.withoutDefault === true ? [] : [DEFAULT])]);
}

function stubOf(
  called: string,
  found: PolicyRecord,
  { create, modify }: PolicyIndexes,
): OutputOf<typeof stub> {
  return {
    Name: called,
    Description: found.description ?? "",
    Hash: createHash("sha256").update(`${called}\n${found.text}`).digest("base64"),
    CreateIndex: Number(create),
    ModifyIndex: Number(modify),
  };
}

// --- writing ---

async function write(
  room: AclPolicyRoom,
  context: RequestContext,
  path: string,
  input: InputOf<typeof fields>,
) {
  query.checkRegion(input.region, room.region());
  const { rules, description, jobs } = input;
  // Left out, it is the path's.
  if (input.name !== "" && policyName(input.name) !== path) throw failures.viewNameMismatch();
  if (jobs !== undefined && jobs !== null) throw failures.jobsUnknown();
  if (rules.trim() === "") throw failures.rulesMissing();
  const change = { name: path, text: rules, description };
  const { id } = context.namespace;
  const written = await room.policies.write(id, change, context).catch((error: unknown) => {
    throw error instanceof Failure && error.kind === "invalid" ? explained(error, rules) : error;
  });
  return reply(undefined, { index: written.record.written, warnings: written.warnings });
}

/** What the blocks of the other product's policies are called. */
const FOREIGN =
  /(?:^|[\s{};,])"?(namespace|node_pool|node|agent|operator|quota|host_volume|plugin|sentinel)"?\s*(?:"[^"\n]*"\s*)?[{:=]/;

/** Only of what is no policy of ours. */
function explained(refusal: Failure, rules: string): Failure {
  const word = FOREIGN.exec(rules)?.[1];
  return word === undefined ? refusal : failures.rulesForeign(word);
}

async function remove(
  room: AclPolicyRoom,
  { namespace }: RequestContext,
  input: { readonly name: string; readonly region: string },
) {
  query.checkRegion(input.region, room.region());
  await room.policies.delete(namespace.id, input.name);
  return undefined;
}

// --- options that there are for tokens only ---

function refusedUnless0(field: Field<bigint>): Field<bigint> {
  return refusing(field, (value) => value !== 0n, "ask without it, which answers at once");
}

function refusedUnlessEmpty(field: Field<string>): Field<string> {
  return refusing(field, (value) => value !== "", "use prefix");
}

function refusing<T>(field: Field<T>, isNeeds: (value: T) => boolean, instead: string): Field<T> {
  return {
    ...field,
    read: (value) => {
      const read = field.read(value);
      if (isNeeds(read)) throw notHere(field.name, instead);
      return read;
    },
  };
}
