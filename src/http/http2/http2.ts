// HTTP/2 over a TLS socket that has agreed on it: the limits of a session, its streams as exchanges, and
// their time. Off by default; most of what went wrong with HTTP/2 elsewhere was a session that could
// be made to hold or do more than it should (T-N04).

import {
  constants,
  performServerHandshake,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { Nanos } from "@holdfast/shared/world";
import type { Remote } from "@holdfast/shared/endpoint/request";
import type { Busy, Seated } from "../../base/connection-book.ts";
import type { PieceWatch } from "../small-pieces.ts";
import { Http2Wire, saysLater, type Unread } from "./http2-wire.ts";
import type { StreamRoom } from "./stream-room.ts";
import type { ListenerLimits } from "../listener-settings.ts";
import type { Reception } from "../reception.ts";
import type { Swept } from "@holdfast/shared/sweep";

const PSEUDO_HEADERS = 4; // :method :scheme :authority :path
const SPARE_HEADERS = 4; // counted past the limit, so that the refusal is an answer

export class Http2Connection implements Swept, Seated {
  readonly #session: ServerHttp2Session;
  readonly #remote: Remote;
  readonly #pieces: PieceWatch;
  readonly #reception: Reception;
  readonly #limits: ListenerLimits;
  readonly #room: StreamRoom;
  readonly #streams = new Set<Http2Wire>();
  readonly #unread: Unread = { bytes: 0 };
  #since: Nanos; // nothing is going on
  #requests = 0;

  constructor(
    socket: Socket,
    remote: Remote,
    reception: Reception,
    limits: ListenerLimits,
    room: StreamRoom,
  ) {
    this.#remote = remote;
    this.#room = room;
    this.#reception = reception;
    this.#limits = limits;
    this.#since = reception.now();
    this.#pieces = reception.pieces.of(remote.address);
    this.#session = performServerHandshake(socket, {
      maxHeaderListPairs: limits.headers + PSEUDO_HEADERS + SPARE_HEADERS,
      maxSessionMemory: 4, // MB
      maxOutstandingPings: 2,
      maxSettings: 16,
      maxSessionInvalidFrames: 16,
      maxSessionRejectedStreams: 16,
      // A client may give up now and then; who opens streams to reset them is stopped.
      streamResetBurst: 100,
      streamResetRate: 10,
      settings: {
        maxConcurrentStreams: limits.streamsPerConnection,
        maxHeaderListSize: limits.headerBytes,
      },
    });
    this.#session.on("error", () => {});
    this.#session.on("stream", (stream, headers, _flags, rawHeaders) =>
      this.#arrived(stream, headers, rawHeaders),
    );
  }

  #arrived(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ): void {
    stream.on("error", () => {});
    this.#watch(stream);
    // Who has not taken what is there gets nothing more, nor who has too many others open; this says that
    // nothing was done, and to try again.
    const verb = textOf(headers[":method"]);
    const open = !stream.endAfterHeaders;
    const isDeaf = this.#unread.bytes >= this.#limits.unreadPerConnection;
    const place = isDeaf
      ? null
      : this.#room.enter(headers, saysLater({ open, verb }), this.#reception.isBusy);
    if (place === null) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    const wire = new Http2Wire(stream, headers, this.#reception, this.#limits, {
      unread: this.#unread,
      place,
    });
    this.#streams.add(wire);
    stream.on("close", () => {
      wire.closed();
      this.#streams.delete(wire);
      this.#since = this.#reception.now();
    });
    this.#requests++;
    if (this.#requests >= this.#limits.requestsPerConnection) this.#session.close();
    wire.receive({
      wire,
      stream,
      verb,
      target: textOf(headers[":path"]),
      rawHeaders: plainHeaders(rawHeaders),
      http1: null,
      open,
      remote: this.#remote,
      started: this.#reception.now(),
    });
  }

  /** The runtime hands over one frame after the other, all that have come, whether or not anybody reads them. */
  #watch(stream: ServerHttp2Stream): void {
    const push = stream.push.bind(stream);
    stream.push = (piece: Buffer | null, encoding?: BufferEncoding) => {
      if (piece !== null && this.#pieces.isTooMuch(piece)) {
        this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
        return false;
      }
      return push(piece, encoding);
    };
  }

  /** Of many streams that are over together it ends `max`: each is an answer, or a reset. */
  check(now: Nanos, max: number): number {
    if (this.#session.destroyed) return 0;
    let ended = 0;
    for (const wire of this.#streams) {
      if (ended >= max) return ended;
      const found = wire.check(now);
      if (found === "stuck") {
        ended += this.#streams.size;
        this.#session.destroy();
        return ended;
      }
      if (found === "ended") ended++;
    }
    if (this.#streams.size > 0) return ended;
    const limit = this.#requests === 0 ? this.#limits.requestHead : this.#limits.idle;
    if (now - this.#since <= limit) return 0;
    this.#session.destroy(undefined, constants.NGHTTP2_NO_ERROR);
    return 1;
  }

  get busy(): Busy {
    if (this.#requests === 0) return "beginning";
    if (this.#streams.size === 0) return "idle";
    return this.#streams.values().every(({ sending }) => sending) ? "sending" : "working";
  }

  drop(): void {
    this.#session.destroy();
  }

  /** Tells the client to go elsewhere; streams that are under way finish. */
  drain(): void {
    this.#session.close();
  }
}

/** Without the pseudo-headers; the authority is the host, and a Host that says the same is left out. */
function plainHeaders(raw: readonly string[]): string[] {
  const at = raw.indexOf(":authority");
  const authority = at < 0 ? undefined : raw[at + 1];
  const plain: string[] = authority === undefined ? [] : ["host", authority];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? "";
    const value = raw[i + 1] ?? "";
    if (name.startsWith(":") || (name === "host" && value === authority)) continue;
    plain.push(name, value);
  }
  return plain;
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === "string" ? value : "";
}
