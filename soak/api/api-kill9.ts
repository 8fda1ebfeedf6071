// The whole server under SIGKILL at random moments, also while it starts, initialises, unseals, seals,
// stops, rotates keys, deletes namespaces and enables audit devices; start again, unseal with any
// three shares, and read everything back over the API.

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Prng } from "../../sim/prng.ts";
import { at } from "../../tests/support/http-client.ts";
import { ApiLedger } from "./api-ledger.ts";
import { AuditTrail } from "./api-audit-trail.ts";
import { readBack } from "./api-reading.ts";
import { changeOf, type Scene, scenesOf, Watched } from "./api-scenes.ts";
import { Api, type Keys, NodePlace, ServerProcess, THRESHOLD } from "./api-server.ts";
import { EXTRA, isDisconnected, Workload } from "./api-workload.ts";
import { discard, scratch } from "../child.ts";
import type { Result } from "../result.ts";
import { errorText } from "../../tests/support/error-text.ts";

export interface ApiKill9Options {
  readonly cycles: number;
  readonly clients: number;
  readonly seed: number;
  readonly plant?: "write-behind";
  readonly say: (line: string) => void;
}

const LONGEST_START_MS = 500;
const LONGEST_RUN_MS = 400;
const LONGEST_STEP_MS = 30; // unsealing, sealing, stopping
const LONGEST_CHANGE_MS = 4;

export async function apiKill9(options: ApiKill9Options): Promise<Result> {
  const place = scratch("api-kill9");
  const run = new Run(options, place);
  try {
    if (options.plant === undefined) await run.killInits(2);
    await run.initialise();
    for (const scene of scenesOf(options.cycles, new Prng(options.seed).fork("scenes"))) {
      await run.cycle(scene);
      if (run.wrong.length > 0) break;
      if (run.kills % 20 === 0) options.say(run.figure);
    }
    if (run.wrong.length === 0) await run.end();
  } catch (error) {
    run.wrong.push(`cycle ${run.kills}: ${errorText(error)}\n${run.lastLog}`);
  } finally {
    await run.stop();
    discard(place);
  }
  const { figure, wrong } = run;
  return wrong.length === 0
    ? { ok: true, figure }
    : { ok: false, figure, detail: wrong.slice(0, 10).join("\n") };
}

class Run {
  readonly #options: ApiKill9Options;
  readonly #random: Prng;
  readonly #beside: string;
  readonly #ledger = new ApiLedger();
  #place: NodePlace;
  #trail: AuditTrail;
  #server: ServerProcess | null = null;
  #keys: Keys | null = null;
  #acknowledged = 0;
  #slowest = 0;
  readonly wrong: string[] = [];
  kills = 0;

  constructor(options: ApiKill9Options, directory: string) {
    this.#options = options;
    this.#random = new Prng(options.seed);
    this.#beside = join(directory, "beside");
    this.#place = new NodePlace(join(directory, "node"));
    this.#trail = new AuditTrail(this.#place.audit);
  }

  get figure(): string {
    const { records } = this.#trail;
    const lost = this.wrong.length === 0 ? "0 lost" : "something is wrong";
    return `${this.kills} kills, ${this.#acknowledged} acknowledged changes, ${lost}, ${records} audit records, slowest start to unsealed ${this.#slowest.toFixed(0)} ms`;
  }

  get lastLog(): string {
    return (this.#server?.log ?? "").split("\n").slice(-8).join("\n");
  }

  /** Killed while it initialises, a node is initialised or not, and in either case starts again. */
  async killInits(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const server = this.#start();
      const api = new Api(await server.ready);
      const initialising = api.init().catch(disconnected);
      await pause(this.#random.int(LONGEST_STEP_MS));
      await this.#kill(server);
      const keys = await initialising;
      const again = this.#start();
      const second = new Api(await again.ready);
      const initialised = at(await second.expect([200], "GET", "sys/init"), "initialized") === true;
      if (keys !== null && !initialised) this.wrong.push("an acknowledged init is gone");
      if (keys !== null) await second.unseal(keys, this.#random);
      if (!initialised) await second.init();
      await this.#kill(again);
      discard(this.#place.directory);
    }
  }

  async initialise(): Promise<void> {
    const server = this.#start();
    const api = new Api(await server.ready);
    this.#keys = await api.init();
    await api.unseal(this.#keys, this.#random);
    const owner = new Api(await server.ready, this.#keys.token);
    const body = { type: "file", options: { file_path: this.#place.auditFile("file") } };
    await owner.expect([204], "POST", "sys/audit/file", { body });
    this.#ledger.done("device/file", "on");
    this.#ledger.done(`device/${EXTRA}`, "");
    this.#ledger.done("term", "1");
    server.process.kill("SIGTERM");
    await server.ended;
  }

  async cycle(scene: Scene): Promise<void> {
    const random = this.#random;
    const began = performance.now();
    const server = this.#start();
    if (scene === "starting") {
      await pause(random.int(LONGEST_START_MS));
      await this.#kill(server);
      return;
    }
    const api = new Api(await server.ready, this.#opened.token);
    if (scene === "unsealing") {
      await this.#killWhileUnsealing(server, api);
      return;
    }
    await api.unseal(this.#opened, random);
    this.#slowest = Math.max(this.#slowest, performance.now() - began);
    await this.#readBack(api, scene);
    if (this.wrong.length > 0) return;

    let workload = this.#work(api, scene);
    if (scene === "reopened") {
      await pause(random.int(LONGEST_RUN_MS));
      await api.expect([204], "POST", "sys/seal");
      await this.#closed(workload, scene);
      await api.expect([503], "GET", "sys/key-status");
      await api.unseal(this.#opened, random);
      await this.#readBack(api, scene);
      workload = this.#work(api, scene);
    }
    await this.#untilTheMoment(scene, workload);
    if (scene === "sealing") {
      api.call("POST", "sys/seal").catch(disconnected);
      await pause(random.int(LONGEST_STEP_MS));
    } else if (scene === "stopping") {
      server.process.kill("SIGTERM");
      await pause(random.int(LONGEST_STEP_MS));
    }
    await this.#kill(server, scene === "stopping");
    await this.#closed(workload, scene);
    api.close();
  }

  /** Once more, with an end in good order between two looks. */
  async end(): Promise<void> {
    for (let look = 0; look < 2; look++) {
      const server = this.#start();
      const api = new Api(await server.ready, this.#opened.token);
      await api.unseal(this.#opened, this.#random);
      await this.#readBack(api, "at the end");
      api.close();
      server.process.kill("SIGTERM");
      const { code, signal, errors } = await server.ended;
      if (code !== 0) this.wrong.push(`SIGTERM: ended with ${code ?? signal}\n${errors}`);
    }
  }

  async stop(): Promise<void> {
    await this.#server?.kill();
  }

  get #opened(): Keys {
    if (this.#keys === null) throw new Error("the server was not initialised");
    return this.#keys;
  }

  #start(): ServerProcess {
    const { plant } = this.#options;
    const target = plant === undefined ? {} : { target: { plant } };
    this.#server = new ServerProcess({ place: this.#place, beside: this.#beside, ...target });
    return this.#server;
  }

  async #kill(server: ServerProcess, mayHaveEnded = false): Promise<void> {
    const { code, signal, errors } = await server.kill();
    this.kills++;
    if (signal === "SIGKILL" || (mayHaveEnded && code === 0)) return;
    this.wrong.push(`the server ended with ${code ?? signal} before it was killed\n${errors}`);
  }

  async #killWhileUnsealing(server: ServerProcess, api: Api): Promise<void> {
    const shares = this.#random.shuffle(this.#opened.shares);
    const count = 1 + this.#random.int(THRESHOLD);
    for (const [i, key] of shares.slice(0, count).entries()) {
      const answer = api.call("POST", "sys/unseal", { body: { key } }).catch(disconnected);
      if (i < count - 1) await answer;
    }
    await pause(this.#random.int(LONGEST_STEP_MS));
    await this.#kill(server);
    api.close();
  }

  #work(api: Api, scene: Scene): Watched {
    return new Watched(changeOf(scene), 1 + this.#random.int(4), (onEvent) => {
      const { clients } = this.#options;
      const [ledger, place] = [this.#ledger, this.#place];
      const random = this.#random.fork(`work ${this.kills}`);
      return new Workload({ api, ledger, place, random, clients, onEvent });
    });
  }

  async #untilTheMoment(scene: Scene, { came, workload }: Watched): Promise<void> {
    if (changeOf(scene) === undefined) return pause(this.#random.int(LONGEST_RUN_MS));
    await Promise.race([came, workload.ended]);
    await pause(this.#random.int(LONGEST_CHANGE_MS));
  }

  /** The clients have noticed; what they were told must stand in the audit files. */
  async #closed({ workload }: Watched, scene: Scene): Promise<void> {
    workload.stop();
    await workload.ended;
    this.#acknowledged += workload.acknowledged.size;
    const wrong = [...workload.wrong, ...this.#trail.missing(workload.acknowledged)];
    this.wrong.push(...wrong.map((text) => `${scene}, kill ${this.kills}: ${text}`));
  }

  async #readBack(api: Api, when: string): Promise<void> {
    const { clients } = this.#options;
    const wrong = await readBack(api, this.#ledger, { clients });
    this.wrong.push(...wrong.map((text) => `${when}, after kill ${this.kills}: ${text}`));
  }
}

function disconnected(error: unknown): null {
  if (isDisconnected(error)) return null;
  throw error;
}
