// What a server says needs attention, and facts of which nothing does.

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Facts } from "../../../src/attention/checks.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { type EngineServer, engineServer } from "../../support/servers/engine-server.ts";

export interface WireItem {
  readonly code: string;
  readonly severity: string;
  readonly subject: string | null;
  readonly namespace: string;
  readonly since: string;
  readonly text: string;
  readonly remedy: string;
  readonly evidence: string | null;
  readonly snoozed_until: string | null;
}

export const itemsIn = (answer: Answer) => at(answer, "data", "items") as WireItem[];

export class Watched {
  readonly server: EngineServer;
  readonly seen = new Set<string>();

  constructor(server: EngineServer) {
    this.server = server;
  }

  async items(code: string): Promise<WireItem[]> {
    const answer = await this.server.must("GET", "sys/attention");
    assert.equal(at(answer, "data", "complete"), true, answer.text);
    return itemsIn(answer).filter((item) => item.code === code);
  }

  /** The item is there; a cause and its end are told apart by `closed`. */
  async opened(code: string): Promise<WireItem> {
    const [item] = await this.items(code);
    assert.ok(item !== undefined, `${code} is not open`);
    assert.ok(item.text !== "" && item.remedy !== "");
    this.seen.add(code);
    return item;
  }

  async closed(code: string): Promise<void> {
    assert.deepEqual(await this.items(code), [], `${code} is still open`);
  }
}

export async function watched(t: TestContext, options = {}): Promise<Watched> {
  return new Watched(await engineServer(t, options));
}

export function facts(change: Partial<Facts> = {}): Facts {
  return {
    audit: () => [],
    isConfiguredElsewhere: () => false,
    sharesNeeded: () => 3,
    bootstrapOpen: () => false,
    stuckLeases: () => [],
    orphans: () => [],
    failedRotations: () => [],
    overdueRotations: () => [],
    lockedOrigins: () => [],
    unloadedMounts: () => [],
    unendingTokens: () => [],
    disk: () => null,
    certificates: () => [],
    dataKeyInstalled: () => 0n,
    consolePolicySet: () => false,
    dev: () => false,
    snapshots: () => ({ configured: 1, late: [], failing: [] }),
    leftByRestores: () => ({ count: 0, isKnown: true, evidence: "whole" }),
    drills: () => ({ late: [], failed: [] }),
    replication: () => [],
    ...change,
  };
}
