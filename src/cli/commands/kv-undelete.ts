// `holdfast kv undelete`

import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";
import { needThere, VERSIONS_FLAG } from "../kv-versions.ts";

export const kvUndelete = command({
  name: "kv undelete",
  summary: "Bring back deleted versions of a secret",
  description: "Without -versions the newest one. What was destroyed does not come back.",
  examples: [
    "holdfast kv undelete secret/app",
    "holdfast kv undelete -versions 1,2 secret/app",
    "holdfast kv list -deleted secret",
  ],
  flags: { ...MOUNT_FLAG, ...VERSIONS_FLAG },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out }, { path, mount, versions: given }) {
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    const versions = given.flat();
    if (versions.length === 0) {
      const { data } = await kv.readMetadata(client, place.mount, place.secret);
      versions.push(data.current_version);
    } else {
      await needThere(client, place, versions);
    }
    await kv.undelete(client, place.mount, { ...place.secret, versions });
    const which = versions.length === 1 ? "Version" : "Versions";
    out.done(`Success! ${which} ${versions.join(", ")} restored (if deleted) of: ${place.shown}`);
  },
});
