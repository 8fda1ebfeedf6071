// `holdfast completion` and `holdfast completion values`

import { Failure } from "@holdfast/shared/failure";
import type { Answer, Client } from "@holdfast/client/client";
import * as visible from "@holdfast/client/api/mounts";
import * as namespaces from "@holdfast/client/api/namespaces";
import * as policies from "@holdfast/client/api/policies";
import { SERVER_WORDS, argument, type ServerWords } from "../line/argument.ts";
import { loadAll } from "../catalogue.ts";
import { command } from "../command.ts";
import { SHELLS, completionScript } from "../completion-script.ts";
import { listOf } from "../kv/lists.ts";
import { findKv } from "../kv/place.ts";

export const completion = command({
  name: "completion",
  summary: "Print a completion script for a shell",
  description:
    "Commands, flags and their values are completed from the script itself. Mounts, secrets, policies and " +
    "namespaces are asked of the server that the environment names, for a second at most; where it does " +
    "not answer, nothing is completed and nothing is said.",
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

const MAX_WORDS = 200;
// What is put on a command line is run by whoever presses Enter: nothing a shell would obey goes there.
const PLAIN = /^[A-Za-z0-9_.,:@%+/-]+$/;

export const completionValues = command({
  name: "completion values",
  summary: "Print words that a shell may complete, as the server tells them",
  description:
    "For completion scripts. Prints nothing where the server cannot be asked, and leaves out words that a " +
    "shell would not take as they are.",
  examples: ["holdfast completion values policies", "holdfast completion values kv secret/a"],
  flags: {},
  args: {
    kind: argument.oneOf(SERVER_WORDS, "What the words are"),
    prefix: argument.optional("How they begin"),
  },
  async run({ client, out }, { kind, prefix = "" }) {
    try {
      const words = await WAYS[kind](client.unwatched(), prefix);
      const fitting = words.filter((word) => word.startsWith(prefix) && PLAIN.test(word));
      out.text(fitting.toSorted().slice(0, MAX_WORDS).join("\n"));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
    }
  },
});

/** What the server warns of has no place on a command line that is being typed. */
const QUIETLY = { untold: /./ };

type Words = (client: Client, prefix: string) => Promise<readonly string[]>;

const WAYS: Readonly<Record<ServerWords, Words>> = {
  secrets: async (client) => (await mounts(client, "secret")).map(([path]) => path),
  auth: async (client) => (await mounts(client, "auth")).map(([path]) => path),
  policies: (client) => names(policies.listAclPolicies(client, {}, QUIETLY)),
  namespaces: (client) => names(namespaces.listNamespaces(client, {}, QUIETLY)),
  kv: async (client, prefix) => {
    const [folder] = /^.*\//.exec(prefix) ?? [];
    if (folder === undefined) {
      const all = await mounts(client, "secret");
      return all.filter(([, type]) => type === "kv").map(([path]) => path);
    }
    const place = await findKv(client, folder, undefined);
    return (await names(listOf(client, place)({}, QUIETLY))).map((name) => folder + name);
  },
  paths: async (client) => [
    "sys/",
    ...(await mounts(client, "secret")).map(([path]) => path),
    ...(await mounts(client, "auth")).map(([path]) => `auth/${path}`),
  ],
};

/** Those that the token may see, with their types. */
async function mounts(client: Client, kind: "secret" | "auth"): Promise<[string, string][]> {
  const { data } = await visible.listVisibleMounts(client);
  return Object.entries(data[kind]).map(([path, { type }]) => {
    return [path, typeof type === "string" ? type : ""];
  });
}

async function names(
  listing: Promise<Answer<{ readonly keys: readonly string[] }>>,
): Promise<readonly string[]> {
  return (await listing).data.keys;
}
