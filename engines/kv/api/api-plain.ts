// Endpoints of version 1: every path below the mount is a secret, and the body is what it holds.

import { parseDuration, SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import { out } from "@holdfast/shared/endpoint/output";
import { more } from "@holdfast/shared/endpoint/page";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import * as failures from "../failures.ts";
import { folder, listing, path } from "./fields.ts";
import type { Kv } from "../kv.ts";
import { namesIn, type NamesPage } from "../names.ts";
import { PLAIN } from "../plain.ts";

const endpoint = engineEndpoints<Kv>();

export const plainApi = [
  endpoint({
    name: "kv1List",
    method: "LIST",
    path: "/",
    summary: "List secrets and folders at the top of the mount.",
    access: access.capability,
    fromSnapshot: true,
    input: listing,
    output: out.keys("Names; folders end in a slash."),
    handler: (kv, page, context) => list(kv, "", page, context),
  }),
  endpoint({
    name: "kv1ListBelow",
    method: "LIST",
    path: "/:path+",
    summary: "List secrets and folders in a folder.",
    access: access.capability,
    fromSnapshot: true,
    input: { path: folder, ...listing },
    output: out.keys("Names; folders end in a slash."),
    handler: (kv, { path: at, ...page }, context) => list(kv, `${at}/`, page, context),
  }),
  endpoint({
    name: "kv1Read",
    method: "GET",
    path: "/:path+",
    summary: "Read a secret.",
    access: access.capability,
    fromSnapshot: true,
    input: { path },
    output: out.anyObject("What was written."),
    handler: async (kv, input) => {
      const data = await kv.plain.read(input.path);
      if (data === null) throw failures.notFound();
      // When to ask again: there is no lease.
      const seconds = secondsOf(data) ?? Number(kv.mount.defaultTtl() / SECOND);
      return reply(data, { leased: { id: "", seconds, renewable: false } });
    },
  }),
  endpoint({
    name: "kv1Write",
    method: "POST",
    path: "/:path+",
    summary: "Write a secret in place of what was there.",
    access: access.capability,
    belongs: "mount",
    input: { path, data: wire.whole("data", "What is to be kept.") },
    output: out.nothing,
    exists: (kv, params) => kv.plain.has(params["path"] ?? ""),
    recovers: ({ held }, params) => held.plain.read(params["path"] ?? ""),
    handler: async (kv, input, context) => {
      await kv.plain.write(input.path, input.data, (exists) => context.confirmExists(exists));
      return undefined;
    },
  }),
  endpoint({
    name: "kv1Delete",
    method: "DELETE",
    path: "/:path+",
    summary: "Remove a secret.",
    access: access.capability,
    belongs: "mount",
    input: { path },
    output: out.nothing,
    handler: async (kv, input) => {
      await kv.plain.delete(input.path);
      return undefined;
    },
  }),
];

async function list({ storage }: Kv, at: string, page: NamesPage, { pace }: EngineRequest) {
  const { names, next } = await namesIn({ storage, pace }, PLAIN + at, page);
  return reply({ keys: names }, more(next));
}

/** A secret may say itself, in its member ttl, when to ask for it again. */
function secondsOf(data: JsonObject): number | null {
  const ttl = Object.hasOwn(data, "ttl") ? data["ttl"] : undefined;
  if (typeof ttl !== "string" && typeof ttl !== "number") return null;
  try {
    const length = parseDuration(ttl);
    return length > 0n && length < SECOND ? 1 : Number(length / SECOND); // 0 would mean something else
  } catch {
    return null;
  }
}
