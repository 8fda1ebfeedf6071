// The tokens as clients of `auth/token` handle them: what a caller may
// give to a token that it makes, and how long that lives. The tokens are those of the ACL API.

import { secondsLeft, showDuration, showSeconds } from "@holdfast/shared/text/duration";
import { Failure, type FailureKind } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";
import { someNames } from "@holdfast/shared/text/some-names";
import { isOver } from "@holdfast/shared/text/time";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { LoginRenewal, LoginRenewalRequest } from "@holdfast/shared/endpoint/lease";
import type { WritesTo } from "@holdfast/shared/endpoint/endpoint";
import type {
  RequestContext,
  Caller,
  NamespaceRef,
  Origin,
} from "@holdfast/shared/endpoint/request";
import { policyName } from "@holdfast/shared/text/policy-name";
import type { FairTurns } from "../../base/fair-turns.ts";
import { type Pace, whoseOf } from "@holdfast/shared/sliced";
import { inherited } from "../origin.ts";
import { callerGone } from "../acl/query-failures.ts";
import {
  type LifeRequest,
  cutByMaker,
  grantedLife,
  hardEnd,
  increment,
  type LifeBounds,
} from "../life/renewal.ts";
import type { Token, TokenType } from "../token.ts";
import type { TokenPlace } from "../rows/token-keys.ts";
import type { Tokens } from "../tokens.ts";
import { isSpent } from "../life/uses.ts";
import * as failures from "../acl/view-failures.ts";

const DEFAULT = "default";
const BATCH = 32; // tokens read in one go: a millisecond or two
const LOOKED_AT_ONCE = 16; // policies, each of which may have to be parsed
/** A method has looked, and would not. */
const REFUSALS: ReadonlySet<FailureKind> = new Set(["invalid", "denied", "not-found"]);
const NO_LIMITS: ReadonlySet<string> = new Set();

export interface AuthTokensOptions {
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly life: LifeBounds;
  readonly turns: Pick<FairTurns, "next">;
  /** What a login method says of whom it has let in; null where it knows them no more. */
  readonly renewLogin: (
    mount: string,
    owner: Origin["metadata"],
    request: LoginRenewalRequest,
  ) => Promise<LoginRenewal | null>;
  /** The policies of a caller that take rights away, or would from `kept` if they were left out. */
  readonly limits: (caller: Caller, kept: ReadonlySet<string>) => Promise<ReadonlySet<string>>;
  /** Whether a policy is an RGP. */
  readonly isProgram: (namespaceId: string, policy: string) => boolean;
}

export interface TokenRequest extends LifeRequest {
  readonly name: string;
  /** Undefined: those of the caller. */
  readonly policies: readonly string[] | undefined;
  readonly withoutDefault: boolean;
  readonly meta: Readonly<Record<string, string>>;
  readonly renewable: boolean;
  /** 0: as many as one likes. */
  readonly uses: number;
  readonly orphan: boolean;
}

/** A token, and what its maker should know. */
export interface IssuedToken {
  readonly token: Token;
  readonly warnings: readonly string[];
}

export class AuthTokens {
  readonly #options: AuthTokensOptions;

  constructor(options: AuthTokensOptions) {
    this.#options = options;
  }

  get now(): Instant {
    return this.#options.clock.now();
  }

  isOrphan(token: Token): boolean {
    return !this.#options.tokens.rows.isChild(token);
  }

  // --- making ---

  async create(context: RequestContext, wanted: TokenRequest): Promise<IssuedToken> {
    const { tokens, life: bounds } = this.#options;
    const { namespace } = context;
    const caller = callerOf(context);
    // Otherwise the number would bound nothing.
    if (caller.counted === true) throw failures.countedParent();
    const free = caller.type === "management" || (await context.isPrivileged());
    if (!free && (wanted.period ?? 0n) > 0n) throw failures.sudoNeeded("period");
    const { type, policies, withoutDefault } = rightsFor(caller, namespace, wanted, {
      free,
      limits: free ? NO_LIMITS : await this.#limitsOf(caller, wanted),
    });
    const life = grantedLife(wanted, bounds);
    const limits = free ? UNBOUNDED : await this.#lifeLimitsOf(this.self(context));
    const token = await tokens.writes.create(
      {
        type,
        namespaceId: namespace.id,
        name: wanted.name,
        policies,
        ttl: life.ttl,
        notAfter: limits.notAfter,
        renewable: wanted.renewable && limits.renewable,
        terms: {
          parent: wanted.orphan ? null : placeOf(caller),
          meta: wanted.meta,
          withoutDefault,
          longest: life.longest,
          period: life.period,
          usesLeft: wanted.uses === 0 ? null : wanted.uses,
          path: context.path.segments.join("/"),
          // What a bound token makes is bound like it (T-B16).
          ...(caller.boundTo === undefined ? {} : { boundTo: caller.boundTo.texts }),
        },
        origin: originFor(caller, namespace, wanted, free),
      },
      null, // cut above, where /acl/ would refuse
    );
    const warnings = [
      ...life.warnings,
      ...cutByMaker(wanted, life, token),
      ...stayed(wanted, token),
      ...stillDefault(wanted, token),
      ...unasked(wanted, token),
      ...besideAll(wanted, token),
    ];
    return { token, warnings: [...warnings, ...tokens.warningsOn(token)] };
  }

  /** What its maker cannot have, a child or an orphan cannot have either: a later end, or renewals
   *  (T-B16). A maker without an end needs no renewals, so that its lack of them is no limit. */
  async #lifeLimitsOf(maker: Token): Promise<LifeLimits> {
    const known = await this.#isKnown(maker);
    const notAfter = hardEnd(maker, this.#options.life.max, known);
    return { notAfter, renewable: maker.expires === null || (maker.renewable && known) };
  }

  /** What a caller cannot leave behind: those of its policies that take something away (T-B16). */
  async #limitsOf(caller: Caller, wanted: TokenRequest): Promise<ReadonlySet<string>> {
    const { limits, isProgram, turns } = this.#options;
    const { namespace, policies, withoutDefault } = caller;
    const requested = wanted.policies ?? [];
    const kept = new Set(
      (requested.length > 0 ? requested : policies).map((name) => policyName(name) ?? name),
    );
    if (!wanted.withoutDefault) kept.add(DEFAULT);
    const found = new Set(await limits(caller, kept));
    const names = withoutDefault === true ? policies : [DEFAULT, ...policies];
    for (const [at, name] of names.entries()) {
      if (at % LOOKED_AT_ONCE === LOOKED_AT_ONCE - 1) await turns.next(whoseOf(caller));
      if (isProgram(namespace.id, name)) found.add(name);
    }
    return found;
  }

  // --- finding: one that is over is as none ---

  self(context: RequestContext): Token {
    const { accessor, namespace } = callerOf(context);
    const token = this.#options.tokens.byAccessor(namespace.id, accessor);
    if (token === null) throw failures.secretUnknown();
    return token;
  }

  bySecret(namespace: NamespaceRef, secret: string): Token {
    const token = this.#ownerOf(secret);
    if (token?.namespaceId !== namespace.id) throw failures.secretUnknown();
    return token;
  }

  byAccessor(namespace: NamespaceRef, accessor: string): Token {
    const token = this.#options.tokens.byAccessor(namespace.id, accessor);
    if (token === null || this.#isOver(token)) throw failures.accessorUnknown();
    return token;
  }

  /** Where what is written of it belongs; what nobody has is written nowhere. */
  belongsBySecret(secret: string): WritesTo {
    return this.#options.tokens.find(secret)?.global === true ? "shared" : "local";
  }

  belongsByAccessor(namespace: NamespaceRef, accessor: string): WritesTo {
    return this.#options.tokens.belongs(namespace.id, accessor);
  }

  /** In the order of accessors. `next` is what the following page starts after, null on the last. */
  async list(
    namespaceId: string,
    {
      after,
      limit,
      signal,
      pace: { turns, whose },
    }: { after: string | undefined; limit: number; signal: AbortSignal; pace: Pace },
  ): Promise<{ readonly tokens: readonly Token[]; readonly next: string | null }> {
    const { tokens } = this.#options;
    const found: Token[] = [];
    let from = after;
    for (;;) {
      const batch = tokens.ranges.byAccessor(namespaceId, { from, limit: BATCH });
      for (const token of batch) {
        if (token.accessor === from || this.#isOver(token)) continue;
        if (found.length === limit) return { tokens: found, next: found.at(-1)?.accessor ?? null };
        found.push(token);
      }
      const last = batch.at(-1)?.accessor;
      if (batch.length < BATCH || last === undefined) return { tokens: found, next: null };
      from = last;
      await turns.next(whose);
      if (signal.aborted) throw callerGone();
    }
  }

  // --- prolonging and ending ---

  async renew(token: Token, requested: Nanos | null): Promise<IssuedToken> {
    const { tokens } = this.#options;
    const { now } = this;
    const said = await this.#methodSays(token, requested);
    if (said === null) throw failures.notKnownAnyMore();
    const renewed = await tokens.writes.renew(token.namespaceId, token.accessor, requested, said);
    // Who asked for no time gets what there is, and one with a period was told when it was made.
    if (requested === null || requested === 0n) return { token: renewed, warnings: [] };
    const wanted = increment(token, requested);
    const granted = (renewed.expires ?? now) - now;
    if (secondsLeft(granted) >= secondsLeft(wanted)) return { token: renewed, warnings: [] };
    const was = `${showDuration(wanted)} was cut to ${showSeconds(granted)}`;
    const warning = `the renewal of ${was}: the token cannot live longer`;
    return { token: renewed, warnings: [warning] };
  }

  /** With what it made. */
  async revoke({ namespaceId, accessor }: Token): Promise<void> {
    await this.#options.tokens.deleteTree(namespaceId, accessor);
  }

  /** What is not there is what was asked for; what lies in another namespace is not. */
  async revokeSecret(
    namespace: NamespaceRef,
    secret: string,
    end: (token: Token) => Promise<void>,
  ): Promise<void> {
    const token = this.#ownerOf(secret);
    if (token === null) return;
    if (token.namespaceId !== namespace.id) throw failures.secretUnknown();
    await end(token);
  }

  /** Expired ones too, until they are collected. */
  async revokeAccessor(namespace: NamespaceRef, accessor: string): Promise<void> {
    const token = this.#options.tokens.byAccessor(namespace.id, accessor);
    if (token === null) throw failures.accessorUnknown();
    await this.revoke(token);
  }

  /** Without what it made. */
  async revokeAlone({ namespaceId, accessor, global }: Token): Promise<void> {
    await this.#options.tokens.deleteAlone({ namespaceId, accessor, global });
  }

  /** The login that it came through, be it as a child or an orphan: null where that knows its owner no more. */
  async #methodSays(token: Token, requested: Nanos | null): Promise<LoginRenewal | null> {
    const { origin, created: issued, policies } = token;
    const { mount = null, metadata = {}, owner = metadata } = origin ?? {};
    if (mount === null) return {};
    const increment = requested === 0n ? null : requested;
    return await this.#options.renewLogin(mount, owner, { increment, issued, policies });
  }

  /** Whoever could not renew it now leaves nothing behind that could be. */
  async #isKnown(token: Token): Promise<boolean> {
    try {
      return (await this.#methodSays(token, null)) !== null;
    } catch (error) {
      if (error instanceof Failure && REFUSALS.has(error.kind)) return false;
      throw error;
    }
  }

  #isOver(token: Token): boolean {
    const { expires } = token;
    if (isSpent(token) || isOver(expires, this.now)) return true;
    return this.#options.tokens.rows.hasEnded(token) || !this.#options.tokens.isOpen(token);
  }

  #ownerOf(secret: string): Token | null {
    const { tokens } = this.#options;
    const owner = tokens.find(secret);
    return owner === null ? null : tokens.byAccessor(owner.namespace.id, owner.accessor);
  }
}

/** Whoever asks for some of its policies should know that others came along. */
function stayed({ policies = [] }: TokenRequest, token: Token): string[] {
  if (policies.length === 0) return [];
  const names = new Set<string | null>(policies.map(policyName));
  const others = token.policies.filter((name) => !names.has(name));
  if (others.length === 0) return [];
  return [`policies that limit the token's maker stay: ${someNames(others.toSorted())}`];
}

/** Whoever wants to be without the default policy should know where it counts all the same. */
function stillDefault(
  { withoutDefault }: TokenRequest,
  { type, policies, terms }: Token,
): string[] {
  if (!withoutDefault || type === "management") return [];
  if (terms?.withoutDefault === false) {
    return [
      "no_default_policy has no effect: the policy default limits the token's maker, and stays",
    ];
  }
  if (!policies.includes(DEFAULT)) return [];
  return ["no_default_policy has no effect: default is among the policies of the token"];
}

/** Whoever mistyped `policies` gets all rights, and should know. */
function unasked({ policies = [] }: TokenRequest, { type }: Token): string[] {
  if (type !== "management" || policies.length > 0) return [];
  return ["this is a management token, like its maker's, since no policies were given"];
}

/** Whoever names others beside root may have meant to limit it, and should know. */
function besideAll({ policies = [] }: TokenRequest, { type }: Token): string[] {
  const others = new Set(policies.map((name) => policyName(name) ?? name));
  others.delete("root");
  if (type !== "management" || others.size === 0) return [];
  return [`beside root other policies add nothing and were left out: ${someNames([...others])}`];
}

/** What the life of a maker leaves to what it makes. */
interface LifeLimits {
  readonly notAfter: Instant | null;
  readonly renewable: boolean;
}

const UNBOUNDED: LifeLimits = { notAfter: null, renewable: true };

interface Rights {
  readonly type: TokenType;
  readonly policies: readonly string[];
  readonly withoutDefault: boolean;
}

interface Freedom {
  /** It may give what it likes. */
  readonly free: boolean;
  /** Those of its policies that stay on what it makes. */
  readonly limits: ReadonlySet<string>;
}

/** At most the caller's own rights and at least its own limits, unless it is free. */
function rightsFor(
  caller: Caller,
  namespace: NamespaceRef,
  wanted: TokenRequest,
  { free, limits }: Freedom,
): Rights {
  const bare = caller.withoutDefault === true; // and so is what it makes
  const withoutDefault = (wanted.withoutDefault && !limits.has(DEFAULT)) || (bare && !free);
  if (!free) {
    // In another namespace the same names mean other policies, of which the caller has none.
    if (caller.namespace.id !== namespace.id) throw failures.notItsOwn();
    const own = new Set<string | null>([...caller.policies, ...(bare ? [] : [DEFAULT])]);
    const foreign = (wanted.policies ?? []).map(policyName).some((name) => !own.has(name));
    if (foreign) throw failures.notItsOwn();
  }
  const names = wanted.policies ?? [];
  // Existing clients make themselves a child for the time that they run, and say no more, or name the policy
  // that stands for all rights with them: beside it others add nothing.
  const all = names.length === 0 ? !withoutDefault : names.map(policyName).includes("root");
  if (caller.type === "management" && all) {
    return { type: "management", policies: [], withoutDefault: false };
  }
  const requested =
    names.length > 0 || caller.namespace.id !== namespace.id ? names : caller.policies;
  const policies = [...requested, ...[...limits].filter((name) => name !== DEFAULT)];
  if (policies.length > 0) return { type: "client", policies, withoutDefault };
  if (withoutDefault) throw failures.noPolicies();
  return { type: "client", policies: [DEFAULT], withoutDefault };
}

/** Whoever is not free to say who its child is hands on who it is itself. What is made by one who has
 *  logged in, and ends with it, has come through that login in either case. */
function originFor(
  caller: Caller,
  namespace: NamespaceRef,
  { name, meta, orphan }: TokenRequest,
  free: boolean,
): Origin {
  const own = inherited(caller);
  if (!free) return own;
  const written = { namespaceId: namespace.id, name, metadata: meta };
  const { mount, login, metadata, owner = metadata } = own;
  if (orphan || mount === null) return { ...written, mount: null, login: "" };
  return { ...written, mount, login, owner };
}

function callerOf({ caller }: RequestContext): Caller {
  invariant(caller !== null, "nobody gets here without a token");
  return caller;
}

function placeOf({ namespace, accessor, global }: Caller): TokenPlace {
  return { namespaceId: namespace.id, accessor, global };
}
