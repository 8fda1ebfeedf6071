// `holdfast acl token create`, `clone`, `upload`, `update` and `delete`: tokens of others, by management.

import { Failure } from "@holdfast/shared/failure";
import { ApiError } from "@holdfast/client/api-error";
import * as tokens from "@holdfast/client/api/tokens";
import type { Client } from "@holdfast/client/client";
import { ACCESSOR_HELP, findAccessor } from "./accessors.ts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { createChild, mayMakeChild } from "./child.ts";
import { command, type Context } from "../command.ts";
import {
  checkedAccessor,
  createToken,
  NEW_TOKEN_FLAGS,
  newTokenFields,
  readToken,
  tokenOf,
  TYPES,
  uploadToken,
  type TokenFields,
  type TokenRecord,
} from "./fields.ts";
import { afterColon, argument } from "../line/argument.ts";
import { flag, type FlagValues } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { readSecret, SECRET_OUT_FLAG, typedSecret, withSecretFile } from "./secrets.ts";
import { checkSecretField, SECRET_FLAG, showToken, TOKEN_FLAGS } from "./view.ts";

export const tokenCreate = command({
  name: "acl token create",
  summary: "Create a token and print it with its secret",
  description:
    "A client token needs at least one policy; a management token may do everything and has none. " +
    "With -accessor a token that was made elsewhere is uploaded: its secret comes from FILE, from " +
    "standard input (-), or is asked for. A client token makes others as its policies allow (update on " +
    "auth/token/create): with policies of its own, or with any where it has sudo there. They end with it.",
  examples: [
    "holdfast acl token create -name ci -policy readonly -ttl 8h",
    "holdfast acl token create -type management -secret-out admin-token",
    "holdfast acl token create -like c8427da3 -name 'ci, second runner'",
    "holdfast acl token create -accessor c8427da3-8cf6-48b2-beaf-9bb747302196 -policy deploy -",
  ],
  flags: {
    ...NEW_TOKEN_FLAGS,
    type: flag.oneOf(TYPES, "Kind of token (client)"),
    like: flag.string(
      "Name, type, policies, reach and lifetime as this token has them",
      "ACCESSOR",
    ),
    accessor: flag.string("Upload a token with this accessor", "UUID"),
    ...SECRET_OUT_FLAG,
    ...TOKEN_FLAGS,
  },
  args: { file: argument.optional("With -accessor: file that holds the secret, or -") },
  takesRegion: () => true,
  run: (context, flags) => createWith(context, flags),
});

export const tokenClone = command({
  name: "acl token clone",
  summary: "Create a token like another one, with a secret of its own",
  description:
    "Name, type, policies, reach and lifetime are the same but for what is given. What else limits the " +
    "other one (a number of uses, addresses, being without the policy default) is not: a warning says " +
    "so. The same as `acl token create -like`.",
  examples: [
    "holdfast acl token clone c8427da3",
    "holdfast acl token clone -name 'ci, second runner' -ttl 1h c8427da3",
    "holdfast acl token clone -global c8427da3",
  ],
  flags: {
    ...NEW_TOKEN_FLAGS,
    type: flag.oneOf(TYPES, "Kind of token, where it shall be another"),
    ...SECRET_OUT_FLAG,
    ...TOKEN_FLAGS,
  },
  args: { model: argument.required(ACCESSOR_HELP) },
  takesRegion: () => true,
  run: (context, { model, ...flags }) =>
    createWith(context, { ...flags, like: model, accessor: undefined, file: undefined }),
});

interface Creation extends FlagValues<typeof NEW_TOKEN_FLAGS> {
  readonly type: (typeof TYPES)[number] | undefined;
  readonly like: string | undefined;
  readonly accessor: string | undefined;
  readonly file: string | undefined;
  readonly secretOut: string | undefined;
  readonly quiet: boolean;
}

async function createWith(context: Context, creation: Creation): Promise<void> {
  const { accessor, file, like, type, secretOut, quiet, ...flags } = creation;
  const { client } = context;
  if (file !== undefined && accessor === undefined) {
    throw new UsageError("a secret is taken for a token that is uploaded, with -accessor, alone");
  }
  if (secretOut !== undefined && accessor !== undefined) {
    throw new UsageError("-secret-out is for a secret that the server makes");
  }
  const chosen = newTokenFields(flags);
  const id = accessor === undefined ? null : checkedAccessor(accessor);
  const model =
    like === undefined ? null : await readToken(client, await findAccessor(client, like));
  const copied = model === null ? {} : copiedFields(model, chosen, type);
  const fields = { ...copied, ...chosen, Type: type ?? copied.Type ?? "client" };
  if (id !== null) {
    const secret =
      file === undefined
        ? await typedSecret(context, "Secret of the token")
        : await readSecret(context, file, "secret");
    const token = await uploadToken(client, id, secret, fields);
    return showToken(context, token, { secret: "shown", quiet });
  }
  const made = await withSecretFile(context, secretOut, async () => {
    try {
      return await createToken(client, fields);
    } catch (error) {
      if (like !== undefined || !(await mayMakeChild(client, fields, error))) throw error;
      return createChild(context, fields);
    }
  });
  await showToken(context, made.token, { secret: made.secret, quiet });
  if (model !== null) await tellOfModel(context, model);
}

/** Both accessors are known then: that of the new token stands in its record. */
async function tellOfModel(
  { client, out }: Context,
  { AccessorID, Type }: TokenRecord,
): Promise<void> {
  out.hint(`Like the token ${AccessorID}, which stays as it is.`);
  if (Type !== "client") return;
  const limits = await limitsOf(client, AccessorID);
  if (limits.length > 0) {
    out.warn(`limits of that token which the new one does not have: ${limits.join(", ")}`);
  }
}

/** What a token of `auth/token` or of a login may have, and one that is made here cannot. */
async function limitsOf(client: Client, accessor: string): Promise<readonly string[]> {
  try {
    const { data } = await tokens.authTokenLookupAccessor(client, { accessor });
    const { num_uses: uses, bound_cidrs: addresses = [], policies } = data;
    return [
      ...(uses > 0 ? [`a number of uses (num_uses, ${uses} left)`] : []),
      ...(addresses.length > 0 ? [`addresses (bound_cidrs ${addresses.join(" ")})`] : []),
      ...(policies.includes("default") ? [] : ["being without the policy default"]),
    ];
  } catch (error) {
    // It may have ended meanwhile: the new one is there, and is shown.
    if (error instanceof Failure) return [];
    throw error;
  }
}

/**
 * What a copy has of another token, where nothing else was chosen. A lifetime is the same length,
 * counted from now; a token that was given a moment to expire at shares it, and outlives no other.
 */
function copiedFields(
  model: TokenRecord,
  chosen: TokenFields,
  type: string | undefined,
): TokenFields {
  const { Name, Type, Policies, Global, ExpirationTTL, ExpirationTime } = model;
  const lasting = "ExpirationTTL" in chosen || "ExpirationTime" in chosen;
  const expiry = ExpirationTTL === "" ? { ExpirationTime } : { ExpirationTTL };
  return {
    Name,
    Type,
    Global,
    ...(type === undefined || type === Type ? { Policies } : {}),
    ...(lasting ? {} : expiry),
  };
}

export const tokenUpload = command({
  name: "acl token upload",
  summary: "Take over a client token that was made elsewhere, with its accessor and secret",
  description:
    "The secret comes from FILE, from standard input (-), or is asked for. The same as `acl token " +
    "create -accessor`.",
  examples: ["holdfast acl token upload -policy deploy c8427da3-8cf6-48b2-beaf-9bb747302196 -"],
  flags: { ...NEW_TOKEN_FLAGS, ...TOKEN_FLAGS },
  args: {
    accessor: argument.required("Accessor that the token shall have, a UUID"),
    file: argument.optional("File that holds the secret; - for standard input"),
  },
  takesRegion: () => true,
  async run(context, { accessor, file, quiet, ...flags }) {
    const id = checkedAccessor(accessor);
    const fields = { ...newTokenFields(flags), Type: "client" };
    const secret =
      file === undefined
        ? await typedSecret(context, "Secret of the token")
        : await readSecret(context, file, "secret");
    const token = await uploadToken(context.client, id, secret, fields);
    await showToken(context, token, { secret: "shown", quiet });
  },
});

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
  takesRegion: () => true,
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
async function change(client: Client, accessor: string, fields: TokenFields): Promise<TokenRecord> {
  for (let attempt = 1; ; attempt++) {
    const { Name, Type, Policies, Roles, ModifyIndex } = await readToken(client, accessor);
    const kept = { AccessorID: accessor, Name, Type, Policies, Roles };
    try {
      const input = { accessor_id: accessor, cas: ModifyIndex, ...kept, ...fields };
      return tokenOf((await tokens.updateToken(client, input)).data);
    } catch (error) {
      const overtaken = error instanceof ApiError && error.status === 409;
      if (!overtaken || attempt === ATTEMPTS) throw error;
    }
  }
}

/** The API calls it invalid; for whoever runs a command it is "not found". */
function isAbsent(error: unknown): error is ApiError {
  return error instanceof ApiError && error.message.startsWith("Cannot delete nonexistent tokens");
}

function absent({ message }: ApiError): AdvisedFailure {
  const next =
    "it is deleted or expired, or never was: `holdfast acl token list` shows those there are";
  return new AdvisedFailure("not-found", "token-absent", message, next);
}

export const tokenDelete = command({
  name: "acl token delete",
  summary: "Delete tokens; they stop working at once",
  description: "On a terminal it asks first.",
  examples: [
    "holdfast acl token delete c8427da3-8cf6-48b2-beaf-9bb747302196",
    "holdfast acl token delete -yes c8427da3 b9382bb3",
  ],
  flags: { yes: flag.switch("Do not ask") },
  args: { accessor: argument.rest(`${ACCESSOR_HELP}; several are possible`) },
  takesRegion: () => true,
  async run({ client, out, prompt }, { yes, accessor: typed }) {
    if (typed.length === 0)
      throw new UsageError(`ACCESSOR is missing: ${afterColon(ACCESSOR_HELP)}`);
    // All of them before the first is deleted: a wrong one stops the whole command.
    const accessors: string[] = [];
    for (const one of typed) accessors.push(await findAccessor(client, one));
    if (!yes && prompt.interactive) {
      const what = accessors.length === 1 ? `token ${accessors[0]}` : `${accessors.length} tokens`;
      if (!(await prompt.confirm(`Delete ${what}?`))) {
        out.hint("Nothing was deleted.");
        return 1;
      }
    }
    for (const accessor of new Set(accessors)) {
      await tokens.deleteToken(client, { accessor_id: accessor }).catch((error: unknown) => {
        throw isAbsent(error) ? absent(error) : error;
      });
      out.done(`Token ${accessor} successfully deleted`);
    }
    return 0;
  },
});
