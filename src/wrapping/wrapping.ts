// Answers that are kept for one who unwraps them, once (core contract 10). Each lies in the private space
// of a token of its own, made in one transaction with it and ended in one with its reading: of any number
// of unwraps at once one gets it.

import { SECOND } from "../base/duration.ts";
import { Secret } from "../base/secret.ts";
import { showTime } from "../base/time.ts";
import type { Clock, Instant, Nanos, Random } from "../base/world.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { JsonObject } from "../base/json.ts";
import type { Reply, WrapInfo } from "../endpoint/reply.ts";
import {
  type Asked,
  type Caller,
  type NamespaceRef,
  ROOT_NAMESPACE,
  type WrapForm,
} from "../endpoint/request.ts";
import { wrappingInvalid } from "../endpoint/wrapping-failure.ts";
import type { NewToken } from "../tokens/new-token.ts";
import type { Token } from "../tokens/token.ts";
import type { TokenPlace } from "../tokens/token-keys.ts";
import type { CubbyholeContents, Space } from "./cubbyhole-contents.ts";
import * as failures from "./failures.ts";
import { SigningKey } from "./signing-key.ts";
import { answerIn, keptAnswer, RESPONSE } from "./wrapped-answer.ts";
import { claimedSecret, isCurrent, signedClaims } from "./wrapping-jwt.ts";

/** Built in, and held by nothing else. */
const POLICY = "response-wrapping";
const SECRET_BYTES = 32; // decision 51

/** What this room needs of the tokens. */
export interface WrappingTokens {
  find(secret: string): Caller | null;
  byAccessor(namespaceId: string, accessor: string): Token | null;
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
}

/** What is told of a wrapping without using it up. */
export interface WrappingFacts {
  readonly created: Instant;
  readonly ttl: Nanos;
  readonly path: string;
}

export interface Wrapped {
  readonly wrapInfo: WrapInfo;
  readonly warnings: readonly string[];
}

interface Making {
  readonly kept: JsonObject;
  readonly ttl: Nanos;
  readonly path: string;
  readonly form: WrapForm;
  readonly namespaceId: string;
}

export class Wrapping {
  readonly #options: WrappingOptions;
  #key: SigningKey | null = null;

  constructor(options: WrappingOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { shared, random } = this.#options;
    this.#key = await SigningKey.ensure(shared, random);
  }

  close(): void {
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

  /** Keeps the answer, and gives what stands for it. */
  async wrap(reply: Reply, ttl: Nanos, asked: Asked): Promise<Wrapped> {
    const { namespace, path, wrapForm: form = "token" } = asked;
    const kept = keptAnswer(reply);
    const making = { kept, ttl, path: path.text, form, namespaceId: homeOf(form, namespace) };
    const token = await this.#options.local.write((tx) => this.#make(tx, making));
    return this.#told(token, reply.auth?.accessor ?? "");
  }

  /** The answer as it was; nobody gets it a second time. */
  async unwrap(
    asked: Asked,
    named: Secret<string> | undefined,
  ): Promise<Reply<JsonObject | undefined>> {
    const { local } = this.#options;
    const place = this.#placeOf(asked, named);
    // Decided after the commit: a throw inside would take the end of the token back.
    const kept = await local.write((tx) => this.#take(tx, place)?.kept ?? null, {
      essential: true,
    });
    const answer = answerIn(kept);
    if (answer === null) throw wrappingInvalid();
    return answer;
  }

  /** The same answer behind another token, for as long as it was wrapped before; the old one dies. */
  async rewrap(asked: Asked, named: Secret<string> | undefined): Promise<Wrapped> {
    const place = this.#placeOf(asked, named);
    const made = await this.#options.local.write((tx) => {
      const taken = this.#take(tx, place);
      if (taken === null) return null;
      const { kept, token } = taken;
      const { ttl, path } = factsOf(token);
      const { namespaceId, terms } = token;
      const form = terms?.wrapping ?? "token";
      return { kept, token: this.#make(tx, { kept, ttl, path, form, namespaceId }) };
    });
    if (made === null) throw wrappingInvalid();
    return this.#told(made.token, answerIn(made.kept)?.auth?.accessor ?? "");
  }

  /** What it is, without using it up. */
  lookup(asked: Asked, named: Secret<string> | undefined): WrappingFacts {
    const { namespaceId, accessor } = this.#placeOf(asked, named);
    const token = this.#options.tokens.byAccessor(namespaceId, accessor);
    if (token === null) throw wrappingInvalid();
    return factsOf(token);
  }

  // --- inside ---

  /** Of the wrapping token that a request is about: named in its body, or its credential. */
  #placeOf({ caller, namespace }: Asked, named: Secret<string> | undefined): TokenPlace {
    const own = caller?.wrapping === undefined ? null : caller;
    const text = named?.reveal() ?? "";
    const found = text === "" ? own : this.find(text);
    if (found?.wrapping === undefined || !reaches(found.namespace, namespace)) {
      throw wrappingInvalid();
    }
    // One wrapping token is no right to unwrap another.
    if (own !== null && own.accessor !== found.accessor) throw wrappingInvalid();
    return { namespaceId: found.namespace.id, accessor: found.accessor, global: found.global };
  }

  #make(tx: Tx, { kept, ttl, path, form, namespaceId }: Making): Token {
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
    cubbyholes.put(tx, spaceOf(token), RESPONSE, kept);
    return token;
  }

  /** Null where it is over; its private space goes with it. */
  #take(tx: Tx, place: TokenPlace): { readonly token: Token; readonly kept: JsonObject } | null {
    const { tokens, cubbyholes } = this.#options;
    const kept = cubbyholes.read(spaceOf(place), RESPONSE, tx);
    const token = tokens.take(tx, place);
    return token === null || kept === null ? null : { token, kept };
  }

  async #told(token: Token, inside: string): Promise<Wrapped> {
    const { ttl, path, created } = factsOf(token);
    const jwt = token.terms?.wrapping === "jwt";
    const { apiAddress } = this.#options;
    return {
      wrapInfo: {
        token: jwt ? await this.#jwt(token) : token.secret.reveal(),
        accessor: token.accessor,
        ttl: Number(ttl / SECOND),
        creation_time: showTime(created),
        creation_path: path,
        wrapped_accessor: inside,
      },
      warnings: jwt && apiAddress === "" ? [NO_ADDRESS] : [],
    };
  }

  #jwt({ accessor, secret, created, expires }: Token): Promise<string> {
    const { apiAddress: address, random } = this.#options;
    const claims = {
      address,
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

/** A JWT is for other clusters, which know no namespaces of ours. */
function homeOf(form: WrapForm, namespace: NamespaceRef): string {
  return form === "jwt" ? ROOT_NAMESPACE.id : namespace.id;
}

/** Its own, where no request can look: a wrapping token opens no cubbyhole. */
function spaceOf({ namespaceId, accessor }: Omit<TokenPlace, "global">): Space {
  return { owner: { namespaceId, accessor }, namespaceId };
}

function factsOf({ created, ttl, terms }: Token): WrappingFacts {
  return { created, ttl: ttl ?? 0n, path: terms?.path ?? "" };
}

/** A token works in its namespace and below. */
function reaches({ path: own }: NamespaceRef, { path }: NamespaceRef): boolean {
  return own === "" || path === own || path.startsWith(`${own}/`);
}
