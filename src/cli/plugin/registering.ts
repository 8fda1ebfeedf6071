// `holdfast plugin register`.

import * as plugins from "@holdfast/client/api/plugins";
import { command } from "../command.ts";
import { flag } from "../line/flag.ts";
import { NAME_ARGUMENT, TYPE_ARGUMENT } from "./arguments.ts";
import { described, DESCRIBING_FLAGS } from "./described.ts";

export const pluginRegister = command({
  name: "plugin register",
  summary: "Register a plugin, or replace one",
  description:
    "The file must lie in the server's plugin directory. The server starts it once and tells what it found. What runs of an entry that is " +
    "replaced goes on until it is reloaded: `holdfast plugin upgrade` does all of it. Needs `update` and `sudo` on " +
    "sys/plugins/catalog/TYPE/NAME.",
  examples: [
    "holdfast plugin register secret totp",
    "holdfast plugin register -version v1.2.0 -command totp-1.2.0 -verify secret totp",
    "holdfast plugin register -command ci -args --issuer -args https://ci.example -env CI_KEY auth ci",
  ],
  flags: {
    version: flag.string("Its semantic version, to be had beside others", "VERSION"),
    ...DESCRIBING_FLAGS,
    verify: flag.switch("Refuse it where it cannot be started"),
  },
  args: { type: TYPE_ARGUMENT, name: NAME_ARGUMENT },
  async run(context, { version, verify, type, name, ...flags }) {
    const { client, out } = context;
    const { data } = await plugins.registerPlugin(client.inRoot(), {
      type,
      name,
      ...(version === undefined ? {} : { version }),
      ...(verify ? { verify } : {}),
      ...(await described(context, name, flags)),
    });
    for (const text of data?.output ?? []) out.hint(text);
    out.done(`Success! Registered ${type} ${name}${version === undefined ? "" : ` ${version}`}.`);
  },
});
