// The RGPs and EGPs of every namespace: kept, read and written. What a program means is the leaf
// policy/; who may write one is the pipeline's; what they say of a request is governing.ts.

import { ownPace, type Pace, Stretches } from "@holdfast/shared/sliced";
import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import type { Clock, Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { EnforcementLevel, GoverningKind } from "../../endpoint/judgement.ts";
import { isPolicyName } from "@holdfast/shared/text/policy-name";
import { checkEgpPath, readEgpPaths, showEgpPath } from "./egp-paths.ts";
import type { Program, TestOutcome } from "../../program/program.ts";
import * as builtIn from "../built-in.ts";
import * as failures from "../failures.ts";
import {
  ENFORCEMENT_LEVELS,
  governingCodec,
  governingPolicies,
  type GoverningRecord,
} from "./governing-record.ts";
import type { Programs } from "./governing.ts";
import { egpWarnings, type GovernedPlaces } from "./governed-places.ts";
import { aclRows } from "../policies.ts";
import type { PolicyRecord } from "../policy-record.ts";
import { type NamePage, type Names, PolicyRows } from "../policy-rows.ts";
import { presentText } from "../policy-text.ts";
import { endOf, type PolicyChange, type PolicyWritten, successor } from "../policy-write.ts";

export interface GoverningPoliciesOptions {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly clock: Clock;
  readonly timers: Timers;
  /** For warnings about paths that no request has. Default: none are given. */
  readonly places?: GovernedPlaces;
}

export interface GoverningChange extends PolicyChange {
  /** Undefined: as it is. */
  readonly level?: string | undefined;
  /** Of an EGP. Undefined: as they are. */
  readonly paths?: readonly string[] | undefined;
}

type Rows = PolicyRows<GoverningRecord>;

/** Who writes one. */
export interface GoverningWriter {
  /** Whether it may change what is hard-mandatory; asked for when the program was tried. */
  readonly sudo: boolean | (() => Promise<boolean>);
  /** Looked at again after that. Default: the server itself. */
  readonly request?: Waiting;
  /** Of the tests of the program. Default: the server itself. */
  readonly pace?: Pace;
}

export class GoverningPolicies {
  readonly #options: GoverningPoliciesOptions;
  readonly #rows: Readonly<Record<GoverningKind, Rows>>;
  readonly #acls: PolicyRows<PolicyRecord>; // they share the names with RGPs

  constructor(options: GoverningPoliciesOptions) {
    this.#options = options;
    const { shared, clock } = options;
    this.#acls = aclRows({ shared, clock });
    const rows = (kind: GoverningKind): Rows => {
      const folder = (id: string) => governingPolicies(kind, id);
      return new PolicyRows({ ...options, kind, codec: governingCodec, folder });
    };
    this.#rows = { rgp: rows("rgp"), egp: rows("egp") };
  }

  /** The policies of other data: those of a snapshot, to be read. */
  over(shared: View): GoverningPolicies {
    const { clock, timers } = this.#options;
    return new GoverningPolicies({ shared, clock, timers });
  }

  // --- reading ---

  /** Null when there is none. */
  read(kind: GoverningKind, namespaceId: string, name: string): GoverningRecord | null {
    return isPolicyName(name) ? this.#rows[kind].get(namespaceId, name) : null;
  }

  /** Whole names, sorted. */
  names(kind: GoverningKind, namespaceId: string, page: NamePage): Names {
    return this.#rows[kind].names(namespaceId, page);
  }

  /** Names inside a folder, which ends in a slash; folders in it with a slash. */
  below(kind: GoverningKind, namespaceId: string, folder: string, page: NamePage): Names {
    return this.#rows[kind].below(namespaceId, folder, page);
  }

  // --- writing ---

  /** What is hard-mandatory is changed only with `sudo`, as it is deleted: what it refused might be
   *  allowed from then on. */
  async write(
    kind: GoverningKind,
    namespaceId: string,
    change: GoverningChange,
    { sudo, request = OWN_WORK, pace = ownPace(this.#options) }: GoverningWriter,
  ): Promise<PolicyWritten<GoverningRecord>> {
    const { shared, clock, places } = this.#options;
    const rows = this.#rows[kind];
    const { name } = change;
    const warnings: string[] = [];
    if (!isPolicyName(name)) throw failures.nameInvalid();
    if (kind === "rgp" && !builtIn.isWritable(name)) throw failures.notWritable(name);
    const program = await request.waitFor(this.#document(change, pace));
    const privileged = typeof sudo === "boolean" ? sudo : await sudo(); // as of now
    const level = levelOf(change);
    const paths = kind === "egp" ? pathsOf(change) : [];
    const end = endOf(change, clock);
    const next = (tx: Tx | null): GoverningRecord => {
      const before = rows.get(namespaceId, name, tx);
      if (kind === "rgp" && this.#isAcl(tx, namespaceId, name)) throw failures.nameShared();
      const moment = tx ?? { index: shared.index + 1n, time: clock.now() };
      const policy = successor(before, change, end, moment);
      const record: GoverningRecord = {
        ...policy,
        level: level ?? before?.level ?? "hard-mandatory",
        paths: paths ?? before?.paths ?? [],
      };
      const binds = before?.level === "hard-mandatory" && !privileged;
      if (binds && !judgesAlike(before, record)) throw failures.sudoNeeded("changing");
      return record;
    };
    const put = (tx: Tx) => {
      const record = next(tx);
      rows.sweep(tx, namespaceId);
      if (kind === "rgp") this.#acls.delete(tx, namespaceId, name); // at most one that has ended
      rows.put(tx, namespaceId, name, record);
      return record;
    };
    const record = change.trial === true ? next(null) : await shared.write(put);
    warnings.push(...(program?.warnings ?? []));
    if (kind === "egp" && paths !== undefined && places !== undefined) {
      warnings.push(...egpWarnings(record.paths, namespaceId, places));
    }
    return { name, version: record.version, record, warnings };
  }

  /** Nothing happens when there is none. One that is hard-mandatory goes only with `sudo`: what it
   *  refused is allowed from then on. */
  async delete(
    kind: GoverningKind,
    namespaceId: string,
    name: string,
    { sudo }: { readonly sudo: boolean },
  ): Promise<void> {
    if (!isPolicyName(name)) return;
    const rows = this.#rows[kind];
    await this.#options.shared.write((tx) => {
      const level = rows.get(namespaceId, name, tx)?.level;
      if (level === "hard-mandatory" && !sudo) throw failures.sudoNeeded("deleting");
      rows.delete(tx, namespaceId, name);
    });
  }

  // --- inside ---

  #isAcl(tx: Tx | null, namespaceId: string, name: string): boolean {
    return name === builtIn.DEFAULT || this.#acls.get(namespaceId, name, tx) !== null;
  }

  /** Parsed, with its own tests passed; null where the text stays as it is. */
  async #document({ text, partial }: GoverningChange, pace: Pace): Promise<Program | null> {
    if (text === undefined && partial === true) return null;
    const { parseProgram, runTest } = await import("../../program/program.ts");
    const program = parseProgram(presentText(text));
    await this.#pass(program, runTest, pace);
    return program;
  }

  /** Refuses a program that does not do what its author says, by all tests that fail. */
  async #pass(program: Program, runTest: Programs["runTest"], pace: Pace): Promise<void> {
    const failed: TestOutcome[] = [];
    const stretches = new Stretches(pace);
    for (const test of program.tests) {
      const outcome = runTest(program, test);
      if (!outcome.passed) failed.push(outcome);
      if (stretches.over) await stretches.next(); // each may use up its budget
    }
    if (failed.length > 0) throw failures.testsFailed(failed);
  }
}

/** Undefined: as it is. */
function levelOf({ level, partial }: GoverningChange): EnforcementLevel | undefined {
  if (level === undefined && partial === true) return undefined;
  if (level === undefined || level === "") throw failures.levelMissing();
  const known = ENFORCEMENT_LEVELS.find((word) => word === level);
  if (known === undefined) throw failures.levelInvalid(level, ENFORCEMENT_LEVELS);
  return known;
}

/** Undefined: as they are. */
function pathsOf({ paths, partial }: GoverningChange): readonly string[] | undefined {
  if (paths === undefined && partial === true) return undefined;
  const read = readEgpPaths(paths ?? []);
  for (const path of read) checkEgpPath(path);
  return read.map(showEgpPath);
}

/** Whether both say the same of every request, now and later. */
function judgesAlike(a: GoverningRecord, b: GoverningRecord): boolean {
  if (a.text !== b.text || a.level !== b.level || a.expires !== b.expires) return false;
  const paths = new Set(a.paths);
  return paths.size === new Set(b.paths).size && b.paths.every((path) => paths.has(path));
}
