// The endpoints of namespaces. `path` in answers is the whole path from root with a
// slash at the end, so that it can be sent as a namespace header as it is; keys of the list, and the
// path in the address, are relative to the namespace of the request.

import type { JsonValue } from "@holdfast/shared/json/json";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type Output } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { Field } from "@holdfast/shared/endpoint/field";
import { more, pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { METADATA_LIMITS, type MetadataPatch, readPatch } from "./custom-metadata.ts";
import type { Namespaces } from "./namespaces.ts";
import { nameOf, type NamespaceRecord } from "./record.ts";

const endpoint = endpointsOf<Namespaces>();

const MAX_LISTED = 1000;

const path = wire
  .path("path")
  .string("Path of the namespace, relative to the namespace of the request.");

const record = out.object({
  id: out.string("Short id; part of lease ids and audit records. Never used again."),
  uuid: out.string("Unique for ever."),
  path: out.string("Path from the root namespace, with a slash at the end."),
  custom_metadata: out.mapOf(out.string("Text."), "What operators noted about it."),
});

const deletion: Output<{ readonly status: "in-progress" } | undefined> = out.object({
  status: out.oneOf(["in-progress"], "It is being emptied, also after a restart."),
});

const metadataPatch: Field<MetadataPatch | undefined> = {
  source: "body",
  name: "custom_metadata",
  help: "A merge patch: null in place of a text removes it.",
  secret: false,
  required: false,
  schema: { type: "object", additionalProperties: { type: "string", nullable: true } },
  clears: true,
  // Null is not "not given" here: as in every merge patch it takes everything away.
  read: (value: JsonValue | undefined) => (value === undefined ? undefined : readPatch(value)),
};

export const namespacesApi = [
  endpoint({
    name: "listNamespaces",
    method: "LIST",
    path: "/sys/namespaces",
    summary: "List the direct child namespaces.",
    access: access.capability,
    input: pageFields(MAX_LISTED),
    output: out.keys(
      "Names of the children, each with a slash, and id, path and metadata of each.",
    ),
    handler: (namespaces, { after, limit }, { namespace }) => {
      const { records, next } = namespaces.list(namespace, {
        after: after?.replace(/\/$/, ""),
        limit,
      });
      const keys = records.map((child) => `${nameOf(child.path)}/`);
      const info = records.map(({ uuid: _uuid, ...child }) => showListed(child));
      return reply(
        { keys, key_info: Object.fromEntries(keys.map((key, i) => [key, info[i] ?? {}])) },
        more(next),
      );
    },
  }),
  endpoint({
    name: "readNamespace",
    method: "GET",
    path: "/sys/namespaces/:path+",
    summary: "Read a namespace.",
    access: access.capability,
    input: { path },
    output: record,
    handler: (namespaces, input, { namespace }) =>
      showNamespace(namespaces.read(namespace, input.path)),
  }),
  endpoint({
    name: "writeNamespace",
    method: "POST",
    path: "/sys/namespaces/:path+",
    summary: "Create a namespace, or replace its metadata.",
    description:
      "The parent must exist. Metadata that is not given is left as it is. Names have up to 128 " +
      "printable ASCII characters, and may not be root, sys, audit, auth, cubbyhole, identity, acl, " +
      "api-lock, seal, unseal, seal-status or delete-sealed; namespaces nest at most 16 deep.",
    access: access.capability,
    belongs: "shared",
    places: (input) => [input.path],
    input: {
      path,
      metadata: wire
        .body("custom_metadata")
        .texts("What operators note about it.", METADATA_LIMITS)
        .optional(),
    },
    output: record,
    exists: (namespaces, params, { namespace }) => namespaces.has(namespace, params["path"] ?? ""),
    handler: async (namespaces, { path: at, metadata }, context) => {
      const check = (exists: boolean) => context.confirmExists(exists);
      return showNamespace(await namespaces.write(context.namespace, at, metadata, check));
    },
  }),
  endpoint({
    name: "patchNamespace",
    method: "PATCH",
    path: "/sys/namespaces/:path+",
    summary: "Change some of a namespace's metadata.",
    access: access.capability,
    belongs: "shared",
    places: (input) => [input.path],
    input: { path, patch: metadataPatch },
    output: record,
    handler: async (namespaces, input, { namespace }) =>
      showNamespace(
        await namespaces.patch(namespace, input.path, input.patch === undefined ? {} : input.patch),
      ),
  }),
  endpoint({
    name: "deleteNamespace",
    method: "DELETE",
    path: "/sys/namespaces/:path+",
    summary: "Delete a namespace and everything in it.",
    description:
      "It is gone for every caller at once, and emptied in the background: 202 until that is done, " +
      "204 when there is nothing of that name. Refused while it has child namespaces.",
    access: access.capability,
    belongs: "shared",
    places: (input) => [input.path],
    input: { path },
    output: deletion,
    later: true,
    handler: async (namespaces, input, { namespace }) => {
      const found = await namespaces.delete(namespace, input.path);
      if (found === null) return reply(undefined);
      const warnings = found.trouble === null ? [] : [`it does not get on: ${found.trouble}`];
      return reply({ status: "in-progress" } as const, { status: 202, warnings });
    },
  }),
];

function showNamespace(namespace: NamespaceRecord) {
  return { ...showListed(namespace), uuid: namespace.uuid };
}

function showListed({ id, path: whole, metadata }: Omit<NamespaceRecord, "uuid">) {
  return { id, path: `${whole}/`, custom_metadata: metadata };
}
