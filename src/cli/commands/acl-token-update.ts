// `holdfast acl token update`

import type { JsonObject } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import { ACCESSOR_HELP, findAccessor } from "../accessors.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { shown } from "../terminal/value.ts";
import { TYPES } from "../token-fields.ts";
import { readToken, tokenOf } from "../token-requests.ts";
import { checkSecretField, SECRET_FLAG, showToken, TOKEN_FLAGS } from "../token-view.ts";
import { UsageError } from "../usage-error.ts";

// Somebody else who changes the same token makes us read it again; not for ever.
const ATTEMPTS = 5;

export const tokenUpdate = command({
  name: "acl token update",
  summary: "Change name, type or policies of a token",
  description:
    "What is not given stays as it is; -policy gives all policies anew. Secret, accessor, reach and " +
    "expiry of a token cannot be changed.",
  examples: [
    "holdfast acl token update -name 'ci, main branch' c8427da3",
    "holdfast acl token update -policy readonly -policy deploy c8427da3",
    "holdfast acl token update -type management c8427da3",
  ],
  flags: {
    name: flag.string("What the token is for, for people"),
    type: flag.oneOf(TYPES, "Kind of token"),
    policy: flag.string("A policy that the token has from now on", "NAME", "policies").repeated(),
    ...SECRET_FLAG,
    ...TOKEN_FLAGS,
  },
  args: { accessor: argument.required(ACCESSOR_HELP) },
  async run(context, { accessor, showSecret, quiet, name, type, policy }) {
    checkSecretField(context, showSecret);
    if (name === undefined && type === undefined && policy.length === 0) {
      throw new UsageError("nothing to change: give -name, -type or -policy");
    }
    const { client } = context;
    const id = await findAccessor(client, accessor);
    const token = await change(client, id, {
      ...(name === undefined ? {} : { Name: name }),
      ...(type === undefined ? {} : { Type: type }),
      ...(policy.length > 0 ? { Policies: policy } : type === "management" ? NO_POLICIES : {}),
    });
    await showToken(context, token, { secret: showSecret ? "shown" : "hidden", quiet });
  },
});

/** A management token has none, and would be refused with those it had as a client. */
const NO_POLICIES: JsonObject = { Policies: null };

/**
 * The API replaces a token's changeable members as a whole, so it is read first. The write names the
 * version it was made from: a change by somebody else in between is not undone.
 */
async function change(client: Client, accessor: string, given: JsonObject): Promise<JsonObject> {
  for (let attempt = 1; ; attempt++) {
    const { Name, Type, Policies, Roles, ModifyIndex } = await readToken(client, accessor);
    const body = { AccessorID: accessor, Name, Type, Policies, Roles, ...given };
    try {
      const query = { cas: shown(ModifyIndex) };
      return tokenOf((await client.request("POST", `acl/token/${accessor}`, { query, body })).body);
    } catch (error) {
      const overtaken = error instanceof ApiError && error.status === 409;
      if (!overtaken || attempt === ATTEMPTS) throw error;
    }
  }
}
