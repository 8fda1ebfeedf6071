// A mount whose engine is a plugin: requests, leases, logins and what is due, by the wire that plugins of others speak.

import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { Endpoint, PathHelp } from "@holdfast/shared/endpoint/endpoint";
import { WrittenElsewhere } from "@holdfast/shared/endpoint/failures";
import {
  type LoginRenewal,
  type LoginRenewalRequest,
  SecretUngiven,
} from "@holdfast/shared/endpoint/lease";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import type { Failure } from "@holdfast/shared/failure";
import type { Method, ServiceTable } from "@holdfast/shared/grpc/method";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds, LeaseFacts, Renewal, RunningProgram } from "@holdfast/plugin-sdk/engine";
import { backend } from "@holdfast/plugin-sdk/wire/backend";
import {
  alias,
  auth as authCodec,
  ErrorType,
  type LeaseOptions,
  type ProtoError,
  response as responseCodec,
  type WireAuth,
  type WireRequest,
  type WireResponse,
  type WireSecret,
} from "@holdfast/plugin-sdk/wire/backend-messages";
import { NO_TIME } from "@holdfast/plugin-sdk/wire/known-types";
import { READ_ONLY_STORAGE } from "@holdfast/plugin-sdk/wire/storage";
import type { ForeignCall, ForeignEngine, HeldProcess, OwnPlugin } from "../ports.ts";
import { describedPaths } from "./api-documented.ts";
import * as failures from "./failures.ts";
import type { Choose, ForeignHost } from "./host.ts";
import { Instance } from "./instance.ts";
import { loginProblem } from "../told-logins.ts";
import { refusalOf, refusalOfWork } from "./refusals.ts";
import type { SpecialPaths } from "./special-paths.ts";
import {
  dataOf,
  keptAuth,
  keptSecret,
  leaseOf,
  loginOf,
  ownerOf,
  plainReply,
  rawReply,
  type Reading,
  timesOf,
  wordsOf,
} from "./wire-answer.ts";
import { innerRequest, type Inner, type Operation, placeOf, requestOf } from "./wire-request.ts";

const WORK_WITHIN: Nanos = MINUTE;
const HELP_WITHIN: Nanos = 5n * SECOND;
const MAX_HELP = 1024 * 1024;
const DESCRIBED_AGAIN: Nanos = 30n * SECOND;
const NOT_DESCRIBED = "it has not said so, or not in time";
/** Of paths that have given secrets; which is forgotten is looked at when it gives the next. */
const MAX_ISSUING = 10_000;
const EMPTY = new Uint8Array();
const NO_AUTH: WireAuth = authCodec.decode(EMPTY);
const NO_ALIAS = alias.decode(EMPTY);
const NO_RESPONSE: WireResponse = responseCodec.decode(EMPTY);

const WRAPS_ITSELF =
  "wants its answer wrapped by itself, which is not served here; ask for it with X-Service-Wrap-TTL";

type Answered = ReturnType<(typeof backend.handleRequest)["response"]["decode"]>;

/** A request of a caller. */
interface CallersRequest {
  readonly operation: Operation;
  readonly wire: WireRequest;
  readonly context: EngineRequest;
  /** Quotas were looked at before it was sent. */
  readonly isAdmitted: boolean;
}

export interface ForeignMountParts {
  readonly kind: "auth" | "secret";
  readonly name: string;
  readonly version: string;
  readonly needs: EngineNeeds;
  readonly host: ForeignHost;
  readonly choose: Choose;
  readonly besides: HeldProcess | null;
  readonly user: string;
  readonly tell: (own: OwnPlugin | null) => void;
  /** It is the one of its mount, and is it no more. */
  readonly began: (mount: ForeignMount) => void;
  readonly closed: (mount: ForeignMount) => void;
}

export class ForeignMount implements ForeignEngine {
  readonly #parts: ForeignMountParts;
  readonly #instance: Instance;
  readonly #issuing = new Set<string>();
  #described: readonly Endpoint<never>[] | null = null;
  #describedAgain: Nanos = 0n;

  private constructor(parts: ForeignMountParts) {
    this.#parts = parts;
    this.#instance = new Instance({ ...parts, engine: this });
  }

  /** Throws a Failure where it cannot be had; then nothing of it is left. */
  static async open(parts: ForeignMountParts): Promise<ForeignMount> {
    const mount = new ForeignMount(parts);
    try {
      await mount.#instance.open();
      return mount;
    } catch (error) {
      await mount.#instance.close();
      throw error;
    }
  }

  get needs(): EngineNeeds {
    return this.#parts.needs;
  }

  get kind(): "auth" | "secret" {
    return this.#parts.kind;
  }

  get name(): string {
    return this.#parts.name;
  }

  get own(): OwnPlugin | null {
    return this.#instance.own;
  }

  get special(): SpecialPaths {
    return this.#instance.special;
  }

  get running(): RunningProgram {
    return this.#instance.running;
  }

  get trouble(): string | null {
    return this.#instance.trouble;
  }

  get held(): HeldProcess | null {
    return this.#instance.held;
  }

  async begin(): Promise<void> {
    await this.#instance.begin();
    this.#parts.began(this);
  }

  /** It may write from here on. */
  lead(): void {
    this.#instance.lead();
  }

  async close(): Promise<void> {
    await this.#instance.close();
    this.#parts.closed(this);
  }

  call<Q, A>(method: Method<"unary", Q, A>, request: Q, how?: ForeignCall): Promise<A> {
    return this.#instance.call(method, request, how);
  }

  callOffering<Q, A>(
    services: ServiceTable<null>,
    method: Method<"unary", Q, A>,
    request: (id: number) => Q,
    how?: ForeignCall,
  ): Promise<A> {
    return this.#instance.callOffering(services, method, request, how);
  }

  // --- requests ---

  async answer(
    operation: Operation,
    path: string,
    input: JsonObject,
    context: EngineRequest,
  ): Promise<Reply> {
    const wire = this.#request(operation, path, input, context);
    // Where it has data secrets before it is refused beforehand, where none may be data.
    const isAdmitted = this.#issuing.has(wire.path);
    if (isAdmitted) await context.issues();
    const { response, err } = await this.call(
      backend.handleRequest,
      { storageId: 0, request: wire },
      { signal: context.signal },
    );
    const question: CallersRequest = { operation, wire, context, isAdmitted };
    let data: JsonObject | null = null;
    try {
      data = response === null ? null : await dataOf(response, this.#reading);
      return await this.#answered(question, { response, err, data });
    } catch (error) {
      const secret = response?.secret ?? null;
      if (response === null || secret === null || isLengthAlone(secret)) throw error;
      // What cannot be read is not for it to read either.
      const said = data === null ? "" : response.data;
      throw new SecretUngiven(leaseOf(secret, wire.path, said), error);
    }
  }

  async #answered(
    question: CallersRequest,
    { response, err, data }: Pick<Answered, "response" | "err"> & { data: JsonObject | null },
  ): Promise<Reply> {
    const { operation, wire, context } = question;
    if (err !== null) throw this.#refused(err, wordsOf(data));
    const words = wordsOf(data);
    if (words !== null) throw failures.refusedByPlugin("invalid", [words]);
    if (response === null) return this.#nothing(operation);
    if (operation === "list" && response.warnings.length === 0 && !isList(data)) {
      throw failures.nothingThere();
    }
    // Nothing may come out that it wants nobody to see.
    if (response.wrapInfo !== null && response.wrapInfo.ttl > 0n)
      throw failures.broken(this.#parts.name, WRAPS_ITSELF);
    const raw = rawReply(data, response);
    if (raw !== null && response.secret === null && response.auth === null) {
      if (context.wrapTtl !== null) throw failures.rawNotWrapped();
      return raw;
    }
    const plain = plainReply(data, response);
    if (response.secret !== null) return await this.#leased(plain, response, question);
    return response.auth === null ? plain : this.#login(plain, response.auth, wire.path);
  }

  async exists(path: string, context: EngineRequest): Promise<boolean> {
    const wire = this.#request("create", path, {}, context);
    const answer = await this.call(
      backend.handleExistenceCheck,
      { storageId: 0, request: wire },
      { signal: context.signal },
    );
    const { checkFound, exists, err } = answer;
    // What it does not look at is a change, and so is a path that it does not have: the request itself is refused.
    if (err !== null) {
      if (err.type === ErrorType.unsupportedPath) return true;
      throw this.#refused(err, null);
    }
    return checkFound ? exists : true;
  }

  #request(
    operation: Operation,
    path: string,
    data: JsonObject,
    context: EngineRequest,
  ): WireRequest {
    const { host, needs } = this.#parts;
    const stamp = (accessor: string) => host.stamp(needs.mount.uuid, accessor);
    return requestOf({ operation, path, data, stamp }, context);
  }

  #nothing(operation: Operation): Reply {
    if (operation === "read" || operation === "list" || operation === "patch") {
      throw failures.nothingThere();
    }
    return plainReply(null, NO_RESPONSE);
  }

  #login(plain: Reply, auth: WireAuth, path: string): Reply {
    const { kind, name } = this.#parts;
    if (kind !== "auth")
      throw failures.broken(name, "answered with a login, and is no auth method");
    const problem = loginProblem(auth, [auth.internalData]);
    if (problem !== null) throw failures.broken(name, `answered a login ${problem}`);
    return plain.with({ login: loginOf(auth, path) });
  }

  async #leased(
    plain: Reply,
    { secret, data }: WireResponse,
    { wire, context, isAdmitted }: CallersRequest,
  ): Promise<Reply> {
    if (secret === null) return plain;
    if (isLengthAlone(secret)) {
      const seconds = Number((secret.leaseOptions?.ttl ?? 0n) / SECOND);
      return plain.with({ leased: { id: "", seconds, renewable: false } });
    }
    this.#remember(wire.path);
    if (!isAdmitted) await context.issues();
    return plain.with({ lease: leaseOf(secret, wire.path, data) });
  }

  #remember(path: string): void {
    if (this.#issuing.size >= MAX_ISSUING) this.#issuing.clear();
    this.#issuing.add(path);
  }

  // --- leases ---

  async renew(lease: LeaseFacts, increment: Nanos | null): Promise<Renewal> {
    const answer = await this.#work("renew", lease, increment ?? 0n);
    if (answer === null || answer.secret === null) return {};
    const { secret } = answer;
    const kept = keptSecret(lease.internal);
    const internal = { ...kept, internal: secret.internalData || kept.internal };
    return { ...timesOf(secret), internal };
  }

  async revoke(lease: LeaseFacts, signal: AbortSignal): Promise<void> {
    if (keepsNothing(keptSecret(lease.internal))) return; // a lease of before
    await this.#work("revoke", lease, 0n, signal);
  }

  async #work(
    operation: "renew" | "revoke",
    { leaseId, internal, issued, expires }: LeaseFacts,
    increment: Nanos,
    signal?: AbortSignal,
  ): Promise<WireResponse | null> {
    const kept = keptSecret(internal);
    const times = { ttl: expires - issued, increment, issueTime: issued };
    const secret: WireSecret = {
      leaseOptions: { ...NO_TIMES, ...times, renewable: true },
      internalData: kept.internal,
      leaseId,
    };
    return await this.#inner(operation, kept.path, { secret, data: kept.data }, signal);
  }

  /** Work of the server's own. */
  async #inner(
    operation: Inner,
    path: string,
    more: Partial<WireRequest>,
    signal?: AbortSignal,
  ): Promise<WireResponse | null> {
    const { needs, name } = this.#parts;
    const { mount } = needs;
    const place = placeOf({ path: mount.path(), type: name, accessor: mount.accessor });
    const wire = innerRequest(operation, path, { id: needs.random.uuid(), ...place, ...more });
    const { response, err } = await this.call(
      backend.handleRequest,
      { storageId: 0, request: wire },
      { signal, timeout: WORK_WITHIN },
    );
    if (err === null && response === null) return null;
    const words = response === null ? null : wordsOf(await dataOf(response, this.#reading));
    if (err !== null) throw this.#refused(err, words, refusalOfWork);
    if (words !== null) throw failures.refusedByPlugin("invalid", [words]);
    return response;
  }

  // --- logins ---

  /** Null: nobody knows them any more, or their token is not to live on. */
  async renewLogin(
    owner: Readonly<Record<string, string>>,
    { increment, issued, policies }: LoginRenewalRequest,
  ): Promise<LoginRenewal | null> {
    const kept = keptAuth(owner);
    if (kept === null || !kept.renewable) return null;
    const auth: WireAuth = {
      ...NO_AUTH,
      leaseOptions: {
        ...NO_TIMES,
        increment: increment ?? 0n,
        issueTime: issued,
        renewable: true,
      },
      internalData: kept.internal,
      displayName: kept.displayName,
      policies,
      metadata: new Map(Object.entries(kept.metadata)),
      alias: kept.alias === "" ? null : { ...NO_ALIAS, name: kept.alias },
    };
    const response = await this.#inner("renew", kept.path, { auth });
    if (response === null || response.auth === null) return {};
    const renewed = response.auth;
    const problem = loginProblem(renewed, [renewed.internalData]);
    if (problem !== null) {
      throw failures.broken(this.#parts.name, `answered the renewal of a login ${problem}`);
    }
    const { ttl, maxTtl } = timesOf(renewed);
    const { period } = renewed;
    const times = { ttl, maxTtl, period: period > 0n ? period : null };
    return { ...times, owner: ownerOf(kept, renewed) };
  }

  // --- what is due ---

  async rollBack(immediate: boolean, signal: AbortSignal): Promise<void> {
    try {
      await this.#inner("rollback", "", { data: JSON.stringify({ immediate }) }, signal);
    } catch (error) {
      if (!isUnsupported(error)) throw error;
    }
  }

  /** Not waited for: whoever changed them waits for nobody here. */
  invalidate(keys: readonly string[]): void {
    void this.#instance.invalidate(keys);
  }

  // --- help ---

  /** Asked once, and again after a while where it did not say: one that is slow or gone is asked by nobody in the meantime. */
  async described(): Promise<readonly Endpoint<never>[] | string> {
    if (this.#described !== null) return this.#described;
    const { clock } = this.#parts.needs;
    if (this.trouble !== null) return "it does not run";
    if (clock.elapsed() < this.#describedAgain) return NOT_DESCRIBED;
    this.#describedAgain = clock.elapsed() + DESCRIBED_AGAIN;
    try {
      const found = await this.#document("");
      if (found === null || !isObject(found["openapi"])) return NOT_DESCRIBED;
      this.#described = describedPaths(found["openapi"], this.special);
      return this.#described;
    } catch {
      return NOT_DESCRIBED;
    }
  }

  async help(context: EngineRequest): Promise<PathHelp | null> {
    const { mount, path } = context;
    const taken = mount === null ? 0 : mount.path.split("/").length - 1;
    const found = await this.#document(path.segments.slice(taken).join("/"), context.signal);
    if (found === null) return null;
    const { help, openapi } = found;
    const paths = isObject(openapi) && isObject(openapi["paths"]) ? openapi["paths"] : {};
    return { text: typeof help === "string" ? help : "", paths };
  }

  async #document(path: string, signal?: AbortSignal): Promise<JsonObject | null> {
    const { needs } = this.#parts;
    const wire = innerRequest("help", path, { id: needs.random.uuid() });
    const { response, err } = await this.call(
      backend.handleRequest,
      { storageId: 0, request: wire },
      { signal, timeout: HELP_WITHIN },
    );
    if (err !== null || response === null || response.data.length > MAX_HELP) return null;
    return (await dataOf(response, this.#reading)) ?? {};
  }

  get #reading(): Reading {
    const { name, host, needs } = this.#parts;
    return { name, maxBytes: host.maxAnswer, turn: () => needs.timers.turn() };
  }

  #refused(
    err: ProtoError,
    words: string | null,
    read: (error: ProtoError, words: string | null) => Failure = refusalOf,
  ): Failure {
    const isElsewhere = this.#parts.needs.storage.writtenElsewhere === true;
    if (isElsewhere && `${err.message} ${words ?? ""}`.includes(READ_ONLY_STORAGE)) {
      return new WrittenElsewhere();
    }
    return read(err, words);
  }
}

const NO_TIMES: LeaseOptions = {
  ttl: 0n,
  renewable: false,
  increment: 0n,
  issueTime: NO_TIME,
  maxTtl: 0n,
};

/** Of engines that tell how long a value may be kept, as the ecosystem's own for keys and values does, under whatever name it is
 *  registered: nothing is made, and no plugin could say what to end. */
function isLengthAlone(secret: WireSecret): boolean {
  const isRenewable = secret.leaseOptions?.renewable ?? false;
  return !isRenewable && keepsNothing({ internal: secret.internalData });
}

function keepsNothing({ internal }: { readonly internal: string }): boolean {
  return internal === "" || internal === "null";
}

function isList(data: JsonObject | null): boolean {
  const keys = data?.["keys"];
  return Array.isArray(keys) && keys.length > 0;
}

function isUnsupported(error: unknown): boolean {
  const kind = (error as Partial<Failure> | null)?.kind;
  return kind === "unsupported" || kind === "not-found";
}
