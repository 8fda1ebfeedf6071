// A server with evidence on it, and the command line that checks files of it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import { LEASES_ENDED } from "../../../src/signed/kinds.ts";
import { run, type Ran } from "../../cli/harness.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { ServerTime } from "../../support/servers/server-time.ts";
import { startServer, type TestServer } from "../../support/servers/test-server.ts";
import { nextTurn } from "../../support/fake-world.ts";

export interface WireEnvelope {
  readonly payload: string;
  readonly payloadType: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

export interface WireKeys {
  readonly fingerprint: string;
  readonly keys: readonly {
    readonly fingerprint: string;
    readonly public_key: string;
    readonly statement: WireEnvelope;
  }[];
}

export class EvidenceStage {
  readonly test: TestServer;
  readonly time: ServerTime;
  readonly token: string;
  readonly shares: readonly string[];
  readonly folder: string;
  #files = 0;

  constructor(
    server: TestServer,
    time: ServerTime,
    opened: { readonly token: string; readonly shares: readonly string[] },
    folder: string,
  ) {
    this.test = server;
    this.time = time;
    this.token = opened.token;
    this.shares = opened.shares;
    this.folder = folder;
  }

  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.test.call(method, `/v1/${path}`, { token: this.token, body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer;
  }

  /** As rooms do that have something to report. */
  async sign(more: JsonObject = {}): Promise<number> {
    const { number } = await this.test.server.evidence.sign({
      kind: LEASES_ENDED,
      subject: { leases: 2, ...more },
      result: { state: "ended" },
      inputs: [{ name: "receipts", digest: "ab".repeat(32) }],
      statement: "Two leases have ended.",
    });
    return number;
  }

  async envelope(number: number): Promise<WireEnvelope> {
    return at(await this.ask("GET", `sys/evidence/${number}`), "data", "envelope") as WireEnvelope;
  }

  async envelopes(from: number, to: number): Promise<WireEnvelope[]> {
    const found: WireEnvelope[] = [];
    for (let number = from; number <= to; number++) found.push(await this.envelope(number));
    return found;
  }

  async keys(): Promise<WireKeys> {
    return at(await this.test.call("GET", "/v1/sys/evidence/keys"), "data") as WireKeys;
  }

  /** Years go by, a day at a time would take long: the daily work is called by hand. */
  async pass(length: Nanos): Promise<void> {
    this.time.clock.pass(length);
    await this.test.server.evidence.tidy();
    await nextTurn();
  }

  /** A file with this in it; objects as JSON. */
  file(content: unknown): string {
    const path = join(this.folder, `${++this.#files}.json`);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }
}

export async function evidenceStage(t: TestContext, settings: object = {}): Promise<EvidenceStage> {
  const time = new ServerTime();
  const server = await startServer({ world: { clock: time.clock, timers: time }, settings });
  const folder = mkdtempSync(join(tmpdir(), "holdfast-evidence-"));
  t.after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return new EvidenceStage(server, time, await server.open(), folder);
}

/** `holdfast evidence verify …`, with what it printed. */
export async function verify(...args: readonly string[]): Promise<Ran> {
  return run(["evidence", "verify", ...args]);
}

export function lines(envelopes: readonly WireEnvelope[]): string {
  return envelopes.map((envelope) => `${JSON.stringify(envelope)}\n`).join("");
}

export function payloadOf({ payload }: WireEnvelope): JsonObject {
  return JSON.parse(Buffer.from(payload, "base64").toString()) as JsonObject;
}
