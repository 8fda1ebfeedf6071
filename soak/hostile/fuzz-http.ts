// T-N08 and T-N05: mutated raw requests against the HTTP front. It never dies, never answers 5xx, never lets
// anything reach the pipeline that is not a request, and accepts nothing that Node's own server, without
// the verb LIST, refuses.

import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import type { Incoming } from "../../src/core/incoming.ts";
import { Prng } from "../../sim/prng.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { get, makeFront, RawClient } from "../../tests/support/http-front.ts";
import { discard, scratch } from "../child.ts";
import { mutatedRequest, segments } from "./http-mutations.ts";
import type { Result } from "../result.ts";

const CLIENTS = 16;
const TURNS = 30; // after so many without an answer the request was not one
const VERBS = new Set(["GET", "HEAD", "LIST", "POST", "PUT", "PATCH", "DELETE"]);

export interface FuzzOptions {
  readonly count: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

export async function fuzzHttp({ count, seed, say }: FuzzOptions): Promise<Result> {
  const random = new Prng(seed);
  const place = scratch("fuzz-http");
  const path = join(place, "api.sock"); // no ports that could run out
  const front = await makeFront({ kind: "unix", host: path });
  const tally = new Map<number, number>();
  const wrong: string[] = [];
  const stopWatching = watchProcess((what) => wrong.push(what));
  let left = count;

  const client = async () => {
    let connection = await opened(path);
    for (; left > 0 && wrong.length < 10; left--) {
      const text = mutatedRequest(random);
      const note = (what: string) => wrong.push(`${what} after ${JSON.stringify(text)}`);
      try {
        for (const segment of segments(text, random)) {
          await connection.send(segment);
          if (random.chance(0.5)) await nextTurn();
        }
        for (let turn = 0; turn < TURNS; turn++) {
          const answer = connection.peek(text.startsWith("HEAD"));
          if (answer === null && connection.ended) break;
          if (answer === null) {
            await nextTurn();
            continue;
          }
          tally.set(answer.status, (tally.get(answer.status) ?? 0) + 1);
          if (answer.status >= 500) note(`status ${answer.status}`);
          if (answer.status >= 400 && answer.body !== "") JSON.parse(answer.body);
          if (answer.status >= 200) break;
        }
      } catch (error) {
        note(error instanceof Error ? error.message : "an unknown error");
      }
      // What is left of a request would become part of the next one, and no case could be repeated.
      connection.destroy();
      for (const incoming of front.seen.splice(0)) checkIncoming(incoming, note);
      front.facts.length = 0;
      connection = await opened(path);
      if (left % 100_000 === 0) say(`${count - left} requests, ${wrong.length} wrong`);
    }
    connection.destroy();
  };

  try {
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const last = await opened(path);
    const { status } = await last.ask(get("/v1/sys/health"));
    if (status !== 200) wrong.push(`the server answers ${status} after all that`);
    last.destroy();
    for (let turn = 0; turn < 1000 && front.server.connections > 0; turn++) await nextTurn();
    if (front.server.connections > 0 || front.server.inFlight > 0) {
      wrong.push(
        `${front.server.connections} connections and ${front.server.inFlight} requests are left`,
      );
    }
  } finally {
    await front.close();
    stopWatching();
    discard(place);
  }
  const statuses = [...tally].toSorted(([a], [b]) => a - b).map(([code, n]) => `${code}: ${n}`);
  const figure = `${count} mutated requests, seed ${seed}: ${statuses.join(", ")}; ${wrong.length} wrong`;
  return wrong.length === 0
    ? { ok: true, figure }
    : { ok: false, figure, detail: wrong.join("\n") };
}

/** The differential gate of T-N05: each case once to us and, with GET for LIST, to a plain server. */
export async function compareParsers({ count, seed, say }: FuzzOptions): Promise<Result> {
  const random = new Prng(seed);
  const front = await makeFront();
  const reached = new Map<number, string[]>();
  const plain = createServer(
    { httpValidation: "strict", requireHostHeader: false },
    ({ socket, url = "" }, response) => {
      reached.set(socket.remotePort ?? 0, [...(reached.get(socket.remotePort ?? 0) ?? []), url]);
      response.end();
    },
  );
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
  const bound = plain.address();
  const port = typeof bound === "object" && bound !== null ? bound.port : 0;
  const wrong: string[] = [];
  let both = 0;
  let stricter = 0;
  for (let i = 0; i < count && wrong.length < 10; i++) {
    const text = mutatedRequest(random);
    front.seen.length = 0;
    reached.clear();
    const parts = segments(text, random);
    await tell(front.port, parts);
    const [ours] = front.seen;
    await tell(port, [text.replace(/^([\r\n]*)LIST /, "$1GET ")]);
    const theirs = [...reached.values()][0] ?? [];
    if (ours === undefined) {
      if (theirs.length > 0) stricter++;
      continue;
    }
    both++;
    const target = ours.target;
    const same = theirs.some((url) => url === target || url === `/v1${target}`);
    if (!same) wrong.push(`accepted here and not there: ${JSON.stringify(parts)}`);
    if (front.seen.length > 1) wrong.push(`taken for several: ${JSON.stringify(parts)}`);
    if ((i + 1) % 10_000 === 0) say(`${i + 1} compared, ${wrong.length} wrong`);
  }
  await front.close();
  plain.closeAllConnections();
  await new Promise<void>((resolve) => plain.close(() => resolve()));
  const figure = `${count} compared, seed ${seed}: ${both} accepted by both, ${stricter} only by the plain server, ${wrong.length} only by us`;
  return wrong.length === 0
    ? { ok: true, figure }
    : { ok: false, figure, detail: wrong.join("\n") };
}

/** Sends, waits until an answer or the end is there or nothing happens any more, and hangs up. */
async function tell(port: number, parts: readonly string[]): Promise<void> {
  const client = await RawClient.connect(port);
  for (const part of parts) {
    await client.send(part);
    await nextTurn();
  }
  for (let turn = 0; turn < TURNS && !client.ended && client.received === ""; turn++)
    await nextTurn();
  client.socket.resetAndDestroy();
}

function checkIncoming({ verb, target }: Incoming, note: (what: string) => void): void {
  if (!VERBS.has(verb)) note(`the verb ${JSON.stringify(verb)} got through`);
  if (!/^\/[^\s\0]*$/.test(target)) note(`the target ${JSON.stringify(target)} got through`);
}

function opened(path: string): Promise<RawClient> {
  const socket = connect(path);
  return new Promise((resolve, reject) => {
    socket.once("connect", () => resolve(new RawClient(socket)));
    socket.once("error", reject);
  });
}

/** What would end the process counts as wrong, and does not end this one. */
function watchProcess(report: (what: string) => void): () => void {
  const caught = (error: unknown) =>
    report(`uncaught: ${error instanceof Error ? (error.stack ?? error.message) : "unknown"}`);
  process.on("uncaughtException", caught);
  process.on("unhandledRejection", caught);
  return () => {
    process.off("uncaughtException", caught);
    process.off("unhandledRejection", caught);
  };
}
