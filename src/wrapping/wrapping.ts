// Answers that are kept for one who unwraps them, once. Each lies in the private space
// of a token of its own, made in one transaction with it and ended in one with its reading: of any number
// of unwraps at once one gets it.

import { SECOND } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import { showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import type { Reply, WrapInfo } from "@holdfast/shared/endpoint/reply";
import {
  type RequestContext,
  type Caller,
  isAtOrBelow,
  type NamespaceRef,
  type Origin,
  type WrapForm,
} from "@holdfast/shared/endpoint/request";
import { wrappingInvalid } from "../endpoint/wrapping-failure.ts";
import type { NewToken } from "../tokens/token-rules.ts";
import type { Token } from "../tokens/token.ts";
import type { TokenPlace } from "../tokens/rows/token-keys.ts";
import type { CubbyholeContents, Made, Maker } from "./cubbyhole-contents.ts";
import * as failures from "./failures.ts";
import { ownerOf } from "./owner.ts";
import { SigningKey } from "./signing-key.ts";
import { answerIn, keptAnswer, type Unwrapped } from "./wrapped-answer.ts";
import { claimedSecret, isCurrent, signedClaims } from "./wrapping-jwt.ts";

/** Built in, and held by nothing else. */
const POLICY = "response-wrapping";
const SECRET_BYTES = 32;

/** What this room needs of the tokens. */
export interface WrappingTokens {
  find(secret: string): Caller | null;
  byAccessor(namespaceId: string, accessor: string): Token | null;
  callerBy(namespace: NamespaceRef, accessor: string): Caller | null;
  /** In a transaction, with any lifetime. */
  mint(tx: Tx, spec: NewToken, secret?: Secret<string>): Token;
  /** Ends one that may be used, in a transaction. */
  take(tx: Tx, place: TokenPlace): Token | null;
}

export interface WrappingOptions {
  /** Of what this room has below shared/: the key travels with global tokens. */
  readonly shared: View;
  readonly local: View;
  readonly tokens: WrappingTokens;
  readonly cubbyholes: CubbyholeContents;
  readonly clock: Clock;
  readonly random: Random;
  /** Where this cluster is reached; empty where nobody has said. */
  readonly apiAddress: string;
  /** How long an answer is kept at most (max_lease_ttl). */
  readonly longest: Nanos;
}

/** What is told of a wrapping without using it up. */
export interface WrappingFacts {
  readonly created: Instant;
  readonly ttl: Nanos;
  /** Of the request, with its namespace in front: without it, one of another namespace would look the
   *  same (T-E03). */
  readonly path: string;
}

export interface Wrapped {
  readonly wrapInfo: WrapInfo;
  readonly warnings: readonly string[];
}

interface Making extends Maker {
  readonly kept: JsonObject;
  readonly ttl: Nanos;
  readonly path: string;
  readonly form: WrapForm;
  readonly namespaceId: string;
}

export class Wrapping {
  readonly #options: WrappingOptions;
  #key: SigningKey | null = null;
  #unwatch = () => {};

  constructor(options: WrappingOptions) {
    this.#options = options;
  }

  open(): void {
    const { shared } = this.#options;
    this.#key = SigningKey.stored(shared);
    // Another cluster that writes it may have been restored: what it signs from then on has another key.
    this.#unwatch = SigningKey.onChange(shared, (key) => {
      this.#key = key ?? this.#key;
    });
  }

  /** There is a key from here on. */
  async lead(): Promise<void> {
    const { shared, random } = this.#options;
    this.#key ??= await SigningKey.ensure(shared, random);
  }

  close(): void {
    this.#unwatch();
    this.#key = null;
  }

  /** Its public half is for whoever wants to know who signed. */
  get publicKey(): Pick<SigningKey, "point" | "pem"> {
    return this.#signing();
  }

  /**
   * Who a credential belongs to, in whichever form it comes. One that was made as a JWT counts as
   * nothing without its signature.
   */
  find(credential: string): Caller | null {
    const { tokens, clock } = this.#options;
    const claimed = claimedSecret(credential);
    if (claimed === null) {
      const caller = tokens.find(credential);
      return caller?.wrapping === "jwt" ? null : caller;
    }
    // Verified only for those who know the secret: it takes far longer than the look-up.
    const caller = tokens.find(claimed.secret);
    if (caller?.wrapping !== "jwt" || caller.accessor !== claimed.accessor) return null;
    if (!isCurrent(claimed, clock.now())) return null;
    return this.#signing().verifies(claimed.signed, claimed.signature) ? caller : null;
  }

  /** Before there is an answer: refuses what could not be kept, when nothing is lost by it yet. */
  admit(ttl: Nanos, { namespace, caller }: RequestContext): void {
    const { longest, cubbyholes } = this.#options;
    if (ttl > longest) throw failures.ttlTooLong(longest);
    // Without a caller it counts for whoever is let in, which is known only then.
    if (caller !== null) cubbyholes.checkWrapping(namespace.id, makerOf(caller));
  }

  /** Before there is a token for whoever has logged in: it is to be kept for them, and counts as theirs. */
  admitLogin(origin: Origin, { namespace }: RequestContext): void {
    const by = ownerOf({ origin, namespace, accessor: "" });
    this.#options.cubbyholes.checkWrapping(namespace.id, { by, management: false });
  }

  /** Keeps the answer, and gives what stands for it. */
  async wrap(
    reply: Reply,
    ttl: Nanos,
    context: RequestContext,
    form: WrapForm = context.wrapForm ?? "token",
  ): Promise<Wrapped> {
    const { namespace, path, caller } = context;
    const kept = keptAnswer(reply);
    const inside = accessorIn(reply, context);
    const maker = caller === null ? this.#letIn(namespace, inside) : makerOf(caller);
    const making = { kept, ttl, path: path.text, form, namespaceId: namespace.id, ...maker };
    const token = await this.#options.local.write((tx) => this.#make(tx, making));
    return this.#answerWith(token, namespace, inside);
  }

  /** The answer as it was; nobody gets it a second time. */
  async unwrap(
    context: RequestContext,
    named: Secret<string> | undefined,
  ): Promise<Reply<Unwrapped>> {
    const { local } = this.#options;
    const place = placeOf(this.#meant(context, named));
    // Decided after the commit: a throw inside would take the end of the token back.
    const kept = await local.write((tx) => this.#take(tx, place)?.kept ?? null, {
      essential: true,
    });
    const answer = answerIn(kept);
    if (answer === null) throw wrappingInvalid();
    return answer;
  }

  /** The same answer behind another token, for as long as it was wrapped before; the old one dies. */
  async rewrap(context: RequestContext, named: Secret<string> | undefined): Promise<Wrapped> {
    const meant = this.#meant(context, named);
    const place = placeOf(meant);
    const made = await this.#options.local.write((tx) => {
      const taken = this.#take(tx, place);
      if (taken === null) return null;
      const { kept, by, token } = taken;
      const { namespaceId, terms, ttl } = token;
      const { wrapping: form = "token", path = "" } = terms ?? {};
      // It takes the place that it had, be it one of the last.
      const maker = { by, management: true };
      const making = { kept, ...maker, ttl: ttl ?? 0n, path, form, namespaceId };
      return { kept, token: this.#make(tx, making) };
    });
    if (made === null) throw wrappingInvalid();
    const inside = answerIn(made.kept)?.auth?.accessor ?? "";
    return this.#answerWith(made.token, meant.namespace, inside);
  }

  /** What it is, without using it up. */
  lookup(context: RequestContext, named: Secret<string> | undefined): WrappingFacts {
    const { namespace, accessor } = this.#meant(context, named);
    const token = this.#options.tokens.byAccessor(namespace.id, accessor);
    if (token === null) throw wrappingInvalid();
    return factsOf(token, namespace);
  }

  // --- inside ---

  /** Who has got the token in an answer. What nobody answers for is not kept: anybody could fill the
   *  namespace with it, and nobody be told to stop. */
  #letIn(namespace: NamespaceRef, inside: string): Maker {
    const owner = this.#options.tokens.callerBy(namespace, inside);
    if (owner === null) throw failures.nobodyWraps();
    return makerOf(owner);
  }

  /** The wrapping token that a request is about: named in its body, or its credential. */
  #meant({ caller, namespace }: RequestContext, named: Secret<string> | undefined): Caller {
    const own = caller?.wrapping === undefined ? null : caller;
    const text = named?.reveal() ?? "";
    const found = text === "" ? own : this.find(text);
    if (found?.wrapping === undefined || !isAtOrBelow(namespace, found.namespace)) {
      throw wrappingInvalid();
    }
    // One wrapping token is no right to unwrap another.
    if (own !== null && own.accessor !== found.accessor) throw wrappingInvalid();
    return found;
  }

  #make(tx: Tx, { kept, by, management, ttl, path, form, namespaceId }: Making): Token {
    const { tokens, cubbyholes, random } = this.#options;
    const terms = {
      parent: null, // it outlives whoever made it, or nobody could be handed something for later
      meta: {},
      withoutDefault: true,
      longest: null,
      period: null,
      usesLeft: 1,
      wrapping: form,
      path,
    };
    const spec: NewToken = {
      type: "client",
      namespaceId,
      name: POLICY,
      policies: [POLICY],
      ttl,
      terms,
    };
    const secret =
      form === "jwt" ? new Secret(random.bytes(SECRET_BYTES).toString("base64url")) : undefined;
    const token = tokens.mint(tx, spec, secret);
    cubbyholes.putAnswer(tx, token, kept, { by, management });
    return token;
  }

  /** Null where it is over; its private space goes with it. */
  #take(
    tx: Tx,
    place: TokenPlace,
  ): (Made & { readonly token: Token; readonly kept: JsonObject }) | null {
    const { tokens, cubbyholes } = this.#options;
    const found = cubbyholes.readAnswer(tx, place);
    const token = tokens.take(tx, place);
    return token === null || found === null ? null : { token, kept: found.answer, by: found.by };
  }

  async #answerWith(token: Token, namespace: NamespaceRef, inside: string): Promise<Wrapped> {
    const { ttl, path, created } = factsOf(token, namespace);
    const jwt = token.terms?.wrapping === "jwt";
    const { apiAddress } = this.#options;
    return {
      wrapInfo: {
        token: jwt ? await this.#jwt(token, namespace) : token.secret.reveal(),
        accessor: token.accessor,
        ttl: Number(ttl / SECOND),
        creation_time: showTime(created),
        creation_path: path,
        wrapped_accessor: inside,
      },
      warnings: jwt && apiAddress === "" ? [NO_ADDRESS] : [],
    };
  }

  #jwt(
    { accessor, secret, created, expires }: Token,
    { path: namespace }: NamespaceRef,
  ): Promise<string> {
    const { apiAddress: address, random } = this.#options;
    const claims = {
      address,
      namespace,
      accessor,
      reference: random.uuid(),
      secret: secret.reveal(),
      issued: created,
      expires: expires ?? created,
    };
    return signedClaims(claims, (text) => this.#signing().sign(text));
  }

  #signing(): SigningKey {
    if (this.#key === null) throw failures.closed();
    return this.#key;
  }
}

const NO_ADDRESS = "the wrapping token does not say where it can be unwrapped: api_addr is not set";

function placeOf({ namespace, accessor, global }: Caller): TokenPlace {
  return { namespaceId: namespace.id, accessor, global };
}

/** Whoever asks for the wrapping has to make room for it. */
function makerOf(caller: Caller): Maker {
  return { by: ownerOf(caller), management: caller.type === "management" };
}

/** Of the token in the answer, for whoever wants to end it unseen; empty where there is none. */
function accessorIn({ auth, data }: Reply, { path }: RequestContext): string {
  if (auth !== null) return auth.accessor;
  if (path.segments[0] !== "acl") return "";
  const { Token: exchanged, AccessorID: own } = { ...(data as JsonObject | undefined) };
  const accessor = isObject(exchanged) ? exchanged["AccessorID"] : own;
  return typeof accessor === "string" ? accessor : "";
}

function factsOf({ created, ttl, terms }: Token, namespace: NamespaceRef): WrappingFacts {
  const path = terms?.path ?? "";
  const whole = namespace.path === "" ? path : `${namespace.path}/${path}`;
  return { created, ttl: ttl ?? 0n, path: whole };
}
