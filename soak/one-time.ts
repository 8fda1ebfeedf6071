// A one-time token is good for one exchange, whatever happens: 64 attempts at once, again and again; and
// with SIGKILL at random instants around the exchange, start again, and try once more.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Prng } from "../sim/prng.ts";
import { at } from "../tests/support/http-client.ts";
import { Api, type Keys, NodePlace, ServerProcess } from "./api/api-server.ts";
import { isDisconnected } from "./api/api-workload.ts";
import { discard, scratch } from "./child.ts";
import { type Result, resultOf } from "./result.ts";
import { errorText } from "../tests/support/error-text.ts";

export interface OneTimeOptions {
  /** How often one is exchanged by all at once. */
  readonly rounds: number;
  readonly cycles: number;
  readonly seed: number;
  readonly plant?: "write-behind";
  readonly say: (line: string) => void;
}

const AT_ONCE = 64;
const OWNERS = 40; // each has one one-time token in every cycle
const KEPT_BACK = 8; // of these, nobody tries before the kill
const ATTEMPTS = 3; // at each of the others, at once
const LONGEST_MS = 160; // about as long as all these attempts take
// The last secrets of before, tried again as well. All attempts of a moment come from one address, which
// may have 200 connections.
const WATCHED = 20;

/** What is known of a one-time secret. */
interface Made {
  readonly secret: string;
  readonly owner: string;
  /** Exchanges that were acknowledged, over its whole life. */
  granted: number;
  /** Attempts whose answer never came. */
  lost: number;
  /** The server was started again since the attempts, and it was tried then. */
  settled: boolean;
}

export async function oneTime(options: OneTimeOptions): Promise<Result> {
  const directory = scratch("one-time");
  const run = new Run(options, directory);
  try {
    await run.initialise();
    if (options.plant === undefined) await run.allAtOnce();
    for (let cycle = 0; cycle < options.cycles && run.wrong.length === 0; cycle++) {
      await run.killed();
      if ((cycle + 1) % 10 === 0) options.say(run.figure);
    }
  } catch (error) {
    run.wrong.push(errorText(error));
  } finally {
    await run.stop();
    discard(directory);
  }
  return resultOf(run.figure, run.wrong);
}

class Run {
  readonly #options: OneTimeOptions;
  readonly #random: Prng;
  readonly #beside: string;
  readonly #place: NodePlace;
  #server: ServerProcess | null = null;
  #api: Api | null = null;
  #keys: Keys | null = null;
  #owners: string[] = [];
  #old: Made[] = [];
  #rounds = 0;
  #kills = 0;
  #acknowledged = 0;
  #lostSpent = 0;
  #lostUsable = 0;
  #untouched = 0;
  readonly wrong: string[] = [];

  constructor(options: OneTimeOptions, directory: string) {
    this.#options = options;
    this.#random = new Prng(options.seed);
    this.#beside = join(directory, "beside");
    this.#place = new NodePlace(join(directory, "node"));
  }

  get figure(): string {
    const twice = this.wrong.length === 0 ? "none usable twice" : "something is wrong";
    const kills = `${this.#kills} kills: ${this.#acknowledged} acknowledged exchanges`;
    const lost = `${this.#lostSpent + this.#lostUsable} with lost answers (${this.#lostSpent} spent, ${this.#lostUsable} still good)`;
    return `${this.#rounds} × ${AT_ONCE} at once, ${kills}, ${lost}, ${this.#untouched} untouched ones still good, ${twice}`;
  }

  async initialise(): Promise<void> {
    const api = await this.#start();
    this.#keys = await api.init();
    await this.#unsealed();
    const body = { type: "file", options: { file_path: this.#place.auditFile("file") } };
    await this.#owner.expect([204], "POST", "sys/audit/file", { body });
    for (let i = 0; i < OWNERS; i++) {
      const spec = { Name: `owner ${i}`, Type: "client", Policies: ["p"] };
      const made = await this.#owner.expect([200], "POST", "acl/token", { body: spec });
      this.#owners.push(String(at(made, "SecretID")));
    }
  }

  /** Exactly one gets the token, all others are refused. */
  async allAtOnce(): Promise<void> {
    const { rounds } = this.#options;
    for (; this.#rounds < rounds && this.wrong.length === 0; this.#rounds++) {
      const made = await this.#make(this.#random.pick(this.#owners));
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => this.#exchange(made.secret)),
      );
      const statuses = answers.map((answer) => answer?.status ?? 0);
      const refused = statuses.filter((status) => status === 403).length;
      if (made.granted + this.#count(made, answers) !== 1 || refused !== AT_ONCE - 1) {
        this.wrong.push(`round ${this.#rounds}: ${statuses.join(" ")}`);
      }
    }
  }

  /** One life of the server: what was exchanged before is tried again, then it is killed. */
  async killed(): Promise<void> {
    const made = await Promise.all(this.#owners.map((owner) => this.#make(owner)));
    const attempts = made.slice(KEPT_BACK).flatMap((one) =>
      Array.from({ length: ATTEMPTS }, async () => {
        const answer = await this.#exchange(one.secret);
        if (answer === null) one.lost++;
        else one.granted += this.#count(one, [answer]);
      }),
    );
    await pause(this.#random.int(LONGEST_MS));
    await this.#kill();
    await Promise.all(attempts);
    await this.#start();
    await this.#unsealed();
    this.#old = [...made, ...this.#old].slice(0, OWNERS + WATCHED);
    await Promise.all(this.#old.map((one, i) => this.#tryAgain(one, i < KEPT_BACK)));
  }

  async stop(): Promise<void> {
    this.#api?.close();
    await this.#server?.kill();
  }

  async #tryAgain(one: Made, untouched: boolean): Promise<void> {
    const before = one.granted;
    const answers = await Promise.all(
      Array.from({ length: ATTEMPTS }, () => this.#exchange(one.secret)),
    );
    one.granted += this.#count(one, answers);
    const got = one.granted - before;
    const strange = answers.find((answer) => answer?.status !== 200 && answer?.status !== 403);
    if (strange !== undefined)
      this.wrong.push(`after a start: ${strange?.status} ${strange?.text}`);
    if (one.granted > 1) {
      this.wrong.push(`kill ${this.#kills}: one was exchanged ${before} + ${got} times`);
    }
    if (one.settled) return;
    one.settled = true;
    if (untouched) {
      if (got === 1) this.#untouched++;
      else this.wrong.push(`kill ${this.#kills}: an acknowledged one-time token is gone`);
    } else if (before === 1) this.#acknowledged++;
    else if (got === 0) this.#lostSpent++;
    else this.#lostUsable++;
    if (!untouched && before === 0 && got === 0 && one.lost === 0) {
      this.wrong.push(`kill ${this.#kills}: all attempts were refused, and nobody had it`);
    }
  }

  /** How many of the answers gave its owner's token away; any other token is wrong. */
  #count({ owner }: Made, answers: readonly Answer[]): number {
    const granted = answers.filter((answer) => answer?.status === 200);
    if (granted.some((answer) => answer !== null && at(answer, "Token", "SecretID") !== owner)) {
      this.wrong.push("an exchange gave another token than the owner's");
    }
    return granted.length;
  }

  async #make(owner: string): Promise<Made> {
    const made = await this.#owner.expect([200], "POST", "acl/token/onetime", { token: owner });
    const secret = String(at(made, "OneTimeToken", "OneTimeSecretID"));
    return { secret, owner, granted: 0, lost: 0, settled: false };
  }

  /** Null when the answer was lost. */
  async #exchange(secret: string) {
    const body = { OneTimeSecretID: secret };
    try {
      return await this.#owner.call("POST", "acl/token/onetime/exchange", { body });
    } catch (error) {
      if (isDisconnected(error)) return null;
      throw error;
    }
  }

  get #owner(): Api {
    if (this.#api === null) throw new Error("the server is not open");
    return this.#api;
  }

  async #start(): Promise<Api> {
    const { plant } = this.#options;
    const target = plant === undefined ? {} : { target: { plant } };
    this.#server = new ServerProcess({ place: this.#place, beside: this.#beside, ...target });
    this.#api = new Api(await this.#server.ready, this.#keys?.token);
    return this.#api;
  }

  async #unsealed(): Promise<void> {
    if (this.#keys === null || this.#server === null) throw new Error("there is no server");
    await this.#owner.unseal(this.#keys, this.#random);
    if (this.#owner.token !== undefined) return;
    this.#owner.close();
    this.#api = new Api(await this.#server.ready, this.#keys.token);
  }

  async #kill(): Promise<void> {
    await this.#server?.kill();
    this.#api?.close();
    this.#kills++;
  }
}

type Answer = Awaited<ReturnType<Api["call"]>> | null;
