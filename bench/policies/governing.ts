// What RGPs and EGPs cost: a request that none applies to must not notice them, and one that some apply
// to pays for their programs (contract policies 5.8 and 5.9, budget of 15 µs for each).

import { SystemClock } from "../../src/system/clock.ts";
import { makeLog } from "@holdfast/shared/log";
import { SystemTimers } from "../../src/system/timers.ts";
import type { GoverningKind } from "../../src/endpoint/judgement.ts";
import { type Caller, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { Governing } from "../../src/policies/governing/governing.ts";
import {
  governingCodec,
  governingPolicies,
  type GoverningRecord,
} from "../../src/policies/governing/governing-record.ts";
import { programInput, type Surroundings } from "../../src/policies/governing/program-request.ts";
import type { ProgramInput } from "../../src/program/request/program-input.ts";
import { FairTurns } from "../../src/base/fair-turns.ts";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { microsPerCall, roundMillis, rounds } from "../measure.ts";
import type { Context, Row } from "../row.ts";

const MAX_UNNOTICED_US = 0.5;
const MAX_TO_JUDGE_US = 15;
const PATH = "secret/data/app/config";
const PROGRAMS = [
  'request.path.startsWith("secret/") && request.operation in ["read", "list"]',
  'ip_in(request.connection.remote_addr, ["10.0.0.0/8", "192.168.0.0/16"])',
  'has(token.metadata.team) && token.metadata.team == "blue"',
  "now.getDayOfWeek() in [0, 1, 2, 3, 4, 5, 6] && now.getHours() >= 0",
];

const caller: Caller = {
  accessor: "a",
  type: "client",
  name: "bench",
  policies: ["app", "team", "default"],
  namespace: ROOT_NAMESPACE,
  global: false,
  created: 0n,
  expires: null,
  origin: {
    namespaceId: "root",
    mount: null,
    login: "",
    name: "bench",
    metadata: { team: "blue" },
  },
  terms: { usesLeft: null, period: null, longest: null, path: "auth/token/create-orphan" },
};

const AROUND: Surroundings = {
  headers: () => [],
  replication: () => ({ dr: "disabled", performance: "disabled" }),
};

async function made() {
  const { barrier } = await madeBarrier();
  const shared = barrier.view("shared/");
  const clock = new SystemClock();
  const timers = new SystemTimers();
  const governing = new Governing({
    shared,
    namespaces: { named: () => ROOT_NAMESPACE },
    clock,
    timers,
    turns: new FairTurns({ clock, timers }),
    log: makeLog({ level: "off", format: "standard", write: () => {}, clock }),
    metrics: { evaluated: () => {}, failed: () => {}, slow: () => {} },
    ...AROUND,
  });
  const write = (kind: GoverningKind, name: string, text: string, paths: readonly string[]) => {
    const never = { version: 1, modified: 0n, created: 1n, written: 1n, casRequired: false };
    const level = "hard-mandatory";
    const record: GoverningRecord = { text, ...never, expires: null, level, paths };
    const view = shared.sub(governingPolicies(kind, ROOT_NAMESPACE.id));
    return view.write((tx) => tx.put(name, record, governingCodec));
  };
  return { governing, write };
}

/** What each request is asked, once everything is in memory. */
async function unnoticed(context: Context, governing: Governing): Promise<number[]> {
  await governing.applying(caller, ROOT_NAMESPACE, PATH);
  return rounds(context, () =>
    microsPerCall(roundMillis(context), () => {
      const found = governing.applying(caller, ROOT_NAMESPACE, PATH);
      if (found instanceof Promise || found.length > 0) throw new Error("none of them applies");
    }),
  );
}

export const governingRows: readonly Row[] = [
  {
    name: "governing/none",
    what: "a request's share where there are no RGPs and EGPs",
    unit: "µs",
    budget: { atMost: MAX_UNNOTICED_US },
    run: async (context) => ({ samples: await unnoticed(context, (await made()).governing) }),
  },
  {
    name: "governing/elsewhere",
    what: "a request's share where none of 1,000 EGPs and 100 RGPs applies",
    unit: "µs",
    budget: { atMost: MAX_UNNOTICED_US },
    run: async (context) => {
      const { governing, write } = await made();
      for (let i = 0; i < (context.quick ? 20 : 1000); i++) {
        const paths = [`team-${i}/*`, `secret/data/app-${"x".repeat(i % 40)}/*`, `exact/${i}`];
        await write("egp", `egp-${i}`, "true", paths);
      }
      for (let i = 0; i < (context.quick ? 5 : 100); i++)
        await write("rgp", `rgp-${i}`, "true", []);
      return { samples: await unnoticed(context, governing) };
    },
  },
  {
    name: "governing/judged",
    what: "one program of four that judge a request, all in all",
    unit: "µs",
    budget: { atMost: MAX_TO_JUDGE_US },
    run: async (context) => {
      const { governing, write } = await made();
      for (const [i, text] of PROGRAMS.entries())
        await write("egp", `egp-${i}`, text, ["secret/*"]);
      return { samples: await rounds(context, () => judged(governing, roundMillis(context))) };
    },
  },
];

async function judged(governing: Governing, millis: number): Promise<number> {
  const began = performance.now();
  let requests = 0;
  let elapsed = 0;
  while (elapsed < millis) {
    const policies = await governing.applying(caller, ROOT_NAMESPACE, PATH);
    const { allowed } = await governing.judge(policies, { input: inputOf(), override: false });
    if (!allowed || policies.length !== PROGRAMS.length) throw new Error("all four let it pass");
    requests++;
    elapsed = performance.now() - began;
  }
  return (elapsed * 1000) / requests / PROGRAMS.length;
}

function inputOf(): ProgramInput {
  const request = {
    now: 1_767_225_600_000_000_000n,
    id: "0f5a3c9e-0000-4000-8000-000000000001",
    namespace: ROOT_NAMESPACE,
    path: PATH,
    operation: "read",
    data: {},
    remote: { address: "10.20.30.40", port: 51_234 },
    header: () => undefined,
    wrapTtl: null,
    override: false,
    caller,
    home: { point: "secret/", type: "kv", accessor: "" },
  };
  return programInput(request, AROUND);
}
