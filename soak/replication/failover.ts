// R8 on processes: two clusters, clients that read and write the whole time, and one failover after the other. What clients
// were told is one history of each register: a planned failover loses nothing of it, and a forced one loses what the cluster
// that was left has reported when it follows the other, no less and no more. With the planted bugs, one in each run by its seed,
// the secondary does not keep all that it says it has, or the cluster that was left does not report all that it gave up.

import type { TestContext } from "node:test";
import { Prng } from "../../sim/prng.ts";
import { errorText } from "../../tests/support/error-text.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../tests/support/replication/cluster-process.ts";
import { type Result, resultOf } from "../result.ts";
import { ClientHistory } from "./client-history.ts";
import { keptOf, Pair } from "./pair.ts";
import { plantedProgram, withProcesses } from "./processes.ts";
import { Place, RegisterClients } from "./register-clients.ts";

const REGISTERS = Array.from({ length: 6 }, (_, i) => `r${i}`);
/** Acknowledged writes between one step and the next. */
const SOME = 60;
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
  readonly #pair: Pair;
  readonly #clients: RegisterClients;

  private constructor(options: FailoverOptions, history: ClientHistory, pair: Pair) {
    const { seed, clients } = options;
    this.#options = options;
    this.#random = new Prng(`failover ${seed}`);
    this.#history = history;
    this.#pair = pair;
    history.reigns.push({ site: pair.active.name, from: 0, forced: null });
    this.#clients = new RegisterClients({
      places: [pair.place],
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
    const place = new Place([
      { name: "a", cluster: a },
      { name: "b", cluster: b },
    ]);
    const run = new Run(options, history, await Pair.of(place));
    t.after(() => run.#clients.close());
    return run;
  }

  /** Gives the answers that nobody expects. */
  async all(): Promise<readonly string[]> {
    const clients = this.#clients;
    const pair = this.#pair;
    try {
      const ways = this.#random.pick(WAYS);
      const first = this.#options.plant === "unreported" ? 1 : 0; // it shows by force alone
      for (let round = 0; round < this.#options.rounds; round++) {
        const way = ways[(first + round) % ways.length]!;
        await clients.writes(SOME);
        this.#options.say(`${round}: ${way}, ${pair.active.name} to ${pair.standIn.name}`);
        if (way === "planned") await this.#planned();
        else await this.#forced(way);
        if (clients.wrong.length > 0) break;
      }
      await clients.writes(SOME);
    } finally {
      await clients.stop();
    }
    await clients.readAll(pair.active, pair.place);
    await equalProcesses(pair.active.cluster, pair.standIn.cluster);
    return clients.wrong;
  }

  async #planned(): Promise<void> {
    const pair = this.#pair;
    const from = await pair.handOver();
    this.#history.reigns.push({ site: pair.active.name, from, forced: null });
    await pair.rejoin();
  }

  /** The primary has written what nobody else has, and is killed, or leads on until somebody tells it. */
  async #forced(way: "killed" | "parted"): Promise<void> {
    const pair = this.#pair;
    const { place, active: before } = pair;
    const clients = this.#clients;
    before.cluster.way.cut();
    await clients.writes(SOME / 2);
    if (way === "killed") {
      place.now = null;
      await before.cluster.kill();
    } else place.left = before;
    const from = await pair.takeOver();
    await clients.writes(SOME / 2);
    place.left = null;
    await clients.gone(before);
    if (way === "killed") await before.cluster.startAgain();
    const heads = await clients.readAll(before, place);
    before.cluster.way.heal();
    const kept = keptOf(heads, await pair.rejoinFenced());
    this.#history.reigns.push({ site: pair.active.name, from, forced: { kept } });
  }
}
