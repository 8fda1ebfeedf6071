// Downloads and uploads of archives over HTTP, with trailers: for tests of snapshots.

import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";

export interface Downloaded {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly trailers: IncomingMessage["trailers"];
  readonly body: Buffer;
}

interface Sending {
  readonly method: string;
  readonly token: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** In place of `body`: as it comes. */
  readonly stream?: AsyncIterable<Uint8Array>;
}

export function exchange(url: string, sending: Sending): Promise<Downloaded> {
  const { promise, resolve, reject } = Promise.withResolvers<Downloaded>();
  const headers = { "X-Service-Token": sending.token, ...sending.headers };
  const sent = request(url, { method: sending.method, headers, agent: false }, (answer) => {
    const parts: Buffer[] = [];
    answer.on("data", (part: Buffer) => parts.push(part));
    answer.on("error", reject);
    answer.on("end", () => {
      const { statusCode: status = 0, trailers } = answer;
      resolve({ status, headers: answer.headers, trailers, body: Buffer.concat(parts) });
    });
  });
  sent.on("error", reject);
  if (sending.stream === undefined) sent.end(sending.body);
  else Readable.from(sending.stream).pipe(sent);
  return promise;
}

export function takeSnapshot(base: string, token: string): Promise<Downloaded> {
  return exchange(`${base}/v1/sys/storage/raft/snapshot`, { method: "GET", token });
}

/** The archive as the body of a POST. */
export async function sendSnapshot(base: string, token: string, path: string, body: Uint8Array) {
  const headers = { "Content-Type": "application/gzip" };
  const url = `${base}/v1/sys/storage/raft/${path}`;
  const answer = await exchange(url, { method: "POST", token, headers, body });
  const text = answer.body.toString();
  const whole = text === "" ? undefined : (JSON.parse(text) as Record<string, unknown>);
  const data = (whole?.["data"] ?? whole) as Record<string, unknown>;
  return { status: answer.status, headers: answer.headers, text, json: data };
}

/** The archive, but for its end, which is sent when `release` is called. */
export function heldBack(
  base: string,
  archive: Uint8Array,
  { path, token = "" }: { readonly path: string; readonly token?: string },
) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  const end = archive.length - 100;
  const answer = exchange(`${base}/v1/${path}`, {
    method: "POST",
    token,
    headers: { "Content-Type": "application/gzip" },
    stream: (async function* () {
      yield archive.subarray(0, end);
      first.resolve(); // the rest is asked for when this much was handed on
      await promise;
      yield archive.subarray(end);
    })(),
  });
  return { answer, release, sent: first.promise };
}
