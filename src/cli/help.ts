// Help, out of the declarations.

import { ENVIRONMENT_HELP } from "../client/environment.ts";
import { shownAs, type Argument } from "./argument.ts";
import { COMMAND_NAMES, GROUPS, loadCommand, SERVER, type Group } from "./catalogue.ts";
import type { Command } from "./command.ts";
import { flagName, type Flags } from "./flag.ts";
import { GLOBAL_FLAGS } from "./settings.ts";
import { pad, wrap } from "./terminal/text.ts";

const WIDTH = 92;

export async function overview(): Promise<string> {
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
    list(rows),
    "\nFlags of every command (one dash or two):\n",
    list(flagRows(GLOBAL_FLAGS)),
    "\nEnvironment:\n",
    list(ENVIRONMENT_HELP),
    "\nMore: holdfast help COMMAND. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found,\n" +
      "4 permission denied.\n",
  ].join("");
}

export async function groupHelp({ name, summary, commands }: Group): Promise<string> {
  const loaded = await Promise.all(commands.map(loadCommand));
  return `Usage: holdfast ${name} COMMAND\n\n${summary}.\n\nCommands:\n${list(loaded.map(summaryRow))}`;
}

export function commandHelp(command: Command): string {
  const { name, summary, description, examples, flags, args } = command;
  const words = ["holdfast", name, ...Object.entries(args).map(argumentForm)];
  if (Object.keys(flags).length > 0) words.splice(2, 0, "[FLAGS]");
  const argumentRows = Object.entries(args).map(([key, { help }]) => [shownAs(key), help] as const);
  const section = (title: string, text: string) => (text === "" ? "" : `\n${title}:\n${text}`);
  return [
    `Usage: ${words.join(" ")}\n\n${summary}.\n`,
    description === "" ? "" : `\n${wrap(description, WIDTH).join("\n")}\n`,
    section("Arguments", list(argumentRows)),
    section("Flags", list(flagRows(flags))),
    section("Examples", examples.map((example) => `  ${example}\n`).join("")),
    "\nFlags of every command: holdfast help\n",
  ].join("");
}

function summaryRow({ name, summary }: Command): readonly [string, string] {
  return [name, summary];
}

function argumentForm([key, { form }]: readonly [string, Argument<unknown>]): string {
  const name = shownAs(key);
  return form === "required" ? name : form === "optional" ? `[${name}]` : `[${name} …]`;
}

function flagRows(flags: Flags): (readonly [string, string])[] {
  return Object.entries(flags).map(([key, { placeholder, help, fallback }]) => {
    const value = placeholder === null ? "" : ` ${placeholder}`;
    return [`-${flagName(key)}${value}`, fallback === "" ? help : `${help} (${fallback})`];
  });
}

function list(rows: readonly (readonly [name: string, text: string])[]): string {
  const width = Math.min(30, Math.max(0, ...rows.map(([name]) => name.length)));
  return rows
    .map(([name, text]) => {
      const [first = "", ...more] = wrap(text, WIDTH - width - 4);
      const head =
        name.length > width ? `  ${name}\n  ${pad("", width)}  ` : `  ${pad(name, width)}  `;
      return (
        [head + first, ...more.map((line) => `  ${pad("", width)}  ${line}`)].join("\n") + "\n"
      );
    })
    .join("");
}
