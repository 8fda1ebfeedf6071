// `holdfast kv put`

import * as kv from "@holdfast/client/api/kv";
import * as kv1 from "@holdfast/client/api/kv1";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { readData } from "../data-arguments.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";
import { CAS_FLAG, showWritten } from "../kv-versions.ts";
import { UsageError } from "../usage-error.ts";

export const kvPut = command({
  name: "kv put",
  summary: "Write a secret: a new version with exactly this data",
  description:
    "Members that are not given are not in the new version: `kv patch` changes some and keeps the " +
    "others. Values are text; name=@file reads one from a file, name=- from standard input, - alone " +
    "takes everything as a JSON object from there. A secret on a command line stays in the shell's " +
    "history.",
  examples: [
    "holdfast kv put secret/app user=anna password=@password.txt",
    "holdfast kv put secret/app - < app.json",
    "holdfast kv put -cas 3 secret/app user=ben",
  ],
  flags: { ...MOUNT_FLAG, ...CAS_FLAG },
  args: {
    path: argument.required(KEY_HELP, { words: "kv" }),
    data: argument.rest("name=value, name=@file, name=-, or - for JSON on standard input"),
  },
  async run({ client, out, files, prompt, clock }, { path, mount, cas, data: given }) {
    const data = await readData(given, { files, prompt, out }, { lists: false });
    if (data === null) throw new UsageError("there is no data", "give name=value, or - for JSON");
    const place = (await findKv(client, path, mount)).needKey();
    if (cas !== undefined) place.needVersions();
    if (place.version === 1) {
      await kv1.write(client, place.mount, { ...place.secret, data });
      return out.done(`Success! Data written to: ${place.shown}`);
    }
    const options = cas === undefined ? {} : { options: { cas } };
    const answer = await kv.write(client, place.mount, { ...place.secret, data, ...options });
    await showWritten(out, place, answer, clock.now());
  },
});
