// `holdfast kv metadata get`, `put`, `patch` and `delete`: what is known of a secret apart from its data.

import { showDuration } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import * as kv from "@holdfast/client/api/kv";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { findKv, KEY_HELP, MOUNT_FLAG } from "./place.ts";
import type { View } from "../terminal/output.ts";
import { longTime, shortTime } from "../terminal/relative-time.ts";
import { conditionOf } from "./versions.ts";

const METADATA_FLAGS = {
  maxVersions: flag.integer("How many versions are kept; 0: as the mount says"),
  casRequired: flag.oneOf(["true", "false"], "Whether writes must give -cas"),
  deleteVersionAfter: flag.duration("New versions are deleted after so long; 0: never"),
  customMetadata: flag.pair("A note").repeated(),
};

interface MetadataNeeds {
  readonly maxVersions: number | undefined;
  readonly casRequired: "true" | "false" | undefined;
  readonly deleteVersionAfter: Nanos | undefined;
  readonly customMetadata: readonly (readonly [string, string])[];
}

function metadataFields(needs: MetadataNeeds): Omit<kv.WriteMetadataInput, "path"> {
  const { maxVersions, casRequired, deleteVersionAfter, customMetadata } = needs;
  return {
    ...(maxVersions === undefined ? {} : { max_versions: maxVersions }),
    ...(casRequired === undefined ? {} : { cas_required: casRequired === "true" }),
    ...(deleteVersionAfter === undefined
      ? {}
      : { delete_version_after: showDuration(deleteVersionAfter) }),
    ...(customMetadata.length === 0 ? {} : { custom_metadata: Object.fromEntries(customMetadata) }),
  };
}

export const kvMetadataGet = command({
  name: "kv metadata get",
  summary: "Show the versions of a secret, its settings and notes, without its data",
  examples: [
    "holdfast kv metadata get secret/app",
    "holdfast kv metadata get -field current_version secret/app",
  ],
  flags: MOUNT_FLAG,
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, clock }, { path, mount }) {
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    const { body, data } = await kv.readMetadata(client, place.mount, place.secret);
    await out.show(body, viewOf(data, clock.now()), data);
  },
});

const TIMES = ["created_time", "updated_time"];

function viewOf({ versions, ...facts }: kv.ReadMetadataAnswer, now: Instant): View {
  const pairs = Object.entries(facts).map(([name, value]) => {
    return [name, TIMES.includes(name) ? longTime(value, now) : value] as const;
  });
  // Newest first: that is the one that is asked about.
  const rows = Object.entries(versions)
    .toSorted(([a], [b]) => Number(b) - Number(a))
    .map(([version, one]) => [version, shortTime(one.created_time, now), conditionOf(one, now)]);
  return { parts: [{ pairs }, { columns: ["Version", "Created", "State"], rows }] };
}

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
  async run({ client, out }, { path, mount, ...settings }) {
    const fields = metadataFields(settings);
    if (Object.keys(fields).length === 0) throw nothingNeeds();
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    await kv.writeMetadata(client, place.mount, { ...place.secret, ...fields });
    out.done(`Success! Metadata written to: ${place.label}`);
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
  async run({ client, out }, { path, mount, removeCustomMetadata: removed, ...settings }) {
    const fields = metadataFields(settings);
    const notes = [...settings.customMetadata, ...removed.map((name) => [name, null] as const)];
    const changes =
      notes.length === 0 ? fields : { ...fields, custom_metadata: Object.fromEntries(notes) };
    if (Object.keys(changes).length === 0) throw nothingNeeds();
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    await kv.patchMetadata(client, place.mount, { ...place.secret, ...changes });
    out.done(`Success! Metadata patched at: ${place.label}`);
  },
});

function nothingNeeds(): UsageError {
  return new UsageError("there is nothing to set", "give at least one setting or note");
}

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
      const sure = await prompt.confirm(`Remove ${place.label} with all its versions for good?`);
      if (!sure) {
        out.hint("Nothing was removed.");
        return 1;
      }
    }
    await kv.deleteMetadata(client, place.mount, place.secret);
    out.done(`Success! Removed with all versions (if it existed): ${place.label}`);
    return 0;
  },
});
