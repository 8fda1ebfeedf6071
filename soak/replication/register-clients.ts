// Clients of a replication set, all at once: each reads and writes registers, one operation after the other, in one place of
// the set or in another, at the cluster that it knows to answer there. Where that one refuses or is gone it asks the one that
// stands in for it. Some show with each request up to where they have seen (X-Service-State). Everything is written down.

import { Agent } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { Prng } from "../../sim/prng.ts";
import { type Answer, at, call } from "../../tests/support/http-client.ts";
import type { ClusterProcess } from "../../tests/support/replication/cluster-process.ts";
import type { TcpProxy } from "../../tests/support/replication/tcp-proxy.ts";
import { type ClientHistory, type Operation, type Register, UNWRITTEN } from "./client-history.ts";

/** Between two operations of one client, on an average: the machine is also to replicate what they write. */
const PAUSE_MS = 8;
/** Whoever says this has done nothing. */
const REFUSALS =
  /^(?:dr_secondary|sealed|seal_sealed|first_copy|shared_half|no_primary|state_(?:not_reached|lost)|primary_(?:unreachable|busy|not_serving|refuses|superseded)|replication_(?:role_changing|fenced|lease_lapsed))$/;
/** By the statuses that go with these. */
const UNAVAILABLE = 503;
const BEHIND = 412;
const STATE = "x-service-state";

export interface Site {
  readonly name: string;
  readonly cluster: ClusterProcess;
  /** Where its stand-in comes to it. Default: where everybody does. */
  readonly aside?: TcpProxy;
}

/** Where clients go: a cluster, or the one that stands in for it. */
export class Place {
  readonly sites: readonly Site[];
  /** Where everybody goes; null: nobody knows. */
  now: Site | null;
  /** Where every second one goes nevertheless. */
  left: Site | null = null;
  /** Registers that nobody finds here, and nobody changes from here. */
  readonly withheld: ReadonlySet<string>;

  constructor(sites: readonly Site[], withheld: readonly string[] = []) {
    this.sites = sites;
    this.now = sites[0]!;
    this.withheld = new Set(withheld);
  }
}

export interface ClientsOptions {
  readonly places: readonly Place[];
  readonly registers: readonly string[];
  /** In which mount one is. Default: secret. */
  readonly mountOf?: (register: string) => string;
  readonly clients: number;
  /** Half of them show what they have seen. Default: nobody does. */
  readonly states?: boolean;
  readonly random: Prng;
  readonly history: ClientHistory;
}

type Intent = Pick<Operation, "client" | "register" | "kind" | "expected" | "value">;

/** Of a client that shows up to where it has seen: until it hears that this is lost. */
interface Session {
  readonly number: number;
  state: string | null;
}

export class RegisterClients {
  readonly #options: ClientsOptions;
  readonly #mountOf: (register: string) => string;
  readonly #running: Promise<void>[];
  readonly #underWay = new Map<Site, number>();
  readonly #agent = new Agent({ keepAlive: true });
  #stopped = false;
  #written = 0;
  #sessions = 0;
  /** Writes that were acknowledged. */
  acknowledged = 0;
  /** Of what a place does not have. */
  withheld = 0;
  /** Answers that nobody expects. */
  readonly wrong: string[] = [];

  constructor(options: ClientsOptions) {
    this.#options = options;
    this.#mountOf = options.mountOf ?? (() => "secret");
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

  /** All registers that a place has, as this one has them; it must answer. */
  async readAll(site: Site, { withheld }: Place): Promise<ReadonlyMap<string, Register>> {
    const found = new Map<string, Register>();
    for (const register of this.#options.registers) {
      if (withheld.has(register)) continue;
      const intent = { client: "last", register, kind: "read", expected: null, value: "" } as const;
      const { found: seen } = await this.#perform(site, intent, null);
      if (seen === null) throw new Error(`${site.name} does not answer for ${register}`);
      found.set(register, seen);
    }
    return found;
  }

  async #client(number: number): Promise<void> {
    const { places, registers, states = false } = this.#options;
    const random = this.#options.random.fork(`client ${number}`);
    const client = `client ${number}`;
    const known = new Map<string, number>();
    const sites = new Map(places.map((place) => [place, place.sites[0]!]));
    let session = states && number % 4 < 2 ? this.#begun() : null;
    while (!this.#stopped) {
      const place = random.pick(places);
      const directed = number % 2 === 1 ? (place.left ?? place.now) : place.now;
      const site = directed ?? sites.get(place)!;
      const register = random.pick(registers);
      const roll = random.int(10);
      const kind = roll < 4 ? "read" : "write";
      const expected = roll < 8 ? null : (known.get(register) ?? 0);
      const value = kind === "read" ? "" : `v${++this.#written}`;
      const intent: Intent = { client, register, kind, expected, value };
      if (place.withheld.has(register)) await this.#refusedAt(site, intent);
      else {
        const { type, found, refusal } = await this.#perform(site, intent, session);
        if (found !== null) known.set(register, found.version);
        if (refusal === "state_lost") session = this.#begun();
        const isElsewhere = type !== "ok" && found === null && !refusal.startsWith("state_");
        const { sites: all } = place;
        sites.set(place, isElsewhere ? (all.find((other) => other !== site) ?? site) : site);
      }
      await pause(random.int(2 * PAUSE_MS));
    }
  }

  #begun(): Session {
    return { number: ++this.#sessions, state: null };
  }

  async #perform(site: Site, intent: Intent, session: Session | null): Promise<Operation> {
    const began = performance.now();
    this.#underWay.set(site, (this.#underWay.get(site) ?? 0) + 1);
    const { state, ...outcome } = await this.#ask(site, intent, session).catch(unanswered);
    this.#underWay.set(site, (this.#underWay.get(site) ?? 0) - 1);
    const ended = performance.now();
    const number = session?.number ?? null;
    const operation = { ...intent, ...outcome, session: number, site: site.name, began, ended };
    if (session !== null && outcome.found !== null) session.state = state;
    this.#options.history.operations.push(operation);
    if (intent.kind === "write" && operation.type === "ok") this.acknowledged++;
    return operation;
  }

  async #ask(site: Site, intent: Intent, session: Session | null): Promise<Outcome> {
    const answer = await this.#send(site, intent, session?.state ?? null);
    const { kind, value } = intent;
    return kind === "read" ? this.#read(answer) : this.#wrote(answer, value);
  }

  #send({ cluster }: Site, intent: Intent, state: string | null): Promise<Answer> {
    const { register, kind, expected, value } = intent;
    const options = expected === null ? {} : { options: { cas: expected } };
    const body = { data: { value }, ...options };
    return call(
      cluster.address,
      kind === "read" ? "GET" : "POST",
      `/v1/${this.#mountOf(register)}/data/${register}`,
      {
        token: cluster.token,
        // Of its own: the other one sends again where nobody knows what became of it.
        agent: this.#agent,
        ...(state === null
          ? {}
          : { headers: { [STATE]: state, "x-service-inconsistent": "await-state" } }),
        ...(kind === "read" ? {} : { body }),
      },
    );
  }

  /** What is withheld there is for nobody who asks there. */
  async #refusedAt(site: Site, intent: Intent): Promise<void> {
    const answer = await this.#send(site, intent, null).catch(() => null);
    if (answer === null || answer.status === UNAVAILABLE) return;
    if (answer.status === 404 && at(answer, "data", "metadata") === undefined) this.withheld++;
    else this.wrong.push(`withheld: ${intent.kind} at ${site.name}: ${answer.text}`);
  }

  #read(answer: Answer): Outcome {
    if (answer.status === 404) return outcomeOf(answer, "ok", UNWRITTEN);
    if (answer.status !== 200) return this.#refused(answer);
    const version = Number(at(answer, "data", "metadata", "version"));
    return outcomeOf(answer, "ok", { version, value: String(at(answer, "data", "data", "value")) });
  }

  #wrote(answer: Answer, value: string): Outcome {
    if (answer.status === 200) {
      return outcomeOf(answer, "ok", { version: Number(at(answer, "data", "version")), value });
    }
    const [, current] = /the current version is (\d+)/.exec(answer.text) ?? [];
    if (current === undefined) return this.#refused(answer);
    return outcomeOf(answer, "fail", { version: Number(current), value: "" });
  }

  #refused({ status, headers, text }: Answer): Outcome {
    const refusal = String(headers["x-service-error"]);
    const isKnown = status === UNAVAILABLE || status === BEHIND;
    if (isKnown && REFUSALS.test(refusal)) return { ...UNKNOWN, type: "fail", refusal };
    if (status !== UNAVAILABLE) this.wrong.push(`${status} ${text}`);
    return { ...UNKNOWN, refusal };
  }
}

type Outcome = Pick<Operation, "type" | "found" | "refusal" | "isSeen" | "epoch"> & {
  readonly state: string | null;
};

const UNKNOWN: Outcome = {
  type: "info",
  found: null,
  refusal: "",
  isSeen: false,
  epoch: 0,
  state: null,
};

function outcomeOf(answer: Answer, type: "ok" | "fail", found: Register): Outcome {
  const state = String(answer.headers[STATE]);
  const isSeen = !answer.text.includes("not to be seen here yet");
  return { type, found, refusal: "", isSeen, epoch: epochOf(state), state };
}

/** Which primary of the set it is of, as docs/formats/cluster.md says; 0: of no set. */
function epochOf(state: string): number {
  return Buffer.from(state, "base64url").readUInt32BE(45);
}

/** Where nobody listens, nothing was sent. */
function unanswered(error: NodeJS.ErrnoException): Outcome {
  return error.code === "ECONNREFUSED" ? { ...UNKNOWN, type: "fail" } : UNKNOWN;
}
