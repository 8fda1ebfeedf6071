// The engine of cloud A on its own, before a fake provider. Time stands still while a call is under way and
// passes while the engine waits, so that waits of seconds are over in a blink on however slow a machine.
// Through a whole server: tests/spec/clouda/.

import type { JsonObject } from "@holdfast/shared/json/json";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemTimers } from "../../../src/system/timers.ts";
import type { Nanos } from "@holdfast/shared/world";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import type { CloudA } from "../../../engines/clouda/engine.ts";
import { OutboundCalls } from "../../../src/outbound/outbound-calls.ts";
import type { EngineServices } from "@holdfast/plugin-sdk/engine-services";
import { type KeptByTests, openEngine, type TestedEngine, testStorage } from "../engine-host.ts";
import type { Outbound } from "@holdfast/plugin-sdk/outbound";
import { type FakeCloudA, startFakeCloudA } from "../../fakes/clouda/fake.ts";
import { type FakeClock, type FakeWorld, fakeWorld, nextTurn } from "../fake-world.ts";

const STEP: Nanos = 100n * MILLISECOND;
/** Turns of the event loop in which nothing is under way: whoever waits, waits for time. */
const IDLE = 8;

interface After {
  after(call: () => Promise<void> | void): void;
}

export interface CloudAStage {
  readonly fake: FakeCloudA;
  readonly clock: FakeClock;
  readonly kept: KeptByTests;
  readonly tested: TestedEngine<CloudA>;
  readonly engine: CloudA;
  /** What was logged, a line each. */
  readonly lines: string[];
  write(path: string, body?: JsonObject): Promise<Reply>;
  read(path: string, query?: Readonly<Record<string, string>>): Promise<Reply>;
  /** What comes of work that may wait for time to pass. */
  timed<T>(work: Promise<T>): Promise<T>;
  /** Another engine over the same storage, as after a restart. */
  reopened(): Promise<TestedEngine<CloudA>>;
  /** The write-ahead records there are. */
  records(): readonly string[];
  /** One round of rollback, whatever their age: what fails stays. Gives the failures. */
  rollBack(): Promise<unknown[]>;
}

export interface StageOptions {
  readonly around?: Partial<EngineServices>;
  /** Of config/root, beside keys and endpoints; null: nothing is configured. */
  readonly root?: JsonObject | null;
}

export async function cloudaStage(t: After, options: StageOptions = {}): Promise<CloudAStage> {
  // Loaded now, so that it does not count as time that passes.
  await Promise.all([import("@aws-sdk/client-iam"), import("@aws-sdk/client-sts")]);
  const world = fakeWorld();
  const { clock, lines } = world;
  const calls = new OutboundCalls({
    allow: [],
    dev: true,
    timers: new SystemTimers(),
    net: new SystemNet(),
  });
  t.after(() => calls.close()); // first: the fake waits for its connections to end
  const fake = await startFakeCloudA({ now: () => Number(clock.now() / 1_000_000n) });
  t.after(() => fake.close());
  const sending = new Sending(calls.for("stage"));
  const around = { outbound: sending, ...options.around };
  const timed = <T>(work: Promise<T>) => whileTimePasses(work, world, sending, fake);
  const kept = await testStorage(world);
  const open = async () => {
    const opened = await openEngine(cloudaType, world, { kept, around });
    t.after(() => opened.engine.close());
    return opened;
  };
  const tested = await open();
  const stage: CloudAStage = {
    fake,
    clock,
    kept,
    tested,
    engine: tested.engine,
    lines,
    write: (path, body = {}) => timed(tested.ask("POST", path, { body })),
    read: (path, query = {}) => timed(tested.ask("GET", path, { query })),
    timed,
    reopened: open,
    records: () => kept.writeAhead.page(undefined).map(({ kind }) => kind),
    rollBack: () => timed(rollBack(tested, kept)),
  };
  if (options.root !== null) {
    await stage.write("config/root", { ...rootOf(fake), ...options.root });
  }
  return stage;
}

/** Knows how many calls are under way. */
class Sending implements Outbound {
  readonly #calls: Outbound;
  underWay = 0;

  constructor(calls: Outbound) {
    this.#calls = calls;
  }

  endpoint(...endpoint: Parameters<Outbound["endpoint"]>): URL {
    return this.#calls.endpoint(...endpoint);
  }

  async send(...request: Parameters<Outbound["send"]>): ReturnType<Outbound["send"]> {
    this.underWay++;
    try {
      return await this.#calls.send(...request);
    } finally {
      this.underWay--;
    }
  }
}

async function whileTimePasses<T>(
  work: Promise<T>,
  { timers }: FakeWorld,
  sending: Sending,
  fake: FakeCloudA,
): Promise<T> {
  let over = false;
  const end = () => {
    over = true;
  };
  work.then(end, end);
  for (let idle = 0; !over;) {
    await nextTurn();
    // A call that the fake holds on to is one that hangs.
    idle = sending.underWay === 0 || fake.control.held > 0 ? idle + 1 : 0;
    if (idle < IDLE || over) continue;
    await timers.advance(STEP);
    idle = 0;
  }
  return work;
}

export function rootOf(fake: FakeCloudA): JsonObject {
  const { url, accessKeyId, secretAccessKey } = fake;
  return {
    access_key: accessKeyId,
    secret_key: secretAccessKey,
    iam_endpoint: url,
    sts_endpoint: url,
  };
}

async function rollBack(
  { engine, type }: TestedEngine<CloudA>,
  { writeAhead }: KeptByTests,
): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const record of writeAhead.page(undefined)) {
    try {
      await type.undo?.[record.kind]?.(engine, record, new AbortController().signal);
      await writeAhead.drop(record.id);
    } catch (error) {
      failures.push(error);
    }
  }
  return failures;
}
