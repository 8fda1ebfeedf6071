// Shows that the lower half of the soak harness can be trusted, with plain SQLite and no product
// code: the trace is complete, a sound workload loses nothing in any crash image, two planted bugs
// are caught, faults reach the program, delays are felt.
// Run: node soak/disk/shim-selftest.ts [--images 400] [--seed 1]

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { finalTree, images, readTree, writeImage, type CrashImage } from "./crash-image.ts";
import type { Tree } from "./lossy-disk.ts";
import { readCounts, readFired, shimEnv, type Fault, type ShimOptions } from "./shim.ts";
import type { Workload } from "./shim-workload.ts";
import { readTrace } from "./trace.ts";

interface Run {
  readonly directory: string;
  readonly trace: string;
  readonly count: string;
  readonly fired: string;
  readonly status: number | null;
  readonly stderr: string;
  readonly millis: number;
}

type Settings = Partial<Omit<Workload, "directory">>;
type Meddling = Pick<ShimOptions, "fail" | "syncDelayMicros">;

class SelfTest {
  readonly problems: string[] = [];
  readonly #scratch: string;
  readonly #seed: number;
  readonly #images: number;
  #runs = 0;

  constructor(scratch: string, seed: number, imageCount: number) {
    this.#scratch = scratch;
    this.#seed = seed;
    this.#images = imageCount;
  }

  /** The replay of a trace of many kinds of calls must be the directory as it really is. */
  fileCalls(): void {
    const run = this.#run("shim-file-calls.ts", (directory) => directory);
    this.#check(run.status === 0, `file calls: ${run.status} ${run.stderr}`);
    const real = readTree(run.directory);
    this.#check(
      equal(real, finalTree([...readTrace(run.trace)])),
      "file calls: the replay differs",
    );
    const names = [...real.files.keys(), ...real.directories];
    this.#check(names.length === 14, `file calls: ${names.length} names, not 14`);
    console.log(`file calls: replay equals the directory of ${names.length} names`);
  }

  /** Traces a workload, rebuilds images, returns what was wrong with each bad one. */
  crashes(name: string, settings: Settings): string[] {
    const run = this.#workload({ commits: 120, ...settings });
    this.#check(run.status === 0, `${name}: the workload failed: ${run.stderr}`);
    const trace = [...readTrace(run.trace)];
    const acks = trace.filter((record) => record.type === "ack").length;
    this.#check(acks === 132, `${name}: ${acks} acknowledgements in the trace, not 132`);
    this.#check(equal(readTree(run.directory), finalTree(trace)), `${name}: the replay differs`);

    const bad: string[] = [];
    const started = performance.now();
    for (const image of images(trace, { seed: this.#seed, count: this.#images })) {
      const wrong = this.#inspect(image);
      if (wrong !== null) bad.push(`${wrong} (${image.description} of ${run.trace})`);
    }
    const each = ((performance.now() - started) / this.#images).toFixed(1);
    const figures = `${trace.length} records, ${acks} acknowledged, ${each} ms an image`;
    console.log(`${name}: ${bad.length} of ${this.#images} images bad; ${figures}`);
    return bad;
  }

  expect(bad: readonly string[], name: string, wanted: string | null): void {
    const found = wanted !== null && bad.some((text) => text.startsWith(wanted));
    if (wanted !== null && !found) this.problems.push(`${name}: the planted bug was not caught`);
    const other = bad.filter((text) => wanted === null || !text.startsWith(wanted));
    for (const text of other.slice(0, 5)) this.problems.push(`${name}: ${text}`);
  }

  faults(): string {
    const counts = readCounts(this.#workload({}).count);
    console.log(`calls of a workload of 12 commits: ${JSON.stringify(counts)}`);
    const spread = (n: number): number[] => [1, 2, 3].map((quarter) => (n * quarter) >> 2);
    const plans: Fault[] = [
      ...spread(counts.sync).map((nth): Fault => ({ kind: "sync", nth, outcome: "EIO" })),
      ...spread(counts.write).map((nth): Fault => ({ kind: "write", nth, outcome: "short" })),
      { kind: "write", nth: counts.write >> 1, outcome: "EDQUOT", sticky: true },
      { kind: "rename", nth: 1, outcome: "EIO" },
      { kind: "open", nth: 1, outcome: "EIO", sticky: true },
      { kind: "truncate", nth: 1, outcome: "ENOSPC", sticky: true },
      { kind: "unlink", nth: 1, outcome: "EIO", sticky: true },
    ];
    const seen = plans.filter((fail) => this.#fault(fail));
    return `${seen.length} of ${plans.length} faults ended the program`;
  }

  delays(): string {
    const micros = 20_000;
    const plain = this.#workload({ commits: 9 }); // too few for a head: all syncs are one thread's
    const slow = this.#workload({ commits: 9 }, { syncDelayMicros: micros });
    const due = (readCounts(slow.count).sync * micros) / 1000;
    const times = `${Math.round(plain.millis)} ms, delayed ${Math.round(slow.millis)} ms, ≥ ${due} due`;
    this.#check(slow.status === 0 && due > 0, "delay: the workload failed");
    this.#check(slow.millis >= due && slow.millis > plain.millis, `delay not felt: ${times}`);
    return times;
  }

  #fault(fail: Fault): boolean {
    const text = `${fail.kind}:${fail.nth}:${fail.outcome}`;
    const run = this.#workload({}, { fail });
    const [fired] = readFired(run.fired);
    this.#check(fired?.nth === fail.nth && fired.kind === fail.kind, `${text} did not fire`);
    const marked = [...readTrace(run.trace)].some(
      (record) =>
        (record.type === "failed" && record.injected) || (record.type === "write" && record.cut),
    );
    this.#check(marked, `${text} is not marked in the trace`);
    // SQLite ignores a failed sync of a directory; everything else must stop the program.
    const ignored = fired?.path === "" && run.status === 0;
    const ended = run.status === 3;
    this.#check(ended || ignored, `${text} was not seen: status ${run.status} ${run.stderr}`);
    const where = `${fired?.call} of ${fired?.path || "the directory"}`;
    console.log(`  ${text}, ${where}: ${ended ? run.stderr.trim().slice(0, 60) : "ignored"}`);
    return ended;
  }

  /** What is wrong with an image, or null. */
  #inspect(image: CrashImage): string | null {
    const directory = join(this.#scratch, "image");
    rmSync(directory, { recursive: true, force: true });
    writeImage(image, directory);
    const rows = new Set<number>();
    try {
      using database = new DatabaseSync(join(directory, "data.db"));
      const verdict = database.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
      if (verdict !== "ok") return `damaged: ${String(verdict)}`;
      const tables = "SELECT name FROM sqlite_schema WHERE name IN ('row', 'twin')";
      if (database.prepare(tables).all().length === 2) {
        for (const row of database.prepare("SELECT id FROM row").all()) rows.add(Number(row["id"]));
        const odd = database.prepare("SELECT id FROM row EXCEPT SELECT id FROM twin").all();
        if (odd.length > 0) return "half of a transaction";
      }
    } catch (error) {
      return `does not open: ${error instanceof Error ? error.message : "unknown error"}`;
    }
    const head = parseInt(image.files.get("head")?.toString("latin1") ?? "0", 10);
    for (const ack of image.acks) {
      const [what, id] = [ack.split(" ")[0], Number(ack.split(" ")[1])];
      if (what === "row" ? !rows.has(id) : !(head >= id)) return `lost ${ack}`;
    }
    return null;
  }

  #workload(settings: Settings, meddling: Meddling = {}): Run {
    const defaults = { commits: 12, synchronous: "FULL", syncDirectory: true } as const;
    const argument = (directory: string): string =>
      JSON.stringify({ ...defaults, ...settings, directory } satisfies Workload);
    return this.#run("shim-workload.ts", argument, meddling);
  }

  #run(program: string, argument: (directory: string) => string, meddling: Meddling = {}): Run {
    const place = join(this.#scratch, `run-${++this.#runs}`);
    const [directory, trace] = [join(place, "data"), join(place, "trace")];
    const [count, fired] = [join(place, "count"), join(place, "fired")];
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const started = performance.now();
    const child = spawnSync(
      process.execPath,
      [join(import.meta.dirname, program), argument(directory)],
      {
        env: { ...process.env, ...shimEnv({ directory, trace, count, fired, ...meddling }) },
        encoding: "utf8",
        timeout: 60_000,
      },
    );
    const millis = performance.now() - started;
    const { status, stderr } = child;
    return { directory, trace, count, fired, status, stderr, millis };
  }

  #check(condition: boolean, problem: string): void {
    if (!condition) this.problems.push(problem);
  }
}

function equal(a: Tree, b: Tree): boolean {
  const names = (tree: Tree): string =>
    [...tree.files.keys(), "", ...tree.directories].toSorted().join("\n");
  if (names(a) !== names(b)) return false;
  return [...a.files].every(([path, bytes]) => b.files.get(path)?.equals(bytes));
}

function main(): void {
  const number = { type: "string" } as const;
  const { values } = parseArgs({ options: { images: number, seed: number } });
  const [seed, imageCount] = [Number(values.seed ?? 1), Number(values.images ?? 400)];
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(imageCount) || imageCount < 1) {
    throw new Error("--seed and --images must be whole numbers, --images at least 1");
  }
  // In memory where possible: the images test what is on the disk, not the disk.
  const scratch = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "hf-selftest-"));
  const selfTest = new SelfTest(scratch, seed, imageCount);
  selfTest.fileCalls();
  const full = selfTest.crashes("synchronous=FULL", {});
  selfTest.expect(full, "synchronous=FULL", null);
  const normal = selfTest.crashes("planted: synchronous=NORMAL", { synchronous: "NORMAL" });
  selfTest.expect(normal, "synchronous=NORMAL", "lost row");
  const renamed = selfTest.crashes("planted: no directory sync", { syncDirectory: false });
  selfTest.expect(renamed, "no directory sync", "lost head");
  const faults = selfTest.faults();
  const delay = selfTest.delays();

  const { problems } = selfTest;
  for (const problem of problems) console.error(`FAILED ${problem}`);
  if (problems.length > 0) console.error(`traces are kept in ${scratch}`);
  else rmSync(scratch, { recursive: true, force: true });
  const bad = `${full.length} sound, ${normal.length} and ${renamed.length} planted`;
  const verdict = problems.length === 0 ? "ok" : "FAILED";
  console.log(
    `shim self-test ${verdict}: bad of ${imageCount} images ${bad}; ${faults}; sync delay ${delay}; seed ${seed}`,
  );
  process.exitCode = problems.length === 0 ? 0 : 1;
}

main();
