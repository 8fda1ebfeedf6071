// `holdfast acl token lookup`, `renew`, `capabilities`, `revoke`, `revoke-self` and `one-time`: what whoever
// holds a token does with it, as policies allow; management tokens are not needed.

import type { JsonObject } from "@holdfast/shared/json/json";
import { showDuration } from "@holdfast/shared/text/duration";
import { ApiError } from "@holdfast/client/api-error";
import * as policies from "@holdfast/client/api/policies";
import * as tokens from "@holdfast/client/api/tokens";
import { forgetAddresses } from "@holdfast/client/node/token-address";
import { typedPath } from "@holdfast/client/request-path";
import { ACCESSOR_HELP, findAccessor } from "./accessors.ts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { command } from "../command.ts";
import { noToken, tokenOf } from "./fields.ts";
import { afterColon, argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import {
  readSecret,
  needSecretOut,
  SECRET_OUT_FLAG,
  typedSecret,
  withSecretFile,
} from "./secrets.ts";
import { longTime, secondsText } from "../terminal/relative-time.ts";
import { showValue } from "../terminal/value.ts";
import { lineText, showToken, TOKEN_FLAGS } from "./view.ts";

const OWN = `${ACCESSOR_HELP}; without it, the token that commands act with`;

export const tokenLookup = command({
  name: "acl token lookup",
  summary: "Tell where a token came from, its policies and how long it lives",
  description:
    "As logins and leases see it; `acl token info` shows the record. The secret is not told.",
  examples: [
    "holdfast token lookup",
    "holdfast token lookup -field ttl",
    "holdfast token lookup c8427da3",
  ],
  flags: {},
  args: { accessor: argument.optional(OWN) },
  async run({ client, out }, { accessor }) {
    const { data } =
      accessor === undefined
        ? await tokens.authTokenLookupSelf(client)
        : await tokens
            .authTokenLookupAccessor(client, { accessor: await findAccessor(client, accessor) })
            .catch(rethrown);
    const visible = { ...data, ...(accessor === undefined ? { id: "" } : {}) };
    await out.show(visible, { pairs: lookupPairs(visible) });
  },
});

function lookupPairs(data: JsonObject): (readonly [string, JsonObject[string]])[] {
  return Object.entries(data)
    .filter(([name, value]) => name !== "id" && value !== "" && value !== null)
    .map(([name, value]) => [name, /(^|_)ttl$/.test(name) ? lifetime(value) : value] as const);
}

function lifetime(seconds: JsonObject[string]): JsonObject[string] {
  return seconds === 0 ? "without end" : secondsText(seconds);
}

export const tokenRenew = command({
  name: "acl token renew",
  summary: "Let a token live longer",
  description:
    "Shows what was granted: the server may give less than was asked for, and says so. Tokens that " +
    "never expire, or that were made without renewal, are refused.",
  examples: [
    "holdfast token renew",
    "holdfast token renew -increment 8h",
    "holdfast token renew c8427da3",
  ],
  flags: { increment: flag.duration("How long from now; without it, as long as it was made for") },
  args: { accessor: argument.optional(OWN) },
  async run({ client, out }, { accessor, increment }) {
    const wanted = increment === undefined ? {} : { increment: showDuration(increment) };
    const { data: auth } =
      accessor === undefined
        ? await tokens.authTokenRenewSelf(client, wanted)
        : await tokens
            .authTokenRenewAccessor(client, {
              accessor: await findAccessor(client, accessor),
              ...wanted,
            })
            .catch(rethrown);
    const visible = { ...auth, client_token: "" };
    const pairs = [
      ["token_accessor", auth.accessor],
      ["token_duration", lifetime(auth.lease_duration)],
      ["token_renewable", auth.renewable],
      ["token_policies", auth.policies],
    ] as const;
    await out.show(visible, { pairs }, { ...visible, ...Object.fromEntries(pairs) });
  },
});

export const tokenCapabilities = command({
  name: "acl token capabilities",
  summary: "Tell what a token may do on paths",
  description: "`policy why` tells the reason. Nothing is done at the paths.",
  examples: [
    "holdfast token capabilities secret/data/app sys/mounts",
    "holdfast token capabilities -accessor c8427da3 secret/data/app",
  ],
  flags: { accessor: flag.string("Of this token instead of one's own", "ACCESSOR") },
  args: { path: argument.rest("Paths, with or without /v1/ in front", { words: "paths" }) },
  async run({ client, out }, { accessor, path: typed }) {
    if (typed.length === 0) throw new UsageError("PATH is missing: one or more paths of the API");
    const paths = typed.map((one) => decodeURIComponent(typedPath(one)));
    const { data } =
      accessor === undefined
        ? await policies.ownCapabilities(client, { paths })
        : await policies
            .accessorCapabilities(client, { accessor: await findAccessor(client, accessor), paths })
            .catch(rethrown);
    const found: JsonObject = data;
    const rows = paths.map((path) => {
      const words = found[path];
      return [path, Array.isArray(words) ? words.map(showValue).join(", ") : showValue(words)];
    });
    const visible = Object.fromEntries(paths.map((path) => [path, found[path] ?? null]));
    const view = { columns: ["Path", "Capabilities"], rows, whole: ["Path"] };
    await out.show(
      visible,
      view,
      paths.length === 1 ? { ...visible, capabilities: found[paths[0]!] } : visible,
    );
  },
});

export const tokenRevoke = command({
  name: "acl token revoke",
  summary: "End tokens and everything that they made",
  description:
    "Tokens below them and leases end too. On a terminal it asks first. `acl token delete` does the " +
    "same with a management token; this needs update on auth/token/revoke-accessor.",
  examples: ["holdfast token revoke c8427da3", "holdfast token revoke -yes c8427da3 b9382bb3"],
  flags: { yes: flag.switch("Do not ask") },
  args: { accessor: argument.rest(`${ACCESSOR_HELP}; several are possible`) },
  async run({ client, out, prompt }, { yes, accessor: typed }) {
    if (typed.length === 0) {
      const next = "`holdfast token revoke-self` ends the one that commands act with";
      throw new UsageError(`ACCESSOR is missing: ${afterColon(ACCESSOR_HELP)}`, next);
    }
    const accessors: string[] = [];
    for (const one of typed) accessors.push(await findAccessor(client, one));
    if (!yes && prompt.interactive) {
      const what = accessors.length === 1 ? `token ${accessors[0]}` : `${accessors.length} tokens`;
      if (!(await prompt.confirm(`End ${what} and everything made by it?`))) {
        out.hint("Nothing was revoked.");
        return 1;
      }
    }
    for (const accessor of new Set(accessors)) {
      await tokens.authTokenRevokeAccessor(client, { accessor }).catch(rethrown);
      out.done(`Success! Revoked the token: ${accessor}`);
    }
    return 0;
  },
});

export const tokenRevokeSelf = command({
  name: "acl token revoke-self",
  summary: "End the token that commands act with, and everything that it made",
  description: "Where it was kept in ~/.holdfast-token, that file goes too. The way to log out.",
  examples: ["holdfast token revoke-self"],
  flags: {},
  args: {},
  async run(context) {
    const { client, out, fs, settings } = context;
    const token = settings.token(fs);
    if (token === null) throw noToken();
    await tokens.authTokenRevokeSelf(client);
    if (token.from === settings.tokenFile) {
      fs.remove(settings.tokenFile);
      forgetAddresses(fs, settings.tokenFile);
    }
    out.done(`Success! Revoked the token from ${token.from}`);
    if (token.from !== settings.tokenFile) out.hint(`Next: unset ${token.from}`);
  },
});

/** An accessor that nobody has is "not found", whatever the API calls it. */
function rethrown(error: unknown): never {
  if (error instanceof ApiError && error.says("invalid accessor")) {
    const next =
      "check the accessor and -namespace: `holdfast acl token list` shows those there are";
    throw new AdvisedFailure("not-found", "accessor-unknown", "no token has this accessor", next);
  }
  throw error;
}

export const oneTimeCreate = command({
  name: "acl token one-time create",
  summary: "Make a secret that can be exchanged for the present token, once",
  description:
    "For ten minutes whoever has it gets the token that this command acts with. A further call " +
    "replaces it.",
  examples: [
    "holdfast acl token one-time create",
    "holdfast acl token one-time create -field OneTimeSecretID",
  ],
  flags: {},
  args: {},
  takesRegion: () => true,
  async run({ client, out, clock }) {
    const { body, data } = await tokens.createOneTimeToken(client);
    const made = data.OneTimeToken;
    const text = lineText([
      ["One-Time Secret ID", showValue(made.OneTimeSecretID)],
      ["Accessor ID", showValue(made.AccessorID)],
      ["Expires At", longTime(made.ExpiresAt, clock.now())],
      ["Create Index", showValue(made.CreateIndex)],
      ["Modify Index", showValue(made.ModifyIndex)],
    ]);
    await out.show(body, { text }, made);
  },
});

export const oneTimeExchange = command({
  name: "acl token one-time exchange",
  summary: "Exchange a one-time secret for the token it stands for",
  description: "Asks for the secret without showing it, or reads it. Needs no token.",
  examples: [
    "holdfast acl token one-time exchange",
    "holdfast acl token one-time exchange -secret-out token - < one-time-secret",
  ],
  flags: { ...SECRET_OUT_FLAG, ...TOKEN_FLAGS },
  args: { file: argument.optional("File that holds the one-time secret; - for standard input") },
  takesRegion: () => true,
  async run(context, { file, secretOut, quiet }) {
    needSecretOut(quiet, secretOut);
    const client = context.client.withToken(null);
    const oneTime =
      file === undefined
        ? await typedSecret(context, "One-time secret")
        : await readSecret(context, file, "one-time secret");
    let index: JsonObject = {};
    const { token, secret } = await withSecretFile(context, secretOut, async () => {
      const input = { OneTimeSecretID: oneTime.reveal() };
      const { Index, Token } = (await tokens.exchangeOneTimeToken(client, input)).data;
      index = { Index };
      return tokenOf(Token);
    });
    const around = (record: JsonObject) => ({ ...index, Token: record });
    await showToken(context, token, { secret, quiet, around });
  },
});
