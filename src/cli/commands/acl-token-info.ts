// `holdfast acl token info`

import * as tokens from "@holdfast/client/api/tokens";
import { ACCESSOR_HELP, findAccessor } from "../accessors.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { watchToken, type ReadHeld } from "../token-record-watch.ts";
import { readToken } from "../token-requests.ts";
import { checkSecretField, SECRET_FLAG, showToken } from "../token-view.ts";

export const tokenInfo = command({
  name: "acl token info",
  summary: "Show a token",
  description:
    "For management tokens, and for the token itself. With -watch it is printed, and then what is " +
    "new about it, until it is gone.",
  examples: [
    "holdfast acl token info c8427da3-8cf6-48b2-beaf-9bb747302196",
    "holdfast acl token info -show-secret -field SecretID c8427da3",
    "holdfast acl token info -watch c8427da3",
  ],
  flags: { ...SECRET_FLAG, watch: flag.switch("Go on printing changes until Ctrl-C") },
  args: { accessor: argument.required(ACCESSOR_HELP) },
  async run(context, { accessor, showSecret, watch }) {
    checkSecretField(context, showSecret);
    const secret = showSecret ? "shown" : "hidden";
    const id = await findAccessor(context.client, accessor);
    if (watch) {
      const read: ReadHeld = (query, options) =>
        tokens.readToken(context.client, { accessor_id: id, ...query }, options);
      return watchToken(context, read, { secret });
    }
    await showToken(context, await readToken(context.client, id), { secret });
    return 0;
  },
});
