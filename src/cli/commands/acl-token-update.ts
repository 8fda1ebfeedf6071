// `holdfast acl token update`

import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import * as tokens from "@holdfast/client/api/tokens";
import { ACCESSOR_HELP, findAccessor } from "../accessors.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { TYPES, type TokenFields } from "../token-fields.ts";
import { readToken, tokenOf, type TokenRecord } from "../token-requests.ts";
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
const NO_POLICIES: TokenFields = { Policies: null };

/**
 * The API replaces a token's changeable members as a whole, so it is read first. The write names the
 * version it was made from: a change by somebody else in between is not undone.
 */
async function change(client: Client, accessor: string, given: TokenFields): Promise<TokenRecord> {
  for (let attempt = 1; ; attempt++) {
    const { Name, Type, Policies, Roles, ModifyIndex } = await readToken(client, accessor);
    const kept = { AccessorID: accessor, Name, Type, Policies, Roles };
    try {
      const input = { accessor_id: accessor, cas: ModifyIndex, ...kept, ...given };
      return tokenOf((await tokens.updateToken(client, input)).data);
    } catch (error) {
      const overtaken = error instanceof ApiError && error.status === 409;
      if (!overtaken || attempt === ATTEMPTS) throw error;
    }
  }
}
