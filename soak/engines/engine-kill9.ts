// SIGKILL inside the issue and the revocation of secrets, at each step of an engine and at random, also
// while a server that was killed puts right what was left: no object outside without its lease after
// rollback, no acknowledged lease lost, none revoked again once its end was acknowledged. The same for an
// engine that is a plugin, where it is the server that dies, or the plugin alone.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Prng } from "../../sim/prng.ts";
import { at } from "../../tests/support/http-client.ts";
import type { Step } from "../../tests/support/stores/outside.ts";
import type { ApiTargetOptions } from "../api/api-target.ts";
import { type ArmedDeath, AsPlugin, BuiltIn, type CountingSide } from "./counting-sides.ts";
import { Api, type Keys, NodePlace, ServerProcess, texts } from "../api/api-server.ts";
import { isDisconnected } from "../api/api-workload.ts";
import { discard, scratch } from "../child.ts";
import { EngineLedger, type Known, OutsideJournal } from "./engine-ledger.ts";
import { type Result, resultOf } from "../result.ts";
import { errorText } from "../../tests/support/error-text.ts";

export interface EngineKill9Options {
  /** The engine is a process of its own. Default: it is built in. */
  readonly asPlugin?: boolean;
  readonly rounds: number;
  readonly seed: number;
  readonly plant?: "no-undo" | "write-behind";
  readonly say: (line: string) => void;
}

const CLIENTS = 8;
const MAX_LIVING = 60; // more are revoked rather than added to
const MAX_ARRIVALS = 24; // at the step, before the kill
const LONGEST_RUN_MS = 300; // before a kill at random
const PATIENCE_MS = 5000; // for a step to be reached; then the kill comes from outside
const LONGEST_SETTLING_MS = 20_000;
const LONGEST_PLANTED_MS = 4000; // it does not settle, which is the point
const POLL_MS = 40;
const OVERDUE_MS = 1000; // settled by then, or it waits for its next try
const NEXT_TRY_S = 61;
const SCENES: readonly (Step | "random")[] = [
  "issue",
  "recorded",
  "made",
  "revoke",
  "revoked",
  "undo", // these two end the process while it puts right what the one before left
  "undone",
  "random",
];
const PUTTING_RIGHT: readonly string[] = ["undo", "undone"];

export async function engineKill9(options: EngineKill9Options): Promise<Result> {
  const directory = scratch(options.asPlugin === true ? "plugin-kill9" : "engine-kill9");
  const run = new Run(options, directory);
  try {
    await run.initialise();
    for (let round = 1; round <= options.rounds && run.wrong.length === 0; round++) {
      await run.round();
      if (round % 25 === 0) options.say(run.figure);
    }
    if (run.wrong.length === 0) await run.end();
  } catch (error) {
    run.wrong.push(`kill ${run.kills}: ${errorText(error)}\n${run.lastLog}`);
  } finally {
    await run.stop();
    discard(directory);
  }
  return resultOf(run.figure, run.wrong);
}

class Run {
  readonly #options: EngineKill9Options;
  readonly #random: Prng;
  readonly #beside: string;
  readonly #side: CountingSide;
  readonly #place: NodePlace;
  readonly #ledger: EngineLedger;
  #server: ServerProcess | null = null;
  #api: Api | null = null;
  #keys: Keys | null = null;
  #dead = false;
  #issued = 0;
  #revoked = 0;
  #lost = 0;
  #atStep = 0;
  #ofPlugin = 0;
  readonly wrong: string[] = [];
  kills = 0;

  constructor(options: EngineKill9Options, directory: string) {
    this.#options = options;
    this.#random = new Prng(options.seed);
    this.#beside = join(directory, "beside");
    const neverUndoes = options.plant === "no-undo";
    const Side = options.asPlugin === true ? AsPlugin : BuiltIn;
    this.#side = new Side(directory, neverUndoes);
    this.#place = new NodePlace(join(directory, "node"));
    this.#ledger = new EngineLedger(new OutsideJournal(this.#side.journal));
  }

  get figure(): string {
    const undone = this.#ledger.journal.events.filter(({ cause }) => cause === "undo").length;
    const ofPlugin = this.#ofPlugin === 0 ? "" : `, ${this.#ofPlugin} of the plugin alone`;
    const kills = `${this.kills} kills (${this.#atStep} at a step of the engine${ofPlugin})`;
    const summary = `${this.#issued} acknowledged leases, ${this.#revoked} acknowledged ends, ${this.#lost} answers lost, ${undone} undone`;
    return `${kills}, ${summary}: ${this.wrong.length === 0 ? "0 leaked, 0 lost, 0 twice" : "something is wrong"}`;
  }

  get lastLog(): string {
    return (this.#server?.log ?? "").split("\n").slice(-8).join("\n");
  }

  async initialise(): Promise<void> {
    const url = await this.#start(null).ready;
    const stranger = new Api(url);
    this.#keys = await stranger.init();
    await stranger.unseal(this.#keys, this.#random);
    stranger.close();
    const api = (this.#api = new Api(url, this.#keys.token));
    const device = { type: "file", options: { file_path: this.#place.auditFile("file") } };
    await api.expect([204], "POST", "sys/audit/file", { body: device });
    await this.#side.register(api);
    await api.expect([204], "POST", "sys/mounts/count", { body: { type: "counting" } });
    for (const [role, ttl] of [["long", 86_400] as const, ["brief", 1] as const]) {
      await api.expect([204], "POST", `count/roles/${role}`, { body: { ttl } });
    }
    this.#server?.process.kill("SIGTERM");
    await this.#server?.ended;
    api.close();
  }

  /** One life of the server, with what the one before left to be put right at its beginning. */
  async round(): Promise<void> {
    // What undoes needs something to undo: a kill in the middle of an issue comes before.
    const scene = SCENES[this.#random.int(SCENES.length)] ?? "random";
    if (PUTTING_RIGHT.includes(scene)) await this.#life("made", 1 + this.#random.int(3));
    if (this.wrong.length > 0) return;
    await this.#life(scene, 1 + this.#random.int(PUTTING_RIGHT.includes(scene) ? 2 : MAX_ARRIVALS));
  }

  async #life(scene: Step | "random", nth: number): Promise<void> {
    const armed = PUTTING_RIGHT.includes(scene);
    const { mortals } = this.#side;
    const whose = mortals[this.#random.int(mortals.length)] ?? "server";
    const death: ArmedDeath | null = scene === "random" ? null : { whose, step: scene, nth, armed };
    const server = this.#start(death);
    let clients: Promise<unknown> = Promise.resolve();
    const lives = async () => {
      await this.#open(server);
      if (armed) return;
      await this.#settled();
      if (this.wrong.length > 0) return;
      await this.#owner.expect([200], "LIST", "count/roles"); // a plugin has started by then
      if (death !== null) this.#side.arm(server, death);
      clients = Promise.all(Array.from({ length: CLIENTS }, () => this.#client()));
    };
    await lives().catch(disconnected);
    const longest = death === null ? this.#random.int(LONGEST_RUN_MS) : PATIENCE_MS;
    const over = new AbortController();
    const pluginDied = death?.whose === "plugin" ? [this.#side.pluginDied(over.signal)] : [];
    const byItself = await Promise.race([
      server.ended,
      ...pluginDied,
      pause(longest, null, { ref: false }),
    ]);
    over.abort();
    if (byItself !== null) this.#atStep++;
    if (byItself === true) {
      this.#ofPlugin++;
      await this.#goesOn(clients);
    }
    this.#dead = true;
    const { signal, code, errors } = await server.kill();
    this.kills++;
    if (signal !== "SIGKILL") this.wrong.push(`the server ended with ${code}\n${errors}`);
    await clients;
    this.#api?.close();
  }

  /** The server without its plugin: it puts right what was left before it is killed itself, or is killed on the way. */
  async #goesOn(clients: Promise<unknown>): Promise<void> {
    await pause(this.#random.int(LONGEST_RUN_MS));
    if (this.#random.chance(0.5)) return;
    this.#dead = true;
    await clients;
    await this.#settled();
  }

  /** Everything is ended, and nothing is left anywhere. */
  async end(): Promise<void> {
    const server = this.#start(null);
    await this.#open(server);
    await this.#settled();
    for (const known of this.#ledger.of("living")) known.state = "ending";
    await this.#owner.expect([204], "POST", "sys/leases/revoke-prefix/count", {
      body: { sync: true },
    });
    await this.#settled();
    const left = this.#ledger.journal.objects.size;
    if (left > 0) this.wrong.push(`${left} objects are outside after the end of every lease`);
  }

  async stop(): Promise<void> {
    this.#api?.close();
    await this.#server?.kill();
  }

  /** Waits until nothing is left to be done, and then looks. */
  async #settled(): Promise<void> {
    const ledger = this.#ledger;
    // Whoever asked for an end and got no answer asks again.
    for (const { id } of ledger.of("ending")) await this.#revoke(id, true);
    const longest = this.#options.plant === undefined ? LONGEST_SETTLING_MS : LONGEST_PLANTED_MS;
    const limit = performance.now() + longest;
    let nextTry = performance.now() + OVERDUE_MS;
    let leases: ReadonlySet<string>;
    for (;;) {
      leases = await this.#leases();
      const unsettled = ledger.unsettled(leases);
      if (unsettled === null) break;
      if (performance.now() > limit) {
        this.wrong.push(`kill ${this.kills}: ${unsettled}\n${this.lastLog}`);
        return;
      }
      if (performance.now() > nextTry) {
        this.#side.advance(this.#server, NEXT_TRY_S);
        nextTry += OVERDUE_MS;
      }
      await pause(POLL_MS);
    }
    this.wrong.push(...ledger.wrong(leases).map((text) => `kill ${this.kills}: ${text}`));
    ledger.forgetEnded();
    // Leases whose answer was lost: nobody knows them, so nobody would end them.
    for (const id of leases) if (!ledger.known.has(id)) await this.#revoke(id, true);
    const strays = ledger.strays();
    if (strays > 0) this.wrong.push(`kill ${this.kills}: ${strays} objects have no lease`);
  }

  async #leases(): Promise<Set<string>> {
    const found = new Set<string>();
    for (const role of ["long", "brief"]) {
      const path = `count/creds/${role}`;
      const answer = await this.#owner.expect([200, 404], "LIST", `sys/leases/lookup/${path}`);
      for (const name of texts(at(answer, "data", "keys"))) found.add(`${path}/${name}`);
    }
    return found;
  }

  async #client(): Promise<void> {
    while (!this.#dead) {
      try {
        const living = this.#ledger.of("living");
        const revokes = this.#random.chance(living.length > MAX_LIVING ? 0.9 : 0.4);
        const one = revokes ? living[this.#random.int(Math.max(1, living.length))] : undefined;
        if (one === undefined) await this.#issue(this.#random.chance(0.15) ? "brief" : "long");
        else await this.#endOne(one);
      } catch (error) {
        if (isDisconnected(error)) this.#lost++;
        else this.wrong.push(`kill ${this.kills}: ${errorText(error)}`);
        return;
      }
    }
  }

  async #issue(role: "long" | "brief"): Promise<void> {
    // 503: it took so long that rollback took it for left behind. What was made for it must go.
    const statuses = [200, 503, ...this.#side.failed];
    const answer = await this.#owner.expect(statuses, "GET", `count/creds/${role}`);
    if (answer.status !== 200) return;
    const [id, object] = [at(answer, "lease_id"), at(answer, "data", "object")].map(String);
    this.#ledger.issued(id ?? "", object ?? "", role === "brief" ? "ending" : "living");
    this.#issued++;
  }

  async #endOne(one: Known): Promise<void> {
    one.state = "ending"; // whatever the answer, from here on it may be over
    const sync = this.#random.chance(0.7);
    if (!(await this.#revoke(one.id, sync)) || !sync) return;
    this.#ledger.ended(one);
    this.#revoked++;
  }

  /** Whether it was, and did not fail with the plugin. */
  async #revoke(id: string, sync: boolean): Promise<boolean> {
    const body = { lease_id: id, sync };
    const good = sync ? 204 : 202;
    const statuses = [good, ...this.#side.failed];
    const { status } = await this.#owner.expect(statuses, "POST", "sys/leases/revoke", { body });
    return status === good;
  }

  get #owner(): Api {
    if (this.#api === null) throw new Error("the server is not open");
    return this.#api;
  }

  async #open(server: ServerProcess): Promise<void> {
    if (this.#keys === null) throw new Error("the server was not initialised");
    this.#api = new Api(await server.ready, this.#keys.token);
    await this.#api.unseal(this.#keys, this.#random);
  }

  #start(death: ArmedDeath | null): ServerProcess {
    const target: ApiTargetOptions = {
      ...this.#side.options(death),
      ...(this.#options.plant === "write-behind" ? { plant: "write-behind" } : {}),
    };
    const { settings } = this.#side;
    this.#dead = false;
    this.#server = new ServerProcess({
      place: this.#place,
      beside: this.#beside,
      settings,
      target,
    });
    return this.#server;
  }
}

/** A server that is killed while it starts, or while it puts things right, answers no more. */
function disconnected(error: unknown): void {
  const message = error instanceof Error ? error.message : "";
  if (!isDisconnected(error) && !message.includes("ended with SIGKILL")) throw error;
}
