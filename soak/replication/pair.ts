// A cluster and the one that stands in for it (disaster recovery), as an operator has them change places: each gives it up, or
// it is taken from it; then it follows the other, and reports what it has given up.

import assert from "node:assert/strict";
import { at } from "../../tests/support/http-client.ts";
import { rejoinProcess } from "../../tests/support/replication/cluster-process.ts";
import { until } from "../../tests/support/until.ts";
import type { Kept, Register } from "./client-history.ts";
import type { Place, Site } from "./register-clients.ts";

const DIVERGENT = "/v1/sys/replication/divergent";

export class Pair {
  readonly place: Place;
  active: Site;
  standIn: Site;
  /** Of an operator of the one that stands in. */
  #operation = "";
  #rejoined = 0;

  private constructor(place: Place) {
    this.place = place;
    [this.active, this.standIn] = place.sites as [Site, Site];
  }

  /** The second site of the place follows the first. */
  static async of(place: Place): Promise<Pair> {
    const pair = new Pair(place);
    pair.#operation = await pair.standIn.cluster.operationToken();
    return pair;
  }

  /** One gives its place to the other. Gives when that one began with it. */
  async handOver(): Promise<number> {
    this.place.now = null;
    const demoted = await this.active.cluster.dr("primary/demote");
    assert.equal(demoted.status, 200, demoted.text);
    const from = performance.now();
    await until(async () => {
      const { status, text } = await this.#promote(false);
      assert.ok(status === 200 || status === 503, text);
      return status === 200;
    });
    this.#succeed();
    return from;
  }

  /** The other one takes it, whatever it lacks. */
  async takeOver(): Promise<number> {
    const from = performance.now();
    const promoted = await this.#promote(true);
    assert.equal(promoted.status, 200, promoted.text);
    this.#succeed();
    return from;
  }

  /** After it was handed over. */
  async rejoin(): Promise<void> {
    this.#operation = await this.standIn.cluster.operationToken();
    await this.#follow();
  }

  /** After it was taken, by who is reached again. Gives how often each register was written in what it has given up. */
  async rejoinFenced(): Promise<ReadonlyMap<string, number>> {
    const { cluster } = this.standIn;
    await until(async () => (await cluster.status())["state"] === "fenced");
    const demoted = await cluster.dr("primary/demote");
    assert.equal(demoted.status, 200, demoted.text);
    this.#operation = await cluster.operationToken();
    const known = await this.#tails();
    await this.#follow();
    return await this.#reported(known);
  }

  #promote(force: boolean) {
    const { aside, cluster } = this.standIn;
    const address =
      aside === undefined ? {} : { primary_cluster_addr: `https://127.0.0.1:${aside.port}` };
    return cluster.operate("promote", { force, ...address }, this.#operation);
  }

  #succeed(): void {
    [this.active, this.standIn] = [this.standIn, this.active];
    this.place.now = this.active;
  }

  async #follow(): Promise<void> {
    const { active, standIn } = this;
    const id = `site-${standIn.name}-${++this.#rejoined}`;
    await rejoinProcess(active.cluster, standIn.cluster, id, this.#operation);
    await until(async () => (await standIn.cluster.status())["state"] === "stream-wals");
  }

  /** The names of the tails that it has given up. */
  async #tails(): Promise<ReadonlySet<string>> {
    const tails = at(await this.#read(DIVERGENT), "data", "tails");
    return new Set((tails as readonly { readonly id: string }[]).map(({ id }) => id));
  }

  async #reported(known: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const id of await this.#tails()) {
      if (known.has(id)) continue;
      for (let after = 0, more = true; more;) {
        const answer = await this.#read(`${DIVERGENT}/${id}?after=${after}`);
        const entries = at(answer, "data", "entries") as readonly {
          readonly index: number;
          readonly changed: readonly string[];
        }[];
        for (const key of entries.flatMap(({ changed }) => changed)) {
          const [, name] = /\/secrets\/(\w\d+)$/.exec(key) ?? [];
          if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
        }
        after = entries.at(-1)?.index ?? after;
        more = at(answer, "data", "more") === true;
      }
    }
    return counts;
  }

  async #read(path: string) {
    const answer = await this.standIn.cluster.call("GET", path, { token: this.#operation });
    assert.equal(answer.status, 200, answer.text);
    return answer;
  }
}

/** Of what a cluster had in the end, without what it has given up. */
export function keptOf(
  heads: ReadonlyMap<string, Register>,
  reported: ReadonlyMap<string, number>,
): Kept {
  return new Map(
    Array.from(heads, ([name, { version }]) => [name, version - (reported.get(name) ?? 0)]),
  );
}
