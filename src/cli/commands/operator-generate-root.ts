// `holdfast operator generate-root`

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import { argument } from "../argument.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import { uncover } from "../one-time-pad.ts";
import { readPgpKey } from "../pgp-files.ts";
import {
  askShares,
  givenShare,
  keepCancelNonce,
  notRunning,
  SHARE_HELP,
  tellProgress,
} from "../shares.ts";
import { shown } from "../terminal/value.ts";
import { UsageError } from "../usage-error.ts";

const ATTEMPT = "sys/generate-root/attempt";

export const operatorGenerateRoot = command({
  name: "operator generate-root",
  summary: "Make a new root token from key shares",
  description:
    "On a terminal, without flags: starts an attempt (or joins the running one), asks for shares " +
    "until there are enough, and prints the token. In steps: -init on one machine, a share on each " +
    "holder's, then -decode with the one-time password that -init printed.",
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
  },
  args: { share: argument.optional(SHARE_HELP) },
  async run(context, { init, status, cancel, nonce, otp, pgpKey, decode, share }) {
    if ([init, status, cancel, decode !== undefined].filter(Boolean).length > 1) {
      throw new UsageError("-init, -status, -cancel and -decode exclude each other");
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
      if ((await currentAttempt(context))["started"] === false) throw notRunning("attempt");
      await client.request("DELETE", ATTEMPT, { body: nonce === undefined ? {} : { nonce } });
      out.done("Success! The attempt is ended.");
      return 0;
    }
    const wanted: JsonObject = {
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
  readonly wanted: JsonObject;
}

async function feed(context: Context, { nonce, share, wanted }: Feeding): Promise<number> {
  const { client, out, prompt } = context;
  const one = await givenShare(context, share);
  let attempt = await currentAttempt(context);
  let otp = typeof wanted["otp"] === "string" ? wanted["otp"] : "";
  if (attempt["started"] !== true) {
    if (one !== null || !prompt.interactive) {
      throw new UsageError("no attempt is running", "start one with -init");
    }
    attempt = await start(context, wanted);
    otp = otp === "" ? textOf(attempt, "otp") : otp;
    // Told at once: should this end before the last share, the token could not be read without it.
    if (otp !== "") out.hint(`One-time password, keep it until you have the token: ${otp}`);
    const cancel = textOf(attempt, "cancel_nonce");
    out.hint(`Cancel nonce: ${cancel}. ${keepCancelNonce("generate-root")}`);
  }
  const running = nonce ?? textOf(attempt, "nonce");
  out.hint(`Attempt ${running}\nEvery holder of a share should see this nonce.`);
  const give = async (given: Secret<string>) => {
    const body = { key: given.reveal(), nonce: running };
    const answer = await client.request("POST", "sys/generate-root/update", { body });
    attempt = isObject(answer.body) ? answer.body : {};
    const complete = attempt["complete"] === true;
    if (!complete) tellProgress(out, attempt["progress"], attempt["required"]);
    return complete;
  };
  if (one === null) await askShares(context, "Share", give);
  else await give(one);
  const encoded = textOf(attempt, "encoded_token");
  const decodable = attempt["complete"] === true && otp !== "" && encoded !== "";
  return decodable ? showToken(context, encoded, new Secret(otp)) : showAttempt(context, attempt);
}

async function start({ client }: Context, body: JsonObject): Promise<JsonObject> {
  const answer = await client.request("POST", ATTEMPT, { body });
  return isObject(answer.body) ? answer.body : {};
}

async function currentAttempt({ client }: Context): Promise<JsonObject> {
  const { body } = await client.request("GET", ATTEMPT);
  return isObject(body) ? body : {};
}

async function showAttempt({ out }: Context, attempt: JsonObject): Promise<number> {
  const has = (name: string) => attempt[name] !== undefined && attempt[name] !== "";
  await out.show(attempt, {
    pairs: [
      ["Nonce", attempt["nonce"]],
      ...(has("cancel_nonce") ? [["Cancel Nonce", attempt["cancel_nonce"]] as const] : []),
      ["Started", attempt["started"]],
      ["Progress", `${shown(attempt["progress"])}/${shown(attempt["required"])}`],
      ["Complete", attempt["complete"]],
      ...(has("otp") ? [["OTP", attempt["otp"]] as const] : []),
      ...(has("otp_length") ? [["OTP Length", attempt["otp_length"]] as const] : []),
      ...(has("pgp_fingerprint") ? [["PGP Fingerprint", attempt["pgp_fingerprint"]] as const] : []),
      ...(has("encoded_token") ? [["Encoded Token", attempt["encoded_token"]] as const] : []),
    ],
  });
  if (has("encoded_token") && !has("pgp_fingerprint")) {
    out.hint("Next: run `holdfast operator generate-root -decode ENCODED` with the password");
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

async function readOtp(context: Context, given: string | undefined): Promise<Secret<string>> {
  const { prompt, files, out } = context;
  if (given === "-") return prompt.piped("one-time password");
  if (given?.startsWith("@")) return new Secret(files.text(given.slice(1), 4096).trim());
  if (given !== undefined) {
    out.warn("a one-time password on the command line stays in the shell's history");
    return new Secret(given);
  }
  const typed = await prompt.secret("One-time password");
  if (typed === null || typed.reveal() === "") throw new UsageError("no password was given");
  return typed;
}

function textOf(attempt: JsonObject, name: string): string {
  const value = attempt[name];
  return typeof value === "string" ? value : "";
}
