// `npm test [-- part-of-a-path …] [-- --node-option …]`: all tests but those of `npm run check`, or those in files
// whose path contains one of the given parts. Options are passed on to Node (`--test-name-pattern=barrier`).
//
// Unit tests share processes: it is some fifty times faster than a process per file, and possible because the
// product has no global state. Files named *.process.test.ts start processes or servers of their own and run each
// in a process.
//
// All tests are run in more pieces than there are cores, each begun when another has ended, so that no core is idle
// while another has a long list left; nobody has to know how long a file takes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, statfsSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { HOUSE_TESTS } from "./house-tests.ts";
import { FIND_OWN_MODULES, keepCompiledCode } from "./quick-start.ts";
import { requireRuntime } from "./runtime.ts";

requireRuntime();
keepCompiledCode();

const root = join(import.meta.dirname, "..");
const args = process.argv.slice(2).filter((arg) => arg !== "--");
const options = args.filter((arg) => arg.startsWith("-"));
const parts = args.filter((arg) => !arg.startsWith("-"));

const found = globSync(
  "{src,shared,plugin-sdk,client,engines,plugins,sim,soak,tests}/**/*.test.ts",
  {
    cwd: root,
  },
).toSorted();
const files = found.filter((file) =>
  parts.length === 0 ? !HOUSE_TESTS.includes(file) : parts.some((part) => file.includes(part)),
);
if (files.length === 0) {
  console.error(`no test file matches ${parts.join(" or ") || "**/*.test.ts"}`);
  process.exit(1);
}

const isProcessTest = (file: string) => file.endsWith(".process.test.ts");
const all = parts.length === 0;
const PIECES = 4; // of the unit tests
const CORE = 3;
const cores = Math.min(2, availableParallelism());

interface Job {
  readonly name: string;
  readonly how: readonly string[];
  readonly files: readonly string[];
  /** In thirds of a core: what waits for processes, disks and clocks a third of the time leaves room for another. */
  readonly takes: number;
}

const MEMORY_DISK = "/dev/shm";
const HERE = "scripts/test-files.ts";
const UNIT = [HERE, "--unit"];
// A file that is run by itself has its process already: no second one is started for it.
const ALONE = [HERE];
const PROCESS = ["--test", "--test-isolation=process", "--test-concurrency=1"];
const bySize = files
  .map((file) => ({ file, bytes: statSync(join(root, file)).size }))
  .toSorted((a, b) => b.bytes - a.bytes);
const unit = bySize.filter(({ file }) => !isProcessTest(file));
// Those that take longest begin first, so that nobody waits for one of them at the end: a hundred exchanges of
// houses, restores that are killed, the experiments, which kill and start servers, and pages with many commands.
const LONG = ["/house-exchange.", "/snapshots/killed.", "soak/", "tests/docs/"];
const rank = (file: string) => {
  const at = LONG.findIndex((part) => file.includes(part));
  return at < 0 ? LONG.length : at;
};
const others = bySize
  .map(({ file }) => file)
  .filter(isProcessTest)
  .toSorted((a, b) => rank(a) - rank(b));

const units: Job[] = pieces(unit, PIECES).map((some, i) => ({
  name: `unit ${i + 1} of ${PIECES}`,
  how: UNIT,
  files: some,
  takes: 2,
}));
const processes: Job[] = others.map((file) => ({
  name: file,
  how: ALONE,
  files: [file],
  takes: 2,
}));
// A piece of the unit tests and two of the others beside it; whichever is left then.
const jobs: Job[] = all
  ? [...units.slice(0, 1), ...processes.slice(0, 2), ...units.slice(1), ...processes.slice(2)]
  : [
      { name: "unit", how: UNIT, files: unit.map(({ file }) => file).toSorted(), takes: CORE },
      { name: "process", how: PROCESS, files: others.toSorted(), takes: CORE },
    ].filter((job) => job.files.length > 0);
process.exitCode = (await runAll(jobs, all ? cores * CORE + 1 : CORE)) ? 0 : 1;

/** Lists of about equal weight, the same ones every time. A large file takes longer, mostly. */
function pieces(some: readonly { file: string; bytes: number }[], count: number): string[][] {
  const lists = Array.from({ length: count }, () => ({ files: [] as string[], bytes: 0 }));
  for (const { file, bytes } of some) {
    const lightest = lists.reduce((a, b) => (b.bytes < a.bytes ? b : a));
    lightest.files.push(file);
    lightest.bytes += bytes;
  }
  return lists.map((list) => list.files.toSorted());
}

/** As many at once as there is room for: the first that fits is the next. */
async function runAll(waiting: Job[], room: number): Promise<boolean> {
  const running = new Set<Promise<void>>();
  let free = room;
  let good = true;
  while (waiting.length > 0) {
    const next = waiting.findIndex(({ takes }) => takes <= free);
    if (next < 0) {
      await Promise.race(running);
      continue;
    }
    const [job] = waiting.splice(next, 1) as [Job];
    free -= job.takes;
    const ended = run(job).then((ok) => {
      good &&= ok;
      free += job.takes;
      running.delete(ended);
    });
    running.add(ended);
  }
  await Promise.all(running);
  return good;
}

/** Unit tests have their files in memory, where there is room: none of them asks for more of a disk than its answers. */
function withPlace(how: readonly string[]): NodeJS.ProcessEnv {
  const isUnit = how === UNIT;
  return isUnit && hasRoom(MEMORY_DISK) ? { ...process.env, TMPDIR: MEMORY_DISK } : process.env;
}

function hasRoom(path: string): boolean {
  if (!existsSync(path)) return false;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize > 1024 ** 3;
}

async function run({ name, how, files: some }: Job): Promise<boolean> {
  // All tests: a dot each. A chosen few: their names.
  const reporter = all ? "dot" : "spec";
  const chosen = options.some((option) => option.startsWith("--test-reporter"));
  const env = withPlace(how);
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [
      "--max-semi-space-size=32", // a tenth of the time goes into looking through young objects
      ...FIND_OWN_MODULES,
      // A test that hangs fails instead of holding up the run. The longest take ten seconds on a quiet
      // machine, and five times as long on a busy one.
      "--test-timeout=600000",
      ...(chosen ? [] : [`--test-reporter=${reporter}`]),
      ...options,
      ...how,
      ...some,
    ],
    // Two at once would write into each other's lines: the text of each comes when it is done.
    { cwd: root, env, stdio: ["inherit", all ? "pipe" : "inherit", "inherit"] },
  );
  const output: Buffer[] = [];
  child.stdout?.on("data", (piece: Buffer) => output.push(piece));
  const [status, signal] = (await once(child, "close")) as [number | null, string | null];
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const outcome = status === 0 ? "ok" : `FAILED ${signal ?? ""}`.trimEnd();
  for (const piece of output) process.stdout.write(piece);
  const what = some.length === 1 && all ? name : `${name} tests: ${some.length} files`;
  console.log(`${what}, ${seconds} s, ${outcome}`);
  return status === 0;
}
