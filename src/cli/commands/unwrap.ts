// `holdfast unwrap`

import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Secret } from "@holdfast/shared/secret";
import type { Client } from "@holdfast/client/client";
import { AdvisedFailure } from "../advised-failure.ts";
import { showAnswer } from "../answer-view.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { recordOf } from "../kv-versions.ts";
import { longTime } from "../relative-time.ts";
import { shown } from "../terminal/value.ts";
import { UsageError } from "../usage-error.ts";
import { wrappingToken } from "../wrapping-token.ts";

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
    const answer = rewrap
      ? await bearer.request("POST", "sys/wrapping/rewrap")
      : await bearer.request("POST", "sys/wrapping/unwrap");
    const secret = rewrap ? null : secretIn(answer.data);
    if (secret === null) return showAnswer(out, answer, "There was nothing in it.");
    await out.show(
      answer.body,
      { pairs: Object.entries(secret) },
      { ...secret, ...recordOf(answer.data) },
    );
  },
});

/** Of a secret with versions people want the data alone, as kv get shows it. */
function secretIn(data: JsonValue | undefined): JsonObject | null {
  const { data: secret, metadata, ...others } = recordOf(data);
  const versioned = isObject(metadata) && "version" in metadata;
  return isObject(secret) && versioned && Object.keys(others).length === 0 ? secret : null;
}

async function lookedUp(client: Client, token: Secret<string>) {
  const body = { token: token.reveal() };
  const { data } = await client.withToken(null).request("POST", "sys/wrapping/lookup", { body });
  return isObject(data) ? data : {};
}

function checkOrigin(
  { creation_path }: { readonly creation_path?: unknown },
  madeAt: string,
): void {
  const wanted = madeAt.replace(/^\/+/, "").replace(/^v1\//, "");
  if (creation_path === wanted) return;
  const made = typeof creation_path === "string" ? creation_path : "";
  throw new AdvisedFailure(
    "denied",
    "wrapped-elsewhere",
    `this token was made at ${shown(made)}, not at ${wanted}; it was not used up`,
    "ask those who sent it; somebody may have put another in its place",
  );
}
