// What a request does on a cluster that leaves shared data to another one: whether it goes there, and as whose.

import { EMPTY, utf8 } from "@holdfast/shared/bytes";
import type { Served, WritesTo } from "@holdfast/shared/endpoint/endpoint";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import type { Caller, RequestContext } from "@holdfast/shared/endpoint/request";
import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { MINUTE } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { noPathToRegion } from "../endpoint/acl-query-failures.ts";
import { callerAgain } from "./caller-again.ts";
import * as failures from "./failures.ts";
import { targetWith } from "./finding.ts";
import type { ForwardedFrom } from "./incoming.ts";
import type { RequestState } from "./request-state.ts";
import type { PipelineParts, PrimaryCluster, SentRequest, WithheldPlaces } from "./seams.ts";

type Parts = Pick<
  PipelineParts,
  "elsewhere" | "governance" | "region" | "node" | "tokens" | "namespaces" | "clock"
>;

/** A little more than a query may wait in another region. */
const LONGEST: Nanos = 6n * MINUTE;

/** The parameter of the ACL API that names a region. */
const REGION = "region";
/** That of one that waits: until what it asks for is newer. */
const INDEX = "index";

export class SendingOn {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get #primary(): PrimaryCluster | null {
    return this.#parts.elsewhere?.primary ?? null;
  }

  /** What one cluster has sent on another one does not; and a region is named in the ACL API alone. */
  check({ incoming: { forwarded = null }, endpoint }: RequestState): void {
    if (forwarded === null) return;
    if (this.#primary !== null) throw failures.forwardedTwice();
    if (forwarded.namedRegion && !takesRegion(endpoint)) throw failures.notShared();
  }

  /** Whether it names the region that is not this one and is known: then that one decides who may do it. */
  namesPrimary({ endpoint, query }: RequestState): boolean {
    const primary = this.#primary;
    if (primary === null || query.size === 0 || !takesRegion(endpoint)) return false;
    const named = query.get(REGION);
    if (typeof named !== "string" || named === "") return false;
    return named === primary.region && named !== this.#parts.region?.();
  }

  #namesThis({ query }: RequestState): boolean {
    return query.get(REGION) === this.#parts.region?.();
  }

  /** Whether the primary is reached or not. While its name is not known, it says so itself. */
  #checkRegion(state: RequestState, primary: PrimaryCluster): void {
    const named = state.query.size === 0 ? undefined : state.query.get(REGION);
    if (typeof named !== "string" || named === "" || !takesRegion(state.endpoint)) return;
    const isKnown = named === primary.region || primary.region === "";
    if (!isKnown && !this.#namesThis(state)) throw noPathToRegion();
  }

  /** Where what it writes is another cluster's: that one. Null at once where there is nothing to look at. */
  to(
    { incoming }: RequestState,
    endpoint: Served,
    input: Readonly<Record<string, unknown>>,
    context: RequestContext,
  ): Promise<PrimaryCluster | null> | null {
    const { forwarded = null } = incoming;
    if (this.#primary === null && forwarded === null) return null;
    return this.#look(endpoint, input, context, incoming);
  }

  /** Leases are local wherever they are made. */
  async #look(
    endpoint: Served,
    input: Readonly<Record<string, unknown>>,
    context: RequestContext,
    { forwarded = null, signal }: RequestState["incoming"],
  ): Promise<PrimaryCluster | null> {
    const writes = endpoint.issues ? null : ((await endpoint.belongs?.(input, context)) ?? null);
    if (forwarded !== null && writes !== "shared") {
      // Anything else that has an owner would be that of whoever is claimed to ask.
      if (forwarded.attested !== null) throw failures.notAttested();
      // The other cluster took what is here alone for something that all share: it does not know it.
      if (!forwarded.namedRegion) throw failures.notShared();
    }
    await this.#checkWithheld(endpoint, input, context, { forwarded, writes });
    // Whoever sent it is gone, or a member no more.
    if (forwarded !== null && signal.aborted) throw failures.placeChanged();
    return writes === "shared" ? this.#primary : null;
  }

  /** What was read for another cluster may have waited for a change: what is withheld from that by now it does not hear. */
  async after(
    { incoming: { forwarded = null }, meant }: RequestState,
    endpoint: Served,
    input: Readonly<Record<string, unknown>>,
    context: RequestContext,
  ): Promise<void> {
    const isRead = meant?.method === "GET" || meant?.method === "LIST";
    if (forwarded === null || !isRead) return;
    await this.#checkWithheld(endpoint, input, context, { forwarded, writes: null });
  }

  /** What a cluster is not sent it does not change either, here or there. */
  async #checkWithheld(
    endpoint: Served,
    input: Readonly<Record<string, unknown>>,
    { namespace, mount }: RequestContext,
    { forwarded, writes }: { forwarded: ForwardedFrom | null; writes: WritesTo | null },
  ): Promise<void> {
    const { elsewhere } = this.#parts;
    const withheld =
      forwarded !== null
        ? ((await elsewhere?.withheldFrom?.(forwarded.member)) ?? null)
        : writes === "shared" && this.#primary !== null
          ? (elsewhere?.withheld ?? null)
          : null;
    if (withheld === null) return;
    const above = namespace.path === "" ? "" : `${namespace.path}/`;
    const places = endpoint.places(input).map((path) => `${above}${withoutSlashes(path)}/`);
    const isWithheld =
      withheld.namespaces.has(namespace.id) ||
      (mount !== null && withheld.mounts.has(mount.uuid)) ||
      places.some((path) => isAmong(path, withheld));
    if (isWithheld) throw failures.notInRegion();
  }

  /** Of one that seemed to write nothing there. `error`: what it is refused with where nobody else writes. */
  async sendAfterAll(
    state: RequestState,
    input: Readonly<Record<string, unknown>>,
    context: RequestContext,
    error: unknown,
  ): Promise<Reply> {
    const { forwarded = null } = state.incoming;
    const primary = this.#primary;
    if (primary === null || forwarded !== null || state.endpoint === null) throw error;
    await this.#checkWithheld(state.endpoint, input, context, { forwarded, writes: "shared" });
    return await this.send(state, primary, input, context);
  }

  /** As it was judged here. */
  async send(
    state: RequestState,
    primary: PrimaryCluster,
    input: Readonly<Record<string, unknown>>,
    context: RequestContext,
  ): Promise<Reply> {
    const { incoming, caller, mount, endpoint } = state;
    this.#checkRegion(state, primary);
    const sentOn = endpoint?.sentOn ?? null;
    const request: SentRequest = {
      incoming,
      target: targetOf(state, this.#namesThis(state), sentOn?.query(input, context)),
      ...asWhom(caller, incoming.credential),
      body: await bodyOf(state),
      headers: [
        ...new Set([...this.#parts.governance.headers(), ...(mount?.headers?.request ?? [])]),
      ],
      isNamed: false,
      mayWait: false,
    };
    const reply =
      request.attested === null
        ? await this.#sent(state, primary, request)
        : await this.#vouched(state, primary, request, request.attested);
    // Lists that wait go by the index of this cluster.
    const seen = reply.index === null ? reply : reply.with({ index: this.#parts.node.index });
    if (sentOn === null || seen.data === undefined) return seen;
    return seen.withData(sentOn.answer(seen.data, context) as Reply["data"]);
  }

  async #sent(state: RequestState, primary: PrimaryCluster, request: SentRequest): Promise<Reply> {
    const { reply, written, by } = await primary.send(request);
    state.writtenThere = written;
    state.writtenBy = by;
    return reply;
  }

  /** Of a token that the primary does not know nobody there sees that it ends: then this cluster takes its word back. What has not begun
   *  there is not done. */
  async #vouched(
    state: RequestState,
    primary: PrimaryCluster,
    request: SentRequest,
    attested: Caller,
  ): Promise<Reply> {
    const { signal } = state.incoming;
    const over = new AbortController();
    const look = () => {
      const now = callerAgain(state, this.#parts);
      if (now === null) over.abort(failures.invalidToken());
      else if (!isSame(now.policies, attested.policies))
        over.abort(failures.vouchedRightsChanged());
    };
    const leave = () => over.abort(signal.reason);
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    const forget = this.#parts.tokens.onChange?.(attested, look);
    try {
      look(); // what it waited for until now may have taken long
      over.signal.throwIfAborted();
      return await this.#sent(state, primary, { ...request, signal: over.signal });
    } finally {
      forget?.();
      signal.removeEventListener("abort", leave);
    }
  }

  /** As it came: who may do it, and everything else, is for the region that it names. */
  async pass(state: RequestState): Promise<Reply> {
    const { incoming } = state;
    const primary = this.#primary;
    if (primary === null) throw failures.placeChanged(); // it has taken over meanwhile
    incoming.allow(LONGEST); // there it may wait for a change
    return this.#sent(state, primary, {
      incoming,
      target: targetOf(state, true),
      credential: incoming.credential,
      attested: null,
      body: await bodyOf(state),
      headers: this.#parts.governance.headers(),
      isNamed: true,
      mayWait: state.query.has(INDEX) && state.query.get(INDEX) !== "0",
    });
  }
}

/** By its secret where the primary knows that, by the word of this cluster where it cannot. */
function asWhom(
  caller: Caller | null,
  credential: string | null,
): { readonly credential: string | null; readonly attested: Caller | null } {
  if (caller === null) return { credential: null, attested: null };
  if (caller.global) return { credential, attested: null };
  if (caller.type === "management") throw failures.localManagement();
  return { credential: null, attested: caller };
}

function isAmong(path: string, { mounts, namespaces }: WithheldPlaces): boolean {
  return (
    mounts.values().some((one) => one === path) ||
    namespaces.values().some((one) => path.startsWith(one))
  );
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, at) => name === other[at]);
}

async function bodyOf({ recalled, body, incoming, meant }: RequestState): Promise<Uint8Array> {
  if (recalled) return utf8(JSON.stringify(body)); // its snapshot is loaded here alone
  const sends = meant?.method !== "GET" && meant?.method !== "LIST";
  return sends && incoming.hasBody ? incoming.body(incoming.listener.maxBody) : EMPTY;
}

function takesRegion(endpoint: Served | null): boolean {
  return endpoint?.family === "acl" && endpoint.byName.get(REGION)?.source === "query";
}

/** Which region was named says where it goes, and is said no more there. One that nobody knows is refused there. */
function targetOf(
  { incoming: { target }, endpoint, query }: RequestState,
  isKnown: boolean,
  putIn: Readonly<Record<string, string>> = {},
): string {
  const leftOut = isKnown && query.has(REGION) && takesRegion(endpoint) ? [REGION] : [];
  const isAsItCame = leftOut.length === 0 && Object.keys(putIn).length === 0;
  return isAsItCame ? target : targetWith(target, leftOut, putIn);
}
