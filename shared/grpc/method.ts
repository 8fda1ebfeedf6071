// Methods as values: their path, what goes either way and how large it may be; and the two sides of one. Below the types
// every method is the same, messages one way and messages the other, so that whatever carries a call (HTTP/2, or the
// memory of a simulator) carries bytes and knows no method.

import { invariant } from "../invariant.ts";
import type { Nanos } from "../world.ts";
import { Status, StatusError } from "./status.ts";

export const MAX_MESSAGE = 4 * 1024 * 1024; // where a method says nothing else
export const LARGEST_MESSAGE = 68 * 1024 * 1024; // whatever it says: the largest entry of the log, with room around it

export interface Codec<T> {
  encode(value: T): Uint8Array;
  /** Throws on what is not one. */
  decode(bytes: Uint8Array): T;
}

export type MethodKind = "unary" | "serverStream" | "bidirectional";

/** What a carrier has to know. */
export interface Shape {
  readonly kind: MethodKind;
  readonly path: string;
  readonly maxRequest: number;
  readonly maxResponse: number;
  /** How many calls of it a session may have. An answer is made before its size is known, and each may have one waiting:
   *  where they are large, this is what bounds them. */
  readonly atOnce: number;
}

export interface Method<K extends MethodKind, Q, A> extends Shape {
  readonly kind: K;
  readonly request: Codec<Q>;
  readonly response: Codec<A>;
}

interface Bounds {
  readonly maxRequest?: number;
  readonly maxResponse?: number;
  readonly atOnce?: number;
}

/** `path` is `/package.Service/Name`. */
export function method<K extends MethodKind, Q, A>(
  kind: K,
  path: string,
  request: Codec<Q>,
  response: Codec<A>,
  { maxRequest = MAX_MESSAGE, maxResponse = MAX_MESSAGE, atOnce = Infinity }: Bounds = {},
): Method<K, Q, A> {
  invariant(/^\/[\w.]+\/\w+$/.test(path), "a method has a service and a name");
  invariant(Math.max(maxRequest, maxResponse) <= LARGEST_MESSAGE, "messages have a bound");
  return { kind, path, request, response, maxRequest, maxResponse, atOnce };
}

/** The call as its handler sees it. `P` is what the carrier has proved about the caller. */
export interface Call<P> {
  readonly peer: P;
  /** Aborted when nobody waits for the answer any more: the caller went away, or its time is over. */
  readonly signal: AbortSignal;
  /** What the caller says beside its messages, by a name in small letters; undefined where it says nothing, and where it
   *  does not say it once. */
  metadata(name: string): string | undefined;
}

// ── serving ──

export type Messages = AsyncIterable<Uint8Array>;

export interface Served<P> {
  readonly shape: Shape;
  run(requests: Messages, call: Call<P>): AsyncGenerator<Uint8Array>;
}

export type ServiceTable<P> = ReadonlyMap<string, Served<P>>;

export function serviceTable<P>(served: readonly Served<P>[]): ServiceTable<P> {
  const table = new Map(served.map((one) => [one.shape.path, one]));
  invariant(table.size === served.length, "no path is served twice");
  return table;
}

export function serveUnary<P, Q, A>(
  shape: Method<"unary", Q, A>,
  handle: (request: Q, call: Call<P>) => Promise<A>,
): Served<P> {
  return {
    shape,
    async *run(requests, call) {
      const request = await theOne(requests, shape.request);
      yield shape.response.encode(await handle(request, call));
    },
  };
}

export function serveStream<P, Q, A>(
  shape: Method<"serverStream", Q, A>,
  handle: (request: Q, call: Call<P>) => AsyncIterable<A>,
): Served<P> {
  return {
    shape,
    async *run(requests, call) {
      const request = await theOne(requests, shape.request);
      for await (const answer of handle(request, call)) yield shape.response.encode(answer);
    },
  };
}

export function serveBidirectional<P, Q, A>(
  shape: Method<"bidirectional", Q, A>,
  handle: (requests: AsyncIterable<Q>, call: Call<P>) => AsyncIterable<A>,
): Served<P> {
  return {
    shape,
    async *run(requests, call) {
      const answers = handle(decoded(requests, shape.request, Status.invalidArgument), call);
      for await (const answer of answers) yield shape.response.encode(answer);
    },
  };
}

// ── calling ──

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Of the whole call; none where it is a stream that lasts. */
  readonly timeout?: Nanos;
  /** The time begins anew as long as the peer sends something, on whichever call: a short answer stands behind long ones on a slow line.
   *  Default false. */
  readonly isQueued?: boolean;
  /** What is said beside the messages: names in small letters, texts of what can be seen in ASCII. Default: nothing. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** In the time of a call that is queued. Less comes from a peer that answers pings, and nothing else. */
export const MOVES = 4096;

/** Carries calls to one peer. */
export interface Channel {
  /** Ends like the call does: with the last answer, or with a StatusError. Whoever leaves early cancels it. */
  exchange(shape: Shape, requests: Messages, options?: CallOptions): AsyncGenerator<Uint8Array>;
}

export async function callUnary<Q, A>(
  channel: Channel,
  shape: Method<"unary", Q, A>,
  request: Q,
  options?: CallOptions,
): Promise<A> {
  const answers = channel.exchange(shape, only(shape.request.encode(request)), options);
  return await theOne(answers, shape.response, Status.internal);
}

export function callStream<Q, A>(
  channel: Channel,
  shape: Method<"serverStream", Q, A>,
  request: Q,
  options?: CallOptions,
): AsyncGenerator<A> {
  const answers = channel.exchange(shape, only(shape.request.encode(request)), options);
  return decoded(answers, shape.response, Status.internal);
}

export function callBidirectional<Q, A>(
  channel: Channel,
  shape: Method<"bidirectional", Q, A>,
  requests: AsyncIterable<Q>,
  options?: CallOptions,
): AsyncGenerator<A> {
  const answers = channel.exchange(shape, encoded(requests, shape.request), options);
  return decoded(answers, shape.response, Status.internal);
}

// ── messages ──

async function* only(message: Uint8Array): AsyncGenerator<Uint8Array> {
  yield message;
}

async function* encoded<T>(values: AsyncIterable<T>, codec: Codec<T>): AsyncGenerator<Uint8Array> {
  for await (const value of values) yield codec.encode(value);
}

async function* decoded<T>(messages: Messages, codec: Codec<T>, whose: number): AsyncGenerator<T> {
  for await (const message of messages) yield decode(message, codec, whose);
}

/** The protocol has "unimplemented" for a method that is called with another number of messages. */
async function theOne<T>(
  messages: Messages,
  codec: Codec<T>,
  whose: number = Status.invalidArgument,
): Promise<T> {
  let found: { readonly value: T } | null = null;
  for await (const message of messages) {
    if (found !== null) throw new StatusError(Status.unimplemented, "more than one message came");
    found = { value: decode(message, codec, whose) };
  }
  if (found === null) throw new StatusError(Status.unimplemented, "no message came");
  return found.value;
}

/** The reader's own words may quote what it read. */
function decode<T>(message: Uint8Array, codec: Codec<T>, whose: number): T {
  try {
    return codec.decode(message);
  } catch (cause) {
    throw new StatusError(whose, "a message cannot be read", { cause });
  }
}
