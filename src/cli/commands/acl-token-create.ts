// `holdfast acl token create`

import type { Client } from "@holdfast/client/client";
import { ACCESSOR_HELP, findAccessor } from "../accessors.ts";
import { argument } from "../argument.ts";
import { command, type Context } from "../command.ts";
import { flag, type FlagValues } from "../flag.ts";
import {
  checkedAccessor,
  NEW_TOKEN_FLAGS,
  newTokenFields,
  TYPES,
  type TokenFields,
} from "../token-fields.ts";
import { createToken, readToken, uploadToken } from "../token-requests.ts";
import { createChild, mayMakeChild } from "../child-token.ts";
import { givenSecret, SECRET_OUT_FLAG, typedSecret, withSecretFile } from "../token-secrets.ts";
import { showToken, TOKEN_FLAGS } from "../token-view.ts";
import { UsageError } from "../usage-error.ts";

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
  run: (context, given) => createWith(context, given),
});

export const tokenClone = command({
  name: "acl token clone",
  summary: "Create a token like another one, with a secret of its own",
  description:
    "Name, type, policies, reach and lifetime are the same but for what is given. The same as `acl " +
    "token create -like`.",
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
  run: (context, { model, ...given }) =>
    createWith(context, { ...given, like: model, accessor: undefined, file: undefined }),
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
  const { accessor, file, like, type, secretOut, quiet, ...given } = creation;
  const { client } = context;
  if (file !== undefined && accessor === undefined) {
    throw new UsageError("a secret is taken for a token that is uploaded, with -accessor, alone");
  }
  if (secretOut !== undefined && accessor !== undefined) {
    throw new UsageError("-secret-out is for a secret that the server makes");
  }
  const chosen = newTokenFields(given);
  const id = accessor === undefined ? null : checkedAccessor(accessor);
  const model: TokenFields = like === undefined ? {} : await modelOf(client, like, chosen, type);
  const fields = { ...model, ...chosen, Type: type ?? model.Type ?? "client" };
  if (id !== null) {
    const secret =
      file === undefined
        ? await typedSecret(context, "Secret of the token")
        : await givenSecret(context, file, "secret");
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
  return showToken(context, made.token, { secret: made.secret, quiet });
}

/**
 * What a copy has of another token, where nothing else was chosen. A lifetime is the same length,
 * counted from now; a token that was given a moment to expire at shares it, and outlives no other.
 */
async function modelOf(
  client: Client,
  like: string,
  chosen: TokenFields,
  type: string | undefined,
): Promise<TokenFields> {
  const model = await readToken(client, await findAccessor(client, like));
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
