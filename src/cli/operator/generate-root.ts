// `holdfast operator generate-root`

import { Secret } from "@holdfast/shared/secret";
import { argument } from "../line/argument.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../line/flag.ts";
import {
  readPgpKey,
  askShares,
  goOn,
  readShare,
  keepCancelNonce,
  notRunning,
  SHARE_HELP,
  tellProgress,
} from "./shares.ts";
import { showValue } from "../terminal/value.ts";
import { UsageError } from "../line/usage-error.ts";
import { readOtp, uncover } from "./one-time-pad.ts";
import * as seal from "@holdfast/client/api/seal";

type Attempt = seal.GenerateRootStatusAnswer;

export const operatorGenerateRoot = command({
  name: "operator generate-root",
  summary: "Make a new root token from key shares",
  description:
    "On a terminal, without flags: starts an attempt (or joins the running one), asks for shares " +
    "until there are enough, and prints the token. In steps: -init on one machine, a share on each " +
    "holder's, then -decode with the one-time password that -init printed. With -dr-token it is " +
    "`holdfast replication operation-token`, on a disaster-recovery secondary.",
  examples: [
    "holdfast operator generate-root",
    "holdfast operator generate-root -init -pgp-key me.asc",
    "holdfast operator generate-root -nonce N - < share.txt",
    "holdfast operator generate-root -decode ENCODED",
    "holdfast operator generate-root -cancel -nonce CANCEL_NONCE",
  ],
  flags: {
    init: flag.switch("Start an attempt and do not ask for shares"),
    status: flag.switch("Show the running attempt"),
    cancel: flag.switch("End the running attempt: with its cancel nonce, or a token with sudo"),
    nonce: flag.string("Nonce of the attempt; with -cancel, the cancel nonce", "NONCE"),
    otp: flag.string("One-time password: @FILE, or - for standard input", "@FILE|-"),
    pgpKey: flag.file("PGP public key to encrypt the token to, instead of a password"),
    decode: flag.string("Take the one-time password off this encoded token", "ENCODED"),
    drToken: flag.switch("Make an operation token of a disaster-recovery secondary instead"),
  },
  args: { share: argument.optional(SHARE_HELP) },
  async run(context, { init, status, cancel, nonce, otp, pgpKey, decode, drToken, share }) {
    if ([init, status, cancel, decode !== undefined].filter(Boolean).length > 1) {
      throw new UsageError("-init, -status, -cancel and -decode exclude each other");
    }
    if (drToken) {
      const { takeStep } = await import("../replication/operation-token.ts");
      const step = init ? "start" : status ? "status" : cancel ? "cancel" : "";
      const named = step === "" && decode !== undefined ? "decode" : step;
      const next = named === "" && share !== undefined ? "share" : named;
      const text = decode ?? share;
      return takeStep(context, { step: next || undefined, text, nonce, otp, pgpKey });
    }
    const { client, out, files } = context;
    if (decode !== undefined) {
      // Before a password is asked for: what cannot be a token is not worth one.
      if (!/^[A-Za-z0-9+/]{8,}={0,2}$/.test(decode)) {
        throw new UsageError(
          "-decode takes the encoded token, in base64, as the last share gave it",
        );
      }
      return showToken(context, decode, await readOtp(context, otp));
    }
    if (status) return showAttempt(context, await currentAttempt(context));
    if (cancel) {
      if ((await currentAttempt(context)).started === false) throw notRunning("attempt");
      await seal.generateRootCancel(client, nonce === undefined ? {} : { nonce });
      out.done("Success! The attempt is ended.");
      return 0;
    }
    const wanted: seal.GenerateRootStartInput = {
      ...(pgpKey === undefined ? {} : { pgp_key: readPgpKey(files, pgpKey) }),
      ...(otp === undefined ? {} : { otp: (await readOtp(context, otp)).reveal() }),
    };
    if (init) return showAttempt(context, await start(context, wanted));
    return feed(context, { nonce, share, wanted });
  },
});

interface Feeding {
  readonly nonce: string | undefined;
  readonly share: string | undefined;
  readonly wanted: seal.GenerateRootStartInput;
}

async function feed(context: Context, { nonce, share, wanted }: Feeding): Promise<number> {
  const { client, out, prompt } = context;
  const one = await readShare(context, share);
  let attempt = await currentAttempt(context);
  let otp = wanted.otp ?? "";
  if (attempt.started !== true) {
    if (one !== null || !prompt.interactive) {
      throw new UsageError("no attempt is running", "start one with -init");
    }
    attempt = await start(context, wanted);
    otp = otp === "" ? attempt.otp : otp;
    // Told at once: should this end before the last share, the token could not be read without it.
    if (otp !== "") out.hint(`One-time password, keep it until you have the token: ${otp}`);
    out.hint(`Cancel nonce: ${attempt.cancel_nonce ?? ""}. ${keepCancelNonce("generate-root")}`);
  }
  const running = nonce ?? attempt.nonce;
  out.hint(`Attempt ${running}\nEvery holder of a share should see this nonce.`);
  const give = async (key: Secret<string>) => {
    const input = { key: key.reveal(), nonce: running };
    attempt = (await seal.generateRootUpdate(client, input)).data;
    if (!attempt.complete) tellProgress(out, attempt.progress, attempt.required);
    return attempt.complete;
  };
  if (one === null) await askShares(context, "Share", give);
  else await give(one);
  const encoded = attempt.encoded_token;
  const decodable = attempt.complete && otp !== "" && encoded !== "";
  if (decodable) return showToken(context, encoded, new Secret(otp));
  await showAttempt(context, attempt);
  if (!attempt.complete) out.hint(goOn("generate-root"));
  return 0;
}

async function start({ client }: Context, input: seal.GenerateRootStartInput): Promise<Attempt> {
  return (await seal.generateRootStart(client, input)).data;
}

async function currentAttempt({ client }: Context): Promise<Attempt> {
  return (await seal.generateRootStatus(client)).data;
}

async function showAttempt({ out }: Context, attempt: Attempt): Promise<number> {
  const has = (name: keyof Attempt) => attempt[name] !== undefined && attempt[name] !== "";
  await out.show(attempt, {
    pairs: [
      ["Nonce", attempt.nonce],
      ...(has("cancel_nonce") ? [["Cancel Nonce", attempt.cancel_nonce] as const] : []),
      ["Started", attempt.started],
      ["Progress", `${showValue(attempt.progress)}/${showValue(attempt.required)}`],
      ["Complete", attempt.complete],
      ...(has("otp") ? [["OTP", attempt.otp] as const] : []),
      ...(has("otp_length") ? [["OTP Length", attempt.otp_length] as const] : []),
      ...(has("pgp_fingerprint") ? [["PGP Fingerprint", attempt.pgp_fingerprint] as const] : []),
      ...(has("encoded_token") ? [["Encoded Token", attempt.encoded_token] as const] : []),
    ],
  });
  if (has("encoded_token") && !has("pgp_fingerprint")) {
    out.hint(
      "Next: run `holdfast operator generate-root -decode ENCODED`; it asks for the password (-otp)",
    );
  } else if (has("otp")) {
    out.hint("Keep the OTP: it is shown this once, and only with it can the token be read.");
  }
  if (has("cancel_nonce")) out.hint(keepCancelNonce("generate-root"));
  return 0;
}

async function showToken({ out }: Context, encoded: string, otp: Secret<string>): Promise<number> {
  const token = uncover(encoded, otp).reveal();
  await out.show({ token }, { pairs: [["Root Token", token]] });
  return 0;
}
