// `holdfast completion`

import { argument } from "../argument.ts";
import { loadAll } from "../catalogue.ts";
import { command } from "../command.ts";
import { SHELLS, completionScript } from "../completion-script.ts";

export const completion = command({
  name: "completion",
  summary: "Print a completion script for a shell",
  examples: [
    "source <(holdfast completion bash)",
    'holdfast completion zsh > "${fpath[1]}/_holdfast"',
    "holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
  ],
  flags: {},
  args: { shell: argument.oneOf(SHELLS, "bash, zsh or fish") },
  async run({ out }, { shell }) {
    out.text(completionScript(shell, await loadAll()));
  },
});
