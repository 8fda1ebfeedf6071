// One stream of HTTP/2 as the wire of one exchange.

import { wasReset } from "../request/body.ts";
import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { Nanos } from "@holdfast/shared/world";
import type { StreamBody } from "@holdfast/shared/endpoint/stream";
import type { Arrival, Exchange, StreamedAnswer, Wire } from "../exchange.ts";
import { Pace } from "@holdfast/shared/pace";
import { sendStream } from "../streamed-answer.ts";
import type { StreamPlace } from "./stream-room.ts";
import type { ListenerLimits } from "../listener-settings.ts";
import { endInPieces } from "../http1/pieces.ts";
import type { Reception } from "../reception.ts";

/** With these a body is refused. */
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD", "LIST", "OPTIONS"]);

/** Of all streams of a connection. */
export interface Unread {
  bytes: number;
}

/** "stuck": not even a reset gets through, and its connection is of no use any more. */
export type Checked = "well" | "ended" | "stuck";

export class Http2Wire implements Wire {
  readonly #stream: ServerHttp2Stream;
  readonly #reception: Reception;
  readonly #limits: ListenerLimits;
  readonly #unread: Unread;
  readonly #headOnly: boolean;
  readonly #expecting: boolean;
  readonly #sendingEvents = {
    progress: () => {
      this.#progress = this.#reception.now();
    },
    done: () => {}, // the stream's end is seen by its closing
  };
  readonly #place: StreamPlace;
  #exchange: Exchange | null = null;
  #progress: Nanos | null = null; // when the answer last got on; null before it begins
  #cancelled = false;
  #gone: (() => void) | null = null; // called when nothing of the answer is left
  #waiting = 0; // bytes of the answer
  #pace: Pace | null = null; // of an answer that is made while it is sent
  readonly #began: Nanos;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    reception: Reception,
    limits: ListenerLimits,
    { unread, place }: { readonly unread: Unread; readonly place: StreamPlace },
  ) {
    this.#stream = stream;
    this.#reception = reception;
    this.#limits = limits;
    this.#unread = unread;
    this.#place = place;
    this.#began = reception.now();
    this.#headOnly = headers[":method"] === "HEAD";
    this.#expecting = headers.expect !== undefined;
  }

  receive(arrival: Arrival): void {
    const stream = this.#stream;
    if (!saysLater(arrival)) {
      this.#begin(arrival);
      return;
    }
    const settle = (open: boolean) => {
      stream.off("readable", look);
      if (this.#exchange !== null || stream.destroyed || wasReset(stream)) return;
      this.#begin({ ...arrival, open });
    };
    const look = () => {
      if (stream.readableLength > 0) settle(true);
      else stream.read(); // has "end" come, if that is what it was
    };
    stream.on("readable", look);
    stream.on("end", () => settle(false));
  }

  #begin(arrival: Arrival): void {
    this.#exchange = this.#reception.receive(arrival);
  }

  identified(known: boolean): boolean {
    return this.#place.settle(known);
  }

  /** We wait for its body, or for what it wants. */
  get sending(): boolean {
    if (this.#exchange === null) return true;
    const { bodySince, over } = this.#exchange;
    return !over && bodySince !== null && !this.#stream.readableEnded;
  }

  get room(): number {
    const { bytes } = this.#unread;
    return bytes === 0 ? Infinity : this.#limits.unreadPerConnection - bytes;
  }

  closed(): void {
    this.#gone?.();
    this.#gone = null;
    this.#place.leave();
    this.#unread.bytes -= this.#waiting;
    this.#waiting = 0;
    if (this.#exchange !== null) this.#reception.leave(this.#exchange);
  }

  /** A stream is one request; what it says about itself has no bearing on others. */
  endAfter(): void {}

  /** Frames are the runtime's; the body that was put together from them is overwritten with it. */
  wipe(): void {}

  inviteBody(): void {
    if (this.#expecting && !this.#stream.destroyed && !this.#stream.headersSent) {
      this.#stream.additionalHeaders({ ":status": 100 });
    }
  }

  send(
    status: number,
    headers: string[],
    body: string,
    now: Nanos,
    gone: (() => void) | null,
  ): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return gone?.();
    // Answered before anybody knew whose it is, or because there was no place for it. Where there is none nothing was
    // done for it either: this says so, and to try again.
    if (!this.#place.settle(false)) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return gone?.();
    }
    this.#gone = gone;
    const fields: OutgoingHttpHeaders = { ":status": status };
    for (let at = 0; at < headers.length; at += 2) add(fields, headers[at], headers[at + 1]);
    const empty = status === 204 || status === 304;
    if (!empty) fields["content-length"] = Buffer.byteLength(body);
    this.#progress = now;
    const endStream = empty || body === "" || this.#headOnly;
    stream.respond(fields, { endStream });
    if (!endStream) {
      const bytes = Buffer.from(body);
      this.#waiting = bytes.length;
      this.#unread.bytes += bytes.length;
      endInPieces(stream, bytes, this.#sendingEvents);
    }
    // The rest of a body that nobody wants is told to stay away; the answer goes out first.
    if (!stream.readableEnded && !stream.endAfterHeaders) {
      stream.resume();
      stream.close(constants.NGHTTP2_NO_ERROR);
    }
  }

  stream(status: number, headers: string[], body: StreamBody, how: StreamedAnswer): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return void body.discard();
    const fields: OutgoingHttpHeaders = { ":status": status };
    for (let at = 0; at < headers.length; at += 2) add(fields, headers[at], headers[at + 1]);
    if (body.length !== null) fields["content-length"] = body.length;
    this.#progress = how.now;
    const { trailers } = body;
    const waitForTrailers = trailers !== null && !how.headOnly;
    stream.respond(fields, { endStream: how.headOnly, waitForTrailers });
    if (how.headOnly) return void body.discard();
    if (waitForTrailers) stream.on("wantTrailers", () => stream.sendTrailers(trailers.values()));
    const pace = new Pace();
    this.#pace = pace;
    void sendStream(stream, body, {
      waits: (waiting) => pace.waits(waiting, this.#reception.now()),
      progress: (bytes) => pace.moved(bytes),
      whole: () => {},
      done: () => {},
      broken: (error) => {
        if (error !== null) how.broken(error);
        if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      },
    });
  }

  check(now: Nanos): Checked {
    const { unreadAnswer, requestHead, requestBody, linger } = this.#limits;
    const exchange = this.#exchange;
    if (exchange === null) return now - this.#began > requestHead ? this.#cancel() : "well";
    if (this.#progress !== null) {
      if (this.#pace?.isKept(now, unreadAnswer) === true) return "well";
      const passed = this.#pace === null ? now - this.#progress : unreadAnswer + 1n;
      if (passed > unreadAnswer + linger) return "stuck";
      return passed > unreadAnswer ? this.#cancel() : "well";
    }
    if (exchange.over) return "well";
    if (!this.#stream.readableEnded && exchange.isLate(now, requestBody)) {
      this.#reception.giveUp(exchange, exchange.tooSlow(requestBody));
      return "ended";
    }
    if (now <= exchange.deadline) return "well";
    this.#reception.expire(exchange);
    return "ended";
  }

  #cancel(): Checked {
    if (this.#cancelled) return "well";
    this.#cancelled = true;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    return "ended";
  }
}

/** A client may leave it open whether a body comes, and for a verb that it does not know it does: then the next frame
 *  says. */
export function saysLater({ open, verb }: Pick<Arrival, "open" | "verb">): boolean {
  return open && BODILESS.has(verb);
}

function add(fields: OutgoingHttpHeaders, name: string | undefined, value: string | undefined) {
  if (name === undefined || value === undefined) return;
  const key = name.toLowerCase();
  const before = fields[key];
  if (before === undefined) fields[key] = value;
  else if (Array.isArray(before)) fields[key] = [...before, value];
  else fields[key] = [String(before), value];
}
