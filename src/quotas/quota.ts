// The records of this room, and the one spelling of the path that a quota is on: empty for every
// request; a namespace or a mount with a slash at its end; a path below a mount without one, or with
// a star at its end for all that begins so.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { isSegment } from "@holdfast/shared/text/canonical-path";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Nanos } from "@holdfast/shared/world";
import * as failures from "./failures.ts";

/** What a path of this server leads to. */
export type PlaceKind = "namespace" | "mount" | "inside";

export interface Quota {
  readonly path: string;
  readonly rate: number;
  readonly interval: number; // ns
  readonly blockInterval: number; // ns
  /** Reaches the namespaces below that have no quota of their own. */
  readonly inheritable: boolean;
}

export interface QuotaConfig {
  readonly exemptPaths: readonly string[];
  readonly auditRefusals: boolean;
  readonly headers: boolean;
}

export const NO_CONFIG: QuotaConfig = { exemptPaths: [], auditRefusals: false, headers: false };

/** On the number of leases below the path. */
export interface LeaseQuota {
  readonly path: string;
  readonly maxLeases: number;
  readonly inheritable: boolean;
}

export const quotaCodec = jsonCodec<Quota>();
export const leaseQuotaCodec = jsonCodec<LeaseQuota>();
export const configCodec = jsonCodec<QuotaConfig>();

export interface QuotaInput {
  readonly path: string;
  readonly rate: number;
  readonly interval: Nanos;
  readonly blockInterval: Nanos;
  readonly role: string;
  readonly inheritable: boolean | undefined;
}

export interface LeaseQuotaInput {
  readonly path: string;
  readonly maxLeases: number;
  readonly role: string;
  readonly inheritable: boolean | undefined;
}

export function checkName(name: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name)) throw failures.nameInvalid();
}

/** `classify` says what the segments of a path lead to; null for nothing. */
export function makeQuota(
  quota: QuotaInput,
  classify: (segments: readonly string[]) => PlaceKind | null,
): Quota {
  if (!(quota.rate > 0)) throw failures.rateNotPositive();
  if (quota.role !== "") throw failures.roleUnsupported();
  const path = canonicalPlace(quota.path, classify);
  return {
    path,
    rate: quota.rate,
    // Both are bounded by their fields, far below what a number holds exactly.
    interval: Number(quota.interval),
    blockInterval: Number(quota.blockInterval),
    inheritable: inheritance(path, quota.inheritable, classify),
  };
}

export function makeLeaseQuota(
  quota: LeaseQuotaInput,
  classify: (segments: readonly string[]) => PlaceKind | null,
): LeaseQuota {
  if (quota.role !== "") throw failures.roleUnsupported();
  const path = canonicalPlace(quota.path, classify);
  const inheritable = inheritance(path, quota.inheritable, classify);
  return { path, maxLeases: quota.maxLeases, inheritable };
}

function canonicalPlace(
  text: string,
  classify: (segments: readonly string[]) => PlaceKind | null,
): string {
  if (text === "" || text === "/") return "";
  const { segments, star, partial } = splitPattern(text, failures.pathMalformed);
  const kind = classify(segments);
  if (kind === null) throw failures.pathUnknown();
  if (kind !== "inside") {
    if (star) throw failures.starNeedless();
    return `${segments.join("/")}/`;
  }
  return `${segments.join("/")}${star && !partial ? "/" : ""}${star ? "*" : ""}`;
}

/** The one spelling of an exempt path: segments, and a star or none. */
export function exemptPath(text: string): string {
  const { segments, star, partial } = splitPattern(text, failures.exemptPathMalformed);
  return `${segments.join("/")}${star && !partial ? "/" : ""}${star ? "*" : ""}`;
}

/** Whether a path is meant by a pattern that may end in a star. */
export function matches(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

interface Pattern {
  readonly segments: readonly string[];
  readonly star: boolean;
  /** The star stands for the rest of a segment that has begun. */
  readonly partial: boolean;
}

function splitPattern(path: string, refusal: () => Error): Pattern {
  const star = path.endsWith("*");
  const text = star ? path.slice(0, -1) : path;
  const partial = star && !text.endsWith("/");
  const segments = withoutSlashes(text).split("/");
  // Also refuses a star elsewhere: no segment has one.
  if (!segments.every(isSegment)) throw refusal();
  return { segments, star, partial };
}

function inheritance(
  path: string,
  requested: boolean | undefined,
  classify: (segments: readonly string[]) => PlaceKind | null,
): boolean {
  if (path === "") {
    if (requested === false) throw failures.alwaysInherited();
    return true;
  }
  if (requested !== true) return false;
  const namespace = path.endsWith("/") && classify(path.slice(0, -1).split("/")) === "namespace";
  if (!namespace) throw failures.notInheritable();
  return true;
}
