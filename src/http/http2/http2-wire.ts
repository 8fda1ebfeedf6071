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
import { Pace } from "../../base/pace.ts";
import { sendStream } from "../streamed-answer.ts";
import type { StreamRoom } from "./stream-room.ts";
import type { ListenerLimits } from "../listener-settings.ts";
import { endInPieces } from "../http1/pieces.ts";
import type { Reception } from "../reception.ts";

/** With these a body is refused. */
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD", "LIST", "OPTIONS"]);

/** Of all streams of a connection. */
export interface Unread {
  bytes: number;
}

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
  readonly #room: StreamRoom;
  #leaveRoom: (() => void) | null = null;
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
    { unread, room }: { readonly unread: Unread; readonly room: StreamRoom },
  ) {
    this.#stream = stream;
    this.#reception = reception;
    this.#limits = limits;
    this.#unread = unread;
    this.#room = room;
    this.#began = reception.now();
    this.#headOnly = headers[":method"] === "HEAD";
    this.#expecting = headers.expect !== undefined;
  }

  /** A client may leave it open whether a body comes, and for a verb that it does not know it does: then
   *  the next frame says. */
  receive(arrival: Arrival): void {
    const stream = this.#stream;
    if (!arrival.open || !BODILESS.has(arrival.verb)) {
      this.#begin(arrival);
      return;
    }
    this.#leaveRoom = this.#room.wait();
    if (this.#leaveRoom === null) {
      this.#cancel();
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

  /** Who asks is known when this has begun. One that was let in for its token, which is none, has to go. */
  #begin(arrival: Arrival): void {
    const exchange = this.#reception.receive(arrival);
    this.#exchange = exchange;
    this.#leaveRoom?.();
    this.#leaveRoom = this.#room.enter(exchange.authenticated);
    if (this.#leaveRoom !== null) return;
    this.#reception.leave(exchange);
    this.#cancel();
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
    this.#leaveRoom?.();
    this.#leaveRoom = null;
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

  /** False when the connection is of no use any more. */
  check(now: Nanos): boolean {
    const { unreadAnswer, requestHead, requestBody, linger } = this.#limits;
    const exchange = this.#exchange;
    if (exchange === null) {
      if (now - this.#began > requestHead) this.#cancel();
    } else if (this.#progress !== null) {
      if (this.#pace?.isKept(now, unreadAnswer) === true) return true;
      const passed = this.#pace === null ? now - this.#progress : unreadAnswer + 1n;
      if (passed > unreadAnswer + linger) return false; // not even the reset gets through
      if (passed > unreadAnswer) this.#cancel();
    } else if (!exchange.over) {
      if (!this.#stream.readableEnded && exchange.isLate(now, requestBody)) {
        this.#reception.giveUp(exchange, exchange.tooSlow(requestBody));
      } else if (now > exchange.deadline) this.#reception.expire(exchange);
    }
    return true;
  }

  #cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }
}

function add(fields: OutgoingHttpHeaders, name: string | undefined, value: string | undefined) {
  if (name === undefined || value === undefined) return;
  const key = name.toLowerCase();
  const before = fields[key];
  if (before === undefined) fields[key] = value;
  else if (Array.isArray(before)) fields[key] = [...before, value];
  else fields[key] = [String(before), value];
}
