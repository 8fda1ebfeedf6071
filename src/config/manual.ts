// The settings as tables for docs/operations/configuration.md: written from the declaration, and
// compared with it by a test.

import type { Field, Fields } from "./schema.ts";
import { SETTINGS } from "./settings.ts";

export interface ManualTable {
  /** As it is written in a file: `listener "tcp"`; empty for the top. */
  readonly title: string;
  readonly help: string;
  /** Key, what is accepted, default, what it is. */
  readonly rows: readonly (readonly [string, string, string, string])[];
}

/** In the order of the declaration, the top first. */
export function manualTables(): ManualTable[] {
  return tablesOf("", "", SETTINGS);
}

/** Keys that are refused by name, with the reason. */
export function absentKeys(): (readonly [string, string])[] {
  return absentIn("", SETTINGS);
}

export function renderManual(): string {
  const tables = manualTables().map(({ title, help, rows }) => {
    const heading = title === "" ? "### At the top" : `### \`${title}\`\n\n${help}.`;
    const lines = rows.map(
      (row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`,
    );
    const head = ["| Key | Accepted | Default | What it is |", "| --- | --- | --- | --- |"];
    return rows.length === 0 ? heading : [heading, "", ...head, ...lines].join("\n");
  });
  const absent = absentKeys().map(([key, why]) => `| \`${key}\` | ${why} |`);
  const refused = [
    "### Refused by name",
    "",
    "| Key | Not in this version |",
    "| --- | --- |",
    ...absent,
  ];
  return [...tables, refused.join("\n")].join("\n\n");
}

function tablesOf(title: string, help: string, fields: Fields): ManualTable[] {
  const rows: [string, string, string, string][] = [];
  const inner: ManualTable[] = [];
  for (const [key, entry] of Object.entries(fields)) {
    const name = title === "" ? key : `${title} ${key}`;
    if (entry.kind === "field") rows.push([`\`${key}\``, entry.form, entry.display, helpOf(entry)]);
    if (entry.kind === "section") inner.push(...tablesOf(name, entry.help, entry.fields));
    if (entry.kind !== "blocks") continue;
    for (const [type, kind] of Object.entries(entry.kinds)) {
      if (kind.kind === "absent") continue;
      const label = entry.labels === 1 ? `${name} "${type}"` : `${name} "${type}" "…"`;
      inner.push(...tablesOf(label, `${entry.help}. ${kind.help}`, kind.fields));
    }
  }
  // A section in which everything is refused is told of where refusals are.
  const own = rows.length > 0 || inner.length === 0 ? [{ title, help, rows }] : [];
  return own.length > 0 && rows.length === 0 && isRefused(fields) ? inner : [...own, ...inner];
}

function isRefused(fields: Fields): boolean {
  const entries = Object.values(fields);
  return entries.length > 0 && entries.every(({ kind }) => kind === "absent");
}

function absentIn(prefix: string, fields: Fields): (readonly [string, string])[] {
  return Object.entries(fields).flatMap(([key, entry]): (readonly [string, string])[] => {
    const name = `${prefix}${key}`;
    if (entry.kind === "absent") return [[name, entry.why]];
    if (entry.kind === "section") return absentIn(`${name}.`, entry.fields);
    if (entry.kind === "field") return [];
    return Object.entries(entry.kinds).flatMap(([type, kind]) =>
      kind.kind === "absent"
        ? [[`${name} "${type}"`, kind.why] as const]
        : absentIn(`${name} "${type}" `, kind.fields),
    );
  });
}

function helpOf({ help, env, reloads }: Field<unknown>): string {
  const notes = [
    ...(env === null ? [] : [`overridden by \`${env}\``]),
    ...(reloads ? ["taken over on SIGHUP"] : []),
  ];
  return notes.length === 0 ? help : `${help} (${notes.join("; ")})`;
}
