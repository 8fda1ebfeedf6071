// Clients of a replication set, all at once: each reads and writes registers, one operation after the other, at the cluster
// that leads as far as it knows. Where that one refuses or is gone it asks the other. Everything is written down.

import { Agent } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { Prng } from "../../sim/prng.ts";
import { type Answer, at, call } from "../../tests/support/http-client.ts";
import type { ClusterProcess } from "../../tests/support/replication/cluster-process.ts";
import type { ClientHistory, Operation, Register } from "./client-history.ts";

/** Between two operations of one client, on an average: the machine is also to replicate what they write. */
const PAUSE_MS = 8;
/** Whoever says this has done nothing. */
const REFUSALS =
  /^(?:dr_secondary|sealed|seal_sealed|replication_(?:role_changing|fenced|lease_lapsed))$/;

export interface Site {
  readonly name: string;
  readonly cluster: ClusterProcess;
}

export interface ClientsOptions {
  readonly sites: readonly Site[];
  readonly registers: readonly string[];
  readonly clients: number;
  readonly random: Prng;
  readonly history: ClientHistory;
}

type Intent = Pick<Operation, "client" | "register" | "kind" | "expected" | "value">;

export class RegisterClients {
  readonly #options: ClientsOptions;
  readonly #running: Promise<void>[];
  readonly #underWay = new Map<Site, number>();
  readonly #agent = new Agent({ keepAlive: true });
  #stopped = false;
  #written = 0;
  /** Where everybody goes; null: nobody knows. */
  leader: Site | null;
  /** Where every second one goes nevertheless. */
  left: Site | null = null;
  /** Writes that were acknowledged. */
  acknowledged = 0;
  /** Answers that nobody expects. */
  readonly wrong: string[] = [];

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.leader = options.sites[0]!;
    this.#running = Array.from({ length: options.clients }, (_, i) => this.#client(i));
  }

  /** Everybody has its last answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Resolves after so many more acknowledged writes. */
  async writes(count: number): Promise<void> {
    const end = this.acknowledged + count;
    while (this.acknowledged < end && this.wrong.length === 0) await pause(1);
  }

  /** Nobody waits for an answer of this one. */
  async gone(site: Site): Promise<void> {
    while ((this.#underWay.get(site) ?? 0) > 0) await pause(1);
  }

  /** All registers as this one has them; it must answer. */
  async readAll(site: Site): Promise<ReadonlyMap<string, Register>> {
    const found = new Map<string, Register>();
    for (const register of this.#options.registers) {
      const intent = { client: "last", register, kind: "read", expected: null, value: "" } as const;
      const { found: seen } = await this.#perform(site, intent);
      if (seen === null) throw new Error(`${site.name} does not answer for ${register}`);
      found.set(register, seen);
    }
    return found;
  }

  async #client(number: number): Promise<void> {
    const { sites, registers } = this.#options;
    const random = this.#options.random.fork(`client ${number}`);
    const client = `client ${number}`;
    const known = new Map<string, number>();
    let site = sites[0]!;
    while (!this.#stopped) {
      const directed = number % 2 === 1 ? (this.left ?? this.leader) : this.leader;
      site = directed ?? site;
      const register = random.pick(registers);
      const roll = random.int(10);
      const kind = roll < 4 ? "read" : "write";
      const expected = roll < 8 ? null : (known.get(register) ?? 0);
      const value = kind === "read" ? "" : `v${++this.#written}`;
      const { type, found } = await this.#perform(site, {
        client,
        register,
        kind,
        expected,
        value,
      });
      if (found !== null) known.set(register, found.version);
      if (type !== "ok" && found === null) site = sites.find((other) => other !== site) ?? site;
      await pause(random.int(2 * PAUSE_MS));
    }
  }

  async #perform(site: Site, intent: Intent): Promise<Operation> {
    const began = performance.now();
    this.#underWay.set(site, (this.#underWay.get(site) ?? 0) + 1);
    const outcome = await this.#send(site.cluster, intent).catch(unanswered);
    this.#underWay.set(site, (this.#underWay.get(site) ?? 0) - 1);
    const operation = { ...intent, ...outcome, site: site.name, began, ended: performance.now() };
    this.#options.history.operations.push(operation);
    if (intent.kind === "write" && operation.type === "ok") this.acknowledged++;
    return operation;
  }

  async #send({ address, token }: ClusterProcess, intent: Intent): Promise<Outcome> {
    const { register, kind, expected, value } = intent;
    const options = expected === null ? {} : { options: { cas: expected } };
    const body = { data: { value }, ...options };
    const answer = await call(
      address,
      kind === "read" ? "GET" : "POST",
      `/v1/secret/data/${register}`,
      // Of its own: the other one sends again where nobody knows what became of it.
      { token, agent: this.#agent, ...(kind === "read" ? {} : { body }) },
    );
    return kind === "read" ? this.#read(answer) : this.#wrote(answer, value);
  }

  #read(answer: Answer): Outcome {
    if (answer.status === 404) return { type: "ok", found: { version: 0, value: "" } };
    if (answer.status !== 200) return this.#refused(answer);
    const version = Number(at(answer, "data", "metadata", "version"));
    return { type: "ok", found: { version, value: String(at(answer, "data", "data", "value")) } };
  }

  #wrote(answer: Answer, value: string): Outcome {
    if (answer.status === 200) {
      return { type: "ok", found: { version: Number(at(answer, "data", "version")), value } };
    }
    const [, current] = /the current version is (\d+)/.exec(answer.text) ?? [];
    if (current === undefined) return this.#refused(answer);
    return { type: "fail", found: { version: Number(current), value: "" } };
  }

  #refused({ status, headers, text }: Answer): Outcome {
    if (status === 503 && REFUSALS.test(String(headers["x-service-error"]))) {
      return { type: "fail", found: null };
    }
    if (status !== 503) this.wrong.push(`${status} ${text}`);
    return UNKNOWN;
  }
}

type Outcome = Pick<Operation, "type" | "found">;

const UNKNOWN: Outcome = { type: "info", found: null };

/** Where nobody listens, nothing was sent. */
function unanswered(error: NodeJS.ErrnoException): Outcome {
  return error.code === "ECONNREFUSED" ? { type: "fail", found: null } : UNKNOWN;
}
