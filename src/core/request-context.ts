// What a handler is told of its request: the passage without its credential, headers and body.

import type { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { JsonObject } from "@holdfast/shared/json/json";
import { type Pace, type Turns, whoSends } from "@holdfast/shared/sliced";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type { Capability } from "@holdfast/shared/endpoint/access";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type {
  RequestContext,
  Caller,
  ListenerTraits,
  MountRef,
  NamespaceRef,
  Operation,
  Remote,
  WrapForm,
} from "@holdfast/shared/endpoint/request";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import { type Home, programInput } from "../policies/governing/program-request.ts";
import { invariant } from "@holdfast/shared/invariant";
import { homeOf } from "../endpoint/parts.ts";
import { describedInput } from "@holdfast/shared/endpoint/input";
import { namedValues, type Route } from "@holdfast/shared/endpoint/router";
import { callerAgain, mayHaveChanged } from "./caller-again.ts";
import type { RequestState } from "./request-state.ts";
import { capabilityOn, decisionOn } from "./decision.ts";
import { ChangedMeanwhile, sealed } from "./failures.ts";
import { governedRequest } from "./governed-request.ts";
import { methodFor } from "@holdfast/shared/endpoint/operation";
import type { Routing } from "./routing.ts";
import type { Running, RunningRequest } from "./running.ts";
import type { Decisions, Governance, NamespaceTree, NodeState, TokenLookup } from "./seams.ts";

const LOOK_EVERY = 10n * SECOND;

interface Parts {
  readonly decisions: Decisions;
  readonly governance: Governance;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly running: Running;
  readonly tokens: TokenLookup;
  readonly namespaces: NamespaceTree;
  readonly routing: Pick<Routing, "reach">;
  readonly node: NodeState;
}

interface Judges {
  /** By RGPs and EGPs, as of now; null where none applies. */
  govern(state: RequestState, context: RequestContext): Promise<void> | null;
  /** All of it, as at the door. Throws the refusal. */
  again(state: RequestState, context: RequestContext): Promise<void> | null;
  /** Throws the refusal where no secret that ends may be given now. */
  admitLease(state: RequestState, context: RequestContext): void;
  /** Resolves when nobody is answered from shared rows of different times; null where nobody is. */
  whole(state: RequestState): Promise<void> | null;
}

export class HandlerContext implements RequestContext {
  readonly #state: RequestState;
  readonly #parts: Parts;
  readonly #entry: RunningRequest;
  readonly #judges: Judges;
  /** The store's index when a right was asked for. */
  #asOf: bigint;
  #gone = false; // the caller was revoked while the request ran

  constructor(state: RequestState, parts: Parts, entry: RunningRequest, judges: Judges) {
    this.#state = state;
    this.#parts = parts;
    this.#entry = entry;
    this.#judges = judges;
    this.#asOf = state.asOf;
  }

  get id(): string {
    return this.#state.incoming.id;
  }

  get operation(): Operation {
    return this.#state.meant?.operation ?? "read";
  }

  get namespace(): NamespaceRef {
    return this.#state.namespace ?? ROOT_NAMESPACE;
  }

  get path(): CanonicalPath {
    const { path } = this.#state;
    invariant(path !== null, "no handler runs without a canonical path");
    return path;
  }

  get mount(): MountRef | null {
    return this.#state.mount;
  }

  get wrapTtl(): Nanos | null {
    return this.#state.incoming.wrapTtl;
  }

  get wrapForm(): WrapForm {
    return this.#state.incoming.wrapForm ?? "token";
  }

  get isSentOn(): boolean {
    const { forwarded = null } = this.#state.incoming;
    return forwarded !== null && !forwarded.namedRegion;
  }

  async may(
    capability: Exclude<Capability, "sudo">,
    path: string,
    data: JsonObject = {},
  ): Promise<boolean> {
    const { namespace: base } = this.#state;
    const caller = this.#callerNow();
    if (caller === null || base === null) return false;
    const { decisions, governance, clock } = this.#parts;
    const { namespace, place, home, route } = this.#at(base, path);
    const endpoint = route.methods.get(methodFor(capability));
    const judged = { namespace, path: place, data: dataFor(endpoint, route, data), wrapTtl: null };
    const sudo = endpoint?.access.kind === "capability" && endpoint.access.sudo;
    const question = { ...judged, capability, sudo, fields: endpoint?.byName };
    const free = caller.type === "management";
    if (!free && !(await decisions.decide(caller, question)).allowed) return false;
    const policies = await governance.applying(caller, namespace, place);
    if (policies.length === 0) return true;
    const own = await governedRequest(this.#state, this, clock.now());
    const query = { ...judged, operation: capability, home, override: false };
    const input = programInput({ ...own, ...query }, governance);
    // Whoever overrides a policy does so for a request that names the place.
    return (await governance.judge(policies, { input, override: false })).allowed;
  }

  async mightEver(capability: Exclude<Capability, "sudo">, path: string): Promise<boolean> {
    const { namespace: base } = this.#state;
    const caller = this.#callerNow();
    if (caller === null || base === null) return false;
    if (caller.type === "management") return true;
    const { namespace, place } = this.#at(base, path);
    return this.#parts.decisions.mightEver(caller, { namespace, path: place, capability });
  }

  confirmExists(exists: boolean): void {
    const { exists: judged } = this.#state;
    if (judged !== null && judged !== exists) throw new ChangedMeanwhile(exists);
  }

  async creates(): Promise<boolean> {
    return (await capabilityOn(this.#state, this)) === "create";
  }

  async issues(): Promise<void> {
    this.#judges.admitLease(this.#state, this);
  }

  note(about: Readonly<Record<string, string>>): void {
    this.#state.noted = { ...this.#state.noted, ...about };
  }

  /** Where a request to the path would go. */
  #at(base: NamespaceRef, path: string) {
    const { namespaces, routing } = this.#parts;
    const folder = path.endsWith("/") ? "/" : "";
    const segments = path.split("/").filter((segment) => segment !== "");
    const { namespace, taken } = namespaces.resolve(base, segments);
    const { mount, route, segments: rest } = routing.reach(namespace, segments.slice(taken));
    const home: Home =
      mount === null
        ? { ...homeOf(rest), accessor: "" }
        : { point: mount.path, type: mount.type, accessor: mount.accessor };
    return { namespace, place: `${rest.join("/")}${folder}`, home, route };
  }

  get caller(): Caller | null {
    return this.#state.caller;
  }

  get anonymous(): boolean {
    return this.#state.incoming.credential === null;
  }

  async isPrivileged(): Promise<boolean> {
    return (await decisionOn(this.#state, this.#parts.decisions, this, true)).allowed;
  }

  /** A turn is a wait like any other: who was revoked meanwhile has no next one. */
  get pace(): Pace {
    const { clock, turns: all } = this.#parts;
    const turns: Turns = {
      next: (whose) => this.waitFor(all.next(whose)),
      step: (whose, work) => this.waitFor(all.step(whose, work)),
    };
    return { clock, turns, whose: whoSends(this) };
  }

  get remote(): Remote {
    return this.#state.incoming.remote;
  }

  header(name: string): string | undefined {
    const low = name.toLowerCase();
    const { mount, incoming } = this.#state;
    return mount?.headers?.request.has(low) === true ? incoming.header(low) : undefined;
  }

  ownHeader(name: string): string | undefined {
    return this.#state.incoming.header(name);
  }

  get listener(): ListenerTraits {
    return this.#state.incoming.listener;
  }

  /** Its end comes to who may still do what it was let in for: a handler begins before the first byte, and a body may
   *  take hours. Whoever leaves it early is judged then. */
  get stream(): BodyStream | undefined {
    const { stream } = this.#state;
    if (stream === undefined) return undefined;
    return { length: stream.length, [Symbol.asyncIterator]: () => this.#judged(stream) };
  }

  async *#judged(stream: BodyStream): AsyncGenerator<Uint8Array, void, void> {
    const { clock } = this.#parts;
    const look = () => this.#judges.again(this.#state, this);
    let looked = clock.elapsed();
    let failed = false;
    try {
      for await (const chunk of stream) {
        // On its way, too: nobody fills a disk for hours who was revoked.
        if (clock.elapsed() - looked > LOOK_EVERY) {
          await look();
          looked = clock.elapsed();
        }
        yield chunk;
      }
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      if (!failed) await look();
    }
  }

  /** Who asked for a secret outside and has ended its side is as gone: nobody can say whether it takes it, and
   *  one that nobody takes is undone. */
  get signal(): AbortSignal {
    const { endpoint, incoming } = this.#state;
    return endpoint?.issues === true ? this.ended : incoming.signal;
  }

  get ended(): AbortSignal {
    const { signal, ended = signal } = this.#state.incoming;
    return ended;
  }

  allow(duration: Nanos): void {
    this.#state.incoming.allow(duration);
  }

  async waitFor<T>(turn: Promise<T>): Promise<T> {
    const { node, running } = this.#parts;
    // What began on a sealed node (initialising, unsealing) is served by one.
    if (node.sealed && this.#state.asOf > 0n) throw sealed();
    const { signal } = this.#state.incoming;
    const value = await running.wait(this.#entry, turn, { refusal: sealed, signal });
    const judged = this.#judges.again(this.#state, this);
    if (judged !== null) await judged;
    return value;
  }

  recheck(): Caller | null | Promise<Caller | null> {
    const half = this.#judges.whole(this.#state);
    if (half !== null) return half.then(() => this.recheck());
    const caller = this.#current();
    if (caller === null) return null;
    this.#state.caller = caller;
    const judged = this.#judges.govern(this.#state, this);
    return judged === null ? caller : this.#after(judged);
  }

  /** Asked again: it may have changed while it was judged. */
  async #after(judged: Promise<void>): Promise<Caller | null> {
    const before = this.#state.caller;
    await judged;
    const now = this.#current();
    return now === null || now === before ? now : this.recheck();
  }

  /** What a long request asks on its way is asked of its caller as of then: one who was revoked meanwhile has
   *  no right any more. */
  #callerNow(): Caller | null {
    const state = this.#state;
    const { node, clock } = this.#parts;
    if (this.#gone || node.drSecondary) return null; // nobody has rights by policies there
    if (state.caller === null || node.sealed) return state.caller;
    if (!mayHaveChanged(state, { node, asOf: this.#asOf, now: () => clock.now() }))
      return state.caller;
    this.#asOf = node.index;
    const current = this.#current();
    this.#gone = current === null;
    if (current !== null) state.caller = current; // else the record still names who it was
    return current;
  }

  #current(): Caller | null {
    const { node } = this.#parts;
    return node.sealed || node.drSecondary ? null : callerAgain(this.#state, this.#parts);
  }

  detach(): void {
    this.#state.aside = true;
    this.#parts.running.end(this.#entry);
  }
}

/** Fields as the endpoint there would read them: judged in the one form of their values. */
function dataFor(endpoint: Served | undefined, route: Route, data: JsonObject): JsonObject {
  if (endpoint === undefined) return data;
  return describedInput(endpoint, namedValues(endpoint, route), data).data;
}
