// Help, out of the declarations.

import { ENVIRONMENT_HELP } from "@holdfast/client/node/environment";
import { displayName, type Argument } from "./line/argument.ts";
import { COMMAND_NAMES, GROUPS, loadCommand, SERVER, type Group } from "./catalogue.ts";
import type { Command } from "./command.ts";
import { flagName, type Flags } from "./line/flag.ts";
import { GLOBAL_FLAGS } from "./settings.ts";
import type { OutputStream } from "./terminal/output.ts";
import { pad, wrap } from "./terminal/text.ts";

const NARROWEST = 40;
const WIDEST = 100; // longer lines are hard to read

/** How wide help is written for a stream: as its terminal, 80 where there is none. */
export function helpWidth({ isTTY, columns = 0 }: OutputStream): number {
  if (isTTY !== true || columns <= 0) return 80;
  return Math.min(WIDEST, Math.max(NARROWEST, columns));
}

export async function overview(width: number): Promise<string> {
  const single = COMMAND_NAMES.filter((name) => !name.includes(" "));
  const commands = await Promise.all(single.map(loadCommand));
  const rows = [
    [SERVER.name, SERVER.summary] as const,
    ...commands.slice(0, 1).map(summaryRow),
    ...GROUPS.filter(({ name }) => !name.includes(" ")).map(
      ({ name, summary }) => [`${name} …`, summary] as const,
    ),
    ...commands.slice(1).map(summaryRow),
  ];
  return [
    "Usage: holdfast COMMAND [ARGUMENTS]\n\nCommands:\n",
    list(rows, width),
    "\nFlags of every command (one dash or two):\n",
    list(flagRows(GLOBAL_FLAGS), width),
    "\nEnvironment:\n",
    list(ENVIRONMENT_HELP, width),
    "\n",
    paragraph(
      "More: holdfast help COMMAND. Exit codes: 0 done, 1 failed, 2 wrong usage (of `status`: sealed), " +
        "3 not found, 4 permission denied.",
      width,
    ),
  ].join("");
}

export async function groupHelp(
  { name, summary, commands }: Group,
  width: number,
): Promise<string> {
  const loaded = await Promise.all(commands.map(loadCommand));
  return `Usage: holdfast ${name} COMMAND\n\n${summary}.\n\nCommands:\n${list(loaded.map(summaryRow), width)}`;
}

export function commandHelp(command: Command, width: number): string {
  const { name, summary, description, examples, flags, args } = command;
  const words = ["holdfast", name, ...Object.entries(args).map(argumentForm)];
  if (Object.keys(flags).length > 0) words.splice(2, 0, "[FLAGS]");
  const argumentRows = Object.entries(args).map(
    ([key, { help }]) => [displayName(key), help] as const,
  );
  const section = (title: string, text: string) => (text === "" ? "" : `\n${title}:\n${text}`);
  return [
    `Usage: ${words.join(" ")}\n\n`,
    paragraph(`${summary}.`, width),
    description === "" ? "" : `\n${paragraph(description, width)}`,
    section("Arguments", list(argumentRows, width)),
    section("Flags", list(flagRows(flags), width)),
    section("Examples", examples.map((example) => continued(example, width)).join("")),
    "\nFlags of every command: holdfast help\n",
  ].join("");
}

function summaryRow({ name, summary }: Command): readonly [string, string] {
  return [name, summary];
}

function argumentForm([key, { form }]: readonly [string, Argument<unknown>]): string {
  const name = displayName(key);
  return form === "required" ? name : form === "optional" ? `[${name}]` : `[${name} …]`;
}

function flagRows(flags: Flags): (readonly [string, string])[] {
  return Object.entries(flags).map(([key, { placeholder, help, fallback }]) => {
    const value = placeholder === null ? "" : ` ${placeholder}`;
    return [`-${flagName(key)}${value}`, fallback === "" ? help : `${help} (${fallback})`];
  });
}

function paragraph(text: string, width: number): string {
  return `${wrap(text, width).join("\n")}\n`;
}

/** A command over several lines as a shell takes it; what is in quotes stays in one. */
function continued(example: string, width: number): string {
  const words = example.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  const lines: string[] = [];
  let line = " ";
  for (const word of words) {
    const fits = line.trim() === "" || line.length + 1 + word.length + 2 <= width;
    if (!fits) {
      lines.push(`${line} \\`);
      line = "     ";
    }
    line += ` ${word}`;
  }
  return [...lines, line].map((one) => `${one}\n`).join("");
}

function list(rows: readonly (readonly [name: string, text: string])[], columns: number): string {
  const max = Math.max(16, Math.floor(columns * 0.35));
  const width = Math.min(max, Math.max(0, ...rows.map(([name]) => name.length)));
  return rows
    .map(([name, text]) => {
      const [first = "", ...more] = wrap(text, columns - width - 4);
      const head =
        name.length > width ? `  ${name}\n  ${pad("", width)}  ` : `  ${pad(name, width)}  `;
      return (
        [head + first, ...more.map((line) => `  ${pad("", width)}  ${line}`)].join("\n") + "\n"
      );
    })
    .join("");
}
