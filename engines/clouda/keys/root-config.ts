// The root configuration: what is stored, what a write makes of it, what a read shows.
// Nothing is sent to the provider here. The secret key is in it and is never shown.

import { jsonCodec } from "@holdfast/shared/codec";
import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import {
  changedTerms,
  checkTerms,
  IDLE,
  isAutomatic,
  NO_TERMS,
  type RotationStanding,
  sameTerms,
  standingAt,
} from "../../cloud/rotation-terms.ts";
import { isRoleArn } from "../provider/arn.ts";
import { invalid, storedByNewer } from "../failures.ts";
import { checkTemplate } from "../roles/names.ts";
import { checkRegion } from "../provider/region.ts";

const VERSION = 1;
export const ROOT_CONFIG = "config/root";
const MAX_TOKEN_TTL = 24 * 3600; // as of whoever signs them
export const DEFAULT_TOKEN_TTL = 3600;

export interface StoredRoot {
  readonly version: number;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
  readonly iamEndpoint: string;
  readonly stsEndpoint: string;
  readonly maxRetries: number;
  /** Empty: the built-in one. */
  readonly usernameTemplate: string;
  readonly stsRegion: string;
  readonly stsFallbackEndpoints: readonly string[];
  readonly stsFallbackRegions: readonly string[];
  readonly roleArn: string;
  readonly identityTokenAudience: string;
  /** In seconds; 0: an hour. */
  readonly identityTokenTtl: number;
  readonly stsLeases: "record" | "virtual";
  /** When we made the key, in seconds since 1970; null: somebody else did. */
  readonly rootKeyCreated: number | null;
  /** When it is rotated by itself, and how that stands. */
  readonly rotationPeriod: number;
  readonly rotationSchedule: string;
  readonly rotationWindow: number;
  readonly disableAutomatedRotation: boolean;
  readonly standing: RotationStanding;
  /** The key before that one, until it is deleted at the provider. */
  readonly replacedKey: ReplacedKey | null;
}

export interface ReplacedKey {
  readonly id: string;
  readonly username: string;
  /** Left out where it is not known. */
  readonly account?: string;
  /** The write-ahead record that is settled when it is gone. */
  readonly record: string;
}

export type RootChange = {
  readonly [
    K in Exclude<keyof StoredRoot, "version" | "rootKeyCreated" | "replacedKey" | "standing">
  ]?: StoredRoot[K] | undefined;
};

export const EMPTY: StoredRoot = {
  version: VERSION,
  accessKey: "",
  secretKey: "",
  region: "",
  iamEndpoint: "",
  stsEndpoint: "",
  maxRetries: -1,
  usernameTemplate: "",
  stsRegion: "",
  stsFallbackEndpoints: [],
  stsFallbackRegions: [],
  roleArn: "",
  identityTokenAudience: "",
  identityTokenTtl: 0,
  stsLeases: "record",
  rootKeyCreated: null,
  ...NO_TERMS,
  standing: IDLE,
  replacedKey: null,
};

export const rootCodec = jsonCodec<StoredRoot>();

export class RootConfig {
  readonly #needs: EngineNeeds;

  constructor(needs: EngineNeeds) {
    this.#needs = needs;
  }

  /** Null where it was never written. */
  async read(): Promise<StoredRoot | null> {
    return checked(await this.#needs.storage.get(ROOT_CONFIG, rootCodec));
  }

  /** What is left out stays as it is, but for the template, which goes back to the built-in one. */
  async write(
    change: RootChange,
    check?: (exists: boolean) => void,
  ): Promise<{ readonly warnings: readonly string[] }> {
    const { storage, clock } = this.#needs;
    if ((change.identityTokenAudience ?? "") !== "") {
      await this.#proveIdentity(this.#changed(await this.read(), change, clock.now()));
    }
    return storage.write((tx) => {
      const before = checked(tx.get(ROOT_CONFIG, rootCodec));
      check?.(before !== null);
      const after = this.#changed(before, change, tx.time);
      tx.put(ROOT_CONFIG, after, rootCodec);
      return { warnings: warningsOn(before, after, change) };
    });
  }

  #changed(stored: StoredRoot | null, change: RootChange, now: Instant): StoredRoot {
    const before = stored ?? EMPTY;
    const written = Object.fromEntries(
      Object.entries(change).filter(([, value]) => value !== undefined),
    );
    const merged: StoredRoot = {
      ...before,
      ...written,
      ...changedTerms(before, change),
      usernameTemplate: change.usernameTemplate ?? "",
      version: VERSION,
    };
    this.#check(merged, now);
    const same = merged.accessKey === before.accessKey;
    const kept =
      same &&
      sameTerms(merged, before) &&
      merged.disableAutomatedRotation === before.disableAutomatedRotation;
    const after = {
      ...merged,
      rootKeyCreated: same ? before.rootKeyCreated : null,
      standing: kept ? before.standing : standingAt(merged, now),
    };
    checkMoved(before, after, change);
    return after;
  }

  /** What rotate-root makes of it, in a transaction of its own. False where the configuration has
   *  another access key by now than `expected`. */
  change(
    tx: EngineTx,
    expected: string,
    make: (before: StoredRoot) => Partial<StoredRoot>,
  ): boolean {
    const before = checked(tx.get(ROOT_CONFIG, rootCodec));
    if (before === null || before.accessKey !== expected) return false;
    tx.put(ROOT_CONFIG, { ...before, ...make(before) }, rootCodec);
    return true;
  }

  #check(root: StoredRoot, now: Instant): void {
    if ((root.accessKey === "") !== (root.secretKey === "")) {
      throw invalid("root-keys", "access_key and secret_key go together");
    }
    checkKeyText("access_key", root.accessKey);
    checkKeyText("secret_key", root.secretKey);
    checkRegion("region", root.region);
    checkRegion("sts_region", root.stsRegion);
    for (const region of root.stsFallbackRegions) checkRegion("sts_fallback_regions", region);
    this.#checkEndpoints(root);
    if (root.stsFallbackEndpoints.length !== root.stsFallbackRegions.length) {
      const text = "sts_fallback_endpoints and sts_fallback_regions must have equally many items";
      throw invalid("root-fallbacks", text);
    }
    if (root.identityTokenAudience !== "") {
      if (root.accessKey !== "") {
        throw invalid("root-sources", "access_key and identity_token_audience exclude each other");
      }
      if (root.roleArn === "") {
        throw invalid("root-sources", "identity_token_audience needs role_arn");
      }
    }
    // No @ either, though a role's name could have one: nothing in it may look like the end of a host.
    if (root.roleArn !== "" && (!isRoleArn(root.roleArn) || root.roleArn.includes("@"))) {
      const form = "such as arn:aws:iam::123456789012:role/holdfast, without @";
      throw invalid("field-invalid", `role_arn must be the ARN of a role, ${form}`);
    }
    if (root.identityTokenTtl > MAX_TOKEN_TTL) {
      throw invalid("field-invalid", "identity_token_ttl must be at most 24 hours");
    }
    checkTerms(root, now);
    if (isAutomatic(root) && root.accessKey === "") {
      const field = root.rotationPeriod > 0 ? "rotation_period" : "rotation_schedule";
      throw invalid("root-period", `${field} needs access_key and secret_key`);
    }
    if (root.usernameTemplate !== "") checkTemplate(root.usernameTemplate, this.#needs);
  }

  /** Fails now rather than at the first call. */
  async #proveIdentity(root: StoredRoot): Promise<void> {
    const { identityTokenAudience: audience, identityTokenTtl: ttl } = root;
    try {
      const seconds = BigInt(ttl === 0 ? DEFAULT_TOKEN_TTL : ttl);
      await this.#needs.identity.token(audience, seconds * SECOND);
    } catch (error) {
      const why = error instanceof Failure ? `: ${error.message}` : "";
      throw invalid(
        "identity-token",
        `identity_token_audience: no identity token can be made${why}`,
      );
    }
  }

  /** http too: they are HTTP endpoints. But an identity token is as good as the credentials that it is
   *  exchanged for, and goes nowhere in the clear (T-I01). */
  #checkEndpoints(root: StoredRoot): void {
    const { outbound } = this.#needs;
    const plain = root.identityTokenAudience === "" ? true : "loopback";
    if (root.iamEndpoint !== "")
      outbound.endpoint("iam_endpoint", root.iamEndpoint, { plain: true });
    if (root.stsEndpoint !== "") outbound.endpoint("sts_endpoint", root.stsEndpoint, { plain });
    for (const text of root.stsFallbackEndpoints) {
      outbound.endpoint("sts_fallback_endpoints", text, { plain });
    }
  }

  /** Refuses a stored configuration, whenever it was written, with which one would go out in the clear. */
  checkIdentityEndpoints(root: StoredRoot): void {
    this.#checkEndpoints(root);
  }
}

/** A key and its secret come as a pair; half of one is taken, and goes together with what is stored. */
function warningsOn(before: StoredRoot | null, after: StoredRoot, change: RootChange): string[] {
  if (before === null || after.accessKey === "") return [];
  const halves = [
    [after.accessKey !== before.accessKey, change.secretKey, "access_key", "secret_key"],
    [after.secretKey !== before.secretKey, change.accessKey, "secret_key", "access_key"],
  ] as const;
  return halves.flatMap(([changed, other, name, missing]) =>
    changed && other === undefined
      ? [`${name} was changed alone: the stored ${missing} is kept, and must belong to it`]
      : [],
  );
}

/**
 * Whoever may write the configuration and does not know its secret must not have it used elsewhere: what
 * is signed with it would tell of every call (T-I01). The provider's own endpoints need no such proof.
 */
function checkMoved(before: StoredRoot, after: StoredRoot, change: RootChange): void {
  if (before.secretKey === "" || (change.secretKey ?? "") !== "" || after.secretKey === "") return;
  const known = new Set([
    "",
    before.iamEndpoint,
    before.stsEndpoint,
    ...before.stsFallbackEndpoints,
  ]);
  const endpoints = {
    iam_endpoint: [after.iamEndpoint],
    sts_endpoint: [after.stsEndpoint],
    sts_fallback_endpoints: after.stsFallbackEndpoints,
  };
  const [moved] =
    Object.entries(endpoints).find(([, all]) => all.some((one) => !known.has(one))) ?? [];
  if (moved === undefined) return;
  const message =
    `${moved}: the stored keys were not given for this endpoint; ` +
    "give access_key and secret_key in the same write";
  throw invalid("root-moved", message);
}

function checked(root: StoredRoot | null): StoredRoot | null {
  if (root !== null && root.version > VERSION) {
    const text = "config/root was stored by a newer version";
    throw storedByNewer(text);
  }
  return root === null ? null : { ...EMPTY, ...root }; // it may be older than some members
}

/** Keys stand in headers of requests. */
function checkKeyText(field: string, text: string): void {
  if (/^[\u0021-\u007e]*$/.test(text)) return;
  throw invalid("field-invalid", `${field} must be printable ASCII without white space`);
}
