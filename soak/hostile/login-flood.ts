// T-N03, T-B22: a thousand connections of one address try passwords as fast as they are answered. Whoever comes from
// another address with the right one is let in within two seconds, every time.

import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { RawClient } from "../../tests/support/http-front.ts";
import { discard, scratch } from "../child.ts";
import { ObservedServer } from "../observed-server.ts";
import { type Result, resultOf } from "../result.ts";
import { errorText } from "../../tests/support/error-text.ts";

const FLOODER = "127.0.9.9";
const LONGEST_LOGIN_MS = 2000;
const TURNS = 2; // before and after its own work a login waits as any request does
const BEGINNING_MS = 1000;
const PAUSE_MS = 50; // after a refusal: a flood does not wait, but the clients share our processor
const PASSWORD = "correct horse battery staple";

export interface LoginFloodOptions {
  /** Connections of the flood. */
  readonly n: number;
  /** Good logins, one after the other. */
  readonly rounds: number;
  /** The good ones come from the address of the flood: that must be seen. */
  readonly plant?: "same-address";
  readonly say: (line: string) => void;
}

export async function loginFlood({ n, rounds, plant, say }: LoginFloodOptions): Promise<Result> {
  const place = scratch("login-flood");
  const server = await ObservedServer.start({ directory: place });
  const wrong: string[] = [];
  const counts = new Map<number, number>();
  const times: number[] = [];
  const waits: number[] = []; // for an answer that costs nothing
  let over = false;
  let flood: Promise<unknown> = Promise.resolve();
  try {
    await server.expect(204, "POST", "sys/auth/userpass", { body: { type: "userpass" } });
    const body = { password: PASSWORD };
    await server.expect(204, "POST", "auth/userpass/users/ada", { body });
    const port = Number(new URL(server.url).port);
    const quiet = await login(port, "ada", PASSWORD, "127.0.9.1");
    say(`without a flood a login takes ${quiet.millis.toFixed(0)} ms`);
    const one = async (i: number) => {
      while (!over) {
        const { status } = await login(port, `nobody-${i}`, "x", FLOODER);
        counts.set(status, (counts.get(status) ?? 0) + 1);
        await pause(PAUSE_MS);
      }
    };
    flood = Promise.all(Array.from({ length: n }, (_, i) => one(i)));
    await pause(BEGINNING_MS);
    await server.read();
    for (let i = 0; i < rounds; i++) {
      const from = plant === undefined ? `127.0.9.${10 + (i % 200)}` : FLOODER;
      // Where clients and server share too few processors every answer is late: that is no queue of ours.
      const other = await ask(port, "GET /v1/sys/health", "", "127.0.9.2");
      const longest = LONGEST_LOGIN_MS + TURNS * (quiet.millis + other.millis);
      const { status, millis } = await login(port, "ada", PASSWORD, from);
      times.push(millis);
      waits.push(other.millis);
      if (status !== 200) wrong.push(`login ${i} was answered ${status}`);
      else if (millis > longest) wrong.push(`login ${i} took ${millis.toFixed(0)} ms`);
    }
  } catch (error) {
    wrong.push(`${errorText(error)}\n${server.log}`);
  } finally {
    over = true;
    await flood.catch(() => {});
    await server.stop();
    discard(place);
  }
  const slowest = Math.max(0, ...times).toFixed(0);
  const refused = [...counts].map(([status, count]) => `${count} × ${status || "nothing"}`);
  const figure =
    `${n} connections of one address (${refused.join(", ")}): ${rounds} logins of others, ` +
    `the longest ${slowest} ms (health ${Math.max(0, ...waits).toFixed(0)} ms), ${wrong.length} wrong`;
  return resultOf(figure, wrong);
}

function login(port: number, name: string, password: string, from: string) {
  const body = JSON.stringify({ password });
  return ask(port, `POST /v1/auth/userpass/login/${name}`, body, from);
}

/** One request on a connection of its own. Status 0: it was not answered. */
async function ask(port: number, what: string, body: string, from: string) {
  const typed = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const head = `${what} HTTP/1.1\r\nHost: localhost\r\n${body === "" ? "" : typed}\r\n`;
  const began = performance.now();
  let client: RawClient | null = null;
  let status: number;
  try {
    client = await RawClient.connect(port, from);
    await client.send(head + body);
    status = (await client.next())?.status ?? 0;
  } catch {
    status = 0;
  } finally {
    client?.destroy();
  }
  return { status, millis: performance.now() - began };
}
