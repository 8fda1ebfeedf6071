// One connection of HTTP/1.1: which bytes begin a request, that requests come one after the other, and how
// long each part may take. A request is looked at only after the whole segment that completed its head
// has been parsed, so that what follows it unasked is seen before anything is done.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import type { Remote } from "@holdfast/shared/endpoint/request";
import { SMALL_CHUNK } from "../request/body.ts";
import type { PieceWatch } from "../small-pieces.ts";
import { ChunkWatch } from "./chunk-watch.ts";
import type { Busy, Seated } from "../../base/connection-book.ts";
import type { Exchange, StreamedAnswer, Wire } from "../exchange.ts";
import { sendStream } from "../streamed-answer.ts";
import { Pace } from "@holdfast/shared/pace";
import type { StreamBody } from "@holdfast/shared/endpoint/stream";
import {
  chunkExtensionTooLong,
  chunksTooSmall,
  headTooLong,
  notHttp,
  pipelined,
  tooSlow,
  unsupportedVerb,
} from "../failures.ts";
import { ListVerb } from "./list-verb.ts";
import type { ListenerLimits } from "../listener-settings.ts";
import { endInPieces, PIECE } from "./pieces.ts";
import { rawAnswer } from "./raw-answer.ts";
import type { Reception } from "../reception.ts";
import type { Swept } from "@holdfast/shared/sweep";

type Phase =
  | "fresh" // connected, nothing has come
  | "head" // a request has begun
  | "running" // it is being worked on or answered
  | "idle" // between two requests
  | "ending"; // the last answer is out; what still comes is thrown away

const MAX_REMEMBERED = 64 * 1024; // bytes of a request
const MAX_SEGMENTS = 64; // of one byte each they take a hundred times their size

export class Http1Connection implements Wire, Swept, Seated {
  readonly #socket: Socket;
  readonly #remote: Remote;
  readonly #reception: Reception;
  readonly #limits: ListenerLimits;
  readonly #verb = new ListVerb();
  readonly #chunks = new ChunkWatch();
  readonly #sendingEvents = {
    progress: () => {
      this.#since = this.#reception.now();
    },
    done: () => this.#confirmed(),
  };
  #phase: Phase = "fresh";
  #since: Nanos; // of the phase; while sending, of the last progress
  #request: IncomingMessage | null = null;
  #response: ServerResponse | null = null;
  #exchange: Exchange | null = null;
  #requests = 0;
  #waiting = false; // a request has arrived in the segment that is being parsed
  #sending = false;
  #unconfirmed = false; // the next request came before we were told that the answer is out
  #gone: (() => void) | null = null; // called when nothing of the answer is left
  #pace: Pace | null = null; // of an answer that is made while it is sent
  #ahead = false; // bytes of the next request came before this one's answer was out
  #invited = false; // whether a client that waits for it was told to send the body
  readonly #pieces: PieceWatch;
  #draining = false; // the request that is on its way is the last
  #followed = false; // a refusal stands in line behind the answer that is being made
  #last = false; // no further request is served
  #thrownAway = 0;
  #segment: Buffer | null = null; // that the request came in, which is mostly one
  #further: Buffer[] = []; // those behind it, as far as they are remembered
  #remembered = 0; // bytes of them
  #passing: Buffer | null = null; // one too many: overwritten as soon as the parser has copied it

  constructor(socket: Socket, remote: Remote, reception: Reception, limits: ListenerLimits) {
    this.#socket = socket;
    this.#remote = remote;
    this.#reception = reception;
    this.#limits = limits;
    this.#since = reception.now();
    this.#pieces = reception.pieces.of(remote.address);
  }

  listen(): void {
    const socket = this.#socket;
    // Adding a listener for data makes Node hand the bytes to JavaScript instead of straight to
    // the parser. The first sees them before the parser does, the second after.
    socket.prependListener("data", (chunk: Buffer) => this.#before(chunk));
    socket.on("data", () => this.#after());
    socket.on("error", () => {});
    // The client sends nothing more, or is gone: that cannot be told apart. What waits is told, and
    // whatever answer there is goes out for one who still reads.
    socket.on("end", () => {
      this.#draining = true;
      // The rest of its body will not come. The parser says so itself, unless it let go of the
      // connection, as it does for a request that also asks for another protocol.
      if (this.#phase === "running" && this.#request?.complete === false) {
        this.failed("HPE_INVALID_EOF_STATE");
      }
      if (this.#exchange !== null) this.#reception.listenOnly(this.#exchange);
      this.#partWhenAllIsSaid();
    });
    socket.on("close", () => {
      if (this.#exchange !== null) this.#reception.leave(this.#exchange);
      this.#exchange = null;
      this.#gone?.();
    });
  }

  // ── requests ──

  #before(chunk: Buffer): void {
    if (this.#pieces.isTooMuch(chunk)) {
      this.#reset();
      return;
    }
    if (this.#isOver()) {
      this.#thrownAway += chunk.length;
      // Read no further, but leave the client the time of lingering to see its answer.
      if (this.#thrownAway > this.#limits.lingerBytes) this.#socket.pause();
      return;
    }
    const begins = this.#phase !== "head" && !this.#ahead && this.#request?.complete !== false;
    if (begins) {
      this.#chunks.restart();
      this.#forgetSegments();
      if (this.#hasItsAnswer()) this.#goOn();
    }
    this.#remember(chunk);
    if (this.#chunks.isTooMuch(chunk)) {
      this.#fault(413, chunksTooSmall(SMALL_CHUNK));
      // The parser comes next, and stops at the first byte. Nothing more is read: the client has the
      // time of lingering to see its answer.
      chunk.fill(0);
      this.#socket.pause();
      return;
    }
    if (this.#phase === "head" || this.#ahead) {
      this.#verb.feed(chunk);
    } else if (begins) {
      this.#verb.restart();
      this.#verb.feed(chunk);
      if (this.#phase === "running") {
        this.#ahead = true; // see arrived()
        return;
      }
      this.#phase = "head";
      this.#since = this.#reception.now();
    }
  }

  /** Requests with secrets that are to be overwritten are small; large ones are not held on to. */
  #remember(segment: Buffer): void {
    this.#remembered += segment.length;
    if (this.#remembered > MAX_REMEMBERED) return;
    if (this.#segment === null) this.#segment = segment;
    else if (this.#further.length < MAX_SEGMENTS) this.#further.push(segment);
    else this.#passing = segment;
  }

  #forgetSegments(): void {
    this.#segment = null;
    if (this.#further.length > 0) this.#further = [];
    this.#remembered = 0;
  }

  wipe(): void {
    this.#segment?.fill(0);
    for (const segment of this.#further) segment.fill(0);
    this.#reception.readBlocks.scrub();
    this.#forgetSegments();
  }

  arrived(request: IncomingMessage, response: ServerResponse): void {
    if (this.#isOver()) {
      this.#socket.destroy();
      return;
    }
    if (this.#waiting) {
      // Two in one segment: neither is done, since nobody can say whose they are.
      this.#fault(400, pipelined());
      return;
    }
    if (this.#phase === "running") {
      this.#followed = true;
      const { headers, body } = this.#reception.answerWithoutRequest(400, pipelined());
      response.writeHead(400, headers).end(body); // Node sends it after the answer before it
      return;
    }
    this.#requests++;
    if (this.#requests >= this.#limits.requestsPerConnection) this.#draining = true;
    this.#request = request;
    this.#response = response;
    this.#invited = false;
    this.#ahead = false;
    this.#waiting = true;
  }

  #after(): void {
    this.#passing?.fill(0);
    this.#passing = null;
    const request = this.#request;
    if (!this.#waiting || request === null) return;
    this.#waiting = false;
    this.#phase = "running";
    const { method = "", url = "" } = request;
    const verb = method === "LINK" && this.#verb.rewritten ? "LIST" : method;
    const exchange = this.#reception.receive({
      wire: this,
      stream: request,
      verb,
      target: url,
      rawHeaders: request.rawHeaders,
      http1: request.httpVersion,
      open: false,
      remote: this.#remote,
      started: this.#since,
    });
    if (!exchange.over) this.#exchange = exchange;
  }

  #isOver(): boolean {
    return this.#last || this.#followed || this.#phase === "ending";
  }

  /** What the parser, or the socket, has to say against the connection. */
  failed(code: string): void {
    if (this.#isOver()) return;
    if (
      !this.#socket.writable ||
      !(code.startsWith("HPE_") || code === "ERR_HTTP_REQUEST_TIMEOUT")
    ) {
      this.#socket.destroy();
    } else if (this.#phase === "running" && this.#request?.complete === true) {
      this.#last = true; // rubbish behind a request in progress: it gets its answer, then the end
    } else if (code === "HPE_HEADER_OVERFLOW") {
      this.#fault(431, headTooLong(this.#limits.headerBytes));
    } else if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") {
      this.#fault(413, chunkExtensionTooLong());
    } else {
      this.#fault(400, notHttp());
    }
  }

  refuseTunnel(): void {
    this.#fault(405, unsupportedVerb());
  }

  endAfter(): void {
    this.#draining = true;
  }

  inviteBody(): void {
    this.#invited = true;
    if (isExpecting(this.#request)) this.#response?.writeContinue();
  }

  // ── answers ──

  send(
    status: number,
    headers: string[],
    body: string,
    now: Nanos,
    gone: (() => void) | null,
  ): void {
    const response = this.#response;
    const request = this.#request;
    this.#exchange = null;
    this.#forgetSegments();
    const there = !this.#socket.destroyed && response?.destroyed === false;
    if (response === null || request === null || !there) return gone?.();
    this.#gone = gone;
    const unread = !request.complete;
    if (unread || this.#draining) this.#last = true;
    if (this.#last) headers.push("Connection", "close");
    const length = Buffer.byteLength(body);
    if (status !== 204 && status !== 304) headers.push("Content-Length", String(length));
    response.writeHead(status, headers);
    this.#since = now;
    this.#sending = true;
    if (body.length > PIECE) endInPieces(response, Buffer.from(body), this.#sendingEvents);
    else if (unread && (this.#invited || !isExpecting(request)))
      this.#hold(request, response, body);
    // Plain ASCII is the same in both, and is written without looking at it again.
    else response.end(body, length === body.length ? "latin1" : "utf8", this.#sendingEvents.done);
  }

  stream(status: number, headers: string[], body: StreamBody, how: StreamedAnswer): void {
    const response = this.#response;
    const request = this.#request;
    this.#exchange = null;
    this.#forgetSegments();
    if (response === null || request === null || this.#socket.destroyed || response.destroyed) {
      return void body.discard();
    }
    if (!request.complete || this.#draining) this.#last = true;
    if (this.#last) headers.push("Connection", "close");
    if (body.length !== null) headers.push("Content-Length", String(body.length));
    if (body.trailers !== null) headers.push("Trailer", body.trailers.names.join(", "));
    response.writeHead(status, headers);
    this.#since = how.now;
    this.#sending = true;
    if (how.headOnly) {
      void body.discard();
      response.end(this.#sendingEvents.done);
      return;
    }
    const pace = new Pace();
    this.#pace = pace;
    void sendStream(response, body, {
      waits: (waiting) => pace.waits(waiting, this.#reception.now()),
      progress: (bytes) => pace.moved(bytes),
      whole: () => {
        if (body.trailers !== null) response.addTrailers(body.trailers.values());
      },
      done: () => {
        this.#pace = null;
        this.#confirmed();
      },
      broken: (error) => {
        this.#pace = null;
        if (error !== null) how.broken(error);
        this.#reset();
      },
    });
  }

  /**
   * An answer while the body is still coming. Closing now would make the system send a reset, which
   * takes the answer away from the client; so we read on for a little, and throw it away.
   */
  #hold(request: IncomingMessage, response: ServerResponse, body: string): void {
    response.flushHeaders();
    response.write(body);
    this.#sending = false;
    this.#phase = "ending";
    if (request.headers["transfer-encoding"] !== undefined) {
      this.#deafen();
      return;
    }
    request.on("end", () => {
      if (!this.#socket.destroyed) response.end();
    });
    request.resume();
  }

  /** What comes is counted and thrown away unparsed: a parser is kept busy by a million tiny chunks. */
  #deafen(): void {
    this.#socket.removeAllListeners("data");
    this.#socket.on("data", (chunk: Buffer) => this.#before(chunk));
    this.#socket.resume();
  }

  /** The whole answer is with the system. Over TLS a client may have it, and send its next request, before
   *  that is told here; one answer at a time may be so. */
  #hasItsAnswer(): boolean {
    const out = this.#sending && this.#response?.writableEnded === true;
    return this.#phase === "running" && out && !this.#unconfirmed;
  }

  #goOn(): void {
    this.#unconfirmed = true;
    this.#sent();
  }

  #confirmed(): void {
    if (this.#unconfirmed) this.#unconfirmed = false;
    else this.#sent();
  }

  #sent(): void {
    this.#sending = false;
    this.#gone?.();
    this.#gone = null;
    this.#phase = this.#isOver() ? "ending" : this.#ahead ? "head" : "idle";
    // Its head had gone out before anybody knew that it would be the last answer.
    if (this.#phase === "idle" && this.#draining) this.#socket.destroySoon();
    this.#partWhenAllIsSaid();
  }

  /** Nothing more comes from a client that has ended its side: there is no body to read to its end and no
   *  request to wait for. What was written still goes out. */
  #partWhenAllIsSaid(): void {
    const more = this.#exchange !== null || this.#sending || this.#followed;
    if (this.#socket.readableEnded && !more) this.#socket.destroySoon();
  }

  /** Answers what is not a request, or not to be one, and ends the connection. */
  #fault(status: number, failure: Failure): void {
    const started = this.#response?.headersSent === true && this.#phase === "running";
    this.#waiting = false;
    this.#phase = "ending";
    this.#since = this.#reception.now();
    if (this.#exchange !== null) this.#reception.leave(this.#exchange);
    this.#exchange = null;
    if (started || !this.#socket.writable) this.#socket.destroy();
    else this.#socket.end(this.#rawAnswer(status, failure));
  }

  #rawAnswer(status: number, failure: Failure): string {
    const { headers, body } = this.#reception.answerWithoutRequest(status, failure);
    return rawAnswer(status, headers, body);
  }

  // ── time ──

  check(now: Nanos): boolean {
    const limits = this.#limits;
    const passed = now - this.#since;
    switch (this.#phase) {
      case "fresh":
        if (passed <= limits.requestHead) return false;
        this.#socket.destroy();
        return true;
      case "head":
        if (passed <= limits.requestHead) return false;
        this.#fault(408, tooSlow("head", limits.requestHead));
        return true;
      case "idle":
        if (passed <= limits.idle) return false;
        this.#socket.destroy();
        return true;
      case "ending":
        if (passed <= limits.linger) return false;
        this.#socket.destroy();
        return true;
      case "running":
        if (!this.#sending) return this.#exchange !== null && this.#isOverdue(this.#exchange, now);
        if (this.#pace?.isKept(now, limits.unreadAnswer) ?? passed <= limits.unreadAnswer) {
          return false;
        }
        this.#reset();
        return true;
    }
  }

  #isOverdue(exchange: Exchange, now: Nanos): boolean {
    const { requestBody } = this.#limits;
    if (this.#request?.complete === false && exchange.isLate(now, requestBody)) {
      exchange.dropReason = exchange.tooSlow(requestBody);
      this.#fault(408, exchange.dropReason);
      return true;
    }
    if (now <= exchange.deadline) return false;
    this.#reception.expire(exchange);
    return true;
  }

  get busy(): Busy {
    if (this.#phase === "fresh" || this.#phase === "head") return "beginning";
    if (this.#phase === "idle" || this.#phase === "ending") return "idle";
    return this.#request?.complete === false ? "sending" : "working";
  }

  drop(): void {
    this.#socket.destroy();
  }

  /** No further requests: at once where none is on its way. */
  drain(): void {
    if (this.#phase === "fresh" || this.#phase === "idle") this.#socket.destroy();
    else this.#draining = true;
  }

  /** What the system still holds for a client that reads nothing is dropped with it. */
  #reset(): void {
    if ("encrypted" in this.#socket || this.#remote.port === 0) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }
}

function isExpecting(request: IncomingMessage | null): boolean {
  return request?.headers.expect !== undefined;
}
