// Power cuts under the whole server: its writes and syncs are recorded while clients use its API; from the
// record, images of what a disk may hold after power was lost are rebuilt; on each the server must start,
// unseal and have everything that had been acknowledged by then. Audit files are not synced for each
// record, so their end may be missing, but nothing of them may stand in the way.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Prng } from "../../sim/prng.ts";
import { at } from "../../tests/support/http-client.ts";
import { ApiLedger, parseEvent, UNSET } from "./api-ledger.ts";
import { readBack } from "./api-reading.ts";
import type { RecorderOptions } from "./api-recorder.ts";
import { Api, type Keys, NodePlace, ServerProcess } from "./api-server.ts";
import { discard, scratch } from "../child.ts";
import { type CrashImage, finalTree, images, readTree, writeImage } from "../disk/crash-image.ts";
import type { Tree } from "../disk/lossy-disk.ts";
import type { Result } from "../result.ts";
import { shimEnv } from "../disk/shim.ts";
import { readTrace, type TraceRecord } from "../disk/trace.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";

const CLIENTS = 6;
const WRITES = 20;
const CHECKPOINT_BYTES = 256 * 1024; // several times in so short a run
const RECORDER = join(import.meta.dirname, "api-recorder.ts");

export interface ApiPowerlossOptions {
  readonly images: number;
  readonly seed: number;
  readonly plant?: "normal-sync";
  readonly say: (line: string) => void;
}

export async function apiPowerloss(options: ApiPowerlossOptions): Promise<Result> {
  const { seed, say } = options;
  const scene = scratch("api-powerloss", true);
  const place = new NodePlace(join(scene, "node"));
  const beside = join(scene, "beside");
  try {
    const records = await record(place, beside, options);
    discard(place.directory);
    const syncs = records.filter(({ type }) => type === "sync").length;
    const acks = records.flatMap((each) => (each.type === "ack" ? [each.text] : []));
    const done = acks.filter((text) => text.startsWith("done ")).length;
    say(`recorded ${records.length} calls, ${syncs} syncs, ${done} acknowledged changes`);
    const random = new Prng(seed).fork("shares");
    let [tried, bad, first] = [0, 0, ""];
    for (const image of images(records, { seed, count: options.images })) {
      // At the path it had: audit devices are stored with the path of their file.
      writeImage(image, place.directory);
      const wrong = await verify(place, beside, image, random);
      discard(place.directory);
      tried++;
      if (wrong.length > 0) {
        bad++;
        first ||= `${image.description}\n${wrong.slice(0, 5).join("\n")}`;
        if (options.plant !== undefined) break; // one is enough
      }
      if (tried % 50 === 0) say(`${tried} images, ${bad} bad`);
    }
    const figure = `${tried} images of ${done} acknowledged changes, ${bad} bad`;
    return bad === 0 ? { ok: true, figure } : { ok: false, figure, detail: first };
  } finally {
    discard(scene);
  }
}

async function record(
  place: NodePlace,
  beside: string,
  { seed, plant }: ApiPowerlossOptions,
): Promise<TraceRecord[]> {
  mkdirSync(place.directory, { recursive: true, mode: 0o700 });
  mkdirSync(beside, { recursive: true });
  const trace = join(beside, "trace");
  const env = shimEnv({ directory: place.directory, trace });
  const target = { checkpointBytes: CHECKPOINT_BYTES, ...(plant === undefined ? {} : { plant }) };
  const server = new ServerProcess({ place, beside, env, target });
  try {
    const url = await server.ready;
    const { directory } = place;
    await runClients({ url, directory, clients: CLIENTS, writes: WRITES, seed }, env);
    server.process.kill("SIGTERM");
    const { code, errors } = await server.ended;
    if (code !== 0) throw new Error(`the recorded server ended with ${code}\n${errors}`);
  } finally {
    await server.kill();
  }
  const records = [...readTrace(trace)];
  const missed = differences(readTree(place.directory), finalTree(records));
  if (missed.length > 0) throw new Error(`the trace is not whole: ${missed.join(", ")}`);
  return records;
}

function runClients(
  options: RecorderOptions,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const child = spawn(
    process.execPath,
    ["--no-warnings", ...FIND_OWN_MODULES, RECORDER, JSON.stringify(options)],
    {
      stdio: ["ignore", "inherit", "pipe"],
      env: { ...process.env, ...env },
    },
  );
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`the recorded clients ended with ${code}\n${errors}`));
    });
  });
}

/** Files that went past the record: an image without them would prove nothing. */
function differences(real: Tree, traced: Tree): string[] {
  const names = new Set([...real.files.keys(), ...traced.files.keys()]);
  return [...names].filter((name) => {
    const [a, b] = [real.files.get(name), traced.files.get(name)];
    return a === undefined || b === undefined || !a.equals(b);
  });
}

async function verify(
  place: NodePlace,
  beside: string,
  image: CrashImage,
  random: Prng,
): Promise<string[]> {
  const ledger = new ApiLedger();
  for (const line of image.acks) ledger.take(parseEvent(line));
  const server = new ServerProcess({ place, beside });
  try {
    const url = await server.ready;
    const known = ledger.known("init") ?? UNSET;
    const answer = await new Api(url).expect([200], "GET", "sys/init");
    if (known === UNSET) return []; // its shares reached nobody: all it owes is to start
    if (at(answer, "initialized") !== true) return ["the acknowledged init is gone"];
    const keys = JSON.parse(known) as Keys;
    const api = new Api(url, keys.token);
    await api.unseal(keys, random);
    const wrong = await readBack(api, ledger, { clients: CLIENTS, auditCut: true });
    api.close();
    return wrong;
  } catch (error) {
    return [`does not open: ${errorText(error)}\n${server.log.split("\n").slice(-6).join("\n")}`];
  } finally {
    await server.kill();
  }
}
