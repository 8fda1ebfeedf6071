// T-N08 on the whole server in a process of its own: mutated raw requests over a Unix socket, some of them with
// a token that is good. It never ends, never answers by a fault of its own, keeps no connection.

import { readdirSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { Prng } from "../../sim/prng.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { RawClient } from "../../tests/support/http-front.ts";
import { discard, scratch } from "../child.ts";
import type { FuzzOptions } from "./fuzz-http.ts";
import { mutatedRequest, segments } from "./http-mutations.ts";
import { ObservedServer } from "../observed-server.ts";
import type { Result } from "../result.ts";

const CLIENTS = 256; // most of which wait for what was no request
const ANSWER_MS = 500; // without an answer until then it was none, and we hang up
const END_MS = 20_000; // by then the server has let go of any connection
const MAX_WRONG = 10;
const TELL_EVERY = 100_000;

export async function fuzzServer({ count, seed, say }: FuzzOptions): Promise<Result> {
  const place = scratch("fuzz-server");
  const path = join(place, "api.sock");
  const server = await ObservedServer.start({
    directory: place,
    settings: `listener "unix" { address = ${JSON.stringify(path)} }\n`,
  });
  const base = openSockets(server.pid);
  const { resident } = await server.read();
  const random = new Prng(seed);
  const tally = new Map<number, number>();
  const wrong: string[] = [];
  let left = count;
  const began = performance.now();

  const client = async () => {
    while (left > 0 && wrong.length < MAX_WRONG && server.ended === null) {
      left--;
      if (left % TELL_EVERY === 0 && left > 0)
        say(`${count - left} requests, ${wrong.length} wrong`);
      const mutated = mutatedRequest(random);
      const text = mutated.replace("X-Vault-Token: abc", `X-Vault-Token: ${server.token}`);
      const parts = segments(text, random);
      try {
        const status = await ask(path, parts, text.startsWith("HEAD"));
        tally.set(status, (tally.get(status) ?? 0) + 1);
        if (status >= 500) wrong.push(`status ${status} after ${JSON.stringify(mutated)}`);
      } catch (error) {
        const what = error instanceof Error ? error.message : "an unknown error";
        if (server.ended === null) wrong.push(`${what} after ${JSON.stringify(mutated)}`);
      }
    }
  };

  try {
    await Promise.all(Array.from({ length: CLIENTS }, client));
    const seconds = (performance.now() - began) / 1000;
    if (server.ended === null) {
      await server.expect(200, "GET", "sys/health");
      const end = performance.now() + END_MS;
      while (openSockets(server.pid) > base + 2 && performance.now() < end) await pause(100);
      const kept = openSockets(server.pid) - base;
      if (kept > 2) wrong.push(`${kept} connections are left`);
      if (/\[ERROR\]/.test(server.log)) wrong.push(`it logged errors:\n${server.log}`);
    } else wrong.push(`the server ended: ${server.ended}\n${server.log}`);
    const grown = server.ended === null ? (await server.read()).resident - resident : 0;
    const statuses = [...tally]
      .toSorted(([a], [b]) => a - b)
      .map(([code, n]) => `${code === 0 ? "none" : code}: ${n}`);
    const figure =
      `${count - left} mutated requests to a whole server (${((count - left) / seconds).toFixed(0)}/s): ` +
      `${statuses.join(", ")}; memory ${grown < 0 ? "" : "+"}${(grown / 2 ** 20).toFixed(0)} MiB; ` +
      `${wrong.length} wrong`;
    return wrong.length === 0
      ? { ok: true, figure }
      : { ok: false, figure, detail: wrong.join("\n") };
  } finally {
    await server.stop();
    discard(place);
  }
}

/** The status of the answer; 0 when there was none. One connection each, so that a case can be repeated. */
async function ask(path: string, parts: readonly string[], headOnly: boolean): Promise<number> {
  const client = new RawClient(connect(path));
  let over = false;
  const late = setTimeout(() => {
    over = true;
    client.destroy();
  }, ANSWER_MS);
  try {
    for (const part of parts) {
      void client.send(part);
      if (parts.length > 1) await nextTurn();
    }
    for (;;) {
      const answer = await client.next(headOnly);
      if (answer === null || over) return 0;
      if (answer.status < 200) continue; // an invitation to send the body
      if (answer.status >= 400 && answer.body !== "") JSON.parse(answer.body);
      return answer.status;
    }
  } finally {
    clearTimeout(late);
    client.destroy();
  }
}

/** Connections are sockets; how many files the store has open depends on how busy it was. */
function openSockets(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => isSocket(`/proc/${pid}/fd/${fd}`)).length;
}

function isSocket(descriptor: string): boolean {
  try {
    return readlinkSync(descriptor).startsWith("socket:");
  } catch {
    return false; // closed since
  }
}
