// The room of mounts over a real store and barrier in memory, with namespaces beside it, leases that are
// only counted, and an engine that keeps notes and undoes what it is told to.

import { startJobs } from "../jobs.ts";
import assert from "node:assert/strict";
import { jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { Router } from "@holdfast/shared/endpoint/router";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { Mounts } from "../../../src/mounts/mounts.ts";
import { Namespaces } from "../../../src/namespaces/namespaces.ts";
import {
  anyEngine,
  type EngineNeeds,
  type EngineType,
  type WriteAheadRecord,
} from "@holdfast/plugin-sdk/engine";
import { crashed, type MadeBarrier, madeBarrier, unsealed } from "./made-barrier.ts";

const note = jsonCodec<{ readonly text: string }>();

export class Toy {
  readonly needs: EngineNeeds;
  closed = false;
  leads = false;

  constructor(needs: EngineNeeds) {
    this.needs = needs;
  }

  write(key: string, text: string): Promise<void> {
    return this.needs.storage.write((tx) => tx.put(key, { text }, note));
  }

  async read(key: string): Promise<string | null> {
    return (await this.needs.storage.get(key, note))?.text ?? null;
  }
}

/** What tests make the engines and the leases do. */
export class Stage {
  readonly undone: string[] = [];
  readonly order: string[] = [];
  readonly leases = new Map<string, number>();
  undoing: (record: WriteAheadRecord, signal: AbortSignal) => Promise<void> = async () => {};
  revoking: () => Promise<void> = async () => {};
  opening: () => Promise<void> | void = () => {};
  periods = 0;
  /** Of the engine's type, as it is when the room is made; null: it says nothing. */
  jobDeadline: bigint | null = null;
}

export interface MadeMounts extends MadeBarrier {
  readonly stage: Stage;
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
}

export async function madeMounts(stage = new Stage()): Promise<MadeMounts> {
  return mountsOver(await madeBarrier(), { stage });
}

/** A new process on the disk of one that has died. */
export async function restartedMounts(before: MadeMounts, stage = before.stage) {
  const made = await crashed(before);
  assert.ok(unsealed(made.barrier));
  return mountsOver(made, { stage });
}

export interface MountsOverOptions {
  readonly stage?: Stage;
  /** Beside that for tests. Default none. */
  readonly types?: readonly EngineType<unknown>[];
  /** Whether what writes by itself begins as well. Default true. */
  readonly leads?: boolean;
}

export async function mountsOver(
  made: MadeBarrier,
  { stage = new Stage(), types = [], leads = true }: MountsOverOptions = {},
): Promise<MadeMounts> {
  const { barrier, world } = made;
  const { random, timers, log, clock } = world;
  const shared = barrier.view("shared/");
  const local = barrier.view("local/");
  const namespaces: Namespaces = new Namespaces({
    view: barrier.view("shared/namespaces/"),
    local: barrier.view("local/"),
    spaces: [barrier.view("shared/ns/"), barrier.view("local/ns/")],
    contents: [{ name: "mounts", wipe: (id) => mounts.wipe(id) }],
    pathsTaken: [{ takenBy: (tx, place, name) => mounts.takenBy(tx, place, name) }],
    random,
    timers,
    log,
  });
  const mounts: Mounts = new Mounts({
    shared,
    local,
    types: [toyType(stage), ...types],
    namespaces,
    leases: {
      countOf: (uuid) => stage.leases.get(uuid) ?? 0,
      revokeMount: async (uuid, signal, progress) => {
        stage.order.push("revoke");
        progress(stage.leases.get(uuid) ?? 0);
        await stage.revoking();
        if (!signal.aborted) stage.leases.delete(uuid);
      },
    },
    requestsLeft: async () => {},
    routes: (endpoints) => new Router(endpoints),
    ttls: { usual: 3_600_000_000_000n, max: 7_200_000_000_000n },
    clock,
    timers,
    random,
    log,
  });
  namespaces.open();
  await mounts.open();
  if (leads) {
    mounts.lead();
    startJobs(namespaces, mounts);
  }
  return { ...made, stage, mounts, namespaces };
}

function toyType(stage: Stage): EngineType<unknown> {
  const endpoint = endpointsOf<Toy>();
  const paths = [
    endpoint({
      name: "readToy",
      method: "GET",
      path: "/toy",
      summary: "Read.",
      access: access.capability,
      input: {},
      output: out.object({ path: out.string("Path.") }),
      handler: ({ needs }) => ({ path: needs.mount.path() }),
    }),
  ];
  return anyEngine<Toy>({
    type: "toy",
    kind: "secret",
    summary: "For tests.",
    version: "v1.0.0+builtin",
    paths: () => paths,
    checkOptions: (options) => {
      for (const key of Object.keys(options)) {
        if (key !== "level") throw new Failure("invalid", "toy-options", "options may have level");
      }
      return { level: "1", ...options };
    },
    canChangeOptions: (before, after) =>
      Number(after["level"]) < Number(before["level"]) ? "level only grows" : null,
    open: async (needs) => {
      await stage.opening();
      return new Toy(needs);
    },
    lead: (toy) => {
      toy.leads = true;
    },
    rest: (toy) => {
      toy.leads = false;
    },
    undo: {
      thing: async (_, record, signal) => {
        stage.order.push("undo");
        await stage.undoing(record, signal);
        stage.undone.push(record.id);
      },
    },
    ...(stage.jobDeadline === null ? {} : { jobDeadline: stage.jobDeadline }),
    periodic: async () => void stage.periods++,
    close: (toy) => {
      stage.order.push("close");
      toy.closed = true;
    },
  });
}

/** The engine behind a path of the root namespace. */
export function toyAt(mounts: Mounts, path: string, namespace = ROOT): Toy {
  const found = mounts.find(namespace, path.split("/"));
  assert.ok(found !== null && found.ref.engine instanceof Toy, path);
  return found.ref.engine;
}

const ROOT = { id: "root", path: "", created: 0n };
