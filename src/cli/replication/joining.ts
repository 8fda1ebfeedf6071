// Commands by which a cluster becomes a secondary, and follows another primary.

import type * as replication from "@holdfast/client/api/replication";
import * as seal from "@holdfast/client/api/seal";
import type { Client } from "@holdfast/client/client";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { otherKindAdvice } from "../advice/advice.ts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { pause } from "../pause.ts";
import {
  ACTIVATION_HELP,
  activationToken,
  DR_TOKEN_FLAG,
  DR_TOKEN_HELP,
} from "./operation-secret.ts";
import {
  CALLS,
  type Kind,
  KIND_FLAG,
  KIND_HELP,
  modeOf,
  secondaryCall,
  WITH_KIND,
} from "./kinds.ts";
import { confirmed } from "./primary.ts";
import { NONE } from "../terminal/value.ts";
import { isCopying, NOT_CALLED, UNREACHED } from "./secondary-advice.ts";
import { stateText, STREAMING } from "./status-fields.ts";
import { copyText } from "./status-view.ts";

const PACE = SECOND / 5n;
/** The data is exchanged after the answer; when that takes longer it has failed. */
const EXCHANGE = MINUTE;
const MAX_PEM = 64 * 1024;
// Apart from 1, as a rehearsal has it: it was told what is in the way.
const NOT_READY = 2;

const DRY_RUN = flag.switch(
  "Change nothing; show how far it would come (exit code 2 if not all the way)",
);

/** How the server reaches the primary's API, to unwrap a token there. */
const UNWRAP_FLAGS = {
  primaryAddress: flag.string("API of the primary, where a wrapped token names none", "URL"),
  primaryCaCert: flag.file("Authorities of that API, PEM"),
};

export const replicationPublicKey = command({
  name: "replication public-key",
  summary: "Make the key that a token for this cluster is sealed to",
  description:
    "The private half stays here. Each call makes another one; the last counts. Needs `update` on " +
    `sys/replication/dr/secondary/generate-public-key. ${KIND_HELP} ${DR_TOKEN_HELP}`,
  examples: [
    "holdfast replication public-key",
    "holdfast replication public-key -kind performance",
  ],
  flags: { ...KIND_FLAG, ...DR_TOKEN_FLAG },
  args: {},
  async run(context, { kind, drToken }) {
    const { out } = context;
    const { data } = await ownKey(context, kind, drToken);
    await out.show(data, { text: data.secondary_public_key });
    const of = WITH_KIND[kind];
    out.hint(`Next: \`holdfast replication token${of} -public-key KEY ID\` on the primary`);
  },
});

async function ownKey(context: Context, kind: Kind, drToken: string | undefined) {
  const isOrdinary = kind === "dr" && (await modeOf(context, kind)) !== "secondary";
  if (isOrdinary) return CALLS[kind].publicKey(context.client.inRoot());
  const { client, body } = await secondaryCall(context, kind, drToken);
  return CALLS[kind].publicKey(client, body);
}

export const replicationJoin = command({
  name: "replication join",
  summary: "Make this cluster a secondary: the primary's data takes the place of ALL of its own",
  description:
    "Everything that is stored here goes, secrets, tokens and key shares: afterwards it is unsealed with the shares of the primary, " +
    "and run with operation tokens; a performance secondary serves what the primary shares, by the tokens of all regions. Nothing is changed unless the token is good and the primary was reached. On a terminal it asks " +
    "first; elsewhere it needs -yes. -dry-run changes nothing, here or at the primary, and says how far it would come. Then it shows how far the copy is until it streams; Ctrl-C leaves, and the copy goes on. Needs " +
    `\`update\` on sys/replication/dr/secondary/enable. ${KIND_HELP}`,
  examples: [
    "holdfast replication join",
    "holdfast replication join -kind performance -yes @token",
    "holdfast replication join -dry-run @token",
    "holdfast replication join -yes - < token",
    "holdfast replication join -yes -primary-address https://a.example:8200 @token",
  ],
  flags: {
    ...KIND_FLAG,
    yes: flag.switch("Do not ask"),
    dryRun: DRY_RUN,
    noWait: flag.switch("Do not wait until it streams"),
    ...UNWRAP_FLAGS,
  },
  args: { token: argument.optional(ACTIVATION_HELP) },
  async run(context, { kind, yes, dryRun, noWait, token: typed, ...unwrapping }) {
    const { out, prompt, settings } = context;
    const { display } = settings.address.value;
    if (!yes && !dryRun && !prompt.interactive) {
      throw new UsageError(
        `everything that ${display} has stored would be replaced, and there is nobody to ask`,
        "add -yes if that is meant",
      );
    }
    const token = await activationToken(context, typed);
    const client = context.client.inRoot();
    const input = { token: token.reveal(), ...unwrapInput(context, unwrapping) };
    if (dryRun) {
      const { data } = await CALLS[kind].join(client, { ...input, dry_run: true });
      return showTrial(context, data, kind);
    }
    const question = `Replace ALL data of ${display} (secrets, tokens, key shares) with the primary's?`;
    if (!(await confirmed(context, yes, question, "Nothing was replaced."))) return 1;
    await CALLS[kind].join(client, input);
    out.done("Success! This cluster is a secondary.");
    if (noWait) out.hint("Next: `holdfast replication status` shows how far the copy is");
    else await streaming(context, client.withToken(null), kind);
    return 0;
  },
});

export const replicationUpdatePrimary = command({
  name: "replication update-primary",
  summary: "Follow another primary, or the same at another address; the data stays",
  description:
    "With a token of the primary: that one is followed from now on, and what only this cluster has written is given up and kept " +
    "aside. With -at: the same primary, at the first of these addresses of cluster ports that proves to be it. With -none: nobody. " +
    "-dry-run changes nothing, here or at the primary, and says how far it would come. -force gives up a later epoch that is known " +
    "here, where nobody leads in it. " +
    `${KIND_HELP} ${DR_TOKEN_HELP}`,
  examples: [
    "holdfast replication update-primary -dr-token dr-token @token",
    "holdfast replication update-primary -kind performance @token",
    "holdfast replication update-primary -at https://a.example:8201",
  ],
  flags: {
    ...KIND_FLAG,
    at: flag.string("Address of the primary's cluster port", "URL").repeated(),
    none: flag.switch("Follow nobody"),
    force: flag.switch("Also where a later primary is known here, which is given up"),
    dryRun: DRY_RUN,
    noWait: flag.switch("Do not wait until it streams"),
    ...UNWRAP_FLAGS,
    ...DR_TOKEN_FLAG,
  },
  args: { token: argument.optional(ACTIVATION_HELP) },
  async run(context, input) {
    const { kind, at, none, force, dryRun, noWait, drToken, token: typed, ...unwrapping } = input;
    if ([at.length > 0, none, typed !== undefined].filter(Boolean).length > 1) {
      throw new UsageError("a token, -at and -none exclude each other");
    }
    if (drToken === "-" && at.length === 0 && !none && !isElsewhere(typed)) {
      throw new UsageError(
        "one of the two tokens comes from standard input",
        "give the activation token as @FILE, or the operation token as -dr-token FILE",
      );
    }
    const { out } = context;
    const named =
      at.length > 0
        ? { update_primary_addrs: at }
        : { token: none ? "" : (await activationToken(context, typed)).reveal() };
    const { client, body } = await secondaryCall(context, kind, drToken);
    const forced = force ? { force } : {};
    const sent = { ...named, ...forced, ...unwrapInput(context, unwrapping), ...body };
    if (dryRun) {
      const { data } = await CALLS[kind].updatePrimary(client, { ...sent, dry_run: true });
      return showTrial(context, data, kind);
    }
    await CALLS[kind].updatePrimary(client, sent);
    out.done(none ? "Success! This cluster follows nobody." : "Success! The primary is followed.");
    if (!none && !noWait) await streaming(context, client, kind);
    return 0;
  },
});

const REASON =
  "do what the primary says above; a token that it does not take any more needs another";

/** What helps, by the step at which it has ended. */
const TRIAL_NEXT: ReadonlyMap<string, string> = new Map([
  [
    "api",
    "-primary-address with where the primary's API is reached, -primary-ca-cert with whom to trust",
  ],
  ["role", "`holdfast replication status` here says what this cluster is"],
  ["address", "name the cluster port of the primary as https://host:port"],
  ["connect", UNREACHED],
]);

async function showTrial(
  { out }: Context,
  trial: replication.EnableDrSecondaryAnswer,
  kind: Kind,
): Promise<number> {
  const { ready = false, steps = [] } = trial;
  const last = steps.at(-1)?.step ?? "";
  const token = `another token of the primary, by \`holdfast replication token${WITH_KIND[kind]} -public-key KEY ID\` there`;
  const cause = steps.at(-1)?.cause ?? "";
  const byToken = /token has expired/.test(cause)
    ? token
    : `the whole token, one line as it was printed, and nothing else; or ${token}`;
  const next = /is not one for \w+ replication/.test(cause)
    ? otherKindAdvice(kind === "performance")
    : last === "token"
      ? byToken
      : /may not be called/.test(cause)
        ? NOT_CALLED
        : (TRIAL_NEXT.get(last) ?? REASON);
  await out.show(trial, {
    columns: ["Step", "Address", "Result"],
    rows: steps.map(({ step, address, ok, cause }) => [step, address || NONE, ok ? "ok" : cause]),
    whole: ["Address"],
  });
  if (ready) out.hint("Nothing was changed, and nothing was found that is in the way.");
  else out.hint(`Nothing was changed. Next: ${next}`);
  return ready ? 0 : NOT_READY;
}

function isElsewhere(typed: string | undefined): boolean {
  return typed !== undefined && typed !== "-";
}

interface Unwrapping {
  readonly primaryAddress: string | undefined;
  readonly primaryCaCert: string | undefined;
}

/** The certificates are read here, not on the server's machine. */
function unwrapInput({ files }: Context, { primaryAddress, primaryCaCert }: Unwrapping) {
  return {
    ...(primaryAddress === undefined ? {} : { primary_api_addr: primaryAddress }),
    ...(primaryCaCert === undefined ? {} : { ca_pem: files.text(primaryCaCert, MAX_PEM) }),
  };
}

// --- until it streams ---

/** Shows how far it is; ends when the log is followed. */
async function streaming(context: Context, client: Client, kind: Kind): Promise<void> {
  const { out } = context;
  const ended = await context.untilInterrupted((signal) => followed(context, client, kind, signal));
  if (ended === "sealed") {
    out.hint("Next: run `holdfast operator unseal` with the key shares of the primary");
  } else if (ended === "closed") {
    out.hint(
      "Next: `holdfast replication status` with a token of the primary: it is not told otherwise",
    );
  } else out.done("It has everything, and streams.");
}

async function followed(
  context: Context,
  client: Client,
  kind: Kind,
  signal: AbortSignal,
): Promise<"streams" | "sealed" | "closed"> {
  const { clock, timers, out } = context;
  const begun = clock.elapsed();
  let complained = "";
  try {
    for (;;) {
      const status = await statusOrNull(client, kind);
      if (status === "closed") return status;
      if (status === null && (await isSealed(client))) return "sealed";
      const state = textOf(status, "state");
      const mode = textOf(status, "mode");
      if (state === STREAMING && isServing(status, kind)) return "streams";
      if (mode === "disabled" && clock.elapsed() - begun > EXCHANGE) throw notExchanged();
      const error = textOf(status, "last_sync_error");
      if (error !== "" && error !== complained) out.warn(error);
      complained = error;
      const copy = status === null ? null : copyText(status);
      const text = mode === "secondary" ? stateText(state) : "exchanging the data";
      context.progress(copy === null ? text : `${text}: ${copy}`);
      await pause(timers, PACE, signal);
    }
  } finally {
    context.quiet();
  }
}

/** A performance secondary serves a moment after it has everything. */
function isServing(status: JsonObject | null, kind: Kind): boolean {
  const reasons = status?.["promotable_reasons"];
  const isChanging = Array.isArray(reasons) && reasons.includes("alone");
  return kind === "dr" || (status !== null && !isCopying(status) && !isChanging);
}

/** Null for what passes while data is exchanged. A cluster that serves may tell it to those alone who have a token. */
async function statusOrNull(client: Client, kind: Kind): Promise<JsonObject | "closed" | null> {
  try {
    return (await orNull(CALLS[kind].status(client)))?.data ?? null;
  } catch (error) {
    if (error instanceof Failure && error.kind === "denied") return "closed";
    throw error;
  }
}

async function isSealed(client: Client): Promise<boolean> {
  return (await orNull(seal.status(client)))?.data.sealed === true;
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Failure && PASSING.has(error.kind)) return null;
    throw error;
  }
}

const PASSING: ReadonlySet<string> = new Set(["unavailable", "sealed", "timed-out"]);

function textOf(status: JsonObject | null, name: string): string {
  const value = status?.[name];
  return typeof value === "string" ? value : "";
}

function notExchanged(): AdvisedFailure {
  return new AdvisedFailure(
    "upstream",
    "join-failed",
    "this cluster has not become a secondary",
    "the server's log says why; the data is as it was, and the token is spent: make another",
  );
}
