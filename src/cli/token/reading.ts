// `holdfast acl token list`, `info` and `self`: tokens as they are, and as they change.

import type { JsonObject } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import * as tokens from "@holdfast/client/api/tokens";
import type { Answer, CallOptions } from "@holdfast/client/client";
import { ACCESSOR_HELP, findAccessor } from "./accessors.ts";
import { command, type Context } from "../command.ts";
import { noToken, readToken, tokenOf, type TokenRecord } from "./fields.ts";
import { follow } from "../follow.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { indexOf, isAccessorPrefix, listPages, type Held, type TokenQuery } from "./listing.ts";
import { pad } from "../terminal/text.ts";
import { showValue } from "../terminal/value.ts";
import {
  checkSecretField,
  isExpired,
  lineText,
  SECRET_FLAG,
  showToken,
  TOKEN_FLAGS,
  tokenLines,
  tokensView,
} from "./view.ts";

export const tokenList = command({
  name: "acl token list",
  summary: "List tokens, without their secrets",
  description:
    "In the order of creation; with -prefix or -global in that of accessors. -filter takes an " +
    "expression over the members of a token. With -watch the list is printed, and then each change.",
  examples: [
    "holdfast acl token list",
    "holdfast acl token list -prefix c842 -wide",
    `holdfast acl token list -filter 'Type == "client" and Policies contains "readonly"'`,
    "holdfast acl token list -per-page 100 -page-token 1002.99a96939-de2e-4b35-a324-790233ea0442",
    "holdfast acl token list -watch",
  ],
  flags: {
    prefix: flag.string("Only accessors that begin so", "TEXT"),
    global: flag.switch("Only global tokens"),
    filter: flag.string("Only tokens that match this expression", "EXPRESSION"),
    expired: flag.switch("Only tokens that are expired, by this machine's clock"),
    reverse: flag.switch("The other way round"),
    perPage: flag.integer("Print one page of so many tokens", { min: 1, max: 2 ** 31 - 1 }),
    pageToken: flag.string("Where the page begins, as the page before it told", "CURSOR"),
    next: flag.string("The same as -page-token", "CURSOR"),
    all: flag.switch("All pages, -per-page at a time"),
    wide: flag.switch("More columns: policies, expiry, age"),
    quiet: flag.switch("Print accessors alone"),
    watch: flag.switch("Go on printing changes until Ctrl-C"),
  },
  args: {},
  takesRegion: () => true,
  async run(context, { expired, all, wide, quiet, watch, pageToken, next, ...filters }) {
    const { client, out, clock } = context;
    if (filters.prefix !== undefined && !isAccessorPrefix(filters.prefix)) {
      throw new UsageError("-prefix takes the beginning of a UUID");
    }
    const start = pageToken ?? next;
    const paged = filters.perPage !== undefined || start !== undefined;
    if (watch && paged) throw new UsageError("-watch shows all tokens: it takes no page");
    const query: TokenQuery = { ...filters, pageToken: start };
    const keep = (token: JsonObject) => !expired || isExpired(token, clock.now());

    if (watch) return watchList(context, query, { keep, wide, quiet });
    const found: JsonObject[] = [];
    let more: string | null = null;
    for await (const page of listPages(client, query)) {
      found.push(...page.tokens.filter(keep));
      more = page.next;
      if (filters.perPage !== undefined && !all) break;
    }
    await showList(context, found, { wide, quiet });
    if (more !== null) out.hint(`Next: add -page-token ${more} for the next page`);
    return found.length === 0 ? 3 : 0;
  },
});

interface ListOptions {
  readonly wide: boolean;
  readonly quiet: boolean;
}

async function showList(
  { out, clock }: Pick<Context, "out" | "clock">,
  tokens: readonly JsonObject[],
  { wide, quiet }: ListOptions,
): Promise<void> {
  if (tokens.length === 0 && (out.forPeople || quiet)) return out.hint("No tokens found");
  if (quiet) return out.text(tokens.map(({ AccessorID }) => showValue(AccessorID)).join("\n"));
  await out.show([...tokens], tokensView(tokens, clock.now(), wide));
}

async function watchList(
  context: Context,
  query: TokenQuery,
  options: ListOptions & { readonly keep: (token: JsonObject) => boolean },
): Promise<number> {
  const { client, out } = context;
  const read = async (held: Held | null) => {
    const value: JsonObject[] = [];
    // The index of the first page: what changes while later ones are read is seen the next time.
    let index: bigint | null = null;
    for await (const page of listPages(client, query, held)) {
      index ??= page.index;
      value.push(...page.tokens.filter(options.keep));
    }
    return { index: index ?? 0n, value };
  };
  return context.untilInterrupted(async (signal) => {
    let before: readonly JsonObject[] | null = null;
    for await (const tokens of follow(context, signal, read)) {
      if (before === null) await showList(context, tokens, options);
      else for (const one of changesBetween(before, tokens)) await showChange(out, one, options);
      before = tokens;
    }
    return 0;
  });
}

async function showChange(
  out: Context["out"],
  { change, token }: TokenChange,
  { quiet }: ListOptions,
): Promise<void> {
  const { AccessorID, Type, Name } = token;
  if (quiet) return out.text(showValue(AccessorID));
  out.separate();
  const text = `${pad(change, 7)}  ${showValue(AccessorID)}  ${pad(showValue(Type), 10)}  ${showValue(Name)}`;
  await out.show({ Change: change, Token: token }, { text }, token);
}

interface TokenChange {
  /** Of a list with a filter: it matches now, is another, matches no more. */
  readonly change: "added" | "changed" | "removed";
  /** As it is now; of a removed one as it was. */
  readonly token: JsonObject;
}

function changesBetween(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
): TokenChange[] {
  const known = byAccessor(before);
  const present = byAccessor(after);
  const changes: TokenChange[] = [];
  for (const [accessor, token] of known) {
    if (!present.has(accessor)) changes.push({ change: "removed", token });
  }
  for (const [accessor, token] of present) {
    const old = known.get(accessor);
    if (old === undefined) changes.push({ change: "added", token });
    else if (versionOf(old) !== versionOf(token)) changes.push({ change: "changed", token });
  }
  return changes;
}

function byAccessor(tokens: readonly JsonObject[]): Map<string, JsonObject> {
  return new Map(tokens.map((token) => [showValue(token["AccessorID"]), token]));
}

/** A token that was deleted and uploaded again has the same accessor, but other indexes. */
function versionOf({ CreateIndex, ModifyIndex }: JsonObject): string {
  return `${showValue(CreateIndex)} ${showValue(ModifyIndex)}`;
}

export const tokenInfo = command({
  name: "acl token info",
  summary: "Show a token",
  description:
    "For management tokens, and for the token itself. With -watch it is printed, and then what is " +
    "new about it, until it is gone.",
  examples: [
    "holdfast acl token info c8427da3-8cf6-48b2-beaf-9bb747302196",
    "holdfast acl token info -show-secret -field SecretID c8427da3",
    "holdfast acl token info -watch c8427da3",
  ],
  flags: { ...SECRET_FLAG, watch: flag.switch("Go on printing changes until Ctrl-C") },
  args: { accessor: argument.required(ACCESSOR_HELP) },
  takesRegion: () => true,
  async run(context, { accessor, showSecret, watch }) {
    checkSecretField(context, showSecret);
    const secret = showSecret ? "shown" : "hidden";
    const id = await findAccessor(context.client, accessor);
    if (watch) {
      const read: ReadHeld = (query, options) =>
        tokens.readToken(context.client, { accessor_id: id, ...query }, options);
      return watchToken(context, read, { secret });
    }
    await showToken(context, await readToken(context.client, id), { secret });
    return 0;
  },
});

export const tokenSelf = command({
  name: "acl token self",
  summary: "Show the token that commands act with",
  description: "With -watch it is printed, and then what is new about it.",
  examples: ["holdfast acl token self", "holdfast acl token self -field ExpirationTime"],
  flags: {
    ...SECRET_FLAG,
    ...TOKEN_FLAGS,
    watch: flag.switch("Go on printing changes until Ctrl-C"),
  },
  args: {},
  takesRegion: () => true,
  async run(context, { showSecret, quiet, watch }) {
    checkSecretField(context, showSecret);
    if (context.settings.token(context.fs) === null) {
      throw noToken();
    }
    const secret = showSecret ? "shown" : "hidden";
    const { client } = context;
    if (watch) {
      const read: ReadHeld = (query, options) => tokens.readSelfToken(client, query, options);
      return watchToken(context, read, { secret });
    }
    const token = tokenOf((await tokens.readSelfToken(client)).data);
    await showToken(context, token, { secret, quiet });
    return 0;
  },
});

const NOT_FOUND = 3;

type ReadHeld = (
  query: Partial<Held["query"]>,
  options: CallOptions,
) => Promise<Answer<TokenRecord>>;

/** Until Ctrl-C, or until the token is gone: that is "not found". */
function watchToken(
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
  const visible = secret === "shown" ? token : { ...token, SecretID: "" };
  await out.show(visible, { text: `\n${lineText(changed)}` }, visible);
}
