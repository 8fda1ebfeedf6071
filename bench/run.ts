// npm run bench [-- PATTERN ...] [OPTIONS]: measures what budgets speak of and prints one table. Speed
// never fails it; the exit status is 1 only when a row could not do its work at all. Usage: see HELP.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type ApiContext, type Target, targetOf } from "./api/api-target.ts";
import { benchBeside } from "./beside.ts";
import { ROWS } from "./catalogue.ts";
import { forgetFilledStores } from "./stores/filled-store.ts";
import { isInMemory, machineOf, quietMillis, referenceMillis, showMachine } from "./machine.ts";
import { median } from "./measure.ts";
import { ask } from "./processes.ts";
import { type Figure, meets, type Row } from "./row.ts";
import type { Outcome, RowInput } from "./row-process.ts";
import { type Result, showTable } from "./table.ts";
import { errorText } from "../tests/support/error-text.ts";

const HELP = `Usage: npm run bench [-- PATTERN ...] [OPTIONS]

Runs the rows whose name contains one of the patterns (default: all), each in a fresh process, and
prints their figures beside their budgets: median and spread of several rounds after a warm-up.

  --directory DIR  where data is written (default: the system's temporary directory). It must be on
                   a real disk for commits to mean anything. What is written there is removed.
  --json FILE      also write everything measured as JSON
  --list           name the rows and end
  --beside DIR     run the rows in turns here and in another checkout of the project, which has its
                   packages installed, --times N each (10), and show the ratio of the medians. Servers
                   of both run at the same time where a row is a load on the API
  --quiet          wait for the machine to be quiet before each round, and repeat rounds after which
                   it no longer is: by a fixed piece of work that says nothing about us, and its best
                   time so far, which is kept in .cache/
  --quick          tiny sizes: shows that the rows work, and nothing about speed
  --fresh          fill the large stores anew; otherwise they are kept in .cache/ between runs
  --profile DIR    write CPU profiles of every process and thread (open them in a browser)
  --target URL --token T
                   run the load of api/writes, api/reads and kv/ at that server as well, afterwards,
                   and show the ratios. It must be unsealed; the token may make and remove namespaces
                   there, which are named holdfast-bench-NNNN, and a mount holdfast-bench-kv. Ours has
                   a file as its audit device: give it one as well, or its figures are of less work.
  --help           this text

Examples: npm run bench -- commits gets/store --json /tmp/figures.json
          npm run bench -- api --target http://127.0.0.1:8200 --token T
`;

const CACHE = join(import.meta.dirname, "..", ".cache");

interface Settings {
  readonly rows: readonly Row[];
  readonly directory: string;
  readonly json: string | undefined;
  readonly quick: boolean;
  readonly quiet: boolean;
  readonly profile: string | undefined;
  readonly target: Target | undefined;
  readonly beside: string | undefined;
  readonly times: number;
}

async function runRow(
  row: Row,
  scratch: string,
  settings: Settings & { readonly quietMillis: number | undefined },
): Promise<Outcome> {
  const directory = join(scratch, row.name.replaceAll("/", "-"));
  // Quick stores are too small to be worth keeping, and must not be taken for the real ones.
  const cache = settings.quick ? join(scratch, "filled") : CACHE;
  const { profile, quick, quietMillis, target } = settings;
  const context: ApiContext = {
    directory,
    cache,
    quick,
    ...(quietMillis === undefined ? {} : { quietMillis }),
    ...(target && { target }),
  };
  const input: RowInput = { row: row.name, ...context };
  const runtime = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  try {
    return await ask<Outcome>("row-process.ts", input, { runtime });
  } catch (error) {
    return { kind: "failed", reason: errorText(error) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function bench(settings: Settings): Promise<number> {
  const { beside } = settings;
  if (beside !== undefined) return (await benchBeside({ ...settings, beside })) === 0 ? 0 : 1;
  mkdirSync(settings.directory, { recursive: true });
  const scratch = mkdtempSync(join(settings.directory, "holdfast-bench-"));
  process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => process.exit(130)); // rows end when we do
  }
  const machine = machineOf(scratch);
  process.stdout.write(`${showMachine(machine)}\n`);
  if (settings.target !== undefined) {
    process.stdout.write(`Compared with ${settings.target.url}\n\n`);
  }
  if (isInMemory(scratch)) {
    const advice = "choose a directory on a real disk with --directory";
    process.stdout.write(`WARNING: commits to memory cost no sync; ${advice}\n\n`);
  }
  if (machine.loadBefore > machine.cores / 4) {
    process.stdout.write("WARNING: other processes are busy; figures come out worse.\n\n");
  }
  if (settings.quick) process.stdout.write("Quick: sizes are tiny; figures mean nothing.\n\n");

  const quiet = settings.quiet ? await quietMillis(CACHE) : undefined;
  if (quiet !== undefined) {
    process.stdout.write(
      `Rounds count while a fixed piece of work takes ${quiet.toFixed(0)} ms\n\n`,
    );
  }
  const results: Result[] = [];
  for (const [i, row] of settings.rows.entries()) {
    process.stderr.write(`[${i + 1}/${settings.rows.length}] ${row.name}\n`);
    const reference = referenceMillis();
    results.push({
      row,
      reference,
      outcome: await runRow(row, scratch, { ...settings, quietMillis: quiet }),
    });
  }
  process.stdout.write(showTable(results, !settings.quick));
  process.stdout.write(`\n${showReference(results.map(({ reference }) => reference))}\n`);
  if (settings.json !== undefined) {
    const rows = results.map((result) => jsonOf(result, !settings.quick));
    const report = { machine, quick: settings.quick, target: settings.target?.url, rows };
    writeFileSync(settings.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return results.some(({ outcome }) => outcome.kind === "failed") ? 1 : 0;
}

function showReference(millis: readonly number[]): string {
  const [min, max] = [Math.min(...millis), Math.max(...millis)].map((ms) => ms.toFixed(0));
  const advice = "compare only with runs where it took as long";
  return `A fixed piece of work before each row took ${min} to ${max} ms; ${advice}.`;
}

function jsonOf({ row, outcome, reference }: Result, judged: boolean): object {
  const { name, what, unit, budget } = row;
  if (outcome.kind !== "measured") return { name, what, unit, budget, reference, ...outcome };
  const complete = (figure: Figure) => {
    const value = median(figure.samples);
    return { ...figure, median: value, met: judged ? meets(value, figure.budget) : null };
  };
  const main = complete({ what, unit, samples: outcome.samples, ...(budget && { budget }) });
  return { name, reference, ...main, also: (outcome.also ?? []).map(complete) };
}

function readSettings(): Settings | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      directory: { type: "string", default: tmpdir() },
      json: { type: "string" },
      list: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      quiet: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      profile: { type: "string" },
      beside: { type: "string" },
      times: { type: "string", default: "10" },
      target: { type: "string" },
      token: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return null;
  }
  const rows = ROWS.filter(
    ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
  );
  if (rows.length === 0) {
    throw new Error(`no row is named like ${positionals.join(" or ")}; --list names them all`);
  }
  if (values.list) {
    const width = Math.max(...rows.map(({ name }) => name.length));
    for (const { name, what } of rows) process.stdout.write(`${name.padEnd(width)}  ${what}\n`);
    return null;
  }
  if (values.fresh) forgetFilledStores(CACHE);
  const { json, quick, quiet } = values;
  const profile = values.profile && resolve(values.profile); // processes run in other directories
  const target = targetOf(values.target, values.token);
  const beside = values.beside && resolve(values.beside);
  const times = Number(values.times);
  if (!Number.isInteger(times) || times < 1) throw new Error("--times takes a number from 1 on");
  const directory = resolve(values.directory);
  return { rows, directory, json, quick, quiet, profile, target, beside, times };
}

try {
  const settings = readSettings();
  process.exitCode = settings === null ? 0 : await bench(settings);
} catch (error) {
  process.stderr.write(`bench: ${errorText(error)}\n`);
  process.exitCode = 1;
}
