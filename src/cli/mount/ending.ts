// `holdfast secrets disable` and `holdfast auth disable`. The server goes on by itself: it is followed, told how
// many leases are revoked, and can be left and taken up again at any time.

import { Failure } from "@holdfast/shared/failure";
import type { JsonValue } from "@holdfast/shared/json/json";
import { MILLISECOND, MINUTE, SECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { ApiError } from "@holdfast/client/api-error";
import type * as mounts from "@holdfast/client/api/mounts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { command, type Command, type Context } from "../command.ts";
import { AUTH, mountPath, SECRETS, type MountKind } from "./kinds.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { pause } from "../pause.ts";
import { isDisabling, leasesLeft, stateOf, troubleOf } from "./state.ts";
import { progressBar } from "../terminal/activity.ts";
import { Interrupted } from "../terminal/prompt.ts";

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
      const label = `${prefix}${path}/`;
      const found = await lookedUp(context, kind, path);
      if (found === null) {
        const next = `\`holdfast ${group} list\` shows what is mounted; check -namespace too`;
        throw new AdvisedFailure(
          "not-found",
          "mount-absent",
          `nothing is mounted at ${label}`,
          next,
        );
      }
      const going = isDisabling(found);
      if (going) {
        const said = [stateOf(found), troubleOf(found)].filter((text) => text !== null);
        out.hint(`${label} is being disabled already: ${said.join(": ")}. Following it.`);
      }
      if (!yes && !going && prompt.interactive) {
        const type = found.type === undefined ? "" : `${found.type} `;
        const question = `Disable the ${type}${noun} at ${label} and delete everything in it?`;
        if (!(await prompt.confirm(question))) {
          out.hint("Nothing was disabled.");
          return 1;
        }
      }
      const done = await disableMount(context, {
        kind,
        path,
        label,
        command: `holdfast ${group} disable ${path}`,
        abandon,
        wait: !noWait,
      });
      if (done) out.done(`Success! Disabled the ${noun} at: ${label}`);
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

// How long each answer is waited for: as often there is something new to tell.
const LOOK = SECOND;
const PACE = 100n * MILLISECOND;
// Should the server wait as long as it ever does, and answer then.
const HELD = MINUTE;
// Where there is no terminal to draw on: often enough to see that it moves, seldom enough for a log.
const REPORT_EVERY = 10n * SECOND;

export interface Disabling {
  readonly kind: MountKind;
  readonly path: string;
  readonly label: string;
  /** What takes it up again. */
  readonly command: string;
  readonly abandon: boolean;
  readonly wait: boolean;
}

/** Whether it is done; false when it goes on without us because nobody wanted to wait. */
export async function disableMount(context: Context, disabling: Disabling): Promise<boolean> {
  const { command, label, wait } = disabling;
  const { out } = context;
  let begun = false;
  try {
    return await context.untilInterrupted(async (signal) => {
      const progress = new Progress(context, label);
      // The first answer comes at once: it tells how many there are before any is revoked.
      for (let patience: Nanos = 0n; ; patience = LOOK) {
        const { status, data } = await ask(context, disabling, patience);
        if (status !== 202) return true;
        begun = true;
        if (!wait) {
          out.done(`The server disables ${label} by itself. \`${command}\` follows it.`);
          return false;
        }
        progress.tell(data);
        // For a server that did not wait although it was asked to.
        if (patience > 0n) await pause(context.timers, PACE, signal);
      }
    });
  } catch (error) {
    context.quiet();
    if (error instanceof Interrupted) {
      out.hint(`\nThe server goes on disabling ${label}. \`${command}\` follows it again.`);
    }
    throw explained(error, disabling, begun);
  } finally {
    context.quiet();
  }
}

function ask({ client }: Context, { kind, path, abandon }: Disabling, patience: Nanos) {
  const input = { path, wait: showDuration(patience), abandon: abandon ? true : undefined };
  return kind.calls.disable(client, input, { held: HELD });
}

class Progress {
  readonly #context: Context;
  readonly #label: string;
  #max = 0;
  #reported: Nanos;

  constructor(context: Context, label: string) {
    this.#context = context;
    this.#label = label;
    this.#reported = context.clock.elapsed();
  }

  tell(answer: JsonValue | undefined): void {
    const { clock, out } = this.#context;
    const left = leasesLeft(answer);
    this.#max = Math.max(this.#max, left ?? 0);
    const done = this.#max - (left ?? 0);
    const what = `disabling ${this.#label}`;
    // After the last lease its contents are wiped; how much that is nobody counts.
    const wiping = left === null || left === 0;
    const bar = `${progressBar(done, this.#max)} leases revoked`;
    this.#context.progress(`${what}: ${wiping ? "removing what is in it" : bar}`);
    if (out.toTerminal || clock.elapsed() - this.#reported < REPORT_EVERY) return;
    this.#reported = clock.elapsed();
    const plain = wiping ? "removing what is in it" : `${done} of ${this.#max} leases revoked`;
    out.hint(`${what}: ${plain}`);
  }
}

/** A lease that cannot be revoked stops the server on the way: what then, at night, is the question. */
function explained(error: unknown, { label, command }: Disabling, begun: boolean): unknown {
  if (error instanceof Interrupted || !(error instanceof Failure)) return error;
  if (!(error instanceof ApiError)) {
    if (!begun) return error;
    const next = `the server goes on when it can: run \`${command}\` again when it answers`;
    return new AdvisedFailure(error.kind, error.code, error.message, next);
  }
  const [, why] =
    /^the mount could not be disabled and stays closed: ([^]*)$/.exec(error.message) ?? [];
  if (why === undefined) return error;
  // The server tells the ways out by its paths; here they are commands.
  const cause = why.replace(/; mend the cause \(its configuration [^]*$/, "");
  // What stops a login method is a lease of one who came through it, of some other mount.
  const [, lease] = /^stopped after \d+ revoked leases: (\S+): /.exec(cause) ?? [];
  const target =
    label.startsWith("auth/") && lease !== undefined ? lease : label.replace(/\/$/, "");
  return new AdvisedFailure(
    error.kind === "invalid" ? "upstream" : error.kind, // nothing of what was asked for is wrong
    error.code,
    `DELETE ${error.path}: ${label} could not be disabled: ${cause} (status ${error.status}); it gives nothing ` +
      "out any more, and is not gone",
    `mend the cause (\`holdfast write ${label}config…\` still works) and run \`${command}\` again, or give ` +
      `its leases up first: \`holdfast lease revoke -force -prefix ${target}\``,
  );
}
