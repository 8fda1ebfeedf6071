// `holdfast help`

import { argument } from "../argument.ts";
import { findCommand, loadCommand, SERVER } from "../catalogue.ts";
import { command } from "../command.ts";
import { commandHelp, groupHelp, helpWidth, overview } from "../help.ts";

export const help = command({
  name: "help",
  summary: "Show all commands, or explain one",
  examples: ["holdfast help", "holdfast help operator unseal"],
  flags: {},
  args: { command: argument.rest("Words of the command") },
  async run({ out }, { command: words }) {
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
