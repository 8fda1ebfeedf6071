// `holdfast kv delete`, `undelete` and `destroy`.

import * as kv from "@holdfast/client/api/kv";
import * as kv1 from "@holdfast/client/api/kv1";
import type { Client } from "@holdfast/client/client";
import { command, type Context } from "../command.ts";
import { afterColon, argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { findKv, KEY_HELP, MOUNT_FLAG, type KvPlace } from "./place.ts";
import { needThere, VERSIONS_FLAG } from "./versions.ts";

// What the server takes at a time.
const MAX_AT_ONCE = 1000;

export const kvDelete = command({
  name: "kv delete",
  summary: "Delete secrets; in version 2 they can be brought back",
  description:
    "Of a mount of version 2 the newest version is marked deleted, or those of -versions: `kv undelete` " +
    "brings them back, `kv destroy` and `kv metadata delete` are for good. Several paths of one mount " +
    "go in one request. In version 1 the secret is gone at once.",
  examples: [
    "holdfast kv delete secret/app",
    "holdfast kv delete -versions 1,2 secret/app",
    "holdfast kv delete secret/shop/a secret/shop/b",
  ],
  flags: { ...MOUNT_FLAG, ...VERSIONS_FLAG },
  args: { path: argument.rest(`${KEY_HELP}; several are possible`, { words: "kv" }) },
  async run(context, { path: paths, mount, versions: numbers }) {
    const { client, out } = context;
    const [first, ...others] = [...new Set(paths)];
    if (first === undefined) throw new UsageError(`PATH is missing: ${afterColon(KEY_HELP)}`);
    const versions = numbers.flat();
    if (others.length > 0 && versions.length > 0) {
      throw new UsageError("-versions is for one secret");
    }
    const place = (await findKv(client, first, mount)).needKey();
    if (versions.length > 0) {
      place.needVersions();
      await needThere(client, place, versions);
      await kv.deleteVersions(client, place.mount, { ...place.secret, versions });
      return out.done(`Success! Versions ${versions.join(", ")} deleted of: ${place.label}`);
    }
    if (others.length === 0) {
      await deleteOne(client, place);
      return out.done(`Success! Data deleted (if it existed) at: ${place.label}`);
    }
    const places = [place];
    for (const one of others) places.push((await findKv(client, one, mount)).needKey());
    await deleteAll(context, places);
  },
});

async function deleteOne(client: Client, { version, mount, secret }: KvPlace): Promise<void> {
  await (version === 1 ? kv1.delete(client, mount, secret) : kv.delete(client, mount, secret));
}

async function deleteAll({ client, out }: Context, places: readonly KvPlace[]): Promise<void> {
  for (const [mount, all] of Map.groupBy(places, (place) => place.mount)) {
    if (all[0]?.version === 1) {
      for (const place of all) await deleteOne(client, place);
      out.done(`Success! ${all.length} secrets deleted (if they existed) in: ${mount}`);
      continue;
    }
    let absent = 0;
    for (let at = 0; at < all.length; at += MAX_AT_ONCE) {
      const some = all.slice(at, at + MAX_AT_ONCE);
      const { data } = await kv.bulkDelete(client, mount, { paths: some.map(({ key }) => key) });
      absent += data.absent;
    }
    const were = absent === 0 ? "" : `; ${absent} had nothing to delete`;
    out.done(`Success! ${all.length - absent} secrets deleted in: ${mount}${were}`);
  }
}

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
  async run({ client, out }, { path, mount, versions: numbers }) {
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    const versions = numbers.flat();
    if (versions.length === 0) {
      const { data } = await kv.readMetadata(client, place.mount, place.secret);
      versions.push(data.current_version);
    } else {
      await needThere(client, place, versions);
    }
    await kv.undelete(client, place.mount, { ...place.secret, versions });
    const which = versions.length === 1 ? "Version" : "Versions";
    out.done(`Success! ${which} ${versions.join(", ")} restored (if deleted) of: ${place.label}`);
  },
});

export const kvDestroy = command({
  name: "kv destroy",
  summary: "Remove the data of versions for good",
  description:
    "That there were such versions stays known; `kv metadata delete` removes that too. On a terminal " +
    "it asks first.",
  examples: ["holdfast kv destroy -versions 1,2 secret/app"],
  flags: { ...MOUNT_FLAG, ...VERSIONS_FLAG, yes: flag.switch("Do not ask") },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, prompt }, { path, mount, versions: numbers, yes }) {
    const versions = numbers.flat();
    if (versions.length === 0)
      throw new UsageError("-versions is missing: which are to be destroyed");
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    await needThere(client, place, versions);
    const what = `${versions.length === 1 ? "version" : "versions"} ${versions.join(", ")}`;
    if (!yes && prompt.interactive) {
      if (!(await prompt.confirm(`Destroy ${what} of ${place.label} for good?`))) {
        out.hint("Nothing was destroyed.");
        return 1;
      }
    }
    await kv.destroy(client, place.mount, { ...place.secret, versions });
    out.done(`Success! Destroyed ${what} of: ${place.label}`);
    return 0;
  },
});
