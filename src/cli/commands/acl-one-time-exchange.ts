// `holdfast acl token one-time exchange`

import type { JsonObject } from "@holdfast/shared/json/json";
import * as tokens from "@holdfast/client/api/tokens";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { tokenOf } from "../token-requests.ts";
import {
  givenSecret,
  needSecretOut,
  SECRET_OUT_FLAG,
  typedSecret,
  withSecretFile,
} from "../token-secrets.ts";
import { showToken, TOKEN_FLAGS } from "../token-view.ts";

export const oneTimeExchange = command({
  name: "acl token one-time exchange",
  summary: "Exchange a one-time secret for the token it stands for",
  description: "Asks for the secret without showing it, or reads it. Needs no token.",
  examples: [
    "holdfast acl token one-time exchange",
    "holdfast acl token one-time exchange -secret-out token - < one-time-secret",
  ],
  flags: { ...SECRET_OUT_FLAG, ...TOKEN_FLAGS },
  args: { file: argument.optional("File that holds the one-time secret; - for standard input") },
  async run(context, { file, secretOut, quiet }) {
    needSecretOut(quiet, secretOut);
    const client = context.client.withToken(null);
    const oneTime =
      file === undefined
        ? await typedSecret(context, "One-time secret")
        : await givenSecret(context, file, "one-time secret");
    let index: JsonObject = {};
    const { token, secret } = await withSecretFile(context, secretOut, async () => {
      const input = { OneTimeSecretID: oneTime.reveal() };
      const { Index, Token } = (await tokens.exchangeOneTimeToken(client, input)).data;
      index = { Index };
      return tokenOf(Token);
    });
    const around = (told: JsonObject) => ({ ...index, Token: told });
    await showToken(context, token, { secret, quiet, around });
  },
});
