// Checks audit files by their checkpoints, with nothing but the files and a list of keys: wherever they lie now, and
// in whatever order they are named. Twice through each file: first for the checkpoints, which may stand in the
// next file, then for the bytes that they are about. Memory is that of the checkpoints.

import { createHash, type Hash } from "node:crypto";
import { text } from "@holdfast/shared/bytes";
import { type Checkpoint, isCalledCheckpoint, readCheckpointLine } from "./audit-checkpoint.ts";
import {
  FileStretches,
  linkStretches,
  mayBeOne,
  startsChain,
  type Stretch,
} from "./audit-chains.ts";
import { RecordRanges } from "./audit-ranges.ts";
import { parseChainLine, parseLine } from "./audit-line.ts";
import { type CheckOptions, checkOne, type Finding } from "./evidence-check.ts";

export interface AuditFile {
  readonly name: string;
  /** With their ends, from the beginning each time. */
  readonly lines: () => Iterable<Uint8Array>;
}

interface FirstLook {
  readonly checkpoints: Map<string, PlacedCheckpoint>; // by the digest of their payload
  /** Where checkpoints stand: their own lines need none. */
  readonly places: ReadonlySet<string>;
  /** Of each file, by its first line that names one. */
  readonly devices: ReadonlyMap<AuditFile, string>;
  readonly stretches: ReadonlyMap<AuditFile, readonly Stretch[]>;
  readonly findings: Finding[];
}

interface PlacedCheckpoint extends Checkpoint {
  /** In which its line stands. */
  readonly stretch: Stretch;
}

/** By device and number. */
type Places = ReadonlyMap<string, readonly PlacedCheckpoint[]>;

/** Of all files. */
interface Look {
  readonly byFirst: Places;
  readonly byEnd: Places;
  readonly covered: Set<string>;
  readonly ranges: RecordRanges;
}

export function checkAuditFiles(files: readonly AuditFile[], options: CheckOptions): Finding[] {
  const { checkpoints, places, devices, stretches, findings } = firstLook(files, options);
  const all = [...checkpoints.values()];
  const ranges = new RecordRanges();
  const covered = new Set<string>();
  const byFirst = Map.groupBy(all, ({ device, first }) => placeOf(device, first));
  const byEnd = Map.groupBy(all, ({ device, last }) => placeOf(device, last));
  const look = { byFirst, byEnd, covered, ranges };
  for (const file of files) {
    const known = { device: devices.get(file) ?? "", stretches: stretches.get(file) ?? [] };
    // There may be one for each line.
    for (const finding of new SecondLook(file, known, look).run()) findings.push(finding);
  }
  return findings.concat(orderFindings(all, covered, ranges, places));
}

function firstLook(files: readonly AuditFile[], options: CheckOptions): FirstLook {
  const checkpoints = new Map<string, PlacedCheckpoint>();
  const stretches = new Map<AuditFile, readonly Stretch[]>();
  const findings: Finding[] = [];
  const devices = new Map<AuditFile, string>();
  const places = new Set<string>();
  for (const file of files) {
    const { name, lines } = file;
    const own = new FileStretches();
    stretches.set(file, own.all);
    let number = 0;
    for (const line of lines()) {
      number++;
      const plain = text(line).trimEnd();
      const checkpoint = readCheckpointLine(plain);
      const sealed = line.at(-1) === NEWLINE ? parseLine(plain) : null;
      const chained = parseChainLine(plain);
      if (sealed !== null) own.take(sealed, chained);
      if (!devices.has(file)) {
        const device = checkpoint?.device ?? chained?.device;
        if (device !== undefined) devices.set(file, device);
      }
      if (checkpoint === null) {
        if (!isCalledCheckpoint(plain)) continue;
        const why = "it is called a checkpoint, and what is in it is none";
        findings.push({ state: "bad", about: `${name}:${number}`, text: why });
        continue;
      }
      const checked = checkOne(checkpoint.envelope, options);
      if (typeof checked === "string") {
        findings.push({ state: "bad", about: `${name}:${number}`, text: `checkpoint: ${checked}` });
        continue;
      }
      checkpoints.set(checkpoint.own, { ...checkpoint, stretch: own.all.at(-1)! });
      places.add(placeOf(checkpoint.device, parseLine(plain)?.number ?? 0));
      if (checkpoint.problem === null) continue;
      const why = `the server itself found: ${checkpoint.problem}`;
      findings.push({ state: "bad", about: `${name}:${number}`, text: why });
    }
  }
  linkStretches(Array.from(stretches.values()).flat());
  return { checkpoints, places, devices, stretches, findings };
}

/** A run of bytes that is being hashed. */
interface Run {
  hash: Hash;
  bytes: number;
}

class SecondLook {
  readonly #file: AuditFile;
  readonly #look: Look;
  readonly #stretches: readonly Stretch[];
  #stretch = 0; // which of them
  readonly #findings: Finding[] = [];
  #device: string;
  #all: Run = fresh(); // since the end of the last region
  #uncovered = 0; // lines since then that are no checkpoints
  #signed = 0;
  #last = 0; // number of the record before

  constructor(
    file: AuditFile,
    { device, stretches }: { readonly device: string; readonly stretches: readonly Stretch[] },
    look: Look,
  ) {
    this.#file = file;
    this.#device = device;
    this.#stretches = stretches;
    this.#look = look;
  }

  run(): Finding[] {
    const starts = new Map<PlacedCheckpoint, Run>();
    for (const line of this.#file.lines()) this.#take(line, starts);
    const { name } = this.#file;
    if (this.#uncovered > 0) {
      const text =
        this.#signed === 0
          ? "no checkpoint covers any of it"
          : `${this.#uncovered} lines behind record ${this.#signed} have no checkpoint yet`;
      this.#findings.push({ state: "missing", about: name, text });
    }
    return this.#findings;
  }

  #take(line: Uint8Array, starts: Map<PlacedCheckpoint, Run>): void {
    const plain = text(line).trimEnd();
    const sealed = line.at(-1) === NEWLINE ? parseLine(plain) : null;
    const chained = sealed === null ? null : parseChainLine(plain);
    if (chained !== null) this.#device = chained.device;
    if (sealed !== null && startsChain(sealed, chained)) this.#stretch++;
    if (sealed !== null && this.#all.bytes > 0) {
      // Where a region may have begun that is not the rest of what went before.
      for (const checkpoint of this.#at(this.#look.byFirst, sealed.number)) {
        if (!starts.has(checkpoint)) starts.set(checkpoint, fresh());
      }
    }
    add(this.#all, line);
    for (const [checkpoint, begun] of starts) {
      if (begun.bytes + line.length > checkpoint.bytes) starts.delete(checkpoint);
      else add(begun, line);
    }
    if (sealed === null) {
      this.#uncovered++;
      return;
    }
    if (sealed.number <= this.#last && chained?.event !== "started") {
      const about = `${this.#file.name}, record ${sealed.number}`;
      this.#findings.push({ state: "bad", about, text: "it is out of order" });
    }
    this.#last = sealed.number;
    const stretch = this.#stretches[this.#stretch];
    if (stretch !== undefined) this.#look.ranges.seen(this.#device, stretch, sealed.number);
    const own = readCheckpointLine(plain);
    if (own === null) this.#uncovered++;
    const ending = this.#at(this.#look.byEnd, sealed.number);
    if (ending.length > 0) this.#end(ending, starts);
  }

  /** Those of the chain that is being read. */
  #at(places: Places, number: number): readonly PlacedCheckpoint[] {
    const there = places.get(placeOf(this.#device, number)) ?? [];
    const now = this.#stretches[this.#stretch];
    return there.filter(({ stretch }) => mayBeOne(stretch, now));
  }

  #end(ending: readonly PlacedCheckpoint[], starts: Map<PlacedCheckpoint, Run>): void {
    const { name } = this.#file;
    const whole = sumOf(this.#all);
    const exact = ending.find(({ bytes, digest }) => bytes === this.#all.bytes && digest === whole);
    const later = ending.find((one) => {
      const begun = starts.get(one);
      return begun?.bytes === one.bytes && sumOf(begun) === one.digest;
    });
    const found = exact ?? later;
    const { first, last } = found ?? ending[0]!;
    const about = `${name}, records ${first} to ${last}`;
    if (found === undefined) {
      this.#findings.push({ state: "bad", about, text: "they are not the bytes that were signed" });
    } else {
      this.#look.covered.add(found.own);
      this.#findings.push({
        state: "good",
        about,
        text: `${found.bytes} bytes, checkpoint ${found.number}`,
      });
      if (exact === undefined) {
        const text = `${this.#all.bytes - found.bytes} bytes before record ${first} have no checkpoint`;
        this.#findings.push({ state: "missing", about: name, text });
      }
    }
    this.#signed = last;
    this.#uncovered = 0;
    this.#all = fresh();
    starts.clear();
  }
}

const NEWLINE = 0x0a;
const MANY_CHAINS = 64; // of one device, among whose checkpoints the one before is looked for

function orderFindings(
  checkpoints: readonly PlacedCheckpoint[],
  covered: ReadonlySet<string>,
  ranges: RecordRanges,
  places: ReadonlySet<string>,
): Finding[] {
  const findings: Finding[] = [];
  const sorted = checkpoints.toSorted((a, b) => a.number - b.number);
  const before = new Map<string, PlacedCheckpoint[]>(); // by device
  for (const checkpoint of sorted) {
    const { device, number, previous, first, last, own } = checkpoint;
    const about = `${device} checkpoint ${number}`;
    if (!covered.has(own)) {
      // Records of it, or of both sides of it, are there: then so should all of them be.
      const there = ranges.holdSomeOf(checkpoint);
      const text = there
        ? `the records ${first} to ${last} are not as they were signed`
        : `the records ${first} to ${last} that it covers are not there`;
      findings.push({ state: there ? "bad" : "missing", about, text });
    }
    const others = before.get(device) ?? [];
    const earlier = oneBefore(checkpoint, others);
    before.set(device, [...others.slice(-MANY_CHAINS), checkpoint]);
    if (earlier === undefined) continue;
    if (number === earlier.number + 1) {
      if (previous !== earlier.own) {
        const text = "it names another checkpoint as the one before it";
        findings.push({ state: "bad", about, text });
      } else if (hasGap(earlier.last, first, (one) => places.has(placeOf(device, one)))) {
        const text = `records ${earlier.last + 1} to ${first - 1} have no checkpoint`;
        findings.push({ state: "missing", about, text });
      }
    } else {
      const text = `checkpoints ${earlier.number + 1} to ${number - 1} are not there`;
      findings.push({ state: "missing", about, text });
    }
  }
  return findings;
}

/** The one that it names; else the last before it that may be of its chain, or that has not the number before its own. */
function oneBefore(
  { number, previous, stretch }: PlacedCheckpoint,
  others: readonly PlacedCheckpoint[],
): PlacedCheckpoint | undefined {
  if (number === 1 && previous === null && others.every((one) => !mayBeOne(one.stretch, stretch))) {
    return undefined; // a chain begins
  }
  return (
    others.findLast(({ own }) => own === previous) ??
    others.findLast((one) => mayBeOne(one.stretch, stretch)) ??
    others.findLast((one) => one.number < number - 1)
  );
}

/** Whether a record between the two is no checkpoint itself. */
function hasGap(last: number, first: number, isOwn: (number: number) => boolean): boolean {
  for (let number = last + 1; number < first; number++) if (!isOwn(number)) return true;
  return false;
}

function placeOf(device: string, number: number): string {
  return `${device} ${number}`;
}

function fresh(): Run {
  return { hash: createHash("sha256"), bytes: 0 };
}

function add(run: Run, bytes: Uint8Array): void {
  run.hash.update(bytes);
  run.bytes += bytes.length;
}

function sumOf({ hash }: Run): string {
  return hash.copy().digest("hex");
}
