// One request and its answer: the request as the pipeline takes it, and how far the two have come. The
// socket behind it is the wire's; whether it may pass at all is decided in reception.ts.

import type { Readable } from "node:stream";
import type { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { Incoming } from "../core/incoming.ts";
import type { ListenerTraits, Remote, WrapForm } from "@holdfast/shared/endpoint/request";
import type { BodyStream, BodyStreamRules, StreamBody } from "@holdfast/shared/endpoint/stream";
import { bodyIncomplete, memoryFull, tooManyStreams, tooSlow, tooSlowStream } from "./failures.ts";
import type { HeldBytes, Holder } from "./held-bytes.ts";
import type { ListenerLimits } from "./listener-settings.ts";
import { readJsonBody } from "./request/body.ts";
import { MIN_RATE, Pace, timeFor } from "@holdfast/shared/pace";
import { streamedBody } from "./request/streamed-body.ts";
import type { LargeBodies } from "./request/large-bodies.ts";
import type { RequestHeaders } from "./request/request-headers.ts";

/** What carries one request and its answer: HTTP/1.1 or a stream of HTTP/2. */
export interface Wire {
  /** Bytes of answers that may still wait to be taken. Default: as many as there are. */
  readonly room?: number;
  /** Tells a client that waits for it to send the body. */
  inviteBody(): void;
  /** It is known whether somebody's token was sent. False where there is no place for it, and nothing is to be done.
   *  Default: there always is. */
  identified?(known: boolean): boolean;
  /** Overwrites what this request came in, as far as it is in our hands. */
  wipe(): void;
  /** The answer to come is the last one on this connection. */
  endAfter(): void;
  /** The whole answer. `headers` is name, value, … and is the wire's to add to. `gone` is called once, when
   *  nothing of the answer lies here any more; null where nobody asks. */
  send(
    status: number,
    headers: string[],
    body: string,
    now: Nanos,
    gone: (() => void) | null,
  ): void;
  /** The same, made while it is sent. One that cannot be finished cuts the connection. */
  stream(status: number, headers: string[], body: StreamBody, how: StreamedAnswer): void;
}

export interface StreamedAnswer {
  readonly headOnly: boolean;
  readonly now: Nanos;
  /** What makes it has failed. */
  readonly broken: (error: unknown) => void;
}

/** A request as it came in, before anything was looked at. */
export interface Arrival {
  readonly wire: Wire;
  /** The body. */
  readonly stream: Readable;
  readonly verb: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  /** "1.0" or "1.1"; null for HTTP/2, where the framing says everything. */
  readonly http1: string | null;
  /** HTTP/2: whether more than the head may come. */
  readonly open: boolean;
  readonly remote: Remote;
  readonly started: Nanos;
}

const NO_STATES: readonly string[] = [];

export class Exchange implements Incoming {
  readonly id: string;
  readonly verb: string;
  readonly wire: Wire;
  readonly started: Nanos;
  readonly listener: ListenerTraits;
  /** When the handler has had its time. */
  deadline: Nanos;
  /** Answered, or nobody is there any more to answer to. */
  over = false;
  /** Since when we wait for the body; null when nobody has asked for it. */
  bodySince: Nanos | null = null;

  // Filled in on admission.
  headers: RequestHeaders | null = null;
  target: string;
  remote: Remote;
  credential: string | null = null;
  credentialFault: Failure | null = null;
  namespace: string | null = null;
  wrapTtl: Nanos | null = null;
  wrapForm: WrapForm = "token";
  policyOverride = false;
  recoverFrom: string | null = null;
  states: readonly string[] = NO_STATES;
  awaitsState = false;
  hasBody = false;
  length: number | null = null;
  /** For a page of another origin that is allowed to read the answer. */
  cors: Readonly<Record<string, string>> | null = null;
  /** The pipeline has it, and has not given an answer yet. */
  handled = false;
  /** Its client has gone meanwhile. */
  abandoned = false;
  /** Why it was answered though the pipeline still has it. */
  dropReason: Failure | null = null;
  /** Somebody's token was sent. */
  authenticated = false;

  readonly #stream: Readable;
  readonly #now: () => Nanos;
  readonly #large: LargeBodies;
  readonly #memory: HeldBytes;
  readonly #limits: ListenerLimits;
  #held = 0; // bytes
  #holder: Holder | null = null; // as what they were counted
  #abort: AbortController | null = null;
  #aborted: Error | null = null;
  #end: AbortController | null = null;
  #endedBy: Error | null = null;
  #body: Promise<Uint8Array> | null = null;
  #pace: Pace | null = null; // of a body that is handed on while it comes

  constructor(id: string, arrival: Arrival, ground: ExchangeGround) {
    const { listener, duration, now, large, memory, limits } = ground;
    this.id = id;
    this.verb = arrival.verb;
    this.wire = arrival.wire;
    this.started = arrival.started;
    this.target = arrival.target;
    this.remote = arrival.remote;
    this.listener = listener;
    this.deadline = arrival.started + duration;
    this.#stream = arrival.stream;
    this.#now = now;
    this.#large = large;
    this.#memory = memory;
    this.#limits = limits;
  }

  get contentType(): string | null {
    return this.headers?.contentType ?? null;
  }

  header(name: string): string | undefined {
    return this.headers?.find(name);
  }

  /** Made when somebody looks at it: most handlers end before anything could be aborted. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#aborted !== null) this.#abort.abort(this.#aborted);
    }
    return this.#abort.signal;
  }

  /** Who waits for nothing but a change looks at this one. */
  get ended(): AbortSignal {
    if (this.#end === null) {
      this.#end = new AbortController();
      const reason = this.#endedBy ?? this.#aborted;
      if (reason !== null) this.#end.abort(reason);
    }
    return this.#end.signal;
  }

  abort(reason: Error): void {
    if (this.#aborted !== null) return;
    this.#aborted = reason;
    this.#abort?.abort(reason);
    this.#end?.abort(reason);
  }

  /** The client has ended its side of the connection. */
  endSide(reason: Error): void {
    this.#endedBy ??= reason;
    this.#end?.abort(reason);
  }

  /** A request that is known to take longer, or must not take so long: counted from its start. */
  allow(duration: Nanos): void {
    this.deadline = this.started + duration;
  }

  identified(known: boolean): void {
    if (known) this.authenticated = true;
    if (this.wire.identified?.(known) === false) throw tooManyStreams();
  }

  body(limit: number): Promise<Uint8Array> {
    if (this.#body === null) {
      const { verb, contentType, hasBody, length } = this;
      // Once it is over the wire may be busy with another request.
      if (hasBody && !this.over) {
        this.bodySince = this.#now();
        this.wire.inviteBody();
      }
      const hold = (bytes: number) => this.#takeRoom(bytes);
      const source = { stream: this.#stream, verb, contentType, hasBody, length, hold };
      const whole = readJsonBody(source, Math.min(limit, this.listener.maxBody));
      this.#body = whole.then((bytes) => {
        // The end of its stream was ours: nobody says that this was all.
        if (this.dropReason !== null) throw bodyIncomplete();
        return this.#large.inTurn(bytes, this.remote.address);
      });
    }
    return this.#body;
  }

  /** Whether its client has kept us waiting for the body for longer than `max`, or too often. */
  isLate(now: Nanos, max: Nanos): boolean {
    if (this.bodySince === null) return false;
    return this.#pace === null ? now - this.bodySince > max : !this.#pace.isKept(now, max);
  }

  /** How the body has to come. */
  tooSlow(max: Nanos): Failure {
    return this.#pace === null ? tooSlow("body", max) : tooSlowStream(MIN_RATE, max);
  }

  hold(bytes: number): void {
    if (!this.#takeRoom(bytes)) throw memoryFull();
  }

  #takeRoom(bytes: number): boolean {
    this.#holder ??= this.#asHolder();
    if (!this.#memory.take(this.#holder, bytes, this.#limits)) return false;
    this.#held += bytes;
    return true;
  }

  /** Nothing of it lies in memory any more, save the answer with the wire. */
  release(): void {
    if (this.#holder !== null) this.#memory.giveBack(this.#holder, this.#held);
    this.#held = 0;
    this.#holder = null;
  }

  #asHolder(): Holder {
    return { address: this.remote.address, authenticated: this.authenticated };
  }

  /** Counts an answer that is handed to the wire. Gives how to end that, or null where there is no room. */
  holdAnswer(bytes: number): (() => void) | null {
    const holder = this.#asHolder();
    if (bytes > (this.wire.room ?? bytes)) return null;
    if (!this.#memory.take(holder, bytes, this.#limits)) return null;
    let held = true;
    return () => {
      if (held) this.#memory.giveBack(holder, bytes);
      held = false;
    };
  }

  stream(rules: BodyStreamRules): BodyStream {
    const { contentType, hasBody, length } = this;
    const end = this.deadline;
    const pace = new Pace();
    this.#pace = pace;
    let invited = false;
    return streamedBody(
      {
        stream: this.#stream,
        contentType,
        hasBody,
        length,
        waits: (waiting) => {
          const now = this.#now();
          this.bodySince = waiting && !this.over ? now : null;
          pace.waits(waiting, now);
          if (!waiting || invited || this.over) return;
          invited = true;
          this.wire.inviteBody();
        },
        came: (bytes) => {
          pace.moved(bytes);
          const until = end + timeFor(bytes);
          if (until > this.deadline) this.deadline = until;
        },
        dropReason: () => this.dropReason,
      },
      rules,
    );
  }

  wipe(): void {
    this.wire.wipe();
    this.#body?.then(
      (bytes) => void bytes.fill(0),
      () => {}, // what did not come whole was given up where it was gathered
    );
  }
}

export interface ExchangeGround {
  readonly listener: ListenerTraits;
  readonly duration: Nanos;
  readonly now: () => Nanos;
  readonly large: LargeBodies;
  readonly memory: HeldBytes;
  readonly limits: ListenerLimits;
}
