// The operation token or operator ticket with which a disaster-recovery secondary is run: from a file, standard input,
// the environment or a prompt, never from the command line. Also other secrets that these commands take.

import { settingFrom } from "@holdfast/client/node/environment";
import type { Client } from "@holdfast/client/client";
import * as replication from "@holdfast/client/api/replication";
import { text } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { Secret } from "@holdfast/shared/secret";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { WHOLE_TOKEN } from "./secondary-advice.ts";

const VARIABLE = "HOLDFAST_DR_OPERATION_TOKEN";
const WHAT = "operation token";
const TICKET = "hfot1.";
const MAX_SECRET = 64 * 1024;

export const DR_TOKEN_FLAG = {
  drToken: flag.file(`File with the operation token or ticket, - for standard input (${VARIABLE})`),
};

export const DR_TOKEN_HELP =
  "On a secondary it needs an operation token (`holdfast replication operation-token`) or an operator ticket " +
  `(\`holdfast replication ticket\`, on the primary): by -dr-token FILE, ${VARIABLE}, or typed at a prompt.`;

/** What making a token needs. */
export type Ceremony = Pick<Context, "client" | "out" | "prompt" | "files" | "settings">;

type Reading = Pick<Context, "prompt" | "files" | "settings">;

export async function operationToken(
  { prompt, files, settings }: Reading,
  from: string | undefined,
): Promise<Secret<string>> {
  if (from === "-") return prompt.piped(WHAT);
  if (from !== undefined) {
    // Refused before it is taken for a file: the message about a missing one would name it.
    if (isUuid(from.trim()) || from.startsWith(TICKET)) {
      throw new UsageError(
        `an ${WHAT} is not taken from the command line: it would stay in the shell's history`,
        "give a file that holds it, or - for standard input",
      );
    }
    return held(files.text(from, MAX_SECRET), `the file ${from} of -dr-token`, FILLS_OPERATION);
  }
  const setting = settingFrom(settings.env, VARIABLE);
  if (setting !== null) return held(setting.value, setting.from, FILLS_OPERATION);
  if (!prompt.interactive) {
    throw new UsageError(
      `the ${WHAT} is missing`,
      `\`holdfast replication operation-token\` makes one from key shares, \`holdfast replication ticket\` on the primary another; give it with ` +
        `-dr-token FILE, -dr-token - for standard input, or ${VARIABLE}`,
    );
  }
  return prompt.piped(WHAT);
}

/** What an operation on a secondary sends, and how: an ordinary token says nothing there. */
export async function operationCall(
  context: Context,
  from: string | undefined,
): Promise<{ readonly client: Client; readonly body: { readonly dr_operation_token: string } }> {
  const token = await operationToken(context, from);
  const client = context.anonymous.inRoot();
  return { client, body: { dr_operation_token: token.reveal() } };
}

/** For what is read with a token of its own: on a disaster-recovery secondary one of those takes its place. Nobody is asked for one. */
export async function readingClient(context: Context, from: string | undefined): Promise<Client> {
  const has = from !== undefined || settingFrom(context.settings.env, VARIABLE) !== null;
  const isMeant = has && (from !== undefined || (await isDrSecondary(context)));
  if (!isMeant) return context.client;
  return context.anonymous.inRoot().withToken(await operationToken(context, from));
}

async function isDrSecondary({ openly }: Context): Promise<boolean> {
  try {
    return (await replication.readDrStatus(openly.inRoot())).data["mode"] === "secondary";
  } catch (error) {
    if (error instanceof Failure) return false; // whatever it is, the request itself says it better
    throw error;
  }
}

/** The same, sending one with every request where somebody has one: it is for the server to say whether it needs it. */
export async function withOperationToken(
  context: Context,
  from: string | undefined,
): Promise<Ceremony> {
  const { out, prompt, files, settings } = context;
  if (from === undefined && settingFrom(settings.env, VARIABLE) === null) return context;
  const token = await operationToken(context, from);
  return { out, prompt, files, settings, client: context.anonymous.withToken(token) };
}

export const ACTIVATION_HELP =
  "Activation token, @FILE, or - for standard input; else you are asked";

/** A token by which a cluster is let in. */
export async function activationToken(
  { prompt, files, out }: Pick<Context, "prompt" | "files" | "out">,
  typed: string | undefined,
): Promise<Secret<string>> {
  if (typed?.startsWith("@")) {
    const name = typed.slice(1);
    return held(files.text(name, MAX_SECRET), `the file ${name}`, FILLS_ACTIVATION);
  }
  if (typed === undefined || typed === "-") {
    const token = await prompt.piped("activation token");
    // One of several lines is cut at the first, and the next one would answer the question that comes.
    if (prompt.interactive && !isWhole(token.reveal())) {
      throw new UsageError("that is no activation token, or not the whole of one", WHOLE_TOKEN);
    }
    return token;
  }
  out.warn("a token on the command line stays in the shell's history; - reads it from a pipe");
  return new Secret(typed);
}

/** Whether it has the form of one: what it holds is for the server to judge. */
function isWhole(token: string): boolean {
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return true;
  return /^[\w-]+$/.test(token) && /^\{.*\}$/s.test(text(Buffer.from(token, "base64url")));
}

// Both are made elsewhere than where they are used; the primary may be what was lost.
const FILLS_OPERATION =
  "`holdfast replication ticket -field ticket OPERATION > FILE` on the primary, or from key shares with " +
  "`holdfast replication operation-token -field token > FILE` here";
const FILLS_ACTIVATION = "`holdfast replication token -public-key KEY ID > FILE` on the primary";

function held(content: string, where: string, filledBy: string): Secret<string> {
  const trimmed = content.trim();
  if (trimmed === "") {
    throw new UsageError(
      `${where} is empty: the command that should have filled it has failed`,
      `run that command again, see what it says, and fill it with ${filledBy}`,
    );
  }
  if (/\s/.test(trimmed)) {
    throw new UsageError(
      `${where} must hold one token and no more`,
      `fill it with ${filledBy}: nothing in front of it, nothing behind`,
    );
  }
  return new Secret(trimmed);
}
