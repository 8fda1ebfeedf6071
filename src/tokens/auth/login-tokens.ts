// Logins: where somebody who has proved who they are becomes the owner of a client token.
// The method says what its role grants; how long that may last is bounded by the mount and by the
// server, as for every token of `auth/token`.

import { showDuration } from "@holdfast/shared/text/duration";
import { invariant } from "@holdfast/shared/invariant";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import type { LoginOffer, LoginRenewal } from "@holdfast/shared/endpoint/lease";
import type { RequestContext, MountRef, Origin } from "@holdfast/shared/endpoint/request";
import { provedName } from "../origin.ts";
import type { Tokens } from "../tokens.ts";
import { authOf } from "../acl/token-view.ts";
import { methodGone } from "../acl/view-failures.ts";

const DEFAULT = "default";
const MAX_NAME_BYTES = 256; // see token-rules.ts

/** What a mount says of lifetimes, as tuned now. */
export interface LoginMount {
  defaultTtl(): Nanos;
  maxTtl(): Nanos;
}

export interface LoginTokensOptions {
  readonly tokens: Pick<Tokens, "writes" | "isOpen" | "warningsOn">;
  /** Null for a mount that is not there any more. */
  readonly mounts: { byUuid(uuid: string): LoginMount | null };
  readonly clock: Clock;
  /** What no token outlives. */
  readonly max: Nanos;
}

export class LoginTokens {
  readonly #options: LoginTokensOptions;

  constructor(options: LoginTokensOptions) {
    this.#options = options;
  }

  async login(
    offer: LoginOffer,
    context: RequestContext,
  ): Promise<{ auth: AuthBlock; warnings: readonly string[] }> {
    const { tokens, clock } = this.#options;
    const { mount, namespace, path } = context;
    invariant(mount !== null, "a login goes to a mount");
    const life = this.#lifeOf(offer, mount);
    const { policies, uses = 0, boundTo = [], withoutDefaultPolicy = false } = offer;
    const { renewable = true } = offer;
    const { metadata = {}, notes = {} } = offer;
    const token = await tokens.writes.create(
      {
        type: "client",
        namespaceId: namespace.id,
        name: nameOf(offer, mount),
        policies: policies.length === 0 && !withoutDefaultPolicy ? [DEFAULT] : policies,
        global: offer.global ?? false,
        ttl: life.ttl,
        renewable,
        terms: {
          parent: null,
          meta: { ...notes, ...metadata },
          withoutDefault: withoutDefaultPolicy,
          longest: life.longest,
          period: life.period,
          usesLeft: uses === 0 ? null : uses,
          path: path.segments.join("/"),
          ...(boundTo.length === 0 ? {} : { boundTo }),
        },
        origin: this.originOf(offer, context),
      },
      null, // cut below, where /acl/ would refuse
    );
    // Its mount may have been closed meanwhile: what would let nobody in is not handed out as if it did.
    if (!tokens.isOpen(token)) throw methodGone();
    const auth = authOf(token, { now: clock.now(), orphan: true, withSecret: true });
    return { auth, warnings: [...life.warnings, ...tokens.warningsOn(token)] };
  }

  /** What the method has proved of whoever logs in. */
  originOf(offer: LoginOffer, { mount, path }: RequestContext): Origin {
    invariant(mount !== null, "a login goes to a mount");
    const { metadata = {}, identity = offer.displayName, owner } = offer;
    return {
      namespaceId: mount.namespace.id,
      mount: mount.uuid,
      login: path.text.slice(mount.path.length),
      name: provedName(mount.path, identity),
      metadata,
      ...(owner === undefined ? {} : { owner }),
    };
  }

  /** Whoever logs in is told of a cut only where the role has asked for more than there is: that the
   *  usual time is longer than the longest is nothing that it could change. With a period only what the
   *  role says is the most in all: neither mount nor server ends what is renewed in time. But how long it lives
   *  without being renewed is bounded by the mount. */
  #lifeOf(offer: LoginOffer, { uuid }: MountRef) {
    const found = this.#options.mounts.byUuid(uuid);
    if (found === null) throw methodGone();
    const { max } = this.#options;
    const wanted = positiveOrNull(offer.period);
    const own = positiveOrNull(offer.maxTtl);
    if (wanted !== null) {
      const period = shorter(wanted, found.maxTtl());
      const was = `${showDuration(wanted)} was cut to ${showDuration(period)}`;
      const warnings =
        wanted > period ? [`the period of ${was}, the longest that its mount allows`] : [];
      return { ttl: own === null ? period : shorter(period, own), longest: own, period, warnings };
    }
    const bound = shorter(shorter(found.maxTtl(), own ?? max), max);
    const requested = positiveOrNull(offer.ttl);
    const ttl = shorter(requested ?? found.defaultTtl(), bound);
    const cut = requested !== null && requested > bound;
    const was = () => `${showDuration(requested ?? 0n)} was cut to ${showDuration(bound)}`;
    const warnings = cut ? [`the lifetime of ${was()}, the longest that is allowed here`] : [];
    return { ttl, longest: bound < max ? bound : null, period: null, warnings };
  }
}

/** What a method says of somebody whom it knows still, within the bounds of its mount as they are now. */
export function renewedWithin(
  said: LoginRenewal | null,
  mount: Pick<LoginMount, "maxTtl">,
): LoginRenewal | null {
  const period = positiveOrNull(said?.period);
  return said === null || period === null
    ? said
    : { ...said, period: shorter(period, mount.maxTtl()) };
}

/** Of method and person, for people: what policies go by is the name in the origin. */
function nameOf({ displayName }: LoginOffer, { path }: MountRef): string {
  const method = path
    .replace(/^auth\//, "")
    .replace(/\/$/, "")
    .replaceAll("/", "-");
  const whole = displayName === "" ? method : `${method}-${displayName}`;
  let name = whole.slice(0, MAX_NAME_BYTES);
  while (Buffer.byteLength(name) > MAX_NAME_BYTES) name = name.slice(0, -1);
  return name.toWellFormed();
}

/** 0 is as not given. */
function positiveOrNull(nanos: Nanos | null | undefined): Nanos | null {
  return nanos === undefined || nanos === 0n ? null : nanos;
}

function shorter(a: Nanos, b: Nanos): Nanos {
  return a < b ? a : b;
}
