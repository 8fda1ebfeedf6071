// The endpoints of RGPs and EGPs.

import { atOnce } from "@holdfast/shared/sliced";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import type { GoverningKind } from "../../endpoint/judgement.ts";
import { out } from "@holdfast/shared/endpoint/output";
import { more } from "@holdfast/shared/endpoint/page";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { keysOf, listEndpoints, type Shelf } from "../api-listing.ts";
import { absent } from "../failures.ts";
import type { GoverningChange, GoverningPolicies } from "./governing-policies.ts";
import type { GoverningRecord } from "./governing-record.ts";
import { listing, named, part, whole } from "../policy-fields.ts";
import { openPage, PAGE_BOUNDS } from "../policy-pages.ts";
import {
  egpList,
  egpOf,
  governingAgain,
  guardedBy,
  rgpOf,
  shapes,
  trials,
} from "../policy-view.ts";

const endpoint = endpointsOf<GoverningPolicies>();

const { capability } = access;
const WRITES =
  "It counts for the next request. The document is compiled, and a test in it that fails refuses the " +
  "write. Over one whose level is hard-mandatory, a change of program, level, paths or expiry needs sudo " +
  "as well, since access may widen. Answers 204, or 200 with warnings.";
const CHANGES =
  "What is not sent stays. One whose level is hard-mandatory needs sudo as well, as for a write.";
const DELETES = "One whose level is hard-mandatory needs sudo as well, since access widens.";

export const governingApi = [
  endpoint({
    name: "listRgps",
    method: "LIST",
    path: "/sys/policies/rgp",
    summary: "List the RGPs.",
    access: capability,
    fromSnapshot: true,
    input: listing,
    output: out.keys("Names, sorted."),
    handler: (policies, page, { namespace }) => keysOf(policies.names("rgp", namespace.id, page)),
  }),
  ...listEndpoints({
    kind: "rgp",
    word: "Rgps",
    noun: "RGPs",
    shelf: shelf("rgp"),
    show: (name, record: GoverningRecord) => ({ ...rgpOf(name, record) }),
  }),
  endpoint({
    name: "readRgp",
    method: "GET",
    path: "/sys/policies/rgp/:name+",
    summary: "Read an RGP.",
    access: capability,
    fromSnapshot: true,
    input: named,
    output: shapes.rgp,
    handler: (policies, { name }, context) => rgpOf(...read(policies, "rgp", context, name)),
  }),
  endpoint({
    name: "writeRgp",
    method: "POST",
    path: "/sys/policies/rgp/:name+",
    summary: "Write an RGP: a program that judges the requests of tokens that carry its name.",
    description: WRITES,
    access: capability,
    belongs: "shared",
    input: whole.rgp,
    output: trials.rgp,
    recovers: (rooms, { name = "" }, { namespace }) => {
      const [held, now] = bothOf(rooms, "rgp", namespace.id, name);
      return held === null ? null : governingAgain(held, now);
    },
    handler: (policies, change, context) => write(policies, "rgp", context, change, rgpOf),
  }),
  endpoint({
    name: "patchRgp",
    method: "PATCH",
    path: "/sys/policies/rgp/:name+",
    summary: "Change some of an RGP.",
    description: CHANGES,
    access: capability,
    belongs: "shared",
    input: part.rgp,
    output: trials.rgp,
    handler: (policies, change, context) =>
      write(policies, "rgp", context, { ...change, partial: true }, rgpOf),
  }),
  deletionOf("rgp", "deleteRgp", "Delete an RGP. Tokens keep its name, which restricts no more."),

  endpoint({
    name: "listEgps",
    method: "LIST",
    path: "/sys/policies/egp",
    summary: "List the EGPs and what they guard.",
    access: capability,
    fromSnapshot: true,
    input: listing,
    output: egpList,
    handler: (policies, page, { namespace }) => {
      const names = policies.names("egp", namespace.id, page);
      const open = (name: string) => policies.read("egp", namespace.id, name);
      const { keys, documents, next } = atOnce(openPage(names, open, guardedBy, PAGE_BOUNDS));
      return reply({ keys, name_path_map: documents, key_info: documents }, more(next));
    },
  }),
  ...listEndpoints({
    kind: "egp",
    word: "Egps",
    noun: "EGPs",
    shelf: shelf("egp"),
    show: (name, record: GoverningRecord) => ({ ...egpOf(name, record) }),
  }),
  endpoint({
    name: "readEgp",
    method: "GET",
    path: "/sys/policies/egp/:name+",
    summary: "Read an EGP.",
    access: capability,
    fromSnapshot: true,
    input: named,
    output: shapes.egp,
    handler: (policies, { name }, context) => egpOf(...read(policies, "egp", context, name)),
  }),
  endpoint({
    name: "writeEgp",
    method: "POST",
    path: "/sys/policies/egp/:name+",
    summary: "Write an EGP: a program that judges the requests to its paths.",
    description: WRITES,
    access: capability,
    belongs: "shared",
    input: whole.egp,
    output: trials.egp,
    recovers: (rooms, { name = "" }, { namespace }) => {
      const [held, now] = bothOf(rooms, "egp", namespace.id, name);
      return held === null ? null : { ...governingAgain(held, now), paths: held.paths };
    },
    handler: (policies, change, context) => write(policies, "egp", context, change, egpOf),
  }),
  endpoint({
    name: "patchEgp",
    method: "PATCH",
    path: "/sys/policies/egp/:name+",
    summary: "Change some of an EGP.",
    description: CHANGES,
    access: capability,
    belongs: "shared",
    input: part.egp,
    output: trials.egp,
    handler: (policies, change, context) =>
      write(policies, "egp", context, { ...change, partial: true }, egpOf),
  }),
  deletionOf("egp", "deleteEgp", "Delete an EGP, from all its paths."),
];

function shelf(kind: GoverningKind) {
  return (policies: GoverningPolicies): Shelf<GoverningRecord> => ({
    names: (id, page) => policies.names(kind, id, page),
    below: (id, folder, page) => policies.below(kind, id, folder, page),
    read: (id, name) => policies.read(kind, id, name),
  });
}

function bothOf(
  { held, now }: { readonly held: GoverningPolicies; readonly now: GoverningPolicies },
  kind: GoverningKind,
  namespaceId: string,
  name: string,
) {
  return [held.read(kind, namespaceId, name), now.read(kind, namespaceId, name)] as const;
}

function deletionOf(kind: GoverningKind, called: string, summary: string) {
  return endpoint({
    name: called,
    method: "DELETE",
    path: `/sys/policies/${kind}/:name+`,
    summary,
    description: DELETES,
    access: capability,
    belongs: "shared",
    input: named,
    output: out.nothing,
    handler: async (policies, { name }, context) => {
      const sudo = await sudoOver(policies, kind, context, name);
      await policies.delete(kind, context.namespace.id, name, { sudo });
      return undefined;
    },
  });
}

/** Where nothing binds that is there, no further right is needed, and nobody is asked for one. */
async function sudoOver(
  policies: GoverningPolicies,
  kind: GoverningKind,
  context: RequestContext,
  name: string,
): Promise<boolean> {
  const there = policies.read(kind, context.namespace.id, name);
  return there?.level === "hard-mandatory" && (await context.isPrivileged());
}

function read(
  policies: GoverningPolicies,
  kind: GoverningKind,
  { namespace }: RequestContext,
  name: string,
): [string, GoverningRecord] {
  const record = policies.read(kind, namespace.id, name);
  if (record === null) throw absent();
  return [name, record];
}

async function write<T>(
  policies: GoverningPolicies,
  kind: GoverningKind,
  context: RequestContext,
  change: GoverningChange,
  show: (name: string, record: GoverningRecord) => T,
) {
  const { id } = context.namespace;
  const sudo = () => sudoOver(policies, kind, context, change.name);
  const { name, record, warnings } = await policies.write(kind, id, change, {
    sudo,
    request: context,
    pace: context.pace,
  });
  return reply(change.trial === true ? show(name, record) : undefined, { warnings });
}
