// What a handler answers. Most give their data; a Reply says more than that.

import type { JsonObject } from "../base/json.ts";
import type { AuthBlock } from "./auth.ts";
import type { TextBody } from "./output.ts";

export interface ReplyExtras {
  readonly warnings?: readonly string[];
  /** Where the number is the message: health, and work that goes on after the answer (202). */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the answer is as of, where that is not the last write of all (spec 1, blocking queries). */
  readonly index?: bigint;
  /** A token that was made or prolonged (enveloped answers only). */
  readonly auth?: AuthBlock;
}

/** Data of an answer, or undefined for none. */
export class Reply<T = JsonObject | TextBody | readonly unknown[] | undefined> {
  readonly data: T;
  readonly warnings: readonly string[];
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly index: bigint | null;
  readonly auth: AuthBlock | null;

  constructor(data: T, extras: ReplyExtras = {}) {
    this.data = data;
    this.warnings = extras.warnings ?? [];
    this.status = extras.status ?? null;
    this.headers = extras.headers ?? {};
    this.index = extras.index ?? null;
    this.auth = extras.auth ?? null;
  }
}

export function reply<T>(data: T, extras: ReplyExtras = {}): Reply<T> {
  return new Reply(data, extras);
}
