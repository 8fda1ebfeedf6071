// R12 on processes: two clusters as operators run them, and a walk over what operators do and what goes wrong: writes, planned and
// forced failovers, revocations, rotated keys, kills, and connections that are cut. What was answered must be there in the end,
// but for what a forced failover has given up; and the audit file of each cluster has what it answered, and nothing else.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { Prng } from "../../sim/prng.ts";
import { at } from "../../tests/support/http-client.ts";
import {
  type ClusterProcess,
  ClusterProcess as Process,
  equalProcesses,
  joinProcess,
  rejoinProcess,
  startPrimaryProcess,
} from "../../tests/support/replication/cluster-process.ts";
import { until } from "../../tests/support/until.ts";
import { plantedProgram, withProcesses } from "./processes.ts";

export interface ProcessWalkOptions {
  readonly steps: number;
  readonly seed: number;
  /** The cluster that leads first records too little. */
  readonly plant?: "unrecorded";
  readonly say: (line: string) => void;
}

const KEYS = 20;
const AUDIT_FILE = "data/audit/walk.log";

interface AuditLine {
  readonly type: string;
  readonly error?: string;
  readonly request?: { readonly id: string; readonly path: string; readonly operation: string };
}

/** Throws where something is not as it must be. Returns what was done. */
export async function processWalk(options: ProcessWalkOptions): Promise<string> {
  const { steps, seed, plant, say } = options;
  return await withProcesses(async (t) => {
    const program = plant === undefined ? undefined : plantedProgram(plant);
    const walk = await ProcessWalk.start(t, new Prng(`process walk ${seed}`), say, program);
    return await walk.run(steps);
  });
}

class ProcessWalk {
  readonly #prng: Prng;
  readonly #say: (line: string) => void;
  #primary: ClusterProcess;
  #secondary: ClusterProcess;
  /** The last value that was answered for, by its path. */
  readonly #answered = new Map<string, string>();
  /** The ids of the writes that each cluster has answered with a success. */
  readonly #successes: ReadonlyMap<ClusterProcess, string[]>;
  readonly #counts: Record<string, number> = {};
  #number = 0;
  #ids = 0;

  private constructor(
    prng: Prng,
    say: (line: string) => void,
    primary: ClusterProcess,
    secondary: ClusterProcess,
  ) {
    this.#prng = prng;
    this.#say = say;
    this.#primary = primary;
    this.#secondary = secondary;
    this.#successes = new Map([
      [primary, []],
      [secondary, []],
    ]);
  }

  static async start(
    t: TestContext,
    prng: Prng,
    say: (line: string) => void,
    program?: readonly string[],
  ): Promise<ProcessWalk> {
    const primary = await startPrimaryProcess(t, audited, program);
    const secondary = await Process.start(t, audited);
    await joinProcess(primary, secondary);
    await equalProcesses(primary, secondary);
    return new ProcessWalk(prng, say, primary, secondary);
  }

  async run(steps: number): Promise<string> {
    for (let step = 0; step < steps; step++) {
      const name = this.#pick();
      this.#counts[name] = (this.#counts[name] ?? 0) + 1;
      if (name !== "write") this.#say(`${step}: ${name}`);
      await this.#act(name);
    }
    await this.#together();
    for (const cluster of [this.#primary, this.#secondary]) this.#checkAudit(cluster);
    return Object.entries(this.#counts)
      .map((one) => one.join(" "))
      .join(", ");
  }

  #pick(): string {
    const roll = this.#prng.int(100);
    if (roll < 78) return "write";
    if (roll < 83) return "cut";
    if (roll < 87) return "kill secondary";
    if (roll < 91) return "kill primary";
    if (roll < 93) return "rotate";
    if (roll < 95) return "revoke";
    if (roll < 98) return "planned failover";
    return "forced failover";
  }

  async #act(name: string): Promise<void> {
    const [primary, secondary] = [this.#primary, this.#secondary];
    switch (name) {
      case "write":
        return await this.#write();
      case "cut":
        primary.way.cut();
        for (let i = 0; i < 5; i++) await this.#write();
        primary.way.heal();
        return;
      case "kill secondary":
        await secondary.kill();
        for (let i = 0; i < 5; i++) await this.#write();
        return await secondary.startAgain();
      case "kill primary":
        await primary.kill();
        return await primary.startAgain();
      case "rotate": {
        const { token } = primary;
        const rotated = await primary.call("POST", "/v1/sys/rotate", { token });
        assert.ok(rotated.status < 300, rotated.text);
        return;
      }
      case "revoke": {
        const { secondary_id: id } = await secondary.status();
        const revoked = await primary.dr("primary/revoke-secondary", { id });
        assert.ok(revoked.status < 300, revoked.text);
        return await this.#follow(secondary, primary);
      }
      case "planned failover":
        return await this.#plannedFailover();
      case "forced failover":
        return await this.#forcedFailover();
    }
  }

  async #write(): Promise<void> {
    const path = `k${this.#prng.int(KEYS)}`;
    const value = `${++this.#number}`;
    const answer = await this.#primary.put(path, value);
    assert.equal(answer.status, 200, answer.text);
    this.#answered.set(path, value);
    this.#successes.get(this.#primary)?.push(String(at(answer, "request_id")));
  }

  /** One record of a success for each answer that was one, and no other. */
  #checkAudit(cluster: ClusterProcess): void {
    const answered = this.#successes.get(cluster) ?? [];
    const recorded = recordedWrites(cluster);
    const message = `${answered.length} writes were answered, and the audit file has ${recorded.length}, or others`;
    assert.deepEqual(recorded.toSorted(), answered.toSorted(), message);
  }

  /** Everything is there, and nothing is lost. */
  async #plannedFailover(): Promise<void> {
    await this.#together();
    const [before, next] = [this.#primary, this.#secondary];
    const demoted = await before.dr("primary/demote");
    assert.equal(demoted.status, 200, demoted.text);
    const token = await next.operationToken();
    await until(async () => {
      const promoted = await promote(next, { dr_operation_token: token });
      return promoted.status === 200;
    });
    [this.#primary, this.#secondary] = [next, before];
    await this.#checkAnswers();
    await this.#follow(before, next);
  }

  /** What came to the primary after the cut is lost, and the cluster that gives it up says so. */
  async #forcedFailover(): Promise<void> {
    await this.#together();
    const [before, next] = [this.#primary, this.#secondary];
    before.way.cut();
    const kept = new Map(this.#answered);
    const tail = 1 + this.#prng.int(4);
    for (let i = 0; i < tail; i++) await this.#write();
    const divergent = await entriesOf(before);
    const token = await next.operationToken();
    const promoted = await promote(next, { force: true, dr_operation_token: token });
    assert.equal(promoted.status, 200, promoted.text);
    before.way.heal();
    await until(async () => (await before.status())["state"] === "fenced");
    const refused = await before.put("k0", "too late");
    assert.notEqual(refused.status, 200, "a fenced primary has written");
    const demoted = await before.dr("primary/demote");
    assert.equal(demoted.status, 200, demoted.text);
    this.#answered.clear();
    for (const [path, value] of kept) this.#answered.set(path, value);
    [this.#primary, this.#secondary] = [next, before];
    await this.#follow(before, next);
    await this.#together();
    const more = (await entriesOf(before)) - divergent;
    assert.ok(more >= tail, `${tail} entries were given up, and ${more} are reported`);
  }

  async #follow(secondary: ClusterProcess, primary: ClusterProcess): Promise<void> {
    await rejoinProcess(primary, secondary, `site-${++this.#ids}`);
  }

  /** Roots are equal soon after everything is healed. */
  async #together(): Promise<void> {
    this.#primary.way.heal();
    await equalProcesses(this.#primary, this.#secondary);
    await this.#checkAnswers();
  }

  async #checkAnswers(): Promise<void> {
    for (const [path, value] of this.#answered) {
      assert.equal(await this.#primary.value(path), value, `${path} is not what was answered`);
    }
  }
}

function audited(home: string): string {
  mkdirSync(join(home, dirname(AUDIT_FILE)), { recursive: true, mode: 0o700 });
  return `audit "file" "walk" { options = { file_path = "${join(home, AUDIT_FILE)}" } }\n`;
}

/** The ids of the writes of secrets that its audit file says were done, each as often as it says so. */
function recordedWrites({ home }: ClusterProcess): string[] {
  const lines = readFileSync(join(home, AUDIT_FILE), "utf8").split("\n");
  return lines
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as AuditLine)
    .filter(({ type, error, request }) => {
      const isWrite = request?.path.startsWith("secret/data/") && request.operation !== "read";
      return type === "response" && error === "" && isWrite;
    })
    .map(({ request }) => request!.id);
}

function promote(cluster: ClusterProcess, body: object) {
  return cluster.dr("secondary/promote", body);
}

/** Entries that it has given up and keeps. */
async function entriesOf(cluster: ClusterProcess): Promise<number> {
  const { divergent_entries } = await cluster.status();
  return Number(divergent_entries ?? 0);
}
