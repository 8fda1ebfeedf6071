// The book of a primary: what it knows of each secondary since it leads, and from which index on each needs the log.

import { MINUTE } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Hello } from "../../cluster/hello.ts";
import { SILENCE } from "../silence.ts";
import type { Measured } from "./echo-times.ts";
import type { EchoSent, Evacuation, SetMember } from "./messages.ts";

const MAX_TEXT = 256;
/** Of those that came before the one of now. */
const MAX_INSTANCES = 8;
/** For so long after two were last seen by turns. */
const DOUBLED: Nanos = MINUTE;

/** A secondary as its primary sees it. */
export interface MemberStatus {
  readonly id: string;
  readonly clusterId: string;
  readonly version: string;
  readonly apiAddress: string;
  readonly clusterAddresses: readonly string[];
  /** What one of its transactions holds, in bytes. */
  readonly transactionBytes: bigint;
  readonly isConnected: boolean;
  /** Two come by turns with its certificate: one is a copy of the other. */
  readonly isDoubled: boolean;
  /** Where the two come from, as far as is known; empty where there is one. */
  readonly doubledFrom: readonly string[];
  readonly connectedSince: Instant | null;
  readonly lastHeartbeat: Instant | null;
  readonly echoDuration: Nanos | null;
  /** How far our clock is ahead of its own. */
  readonly clockSkew: Nanos | null;
  /** The last index that it has said to be durable there; null where it has said nothing yet. */
  readonly acknowledged: bigint | null;
  readonly lag: bigint | null;
  /** For how long it lacks what it lacks; null where that is nothing, or not known. */
  readonly behindFor: Nanos | null;
  /** As it says itself. */
  readonly state: string;
  readonly keysVersion: string;
  readonly encryptions: bigint;
  /** How far it is with mounts that are disabled or moved; null where it has given nothing by any. */
  readonly evacuations: readonly Evacuation[] | null;
  /** Who stands in for it, and when it has said so; null where it has not. */
  readonly standIns: NamedStandIns | null;
}

export interface NamedStandIns {
  readonly at: Instant;
  readonly members: readonly SetMember[];
}

/** What is open to it just now, and can be ended. */
export interface Ended {
  end(reason: string): Promise<void>;
}

export class Member {
  readonly id: string;
  #hello: Hello;
  #echo: EchoSent | null = null;
  #measured: Measured | null = null;
  #heard: Instant;
  #since: Instant | null;
  #hasLeft = false; // and nothing has come from it since
  #acknowledged: bigint | null = null;
  #pin: bigint | null = null;
  #wasConnected = false; // at the last look
  #instance = { name: "", from: "" };
  /** By the number that each has drawn: where it came from. */
  readonly #instancesBefore = new Map<string, string>();
  #doubled: { readonly at: Instant; readonly from: readonly string[] } | null = null;
  #standIns: NamedStandIns | null = null;
  stream: Ended | null = null;

  constructor(id: string, hello: Hello, now: Instant) {
    this.id = id;
    this.#hello = hello;
    this.#heard = now;
    this.#since = now;
  }

  greet(hello: Hello, now: Instant): void {
    if (!this.#isHeard(now)) this.#since = null;
    if (hello.cursor !== null) this.#hello = hello; // others come for something else, and say less
    this.#since ??= now;
    this.#heard = now;
    this.#hasLeft = false;
  }

  get clusterId(): string {
    return this.#hello.clusterId;
  }

  /** Its connection is gone. Nobody waits until it has been silent for long. */
  leave(): void {
    this.#hasLeft = true;
    this.#since = null;
  }

  /** `from`: the address that it comes from, or empty. */
  echo(echo: EchoSent, measured: Measured | null, now: Instant, from = ""): void {
    this.#tellApart({ name: short(echo.instance), from }, now);
    this.#echo = echo;
    this.#measured = measured ?? this.#measured;
    this.#heard = now;
    this.#since ??= now;
    this.#hasLeft = false;
  }

  /** One that comes back after another has taken its place has not ended before: both run. */
  #tellApart(instance: { readonly name: string; readonly from: string }, now: Instant): void {
    const last = this.#instance;
    if (instance.name === "") return;
    this.#instance = instance;
    if (instance.name === last.name) return;
    const before = this.#instancesBefore;
    if (before.delete(instance.name)) {
      const both = new Set([last.from, instance.from]);
      both.delete("");
      this.#doubled = { at: now, from: [...both].toSorted() };
    }
    if (last.name !== "") before.set(last.name, last.from);
    const [oldest] = before.keys();
    if (before.size > MAX_INSTANCES && oldest !== undefined) before.delete(oldest);
  }

  isDoubled(now: Instant): boolean {
    return this.#doubled !== null && now - this.#doubled.at <= DOUBLED;
  }

  doubledFrom(now: Instant): readonly string[] {
    return this.isDoubled(now) ? (this.#doubled?.from ?? []) : [];
  }

  get acknowledged(): bigint | null {
    return this.#acknowledged;
  }

  standIns(members: readonly SetMember[], now: Instant): void {
    this.#standIns = { members, at: now };
  }

  /** It has said so. Never back, but where it begins anew. */
  acknowledge(durable: bigint, now: Instant | null = null): void {
    if (now !== null && now > this.#heard) this.#heard = now;
    if (this.#acknowledged === null || durable > this.#acknowledged) this.#acknowledged = durable;
  }

  /** Takes over rows since the log stood before this index: from here on it will need the log. */
  pin(from: bigint): void {
    this.#pin = from;
    this.#acknowledged = null;
  }

  /** It is sent the log from here on, so that what it needs is what it has not acknowledged. */
  begin(durable: bigint): void {
    this.#pin = null;
    this.#acknowledged = durable;
  }

  get pinned(): bigint | null {
    return this.#pin;
  }

  /** The first index that it still needs; null where that is not known. */
  get needed(): bigint | null {
    if (this.#pin !== null) return this.#pin;
    return this.#acknowledged === null ? null : this.#acknowledged + 1n;
  }

  /** Whether it is connected, where that is news since the last time. */
  news(now: Instant): boolean | null {
    const isConnected = this.#isHeard(now);
    if (isConnected === this.#wasConnected) return null;
    this.#wasConnected = isConnected;
    return isConnected;
  }

  status(now: Instant, head: bigint, waiting: (index: bigint) => Nanos): MemberStatus {
    const { clusterId, version, apiAddress, clusterAddresses, limits } = this.#hello;
    const echo = this.#echo;
    const acknowledged = this.#acknowledged;
    const isConnected = this.#isHeard(now);
    return {
      id: this.id,
      clusterId: short(clusterId),
      version: short(echo?.version ?? version),
      apiAddress: short(echo?.apiAddress ?? apiAddress),
      clusterAddresses: (echo?.clusterAddresses ?? clusterAddresses).map(short),
      transactionBytes: limits?.bytes ?? 0n,
      isConnected,
      isDoubled: this.isDoubled(now),
      doubledFrom: this.doubledFrom(now),
      connectedSince: isConnected ? this.#since : null,
      lastHeartbeat: this.#heard,
      echoDuration: this.#measured?.duration ?? null,
      clockSkew: this.#measured?.skew ?? null,
      acknowledged,
      lag: acknowledged === null ? null : head - acknowledged,
      behindFor: acknowledged === null || acknowledged >= head ? null : waiting(acknowledged),
      state: short(echo?.state ?? "idle"),
      keysVersion: short(echo?.keysVersion ?? ""),
      encryptions: echo?.encryptions ?? 0n,
      evacuations: echo?.isBare === true ? null : (echo?.evacuations ?? []),
      standIns: this.#standIns,
    };
  }

  #isHeard(now: Instant): boolean {
    return !this.#hasLeft && now - this.#heard <= SILENCE;
  }
}

/** Of ids that were used, those that their cluster has left: it has come as another one since. One that is connected is left by
 *  nobody, also where a copy of it comes as another. */
export function leftIds(
  used: readonly { readonly id: string; readonly cluster: string }[],
  members: readonly Pick<MemberStatus, "id" | "isConnected" | "lastHeartbeat">[],
): ReadonlySet<string> {
  const met = new Map(members.map((one) => [one.id, one]));
  const heard = (id: string) => met.get(id)?.lastHeartbeat ?? -1n;
  const left = used.filter(({ id, cluster }) => {
    if (cluster === "" || met.get(id)?.isConnected === true) return false;
    return used.some((other) => other.cluster === cluster && heard(other.id) > heard(id));
  });
  return new Set(left.map(({ id }) => id));
}

/** It is shown to people: what could steer a terminal is a question mark. */
function short(text: string): string {
  return text.slice(0, MAX_TEXT).replaceAll(/[^ -~]/g, "?");
}
