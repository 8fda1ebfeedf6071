// The endpoints of the ACL API, in its order, and the forced collection. What decides here is the ACL API
// alone: management, own secret, any valid token; policies neither grant nor deny.

import { foldedUuid } from "@holdfast/shared/text/uuid";
import { access } from "@holdfast/shared/endpoint/access";
import * as query from "../../endpoint/acl-query.ts";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { InputOf } from "@holdfast/shared/endpoint/field";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Secret } from "@holdfast/shared/secret";
import { tokenFields } from "./body-fields.ts";
import {
  accessorMismatch,
  bootstrapSecretInvalid,
  secretInUse,
  tokenModified,
} from "../failures.ts";

import { credentialGone, denied, notFound, nothingToCompare } from "./query-failures.ts";
import type { Token } from "../token.ts";
import type { Cas } from "../token-rules.ts";
import { showTime } from "@holdfast/shared/text/time";
import type { AclTokens, TokenSource } from "./acl-tokens.ts";
import {
  ANONYMOUS,
  oneTimeRecord,
  oneTimeRecordOf,
  record,
  recordOf,
  stub,
  type TokenRecord,
} from "./wire-record.ts";
import { countedParent } from "./view-failures.ts";

const endpoint = endpointsOf<AclTokens>();

// A region of one server is its own leader.
const READ_HEADERS = { "X-Service-LastContact": "0", "X-Service-KnownLeader": "true" };
const NOTHING_REPLICATED = {
  SourceRegion: "",
  ReplicatedPolicyIndex: 0,
  ReplicatedTokenIndex: 0,
  LastSuccess: null,
  LastError: null,
  LastErrorMessage: "",
};
const LAST_MANAGEMENT =
  "that was the last management token that has not expired; only a bootstrap reset makes another";

const { region } = query;
const blocking = { index: query.index, wait: query.wait };
const reading = { ...blocking, stale: query.stale, region };
const accessor = wire.path("accessor_id", { folds: "case" }).string("Accessor of the token.");
const BODY_MISSING = "Request body is empty";

export const tokensApi = [
  endpoint({
    name: "bootstrapAcl",
    method: "POST",
    path: "/acl/bootstrap",
    summary: "Make the first management token.",
    description:
      "Works once, until a reset: for that the number that the refusal tells is written into the " +
      "file server/acl-bootstrap-reset of the data directory. A credential is ignored.",
    access: access.open,
    belongs: "shared",
    sentOn: {
      query: ({ tokens }, { secret }) => {
        if (tokens.isLocalSecret(secret?.reveal() ?? "")) throw bootstrapSecretInvalid();
        return {};
      },
      answer: (room, made, { namespace }) => asHere(room, namespace.id, made),
    },
    rootOnly: true,
    family: "acl",
    bodyUnreadable: "failed to decode request body",
    input: {
      secret: wire
        .body("BootstrapSecret")
        .secret("The secret that it shall have, a UUID; a random one without it.", {
          form: foldedUuid,
        })
        .optional(),
    },
    output: record,
    handler: async ({ tokens }, { secret }, { remote }) => {
      const made = await tokens.bootstrap.run({ secret: secret?.reveal(), remote });
      return written(made.token, made.warnings);
    },
  }),
  endpoint({
    name: "listTokens",
    method: "GET",
    head: true,
    folderText: "leave the slash at the end out: the list is GET /acl/tokens",
    path: "/acl/tokens",
    summary: "List tokens, without their secrets.",
    description:
      "Oldest first; with prefix or global by accessor. X-Service-NextToken names the first token " +
      "of the next page, where there is one.",
    access: access.management,
    family: "acl",
    runs: "active",
    input: {
      ...reading,
      global: query.global,
      prefix: query.prefix,
      nextToken: query.nextToken,
      perPage: query.perPage,
      filter: query.filter,
      reverse: query.reverse,
    },
    output: out.list(stub, "The tokens of the namespace."),
    handler: async (room, input, context) => {
      const { index, wait, stale: _stale, region: named, ...rest } = input;
      room.checkRegion(named);
      const wanted = { ...rest, namespaceId: context.namespace.id };
      const { value, index: asOf } = await room.list(context, wanted, { index, wait });
      const next = value.next === null ? {} : { "X-Service-NextToken": value.next };
      return reply(value.stubs, { index: asOf, headers: { ...READ_HEADERS, ...next } });
    },
  }),
  endpoint({
    name: "createToken",
    method: "POST",
    path: "/acl/token",
    summary: "Make a token.",
    description:
      "With an AccessorID it changes or uploads that token, as the endpoint with the accessor does.",
    access: access.management,
    belongs: ({ tokens }, { accessor: id = "", global }, { namespace }) =>
      tokens.belongs(namespace.id, id, global),
    sentOn: {
      query: (room, { accessor: id = "", cas, secret }, { namespace }) => {
        checkUpload(room, secret);
        return comparedThere(room, namespace.id, id, cas);
      },
      answer: (room, made, { namespace }) => asHere(room, namespace.id, made),
    },
    family: "acl",
    bodyMissing: BODY_MISSING,
    folderText: "Missing Token Accessor",
    input: { ...tokenFields, cas: query.cas, strict: query.strictPolicies, region },
    output: record,
    handler: async (room, input, context) => {
      const { namespace, caller } = context;
      room.checkRegion(input.region);
      if (caller?.counted === true) throw countedParent();
      if (input.strict) room.tokens.checkPolicies(namespace.id, input.policies);
      const text = input.accessor ?? "";
      if (text !== "") return changed(room, context, text, input);
      if (input.cas !== null) throw nothingToCompare();
      const { name, type, policies, roles, global, expires, ttl } = input;
      const spec = { name, type, policies, roles, global, expires, ttl };
      const token = await room.tokens.writes.create({ ...spec, namespaceId: namespace.id });
      return written(token, room.tokens.warningsOn(token));
    },
  }),
  endpoint({
    name: "updateToken",
    method: "POST",
    path: "/acl/token/:accessor_id",
    summary: "Change a token, or upload one with identifiers of your own.",
    description:
      "Name, Type and Policies are replaced as a whole. Global and the expiry cannot change: leave " +
      "them out, or send what is stored. An accessor that no token has, with a SecretID and Type " +
      "client, becomes a new token.",
    access: access.management,
    belongs: ({ tokens }, { path, global }, { namespace }) =>
      tokens.belongs(namespace.id, path, global),
    sentOn: {
      query: (room, { path, cas, secret }, { namespace }) => {
        checkUpload(room, secret);
        return comparedThere(room, namespace.id, path, cas);
      },
      answer: (room, made, { namespace }) => asHere(room, namespace.id, made),
    },
    family: "acl",
    bodyMissing: BODY_MISSING,
    input: {
      path: accessor,
      ...tokenFields,
      cas: query.cas,
      strict: query.strictPolicies,
      region,
    },
    output: record,
    handler: async (room, input, context) => {
      const { namespace, caller } = context;
      room.checkRegion(input.region);
      if (caller?.counted === true) throw countedParent(); // an accessor of nobody's is an upload
      const text = input.accessor ?? "";
      if (text.toLowerCase() !== input.path) throw accessorMismatch();
      if (input.strict) room.tokens.checkPolicies(namespace.id, input.policies);
      return changed(room, context, text, input);
    },
  }),
  endpoint({
    name: "readToken",
    method: "GET",
    head: true,
    path: "/acl/token/:accessor_id",
    summary: "Read a token: for management, and for the token itself.",
    access: access.token,
    family: "acl",
    runs: "active",
    tellsExpiry: true,
    input: { accessor, secret: query.secret, ...reading },
    output: record,
    handler: async (room, input, context) => {
      room.checkRegion(input.region);
      const { index, wait } = input;
      const found = await room.read(context, input.accessor, { index, wait });
      if (found.value === null) {
        throw notFound({ ...READ_HEADERS, "X-Service-Index": String(found.index) });
      }
      return showToken(found.value, input.secret, found.index);
    },
  }),
  endpoint({
    name: "readSelfToken",
    method: "GET",
    head: true,
    path: "/acl/token/self",
    summary: "Read the token that is presented.",
    access: access.token,
    family: "acl",
    runs: "active",
    tellsExpiry: true,
    input: { secret: query.secret, ...reading },
    output: record,
    handler: async (room, input, context) => {
      room.checkRegion(input.region);
      if (context.caller === null) {
        return reply<TokenRecord>(anonymous(room, context.anonymous), { headers: READ_HEADERS });
      }
      const { index, wait } = input;
      const found = await room.readSelf(context, { index, wait });
      return showToken(found.value, input.secret, found.index);
    },
  }),
  endpoint({
    name: "deleteToken",
    method: "DELETE",
    path: "/acl/token/:accessor_id",
    summary: "Delete a token. It lets nobody in from here on.",
    access: access.management,
    belongs: ({ tokens }, { accessor: id }, { namespace }) => tokens.belongs(namespace.id, id),
    sentOn: {
      query: (room, { accessor: id, cas }, { namespace }) =>
        comparedThere(room, namespace.id, id, cas),
      answer: () => undefined,
    },
    family: "acl",
    input: { accessor, cas: query.cas, region },
    output: out.nothing,
    handler: async (room, input, context) => {
      room.checkRegion(input.region);
      const { accessor: id, cas } = input;
      const { namespace } = context;
      const gone = await room.tokens.writes.delete(namespace.id, id, comparedWith(cas, context));
      const warnings = gone.lastManagement ? [LAST_MANAGEMENT] : [];
      return reply(undefined, { index: gone.index, warnings });
    },
  }),
  endpoint({
    name: "createOneTimeToken",
    method: "POST",
    path: "/acl/token/onetime",
    summary: "Make a one-time token for the token that is presented.",
    description: "Good for ten minutes and one exchange; it takes the place of the one before.",
    access: access.token,
    belongs: "local",
    family: "acl",
    input: { region },
    output: out.object({
      Index: out.integer("Index of the write."),
      OneTimeToken: oneTimeRecord,
    }),
    handler: async (room, input, { caller }) => {
      room.checkRegion(input.region);
      if (caller === null) throw denied();
      const made = await room.tokens.oneTime.upsert(caller);
      const { index, secret } = made;
      const oneTime = oneTimeRecordOf({ ...made, secret: secret.reveal() });
      return reply({ Index: Number(index), OneTimeToken: oneTime }, { index });
    },
  }),
  endpoint({
    name: "exchangeOneTimeToken",
    method: "POST",
    path: "/acl/token/onetime/exchange",
    summary: "Exchange a one-time token for the token that it was made for.",
    access: access.open,
    belongs: "local",
    login: true,
    family: "acl",
    bodyMissing: BODY_MISSING,
    input: {
      secret: wire
        .body("OneTimeSecretID")
        .secret("The secret of the one-time token.", { form: foldedUuid })
        .optional(),
      region,
    },
    output: out.object({ Index: out.integer("Index of the write."), Token: record }),
    handler: async (room, input, context) => {
      room.checkRegion(input.region);
      const { token, index } = await room.exchange(input.secret?.reveal() ?? "", context);
      return reply({ Index: Number(index), Token: recordOf(token) }, { index });
    },
  }),
  endpoint({
    name: "collectTokens",
    method: "POST",
    path: "/acl/gc",
    summary: "Remove expired tokens and one-time tokens now.",
    description:
      "Of all namespaces, and however short ago they expired. Global tokens are left to the region that writes them.",
    access: access.management,
    belongs: ({ source }) => (source() === null ? "shared" : "local"),
    rootOnly: true,
    family: "acl",
    input: { region },
    output: out.object({
      Tokens: out.integer("How many tokens were removed."),
      OneTimeTokens: out.integer("How many one-time tokens were removed."),
    }),
    handler: async (room, input) => {
      room.checkRegion(input.region);
      const collected = await room.tokens.collection.run({ force: true });
      return { Tokens: collected.tokens, OneTimeTokens: collected.oneTimeTokens };
    },
  }),
  endpoint({
    name: "readAclReplication",
    method: "GET",
    path: "/acl/replication",
    summary: "Whether global tokens and policies come from another region, and how far they have.",
    description: "Everybody learns whether they do; the rest is for management.",
    access: access.openWithCaller,
    inAnyState: true,
    family: "acl",
    runs: "active",
    head: true,
    input: { stale: query.stale, region },
    output: out.object({
      Enabled: out.boolean("False while this region is its own authoritative one."),
      Running: out.boolean("Whether it runs now."),
      SourceRegion: out.optional(out.string("Where they come from; empty: from nowhere.")),
      ReplicatedPolicyIndex: out.optional(out.integer("Up to which index of the source.")),
      ReplicatedTokenIndex: out.optional(out.integer("The same, of tokens.")),
      LastSuccess: out.optional(out.nullable(out.time("When it succeeded last; null: never."))),
      LastError: out.optional(out.nullable(out.time("When it failed last; null: never."))),
      LastErrorMessage: out.optional(out.string("Why; empty: it did not.")),
    }),
    handler: (room, input, { caller }) => {
      room.checkRegion(input.region);
      const source = room.source();
      const known = { Enabled: source !== null, Running: source?.isRunning ?? false };
      const rest = caller?.type === "management" ? replicated(source) : {};
      return reply({ ...known, ...rest }, { headers: READ_HEADERS });
    },
  }),
];

/** Compared with the index that the token has in this region, which is what its clients know, and sent with that of its record. */
function comparedThere(
  { tokens }: AclTokens,
  namespaceId: string,
  id: string,
  cas: bigint | null,
): Readonly<Record<string, string>> {
  const token = cas === null ? null : tokens.byAccessor(namespaceId, id);
  if (token === null) return {};
  if (token.modifyIndex !== cas) throw tokenModified(token.modifyIndex);
  return { cas: String(token.written?.modify ?? token.modifyIndex) };
}

/** A secret that somebody has chosen is looked for among the tokens of this region here: those who make it do not know them. A token that
 *  is changed has the secret that it had. */
function checkUpload({ tokens }: AclTokens, secret: Secret<string> | undefined): void {
  if (tokens.isLocalSecret(secret?.reveal() ?? "")) throw secretInUse();
}

/** With the indexes that it has in this region, where it has come and nobody has changed it since. */
function asHere({ tokens }: AclTokens, namespaceId: string, made: TokenRecord): TokenRecord {
  const token = tokens.byAccessor(namespaceId, made.AccessorID);
  if (token?.written?.modify !== BigInt(made.ModifyIndex)) return made;
  const { CreateIndex, ModifyIndex } = recordOf(token);
  return { ...made, CreateIndex, ModifyIndex };
}

/** Tokens and policies come in one log. */
function replicated(source: TokenSource | null) {
  if (source === null) return NOTHING_REPLICATED;
  const { region: from, applied, lastSuccess, lastError } = source;
  return {
    SourceRegion: from,
    ReplicatedPolicyIndex: Number(applied),
    ReplicatedTokenIndex: Number(applied),
    LastSuccess: lastSuccess === null ? null : showTime(lastSuccess),
    LastError: lastError === null ? null : showTime(lastError.at),
    LastErrorMessage: lastError?.message ?? "",
  };
}

/** The answer to a read, with its secret or without. */
function showToken(token: Token, secret: boolean, index: bigint) {
  const whole = recordOf(token);
  return reply(secret ? whole : { ...whole, SecretID: "" }, { index, headers: READ_HEADERS });
}

/** The answer to a write; its index is that of the write. */
function written(token: Token, warnings: readonly string[]) {
  return reply(recordOf(token), { index: token.modifyIndex, warnings });
}

function comparedWith(
  cas: bigint | null,
  { isSentOn = false }: Pick<RequestContext, "isSentOn">,
): Cas | undefined {
  if (cas === null) return undefined;
  return isSentOn ? { ofRecord: cas } : cas;
}

async function changed(
  { tokens }: AclTokens,
  context: Pick<RequestContext, "namespace" | "isSentOn">,
  id: string,
  input: InputOf<typeof tokenFields> & { readonly cas: bigint | null },
) {
  const { name, type, policies, roles, global, expires, ttl, created } = input;
  const cas = comparedWith(input.cas, context);
  const secret = input.secret?.reveal();
  const fields = { name, type, policies, roles, global, expires, ttl, created, secret };
  const token = await tokens.writes.update(context.namespace.id, id, { ...fields, cas });
  return written(token, tokens.warningsOn(token));
}

function anonymous(room: AclTokens, none: boolean): TokenRecord {
  if (!room.anonymousSelf || !none) throw credentialGone();
  return ANONYMOUS;
}
