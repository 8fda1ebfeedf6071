// `holdfast acl token list`

import type { JsonObject } from "@holdfast/shared/json/json";
import { isAccessorPrefix } from "../accessor-prefix.ts";
import { command, type Context } from "../command.ts";
import { flag } from "../flag.ts";
import { follow } from "../follow.ts";
import { pad } from "../terminal/text.ts";
import { shown } from "../terminal/value.ts";
import { changesBetween, type TokenChange } from "../token-changes.ts";
import { listPages, type Held, type TokenQuery } from "../token-listing.ts";
import { isExpired, tokensView } from "../token-view.ts";
import { UsageError } from "../usage-error.ts";

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
  async run(context, { expired, all, wide, quiet, watch, pageToken, next, ...asked }) {
    const { client, out, clock } = context;
    if (asked.prefix !== undefined && !isAccessorPrefix(asked.prefix)) {
      throw new UsageError("-prefix takes the beginning of a UUID");
    }
    const start = pageToken ?? next;
    const paged = asked.perPage !== undefined || start !== undefined;
    if (watch && paged) throw new UsageError("-watch shows all tokens: it takes no page");
    const query: TokenQuery = { ...asked, pageToken: start };
    const keep = (token: JsonObject) => !expired || isExpired(token, clock.now());

    if (watch) return watchList(context, query, { keep, wide, quiet });
    const found: JsonObject[] = [];
    let more: string | null = null;
    for await (const page of listPages(client, query)) {
      found.push(...page.tokens.filter(keep));
      more = page.next;
      if (asked.perPage !== undefined && !all) break;
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
  if (quiet) return out.text(tokens.map(({ AccessorID }) => shown(AccessorID)).join("\n"));
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
  if (quiet) return out.text(shown(AccessorID));
  out.separate();
  const text = `${pad(change, 7)}  ${shown(AccessorID)}  ${pad(shown(Type), 10)}  ${shown(Name)}`;
  await out.show({ Change: change, Token: token }, { text }, token);
}
