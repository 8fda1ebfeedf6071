// `holdfast secrets move` and `holdfast auth move`

import { SECOND } from "@holdfast/shared/text/duration";
import { ApiError } from "@holdfast/client/api-error";
import * as mounts from "@holdfast/client/api/mounts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { argument } from "../line/argument.ts";
import { command, type Command, type Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { AUTH, mountPath, SECRETS, type MountKind } from "./kinds.ts";
import { pause } from "../pause.ts";
import { Interrupted } from "../terminal/prompt.ts";
import { showValue } from "../terminal/value.ts";
import { UsageError } from "../line/usage-error.ts";

const LOOK = SECOND;

export const secretsMove: Command = mountMove(SECRETS, [
  "holdfast secrets move secret kv/old",
  "holdfast secrets move secret team/secret",
  "holdfast secrets move -status 5b1c2b0e-2b0f-4a42-9f4f-7c7de1a1c0aa",
]);

export const authMove: Command = mountMove(AUTH, ["holdfast auth move userpass people"]);

function mountMove(kind: MountKind, examples: readonly string[]): Command {
  const { group, noun } = kind;
  return command({
    name: `${group} move`,
    summary: `Move ${noun === "auth method" ? "an" : "a"} ${noun} to another path`,
    description:
      "Also into another namespace, by its full path. Its leases are revoked; what is in it stays. " +
      "Policies that name the old path do not follow. Ctrl-C ends the waiting alone; -status looks " +
      "again.",
    examples,
    flags: {
      noWait: flag.switch("Do not wait: the server goes on by itself"),
      status: flag.string("How far this move is, and nothing else", "ID"),
    },
    args: {
      from: argument.optional("Where it is mounted", { words: kind.group }),
      to: argument.optional("Where it shall be"),
    },
    async run(context, { from, to, noWait, status }) {
      const { client, out } = context;
      if (status !== undefined) return out.record(await migration(context, status));
      if (from === undefined || to === undefined) {
        throw new UsageError("FROM and TO are missing: where it is mounted, and where it shall be");
      }
      const source = `${kind.prefix}${mountPath(kind, from)}`;
      const target = `${kind.prefix}${mountPath(kind, to)}`;
      const { data } = await mounts
        .moveMount(client, { from: source, to: target })
        .catch((error: unknown) => {
          throw explained(error, [source, target], client.namespace);
        });
      const id = showValue(data.migration_id);
      const again = `\`holdfast ${group} move -status ${id}\``;
      if (noWait)
        return out.done(`The move goes on in the background. ${again} tells how far it is.`);
      await follow(context, id, again);
      out.done(`Success! Moved the ${noun} from ${source}/ to ${target}/`);
      out.hint("Policies with the old path in them do not follow: see `holdfast policy list`.");
    },
  });
}

/** The right to move is needed in every namespace that has a part in it, and the refusal names none. */
function explained(error: unknown, paths: readonly string[], namespace: string): unknown {
  const [inside] = paths.filter((path) => /^(?!auth\/)./.test(path) && path.includes("/"));
  if (!(error instanceof ApiError) || inside === undefined) return error;
  const { kind, errors, method, path, message, status } = error;
  const plain = errors.length === 1 && error.says("permission denied");
  if (kind !== "denied" || !plain) return error;
  const below = inside.replace(/\/(?:auth\/.*|[^/]*)$/, "");
  const here = namespace === "" ? "" : ` in the namespace ${namespace}`;
  return new AdvisedFailure(
    "denied",
    "move-denied",
    `${method} ${path}: ${message} (status ${status})`,
    `a policy must allow update on sys/remount${here}, and on ${below}/sys/remount too, if ${below} is a ` +
      'namespace: "*" does not reach it. Write the policy after the namespace was made',
  );
}

async function follow(context: Context, id: string, again: string): Promise<void> {
  const { out, timers } = context;
  try {
    await context.untilInterrupted(async (signal) => {
      for (;;) {
        const info = await migration(context, id);
        if (info.status === "success") return;
        if (info.status === "failure") throw failed(info, again);
        context.progress(`moving ${showValue(info.source_mount)}`);
        await pause(timers, LOOK, signal);
      }
    });
  } catch (error) {
    context.quiet();
    if (error instanceof Interrupted)
      out.hint(`\nThe server goes on by itself. ${again} looks again.`);
    throw error;
  } finally {
    context.quiet();
  }
}

type Migration = mounts.ReadMountMoveAnswer["migration_info"];

async function migration({ client }: Context, id: string): Promise<Migration> {
  return (await mounts.readMountMove(client, { id })).data.migration_info;
}

function failed(info: Migration, again: string): AdvisedFailure {
  const { source_mount, target_mount, error } = info;
  const cause = error === undefined || error === "" ? "" : `: ${error}`;
  return new AdvisedFailure(
    "upstream",
    "move-failed",
    `${showValue(source_mount)} was not moved to ${showValue(target_mount)}${cause}`,
    `look at the server's log; ${again} shows this again`,
  );
}
