// A front that speaks HTTP/2, sessions from several addresses of this machine, and how their streams end.

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { ListenerSettings } from "../../../src/http/listener-settings.ts";
import { CertificateFiles, TestAuthority } from "../certificates.ts";
import { type Front, makeFront } from "../http-front.ts";

export interface After {
  after(call: () => Promise<void> | void): void;
}

export async function certificates(t: After) {
  const authority = await TestAuthority.make();
  const files = new CertificateFiles();
  t.after(() => files.remove());
  files.write(await authority.issue("localhost"));
  return { authority, files };
}

export interface Stage {
  readonly front: Front;
  readonly session: (initialWindowSize?: number, from?: string) => ClientHttp2Session;
}

export async function http2Stage(
  t: After,
  limits: ListenerSettings["limits"] = {},
): Promise<Stage> {
  const { authority, files } = await certificates(t);
  const { certFile, keyFile } = files;
  const front = await makeFront({ tls: { certFile, keyFile }, http2: true, limits });
  const sessions: ClientHttp2Session[] = [];
  t.after(async () => {
    for (const session of sessions) session.destroy();
    await front.close();
  });
  return {
    front,
    session: (initialWindowSize = 65_535, localAddress = "127.0.0.1") => {
      // Handed on to the socket, which the types do not say.
      const options = { ca: authority.pem, settings: { initialWindowSize }, localAddress };
      const session = connect(`https://127.0.0.1:${front.port}`, options);
      session.on("error", () => {});
      sessions.push(session);
      return session;
    },
  };
}

/** Its status, or the name of the reset. */
export function endOf(stream: ClientHttp2Stream): Promise<number | string> {
  return new Promise((resolve) => {
    stream.on("error", () => {});
    stream.on("response", (headers) => resolve(headers[":status"] ?? 0));
    stream.on("close", () =>
      resolve(stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? "refused" : stream.rstCode),
    );
  });
}

export function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders = {}) {
  return endOf(session.request({ ":path": "/v1/sys/a", ...headers }, { endStream: true }));
}

export function askAll(session: ClientHttp2Session, count: number): Promise<(number | string)[]> {
  return Promise.all(Array.from({ length: count }, () => ask(session)));
}

/** Begins a body that does not end. */
export function dribble(session: ClientHttp2Session, headers: OutgoingHttpHeaders = {}) {
  const head = {
    ":path": "/v1/sys/a",
    ":method": "POST",
    "content-length": 100 * 1024,
    ...headers,
  };
  const stream = session.request(head);
  stream.write(" ");
  return stream;
}

/** How they have ended so far. */
export function endsOf(streams: ClientHttp2Stream[]): (number | string)[] {
  const ends: (number | string)[] = [];
  for (const stream of streams) void endOf(stream).then((end) => ends.push(end));
  return ends;
}
