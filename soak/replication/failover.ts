// R8 on processes: two clusters, clients that read and write the whole time, and one failover after the other. What clients
// were told is one history of each register: a planned failover loses nothing of it, and a forced one loses what the cluster
// that was left has reported when it follows the other, no less and no more. With the planted bugs, one in each run by its seed,
// the secondary does not keep all that it says it has, or the cluster that was left does not report all that it gave up.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { Prng } from "../../sim/prng.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { at } from "../../tests/support/http-client.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  rejoinProcess,
  startPrimaryProcess,
} from "../../tests/support/replication/cluster-process.ts";
import { until } from "../../tests/support/until.ts";
import { type Result, resultOf } from "../result.ts";
import { ClientHistory, type Kept } from "./client-history.ts";
import { plantedProgram, withProcesses } from "./processes.ts";
import { RegisterClients, type Site } from "./register-clients.ts";

const REGISTERS = Array.from({ length: 6 }, (_, i) => `r${i}`);
/** Acknowledged writes between one step and the next. */
const SOME = 60;
const DIVERGENT = "/v1/sys/replication/divergent";
/** What becomes of the cluster whose place is taken: three, so that each of the two meets all of them. */
const WAYS = [
  ["planned", "killed", "parted"],
  ["planned", "parted", "killed"],
] as const;

export interface FailoverOptions {
  readonly rounds: number;
  readonly clients: number;
  readonly seed: number;
  readonly plant?: (typeof PLANTS)[number];
  readonly say: (line: string) => void;
}

const PLANTS = ["stale-secret", "unreported"] as const;

/** Not by the last bit: by that short runs choose whether there is one. */
export function failoverPlant(seed: number): (typeof PLANTS)[number] {
  return PLANTS[Math.floor(seed / 2) % PLANTS.length]!;
}

export async function failover(options: FailoverOptions): Promise<Result> {
  const history = new ClientHistory();
  const wrong: string[] = [];
  try {
    await withProcesses(async (t) => {
      const run = await Run.start(t, options, history);
      wrong.push(...(await run.all()));
    });
  } catch (error) {
    wrong.push(errorText(error));
  }
  const { operations, reigns, lost } = history;
  const count = (type: string) => operations.filter((one) => one.type === type).length;
  const forced = reigns.filter((reign) => reign.forced !== null).length;
  const figure =
    `${operations.length} operations (${count("ok")} ok, ${count("fail")} refused, ${count("info")} unknown), ` +
    `${reigns.length - 1} failovers, ${forced} of them forced, which gave up ${lost} answered writes`;
  // A planted bug is to be found in the history, and nowhere else.
  return resultOf(figure, [...(options.plant === undefined ? wrong : []), ...history.problems()]);
}

class Run {
  readonly #options: FailoverOptions;
  readonly #random: Prng;
  readonly #history: ClientHistory;
  readonly #clients: RegisterClients;
  #leader: Site;
  #other: Site;
  /** Of an operator of the other one. */
  #operation = "";
  #rejoined = 0;

  private constructor(options: FailoverOptions, history: ClientHistory, sites: readonly Site[]) {
    const { seed, clients } = options;
    this.#options = options;
    this.#random = new Prng(`failover ${seed}`);
    this.#history = history;
    [this.#leader, this.#other] = sites as [Site, Site];
    history.reigns.push({ site: this.#leader.name, from: 0, forced: null });
    this.#clients = new RegisterClients({
      sites,
      registers: REGISTERS,
      clients,
      random: this.#random,
      history,
    });
  }

  static async start(
    t: TestContext,
    options: FailoverOptions,
    history: ClientHistory,
  ): Promise<Run> {
    const { plant } = options;
    const program = plant === undefined ? undefined : plantedProgram(plant);
    const [a, b] = await Promise.all([
      startPrimaryProcess(t, undefined, plant === "unreported" ? program : undefined),
      ClusterProcess.start(t, undefined, plant === "stale-secret" ? program : undefined),
    ]);
    await joinProcess(a, b);
    await equalProcesses(a, b);
    const run = new Run(options, history, [
      { name: "a", cluster: a },
      { name: "b", cluster: b },
    ]);
    run.#operation = await b.operationToken();
    t.after(() => run.#clients.close());
    return run;
  }

  /** Gives the answers that nobody expects. */
  async all(): Promise<readonly string[]> {
    const clients = this.#clients;
    try {
      const ways = this.#random.pick(WAYS);
      const first = this.#options.plant === "unreported" ? 1 : 0; // it shows by force alone
      for (let round = 0; round < this.#options.rounds; round++) {
        const way = ways[(first + round) % ways.length]!;
        await clients.writes(SOME);
        this.#options.say(`${round}: ${way}, ${this.#leader.name} to ${this.#other.name}`);
        if (way === "planned") await this.#planned();
        else await this.#forced(way);
        if (clients.wrong.length > 0) break;
      }
      await clients.writes(SOME);
    } finally {
      await clients.stop();
    }
    await clients.readAll(this.#leader);
    await equalProcesses(this.#leader.cluster, this.#other.cluster);
    return clients.wrong;
  }

  async #planned(): Promise<void> {
    const [before, next] = [this.#leader, this.#other];
    this.#clients.leader = null;
    const demoted = await before.cluster.dr("primary/demote");
    assert.equal(demoted.status, 200, demoted.text);
    const from = performance.now();
    await until(async () => {
      const { status, text } = await next.cluster.operate("promote", {}, this.#operation);
      assert.ok(status === 200 || status === 503, text);
      return status === 200;
    });
    this.#history.reigns.push({ site: next.name, from, forced: null });
    this.#succeed(next, before);
    this.#operation = await before.cluster.operationToken();
    await this.#rejoin(before, next);
  }

  /** The primary has written what nobody else has, and is killed, or leads on until somebody tells it. */
  async #forced(way: "killed" | "parted"): Promise<void> {
    const [before, next] = [this.#leader, this.#other];
    const clients = this.#clients;
    before.cluster.way.cut();
    await clients.writes(SOME / 2);
    if (way === "killed") {
      clients.leader = null;
      await before.cluster.kill();
    } else clients.left = before;
    const from = performance.now();
    const promoted = await next.cluster.operate("promote", { force: true }, this.#operation);
    assert.equal(promoted.status, 200, promoted.text);
    this.#succeed(next, before);
    await clients.writes(SOME / 2);
    clients.left = null;
    await clients.gone(before);
    if (way === "killed") await before.cluster.startAgain();
    const heads = await clients.readAll(before);
    before.cluster.way.heal();
    await until(async () => (await before.cluster.status())["state"] === "fenced");
    const demoted = await before.cluster.dr("primary/demote");
    assert.equal(demoted.status, 200, demoted.text);
    this.#operation = await before.cluster.operationToken();
    const known = await tailsOf(before, this.#operation);
    await this.#rejoin(before, next);
    const reported = await reportedBy(before, this.#operation, known);
    const kept: Kept = new Map(
      Array.from(heads, ([name, { version }]) => [name, version - (reported.get(name) ?? 0)]),
    );
    this.#history.reigns.push({ site: next.name, from, forced: { kept } });
  }

  #succeed(next: Site, before: Site): void {
    [this.#leader, this.#other] = [next, before];
    this.#clients.leader = next;
  }

  async #rejoin(secondary: Site, primary: Site): Promise<void> {
    const id = `site-${++this.#rejoined}`;
    await rejoinProcess(primary.cluster, secondary.cluster, id, this.#operation);
    await until(async () => (await secondary.cluster.status())["state"] === "stream-wals");
  }
}

/** The names of the tails that it has given up. */
async function tailsOf({ cluster }: Site, token: string): Promise<ReadonlySet<string>> {
  const answer = await cluster.call("GET", DIVERGENT, { token });
  assert.equal(answer.status, 200, answer.text);
  const tails = at(answer, "data", "tails") as readonly { readonly id: string }[];
  return new Set(tails.map(({ id }) => id));
}

/** How often each register was written in what it has given up since. */
async function reportedBy(
  site: Site,
  token: string,
  known: ReadonlySet<string>,
): Promise<ReadonlyMap<string, number>> {
  const { cluster } = site;
  const counts = new Map<string, number>();
  for (const id of await tailsOf(site, token)) {
    if (known.has(id)) continue;
    for (let after = 0, more = true; more;) {
      const path = `${DIVERGENT}/${id}?after=${after}`;
      const answer = await cluster.call("GET", path, { token });
      assert.equal(answer.status, 200, answer.text);
      const entries = at(answer, "data", "entries") as readonly {
        readonly index: number;
        readonly changed: readonly string[];
      }[];
      for (const key of entries.flatMap(({ changed }) => changed)) {
        const [, name] = /\/secrets\/(r\d+)$/.exec(key) ?? [];
        if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      after = entries.at(-1)?.index ?? after;
      more = at(answer, "data", "more") === true;
    }
  }
  return counts;
}
