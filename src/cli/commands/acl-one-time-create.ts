// `holdfast acl token one-time create`

import * as tokens from "@holdfast/client/api/tokens";
import { command } from "../command.ts";
import { longTime } from "../relative-time.ts";
import { shown } from "../terminal/value.ts";
import { lineText } from "../token-view.ts";

export const oneTimeCreate = command({
  name: "acl token one-time create",
  summary: "Make a secret that can be exchanged for the present token, once",
  description:
    "For ten minutes whoever has it gets the token that this command acts with. A further call " +
    "replaces it.",
  examples: [
    "holdfast acl token one-time create",
    "holdfast acl token one-time create -field OneTimeSecretID",
  ],
  flags: {},
  args: {},
  async run({ client, out, clock }) {
    const { body, data } = await tokens.createOneTimeToken(client);
    const made = data.OneTimeToken;
    const text = lineText([
      ["One-Time Secret ID", shown(made.OneTimeSecretID)],
      ["Accessor ID", shown(made.AccessorID)],
      ["Expires At", longTime(made.ExpiresAt, clock.now())],
      ["Create Index", shown(made.CreateIndex)],
      ["Modify Index", shown(made.ModifyIndex)],
    ]);
    await out.show(body, { text }, made);
  },
});
