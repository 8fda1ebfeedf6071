// A node that is killed at every request of an upload to a cloud, before the store has done its part or after: the next
// one aborts what is left of it, what is visible is whole, and none is gone before the next one was there.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { CloudAStore } from "../../src/snapshots/clouda/clouda-store.ts";
import { type FakeS3, startFakeS3 } from "../../tests/fakes/stores/clouda-store.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { cloudaConfig } from "../../tests/support/snapshots/auto-server.ts";
import { until } from "../../tests/support/until.ts";
import { discard, scratch } from "../child.ts";
import { ACK_FILE } from "../disk/trace.ts";
import { copied, directoryIn } from "../disk/trials.ts";
import { type Result, resultOf } from "../result.ts";
import {
  checkWhole,
  done,
  type Keys,
  prepare,
  RETAIN,
  runNow,
  startNode,
} from "./snapshots-node.ts";
import { leftAlone } from "./snapshots-plants.ts";
import type { SnapshotsTarget } from "./snapshots-target.ts";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";

const ENOUGH = 5; // complaints
/** More than one part. */
const LARGE = { count: 40, bytes: 450_000 };
const FOREIGN = "east/daily/nightly-1.snap";

export interface UploadsOptions {
  /** Only every n-th of the moments. */
  readonly stride: number;
  readonly seed: number;
  readonly planted: boolean;
  readonly say: (line: string) => void;
}

type Objects = FakeS3["objects"];

interface Stage {
  readonly place: string;
  readonly base: string;
  readonly keys: Keys;
  readonly fake: FakeS3;
  /** As the bucket is before. */
  readonly objects: ReadonlyMap<string, NonNullable<ReturnType<Objects["get"]>>>;
}

export async function uploads({ stride, seed, planted, say }: UploadsOptions): Promise<Result> {
  const place = scratch("uploads", true);
  const fake = await startFakeS3();
  const mend = planted ? leftAlone(CloudAStore.prototype) : () => {};
  const wrong: string[] = [];
  let kills = 0;
  try {
    const stage = await prepared(place, fake);
    const before = fake.log.length;
    await end(start(stage));
    const actions = fake.actions().slice(before);
    const moments = actions.flatMap((action, after) =>
      (["hang", "hang-after"] as const).map((kind) => ({ action, after, kind })),
    );
    say(`${moments.length} moments of an upload`);
    const first = planted ? moments.findIndex(isAfterBegin) : seed % stride;
    for (
      let at = first;
      at < moments.length && wrong.length < (planted ? 1 : ENOUGH);
      at += stride
    ) {
      const { action, after, kind } = moments[at]!;
      const found = await killed(stage, { action: "*", after, kind });
      const when = `${kind === "hang" ? "before" : "after"} ${action}, request ${after + 1}`;
      wrong.push(...found.map((text) => `killed ${when}: ${text}`));
      kills++;
    }
    return resultOf(`${kills} kills in an upload: ${wrong.length} bad`, wrong);
  } finally {
    mend();
    await fake.close();
    discard(place);
  }
}

/** The upload is there, and who began it has not heard of it. */
function isAfterBegin({
  action,
  kind,
}: {
  readonly action: string;
  readonly kind: string;
}): boolean {
  return action === "CreateMultipartUpload" && kind === "hang-after";
}

async function prepared(place: string, fake: FakeS3): Promise<Stage> {
  const directory = directoryIn(place);
  const change = cloudaConfig(fake, { interval: "24h", retain: RETAIN });
  const keys = await prepare(directory, change);
  const node = await startNode(directory);
  try {
    await node.unseal([keys.share]);
    const { token } = keys;
    for (let n = 0; n < LARGE.count; n++) {
      const body = { value: String(n % 10).repeat(LARGE.bytes) };
      done(await node.call("POST", `/v1/kv/large-${n}`, { token, body }));
    }
    for (let n = 0; n < RETAIN; n++) done(await runNow(node, token));
  } finally {
    await node.stop();
  }
  fake.objects.set(FOREIGN, { bytes: Buffer.from("somebody else's"), headers: {} });
  const base = join(place, "base");
  renameSync(directory, base);
  return { place, base, keys, fake, objects: new Map(fake.objects) };
}

/** On a copy of the base, with the bucket as it was. */
function start(stage: Stage) {
  const { fake, objects, keys } = stage;
  fake.uploads.clear();
  fake.objects.clear();
  for (const [name, object] of objects) fake.objects.set(name, object);
  const directory = copied(stage);
  const target: SnapshotsTarget = { directory, ...keys, rounds: 1, saves: false, plant: false };
  const program = join(import.meta.dirname, "snapshots-target.ts");
  return spawn(
    process.execPath,
    ["--no-warnings", ...FIND_OWN_MODULES, program, JSON.stringify(target)],
    {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, TMPDIR: stage.place }, // what it leaves there goes with the rest
    },
  );
}

async function end(child: ReturnType<typeof start>): Promise<void> {
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`the process ended with ${code}`);
}

async function killed(stage: Stage, fault: FakeS3["faults"][number]): Promise<string[]> {
  const { fake } = stage;
  const hanging = fake.hanging();
  const child = start(stage);
  const over = once(child, "close");
  fake.faults.push(fault);
  try {
    await until(() => fake.hanging() > hanging || child.exitCode !== null);
  } finally {
    fake.faults.length = 0;
    child.kill("SIGKILL");
    await over;
  }
  try {
    return await look(stage);
  } catch (error) {
    return [`does not go on: ${errorText(error)}`];
  }
}

async function look({ place, keys, fake, objects }: Stage): Promise<string[]> {
  const wrong: string[] = [];
  const ours = () => [...fake.objects.keys()].filter((name) => name !== FOREIGN).toSorted();
  const checkVisible = () => {
    for (const name of ours()) {
      try {
        checkWhole(fake.objects.get(name)!.bytes);
      } catch (error) {
        wrong.push(`${name} is visible and not whole: ${errorText(error)}`);
      }
    }
    if (ours().length < RETAIN) wrong.push(`only ${ours().length} remain`);
    if (fake.objects.get(FOREIGN) !== objects.get(FOREIGN)) wrong.push(`${FOREIGN} was touched`);
  };
  checkVisible();
  const directory = directoryIn(place);
  const log = join(directory, ACK_FILE);
  const acks = existsSync(log) ? readFileSync(log, "utf8").split("\n") : [];
  for (const ack of acks.filter((line) => line.startsWith("stored "))) {
    const [, name = ""] = ack.split(" ");
    if (!ours().some((one) => one.endsWith(name))) wrong.push(`${name} is gone`);
  }
  const node = await startNode(directory);
  try {
    await node.unseal([keys.share]);
    const answer = await runNow(node, keys.token);
    if (answer.status !== 200) wrong.push(`no further snapshot: ${answer.status} ${answer.text}`);
    if (!(await node.server.store.check()).ok) wrong.push("the check is not clean");
  } finally {
    await node.stop();
  }
  if (fake.uploads.size > 0) wrong.push(`${fake.uploads.size} uploads are left`);
  checkVisible();
  if (ours().length > RETAIN) wrong.push(`${ours().length} remain`);
  return wrong;
}
