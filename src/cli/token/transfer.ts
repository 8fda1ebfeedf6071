// `holdfast acl token export` and `holdfast acl token import`: client tokens with their secrets, from one
// server to another. What is written is worth as much as the tokens.

import { wipe } from "@holdfast/shared/bytes";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import { isUuid } from "@holdfast/shared/text/uuid";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import { parseExact } from "@holdfast/client/exact-json";
import { ownBytes } from "@holdfast/client/utf8";
import { ACCESSOR_HELP, findAccessor } from "./accessors.ts";
import { argument } from "../line/argument.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { onOneLine } from "../advice/refusal-text.ts";
import { showValue } from "../terminal/value.ts";
import { listPages } from "./listing.ts";
import { readToken, uploadToken } from "./fields.ts";
import { isExpired } from "./view.ts";
import { UsageError } from "../line/usage-error.ts";

const MAX_FILE = 32 * 2 ** 20;
const KEPT = [
  "AccessorID",
  "SecretID",
  "Name",
  "Type",
  "Policies",
  "Global",
  "ExpirationTime",
] as const;

export const tokenExport = command({
  name: "acl token export",
  summary: "Write client tokens with their secrets to a file, for another server",
  description:
    "All that are not expired, or those that are named. Management tokens are left out: no server " +
    "takes them over. FILE is new and readable by you alone; - is standard output.",
  examples: [
    "holdfast acl token export tokens.json",
    "holdfast acl token export ci-token.json c8427da3",
    "holdfast acl token export - | ssh other holdfast acl token import -",
  ],
  flags: {},
  args: {
    file: argument.required("New file, or - for standard output"),
    accessor: argument.rest(ACCESSOR_HELP),
  },
  takesRegion: () => true,
  async run(context, { file, accessor: named }) {
    const { client, fs, out } = context;
    if (file !== "-" && fs.info(file) !== null) {
      throw new UsageError(`${file} exists already`, "name a new file");
    }
    const { accessors, left } = await chosen(context, named);
    const records: JsonObject[] = [];
    for (const accessor of accessors) {
      const token = await readToken(client, accessor);
      records.push(Object.fromEntries(KEPT.map((name) => [name, token[name] ?? null])));
      context.progress(`reading tokens: ${records.length} of ${accessors.length}`);
    }
    context.quiet();
    const text = `${JSON.stringify(records, null, 4)}\n`;
    if (file === "-") out.text(text);
    else {
      const bytes = ownBytes(text);
      try {
        fs.replace(file, bytes);
      } finally {
        wipe(bytes);
      }
    }
    const where = file === "-" ? "" : ` to ${file}, which holds their secrets: remove it after use`;
    out.hint(`Exported ${records.length} tokens${where}.`);
    if (left > 0) out.hint(`${left} management or expired tokens were left out.`);
    return records.length === 0 ? 3 : 0;
  },
});

async function chosen({ client, clock }: Context, named: readonly string[]) {
  if (named.length > 0) {
    const accessors: string[] = [];
    for (const one of named) {
      const accessor = await findAccessor(client, one);
      if ((await readToken(client, accessor))["Type"] !== "client") {
        throw new UsageError(`${accessor} is a management token, which no server takes over`);
      }
      accessors.push(accessor);
    }
    return { accessors, left: 0 };
  }
  const accessors: string[] = [];
  let left = 0;
  for await (const { tokens } of listPages(client, {})) {
    for (const token of tokens) {
      const usable = token["Type"] === "client" && !isExpired(token, clock.now());
      if (usable) accessors.push(showValue(token["AccessorID"]));
      else left++;
    }
  }
  return { accessors, left };
}

export const tokenImport = command({
  name: "acl token import",
  summary: "Take over the client tokens of a file that `export` wrote",
  description:
    "With accessors, secrets, policies and expiry as they were. A token that is there already stays as " +
    "it is, an expired one is left out. Exit code 1 when one was refused; the others are taken all the " +
    "same.",
  examples: [
    "holdfast acl token import tokens.json",
    "holdfast acl token import -dry-run tokens.json",
  ],
  flags: { dryRun: flag.switch("Only say what would be done") },
  args: { file: argument.required("File that export wrote, or - for standard input") },
  takesRegion: () => true,
  async run({ client, files, prompt, out, clock }, { file, dryRun }) {
    const text = file === "-" ? await prompt.whole(MAX_FILE) : files.text(file, MAX_FILE);
    const records = recordsIn(text, file === "-" ? "standard input" : file);
    const counts = { imported: 0, present: 0, expired: 0, refused: 0 };
    for (const { accessor, secret, fields } of records) {
      if (isExpired(fields, clock.now())) counts.expired++;
      else if (await isPresent(client, accessor)) counts.present++;
      else if (dryRun) counts.imported++;
      else {
        try {
          await uploadToken(client, accessor, secret, fields);
          counts.imported++;
        } catch (error) {
          if (!(error instanceof ApiError) || error.kind !== "invalid") throw error;
          counts.refused++;
          out.error(`${accessor}: ${onOneLine(error.message)}`, null);
        }
      }
    }
    const { imported, present, expired, refused } = counts;
    const summary = `${dryRun ? "Would import" : "Imported"} ${imported} tokens; ${present} are there already, ${expired} expired, ${refused} refused`;
    await out.show(counts, { text: summary });
    return refused > 0 ? 1 : 0;
  },
});

interface Record {
  readonly accessor: string;
  readonly secret: Secret<string>;
  readonly fields: JsonObject;
}

/** All are read before the first is sent. What is in the file is not repeated in messages. */
function recordsIn(text: string, from: string): Record[] {
  let value: JsonValue;
  try {
    value = parseExact(text);
  } catch {
    throw new UsageError(`${from} is not valid JSON`);
  }
  if (!Array.isArray(value)) throw new UsageError(`${from} must hold a list, as export writes it`);
  return value.map((one, i) => {
    const { AccessorID, SecretID, Type, Name, Policies, Global, ExpirationTime } = isObject(one)
      ? one
      : {};
    const [accessor, secret] = [uuidIn(AccessorID), uuidIn(SecretID)];
    if (accessor === null || secret === null || Type !== "client") {
      const what = "is no client token with AccessorID and SecretID";
      throw new UsageError(`token ${i + 1} in ${from} ${what}`);
    }
    const expiry = typeof ExpirationTime === "string" ? { ExpirationTime } : {};
    return {
      accessor,
      secret: new Secret(secret),
      fields: { Name, Type, Policies, Global, ...expiry },
    };
  });
}

function uuidIn(value: JsonValue | undefined): string | null {
  return typeof value === "string" && isUuid(value) ? value.toLowerCase() : null;
}

async function isPresent(client: Client, accessor: string): Promise<boolean> {
  try {
    await readToken(client, accessor);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
