// `holdfast wrap` and `holdfast unwrap`.

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import { MINUTE } from "@holdfast/shared/text/duration";
import { isUuid } from "@holdfast/shared/text/uuid";
import * as wrapping from "@holdfast/client/api/wrapping";
import type { Client } from "@holdfast/client/client";
import { Failure } from "@holdfast/shared/failure";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { showAnswer } from "../answer-view.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { readData } from "../line/data-arguments.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { longTime } from "../terminal/relative-time.ts";
import { showValue } from "../terminal/value.ts";

export const wrap = command({
  name: "wrap",
  summary: "Hand over data by a token that unwraps it, once",
  description:
    "The server keeps the data; whoever has the token gets it with `holdfast unwrap`, once, within " +
    "the time given. Values are given as for write. To wrap what a read answers, give -wrap-ttl " +
    "to that command.",
  examples: [
    "holdfast wrap -ttl 10m password=@password.txt",
    "holdfast wrap -field wrapping_token - < secret.json",
    "holdfast kv get -wrap-ttl 10m secret/app",
  ],
  flags: { ttl: flag.duration("How long it can be unwrapped").default(5n * MINUTE, "5m") },
  args: { data: argument.rest("name=value, name=@file, name=-, or - for JSON on standard input") },
  async run({ client, out, files, prompt }, { ttl, data }) {
    const body = await readData(data, { files, prompt, out });
    if (body === null) throw new UsageError("there is no data", "give name=value, or - for JSON");
    const answer = await wrapping.wrapData(client.wrapping(ttl), { data: body });
    await showAnswer(out, answer, "There is nothing to show.");
  },
});

export const unwrap = command({
  name: "unwrap",
  summary: "Get what a wrapping token stands for; it works once",
  description:
    "The token is asked for without being shown, or comes from FILE or standard input (-). A token " +
    "that does not work although nobody used it on your side was used by somebody else: say so. " +
    "-made-at refuses one that was made elsewhere, before it is used up. -lookup tells when and " +
    "where it was made, -rewrap makes a new one of it; both leave what it wraps unread.",
  examples: [
    "holdfast unwrap",
    "holdfast unwrap - < token.txt",
    "holdfast unwrap -made-at secret/data/app -field password token.txt",
    "holdfast unwrap -lookup token.txt",
  ],
  flags: {
    madeAt: flag.string("Only if it was made by a request on this path", "PATH"),
    lookup: flag.switch("Tell about the token, and do not use it up"),
    rewrap: flag.switch("Make a new token for the same; this one no longer works"),
  },
  args: { file: argument.optional("File that holds the token, or - for standard input") },
  async run(context, { file, madeAt, lookup, rewrap }) {
    const { client, out, clock } = context;
    if (lookup && rewrap) throw new UsageError("-lookup and -rewrap exclude each other");
    const token = await wrappingToken(context, file);
    if (lookup) {
      const data = await lookedUp(client, token);
      const pairs = Object.entries(data).map(([name, value]) => {
        return [name, name === "creation_time" ? longTime(value, clock.now()) : value] as const;
      });
      return out.show(data, { pairs });
    }
    if (madeAt !== undefined) checkOrigin(await lookedUp(client, token), madeAt);
    // As the credential: it is all the right that it takes, whatever the present token may do.
    const bearer = client.withToken(token);
    const nothing = "There was nothing in it.";
    if (rewrap) return showAnswer(out, await wrapping.rewrap(bearer), nothing);
    const answer = await wrapping.unwrap(bearer);
    const secret = secretIn(answer.data);
    if (secret === null) return showAnswer(out, answer, nothing);
    await out.show(answer.body, { pairs: Object.entries(secret) }, { ...secret, ...answer.data });
  },
});

/** Of a secret with versions people want the data alone, as kv get shows it. */
function secretIn({ data: secret, metadata, ...others }: JsonObject): JsonObject | null {
  const versioned = isObject(metadata) && "version" in metadata;
  return isObject(secret) && versioned && Object.keys(others).length === 0 ? secret : null;
}

async function lookedUp(client: Client, token: Secret<string>) {
  const input = { token: token.reveal() };
  return (await wrapping.lookUpWrapping(client.withToken(null), input)).data;
}

function checkOrigin({ creation_path: made }: wrapping.LookUpWrappingAnswer, madeAt: string): void {
  const wanted = madeAt.replace(/^\/+/, "").replace(/^v1\//, "");
  if (made === wanted) return;
  throw new AdvisedFailure(
    "denied",
    "wrapped-elsewhere",
    `this token was made at ${showValue(made)}, not at ${wanted}; it was not used up`,
    "ask those who sent it; somebody may have put another in its place",
  );
}

const MAX_FILE = 64 * 1024;
// Three parts of base64url: the form that another cluster can read.
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Whoever gives the token itself is told of a file that is not there. */
function tokenIn(files: Context["files"], file: string): Secret<string> {
  try {
    return new Secret(files.text(file, MAX_FILE).trim());
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new UsageError(error.message, `a token is no argument: ${INSTEAD}`);
  }
}

const INSTEAD =
  "run `holdfast unwrap` and paste it, or give a file that holds it, or - for standard input";

export async function wrappingToken(
  { prompt, files }: Pick<Context, "prompt" | "files">,
  from: string | undefined,
): Promise<Secret<string>> {
  const text = from === undefined ? "" : from.trim();
  if (isUuid(text) || (JWT.test(text) && text.length > 100)) {
    throw new UsageError(
      "a wrapping token is not taken from the command line: others could see and use it first",
      INSTEAD,
    );
  }
  if (from === "-") return prompt.piped("wrapping token");
  const token = from === undefined ? await prompt.secret("Wrapping token") : tokenIn(files, from);
  if (token === null || token.reveal() === "") throw new UsageError("no wrapping token was given");
  return token;
}
