// What a rekey tells its callers, and the backup it may leave behind: shapes only.

import { base64, fromBase64, hex } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Secret } from "@holdfast/shared/secret";
import * as collection from "./collection.ts";
import type { Collecting, Plan, State, Verifying } from "./rekey.ts";
import type { PrintedShares } from "./share.ts";

interface Common {
  readonly nonce: string;
  readonly pgpFingerprints: readonly string[] | null;
  readonly backup: boolean;
  readonly verificationRequired: boolean;
  readonly verificationNonce: string; // empty unless new shares are waited for
}

export interface RekeyProgress extends Common {
  readonly started: boolean;
  readonly t: number; // of the new shares, as n
  readonly n: number;
  readonly progress: number;
  readonly required: number;
  /** Only in the answer to the start. */
  readonly cancelNonce?: Secret<string>;
}

/** The new shares: valid at once, or after verification where that is required. */
export interface RekeyResult extends Common {
  /** False only when the storage failed and nobody knows which shares are valid. */
  readonly complete: boolean;
  readonly keys: Secret<readonly string[]>;
  readonly keysBase64: Secret<readonly string[]>;
  readonly warnings: readonly string[];
}

/** To a share of the present key: how far it is, or the new shares. */
export type RekeyAnswer =
  | { readonly progress: RekeyProgress; readonly result: null }
  | { readonly progress: null; readonly result: RekeyResult };

export interface VerificationProgress {
  readonly nonce: string;
  readonly t: number;
  readonly n: number;
  readonly progress: number;
  readonly complete: boolean;
}

export interface RekeyBackup {
  readonly nonce: string;
  /** By fingerprint: the messages to that key, in hex and in base64. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  readonly keysBase64: Readonly<Record<string, readonly string[]>>;
}

/** What is stored of a backup; hex is made when it is read. */
export type StoredBackup = Pick<RekeyBackup, "nonce" | "keysBase64">;

const UNCERTAIN =
  "the storage failed while the new key was stored; keep the old shares and these: " +
  "one of the two sets unseals this server when it is started again";

/** `required` is the threshold of the present shares. */
export function progressOf(state: State, required: number): RekeyProgress {
  if (state.at === "none") {
    const none = { started: false, t: 0, n: 0, progress: 0, required };
    return { ...none, ...common("", null, "") };
  }
  const { threshold: t, shares: n } = state.plan.scheme;
  const progress = state.at === "collecting" ? collection.progressOf(state.collection) : required;
  return { started: true, t, n, progress, required, ...commonOf(state) };
}

export function resultOf(
  state: Collecting | Verifying,
  shares: PrintedShares,
  certain = true,
): RekeyResult {
  const warnings = certain ? [] : [UNCERTAIN];
  return { complete: certain, ...commonOf(state), ...shares, warnings };
}

export function verificationOf(state: Verifying, complete: boolean): VerificationProgress {
  const { threshold: t, shares: n } = state.plan.scheme;
  const progress = complete ? t : collection.progressOf(state.collection);
  return { nonce: state.verificationNonce, t, n, progress, complete };
}

export function backupOf(
  state: { readonly nonce: string; readonly plan: Plan },
  messages: readonly Buffer[],
): StoredBackup {
  const keysBase64: Record<string, string[]> = {};
  // One operator may hold several shares under one key.
  for (const [i, print] of state.plan.scheme.pgpFingerprints.entries()) {
    (keysBase64[print] ??= []).push(base64(messages[i]!));
  }
  return { nonce: state.nonce, keysBase64 };
}

export function showBackup(stored: StoredBackup): RekeyBackup {
  const entries = Object.entries(stored.keysBase64);
  const inHex = entries.map(([print, texts]) => [print, texts.map(hexOf)] as const);
  return { ...stored, keys: Object.fromEntries(inHex) };
}

function hexOf(text: string): string {
  const bytes = fromBase64(text);
  invariant(bytes !== null, "a backup holds base64");
  return hex(bytes);
}

function common(nonce: string, plan: Plan | null, verificationNonce: string): Common {
  const prints = plan?.scheme.pgpFingerprints ?? [];
  return {
    nonce,
    pgpFingerprints: prints.length === 0 ? null : prints,
    backup: plan?.backup ?? false,
    verificationRequired: plan?.verify ?? false,
    verificationNonce,
  };
}

function commonOf(state: Collecting | Verifying): Common {
  const verificationNonce = state.at === "verifying" ? state.verificationNonce : "";
  return common(state.nonce, state.plan, verificationNonce);
}
