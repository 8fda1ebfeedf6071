// What clients do to a running server until it goes away: writers that change the metadata of their
// namespaces, one that makes and deletes namespaces, one that rotates keys, one that enables and
// disables an audit device. Each waits for one answer at a time, so each has at most one change whose
// outcome is unknown.

import { setTimeout as pause } from "node:timers/promises";
import type { Prng } from "../../sim/prng.ts";
import type { Answer } from "../../tests/support/http-client.ts";
import { type ApiLedger, type LedgerEvent, showEvent, UNSET } from "./api-ledger.ts";
import { metadataAfter, patchTo } from "./api-metadata.ts";
import { type Api, type NodePlace, UnexpectedAnswer } from "./api-server.ts";

export const EXTRA = "extra";
const NAMES = ["x0", "x1", "x2"];
const ROTATE_EVERY_MS = 25;
const ENABLE_EVERY_MS = 15;
const DELETE_AGAIN_MS = 2;

export interface WorkloadOptions {
  readonly api: Api;
  readonly ledger: ApiLedger;
  readonly place: NodePlace;
  readonly random: Prng;
  readonly clients: number;
  /** Writes of each writer, after which everything stops. Default: until stopped. */
  readonly writes?: number;
  /** Hears of every event, after the ledger. */
  readonly onEvent?: (event: LedgerEvent) => void;
}

/** The server is sealed or going down: nothing is wrong, and nothing more to do. */
class Closed extends Error {}

export class Workload {
  readonly #options: WorkloadOptions;
  readonly #ended: Promise<void>;
  #stopped = false;
  /** Acknowledged changes by the ids of their requests. */
  readonly acknowledged = new Map<string, string>();
  readonly wrong: string[] = [];

  constructor(options: WorkloadOptions) {
    this.#options = options;
    const writers = Array.from({ length: options.clients }, (_, id) => this.#writer(id));
    const written = Promise.all(writers.map((writer) => this.#watch(writer)));
    const others = [this.#landlord(), this.#rotator(), this.#auditor()];
    void written.then(() => this.stop());
    this.#ended = Promise.all([written, ...others.map((other) => this.#watch(other))]).then(
      () => {},
    );
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Resolves when every client has its answer, or knows that none will come. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  async #watch(client: Promise<void>): Promise<void> {
    try {
      await client;
    } catch (error) {
      if (error instanceof UnexpectedAnswer) this.wrong.push(error.message);
      else if (!(error instanceof Closed) && !isDisconnected(error)) throw error;
    }
  }

  async #writer(id: number): Promise<void> {
    const { ledger, writes = Infinity } = this.#options;
    const register = `writer/${id}`;
    for (let done = 0; done < writes && !this.#stopped; done++) {
      const n = Number(ledger.known(register) ?? missing(register)) + 1;
      const whole = n === 1 || n % 3 === 0;
      const body = { custom_metadata: whole ? metadataAfter(id, n) : patchTo(id, n) };
      const method = whole ? "POST" : "PATCH";
      await this.#change(register, String(n), [200], method, `sys/namespaces/w${id}`, body);
    }
  }

  async #landlord(): Promise<void> {
    const { random } = this.#options;
    while (!this.#stopped) {
      for (const name of NAMES) {
        const inner = `${name}/inner`;
        for (const path of [inner, name]) await this.#deleteSpace(path);
        for (const path of [name, inner]) {
          if (this.#stopped) return;
          const birth = String(random.int(1e9));
          const body = { custom_metadata: { birth } };
          await this.#change(`space/${path}`, birth, [200], "POST", `sys/namespaces/${path}`, body);
        }
      }
    }
  }

  async #deleteSpace(path: string): Promise<void> {
    const { ledger } = this.#options;
    const register = `space/${path}`;
    const url = `sys/namespaces/${path}`;
    if ((ledger.known(register) ?? missing(register)) === UNSET) return;
    if (this.#stopped) return;
    await this.#change(register, UNSET, [202, 204], "DELETE", url);
    // Until it is emptied its name, and so that of its parent, is taken.
    for (;;) {
      const answer = await this.#send([202, 204], "DELETE", url);
      if (answer.status === 204) return;
      await pause(DELETE_AGAIN_MS);
    }
  }

  async #rotator(): Promise<void> {
    const { ledger, random } = this.#options;
    while (!this.#stopped) {
      await pause(random.int(2 * ROTATE_EVERY_MS));
      if (this.#stopped) return;
      const term = Number(ledger.known("term") ?? missing("term")) + 1;
      await this.#change("term", String(term), [204], "POST", "sys/rotate");
    }
  }

  async #auditor(): Promise<void> {
    const { ledger, place, random } = this.#options;
    const register = `device/${EXTRA}`;
    const options = { file_path: place.auditFile(EXTRA) };
    const url = `sys/audit/${EXTRA}`;
    while (!this.#stopped) {
      await pause(random.int(2 * ENABLE_EVERY_MS));
      if (this.#stopped) return;
      const on = (ledger.known(register) ?? missing(register)) !== UNSET;
      if (on) await this.#change(register, UNSET, [204], "DELETE", url);
      else await this.#change(register, "on", [204], "POST", url, { type: "file", options });
    }
  }

  async #change(
    register: string,
    value: string,
    statuses: readonly number[],
    method: string,
    path: string,
    body?: object,
  ): Promise<void> {
    this.#tell({ what: "begin", register, value });
    const answer = await this.#send(statuses, method, path, body);
    const done: LedgerEvent = { what: "done", register, value };
    this.acknowledged.set(String(answer.headers["x-service-request-id"]), showEvent(done));
    this.#tell(done);
  }

  async #send(
    statuses: readonly number[],
    method: string,
    path: string,
    body?: object,
  ): Promise<Answer> {
    const answer = await this.#options.api.call(method, path, body === undefined ? {} : { body });
    if (answer.status === 503) throw new Closed();
    if (statuses.includes(answer.status)) return answer;
    throw new UnexpectedAnswer(`${method} ${path}: ${answer.status} ${answer.text}`, answer.status);
  }

  #tell(event: LedgerEvent): void {
    this.#options.ledger.take(event);
    this.#options.onEvent?.(event);
  }
}

function missing(register: string): never {
  throw new Error(`${register} was not read before the clients began`);
}

export function isDisconnected(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return ["ECONNRESET", "ECONNREFUSED", "EPIPE"].includes(String(error.code));
}
