// `holdfast read`, `write`, `patch`, `delete`, `list` and `path-help`: any path of the API.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import * as mounts from "@holdfast/client/api/mounts";
import {
  hasRegion,
  type Answer,
  type Ask,
  type Client,
  type Query,
  type Verb,
} from "@holdfast/client/client";
import { typedPath } from "@holdfast/client/request-path";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { showAnswer } from "../answer-view.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { readData, readQuery } from "../line/data-arguments.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { showValue } from "../terminal/value.ts";
import { readingClient, RECOVER_FLAG, recoveringClient, SNAPSHOT_FLAG } from "../snapshot-flag.ts";
import { WRAP_FLAG, wrappingClient } from "../wrap-flag.ts";

const PATH = argument.required("Path, with or without /v1/ in front", { words: "paths" });
const PARAMETERS = argument.rest("name=value pairs for the query");
const DATA = argument.rest("name=value, name=@file, name=-, or - for JSON on standard input");

const takesRegion = ({ path }: { readonly path: string }) => hasRegion(typedPath(path));

export const read = command({
  name: "read",
  summary: "Read any path",
  examples: [
    "holdfast read sys/key-status",
    "holdfast read -field term sys/key-status",
    "holdfast read sys/metrics format=prometheus",
  ],
  flags: { ...WRAP_FLAG, ...SNAPSHOT_FLAG },
  args: { path: PATH, parameters: PARAMETERS },
  takesRegion,
  async run({ client, out, files, prompt }, { path, parameters, wrapTtl, snapshotId }) {
    const query = await readQuery(parameters, { files, prompt, out });
    const reader = readingClient(wrappingClient(client, wrapTtl), snapshotId);
    const answer = await ask(reader, "GET", path, { query });
    await showAnswer(out, answer, "There is nothing to show.");
  },
});

export const write = command({
  name: "write",
  summary: "Write data to any path",
  description:
    "Values are sent as text. A value that begins with @ is read from the file named after it, the " +
    "value - from standard input, both byte for byte; on a terminal - asks without echo. \\@ and \\- " +
    "stand for the characters themselves. - alone takes the whole body as a JSON object from standard " +
    "input. A name given twice becomes a list.",
  examples: [
    "holdfast write sys/audit-hash/file input=@secret.txt",
    "holdfast write auth/userpass/users/ada token_policies=ops password=-",
    "holdfast write sys/namespaces/team - < team.json",
    "holdfast write -force sys/rotate",
  ],
  flags: { force: flag.switch("Write without data"), ...WRAP_FLAG },
  args: { path: PATH, data: DATA },
  takesRegion,
  async run({ client, out, files, prompt }, { force, path, data, wrapTtl }) {
    typedPath(path); // before anybody is asked for a value
    const newPasswords = isSetting(path);
    const body = await readData(data, { files, prompt, out }, { newPasswords });
    if (body === null && !force) {
      throw new UsageError("there is no data", "give name=value, or -force to write without any");
    }
    const answer = await ask(
      wrappingClient(client, wrapTtl),
      "POST",
      path,
      body === null ? {} : { body },
    );
    await showAnswer(out, answer, `Success! Data written to: ${path}`);
  },
});

export const patch = command({
  name: "patch",
  summary: "Change part of what is at a path",
  description:
    "A JSON merge patch: members that are named change, null (in JSON on standard input) takes one " +
    "away, all others stay. Values are given as for write.",
  examples: ["holdfast patch sys/namespaces/team - < change.json"],
  flags: WRAP_FLAG,
  args: { path: PATH, data: DATA },
  takesRegion,
  async run({ client, out, files, prompt }, { path, data, wrapTtl }) {
    typedPath(path);
    const newPasswords = isSetting(path);
    const body = await readData(data, { files, prompt, out }, { newPasswords });
    if (body === null) throw new UsageError("there is no data", "give name=value, or - for JSON");
    const answer = await ask(wrappingClient(client, wrapTtl), "PATCH", path, { body });
    await showAnswer(out, answer, `Success! Data patched at: ${path}`);
  },
});

/** Whether a password that is written there is set, and not shown to be known, as at a login. */
function isSetting(path: string): boolean {
  return !/(?:^|\/)login(?:\/|$)/.test(path);
}

export const recover = command({
  name: "recover",
  summary: "Write back what a loaded snapshot held at a path",
  description:
    "For policies, roles of engines and key/value secrets (`kv recover` finds their paths). It needs read, and create or " +
    "update. `read -snapshot-id` shows what would be written.",
  examples: [
    "holdfast recover -snapshot-id 6f0c9a3e-5f0e-4f0a-9d6b-0b2f6c1d7a55 sys/policies/acl/dev",
  ],
  flags: RECOVER_FLAG,
  args: { path: PATH },
  async run({ client, out }, { path, snapshotId }) {
    const answer = await ask(recoveringClient(client, snapshotId), "POST", path, {}, "recover");
    await showAnswer(out, answer, `Success! Data recovered at: ${path}`);
  },
});

export const remove = command({
  name: "delete",
  summary: "Delete what is at a path",
  examples: ["holdfast delete sys/namespaces/team"],
  flags: {},
  args: { path: PATH, parameters: PARAMETERS },
  takesRegion,
  async run({ client, out, files, prompt }, { path, parameters }) {
    const query = await readQuery(parameters, { files, prompt, out });
    const answer = await ask(client, "DELETE", path, { query });
    const going = answer.status === 202;
    const done = `Success! Data deleted (if it existed) at: ${path}`;
    await showAnswer(
      out,
      answer,
      going ? `The deletion of ${path} goes on in the background.` : done,
    );
  },
});

export const list = command({
  name: "list",
  summary: "List names below a path",
  description: "Folders end in a slash. Nothing there: exit code 3.",
  examples: ["holdfast list sys/namespaces", "holdfast list -format json sys/namespaces"],
  flags: { ...WRAP_FLAG, ...SNAPSHOT_FLAG },
  args: { path: PATH, parameters: PARAMETERS },
  takesRegion,
  async run({ client, out, files, prompt }, { path, parameters, wrapTtl, snapshotId }) {
    const query = await readQuery(parameters, { files, prompt, out });
    const folder = path.replace(/\/+$/, "");
    const reader = readingClient(wrappingClient(client, wrapTtl), snapshotId);
    const answer = await orEmpty(ask(reader, "LIST", folder, { query }));
    if (answer === null) {
      out.hint(`Nothing is listed at ${folder}.`);
      if (!out.forPeople) await out.show([], { text: "" }, { keys: [] });
      return 3;
    }
    if (wrapTtl !== undefined) {
      await showAnswer(out, answer, "There is nothing to show.");
      return 0;
    }
    const { data } = answer;
    const keys = isObject(data) && Array.isArray(data["keys"]) ? data["keys"] : [];
    await out.show(keys, { columns: ["Keys"], rows: keys.map((key) => [key]) }, data);
    return 0;
  },
});

/** Null where the server lists nothing: that is an answer, though it comes as 404 without a text. */
async function orEmpty(listing: Promise<Answer>): Promise<Answer | null> {
  try {
    return await listing;
  } catch (error) {
    const empty = error instanceof ApiError && error.status === 404 && error.errors.length === 0;
    if (empty) return null;
    throw error;
  }
}

const KV_COMMANDS: Readonly<Record<Verb, string>> = {
  GET: "get",
  LIST: "list",
  POST: "put",
  PATCH: "patch",
  DELETE: "delete",
};

/** What is at a path that a person typed. */
export function readTyped(client: Client, typed: string, query: Query): Promise<Answer> {
  return client.request("GET", typedPath(typed), { query });
}

/** Where a path is that of a secret in a mount with versions, the refusal says which command is meant. */
async function ask(
  client: Client,
  verb: Verb,
  typed: string,
  options: Ask,
  meant = KV_COMMANDS[verb],
): Promise<Answer> {
  const path = typedPath(typed);
  try {
    return await client.request(verb, path, options);
  } catch (error) {
    const stray = error instanceof ApiError && error.says("unsupported path");
    const mount = stray && !/^(?:sys|acl)\//.test(path) ? await versionedMount(client, path) : null;
    if (!(error instanceof ApiError) || mount === null) throw error;
    const key = decodeURIComponent(path).slice(mount.length);
    throw new AdvisedFailure(
      "not-found",
      "kv-data-path",
      `${verb} ${path}: ${error.message} (status ${error.status})`,
      `${mount} keeps versions of secrets: use \`holdfast kv ${meant} ${mount}${key}\``,
    );
  }
}

/** The kv mount of version 2 that serves a path, with slash; null for any other, or none to be seen. */
async function versionedMount(client: Client, path: string): Promise<string | null> {
  try {
    const input = { path: decodeURIComponent(path) };
    const now = client.ofNow().unwatched();
    const { data } = await mounts.readServingMount(now, input, { untold: /./ });
    const { path: at, type, options } = data;
    return type === "kv" && showValue(options?.["version"]) === "2" ? at : null;
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

export const pathHelp = command({
  name: "path-help",
  summary: "Explain a path of the API, as the server documents it",
  examples: ["holdfast path-help sys/unseal"],
  flags: {},
  args: { path: argument.required("Path, with or without /v1/ in front") },
  takesRegion,
  async run({ client, out }, { path }) {
    const { body, data } = await readTyped(client, path.replace(/\/+$/, ""), { help: 1 });
    const help = textIn(data) ?? textIn(body);
    if (help === undefined) await out.record(data);
    else await out.show(body, { text: help });
  },
});

function textIn(value: JsonValue | undefined): string | undefined {
  const { help }: JsonObject = isObject(value) ? value : {};
  return typeof help === "string" ? help : undefined;
}
