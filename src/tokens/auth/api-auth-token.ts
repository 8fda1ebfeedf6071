// The endpoints of `auth/token`: the tokens of the ACL API, as existing clients of such
// servers know them. Rights are those of policies on these paths. In the namespace of the request; only
// what a token does with itself goes to where it lives.

import { foldedUuid } from "@holdfast/shared/text/uuid";
import { isUuid } from "@holdfast/shared/text/uuid";
import { access } from "@holdfast/shared/endpoint/access";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply, type Reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import type { InputOf } from "@holdfast/shared/endpoint/field";
import { more, pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { AuthTokens, IssuedToken } from "./auth-tokens.ts";
import { authOf, factsOf, summaryOf, tokenFacts } from "../acl/token-view.ts";
import type { Token } from "../token.ts";
import { afterInvalid, parentRequested, secretChosen, sudoNeeded } from "../acl/view-failures.ts";

const endpoint = endpointsOf<AuthTokens>();

const MAX_LISTED = 1000;
const MAX_USES = 2 ** 31 - 1;
const MAX_SECRET = 8192;
const MAX_POLICIES = 5000; // what a body may hold; how many a token may have is the token's to say

const secret = wire.body("token").secret("Secret of the token.", {
  max: MAX_SECRET,
  form: foldedUuid,
});
const accessor = wire.body("accessor").string("Accessor of the token.", {
  max: 36,
  form: foldedUuid,
});
const increment = wire
  .body("increment")
  .duration("How long it shall live from now; without it, or 0, as long as it was made for.")
  .optionalUnlessEmpty();

const newToken = {
  policies: wire
    .body("policies")
    .policies("Names of policies: without sudo the caller's at most. Without it the caller's.", {
      max: MAX_POLICIES,
    })
    .optionalUnlessEmpty(),
  ttl: wire
    .body("ttl")
    .duration(
      "How long it lives; without it, or 0, default_lease_ttl. Cut to the maximum, with a warning; without sudo to the caller's last moment.",
    )
    .optionalUnlessEmpty(),
  longest: wire
    .body("explicit_max_ttl")
    .duration("How long it lives at most, however often it is renewed.")
    .optionalUnlessEmpty(),
  period: wire
    .body("period")
    .duration("How long it lives from each renewal on, whatever that asks for. Needs sudo.")
    .optionalUnlessEmpty(),
  uses: wire
    .body("num_uses")
    .integer("How many requests it may make; 0: any number.", { min: 0, max: MAX_USES })
    .default(0),
  name: wire.body("display_name").string("For people; up to 256 bytes.").default(""),
  meta: wire
    .body("meta")
    .texts("What its maker notes about it. Without sudo no policy builds on it, nor on the name.")
    .default({}, {}),
  renewable: wire
    .body("renewable")
    .boolean("Whether it can be renewed; without sudo only if the caller's can.")
    .default(true),
  withoutDefault: wire
    .body("no_default_policy")
    .boolean("Whether the policy default does not count for it.")
    .default(false),
  type: wire
    .body("type")
    .oneOf(["service", "default", ""], "There is one kind.")
    .default("service"),
  id: wire
    .body("id")
    .secret("Must be left out: the server draws the secret.", { max: MAX_SECRET })
    .optional(),
  alias: wire
    .body("entity_alias")
    .unsupported(
      "Must be empty: no entities.",
      "there are no entities, and aliases are not supported",
    )
    .default(""),
};

export const authTokenApi = [
  endpoint({
    name: "authTokenCreate",
    method: "POST",
    path: "/auth/token/create",
    summary: "Make a client token that ends with the caller's.",
    access: access.capability,
    belongs: "local",
    input: {
      ...newToken,
      noParent: wire
        .body("no_parent")
        .boolean("It does not end with the caller's. Needs sudo.")
        .default(false),
    },
    output: inAuth,
    handler: async (room, input, context) => {
      if (input.noParent && !(await context.isPrivileged())) throw sudoNeeded("no_parent");
      return created(room, input, context, input.noParent);
    },
  }),
  endpoint({
    name: "authTokenCreateOrphan",
    method: "POST",
    path: "/auth/token/create-orphan",
    summary: "Make a client token that does not end with the caller's.",
    access: access.capability,
    belongs: "local",
    input: {
      ...newToken,
      noParent: wire
        .body("no_parent")
        .boolean("True, as some clients say here too: it is so in any case.")
        .default(true),
    },
    output: inAuth,
    handler: (room, input, context) => {
      if (!input.noParent) throw parentRequested();
      return created(room, input, context, true);
    },
  }),
  endpoint({
    name: "authTokenLookupSelf",
    method: "GET",
    path: "/auth/token/lookup-self",
    summary: "Tell about the caller's own token.",
    access: access.capability,
    input: {},
    output: tokenFacts,
    handler: (room, _, context) => {
      const token = room.self(context);
      return factsOf(token, seen(room, token));
    },
  }),
  endpoint({
    name: "authTokenLookup",
    method: "POST",
    path: "/auth/token/lookup",
    summary: "Tell about a token by its secret.",
    access: access.capability,
    belongs: "local",
    input: { secret },
    output: tokenFacts,
    handler: (room, input, { namespace }) => {
      const token = room.bySecret(namespace, input.secret.reveal());
      return factsOf(token, seen(room, token));
    },
  }),
  endpoint({
    name: "authTokenLookupAccessor",
    method: "POST",
    path: "/auth/token/lookup-accessor",
    summary: "Tell about a token by its accessor, without its secret.",
    access: access.capability,
    belongs: "local",
    input: { accessor },
    output: tokenFacts,
    handler: (room, input, { namespace }) => {
      const token = room.byAccessor(namespace, input.accessor);
      return factsOf(token, seen(room, token, false));
    },
  }),
  endpoint({
    name: "authTokenRenewSelf",
    method: "POST",
    path: "/auth/token/renew-self",
    summary: "Prolong the caller's own token.",
    access: access.capability,
    belongs: (_room, _input, { caller }) => (caller?.global === true ? "shared" : "local"),
    input: { increment },
    output: inAuth,
    handler: async (room, input, context) =>
      answered(room, await room.renew(room.self(context), input.increment ?? null)),
  }),
  endpoint({
    name: "authTokenRenew",
    method: "POST",
    path: "/auth/token/renew",
    summary: "Prolong a token by its secret.",
    access: access.capability,
    belongs: (room, input) => room.belongsBySecret(input.secret.reveal()),
    input: { secret, increment },
    output: inAuth,
    handler: async (room, input, { namespace }) => {
      const token = room.bySecret(namespace, input.secret.reveal());
      return answered(room, await room.renew(token, input.increment ?? null));
    },
  }),
  endpoint({
    name: "authTokenRenewAccessor",
    method: "POST",
    path: "/auth/token/renew-accessor",
    summary: "Prolong a token by its accessor.",
    access: access.capability,
    belongs: (room, input, { namespace }) => room.belongsByAccessor(namespace, input.accessor),
    input: { accessor, increment },
    output: inAuth,
    handler: async (room, input, { namespace }) => {
      const token = room.byAccessor(namespace, input.accessor);
      return answered(room, await room.renew(token, input.increment ?? null), false);
    },
  }),
  endpoint({
    name: "authTokenRevokeSelf",
    method: "POST",
    path: "/auth/token/revoke-self",
    summary: "End the caller's own token, and what it made.",
    access: access.capability,
    belongs: (_room, _input, { caller }) => (caller?.global === true ? "shared" : "local"),
    input: {},
    output: out.nothing,
    handler: (room, _, context) => nothing(room.revoke(room.self(context))),
  }),
  endpoint({
    name: "authTokenRevoke",
    method: "POST",
    path: "/auth/token/revoke",
    summary: "End a token by its secret, and what it made.",
    access: access.capability,
    belongs: (room, input) => room.belongsBySecret(input.secret.reveal()),
    input: { secret },
    output: out.nothing,
    handler: (room, input, { namespace }) =>
      nothing(room.revokeSecret(namespace, input.secret.reveal(), (token) => room.revoke(token))),
  }),
  endpoint({
    name: "authTokenRevokeAccessor",
    method: "POST",
    path: "/auth/token/revoke-accessor",
    summary: "End a token by its accessor, and what it made.",
    access: access.capability,
    belongs: (room, input, { namespace }) => room.belongsByAccessor(namespace, input.accessor),
    input: { accessor },
    output: out.nothing,
    handler: (room, input, { namespace }) =>
      nothing(room.revokeAccessor(namespace, input.accessor)),
  }),
  endpoint({
    name: "authTokenRevokeOrphan",
    method: "POST",
    path: "/auth/token/revoke-orphan",
    summary: "End a token by its secret, and leave what it made to itself.",
    access: access.sudo,
    belongs: (room, input) => room.belongsBySecret(input.secret.reveal()),
    input: { secret },
    output: out.nothing,
    handler: (room, input, { namespace }) =>
      nothing(
        room.revokeSecret(namespace, input.secret.reveal(), (token) => room.revokeAlone(token)),
      ),
  }),
  endpoint({
    name: "authTokenAccessors",
    method: "LIST",
    path: "/auth/token/accessors",
    summary: "List the accessors of all tokens.",
    access: access.sudo,
    input: pageFields(MAX_LISTED, "Only those after this accessor."),
    output: out.keys("Accessors in their order; name, policies and remaining time of each."),
    handler: async (room, { after, limit }, context) => {
      const { namespace, signal, pace } = context;
      if (after !== undefined && !isUuid(after)) throw afterInvalid();
      const page = { after: after?.toLowerCase(), limit, signal, pace };
      const { tokens, next } = await room.list(namespace.id, page);
      const { now } = room;
      return reply(
        {
          keys: tokens.map((token) => token.accessor),
          key_info: Object.fromEntries(
            tokens.map((token) => [token.accessor, summaryOf(token, now)]),
          ),
        },
        more(next),
      );
    },
  }),
];

async function created(
  room: AuthTokens,
  input: InputOf<typeof newToken>,
  context: RequestContext,
  orphan: boolean,
): Promise<Reply<undefined>> {
  const { ttl = null, longest = null, period = null, id, ...rest } = input;
  // Whoever chose a credential would otherwise rely on one that lets nobody in.
  if (id !== undefined && id.reveal() !== "") throw secretChosen();
  return answered(room, await room.create(context, { ...rest, ttl, longest, period, orphan }));
}

function answered(room: AuthTokens, { token, warnings }: IssuedToken, withSecret = true) {
  return reply(undefined, { warnings, auth: authOf(token, seen(room, token, withSecret)) });
}

function seen(room: AuthTokens, token: Token, withSecret = true) {
  return { now: room.now, orphan: room.isOrphan(token), withSecret };
}

async function nothing(done: Promise<void>): Promise<undefined> {
  await done;
  return undefined;
}
