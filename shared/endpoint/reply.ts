// What a handler answers. Most give their data; a Reply says more than that.

import type { JsonObject } from "../json/json.ts";
import type { AuthBlock } from "./auth.ts";
import type { LeaseOffer, LoginOffer } from "./lease.ts";
import type { TextBody } from "./output.ts";
import type { StreamBody } from "./stream.ts";

export interface ReplyExtras {
  readonly warnings?: readonly string[];
  /** Where the number is the message: health, and work that goes on after the answer (202). */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the answer is as of, where that is not the last write of all (blocking queries of the ACL API). */
  readonly index?: bigint;
  /** A token that was made or prolonged (enveloped answers only). */
  readonly auth?: AuthBlock;
  /** A secret that ends: the server makes the lease. Endpoints of mounts only. */
  readonly lease?: LeaseOffer;
  /** A login: the server makes the token. Endpoints of auth mounts only. */
  readonly login?: LoginOffer;
  /** A lease that was made or prolonged. */
  readonly leased?: Leased;
  /** Stands for the answer, which is kept for one who unwraps it. */
  readonly wrapInfo?: WrapInfo;
  /** Done when the answer is recorded and the request is no longer waited for, and before it is sent: what takes the place
   *  of everything that has answered it. Where it fails, that is the answer. */
  readonly afterwards?: () => Promise<void>;
}

/** The lease of an answer, as its envelope shows it. */
export interface Leased {
  readonly id: string;
  readonly seconds: number;
  readonly renewable: boolean;
}

/** As on the wire. */
export interface WrapInfo {
  readonly token: string;
  readonly accessor: string;
  readonly ttl: number;
  readonly creation_time: string;
  readonly creation_path: string;
  /** Of a token inside; empty where there is none, as clients expect to find it. */
  readonly wrapped_accessor: string;
}

/** Data of an answer, or undefined for none. */
export class Reply<T = JsonObject | TextBody | StreamBody | readonly unknown[] | undefined> {
  readonly data: T;
  readonly warnings: readonly string[];
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly index: bigint | null;
  readonly auth: AuthBlock | null;
  readonly lease: LeaseOffer | null;
  readonly login: LoginOffer | null;
  readonly leased: Leased | null;
  readonly wrapInfo: WrapInfo | null;
  readonly afterwards: (() => Promise<void>) | null;

  constructor(data: T, extras: ReplyExtras = {}) {
    this.data = data;
    this.warnings = extras.warnings ?? [];
    this.status = extras.status ?? null;
    this.headers = extras.headers ?? {};
    this.index = extras.index ?? null;
    this.auth = extras.auth ?? null;
    this.lease = extras.lease ?? null;
    this.login = extras.login ?? null;
    this.leased = extras.leased ?? null;
    this.wrapInfo = extras.wrapInfo ?? null;
    this.afterwards = extras.afterwards ?? null;
  }

  /** The same with more, or with other, extras. Warnings are added to those there are. */
  with(extras: ReplyExtras): Reply<T> {
    return this.#with(this.data, extras);
  }

  withData(data: T): Reply<T> {
    return this.#with(data, {});
  }

  #with(data: T, { warnings = [], ...extras }: ReplyExtras): Reply<T> {
    const { status, index, auth, lease, login, leased, wrapInfo, afterwards } = this;
    return new Reply(data, {
      headers: this.headers,
      ...(status === null ? {} : { status }),
      ...(index === null ? {} : { index }),
      ...(auth === null ? {} : { auth }),
      ...(lease === null ? {} : { lease }),
      ...(login === null ? {} : { login }),
      ...(leased === null ? {} : { leased }),
      ...(wrapInfo === null ? {} : { wrapInfo }),
      ...(afterwards === null ? {} : { afterwards }),
      ...extras,
      warnings: [...this.warnings, ...warnings],
    });
  }
}

export function reply<T>(data: T, extras: ReplyExtras = {}): Reply<T> {
  return new Reply(data, extras);
}
