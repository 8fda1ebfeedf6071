// Failovers under load as operators have them: processes with files of their own, writers over HTTP who are never asked to
// stop, and every write that was acknowledged looked for afterwards.

import assert from "node:assert/strict";
import test from "node:test";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  rejoinProcess,
  startPrimaryProcess,
} from "../../support/replication/cluster-process.ts";
import { until } from "../../support/until.ts";

const WRITERS = 4;

/** They write until they are refused, or told to stop. */
class Writers {
  readonly acknowledged: string[] = [];
  readonly #work: Promise<void[]>;
  #isOver = false;

  constructor(cluster: ClusterProcess, name: string) {
    this.#work = Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let i = 0; !this.#isOver; i++) {
          const path = `${name}-${writer}-${i}`;
          const { status, text } = await cluster.put(path, path);
          if (status === 503) return; // it is none any more
          assert.equal(status, 200, text);
          this.acknowledged.push(path);
        }
      }),
    );
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  /** By themselves: they were refused. */
  async refused(): Promise<void> {
    await this.#work;
  }
}

async function missingOn(cluster: ClusterProcess, paths: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const path of paths) if ((await cluster.value(path)) !== path) missing.push(path);
  return missing;
}

test("R-52, R-54: a planned failover under load loses nothing that was acknowledged; a forced one says exactly what it costs", async (t) => {
  const [a, b] = await Promise.all([startPrimaryProcess(t), ClusterProcess.start(t)]);
  await joinProcess(a, b);
  await equalProcesses(a, b);

  const planned = new Writers(a, "planned");
  await until(() => planned.acknowledged.length >= 60);
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  await planned.refused();
  assert.match(demoted.text, /(?<!NOT )everything is on: site-b/);
  const promoted = await b.operate("promote");
  assert.equal(promoted.status, 200, promoted.text);
  assert.deepEqual(await missingOn(b, planned.acknowledged), []);

  await rejoinProcess(b, a, "site-a");
  await equalProcesses(b, a);
  assert.equal((await a.status())["divergent_entries"], 0);
  const { last_remote_wal: shared } = await a.status();
  b.way.cut();
  await until(async () => (await a.status())["state"] === "idle");
  const alone = new Writers(b, "alone");
  await until(() => alone.acknowledged.length >= 20);
  await alone.stop();
  const { last_dr_wal: head } = await b.status();
  const forced = await a.operate("promote", { force: true });
  assert.equal(forced.status, 200, forced.text);
  assert.equal((await a.put("after", "x")).status, 200);
  b.way.heal();
  await until(async () => (await b.status())["state"] === "fenced");
  assert.equal((await b.put("refused", "x")).status, 503);
  const stepped = await b.dr("primary/demote");
  assert.equal(stepped.status, 200, stepped.text);
  await rejoinProcess(a, b, "back");
  await equalProcesses(a, b);
  const { divergent_entries: lost } = await b.status();
  assert.equal(lost, Number(head) - Number(shared), "each entry above the fork, and no other");
  assert.ok(Number(lost) >= alone.acknowledged.length);
  assert.deepEqual(await missingOn(a, planned.acknowledged), []);
  assert.equal((await missingOn(a, alone.acknowledged)).length, alone.acknowledged.length);
});
