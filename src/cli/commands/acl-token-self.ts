// `holdfast acl token self`

import * as tokens from "@holdfast/client/api/tokens";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { watchToken, type ReadHeld } from "../token-record-watch.ts";
import { tokenOf } from "../token-requests.ts";
import { checkSecretField, SECRET_FLAG, showToken, TOKEN_FLAGS } from "../token-view.ts";
import { noToken } from "./token-use.ts";

export const tokenSelf = command({
  name: "acl token self",
  summary: "Show the token that commands act with",
  description: "With -watch it is printed, and then what is new about it.",
  examples: ["holdfast acl token self", "holdfast acl token self -field ExpirationTime"],
  flags: {
    ...SECRET_FLAG,
    ...TOKEN_FLAGS,
    watch: flag.switch("Go on printing changes until Ctrl-C"),
  },
  args: {},
  async run(context, { showSecret, quiet, watch }) {
    checkSecretField(context, showSecret);
    if (context.settings.token(context.fs) === null) {
      throw noToken();
    }
    const secret = showSecret ? "shown" : "hidden";
    const { client } = context;
    if (watch) {
      const read: ReadHeld = (query, options) => tokens.readSelfToken(client, query, options);
      return watchToken(context, read, { secret });
    }
    const token = tokenOf((await tokens.readSelfToken(client)).data);
    await showToken(context, token, { secret, quiet });
    return 0;
  },
});
