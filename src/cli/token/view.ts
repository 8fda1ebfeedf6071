// A token as people see it: lines for one, a table for many. Secrets are hidden
// unless a command says that this is where they are told.

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { isOver } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { instantOf, longTime, shortTime } from "../terminal/relative-time.ts";
import type { View } from "../terminal/output.ts";
import { table } from "../terminal/table.ts";
import { oneLine, pad } from "../terminal/text.ts";
import { NONE, showValue } from "../terminal/value.ts";
import { UsageError } from "../line/usage-error.ts";

const HIDDEN = "<hidden>";
const NOT_APPLICABLE = "n/a";

/** Flags of every command that prints one token. */
export const TOKEN_FLAGS = { quiet: flag.switch("Print the accessor alone") };
/** Where the secret is not what was asked for. */
export const SECRET_FLAG = { showSecret: flag.switch("Show the secret") };

export interface TokenViewOptions {
  readonly secret: "shown" | "hidden";
  readonly quiet?: boolean;
  /** Of an answer that holds more than the token: all of it, for programs. */
  readonly around?: (token: JsonObject) => JsonValue;
}

/** Refuses -field SecretID where the secret would be hidden: an empty line could pass for it. */
export function checkSecretField(
  { settings }: Pick<Context, "settings">,
  showSecret: boolean,
): void {
  if (settings.field !== "SecretID" || showSecret) return;
  throw new UsageError("the secret is hidden here", "add -show-secret to see it");
}

export async function showToken(
  { out, clock }: Pick<Context, "out" | "clock">,
  token: JsonObject,
  { secret, quiet = false, around = (inner) => inner }: TokenViewOptions,
): Promise<void> {
  // Empty for programs, as in a record that was asked for without its secret.
  const visible = secret === "shown" ? token : { ...token, SecretID: "" };
  if (quiet) return out.text(showValue(token["AccessorID"]));
  const lines = tokenLines(token, clock.now(), secret === "shown");
  await out.show(around(visible), { text: textOf(lines, token) }, visible);
}

type Line = readonly [name: string, value: string];

/** Name and value of each line, in the order of the record. */
export function tokenLines(token: JsonObject, now: Instant, showSecret: boolean): readonly Line[] {
  const management = token["Type"] === "management";
  const policies = management ? NOT_APPLICABLE : showValue(token["Policies"]);
  return [
    ["Accessor ID", showValue(token["AccessorID"])],
    ["Secret ID", showSecret ? showValue(token["SecretID"]) : HIDDEN],
    ["Name", showValue(token["Name"])],
    ["Type", showValue(token["Type"])],
    ["Global", showValue(token["Global"])],
    ["Create Time", longTime(token["CreateTime"], now)],
    ["Expiry Time", longTime(token["ExpirationTime"], now)],
    ["Create Index", showValue(token["CreateIndex"])],
    ["Modify Index", showValue(token["ModifyIndex"])],
    ...(token["KeptFrom"] === undefined
      ? []
      : ([["Kept From", showValue(token["KeptFrom"])]] as const)),
    ["Policies", policies],
    ...(management ? ([["Roles", NOT_APPLICABLE]] as const) : []),
  ];
}

export function lineText(lines: readonly Line[]): string {
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${pad(name, width)} = ${oneLine(value)}`).join("\n");
}

function textOf(lines: readonly Line[], token: JsonObject): string {
  return lineText(lines) + (token["Type"] === "management" ? "" : `\n\nRoles\n${rolesOf(token)}`);
}

function rolesOf({ Roles: roles }: JsonObject): string {
  if (!Array.isArray(roles) || roles.length === 0) return NONE;
  const rows = roles.filter(isObject).map(({ ID, Name }) => [showValue(ID), showValue(Name)]);
  return table(["ID", "Name"], rows, { width: null, heading: (text) => text });
}

const COLUMNS = ["Name", "Type", "Global", "Accessor ID", "Expired"];
const WIDE_COLUMNS = ["Policies", "Expires", "Created"];

export function tokensView(tokens: readonly JsonObject[], now: Instant, wide: boolean): View {
  const rows = tokens.map((token) => [
    token["Name"],
    token["Type"],
    token["Global"],
    token["AccessorID"],
    isExpired(token, now),
    ...(wide ? wideCells(token, now) : []),
  ]);
  const columns = wide ? [...COLUMNS, ...WIDE_COLUMNS] : COLUMNS;
  return { columns, rows, whole: ["Accessor ID"] };
}

function wideCells(token: JsonObject, now: Instant): (JsonValue | undefined)[] {
  const policies = token["Type"] === "management" ? NOT_APPLICABLE : token["Policies"];
  return [policies, shortTime(token["ExpirationTime"], now), shortTime(token["CreateTime"], now)];
}

/** By this machine's clock. */
export function isExpired(token: JsonObject, now: Instant): boolean {
  return isOver(instantOf(token["ExpirationTime"]), now);
}
