// `holdfast kv get`, `put`, `patch`, `rollback`, `move` and `copy`: secrets and what is in them.

import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import * as kv from "@holdfast/client/api/kv";
import * as kv1 from "@holdfast/client/api/kv1";
import type { Client } from "@holdfast/client/client";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { showAnswer } from "../answer-view.ts";
import { command, type Command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { readData } from "../line/data-arguments.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { findKv, KEY_HELP, MOUNT_FLAG, type KvPlace } from "./place.ts";
import { showValue } from "../terminal/value.ts";
import { CAS_FLAG, explainGone, needThere, showWritten, versionLine } from "./versions.ts";
import { readingClient, SNAPSHOT_FLAG } from "../snapshot-flag.ts";
import { WRAP_FLAG, wrappingClient } from "../wrap-flag.ts";

export const kvGet = command({
  name: "kv get",
  summary: "Read a secret",
  description:
    "The data goes to standard output, which version it is to standard error. -field prints one value " +
    "alone.",
  examples: [
    "holdfast kv get secret/app",
    "holdfast kv get -field password secret/app",
    "holdfast kv get -version 3 secret/app",
    "holdfast kv get -wrap-ttl 10m secret/app",
    "holdfast kv get -snapshot-id 6f0c9a3e-5f0e-4f0a-9d6b-0b2f6c1d7a55 secret/app",
  ],
  flags: {
    ...MOUNT_FLAG,
    version: flag.integer("This version (the newest)", { min: 1 }),
    ...WRAP_FLAG,
    ...SNAPSHOT_FLAG,
  },
  args: { path: argument.required(KEY_HELP, { words: "kv" }) },
  async run({ client, out, clock }, { path, mount, version, wrapTtl, snapshotId }) {
    const place = (await findKv(client, path, mount)).needKey();
    if (version !== undefined) place.needVersions();
    const then = readingClient(client, snapshotId);
    const reader = wrappingClient(then, wrapTtl);
    if (place.version === 1) {
      const answer = await kv1.read(reader, place.mount, place.secret);
      return showAnswer(out, answer, "There is nothing to show.");
    }
    const answer = await kv
      .read(reader, place.mount, { ...place.secret, version })
      .catch(async (error: unknown) => {
        const explained = explainGone(error, place, clock.now());
        throw version === undefined ? explained : await noVersion(then, place, version, explained);
      });
    if (answer.wrapInfo !== null) return showAnswer(out, answer, "There is nothing to show.");
    const { body, data } = answer;
    const { data: secret, metadata } = data;
    if (secret === null) throw new Failure("upstream", "answer-malformed", "there is no data");
    if (out.forPeople) out.hint(versionLine(place, metadata, clock.now()));
    await out.show(body, { pairs: Object.entries(secret) }, secret);
  },
});

/** Of a version that was asked for and is not there: whether the secret is. */
async function noVersion(
  client: Client,
  place: KvPlace,
  version: number,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof ApiError) || error.status !== 404) return error;
  try {
    const { data } = await kv.readMetadata(client, place.mount, place.secret);
    const { current_version, oldest_version } = data;
    return new AdvisedFailure(
      "not-found",
      "kv-version-absent",
      `${place.label} has no version ${version}; there are ${showValue(oldest_version)} to ${showValue(current_version)}`,
      `\`holdfast kv metadata get ${place.label}\` shows all versions`,
    );
  } catch (other) {
    if (other instanceof ApiError) return error;
    throw other;
  }
}

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
  async run({ client, out, files, prompt, clock }, { path, mount, cas, data: pairs }) {
    const data = await readData(
      pairs,
      { files, prompt, out },
      { lists: false, newPasswords: true },
    );
    if (data === null) throw new UsageError("there is no data", "give name=value, or - for JSON");
    const place = (await findKv(client, path, mount)).needKey();
    if (cas !== undefined) place.needVersions();
    if (place.version === 1) {
      await kv1.write(client, place.mount, { ...place.secret, data });
      return out.done(`Success! Data written to: ${place.label}`);
    }
    const options = cas === undefined ? {} : { options: { cas } };
    const answer = await kv.write(client, place.mount, { ...place.secret, data, ...options });
    await showWritten(out, place, answer, clock.now());
  },
});

export const kvPatch = command({
  name: "kv patch",
  summary: "Change some members of a secret and keep the others",
  description:
    "Makes a new version of the newest one, on the server and in one step; it needs the capability " +
    "patch, and not read. Values are given as for put; null in JSON, or -remove, takes a member away.",
  examples: [
    "holdfast kv patch secret/app password=@password.txt",
    "holdfast kv patch -remove user secret/app",
    "holdfast kv patch secret/app - < change.json",
  ],
  flags: {
    ...MOUNT_FLAG,
    ...CAS_FLAG,
    remove: flag.string("Take this member away", "NAME").repeated(),
  },
  args: {
    path: argument.required(KEY_HELP, { words: "kv" }),
    data: argument.rest("name=value, name=@file, name=-, or - for JSON on standard input"),
  },
  async run({ client, out, files, prompt, clock }, { path, mount, cas, remove, data: pairs }) {
    const changed =
      (await readData(pairs, { files, prompt, out }, { lists: false, newPasswords: true })) ?? {};
    const data: JsonObject = {
      ...changed,
      ...Object.fromEntries(remove.map((name) => [name, null])),
    };
    if (Object.keys(data).length === 0) {
      throw new UsageError("there is nothing to change", "give name=value, - for JSON, or -remove");
    }
    const place = (await findKv(client, path, mount)).needKey().needVersions();
    const answer = await kv.patch(client, place.mount, {
      ...place.secret,
      data,
      ...(cas === undefined ? {} : { options: { cas } }),
    });
    await showWritten(out, place, answer, clock.now());
  },
});

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

export const kvMove: Command = relocation("move", {
  summary: "Move a secret, or a folder of them, inside its mount",
  rights: "It needs delete on the source and create on the target.",
});

export const kvCopy: Command = relocation("copy", {
  summary: "Copy a secret, or a folder of them, inside its mount",
  rights: "It needs read on the source and create on the target.",
});

function relocation(
  verb: "move" | "copy",
  { summary, rights }: { readonly summary: string; readonly rights: string },
): Command {
  return command({
    name: `kv ${verb}`,
    summary,
    description:
      `All versions go along; the data never leaves the server. ${rights} -recursive takes a folder, ` +
      "each secret in one step of its own.",
    examples: [
      `holdfast kv ${verb} secret/app secret/shop/app`,
      `holdfast kv ${verb} -recursive secret/shop secret/old/shop`,
    ],
    flags: { ...MOUNT_FLAG, ...CAS_FLAG, recursive: flag.switch("All secrets below FROM") },
    args: {
      from: argument.required(KEY_HELP, { words: "kv" }),
      to: argument.required("Path that it gets, in the same mount"),
    },
    async run(context, { from, to, mount, cas, recursive }) {
      const { client, out } = context;
      const source = (await findKv(client, from, mount)).needVersions();
      const target = await findKv(client, to, mount);
      if (target.mount !== source.mount) {
        throw new UsageError(
          `${source.label} and ${target.label} are in two mounts, and cannot be reached in one step`,
          "read from the one and put into the other: `kv get -format json`, `kv put PATH -`",
        );
      }
      if (!recursive) [source, target].forEach((place) => place.needKey());
      const count = await relocate(context, source, verb, {
        from: source.key,
        to: target.key,
        ...(recursive ? { recursive } : {}),
        ...(cas === undefined ? {} : { cas }),
      });
      const done = verb === "move" ? "Moved" : "Copied";
      const what = recursive ? `${count} ${count === 1 ? "secret" : "secrets"} from ` : "";
      const sentence = `Success! ${done} ${what}${source.label} to ${target.label}`;
      await out.show({ [done.toLowerCase()]: count }, { text: sentence });
    },
  });
}

/** Until the server has no more: of a folder it takes so many at a time. How many went. */
async function relocate(
  context: Context,
  source: KvPlace,
  verb: "move" | "copy",
  input: kv.MoveInput,
): Promise<number> {
  let count = 0;
  let after: string | undefined;
  for (;;) {
    const { done, next } = await relocateSome(context, source, verb, { ...input, after });
    count += done;
    if (next === undefined || next === "") break;
    after = next;
    context.progress(`${verb === "move" ? "moving" : "copying"} ${source.label}: ${count} done`);
  }
  context.quiet();
  return count;
}

async function relocateSome(
  { client }: Context,
  { mount }: KvPlace,
  verb: "move" | "copy",
  input: kv.MoveInput,
): Promise<{ readonly done: number; readonly next: string | undefined }> {
  if (verb === "copy") {
    const { copied, next } = (await kv.copy(client, mount, input)).data;
    return { done: copied, next };
  }
  const { moved, next } = (await kv.move(client, mount, input)).data;
  return { done: moved, next };
}
