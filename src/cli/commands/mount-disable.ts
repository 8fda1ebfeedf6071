// `holdfast secrets disable` and `holdfast auth disable`

import { ApiError } from "@holdfast/client/api-error";
import type * as mounts from "@holdfast/client/api/mounts";
import { AdvisedFailure } from "../advised-failure.ts";
import { argument } from "../argument.ts";
import { command, type Command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import { disableMount } from "../mount-disabling.ts";
import { AUTH, mountPath, SECRETS, type MountKind } from "../mount-kinds.ts";
import { isDisabling, stateOf, troubleOf } from "../mount-state.ts";

export const secretsDisable: Command = mountDisable(
  SECRETS,
  "Its leases are revoked, and everything in it is deleted for good.",
);

export const authDisable: Command = mountDisable(
  AUTH,
  "Nobody logs in there any more; its users and roles are deleted for good. Tokens that were made " +
    "there stay valid.",
);

function mountDisable(kind: MountKind, effect: string): Command {
  const { group, noun, prefix } = kind;
  return command({
    name: `${group} disable`,
    summary: `Disable ${noun === "auth method" ? "an" : "a"} ${noun}, with everything in it`,
    description:
      `${effect} On a terminal it asks first. It waits and tells how far the server is; Ctrl-C ends ` +
      "the waiting alone, and the same command follows it again.",
    examples: [
      `holdfast ${group} disable ${group === "auth" ? "userpass" : "team/secret"}`,
      `holdfast ${group} disable -yes -no-wait ${group === "auth" ? "ci" : "secret"}`,
    ],
    flags: {
      yes: flag.switch("Do not ask"),
      noWait: flag.switch("Do not wait: the server goes on by itself"),
      abandon: flag.switch("Although it leaves objects behind in other systems"),
    },
    args: { path: argument.required(kind.pathHelp, { words: kind.group }) },
    async run(context, { path: typed, yes, noWait, abandon }) {
      const { out, prompt } = context;
      const path = mountPath(kind, typed);
      const shown = `${prefix}${path}/`;
      const found = await lookedUp(context, kind, path);
      if (found === null) {
        const next = `\`holdfast ${group} list\` shows what is mounted; check -namespace too`;
        throw new AdvisedFailure(
          "not-found",
          "mount-absent",
          `nothing is mounted at ${shown}`,
          next,
        );
      }
      const going = isDisabling(found);
      if (going) {
        const said = [stateOf(found), troubleOf(found)].filter((text) => text !== null);
        out.hint(`${shown} is being disabled already: ${said.join(": ")}. Following it.`);
      }
      if (!yes && !going && prompt.interactive) {
        const type = found.type === undefined ? "" : `${found.type} `;
        const question = `Disable the ${type}${noun} at ${shown} and delete everything in it?`;
        if (!(await prompt.confirm(question))) {
          out.hint("Nothing was disabled.");
          return 1;
        }
      }
      const done = await disableMount(context, {
        kind,
        path,
        shown,
        command: `holdfast ${group} disable ${path}`,
        abandon,
        wait: !noWait,
      });
      if (done) out.done(`Success! Disabled the ${noun} at: ${shown}`);
      return 0;
    },
  });
}

/** Null when nothing is there; an empty record where the token may not see it. */
async function lookedUp(
  { client }: Context,
  kind: MountKind,
  path: string,
): Promise<Partial<mounts.ReadMountAnswer> | null> {
  try {
    return (await kind.calls.read(client, { path })).data;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // To disable needs other rights than to look.
    if (error.kind === "denied" && !error.says("invalid token")) return {};
    if (error.status === 400 || error.status === 404) return null;
    throw error;
  }
}
