// The declaration of an endpoint: everything there is to know about it, once. Routing, validation,
// access, the place where it runs, OpenAPI, help, the client's types and the table of the access tests
// are derived from it; a list of paths kept anywhere else is a defect.

import type { Failure } from "../failure.ts";
import { invariant } from "../invariant.ts";
import type { JsonObject } from "../json/json.ts";
import { type Access, isOfDrSecondary, drOperationOf } from "./access.ts";
import type { Output, OutputOf } from "./output.ts";
import type { Reply } from "./reply.ts";
import type { EngineRequest, RequestContext } from "./request.ts";
import type { BodyStreamRules } from "./stream.ts";
import type { Fields, Folding, InputOf } from "./field.ts";
import { wire } from "./wire.ts";

/** The parameter of a query that names the loaded snapshot to answer from. */
export const READ_SNAPSHOT = "read_snapshot_id";

/** The member of a body that has the operation token or ticket; the header is taken where it is not there. */
export const OPERATION_TOKEN = "dr_operation_token";

/** POST stands for PUT as well. */
export type Method = "GET" | "LIST" | "POST" | "PATCH" | "DELETE";

/** Where what an endpoint writes belongs: to all clusters that share data, to this one alone, or where the mount does
 *  that it is reached through. What writes nothing, or rows of this cluster that are in no log, is local. */
export type Belonging = "shared" | "local" | "mount";

/** What is left of it when the mount is known. */
export type WritesTo = Exclude<Belonging, "mount">;

/** A function where it depends on what is written: it only looks. What it refuses the handler would refuse alike, and
 *  what it says of a record never changes. */
export type Belongs<Room, Input, Context> =
  | Belonging
  | {
      look(room: Room, input: Input, context: Context): Belonging | Promise<Belonging>;
    }["look"];

/** What is sent to the cluster that writes what is shared, and what is answered of what comes back. */
export interface SentOn<Room, Input, Answer, Context> {
  /** Parameters of the query in the place of those that came. It only looks, and refuses as the handler would. */
  query(room: Room, input: Input, context: Context): Readonly<Record<string, string>>;
  /** When what was written is here, if it came in time. */
  answer(room: Room, answer: Answer, context: Context): Answer;
}

/** What every declaration but that of a plain read must say, by its type. */
export type Placed =
  | {
      readonly method: "GET" | "LIST";
      readonly login?: false;
      readonly unwraps?: false;
      readonly issues?: false;
    }
  | { readonly belongs: NonNullable<unknown> };

/** How an answer looks: in an envelope, bare, or as clients of the ACL API know it. */
export type Family = "enveloped" | "bare" | "acl";

export interface Declaration<
  Room,
  F extends Fields,
  O extends Output<unknown>,
  Context extends EngineRequest = RequestContext,
> {
  /** Stable name: operation id, name of the client's function. */
  readonly name: string;
  readonly method: Method;
  /** Such as /sys/audit/:path+ where ":name" is one segment and ":name+" one or more, with nothing but
   *  words behind it: /sys/mounts/:path+/tune. "/"
   *  is the top of a mount. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** Reachable in the root namespace only. */
  readonly rootOnly?: boolean;
  /** "always": in every state of the node. Default: unsealed. */
  readonly answers?: "always" | "unsealed";
  /** Of what is open: the same in every namespace, also in one that is not there, so that nobody tries out which there are. Default: of
   *  what answers in every state. */
  readonly everywhere?: boolean;
  /** Answers on a disaster-recovery secondary too. Default: what its access says is done there. */
  readonly onDrSecondary?: boolean;
  /** What a disaster-recovery secondary says to it where waiting or asking elsewhere does not help. Default: that it is
   *  one. */
  readonly refusedOnDrSecondary?: (() => Failure) | null;
  /** On which node of a cluster it runs: on the one that was asked, whatever that is; on any that has
   *  followed the others far enough; on the active one, to which others hand it on. Default: what answers
   *  in every state runs here, other reads anywhere, all else on the active node; and there alone what
   *  gives out tokens or secrets that end. */
  readonly runs?: "here" | "anywhere" | "active";
  /** Where what it writes belongs: see Placed. A plain read that says nothing writes nothing but rows that are local. */
  readonly belongs?: Belongs<Room, InputOf<F>, Context>;
  /** Paths of the mounts and namespaces that it changes, from the namespace of the request: a cluster that is not sent one of them does not
   *  change it either. Default: none but those that the request goes to. */
  places?(this: void, input: InputOf<F>): readonly string[];
  /** Where another cluster writes what is shared, and numbers of this one mean something else there. Default: nothing does. */
  readonly sentOn?: SentOn<Room, InputOf<F>, OutputOf<O>, Context>;
  /** Default enveloped. */
  readonly family?: Family;
  /** Default true; false only where the node may have no keys to record with, and nothing is told that matters. */
  readonly audited?: boolean;
  /** Default true; false where a rate quota must not lock operators out. */
  readonly rateLimited?: boolean;
  /** Text for a request without a body, where one is needed. Default: an empty one is `{}`. */
  readonly bodyMissing?: string;
  /** Text in front of what is wrong with a body that cannot be read. Default none. */
  readonly bodyUnreadable?: string;
  /** Text for the path with a slash at its end. Default: that only lists end in one. */
  readonly folderText?: string;
  /** Its path ends with another one's beginning, for which a slash at the end is natural: it is as if it
   *  were not there, for everybody who looks at the path. Default false. */
  readonly slashFalls?: boolean;
  /** Whoever comes with a secret that has expired is told so. Default false. */
  readonly tellsExpiry?: boolean;
  /** A way to get a token: EGPs judge it though nobody is known yet. Default false. */
  readonly login?: boolean;
  /** Takes wrapping tokens, as a credential too: what it does with one, its handler says, which also
   *  spends it. Default false. */
  readonly unwraps?: boolean;
  /** May answer with a secret that ends: not run where a quota on their number is full. Default false. */
  readonly issues?: boolean;
  /** Of an engine: answers also while its mount is being disabled, since its revocations work with what is
   *  written here. Default false. */
  readonly whileDisabling?: boolean;
  /** May answer 202: what it began goes on after the answer. Default false. */
  readonly later?: boolean;
  /** The caller may choose the number of the answer, whose body is then the same. Default false. */
  readonly anyStatus?: boolean;
  /** Answered on a listener that is for monitoring alone (`metrics_only`). Default false. */
  readonly forMonitoring?: boolean;
  /** Answered whatever the caller has seen elsewhere (`X-Service-State`): it tells how far this cluster is. Default false. */
  readonly inAnyState?: boolean;
  /** HEAD is answered like GET, without the body. Default false. */
  readonly head?: boolean;
  /** The body is no JSON and is handed on while it comes (`context.stream`): then no field is read from a
   *  body, and the answer is bare. Default null: it is JSON, and read before anybody decides. */
  readonly bodyStream?: BodyStreamRules | null;
  /** Whether somebody without a token may send a body of more than 64 KiB now: public keys of people, with all the
   *  signatures that others have put on them, are long. Asked with the head. Default: never. */
  readonly longBody?: (room: Room) => boolean;
  readonly input: F;
  readonly output: O;
  /** What some values say of others, as older names of whole settings do: whoever decides is given it as if
   *  it had been written out. Of values in their one form; refuses nothing. Default: nothing. */
  readonly implied?: (data: JsonObject) => JsonObject;
  /** For POST: whether what the path names is there, so that "create" or "update" is asked for.
   *  Without it: "update". Called before the caller's right is known: it only looks. The handler says what it
   *  finds in its transaction, to `context.confirmExists`: somebody else may have been faster. */
  readonly exists?: (
    room: Room,
    path: Readonly<Record<string, string>>,
    context: Context,
  ) => boolean | Promise<boolean>;
  /** To answer that takes more than a look: whoever may do neither has nobody asked. Default false. */
  readonly existsElsewhere?: boolean;
  /** What help says of the path, where more is known than what is declared. Asked by whoever has a token, and null for what is not
   *  known. Default: what is declared. */
  help?(this: void, room: Room, context: Context): Promise<PathHelp | null>;
  /** For GET and LIST: can be answered from a loaded snapshot as well, by the same handler, with the room as it
   *  was then. Whoever asks that of another endpoint is refused. Default false. */
  readonly fromSnapshot?: boolean;
  /** For POST: the body that writes again what the path held in a loaded snapshot, null where that was nothing. It is
   *  judged, recorded and handled as if the caller had sent it. Default: nothing is recovered here. */
  readonly recovers?: (
    rooms: { readonly held: Room; readonly now: Room },
    path: Readonly<Record<string, string>>,
    context: Context,
  ) => JsonObject | null | Promise<JsonObject | null>;
  handler(
    room: Room,
    input: InputOf<F>,
    context: Context,
  ): HandlerResult<OutputOf<O>> | Promise<HandlerResult<OutputOf<O>>>;
}

export type HandlerResult<T> = T | Reply<T>;

export interface PathHelp {
  readonly text: string;
  /** Path items of an OpenAPI document, by path from the top of its mount. */
  readonly paths: JsonObject;
}

/** A declaration with its types forgotten: what tables are made of. */
export interface Endpoint<Room> extends Required<
  Omit<
    Declaration<Room, Fields, Output<unknown>>,
    | "handler"
    | "exists"
    | "recovers"
    | "longBody"
    | "implied"
    | "input"
    | "description"
    | "belongs"
    | "places"
    | "sentOn"
    | "help"
  >
> {
  readonly help: ((room: Room, context: RequestContext) => Promise<PathHelp | null>) | null;
  readonly places: ((input: never) => readonly string[]) | null;
  readonly sentOn: {
    query(room: Room, input: never, context: RequestContext): Readonly<Record<string, string>>;
    answer(room: Room, answer: never, context: RequestContext): unknown;
  } | null;
  /** Null: a plain read. */
  readonly belongs: Belongs<Room, never, RequestContext> | null;
  readonly implied: ((data: JsonObject) => JsonObject) | null;
  readonly description: string;
  /** Names of the path's parameters, in order. */
  readonly parameters: readonly string[];
  readonly input: Fields;
  readonly longBody: ((room: Room) => boolean) | null;
  readonly exists:
    | ((
        room: Room,
        path: Readonly<Record<string, string>>,
        context: RequestContext,
      ) => boolean | Promise<boolean>)
    | null;
  readonly recovers: NonNullable<
    Declaration<Room, Fields, Output<unknown>, RequestContext>["recovers"]
  > | null;
  readonly handler: (room: Room, input: never, context: RequestContext) => unknown;
}

/** Declares endpoints of one room. */
export function endpointsOf<Room>() {
  return <F extends Fields, O extends Output<unknown>>(
    declared: Declaration<Room, F, O> & Placed,
  ): Endpoint<Room> => {
    const { path, input, access, belongs = null } = declared;
    checkPath(path, input);
    checkStreams(declared);
    checkDrSecondary(declared);
    checkSnapshotUse(declared);
    const runs = declared.runs ?? usualPlace(declared);
    const { login = false, unwraps = false, issues = false } = declared;
    const writes = login || unwraps || issues;
    const reads = isRead(declared.method) && !writes;
    invariant(reads || belongs !== null, `${declared.name}: where does what it writes belong?`);
    invariant(runs !== "anywhere" || !writes, `path ${path}: what it gives out is written down`);
    return {
      description: "",
      rootOnly: false,
      answers: "unsealed",
      everywhere: declared.answers === "always",
      onDrSecondary: isOfDrSecondary(access) || drOperationOf(access) !== null,
      family: "enveloped",
      audited: true,
      rateLimited: true,
      head: false,
      forMonitoring: false,
      inAnyState: false,
      bodyMissing: "",
      bodyUnreadable: "",
      folderText: "",
      slashFalls: false,
      tellsExpiry: false,
      login: false,
      unwraps: false,
      issues: false,
      whileDisabling: false,
      later: false,
      anyStatus: false,
      bodyStream: null,
      fromSnapshot: false,
      refusedOnDrSecondary: null,
      existsElsewhere: false,
      ...declared,
      input: withOperationToken(declared),
      runs,
      belongs,
      places: declared.places ?? null,
      help: declared.help ?? null,
      sentOn: declared.sentOn ?? null,
      parameters: parametersOf(path).names,
      implied: declared.implied ?? null,
      longBody: declared.longBody ?? null,
      exists: declared.exists ?? null,
      recovers: declared.recovers ?? null,
    };
  };
}

function usualPlace(
  declared: Pick<
    Declaration<never, Fields, Output<unknown>>,
    "method" | "answers" | "login" | "unwraps" | "issues"
  >,
): Endpoint<never>["runs"] {
  if (declared.answers === "always") return "here";
  const { method, login = false, unwraps = false, issues = false } = declared;
  return isRead(method) && !login && !unwraps && !issues ? "anywhere" : "active";
}

function isRead(method: Method): boolean {
  return method === "GET" || method === "LIST";
}

/** A field as it is looked for in a request. */
export interface ServedField {
  readonly key: string;
  readonly field: Fields[string];
  /** What it may be called there; in a body on /acl/ in lower case, since case does not count there. */
  readonly names: readonly string[];
}

/** An endpoint with its room in place. */
export interface Served extends Omit<
  Endpoint<never>,
  "handler" | "exists" | "recovers" | "longBody" | "belongs" | "places" | "sentOn" | "help"
> {
  readonly help: ((context: RequestContext) => Promise<PathHelp | null>) | null;
  readonly sentOn: {
    query(
      input: Readonly<Record<string, unknown>>,
      context: RequestContext,
    ): Readonly<Record<string, string>>;
    answer(answer: unknown, context: RequestContext): unknown;
  } | null;
  readonly fields: readonly ServedField[];
  /** Fields of query and body by each of their names, in lower case. */
  readonly byName: ReadonlyMap<string, Fields[string]>;
  /** Names of members that are no part of a body which is otherwise the caller's own: other fields are read from them. */
  readonly declaredNames: ReadonlySet<string>;
  /** How the parameters of the path are brought into their one form, in order. */
  readonly folds: readonly (Folding | undefined)[];
  /** The body is the caller's own: no member of it is unknown. */
  readonly takesAnyBody: boolean;
  /** Some field tells those who use it, of an old name or a spelling. */
  readonly tells: boolean;
  /** A field of its body is declared as a secret: the bytes are overwritten once it has answered, where
   *  one was given. */
  readonly secretBody: boolean;
  run(input: Readonly<Record<string, unknown>>, context: RequestContext): unknown;
  /** The same with another room: as a loaded snapshot has it. */
  runIn(room: unknown, input: Readonly<Record<string, unknown>>, context: RequestContext): unknown;
  /** The room over other data, of the server's own endpoints. Null for engines, which are opened over theirs, and for
   *  rooms that cannot do that. */
  readonly roomOver: ((data: unknown) => unknown) | null;
  readonly recovers:
    | ((
        held: unknown,
        path: Readonly<Record<string, string>>,
        context: RequestContext,
      ) => JsonObject | null | Promise<JsonObject | null>)
    | null;
  readonly longBody: (() => boolean) | null;
  /** Whatever its input is, what it writes is this cluster's alone. False: a plain read, or something else. */
  readonly isLocal: boolean;
  /** Where what it writes with this input belongs. Null: a plain read. */
  readonly belongs:
    | ((input: Readonly<Record<string, unknown>>, context: RequestContext) => Promise<WritesTo>)
    | null;
  readonly places: (input: Readonly<Record<string, unknown>>) => readonly string[];
  readonly exists:
    | ((
        path: Readonly<Record<string, string>>,
        context: RequestContext,
      ) => boolean | Promise<boolean>)
    | null;
}

/** `roomOver`: the same room over data of another time, for endpoints that can be answered from a snapshot. */
export function serve<Room>(
  room: Room,
  endpoints: readonly Endpoint<Room>[],
  roomOver: ((data: unknown) => Room) | null = null,
): Served[] {
  return endpoints.map((endpoint) => {
    const { longBody } = endpoint;
    const inPlace = { ...served(endpoint, () => room), roomOver };
    return longBody === null ? inPlace : { ...inPlace, longBody: () => longBody(room) };
  });
}

/** The endpoints of a type of engine, whatever mount the request goes to: thousands share one table. */
export function serveMounted<E>(endpoints: readonly Endpoint<E>[]): Served[] {
  return endpoints.map((endpoint) =>
    served(endpoint, ({ mount }) => {
      invariant(mount !== null, "an engine is reached through a mount");
      return mount.engine as E; // the router of this type is asked for its own mounts alone
    }),
  );
}

function served<Room>(endpoint: Endpoint<Room>, roomOf: (context: RequestContext) => Room): Served {
  const { exists, recovers, belongs, sentOn, help } = endpoint;
  const fields = Object.entries(endpoint.input).map(([key, field]) => {
    const folded = endpoint.family === "acl" && field.source === "body";
    const names = [field.name, ...(field.aliases ?? [])];
    return { key, field, names: folded ? names.map((name) => name.toLowerCase()) : names };
  });
  const named = fields.filter(({ field: { source } }) => source !== "path" && !isAll(source));
  const byName = named.flatMap(({ field, names }) =>
    names.map((name) => [name.toLowerCase(), field] as const),
  );
  const byPath = new Map(fields.map(({ field }) => [field.name, field.folds]));
  return {
    ...endpoint,
    fields,
    byName: new Map(byName),
    declaredNames: new Set(
      named.flatMap(({ field, names }) => (field.source === "query" ? [] : names)),
    ),
    folds: endpoint.parameters.map((name) => byPath.get(name)),
    tells: fields.some(
      ({ field: { deprecation, notice } }) => (deprecation ?? notice) !== undefined,
    ),
    secretBody: fields.some(({ field }) => field.secret && inBody(field.source)),
    takesAnyBody: fields.some(({ field: { source } }) => isAll(source)),
    // The types of the two ends were checked against each other at the declaration.
    run: (input, context) => endpoint.handler(roomOf(context), input as never, context),
    runIn: (room, input, context) => endpoint.handler(room as Room, input as never, context),
    roomOver: null,
    isLocal: belongs === "local",
    help: help === null ? null : (context) => help(roomOf(context), context),
    recovers:
      recovers === null
        ? null
        : (held, path, context) =>
            recovers({ held: held as Room, now: roomOf(context) }, path, context),
    belongs:
      belongs === null
        ? null
        : async (input, context) => {
            const looks = typeof belongs === "function";
            const found = looks ? await belongs(roomOf(context), input as never, context) : belongs;
            return found === "mount" ? mountBelongs(context) : found;
          },
    places: (input) => endpoint.places?.(input as never) ?? [],
    sentOn:
      sentOn === null
        ? null
        : {
            query: (input, context) => sentOn.query(roomOf(context), input as never, context),
            answer: (answer, context) => sentOn.answer(roomOf(context), answer as never, context),
          },
    longBody: null, // of an engine, somebody without a token sends none
    exists: exists === null ? null : (path, context) => exists(roomOf(context), path, context),
  };
}

function mountBelongs({ mount }: RequestContext): WritesTo {
  invariant(mount !== null, "what belongs where its mount does is reached through one");
  return mount.local ? "local" : "shared";
}

const operationTokenField = {
  drOperationToken: wire
    .body(OPERATION_TOKEN)
    .secret("On a disaster-recovery secondary: an operation token or operator ticket", {
      max: 4096,
    })
    .optional(),
};

/** The pipeline reads it, and no handler: it is declared so that everybody knows of it, and nobody records it. */
function withOperationToken({
  access,
  method,
  bodyStream = null,
  input,
}: Pick<
  Declaration<never, Fields, Output<unknown>>,
  "access" | "method" | "bodyStream" | "input"
>): Fields {
  const reads = isRead(method) || bodyStream !== null;
  const none = reads || drOperationOf(access) === null;
  return none ? input : { ...input, ...operationTokenField };
}

function inBody(source: Fields[string]["source"]): boolean {
  return source === "body" || source === "param" || isAll(source);
}

/** Whatever stands in the body. */
function isAll(source: Fields[string]["source"]): boolean {
  return source === "whole" || source === "given";
}

/** Names of a path's parameters, in order, and whether the last takes several segments. */
export function parametersOf(path: string): { readonly names: string[]; readonly rest: boolean } {
  const names = path.split("/").flatMap((part) => (part.startsWith(":") ? [part.slice(1)] : []));
  const rest = names.at(-1)?.endsWith("+") ?? false;
  return { names: names.map((name) => name.replace("+", "")), rest };
}

function checkStreams<Room>(declared: Declaration<Room, Fields, Output<unknown>>): void {
  const { name, bodyStream = null, method, input } = declared;
  if (bodyStream === null) return;
  invariant(method === "POST", `${name}: streams come by POST`);
  const inside = Object.values(input).some(({ source }) => inBody(source));
  invariant(!inside, `${name}: a streamed body has no fields`);
}

function checkDrSecondary<Room>(declared: Declaration<Room, Fields, Output<unknown>>): void {
  const { name, access, onDrSecondary, bodyStream = null } = declared;
  const needsToken = !["open", "ceremony"].includes(access.kind);
  const named = !needsToken || drOperationOf(access) !== null;
  invariant(
    onDrSecondary !== true || named,
    `${name}: what is it on a disaster-recovery secondary?`,
  );
  // It would be judged when its body has come, and that is too late for one that is handed on.
  invariant(
    bodyStream === null || drOperationOf(access) === null,
    `${name}: streams are not for it`,
  );
}

function checkSnapshotUse<Room>(declared: Declaration<Room, Fields, Output<unknown>>): void {
  const { name, method, fromSnapshot = false, recovers, input } = declared;
  invariant(!fromSnapshot || isRead(method), `${name}: what is answered from a snapshot reads`);
  invariant(recovers === undefined || method === "POST", `${name}: what recovers writes`);
  const named = Object.values(input).some((field) => field.name === READ_SNAPSHOT);
  invariant(!named, `${name}: ${READ_SNAPSHOT} is for the server itself`);
}

function checkPath(path: string, input: Fields): void {
  const bare = path === "/"; // the top of a mount
  const placed = path.startsWith("/") && !path.endsWith("/");
  invariant(bare || placed, `path ${path}: one slash, at the front`);
  invariant(!/\+.*:/.test(path), `path ${path}: only its last parameter takes several segments`);
  const { names } = parametersOf(path);
  invariant(new Set(names).size === names.length, `path ${path}: a parameter stands twice`);
  const declared = Object.values(input).flatMap((field) =>
    field.source === "path" ? [field.name] : [],
  );
  invariant(
    names.length === declared.length && names.every((name) => declared.includes(name)),
    `path ${path}: its parameters and the declared path fields differ`,
  );
}
