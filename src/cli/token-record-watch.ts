// One token, followed: printed whole, then what is new about it.

import type { JsonObject } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import type { Answer, CallOptions } from "@holdfast/client/client";
import type { Context } from "./command.ts";
import { follow } from "./follow.ts";
import { indexOf, type Held } from "./token-listing.ts";
import { tokenOf, type TokenRecord } from "./token-requests.ts";
import { lineText, showToken, tokenLines } from "./token-view.ts";

const NOT_FOUND = 3;

export type ReadHeld = (
  query: Partial<Held["query"]>,
  options: CallOptions,
) => Promise<Answer<TokenRecord>>;

/** Until Ctrl-C, or until the token is gone: that is "not found". */
export function watchToken(
  context: Context,
  ask: ReadHeld,
  { secret }: { readonly secret: "shown" | "hidden" },
): Promise<number> {
  const { out } = context;
  const read = async (held: Held | null) => {
    try {
      const answer = await ask(held?.query ?? {}, held === null ? {} : { held: held.held });
      return { index: indexOf(answer), value: tokenOf(answer.data) };
    } catch (error) {
      // Of a token that was there when the watch began.
      if (held !== null && error instanceof ApiError && error.status === 404) {
        return { index: 0n, value: null };
      }
      throw error;
    }
  };
  return context.untilInterrupted(async (signal) => {
    let before: JsonObject | null = null;
    for await (const token of follow(context, signal, read)) {
      if (token === null) break;
      if (before === null) await showToken(context, token, { secret });
      else await showDifference(context, before, token, secret);
      before = token;
    }
    out.hint("The token is gone.");
    return NOT_FOUND;
  });
}

async function showDifference(
  { out, clock }: Context,
  before: JsonObject,
  token: JsonObject,
  secret: "shown" | "hidden",
): Promise<void> {
  // The same moment for both: a distance that grows is no change.
  const now = clock.now();
  const old = new Map(tokenLines(before, now, secret === "shown"));
  const lines = tokenLines(token, now, secret === "shown");
  const changed = lines.filter(([name, value]) => old.get(name) !== value);
  if (changed.length === 0) return;
  out.separate();
  const told = secret === "shown" ? token : { ...token, SecretID: "" };
  await out.show(told, { text: `\n${lineText(changed)}` }, told);
}
