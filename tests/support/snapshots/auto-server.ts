// A server whose automated snapshots go to a directory, or to fakes of stores, on time that a test moves.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FakeS3 } from "../../fakes/stores/clouda-store.ts";
import type { FakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import type { FakeGcs } from "../../fakes/stores/cloudc-store.ts";
import type { Answer } from "../http-client.ts";
import {
  dataOf,
  EngineServer,
  type EngineServerOptions,
  SECOND,
} from "../servers/engine-server.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

export const AUTO = "sys/storage/raft/snapshot-auto";

export interface AutoStatus {
  readonly state: string;
  readonly waiting_for: string;
  readonly snapshot_start: string | null;
  readonly snapshot_url: string;
  readonly last_snapshot_start: string | null;
  readonly last_snapshot_end: string | null;
  readonly last_snapshot_error: string;
  readonly last_snapshot_url: string;
  readonly last_snapshot_size: number;
  readonly last_snapshot_sha256: string;
  readonly last_snapshot_index: number;
  readonly last_success: string | null;
  readonly next_snapshot_start: string;
  readonly consecutive_errors: number;
  readonly rotation_error: string;
  readonly stored_count: number;
  readonly stored_bytes: number;
  readonly last_proven: string | null;
  readonly last_drill_result: string | null;
}

export class AutoServer extends EngineServer {
  /** Where local snapshots may lie; it stays when the server is started anew. */
  readonly place: string;

  constructor(place: string, options: EngineServerOptions) {
    super(options);
    this.place = place;
  }

  write(name: string, body: object, options = {}): Promise<Answer> {
    return this.ask("POST", `${AUTO}/config/${name}`, body, options);
  }

  /** To the directory, every hour and without drills, unless told otherwise: a server that dies here in one leaves it
   *  open, as no process does. */
  local(change: object = {}): object {
    return {
      interval: "1h",
      path_prefix: this.place,
      file_prefix: "nightly",
      storage_type: "local",
      local_max_space: 1_000_000_000,
      drill: "off",
      ...change,
    };
  }

  async status(name: string): Promise<AutoStatus> {
    const answer = await this.ask("GET", `${AUTO}/status/${name}`);
    return dataOf(answer) as unknown as AutoStatus;
  }

  run(name: string): Promise<Answer> {
    return this.ask("POST", `${AUTO}/run/${name}`);
  }

  files(): string[] {
    return readdirSync(this.place).toSorted();
  }

  get milliseconds(): number {
    return Number(this.time.clock.now() / 1_000_000n);
  }

  /** Time passes until an attempt has ended that was not there before. While one is under way little of it does: what
   *  it waits for is real, and on a slow day it would be late by the server's clock. */
  async ended(name: string, step = SECOND): Promise<AutoStatus> {
    const before = (await this.status(name)).last_snapshot_end;
    for (let i = 0; i < 10_000; i++) {
      const status = await this.status(name);
      if (status.last_snapshot_end !== before) return status;
      const little = status.state === "waiting" ? step : 2n * SECOND;
      await this.time.passSlowly(little, little);
    }
    assert.fail(`no attempt of ${name} has ended`);
  }
}

export async function autoServer(t: After, options: EngineServerOptions = {}): Promise<AutoServer> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "auto-snapshots-")));
  const server = new AutoServer(place, {
    ...options,
    settings: { snapshot_roots: [place], outbound_allow: ["127.0.0.1"], ...options.settings },
  });
  await server.start();
  t.after(async () => {
    await server.test.stop();
    rmSync(place, { recursive: true, force: true });
  });
  await server.open();
  return server;
}

const common = { interval: "1h", path_prefix: "east/daily/", file_prefix: "nightly" };

export function cloudaConfig(fake: FakeS3, change: object = {}): object {
  return {
    ...common,
    storage_type: "clouda-store",
    clouda_store_bucket: fake.bucket,
    clouda_store_region: fake.region,
    clouda_access_key_id: fake.accessKeyId,
    clouda_secret_access_key: fake.secretAccessKey,
    clouda_store_endpoint: fake.url,
    clouda_store_disable_tls: true,
    ...change,
  };
}

export function cloudbConfig(fake: FakeBlob, change: object = {}): object {
  return {
    ...common,
    storage_type: "cloudb-blob",
    cloudb_container_name: fake.container,
    cloudb_account_name: fake.account,
    cloudb_account_key: fake.key,
    cloudb_endpoint: `${fake.url}/${fake.account}`,
    ...change,
  };
}

export function cloudcConfig(fake: FakeGcs, change: object = {}): object {
  return {
    ...common,
    storage_type: "cloudc-store",
    cloudc_store_bucket: fake.bucket,
    cloudc_service_account_key: fake.serviceAccountKey,
    cloudc_endpoint: fake.url,
    cloudc_disable_tls: true,
    ...change,
  };
}

/** How long from one time of an answer to another, in seconds. */
export function secondsBetween(from: string | null, to: string | null): number {
  assert.ok(from !== null && to !== null);
  return (Date.parse(to) - Date.parse(from)) / 1000;
}
