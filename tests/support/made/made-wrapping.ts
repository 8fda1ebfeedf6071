// The room of wrapping over real tokens and private spaces, in a world that stands still.

import assert from "node:assert/strict";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { Secret } from "@holdfast/shared/secret";
import type { Nanos } from "@holdfast/shared/world";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { CubbyholeContents } from "../../../src/wrapping/cubbyhole-contents.ts";
import { Wrapping, type WrappingOptions } from "../../../src/wrapping/wrapping.ts";
import { CONTEXT, MANAGEMENT } from "../answering.ts";
import { type MadeTokens, madeTokens, MINUTE } from "./made-tokens.ts";

export interface MadeWrapping extends MadeTokens {
  readonly wrapping: Wrapping;
  readonly cubbyholes: CubbyholeContents;
}

export function wrappingOver(
  made: MadeTokens,
  cubbyholes: CubbyholeContents,
  more: Partial<WrappingOptions> = {},
): MadeWrapping {
  const { barrier, world, tokens } = made;
  const wrapping = new Wrapping({
    shared: barrier.view("shared/wrapping/"),
    local: barrier.view("local/"),
    tokens,
    cubbyholes,
    clock: world.clock,
    random: world.random,
    apiAddress: "https://holdfast.example:8200",
    longest: 768n * 60n * MINUTE,
    ...more,
  });
  return { ...made, wrapping, cubbyholes };
}

export async function madeWrapping(more: Partial<WrappingOptions> = {}): Promise<MadeWrapping> {
  const spaces: { contents?: CubbyholeContents } = {};
  const made = await madeTokens({
    ending: {
      ends: (tx, { namespaceId, accessor }) => spaces.contents?.wipe(tx, namespaceId, accessor),
    },
  });
  spaces.contents = new CubbyholeContents(made.barrier.view("local/"));
  const full = wrappingOver(made, spaces.contents, more);
  full.wrapping.open();
  await full.wrapping.lead();
  return full;
}

export const ASKING: RequestContext = {
  ...CONTEXT,
  path: CanonicalPath.of(["kv", "app"]),
  caller: MANAGEMENT,
};

/** A wrapping of `data`. */
export async function wrappedIn(
  { wrapping }: MadeWrapping,
  data: Record<string, string> = { a: "b" },
  { ttl = 5n * MINUTE, ...context }: Partial<RequestContext> & { readonly ttl?: Nanos } = {},
) {
  return (await wrapping.wrap(new Reply(data), ttl, { ...ASKING, ...context })).wrapInfo;
}

/** The request of whoever has nothing but the wrapping token. */
export function holding(
  { wrapping }: MadeWrapping,
  token: string,
  more: Partial<RequestContext> = {},
): RequestContext {
  const caller = wrapping.find(token);
  assert.ok(caller !== null);
  return { ...ASKING, caller, ...more };
}

export function named(token: string): Secret<string> {
  return new Secret(token);
}
