// `holdfast kv recover`: a secret as a loaded snapshot held it.

import * as kv from "@holdfast/client/api/kv";
import * as kv1 from "@holdfast/client/api/kv1";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { RECOVER_FLAG, recoveringClient } from "../snapshot-flag.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "./place.ts";
import { showWritten } from "./versions.ts";

export const kvRecover = command({
  name: "kv recover",
  summary: "Write a secret as a loaded snapshot held it",
  description:
    "Makes a new version, and versions that are there stay; a mount of version 1 has one alone. It needs read, and create " +
    "or update. `kv get -snapshot-id` shows what would be written.",
  examples: ["holdfast kv recover -snapshot-id 6f0c9a3e-5f0e-4f0a-9d6b-0b2f6c1d7a55 secret/app"],
  flags: { ...MOUNT_FLAG, ...RECOVER_FLAG },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, clock }, { path, mount, snapshotId }) {
    const recovering = recoveringClient(client, snapshotId);
    const place = (await findKv(client, path, mount)).needKey();
    const secret = { ...place.secret, data: {} }; // the snapshot has it
    if (place.version === 1) {
      await kv1.write(recovering, place.mount, secret);
      return out.done(`Success! Data recovered at: ${place.label}`);
    }
    const answer = await kv.write(recovering, place.mount, secret);
    await showWritten(out, place, answer, clock.now());
  },
});
