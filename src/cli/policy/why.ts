// `holdfast policy why`: whether a token may do something, and the reason, laid out for people.

import { showDuration } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Client } from "@holdfast/client/client";
import * as policies from "@holdfast/client/api/policies";
import * as tokens from "@holdfast/client/api/tokens";
import { findAccessor } from "../token/accessors.ts";
import { argument } from "../line/argument.ts";
import { command, type Context } from "../command.ts";
import { readData } from "../line/data-arguments.ts";
import { flag } from "../line/flag.ts";
import { inspectionText } from "./inspection-view.ts";
import { readDocument } from "./document-files.ts";
import { isPolicy, LEVELS } from "./kinds.ts";
import { tokenOf } from "../token/fields.ts";
import { UsageError } from "../line/usage-error.ts";

const OPERATIONS = ["create", "read", "update", "patch", "delete", "list", "scan"] as const;

export const policyWhy = command({
  name: "policy why",
  summary: "Tell whether a token may do something, why, and what would allow it",
  description:
    "Nothing is done but asking; it needs a management token, or sudo on sys/inspect/request. ACCESSOR " +
    "may be cut short; self is the present token, - a token with the policies of -policy, or nobody. " +
    "-try asks as if a document were stored already.",
  examples: [
    "holdfast policy why c8427da3 update secret/shop/prices",
    "holdfast policy why self list sys/namespaces",
    "holdfast policy why c8427da3 update secret/shop/prices price=12 -wrap-ttl 60s",
    "holdfast policy why -policy readonly - read secret/shop/prices",
    "holdfast policy why -try readonly=new.hcl c8427da3 update secret/shop/prices",
    "holdfast policy why -try egp/hours=hours.cel -at 2026-03-01T03:00:00Z c8427da3 read secret/a",
  ],
  flags: {
    policy: flag.string("With - as ACCESSOR: a policy that the token has", "NAME").repeated(),
    try: flag.pair("As if this were stored: [acl/|rgp/|egp/]NAME=FILE").repeated(),
    level: flag.oneOf(LEVELS, "Level of RGPs and EGPs that are tried (hard-mandatory)"),
    paths: flag.string("Paths of EGPs that are tried (*)", "PATH").repeated(),
    wrapTtl: flag.duration("Wrapping that the request asks for"),
    from: flag.string("Address that the request comes from", "IP"),
    at: flag.string("When it comes: 2026-03-01T10:00:00Z", "TIME"),
  },
  args: {
    accessor: argument.required("Accessor of the token or the beginning of it, self, or -"),
    operation: argument.oneOf(OPERATIONS, "What is to be done"),
    path: argument.required("Path, with or without /v1/ in front"),
    data: argument.rest("Parameters of the request: name=value, name=@file"),
  },
  async run(context, { accessor, operation, path, data, policy, wrapTtl, from, at, ...trial }) {
    const { client, out, settings } = context;
    if (policy.length > 0 && accessor !== "-") {
      throw new UsageError("-policy is for a token that does not exist: give - as ACCESSOR");
    }
    const target = path.replace(/^\/+/, "").replace(/^v1\//, "");
    const { data: found } = await policies.inspectRequest(client, {
      ...(await subject(client, accessor, policy)),
      operation,
      path: target,
      ...(data.length === 0 ? {} : { data: (await readData(data, context)) ?? undefined }),
      ...(wrapTtl === undefined ? {} : { wrap_ttl: showDuration(wrapTtl) }),
      ...(from === undefined ? {} : { remote_address: from }),
      ...(at === undefined ? {} : { time: at }),
      ...(settings.policyOverride ? { policy_override: true } : {}),
      ...(trial.try.length === 0 ? {} : { documents: await documentsOf(context, trial) }),
    });
    await warnOfAbsent(context, policy, trial.try);
    const text = inspectionText(found, { operation, path: target });
    // Rules are there to be copied.
    await out.show(found, { text, flows: (line) => !line.startsWith('  path "') });
  },
});

async function subject(
  client: Client,
  accessor: string,
  names: readonly string[],
): Promise<Pick<policies.InspectRequestInput, "policies" | "token_accessor">> {
  if (accessor === "-") return names.length === 0 ? {} : { policies: names };
  if (accessor !== "self") return { token_accessor: await findAccessor(client, accessor) };
  const { AccessorID } = tokenOf((await tokens.readSelfToken(client)).data);
  return { token_accessor: AccessorID };
}

/** A name that no policy has grants nothing, as a mistyped one does. */
async function warnOfAbsent(
  { client, out }: Context,
  names: readonly string[],
  tried: Trial["try"],
): Promise<void> {
  const documents = new Set(tried.map(([name]) => name.replace(/^(?:acl|rgp)\//, "")));
  for (const name of new Set(names)) {
    if (documents.has(name)) continue;
    const kinds = [await isPolicy(client, "acl", name), await isPolicy(client, "rgp", name)];
    if (kinds.every((there) => there === false)) out.warn(`there is no policy ${name}`);
  }
}

interface Trial {
  readonly try: readonly (readonly [name: string, file: string])[];
  readonly level: string | undefined;
  readonly paths: readonly string[];
}

async function documentsOf(
  context: Pick<Context, "files" | "prompt">,
  { try: files, level, paths }: Trial,
): Promise<JsonObject[]> {
  const documents: JsonObject[] = [];
  for (const [named, file] of files) {
    const [, type = "acl", name] = /^(?:(acl|rgp|egp)\/)?(.+)$/.exec(named) ?? [];
    const { text } = await readDocument(context, file);
    documents.push({
      type,
      name,
      policy: text,
      ...(type === "acl" || level === undefined ? {} : { enforcement_level: level }),
      ...(type === "egp" && paths.length > 0 ? { paths: paths.join(",") } : {}),
    });
  }
  return documents;
}
