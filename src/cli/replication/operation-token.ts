// `holdfast replication operation-token`: a token for a disaster-recovery secondary, made from key shares there.

import * as replication from "@holdfast/client/api/replication";
import { Failure } from "@holdfast/shared/failure";
import { Secret } from "@holdfast/shared/secret";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { readOtp, uncover } from "../operator/one-time-pad.ts";
import {
  askShares,
  notRunning,
  readPgpKey,
  readShare,
  SHARE_HELP,
  tellProgress,
} from "../operator/shares.ts";
import { showValue } from "../terminal/value.ts";
import {
  type Ceremony,
  DR_TOKEN_FLAG,
  operationCall,
  withOperationToken,
} from "./operation-secret.ts";

type Attempt = replication.DrOperationTokenStatusAnswer;

const NAME = "replication operation-token";

/** Shares are typed one after another; a script gives each by a command of its own. */
const IN_STEPS =
  `without a terminal it goes in steps: \`holdfast ${NAME} start -format=json > FILE\` has the nonce and the otp, \`holdfast ${NAME} share -nonce NONCE -field encoded_token - < SHARE\` takes each share and ` +
  `prints the encoded token with the last, \`holdfast ${NAME} decode -field token -otp @OTP ENCODED > FILE\` makes the token of it`;

export const replicationOperationToken = command({
  name: NAME,
  summary: "Make a token for operations on this secondary, from key shares",
  description:
    "On a terminal, without a word behind it: starts an attempt (or joins the running one), asks for shares of the primary until there " +
    "are enough, and prints the token. In steps: `start` on one machine, `share` on each holder's, then `decode`. The token lasts until " +
    "it is deleted or this cluster is promoted; five are good at a time. Where `operation_token_auth` of the server is `required`, each step " +
    "needs an operation token, or a ticket for `operation-token`, as `delete` does.",
  examples: [
    "holdfast replication operation-token",
    "holdfast replication operation-token start -pgp-key me.asc",
    "holdfast replication operation-token share -nonce N - < share.txt",
    "holdfast replication operation-token decode ENCODED",
    "holdfast replication operation-token delete -dr-token token.txt",
  ],
  flags: {
    nonce: flag.string("Nonce of the attempt", "NONCE"),
    otp: flag.string("One-time password: @FILE, or - for standard input", "@FILE|-"),
    pgpKey: flag.file("PGP public key to encrypt the token to, instead of a password"),
    ...DR_TOKEN_FLAG,
  },
  args: {
    step: argument.optional("start, share, status, decode, cancel or delete; else all of it", {
      choices: ["start", "share", "status", "decode", "cancel", "delete"],
    }),
    text: argument.optional(
      `Of \`share\`: ${SHARE_HELP.charAt(0).toLowerCase()}${SHARE_HELP.slice(1)}. Of \`decode\`: the encoded token`,
    ),
  },
  withoutToken: true,
  run: takeStep,
});

interface Step {
  readonly step: string | undefined;
  readonly text: string | undefined;
  readonly nonce: string | undefined;
  readonly otp: string | undefined;
  readonly pgpKey: string | undefined;
  readonly drToken?: string | undefined;
}

export async function takeStep(
  called: Context,
  { step, text, nonce, otp, pgpKey, drToken }: Step,
): Promise<number> {
  if (
    drToken === "-" &&
    (text === "-" || otp === "-" || (step === "share" && text === undefined))
  ) {
    throw new UsageError("one thing alone comes from standard input", "give -dr-token FILE");
  }
  const context = step === "delete" ? called : await withOperationToken(called, drToken);
  if (text !== undefined && step !== "share" && step !== "decode") {
    throw new UsageError("only share and decode have something behind them");
  }
  const wanted = async () => ({
    ...(pgpKey === undefined ? {} : { pgp_key: readPgpKey(context.files, pgpKey) }),
    ...(otp === undefined ? {} : { otp: (await readOtp(context, otp)).reveal() }),
  });
  switch (step) {
    case undefined:
      return whole(context, nonce, await wanted());
    case "start":
      return showAttempt(context, await start(context, await wanted()));
    case "share":
      return share(context, nonce, text);
    case "status":
      return showAttempt(context, await current(context));
    case "decode":
      return decode(context, text, otp);
    case "cancel":
      return cancel(context, nonce);
    case "delete":
      return remove(called, drToken);
    default:
      throw new UsageError("STEP must be start, share, status, decode, cancel or delete");
  }
}

async function whole(
  context: Ceremony,
  nonce: string | undefined,
  wanted: replication.DrOperationTokenStartInput,
): Promise<number> {
  const { out, prompt } = context;
  prompt.needPerson("Share", IN_STEPS);
  let attempt = await current(context);
  let otp = wanted.otp ?? "";
  if (attempt.started) tellOthers(context, attempt, otp);
  else {
    checkField(context, { readable: wanted.pgp_key === undefined });
    attempt = await start(context, wanted);
    otp = otp === "" ? attempt.otp : otp;
    // Told at once: should this end before the last share, the token could not be read without it.
    if (otp !== "") out.hint(`One-time password, keep it until you have the token: ${otp}`);
  }
  const running = nonce ?? attempt.nonce;
  out.hint(`Attempt ${running}\nEvery holder of a share should see this nonce.`);
  await askShares(context, "Share of the primary", async (key) => {
    attempt = await give(context, key, running);
    return attempt.complete;
  });
  return ended(context, attempt, otp);
}

/** Before anybody types a share: an attempt that somebody else began ends with a token that only they can read. */
function tellOthers(context: Ceremony, { nonce, pgp_fingerprint: pgp }: Attempt, otp: string) {
  const { out, settings } = context;
  const cancel = `\`holdfast ${NAME} cancel -nonce ${nonce}\` ends it`;
  if (settings.field === "token" && (otp === "" || pgp !== "")) {
    const whose = pgp === "" ? "the password" : "the PGP key";
    throw new UsageError(
      `an attempt of somebody else is under way, and only ${whose} that it began with opens its token`,
      `${cancel}; then this begins one of its own`,
    );
  }
  checkField(context, { readable: otp !== "" && pgp === "" });
  out.hint(
    pgp !== "" || otp !== ""
      ? "An attempt is under way, and goes on here."
      : "An attempt of somebody else is under way, and goes on here: its token can be read with the password that it " +
          `began with (-otp). ${cancel}, where nobody has that.`,
  );
}

const MEMBERS: readonly (keyof Attempt)[] = [
  "nonce",
  "started",
  "progress",
  "required",
  "complete",
  "encoded_token",
  "pgp_fingerprint",
  "otp",
];

/** A member that is missing would be noticed after the last share, when the answer is gone. */
function checkField(
  { settings }: Pick<Context, "settings">,
  { readable }: { readonly readable: boolean },
): void {
  const { field } = settings;
  const names = readable ? ["token"] : MEMBERS;
  if (field === null || names.some((name) => name === field)) return;
  throw new UsageError(
    `the answer will have no ${field === "token" ? "token that is readable here" : "such field"}`,
    `-field takes ${names.join(", ")}`,
  );
}

async function share(
  context: Ceremony,
  nonce: string | undefined,
  text: string | undefined,
): Promise<number> {
  checkField(context, { readable: false });
  const key = (await readShare(context, text)) ?? (await context.prompt.piped("share"));
  const attempt = await current(context);
  if (!attempt.started) throw notRunning("attempt");
  return ended(context, await give(context, key, nonce ?? attempt.nonce), "");
}

async function ended(context: Ceremony, attempt: Attempt, otp: string): Promise<number> {
  const { encoded_token: encoded, complete } = attempt;
  if (complete && otp !== "" && encoded !== "") {
    try {
      return await showToken(context, encoded, new Secret(otp));
    } catch (error) {
      // A password of another attempt. The server has forgotten this answer, and the shares with it.
      if (!(error instanceof Failure)) throw error;
      context.out.hint(`Encoded token, for \`holdfast ${NAME} decode\`: ${encoded}`);
      throw error;
    }
  }
  await showAttempt(context, attempt);
  if (!complete) {
    context.out.hint(
      `Next: \`holdfast ${NAME} share\` with more shares; \`holdfast ${NAME} cancel -nonce ${attempt.nonce}\` ends the attempt`,
    );
  }
  return 0;
}

async function decode(
  context: Ceremony,
  encoded: string | undefined,
  otp: string | undefined,
): Promise<number> {
  // Before a password is asked for: what cannot be a token is not worth one.
  if (encoded === undefined || !/^[A-Za-z0-9+/]{8,}={0,2}$/.test(encoded)) {
    throw new UsageError("decode takes the encoded token, in base64, as the last share gave it");
  }
  return showToken(context, encoded, await readOtp(context, otp));
}

async function cancel(context: Ceremony, nonce: string | undefined): Promise<number> {
  if (!(await current(context)).started) throw notRunning("attempt");
  const input = nonce === undefined ? {} : { nonce };
  await replication.drOperationTokenCancel(context.client.inRoot(), input);
  context.out.done("Success! The attempt is ended.");
  return 0;
}

async function remove(context: Context, drToken: string | undefined): Promise<number> {
  const { client, body } = await operationCall(context, drToken);
  await replication.drOperationTokenDelete(client, body);
  context.out.done("Success! The operation token is of no use any more.");
  return 0;
}

async function start(
  { client }: Ceremony,
  input: replication.DrOperationTokenStartInput,
): Promise<Attempt> {
  return (await replication.drOperationTokenStart(client.inRoot(), input)).data;
}

async function current({ client }: Ceremony): Promise<Attempt> {
  return (await replication.drOperationTokenStatus(client.inRoot())).data;
}

async function give(
  { client, out }: Ceremony,
  key: Secret<string>,
  nonce: string,
): Promise<Attempt> {
  const input = { key: key.reveal(), nonce };
  const attempt = (await replication.drOperationTokenUpdate(client.inRoot(), input)).data;
  if (!attempt.complete) tellProgress(out, attempt.progress, attempt.required);
  return attempt;
}

async function showAttempt({ out }: Ceremony, attempt: Attempt): Promise<number> {
  const { otp, pgp_fingerprint: fingerprint, encoded_token: encoded } = attempt;
  const some = (name: string, value: string) => (value === "" ? [] : [[name, value] as const]);
  await out.show(attempt, {
    pairs: [
      ["Nonce", attempt.nonce],
      ["Started", attempt.started],
      ["Progress", `${showValue(attempt.progress)}/${showValue(attempt.required)}`],
      ["Complete", attempt.complete],
      ...some("OTP", otp),
      ...some("PGP Fingerprint", fingerprint),
      ...some("Encoded Token", encoded),
    ],
  });
  if (encoded !== "" && fingerprint === "") {
    out.hint(`Next: run \`holdfast ${NAME} decode ENCODED\`; it asks for the password (-otp)`);
  } else if (otp !== "") {
    out.hint("Keep the OTP: it is shown this once, and only with it can the token be read.");
  }
  return 0;
}

async function showToken({ out }: Ceremony, encoded: string, otp: Secret<string>): Promise<number> {
  const token = uncover(encoded, otp).reveal();
  await out.show({ token }, { pairs: [["Operation Token", token]] });
  out.hint(
    `Next: keep it in a file for -dr-token, or in HOLDFAST_DR_OPERATION_TOKEN; \`holdfast ${NAME} delete -dr-token FILE\` ends it`,
  );
  return 0;
}
