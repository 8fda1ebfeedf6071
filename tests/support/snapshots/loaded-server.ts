// A server with a loaded snapshot, in short form: for tests of what is read and recovered from one.

import assert from "node:assert/strict";
import { type Answer, type CallOptions, errorsOf } from "../http-client.ts";
import {
  type EngineServer,
  engineServer,
  type EngineServerOptions,
} from "../servers/engine-server.ts";
import { sendSnapshot, takeSnapshot } from "./snapshot-calls.ts";

export const LOAD = "sys/storage/raft/snapshot-load";
const RECOVER = "X-Service-Recover-Snapshot-Id";

export class LoadedServer {
  readonly server: EngineServer;

  constructor(server: EngineServer) {
    this.server = server;
  }

  async take(): Promise<Buffer> {
    const { status, body } = await takeSnapshot(this.server.test.url, this.server.root);
    assert.equal(status, 200);
    return body;
  }

  send(archive: Uint8Array, token = this.server.root) {
    return sendSnapshot(this.server.test.url, token, "snapshot-load", archive);
  }

  /** Gives its id. */
  async load(archive?: Uint8Array): Promise<string> {
    const answer = await this.send(archive ?? (await this.take()));
    assert.equal(answer.status, 200, answer.text);
    return String(answer.json["snapshot_id"]);
  }

  read(id: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const sign = path.includes("?") ? "&" : "?";
    return this.server.ask("GET", `${path}${sign}read_snapshot_id=${id}`, undefined, options);
  }

  list(id: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.server.ask("LIST", `${path}?read_snapshot_id=${id}`, undefined, options);
  }

  recover(id: string, path: string, options: CallOptions = {}, body?: unknown): Promise<Answer> {
    const headers = { ...options.headers, [RECOVER]: id };
    return this.server.ask("POST", path, body, { ...options, headers });
  }
}

export async function loadedServer(
  t: Parameters<typeof engineServer>[0],
  options: EngineServerOptions = {},
): Promise<LoadedServer> {
  return new LoadedServer(await engineServer(t, options));
}

/** The word that the refusal is found by, and its text. */
export function refusedWith(answer: Answer, status: number, word: string): string {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers["x-service-error"], word, answer.text);
  return String((errorsOf(answer) as unknown[])[0]);
}
