// `holdfast kv metadata delete`

import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";

export const kvMetadataDelete = command({
  name: "kv metadata delete",
  summary: "Remove a secret with all its versions, for good",
  description: "On a terminal it asks first.",
  examples: ["holdfast kv metadata delete secret/app"],
  flags: { ...MOUNT_FLAG, yes: flag.switch("Do not ask") },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, prompt }, { path, mount, yes }) {
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    if (!yes && prompt.interactive) {
      const sure = await prompt.confirm(`Remove ${place.shown} with all its versions for good?`);
      if (!sure) {
        out.hint("Nothing was removed.");
        return 1;
      }
    }
    await kv.deleteMetadata(client, place.mount, place.secret);
    out.done(`Success! Removed with all versions (if it existed): ${place.shown}`);
    return 0;
  },
});
