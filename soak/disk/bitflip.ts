// Damage is found: bits of a closed store's file are flipped, pages swapped, repeated, zeroed and cut off. No
// altered value is ever served, a vanished key is damage and not absence, what is missing from a list
// is found by the next check, and nothing dies of a signal.

import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { Prng } from "../../sim/prng.ts";
import type { Finding } from "./bitflip-reader.ts";
import { discard, scratch } from "../child.ts";
import { Ledger, WINDOW } from "../ledger.ts";
import { openStore } from "../opened.ts";
import type { Result } from "../result.ts";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";

const PAGE = 4096;
const CLIENTS = 6;
const LARGEST = 1500;
const LONGEST_LOOK_MS = 60_000;
const KEY = "shared/soak/object/";
const DATABASE = /\.db$/;

export interface BitflipOptions {
  readonly images: number;
  readonly seed: number;
  readonly plant?: "no-leaf-check";
  readonly say: (line: string) => void;
}

export async function bitflip(options: BitflipOptions): Promise<Result> {
  const random = new Prng(options.seed);
  const place = scratch("bitflip", true);
  try {
    const whole = join(place, "whole");
    await fill(whole);
    const file = readdirSync(whole).find((name) => DATABASE.test(name) && name !== "lock.db");
    if (file === undefined) throw new Error("the store has no database file");
    const bytes = readFileSync(join(whole, file));
    const reader = new Reader(options.plant);
    const tally = { same: 0, refused: 0, damage: 0, found: 0 };
    const wrong: string[] = [];
    let tried = 0;
    try {
      for (let i = 0; i < options.images; i++) {
        const { image, what } = damage(bytes, random);
        const directory = join(place, "image");
        mkdirSync(directory, { mode: 0o700 });
        for (const name of readdirSync(whole))
          copyFileSync(join(whole, name), join(directory, name));
        writeFileSync(join(directory, file), image, { mode: 0o600 });
        const finding = await reader.read(directory);
        discard(directory);
        tried++;
        tally[finding.verdict === "bad" ? "same" : finding.verdict]++;
        if (finding.verdict === "bad") wrong.push(`image ${i}, ${what}: ${finding.detail}`);
        if (wrong.length > 0 && options.plant !== undefined) break; // one is enough
        if ((i + 1) % 100 === 0)
          options.say(`${i + 1} images: ${JSON.stringify(tally)}, ${wrong.length} bad`);
      }
    } finally {
      reader.end();
    }
    const figure =
      `${tried} damaged files: ${tally.refused} refused at open, ${tally.damage} answered as ` +
      `damage, ${tally.found} found by the check, ${tally.same - wrong.length} without effect, ${wrong.length} bad`;
    const detail = wrong.slice(0, 10).join("\n");
    return wrong.length === 0 ? { ok: true, figure } : { ok: false, figure, detail };
  } finally {
    discard(place);
  }
}

async function fill(directory: string): Promise<void> {
  const { barrier, close } = await openStore({ directory });
  const ledger = new Ledger(barrier, LARGEST);
  const client = async (id: number) => {
    for (let n = 0; n < WINDOW + 10; n++) await ledger.next(id);
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, id) => client(id)));
  await close();
}

/** One fault. Most are single bits; the rest is what disks and people do to whole pages. */
function damage(bytes: Buffer, random: Prng): { image: Buffer; what: string } {
  const image = Buffer.from(bytes);
  const pages = bytes.length / PAGE;
  const page = () => random.int(pages) * PAGE;
  const kind = random.next();
  if (kind < 0.2) {
    // In the text of a key, which no checksum of SQLite's covers: the row is then under another name.
    const keys: number[] = [];
    for (let at = bytes.indexOf(KEY); at >= 0; at = bytes.indexOf(KEY, at + 1)) keys.push(at);
    const at = random.pick(keys) + random.int(KEY.length);
    const bit = random.int(8);
    image[at]! ^= 1 << bit;
    return { image, what: `bit ${bit} of byte ${at}, in a key, flipped` };
  }
  if (kind < 0.8) {
    // Half of the flips go where a page keeps its structure: header, cell pointers, keys.
    const at = random.chance(0.5) ? random.int(bytes.length) : page() + random.int(200);
    const bit = random.int(8);
    image[at]! ^= 1 << bit;
    return { image, what: `bit ${bit} of byte ${at} flipped` };
  }
  const [a, b] = [page(), page()];
  if (kind < 0.86) {
    bytes.copy(image, a, b, b + PAGE);
    bytes.copy(image, b, a, a + PAGE);
    return { image, what: `pages at ${a} and ${b} swapped` };
  }
  if (kind < 0.91) {
    bytes.copy(image, a, b, b + PAGE);
    return { image, what: `page at ${b} repeated at ${a}` };
  }
  if (kind < 0.96) {
    image.fill(0, a, a + PAGE);
    return { image, what: `page at ${a} zeroed` };
  }
  const size = random.int(bytes.length);
  return { image: image.subarray(0, size), what: `file cut to ${size} bytes` };
}

/** Opens images in a process of its own, so that a crash there is an observation here. */
class Reader {
  readonly #plant: string | undefined;
  #child: ReturnType<Reader["_start"]> | null = null;

  constructor(plant?: string) {
    this.#plant = plant;
  }

  async read(directory: string): Promise<Finding> {
    this.#child ??= this._start();
    const { process: child, lines, ended } = this.#child;
    const answer = lines.next();
    child.stdin.write(`${directory}\n`);
    // Going round in circles on a damaged file is as bad as dying of it.
    const patience = setTimeout(() => child.kill("SIGKILL"), LONGEST_LOOK_MS);
    const line = await Promise.race([answer, ended]);
    clearTimeout(patience);
    if (typeof line === "object" && "value" in line && typeof line.value === "string") {
      return JSON.parse(line.value) as Finding;
    }
    const end = await ended;
    this.#child = null;
    const orderly = end.signal === null && end.code === 1 && /stopped: ./.test(end.errors);
    if (orderly) return { verdict: "refused", detail: end.errors };
    return {
      verdict: "bad",
      detail: `died of ${end.signal ?? end.code}: ${end.errors.slice(0, 500)}`,
    };
  }

  end(): void {
    this.#child?.process.stdin.end();
  }

  _start() {
    const program = new URL("./bitflip-reader.ts", import.meta.url).pathname;
    const settings = JSON.stringify({ clients: CLIENTS, largest: LARGEST, plant: this.#plant });
    const child = spawn(
      process.execPath,
      ["--no-warnings", ...FIND_OWN_MODULES, program, settings],
      {
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
    child.stdin.on("error", () => {});
    const ended = new Promise<{ code: number | null; signal: string | null; errors: string }>(
      (resolve) => child.on("close", (code, signal) => resolve({ code, signal, errors })),
    );
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return { process: child, lines, ended };
  }
}
