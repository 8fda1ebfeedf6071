// Proofs of who an engine is: tokens that say which mount of which namespace sends
// them, signed with a key whose public half anybody may read. A provider that trusts the issuer needs no
// secret of ours. The first key is made when a token is first asked for, or other regions may ask for one, which make none: whoever
// reads the public halves makes nothing.

import type { KeyObject } from "node:crypto";
import { utf8, wipe } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { SECOND } from "@holdfast/shared/text/duration";
import { invariant } from "@holdfast/shared/invariant";
import type { Clock, Instant, Nanos, Random } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import * as failures from "./failures.ts";
import {
  dueStep,
  type Issuer,
  type KeyRing,
  listed,
  MAX_TOKEN_TTL,
  type PublicKey,
  ringCodec,
  type Step,
  switched,
} from "./key-ring.ts";
import { newRsaKey, publicHalf, readRsaKey, signRs256 } from "./rsa-key.ts";

const RING = "ring";
/** Below it, by name of the key, the secret halves of those that sign or are to sign. */
const SECRETS = "secrets/";
const EARLIER: Nanos = 5n * SECOND; // clocks of others may be a little behind

export const ISSUER_PATH = "identity/oidc/plugins";

export interface IdentityOptions {
  /** shared/identity/ */
  readonly view: View;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "uuid">;
  /** Where clients reach this cluster; empty where nobody has said. */
  readonly apiAddress: () => string;
  /** Id of this cluster. */
  readonly clusterId: () => string;
  /** Whether there are other regions, which sign with what is made here. Default: there are none. */
  readonly hasRegions?: () => boolean;
}

export interface Bearer {
  readonly namespaceId: string;
  readonly kind: "secret" | "auth";
  readonly accessor: string;
}

export class Identity {
  readonly #options: IdentityOptions;
  /** The secret halves that were used here, by name. */
  readonly #keys = new Map<string, KeyObject>();
  /** A change of the ring, one at a time. */
  #changing: Promise<void> | null = null;

  constructor(options: IdentityOptions) {
    this.#options = options;
  }

  close(): void {
    this.#keys.clear();
  }

  /** The issuer that is stored is the one to name. */
  async lead(): Promise<void> {
    const ring = this.#ring();
    if (ring !== null && this.#mayChange && this.#isMisnamed(ring)) await this.#name();
  }

  /** Keys are changed in time also where only other regions sign with them. */
  async keep(): Promise<void> {
    const ring = this.#ring();
    if (!this.#mayChange || this.#address(ring) === "") return;
    if (ring !== null || this.#options.hasRegions?.() === true) await this.#keepRing();
  }

  get issuer(): string {
    return `${this.#address(this.#ring())}/v1/${ISSUER_PATH}`;
  }

  /** Those that a token in circulation may name; none before the first token. */
  publicKeys(): readonly PublicKey[] {
    const ring = this.#ring();
    return ring === null ? [] : listed(ring, this.#options.clock.now());
  }

  async token(bearer: Bearer, audience: string, ttl: Nanos): Promise<string> {
    if (audience === "") throw failures.audienceMissing();
    if (ttl < SECOND || ttl > MAX_TOKEN_TTL) throw failures.ttlOutOfRange();
    if (this.#address(this.#ring()) === "") throw failures.addressMissing();
    if (this.#mayChange) await this.#keepRing();
    const ring = this.#ring();
    if (ring === null && !this.#mayChange) throw failures.keyElsewhere();
    invariant(ring !== null, "there is a key by now");
    const { kid } = ring.current;
    const now = this.#options.clock.now();
    const { namespaceId, kind, accessor } = bearer;
    const claims = {
      iss: this.issuer,
      sub: `plugin-identity:${namespaceId}:${kind}:${accessor}`,
      aud: audience,
      iat: seconds(now),
      nbf: seconds(now - EARLIER),
      exp: seconds(now + ttl),
      jti: this.#options.random.uuid(),
    };
    const signed = `${encoded({ alg: "RS256", kid, typ: "JWT" })}.${encoded(claims)}`;
    const signature = await signRs256(this.#secretHalf(kid), signed);
    return `${signed}.${signature.toString("base64url")}`;
  }

  // --- inside ---

  #ring(): KeyRing | null {
    return this.#options.view.get(RING, ringCodec);
  }

  get #mayChange(): boolean {
    return !this.#options.view.writtenElsewhere;
  }

  /** A cluster may come under another address; whoever takes its place, or shares its data, names that which is known. */
  #address(ring: KeyRing | null): string {
    const { apiAddress, clusterId } = this.#options;
    const issuer = ring?.issuer ?? null;
    return issuer === null || issuer.cluster === clusterId() ? apiAddress() : issuer.address;
  }

  #isMisnamed(ring: KeyRing): boolean {
    const address = this.#address(ring);
    return address !== "" && ring.issuer?.address !== address;
  }

  #secretHalf(kid: string): KeyObject {
    const known = this.#keys.get(kid);
    if (known !== undefined) return known;
    const der = this.#options.view.get(SECRETS + kid, bytesCodec);
    invariant(der !== null, "a key that signs has its secret half");
    const key = readRsaKey(der);
    this.#keys.set(kid, key);
    return key;
  }

  /** Several callers wait for one change, and a change may make another one due. */
  async #keepRing(): Promise<void> {
    for (;;) {
      const step = this.#due(this.#ring(), this.#options.clock.now());
      if (step === "none") return;
      this.#changing ??= this.#change(step).finally(() => {
        this.#changing = null;
      });
      await this.#changing;
    }
  }

  #due(ring: KeyRing | null, now: Instant): Step {
    if (ring === null) return "make-next";
    return this.#isMisnamed(ring) ? "name" : dueStep(ring, now);
  }

  async #change(step: Step): Promise<void> {
    if (step === "name") return this.#name();
    if (step === "switch") return this.#switch();
    const made = await newRsaKey();
    const now = this.#options.clock.now();
    const key = publicHalf(made.key, now);
    try {
      await this.#options.view.write((tx) => {
        // Another node may have been faster: what is stored counts.
        const ring = tx.get(RING, ringCodec);
        if (this.#due(ring, now) !== "make-next") return;
        const issuer = this.#own();
        const first: KeyRing = { issuer, current: key, since: now, next: null, retired: [] };
        tx.put(RING, ring === null ? first : { ...ring, next: key }, ringCodec);
        tx.put(SECRETS + key.kid, made.der, bytesCodec);
      });
    } finally {
      wipe(made.der);
    }
  }

  async #name(): Promise<void> {
    await this.#options.view.write((tx) => {
      const ring = tx.get(RING, ringCodec);
      if (ring === null || !this.#isMisnamed(ring)) return;
      tx.put(RING, { ...ring, issuer: this.#own() }, ringCodec);
    });
  }

  #own(): Issuer {
    const { apiAddress, clusterId } = this.#options;
    return { address: apiAddress(), cluster: clusterId() };
  }

  async #switch(): Promise<void> {
    const now = this.#options.clock.now();
    await this.#options.view.write((tx) => {
      const ring = tx.get(RING, ringCodec);
      if (ring === null || dueStep(ring, now) !== "switch") return;
      tx.put(RING, switched(ring, now), ringCodec);
      tx.delete(SECRETS + ring.current.kid);
    });
    this.#keys.clear();
  }
}

function encoded(value: object): string {
  return utf8(JSON.stringify(value)).toString("base64url");
}

function seconds(instant: Instant): number {
  return Number(instant / SECOND);
}
