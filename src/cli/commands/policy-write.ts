// `holdfast policy write`

import { showDuration } from "@holdfast/shared/text/duration";
import { ApiError } from "@holdfast/client/api-error";
import type { Answer, Client } from "@holdfast/client/client";
import type * as policies from "@holdfast/client/api/policies";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag, ValueFlag } from "../flag.ts";
import { DOCUMENT_HELP, readDocument } from "../policy-files.ts";
import {
  KIND_FLAG,
  LEVELS,
  NAME_HELP,
  nounOf,
  POLICY_CALLS,
  type AnyPolicy,
  type PolicyKind,
} from "../policy-kinds.ts";
import type { Output } from "../terminal/output.ts";
import { UsageError } from "../usage-error.ts";

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
        convert: (given) => (/^(\d{1,15}|-1)$/.test(given) ? Number(given) : undefined),
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
    if (Object.keys(fields).length === 0) throw new UsageError(`FILE is missing: ${DOCUMENT_HELP}`);
    const input = { name, ...fields, ...(cas === undefined ? {} : { cas }) };
    const answer = await send(client, type, dryRun ? { ...input, dry_run: true } : input);
    if (dryRun)
      return showTrial(out, answer, `${nounOf(type)} ${name} is valid. Nothing was stored.`);
    await showAnswer(out, answer, `Success! ${nounOf(type)} written: ${name}`);
  },
});

/** What a policy must be written with when there is none of its name. */
const NEEDED: Readonly<
  Record<PolicyKind, readonly (readonly [member: keyof PolicyFields, shown: string])[]>
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
    const needed = missing.map(([, shown]) => shown).join(" and ");
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
