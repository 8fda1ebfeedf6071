// `holdfast policy list`, `read`, `write` and `delete`: policies on the server.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { showDuration } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import { ApiError } from "@holdfast/client/api-error";
import type * as policies from "@holdfast/client/api/policies";
import type { Answer, Client } from "@holdfast/client/client";
import { showAnswer } from "../answer-view.ts";
import { command, type Context } from "../command.ts";
import { DOCUMENT_HELP, readDocument } from "./document-files.ts";
import {
  isPolicy,
  KIND_FLAG,
  LEVELS,
  NAME_HELP,
  nounOf,
  POLICY_CALLS,
  POLICY_KINDS,
  type AnyPolicy,
  type PolicyKind,
} from "./kinds.ts";
import { afterColon, argument } from "../line/argument.ts";
import { flag, ValueFlag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { readingClient, SNAPSHOT_FLAG } from "../snapshot-flag.ts";
import type { Output, View } from "../terminal/output.ts";
import { shortTime } from "../terminal/relative-time.ts";
import { memberOf, showValue } from "../terminal/value.ts";

export const policyList = command({
  name: "policy list",
  summary: "List policies of one kind",
  description:
    "Those of the present namespace. EGPs are listed with the paths that they govern. Names may hold " +
    "slashes: with PREFIX only what lies in that folder is listed, folders in it with a slash.",
  examples: [
    "holdfast policy list",
    "holdfast policy list team/",
    "holdfast policy list -type egp -wide",
    "holdfast policy list -namespace team -format json",
  ],
  flags: {
    ...KIND_FLAG,
    wide: flag.switch("More columns: level, version, last change"),
    ...SNAPSHOT_FLAG,
  },
  args: { prefix: argument.optional("Only names below this folder") },
  async run({ client, out, clock }, { type, wide, snapshotId, prefix = "" }) {
    const folder = /^\/*$/.test(prefix) ? "" : prefix;
    const { list, listDetailed } = POLICY_CALLS[type];
    const reader = readingClient(client, snapshotId);
    const data = await listing((wide ? listDetailed : list)(reader, folder));
    const names = data === null ? [] : data.keys;
    if (names.length === 0) out.hint(`No ${nounOf(type)} found.`);
    if (names.length === 0 && out.forPeople) return 3;
    const view = wide ? wideView(type, names, data ?? {}, clock.now()) : viewOf(names, data ?? {});
    await out.show(wide ? (data ?? {}) : names, view, data ?? {});
    return names.length === 0 ? 3 : 0;
  },
});

/** Null for an empty list. */
async function listing<T>(answering: Promise<Answer<T>>): Promise<T | null> {
  try {
    return (await answering).data;
  } catch (error) {
    // The API answers an empty list as "not found" and gives no text with it.
    if (error instanceof ApiError && error.status === 404 && error.errors.length === 0) return null;
    throw error;
  }
}

function viewOf(names: readonly string[], data: JsonValue | undefined): View {
  const paths = memberOf(data, "name_path_map");
  if (!isObject(paths)) return { columns: ["Name"], rows: names.map((name) => [name]) };
  const rows = names.map((name) => [name, pathsText(paths[name])]);
  return { columns: ["Name", "Paths"], rows, whole: ["Name"] };
}

function wideView(
  kind: PolicyKind,
  names: readonly string[],
  data: JsonValue | undefined,
  now: Instant,
): View {
  const rows = names.map((name) => {
    const found = isObject(data) && isObject(data["key_info"]) ? data["key_info"][name] : undefined;
    const { enforcement_level, paths, version, modified } = isObject(found) ? found : {};
    const level = kind === "acl" ? [] : [enforcement_level];
    const guarded = kind === "egp" ? [Array.isArray(paths) ? paths.join(", ") : ""] : [];
    return [name, ...level, ...guarded, version, shortTime(modified, now)];
  });
  const level = kind === "acl" ? [] : ["Level"];
  const guarded = kind === "egp" ? ["Paths"] : [];
  return { columns: ["Name", ...level, ...guarded, "Version", "Changed"], rows, whole: ["Name"] };
}

/** As they were written: the API cuts the star off and says so beside the path. */
function pathsText(entries: JsonValue | undefined): string {
  const texts = (Array.isArray(entries) ? entries : []).filter(isObject).map(({ path, glob }) => {
    return `${typeof path === "string" ? path : ""}${glob === true ? "*" : ""}`;
  });
  return texts.join(", ");
}

export const policyRead = command({
  name: "policy read",
  summary: "Print a policy",
  description:
    "Its document goes to standard output, as it was written, so that it can be kept in a file; what " +
    "else is known of it goes to standard error. -format json gives everything in one.",
  examples: [
    "holdfast policy read readonly > readonly.hcl",
    "holdfast policy read -field version readonly",
    "holdfast policy read -type egp office-hours",
  ],
  flags: { ...KIND_FLAG, ...SNAPSHOT_FLAG },
  args: { name: argument.required(NAME_HELP, { words: "policies" }) },
  async run({ client, out }, { type, name, snapshotId }) {
    const { data } = await POLICY_CALLS[type].read(readingClient(client, snapshotId), { name });
    const { policy, enforcement_level, paths, version, expiration } = data;
    if (!out.forPeople) return out.record(data);
    const facts = [
      ["version", version],
      ["level", enforcement_level],
      ["paths", paths?.map(showValue).join(", ")],
      ["ends", expiration],
    ] as const;
    const known = facts.filter(([, value]) => value !== undefined && value !== null);
    if (known.length > 0)
      out.hint(known.map(([what, value]) => `${what} ${showValue(value)}`).join("; "));
    if (policy === "") out.hint("It has no document.");
    out.text(typeof policy === "string" ? policy : "");
  },
});

export const policyWrite = command({
  name: "policy write",
  summary: "Write a policy; it counts for the next request",
  description:
    "A new RGP needs -level, a new EGP -level and -paths. Of a policy that exists, what is not given " +
    "stays as it is, the document too. -dry-run lets the server check everything, tests in the " +
    "document included, and stores nothing.",
  examples: [
    "holdfast policy write readonly readonly.hcl",
    "holdfast policy write -dry-run readonly - < readonly.hcl",
    "holdfast policy write -cas 3 readonly readonly.hcl",
    "holdfast policy write -type rgp -level advisory office office.cel",
    "holdfast policy write -type egp -level soft-mandatory -paths 'secret/*' hours hours.cel",
    "holdfast policy write -type egp -level hard-mandatory hours",
  ],
  flags: {
    ...KIND_FLAG,
    level: flag.oneOf(LEVELS, "RGP and EGP: what a failure does"),
    paths: flag.string("EGP: path to govern; several with commas", "PATH").repeated(),
    cas: new ValueFlag(
      {
        placeholder: "N",
        accepts: "the version that is to be replaced, or -1 where there must be none",
        convert: (text) => (/^(\d{1,15}|-1)$/.test(text) ? Number(text) : undefined),
      },
      "Only if this is the stored version; -1: only if there is none",
    ),
    casRequired: flag.switch("From now on writes must give -cas"),
    ttl: flag.duration("The policy ends by itself after so long"),
    expiresAt: flag.string("When it ends, instead of -ttl: 2026-03-01T10:00:00Z", "TIME"),
    dryRun: flag.switch("Check and show what would be stored, and store nothing"),
  },
  args: {
    name: argument.required(NAME_HELP, { words: "policies" }),
    file: argument.optional(DOCUMENT_HELP),
  },
  async run(context, { type, name, file, level, paths, cas, casRequired, ttl, expiresAt, dryRun }) {
    const { client, out } = context;
    if (type === "acl" && level !== undefined)
      throw new UsageError("-level is for -type rgp and egp");
    if (type !== "egp" && paths.length > 0) throw new UsageError("-paths is for -type egp");
    if (ttl !== undefined && expiresAt !== undefined) {
      throw new UsageError("-ttl and -expires-at exclude each other");
    }
    const fields: PolicyFields = {
      ...(file === undefined ? {} : { policy: (await readDocument(context, file)).text }),
      ...(level === undefined ? {} : { enforcement_level: level }),
      ...(paths.length === 0
        ? {}
        : { paths: paths.flatMap((one) => one.split(",").map((path) => path.trim())) }),
      ...(casRequired ? { cas_required: true } : {}),
      ...(ttl === undefined ? {} : { ttl: showDuration(ttl) }),
      ...(expiresAt === undefined ? {} : { expiration: expiresAt }),
    };
    if (Object.keys(fields).length === 0)
      throw new UsageError(`FILE is missing: ${afterColon(DOCUMENT_HELP)}`);
    const input = { name, ...fields, ...(cas === undefined ? {} : { cas }) };
    const answer = await send(client, type, dryRun ? { ...input, dry_run: true } : input);
    if (dryRun)
      return showTrial(out, answer, `${nounOf(type)} ${name} is valid. Nothing was stored.`);
    await showAnswer(out, answer, `Success! ${nounOf(type)} written: ${name}`);
  },
});

/** What a policy must be written with when there is none of its name. */
const NEEDED: Readonly<
  Record<PolicyKind, readonly (readonly [member: keyof PolicyFields, label: string])[]>
> = {
  acl: [["policy", "a document"]],
  rgp: [
    ["policy", "a document"],
    ["enforcement_level", "-level"],
  ],
  egp: [
    ["policy", "a document"],
    ["enforcement_level", "-level"],
    ["paths", "-paths"],
  ],
};

type PolicyFields = Omit<policies.PatchEgpInput, "name">;

/** A whole policy is written, a part of one patched: nobody has to repeat, and mistype, its level. */
async function send(
  client: Client,
  kind: PolicyKind,
  input: policies.PatchEgpInput,
): Promise<Answer<AnyPolicy>> {
  const { write, patch } = POLICY_CALLS[kind];
  const missing = NEEDED[kind].filter(([member]) => !(member in input));
  // Whatever this kind needs is there; the others have no place in it.
  if (missing.length === 0) return write(client, input as policies.WriteEgpInput);
  try {
    return await patch(client, input);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const needed = missing.map(([, label]) => label).join(" and ");
    throw new UsageError(`there is no ${nounOf(kind)} ${input.name}; a new one needs ${needed}`);
  }
}

/** The document itself was given and need not be read again. */
async function showTrial(
  out: Output,
  { body, data }: Answer<AnyPolicy>,
  sentence: string,
): Promise<void> {
  out.done(sentence);
  const facts = Object.entries(data).filter(([name]) => name !== "policy");
  await out.show(body, { pairs: facts }, data);
}

export const policyDelete = command({
  name: "policy delete",
  summary: "Delete policies; it counts for the next request",
  description:
    "Tokens keep the name, which means nothing from then on. Without an RGP or EGP more is allowed " +
    "than before: a hard-mandatory one needs sudo. On a terminal it asks first.",
  examples: [
    "holdfast policy delete readonly",
    "holdfast policy delete -yes -type egp office-hours",
  ],
  flags: { ...KIND_FLAG, yes: flag.switch("Do not ask") },
  args: { name: argument.rest(`${NAME_HELP}; several are possible`, { words: "policies" }) },
  async run(context, { type, yes, name: names }) {
    const { client, out, prompt } = context;
    if (names.length === 0 || names.includes(""))
      throw new UsageError(`NAME is missing: ${afterColon(NAME_HELP)}`);
    if (!yes && prompt.interactive) {
      const what = names.length === 1 ? names[0] : `${names.length} policies`;
      if (!(await prompt.confirm(`Delete ${nounOf(type)} ${what}?`))) {
        out.hint("Nothing was deleted.");
        return 1;
      }
    }
    let code = 0;
    for (const name of new Set(names)) {
      // The server deletes what is not there without a word.
      if ((await isPolicy(client, type, name)) === false) {
        await tellAbsent(context, type, name);
        code = NOT_THERE;
        continue;
      }
      await POLICY_CALLS[type].delete(client, { name });
      out.done(`Success! ${nounOf(type)} deleted: ${name}`);
    }
    return code;
  },
});

const NOT_THERE = 3;

async function tellAbsent({ client, out }: Context, kind: PolicyKind, name: string): Promise<void> {
  let meant = "";
  for (const other of POLICY_KINDS) {
    if (other === kind || (await isPolicy(client, other, name)) !== true) continue;
    meant += `; there is an ${nounOf(other)} of that name: give -type ${other}`;
  }
  out.warn(`there is no ${nounOf(kind)} ${name}: nothing was deleted${meant}`);
}
