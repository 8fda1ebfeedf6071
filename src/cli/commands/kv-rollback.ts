// `holdfast kv rollback`

import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";
import { explainGone, needThere, showWritten } from "../kv-versions.ts";
import { UsageError } from "../usage-error.ts";

export const kvRollback = command({
  name: "kv rollback",
  summary: "Write the data of an older version as the newest one",
  description:
    "Nothing is lost: the versions in between stay. If somebody writes at the same time it is refused.",
  examples: ["holdfast kv rollback -version 3 secret/app"],
  flags: { ...MOUNT_FLAG, version: flag.integer("Version to go back to", { min: 1 }) },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, clock }, { path, mount, version }) {
    if (version === undefined) throw new UsageError("-version is missing: which one to go back to");
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    // The newest number first: whoever writes after this look makes the write below fail.
    const { data: metadata } = await kv.readMetadata(client, place.mount, place.secret);
    await needThere(client, place, [version]);
    const old = await kv
      .read(client, place.mount, { ...place.secret, version })
      .catch((error: unknown) => {
        throw explainGone(error, place, clock.now());
      });
    const answer = await kv.write(client, place.mount, {
      ...place.secret,
      data: old.data.data ?? {},
      options: { cas: metadata.current_version },
    });
    await showWritten(out, place, answer, clock.now());
  },
});
