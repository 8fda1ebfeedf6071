// `holdfast acl token upload`: the same as `acl token create -accessor`.

import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { checkedAccessor, NEW_TOKEN_FLAGS, newTokenFields } from "../token-fields.ts";
import { uploadToken } from "../token-requests.ts";
import { givenSecret, typedSecret } from "../token-secrets.ts";
import { showToken, TOKEN_FLAGS } from "../token-view.ts";

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
  async run(context, { accessor, file, quiet, ...given }) {
    const id = checkedAccessor(accessor);
    const fields = { ...newTokenFields(given), Type: "client" };
    const secret =
      file === undefined
        ? await typedSecret(context, "Secret of the token")
        : await givenSecret(context, file, "secret");
    const token = await uploadToken(context.client, id, secret, fields);
    await showToken(context, token, { secret: "shown", quiet });
  },
});
