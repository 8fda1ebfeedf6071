// Blocking queries in great number: parked on a real server they cost nothing, one write answers every one
// of them within a second and none before, and whoever hangs up makes room.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { processorMicrosOf, residentBytesOf } from "../bench/api/api-usage.ts";
import { Prng } from "../sim/prng.ts";
import { at } from "../tests/support/http-client.ts";
import { Api, NodePlace, ServerProcess } from "./api/api-server.ts";
import { discard, scratch } from "./child.ts";
import { type Result, resultOf } from "./result.ts";
import { Waiter } from "./waiter.ts";
import { errorText } from "../tests/support/error-text.ts";

export interface WaitersOptions {
  /** How many queries; the server takes 10,000. */
  readonly n: number;
  readonly seed: number;
  readonly plant?: "late-watch";
  readonly say: (line: string) => void;
}

const PER_TOKEN = 64;
const PER_ADDRESS = 200;
const CONNECTING = 128; // at a time: fewer than wait to be accepted without being turned away
const IDLE_MS = 2000;
const LONGEST_PARKING_MS = 60_000;
const LONGEST_ANSWERS_MS = 1000;
const ASKING_EVERY_MS = 20;
const PATIENCE_MS = 10_000; // for late answers, so that the figure tells how late
const MAX_IDLE_SHARE = 0.05; // of one core
const TRIES = 4;

export async function waiters(options: WaitersOptions): Promise<Result> {
  const directory = scratch("waiters");
  const run = new Run(options, directory);
  try {
    await run.park();
    await run.hangUp();
    await run.idle();
    await run.wake();
  } catch (error) {
    run.wrong.push(`${errorText(error)}\n${run.lastLog}`);
  } finally {
    await run.stop();
    discard(directory);
  }
  return resultOf(run.figure, run.wrong);
}

class Run {
  readonly #options: WaitersOptions;
  readonly #random: Prng;
  readonly #server: ServerProcess;
  readonly #place: NodePlace;
  #api: Api | null = null;
  #url = new URL("http://127.0.0.1");
  #path = "";
  #waiters: Waiter[] = [];
  #tokens: string[] = [];
  readonly #figures: string[] = [];
  readonly wrong: string[] = [];

  constructor(options: WaitersOptions, directory: string) {
    const { plant } = options;
    this.#options = options;
    this.#random = new Prng(options.seed);
    this.#place = new NodePlace(join(directory, "node"));
    const target = plant === undefined ? {} : { target: { plant } };
    const beside = join(directory, "beside");
    this.#server = new ServerProcess({ place: this.#place, beside, ...target });
  }

  get figure(): string {
    return [`${this.#waiters.length} queries`, ...this.#figures].join(", ");
  }

  get lastLog(): string {
    const lost = this.#waiters.filter(({ end }) => end?.kind === "lost").length;
    return `${lost} connections were lost\n${this.#server.log.split("\n").slice(-8).join("\n")}`;
  }

  async park(): Promise<void> {
    const { n, say } = this.#options;
    await this.#open();
    for (let i = 0; i < Math.ceil(n / PER_TOKEN); i++) {
      const made = await this.#make(`waiter ${i}`, "management");
      this.#tokens.push(made.secret);
    }
    const list = await this.#owner.expect([200], "GET", "acl/tokens?per_page=1");
    const index = Number(list.headers["x-service-index"]);
    // The newest first: the answer must hold what woke it.
    this.#path = `/v1/acl/tokens?index=${index}&wait=5m&reverse=true&per_page=1`;
    const before = residentBytesOf(this.#pid);
    let next = 0;
    const connect = async () => {
      while (next < n) {
        const i = next++;
        const waiter = this.#waiter(i, this.#tokens[Math.floor(i / PER_TOKEN)] ?? "");
        this.#waiters.push(waiter);
        await waiter.sent;
      }
    };
    const began = performance.now();
    await Promise.all(Array.from({ length: Math.min(CONNECTING, n) }, connect));
    await this.#untilParked(n);
    say(`${n} queries are parked after ${((performance.now() - began) / 1000).toFixed(1)} s`);
    const each = (residentBytesOf(this.#pid) - before) / n / 1024;
    this.#figures.push(`${each.toFixed(1)} KiB each`);
  }

  /** A token with as many queries as it may have gets one more only when one of them has left. */
  async hangUp(): Promise<void> {
    const { n } = this.#options;
    const [token = ""] = this.#tokens;
    const first = this.#waiters[0];
    if (first === undefined || n < PER_TOKEN) return;
    const oneMore = () => this.#waiter(n, token);
    const refused = await Promise.race([oneMore().ended, pause(5000, null)]);
    if (refused?.kind !== "answered" || refused.status !== 429) {
      this.wrong.push(`query ${PER_TOKEN + 1} of one token: ${JSON.stringify(refused)}`);
    }
    first.leave();
    await this.#untilParked(n - 1);
    const taking = oneMore();
    this.#waiters[0] = taking;
    await this.#untilParked(n);
    if (taking.end !== null) this.wrong.push("the place of one that hung up was not free");
  }

  /** Of one core; null where the system does not tell. */
  async #idleShare(): Promise<number | null> {
    const before = processorMicrosOf(this.#pid);
    await pause(IDLE_MS);
    const after = processorMicrosOf(this.#pid);
    return before === null || after === null ? null : (after - before) / 1000 / IDLE_MS;
  }

  async idle(): Promise<void> {
    const { n } = this.#options;
    let share = await this.#idleShare();
    // What is ours comes again, what the machine does beside it does not.
    for (let i = 1; i < TRIES && share !== null && share > MAX_IDLE_SHARE; i++) {
      share = Math.min(share, (await this.#idleShare()) ?? share);
    }
    const early = this.#waiters.filter(({ end }) => end !== null);
    if (early.length > 0) {
      this.wrong.push(
        `${early.length} of ${n} ended before the write: ${JSON.stringify(early[0]?.end)}`,
      );
    }
    if (share === null) return;
    this.#figures.push(`${(share * 100).toFixed(1)} % of a core while parked`);
    if (share > MAX_IDLE_SHARE) this.wrong.push("parked queries keep the server busy");
  }

  async wake(): Promise<void> {
    const busyBefore = processorMicrosOf(this.#pid);
    const ours = process.cpuUsage();
    const began = performance.now();
    const made = await this.#make("the one that wakes", "client");
    const written = performance.now() - began;
    const patience = pause(PATIENCE_MS, null, { ref: false });
    const all = Promise.all(this.#waiters.map(({ ended }) => ended));
    const over = Promise.race([all, patience]);
    const slowest = await this.#askMeanwhile(over);
    const busyAfter = processorMicrosOf(this.#pid);
    const { user, system } = process.cpuUsage(ours);
    const times: number[] = [];
    for (const { end } of this.#waiters) {
      if (end?.kind !== "answered") {
        this.wrong.push(
          end === null ? "a query was not answered" : `a query was lost: ${end.reason}`,
        );
      } else if (end.status !== 200 || !end.text.includes(made.accessor)) {
        this.wrong.push(`a query was answered with ${end.status}: ${end.text.slice(-300)}`);
      } else {
        times.push(end.at - began);
      }
    }
    const [first, last] = [Math.round(Math.min(...times)), Math.round(Math.max(...times))];
    this.#figures.push(
      `the write acknowledged after ${written.toFixed(0)} ms`,
      `${times.length} answers after ${first} to ${last} ms`,
      `slowest other request meanwhile ${slowest.toFixed(0)} ms`,
    );
    if (busyBefore !== null && busyAfter !== null) {
      // On a machine that others use as well this tells more than the time that has passed.
      const [server, clients] = [busyAfter - busyBefore, user + system].map(millis);
      this.#figures.push(`processor time for it ${server}, of the clients ${clients}`);
    }
    if (last > LONGEST_ANSWERS_MS) this.wrong.push(`the last answer came after ${last} ms`);
    await this.#untilParked(0);
  }

  /** How long another caller waited for an answer at most. */
  async #askMeanwhile(over: Promise<unknown>): Promise<number> {
    let [ended, slowest] = [false, 0];
    const noted = over.then(() => (ended = true));
    while (!ended) {
      const began = performance.now();
      await this.#owner.expect([200], "GET", "acl/token/self");
      slowest = Math.max(slowest, performance.now() - began);
      await Promise.race([noted, pause(ASKING_EVERY_MS)]);
    }
    await noted;
    return slowest;
  }

  async stop(): Promise<void> {
    for (const waiter of this.#waiters) waiter.leave();
    this.#api?.close();
    await this.#server.kill();
  }

  get #owner(): Api {
    if (this.#api === null) throw new Error("the server is not open");
    return this.#api;
  }

  get #pid(): number {
    return this.#server.process.pid ?? 0;
  }

  async #open(): Promise<void> {
    const url = await this.#server.ready;
    const stranger = new Api(url);
    const keys = await stranger.init();
    await stranger.unseal(keys, this.#random);
    stranger.close();
    this.#url = new URL(url);
    this.#api = new Api(url, keys.token);
    const body = { type: "file", options: { file_path: this.#place.auditFile("file") } };
    await this.#api.expect([204], "POST", "sys/audit/file", { body });
  }

  async #make(name: string, type: "client" | "management") {
    const policies = type === "client" ? ["p"] : [];
    const body = { Name: name, Type: type, Policies: policies };
    const made = await this.#owner.expect([200], "POST", "acl/token", { body });
    return { secret: String(at(made, "SecretID")), accessor: String(at(made, "AccessorID")) };
  }

  #waiter(i: number, token: string): Waiter {
    const from = `127.0.${1 + Math.floor(i / PER_ADDRESS / 250)}.${1 + (Math.floor(i / PER_ADDRESS) % 250)}`;
    return new Waiter({ url: this.#url, token, path: this.#path, from });
  }

  /** By the server's own count of requests, in which the question itself is one. */
  async #untilParked(count: number): Promise<void> {
    const limit = performance.now() + LONGEST_PARKING_MS;
    for (;;) {
      const metrics = await this.#owner.expect([200], "GET", "sys/metrics?format=prometheus");
      const running = Number(/^holdfast_requests_in_flight (\d+)$/m.exec(metrics.text)?.[1]) - 1;
      if (running === count) return;
      const lost = this.#waiters.find(({ end }) => count > 0 && end?.kind === "lost");
      if (lost !== undefined) throw new Error(`a connection was lost: ${JSON.stringify(lost.end)}`);
      if (performance.now() > limit) throw new Error(`${running} requests run, not ${count}`);
      await pause(50);
    }
  }
}

function millis(micros: number): string {
  return `${(micros / 1000).toFixed(0)} ms`;
}
