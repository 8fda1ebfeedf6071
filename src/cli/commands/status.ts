// `holdfast status`

import { isObject } from "../../base/json.ts";
import { command } from "../command.ts";
import { sealView } from "../seal-view.ts";

// Apart from 1, for probes: the server answers, and is not of use yet.
const SEALED = 2;

export const status = command({
  name: "status",
  summary: "Show whether the server is initialised, sealed and active",
  description:
    "Needs no token. Exit code 0 when the server is unsealed, 2 when it is sealed or not " +
    "initialised (the state is printed either way), 1 when it cannot be reached.",
  examples: ["holdfast status", "holdfast status -format json", "holdfast status -field sealed"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { body } = await client.request("GET", "sys/seal-status");
    const seal = isObject(body) ? body : {};
    const sealed = seal["sealed"] === true;
    const leader = sealed ? undefined : (await client.request("GET", "sys/leader")).body;
    const told = isObject(leader) ? leader : {};
    await out.show({ ...told, ...seal }, sealView(seal, told));
    if (seal["initialized"] !== true) out.hint("Next: run `holdfast operator init`");
    else if (sealed) out.hint("Next: run `holdfast operator unseal`");
    return sealed || seal["initialized"] !== true ? SEALED : 0;
  },
});
