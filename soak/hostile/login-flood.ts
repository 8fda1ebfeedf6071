// T-N03, T-B22: a thousand connections of one address try passwords as fast as they are answered. Whoever comes from
// another address with the right one is let in within two seconds, every time.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";
import { discard, scratch } from "../child.ts";
import { ObservedServer } from "../observed-server.ts";
import { type Result, resultOf } from "../result.ts";
import { errorText } from "../../tests/support/error-text.ts";
import type { FloodCounts, FloodOptions } from "./flooder.ts";
import { ask, login } from "./one-request.ts";

const FLOOD = join(import.meta.dirname, "flooder.ts");
const FLOODER = "127.0.9.9";
const LONGEST_LOGIN_MS = 2000;
const TURNS = 2; // before and after its own work a login waits as any request does
const BEGINNING_MS = 1000;
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
  const times: number[] = [];
  const waits: number[] = []; // for an answer that costs nothing
  let flood: Flood | null = null;
  let counts: FloodCounts = [];
  try {
    await server.expect(204, "POST", "sys/auth/userpass", { body: { type: "userpass" } });
    const body = { password: PASSWORD };
    await server.expect(204, "POST", "auth/userpass/users/ada", { body });
    const port = Number(new URL(server.url).port);
    const quiet = await login(port, "ada", PASSWORD, "127.0.9.1");
    say(`without a flood a login takes ${quiet.millis.toFixed(0)} ms`);
    flood = new Flood({ port, n, from: FLOODER });
    await pause(BEGINNING_MS);
    await server.read();
    for (let i = 0; i < rounds; i++) {
      const from = plant === undefined ? `127.0.9.${10 + (i % 200)}` : FLOODER;
      // Where clients and server share too few processors every answer is late: that is no queue of ours.
      const other = await ask(port, "GET /v1/sys/health", "", "127.0.9.2");
      const longest = LONGEST_LOGIN_MS + TURNS * other.millis;
      const { status, millis } = await login(port, "ada", PASSWORD, from);
      times.push(millis);
      waits.push(other.millis);
      if (status !== 200) wrong.push(`login ${i} was answered ${status}`);
      else if (millis > longest) wrong.push(`login ${i} took ${millis.toFixed(0)} ms`);
    }
    counts = await flood.end();
    if (counts.length === 0) wrong.push("the flood was not answered at all");
  } catch (error) {
    wrong.push(`${errorText(error)}\n${server.log}`);
  } finally {
    flood?.kill();
    await server.stop();
    discard(place);
  }
  const slowest = Math.max(0, ...times).toFixed(0);
  const refused = counts.map(([status, count]) => `${count} × ${status || "nothing"}`);
  const figure =
    `${n} connections of one address (${refused.join(", ")}): ${rounds} logins of others, ` +
    `the longest ${slowest} ms (health ${Math.max(0, ...waits).toFixed(0)} ms), ${wrong.length} wrong`;
  return resultOf(figure, wrong);
}

class Flood {
  readonly #child: ChildProcess;
  readonly #counts: Promise<readonly unknown[]>;

  constructor(options: FloodOptions) {
    this.#child = fork(FLOOD, [JSON.stringify(options)], {
      execArgv: ["--no-warnings", ...FIND_OWN_MODULES],
    });
    const ended = once(this.#child, "exit").then(() => [[]]);
    this.#counts = Promise.race([once(this.#child, "message"), ended]);
    this.#counts.catch(() => {});
  }

  async end(): Promise<FloodCounts> {
    if (this.#child.connected) this.#child.send("end");
    const [counts] = await this.#counts;
    return counts as FloodCounts;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
