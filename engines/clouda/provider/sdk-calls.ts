// How a call is made through the clients of the SDK: bound to a signal, tried again as provider-calls.ts
// says, page by page, and of STS at the next endpoint where one cannot be reached.

import type * as Iam from "@aws-sdk/client-iam";
import type * as Sts from "@aws-sdk/client-sts";
import { ProviderError } from "../../cloud/provider-error.ts";
import type { RequestIds } from "../../cloud/request-ids.ts";
import { type CallRules, type ProviderCalls, UNKNOWN_KEY } from "./provider-calls.ts";
import type { SdkClients } from "./sdk.ts";

export interface BoundCalls {
  readonly clients: SdkClients;
  readonly calls: ProviderCalls;
  readonly signal: AbortSignal;
  /** Where ids of calls that change something are noted. Default: nowhere. */
  readonly ids?: RequestIds | undefined;
}

/** What calls go through: after the root key was rotated under way, and is gone, through clients with the new
 *  one. */
export class Binding {
  readonly #renewed: () => Promise<BoundCalls | null>;
  #bound: BoundCalls;

  constructor(bound: BoundCalls, renewed: () => Promise<BoundCalls | null> = async () => null) {
    this.#bound = bound;
    this.#renewed = renewed;
  }

  async send<T>(call: (bound: BoundCalls) => Promise<T>): Promise<T> {
    const bound = this.#bound;
    try {
      return await call(bound);
    } catch (error) {
      if (bound.signal.aborted || !isUnknownKey(error)) throw error;
      const next = bound === this.#bound ? await this.#renewed() : this.#bound;
      if (next === null) throw error;
      this.#bound = next;
      return await call(next).catch((later: unknown) => {
        throw error.doubtful && later instanceof ProviderError ? later.doubted() : later;
      });
    }
  }
}

function isUnknownKey(error: unknown): error is ProviderError {
  return error instanceof ProviderError && error.code === UNKNOWN_KEY;
}

interface SendOptions {
  readonly abortSignal: AbortSignal;
}

export interface PageInput {
  readonly Marker?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

// A user may be in ten groups and have a few dozen of anything else; an answer holds a hundred.
const MAX_PAGES = 1000;

export class IamCalls {
  readonly sdk: typeof Iam;
  readonly #bound: Binding;

  constructor(bound: Binding, sdk: typeof Iam) {
    this.#bound = bound;
    this.sdk = sdk;
  }

  ask<T>(
    action: string,
    send: (client: Iam.IAMClient, options: SendOptions) => Promise<T>,
    rules?: CallRules,
  ): Promise<T> {
    return this.#bound.send(({ calls, clients, signal, ids }) => {
      const sent = calls.run(
        `iam:${action}`,
        signal,
        (options) => send(clients.iam, options),
        rules,
      );
      return ids === undefined ? sent : ids.of(sent, (answer) => changeIn(action, answer));
    });
  }

  async all<T>(
    action: string,
    send: (client: Iam.IAMClient, options: SendOptions, page: PageInput) => Promise<Page<T>>,
  ): Promise<T[]> {
    const all: T[] = [];
    let page: PageInput = {};
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const { items, next } = await this.ask(action, (client, options) =>
        send(client, options, page),
      );
      all.push(...items);
      if (next === null) return all;
      page = { Marker: next };
    }
    throw endless(`iam:${action}`);
  }
}

/** The id of a call, as the SDK adds it to its answer, unless it was but a look. */
function changeIn(action: string, answer: unknown): unknown {
  if (/^(?:Get|List)/.test(action)) return undefined;
  return (answer as { readonly $metadata?: { readonly requestId?: unknown } }).$metadata?.requestId;
}

export class StsCalls {
  readonly sdk: typeof Sts;
  readonly #bound: Binding;

  constructor(bound: Binding, sdk: typeof Sts) {
    this.#bound = bound;
    this.sdk = sdk;
  }

  /** The next endpoint is tried only where the one before could not be reached at all. */
  async ask<T>(
    action: string,
    send: (client: Sts.STSClient, options: SendOptions) => Promise<T>,
  ): Promise<T> {
    return this.#bound.send(async ({ calls, clients, signal }) => {
      let failed: unknown;
      for (const client of clients.sts) {
        try {
          return await calls.run(`sts:${action}`, signal, (options) => send(client, options));
        } catch (error) {
          failed = error;
          if (!(error instanceof ProviderError) || error.kind !== "unreachable") break;
        }
      }
      throw failed;
    });
  }
}

export function paged<T>(
  answer: { readonly IsTruncated?: boolean | undefined; readonly Marker?: string | undefined },
  items: readonly T[],
): Page<T> {
  return { items, next: answer.IsTruncated === true ? (answer.Marker ?? null) : null };
}

function endless(step: string): ProviderError {
  const message = "the list does not end";
  const facts = { step, code: "UnexpectedAnswer", message, status: 200, requestId: "" };
  return new ProviderError({ ...facts, kind: "unknown", secrets: [] });
}
