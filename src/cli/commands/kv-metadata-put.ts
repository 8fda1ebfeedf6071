// `holdfast kv metadata put` and `holdfast kv metadata patch`

import * as kv from "@holdfast/client/api/kv";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { METADATA_FLAGS, metadataFields } from "../kv-metadata-fields.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "../kv-place.ts";
import { UsageError } from "../usage-error.ts";

export const kvMetadataPut = command({
  name: "kv metadata put",
  summary: "Set what is kept of a secret, and its notes",
  description:
    "Settings that are not given stay; notes are replaced by those given. The secret need not exist " +
    "yet: what is set here counts for its first version too.",
  examples: [
    "holdfast kv metadata put -max-versions 5 -cas-required true secret/app",
    "holdfast kv metadata put -custom-metadata owner=anna secret/app",
  ],
  flags: { ...MOUNT_FLAG, ...METADATA_FLAGS },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out }, { path, mount, ...given }) {
    const fields = metadataFields(given);
    if (Object.keys(fields).length === 0) throw nothingNeeds();
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    await kv.writeMetadata(client, place.mount, { ...place.secret, ...fields });
    out.done(`Success! Metadata written to: ${place.shown}`);
  },
});

export const kvMetadataPatch = command({
  name: "kv metadata patch",
  summary: "Change some settings and notes of a secret and keep the others",
  examples: [
    "holdfast kv metadata patch -custom-metadata floor=2 secret/app",
    "holdfast kv metadata patch -remove-custom-metadata owner secret/app",
  ],
  flags: {
    ...MOUNT_FLAG,
    ...METADATA_FLAGS,
    removeCustomMetadata: flag.string("Take this note away", "NAME").repeated(),
  },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out }, { path, mount, removeCustomMetadata: removed, ...given }) {
    const fields = metadataFields(given);
    const notes = [...given.customMetadata, ...removed.map((name) => [name, null] as const)];
    const changes =
      notes.length === 0 ? fields : { ...fields, custom_metadata: Object.fromEntries(notes) };
    if (Object.keys(changes).length === 0) throw nothingNeeds();
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    await kv.patchMetadata(client, place.mount, { ...place.secret, ...changes });
    out.done(`Success! Metadata patched at: ${place.shown}`);
  },
});

function nothingNeeds(): UsageError {
  return new UsageError("there is nothing to set", "give at least one setting or note");
}
