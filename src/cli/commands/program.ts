// `holdfast version` and `holdfast help`: what asks no server.

import { findCommand, loadCommand, SERVER } from "../catalogue.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { VERSION } from "../../system/version.ts";

export const version = command({
  name: "version",
  summary: "Show the version of this program",
  description: "Asks no server; `holdfast status` and `holdfast doctor` tell the server's.",
  examples: ["holdfast version"],
  flags: {},
  args: {},
  async run({ out }) {
    await out.show({ version: VERSION }, { text: `Holdfast ${VERSION}` });
  },
});

export const help = command({
  name: "help",
  summary: "Show all commands, or explain one",
  examples: ["holdfast help", "holdfast help operator unseal"],
  flags: {},
  args: { command: argument.rest("Words of the command") },
  async run({ out }, { command: words }) {
    const { commandHelp, groupHelp, helpWidth, overview } = await import("../help.ts");
    const width = helpWidth(out.screen);
    if (words.length === 0) return out.text(await overview(width));
    if (words[0] === SERVER.name) return out.text(`${SERVER.summary}: see holdfast server -help\n`);
    const found = findCommand(words);
    const text =
      found.kind === "group"
        ? await groupHelp(found.group, width)
        : commandHelp(await loadCommand(found.name), width);
    out.text(text);
  },
});
