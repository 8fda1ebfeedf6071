// `holdfast kv destroy`

import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";
import { needThere, VERSIONS_FLAG } from "../kv-versions.ts";
import { UsageError } from "../usage-error.ts";

export const kvDestroy = command({
  name: "kv destroy",
  summary: "Remove the data of versions for good",
  description:
    "That there were such versions stays known; `kv metadata delete` removes that too. On a terminal " +
    "it asks first.",
  examples: ["holdfast kv destroy -versions 1,2 secret/app"],
  flags: { ...MOUNT_FLAG, ...VERSIONS_FLAG, yes: flag.switch("Do not ask") },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, prompt }, { path, mount, versions: given, yes }) {
    const versions = given.flat();
    if (versions.length === 0)
      throw new UsageError("-versions is missing: which are to be destroyed");
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    await needThere(client, place, versions);
    const what = `${versions.length === 1 ? "version" : "versions"} ${versions.join(", ")}`;
    if (!yes && prompt.interactive) {
      if (!(await prompt.confirm(`Destroy ${what} of ${place.shown} for good?`))) {
        out.hint("Nothing was destroyed.");
        return 1;
      }
    }
    await kv.destroy(client, place.mount, { ...place.secret, versions });
    out.done(`Success! Destroyed ${what} of: ${place.shown}`);
    return 0;
  },
});
