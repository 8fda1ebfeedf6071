// What RGPs and EGPs say of a request: their programs, compiled once, are asked one after the other.
// Which ones apply is governors.ts's; a request that none applies to is let
// through without waiting for anything.

import { tenantOf } from "@holdfast/shared/sliced";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { EnforcementLevel, GoverningKind, Judgement } from "../../endpoint/judgement.ts";
import type { Caller, NamespaceRef } from "@holdfast/shared/endpoint/request";
import { MAX_STEPS_TOGETHER } from "../../program/limits.ts";
import type { ProgramInput } from "../../program/request/program-input.ts";
import type * as programs from "../../program/program.ts";
import type { Program, Verdict } from "../../program/program.ts";
import type { RequestView } from "../../program/request/request-view.ts";
import { BoundedCache } from "../bounded-cache.ts";
import type { Turns } from "../compiled-acls.ts";
import type { Governor } from "./governing-places.ts";
import { governingCodec, governingPolicies } from "./governing-record.ts";
import { Governors, type GovernorsParts, keyOf, type Tried } from "./governors.ts";
import { brokenVerdict, conclude, type Judged, qualified } from "./judging.ts";
import { living } from "../policy-rows.ts";

export type Programs = typeof programs;

const COMPILED = { entries: 1_024, cost: 4 * 1024 * 1024 }; // characters of text
const COMPILED_COST = 256;
/** So long may programs run in one turn of the loop, whatever requests they judge; the next one then waits
 *  for a turn. A hundred that use up their budgets, in one request or in a hundred requests, would
 *  otherwise hold up the whole server for seconds (T-C03). */
const SLICE = 5n * MILLISECOND;
/** All programs of one request; more is told, and not cut: a cut would make decisions depend on load. */
const SLOW = 50n * MILLISECOND;

export interface GoverningMetrics {
  evaluated(kind: GoverningKind, seconds: number): void;
  failed(policy: Governor, level: EnforcementLevel): void;
  slow(): void;
}

export interface GoverningOptions extends Omit<GovernorsParts, "changed"> {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GoverningMetrics;
  /** Between programs that take long. */
  readonly turns: Turns;
  /** Names of the headers that programs may see: those that are audited. */
  readonly headers: () => readonly string[];
  /** What this cluster is in each kind of replication. */
  readonly replication: () => ProgramInput["replication"];
  /** Whether an override needs `sudo` on the path. Default false. */
  readonly overrideNeedsSudo?: boolean;
  /** Whether a denial shows the trace of its programs. Default true. */
  readonly trace?: boolean;
}

export interface JudgedRequest {
  readonly input: ProgramInput;
  /** Asked for by somebody who may. */
  readonly override: boolean;
}

/** A document that is only tried. */
export interface Trial {
  readonly level: EnforcementLevel;
  readonly program: Program;
}

interface Compiled {
  readonly level: EnforcementLevel;
  readonly expires: Instant | null;
  /** Or why the text that is stored does not compile any more. */
  readonly program: Program | string;
}

export class Governing {
  readonly overrideNeedsSudo: boolean;
  readonly #options: GoverningOptions;
  readonly #governors: Governors;
  readonly #compiled = new BoundedCache<Compiled>(COMPILED);
  /** How long programs have run in this turn of the loop. */
  #busy: Nanos = 0n;
  #programs: Programs | null = null;

  constructor(options: GoverningOptions) {
    this.#options = options;
    this.overrideNeedsSudo = options.overrideNeedsSudo ?? false;
    const changed = (policy: Governor) => this.#compiled.drop(keyOf(policy));
    this.#governors = new Governors({ ...options, changed });
  }

  headers(): readonly string[] {
    return this.#options.headers();
  }

  replication(): ProgramInput["replication"] {
    return this.#options.replication();
  }

  /** Forgets what it holds: before the node seals. Nothing needs to be loaded when it opens. */
  close(): void {
    this.#governors.close();
    this.#compiled.clear();
  }

  /**
   * The RGPs of the caller by name, then the EGPs on the path, longest path first. A null path is
   * one that no EGP reaches. A promise only where they are not in memory yet.
   */
  applying(
    caller: Caller | null,
    namespace: NamespaceRef,
    path: string | null,
  ): readonly Governor[] | Promise<readonly Governor[]> {
    return this.#governors.applying(caller, namespace, path);
  }

  /** The same with documents that are only tried. */
  applyingWith(
    tried: Tried,
    ...request: Parameters<Governors["applying"]>
  ): Promise<readonly Governor[]> {
    return this.#governors.applyingWith(tried, ...request);
  }

  async judge(policies: readonly Governor[], request: JudgedRequest): Promise<Judgement> {
    const { log, metrics, trace = true } = this.#options;
    let total: Nanos = 0n;
    const took = (kind: GoverningKind, nanos: Nanos) => {
      total += nanos;
      metrics.evaluated(kind, Number(nanos) / 1e9);
    };
    const judged = await this.evaluate(policies, request.input, { took });
    this.#tell(judged, request);
    if (total > SLOW) {
      const { id } = request.input.request;
      const ms = Number(total / MILLISECOND);
      log.warn("the policies of a request took long", { request: id, policies: judged.length, ms });
      metrics.slow();
    }
    const above = this.above(request.input.token?.namespace ?? null);
    return conclude(judged, { override: request.override, trace, above });
  }

  /** Ids of the namespaces above one, whose policies are not named to its callers. */
  above(namespace: Pick<NamespaceRef, "path"> | null): ReadonlySet<string> {
    const ids = new Set<string>();
    let path = namespace?.path ?? "";
    while (path !== "") {
      path = path.slice(0, Math.max(0, path.lastIndexOf("/")));
      const above = this.#options.namespaces.named(path);
      if (above !== null) ids.add(above.id);
    }
    return ids;
  }

  /** Every one of them, also after one has failed. Those that are gone meanwhile are left out. They
   *  have one budget together, and give way to others between. */
  async evaluate(
    policies: readonly Governor[],
    input: ProgramInput,
    more: {
      readonly took?: (kind: GoverningKind, nanos: Nanos) => void;
      readonly trials?: ReadonlyMap<Governor, Trial>;
    } = {},
  ): Promise<Judged[]> {
    const { clock, turns } = this.#options;
    const { parseProgram, viewOf } = this.#programs ?? (await this.programs());
    const client = input.token?.accessor ?? input.request.remoteAddress;
    const whose = { tenant: tenantOf(input), client };
    const view = viewOf(input);
    const judged: Judged[] = [];
    let left = MAX_STEPS_TOGETHER;
    for (const policy of policies) {
      const trial = more.trials?.get(policy);
      const one = trial ?? living(this.#compiledOf(policy, parseProgram), input.now);
      if (one === null) continue;
      if (this.#busy > SLICE) await turns.next(whose);
      const before = clock.elapsed();
      const verdict = verdictOf(one.program, view, left);
      left -= verdict.steps;
      judged.push({ policy, level: one.level, verdict });
      const took = clock.elapsed() - before;
      this.#ran(took);
      more.took?.(policy.kind, took);
    }
    return judged;
  }

  /** What reads and runs programs, which is loaded at the first use. */
  async programs(): Promise<Programs> {
    this.#programs ??= await import("../../program/program.ts");
    return this.#programs;
  }

  // --- inside ---

  #ran(took: Nanos): void {
    if (this.#busy === 0n) void this.#options.timers.turn().then(() => void (this.#busy = 0n));
    this.#busy += took;
  }

  /** Compiled at the first use after a start or a change. Null for one that is gone. */
  #compiledOf(policy: Governor, parse: Programs["parseProgram"]): Compiled | null {
    const key = keyOf(policy);
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const { kind, namespaceId, name } = policy;
    const view = this.#options.shared.sub(governingPolicies(kind, namespaceId));
    const record = view.get(name, governingCodec);
    if (record === null) return null;
    const { text, level, expires } = record;
    const compiled = { level, expires, program: this.#compile(policy, text, parse) };
    this.#compiled.put(key, compiled, text.length + COMPILED_COST);
    return compiled;
  }

  #compile(policy: Governor, text: string, parse: Programs["parseProgram"]): Program | string {
    try {
      return parse(text);
    } catch (error) {
      // It was accepted when it was written; now whoever comes by is refused until it is written anew.
      const fields = { policy: qualified(policy), kind: policy.kind };
      this.#options.log.error("a stored policy does not compile any more", fields);
      return error instanceof Failure ? error.message : "the program cannot be compiled";
    }
  }

  #tell(judged: readonly Judged[], { input, override }: JudgedRequest): void {
    const { log, metrics } = this.#options;
    for (const { policy, level, verdict } of judged) {
      if (verdict.passed) continue;
      metrics.failed(policy, level);
      const fields = { request: input.request.id, kind: policy.kind, policy: qualified(policy) };
      if (level === "advisory") log.warn("an advisory policy failed", fields);
      if (level === "soft-mandatory" && override) log.warn("a policy was overridden", fields);
    }
  }
}

function verdictOf(program: Program | string, view: RequestView, steps: number): Verdict {
  return typeof program === "string" ? brokenVerdict(program) : program.evaluate(view, steps);
}
