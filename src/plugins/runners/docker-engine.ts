// The API of a container engine (Docker's, or podman's, which speaks the same) on a Unix socket of this machine. What it says is
// read up to a limit, and believed no further than it is looked at.

import type { IncomingMessage } from "node:http";
import { PassThrough, type Readable } from "node:stream";
import { OwnError } from "@holdfast/shared/failure";
import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { GrowingBytes } from "@holdfast/shared/bytes";
import { request } from "../../base/node-http.ts";

const MAX_ANSWER = 4 * 2 ** 20;
/** Milliseconds of silence. */
export const ANSWERS_WITHIN = 60_000;
const HEAD = 8;
const STDERR = 2;

export interface EngineAnswer {
  readonly status: number;
  readonly data: JsonObject;
}

export interface EngineBytes {
  readonly status: number;
  readonly bytes: Buffer;
}

export interface EngineStreams {
  readonly stdout: Readable;
  readonly stderr: Readable;
}

export class DockerEngine {
  readonly #socket: string;
  readonly #answersWithin: number;

  constructor(socket: string, answersWithin = ANSWERS_WITHIN) {
    this.#socket = socket;
    this.#answersWithin = answersWithin;
  }

  /** Throws where it is not there, or is none. `waits`: it may be silent for as long as it likes. */
  async call(method: string, path: string, body?: object, waits = false): Promise<EngineAnswer> {
    const { status, bytes } = await this.#exchange(method, path, body, waits);
    let data: unknown = {};
    try {
      if (bytes.length > 0) data = JSON.parse(bytes.toString("utf8"));
    } catch {
      throw new OwnError("it answers with something else than JSON: it is no container engine");
    }
    return { status, data: isObject(data) ? data : {} };
  }

  /** As it comes. */
  read(path: string): Promise<EngineBytes> {
    return this.#exchange("GET", path, undefined, false);
  }

  /** What the container prints from now on. */
  attach(id: string): Promise<EngineStreams> {
    const { promise, resolve, reject } = Promise.withResolvers<EngineStreams>();
    const path = `/containers/${id}/attach?stream=1&stdout=1&stderr=1`;
    const sent = this.#request("POST", path, { connection: "Upgrade", upgrade: "tcp" });
    sent.once("error", (cause) => reject(unreached(cause)));
    sent.once("response", (answer) => {
      answer.resume();
      reject(new OwnError(`it does not hand over what a container prints (${answer.statusCode})`));
    });
    sent.once("upgrade", (_answer, socket, head) => {
      socket.unshift(head);
      resolve(apart(socket));
    });
    sent.end();
    return promise;
  }

  #exchange(
    method: string,
    path: string,
    body: object | undefined,
    waits: boolean,
  ): Promise<EngineBytes> {
    const { promise, resolve, reject } = Promise.withResolvers<EngineBytes>();
    const text = body === undefined ? "" : JSON.stringify(body);
    const sent = this.#request(method, path, {
      "content-length": String(Buffer.byteLength(text)),
      ...(body !== undefined && { "content-type": "application/json" }),
    });
    if (!waits)
      sent.setTimeout(this.#answersWithin, () => sent.destroy(new OwnError("it does not answer")));
    sent.once("error", (cause) => reject(unreached(cause)));
    sent.once("response", (answer) => {
      readAnswer(answer).then(resolve, reject);
    });
    sent.end(text);
    return promise;
  }

  #request(method: string, path: string, headers: Readonly<Record<string, string>>) {
    return request({
      socketPath: this.#socket,
      method,
      path,
      headers: { host: "engine", ...headers },
    });
  }
}

async function readAnswer(answer: IncomingMessage): Promise<EngineBytes> {
  const all = new GrowingBytes();
  for await (const piece of answer as AsyncIterable<Buffer>) {
    all.add(piece);
    if (all.length > MAX_ANSWER) throw new OwnError("it answers with more than is read of it");
  }
  return { status: answer.statusCode ?? 0, bytes: all.bytes };
}

/** Both streams come as one, in pieces that say whose they are. One that nobody reads holds up the other. */
function apart(socket: Readable): EngineStreams {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const head = Buffer.alloc(HEAD);
  let headBytes = 0;
  let left = 0;
  let to = stdout;
  socket.on("data", (bytes: Buffer) => {
    for (let at = 0; at < bytes.length;) {
      if (left === 0) {
        const count = bytes.copy(head, headBytes, at, at + HEAD - headBytes);
        headBytes += count;
        at += count;
        if (headBytes < HEAD) return;
        headBytes = 0;
        to = head[0] === STDERR ? stderr : stdout;
        left = head.readUInt32BE(4);
        continue;
      }
      const piece = bytes.subarray(at, at + left);
      at += piece.length;
      left -= piece.length;
      if (to.destroyed || to.write(piece)) continue;
      socket.pause();
      const full = to;
      const go = () => {
        full.off("drain", go).off("close", go);
        socket.resume();
      };
      full.once("drain", go).once("close", go);
    }
  });
  const end = () => {
    stdout.end();
    stderr.end();
  };
  socket.on("error", end).once("end", end).once("close", end);
  for (const stream of [stdout, stderr]) stream.on("error", () => {});
  return { stdout, stderr };
}

function unreached(cause: Error): OwnError {
  return new OwnError(`it cannot be reached by its socket: ${cause.message}`, { cause });
}
