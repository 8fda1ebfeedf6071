// `holdfast acl bootstrap`

import type { JsonObject } from "../../base/json.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { tokenOf } from "../token-requests.ts";
import { givenSecret, SECRET_OUT_FLAG, withSecretFile } from "../token-secrets.ts";
import { showToken, TOKEN_FLAGS } from "../token-view.ts";

export const aclBootstrap = command({
  name: "acl bootstrap",
  summary: "Make the first management token, once",
  description:
    "Needs no token. Works on a server that was initialised with -acl-bootstrap-open, in development " +
    "mode, and after a reset. The server chooses the secret, or takes the UUID in FILE.",
  examples: [
    "holdfast acl bootstrap",
    "holdfast acl bootstrap -secret-out first-token",
    "holdfast acl bootstrap - < chosen-secret",
  ],
  flags: { ...SECRET_OUT_FLAG, ...TOKEN_FLAGS },
  args: { file: argument.optional("File that holds the wanted secret; - for standard input") },
  async run(context, { file, secretOut, quiet }) {
    const chosen = file === undefined ? null : await givenSecret(context, file, "bootstrap secret");
    const body: JsonObject = { BootstrapSecret: chosen?.reveal() ?? "" };
    // Whoever has a token already does not hand it over for this.
    const client = context.client.withToken(null);
    const { token, secret } = await withSecretFile(context, secretOut, async () =>
      tokenOf((await client.request("POST", "acl/bootstrap", { body })).body),
    );
    await showToken(context, token, { secret, quiet });
    if (context.out.forPeople) context.out.hint("Next: run `holdfast login` with the secret");
  },
});
