// What rights cost: worked out for the first request of a token with a thousand policies of fifty
// rules, and asked for each request afterwards (contract policies 3.10, budget of 20 µs).

import { performance } from "node:perf_hooks";
import { SystemClock } from "../../src/system/clock.ts";
import { SystemTimers } from "../../src/system/timers.ts";
import type { Question } from "../../src/endpoint/decision.ts";
import { type Caller, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { PolicyRecord } from "../../src/policies/policy-record.ts";
import { Rights } from "../../src/policies/rights.ts";
import { FairTurns } from "../../src/base/fair-turns.ts";
import {
  LONGEST_BLOCK_MS,
  microsPerCall,
  roundMillis,
  rounds,
  shuffledForever,
} from "../measure.ts";
import type { Context, Figures, Row } from "../row.ts";

const RULES = 50; // of each policy
const MAX_TO_COMPILE_MS = 500;
const MAX_TO_DECIDE_US = 20;
const QUESTIONS = 10_000; // different questions

/** Half of the rules exact, the others with a star, with `+`, or both, as people write them. */
function labelOf(policy: number, rule: number): string {
  const app = `team-${policy}/app-${rule}`;
  const forms = [
    `secret/data/${app}/config`,
    `secret/data/${app}/*`,
    `secret/metadata/${app}/config`,
    `secret/+/${app}/*`,
    `auth/${app}/login`,
    `transit/+/${app}`,
  ];
  return forms[rule % forms.length] ?? "";
}

const BODIES = {
  plain: 'capabilities = ["create", "read", "update", "delete", "list"]',
  parameters: `capabilities = ["create", "read", "update"]
  required_parameters = ["name"]
  allowed_parameters = { name = ["app-*", "job-*"] "*" = [] }
  denied_parameters = { policies = ["root", "admin"] }`,
} as const;

const PARAMETERS = { name: "app-17", policies: ["default", "reader"], ttl: "1h" };

interface Made {
  readonly rights: () => Rights;
  readonly caller: Caller;
  /** Something is written, and with it all that holds the policy forgotten. */
  readonly touch: () => void;
}

function made(policies: number, body: keyof typeof BODIES = "plain"): Made {
  const records = new Map<string, PolicyRecord>();
  const never = { version: 1, modified: 0n, created: 1n, casRequired: false, expires: null };
  for (let p = 0; p < policies; p++) {
    const rules = Array.from({ length: RULES }, (_, r) => {
      return `path "${labelOf(p, r)}" {\n  ${BODIES[body]}\n}\n`;
    });
    records.set(`policy-${p}`, { ...never, written: 1n, text: rules.join("\n") });
  }
  let changed: ((name: string) => void) | null = null;
  const stored = {
    stored: (_: string, name: string) => records.get(name) ?? null,
    watch: (_: string, call: (name: string) => void) => {
      changed = call;
      return () => {};
    },
  };
  const clock = new SystemClock();
  const caller: Caller = {
    accessor: "a",
    type: "client",
    name: "bench",
    policies: [...records.keys()],
    namespace: ROOT_NAMESPACE,
    global: false,
    created: 0n,
    expires: null,
  };
  const turns = new FairTurns({ clock, timers: new SystemTimers() });
  return {
    rights: () => new Rights({ policies: stored, clock, turns }),
    caller,
    touch: () => changed?.("policy-0"),
  };
}

function question(path: string, more: Partial<Question> = {}): Question {
  const query = { namespace: ROOT_NAMESPACE, path, sudo: false, data: {}, wrapTtl: null };
  return { ...query, capability: "read", ...more };
}

interface Worked {
  /** Until the first decision, in ms. */
  readonly took: number;
  /** Longest time that the event loop gave nobody else a turn, in ms. */
  readonly block: number;
}

async function worked(rights: Rights, caller: Caller): Promise<Worked> {
  let block = 0;
  let done = false;
  const watching = (async () => {
    for (let last = performance.now(); !done;) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = performance.now();
      block = Math.max(block, now - last);
      last = now;
    }
  })();
  await new Promise((resolve) => setImmediate(resolve));
  const began = performance.now();
  const { allowed } = await rights.decide(caller, question(labelOf(0, 0), { data: PARAMETERS }));
  const took = performance.now() - began;
  if (!allowed) throw new Error("a right that was given is not there");
  done = true;
  await watching;
  return { took, block };
}

function figures(measured: readonly Worked[]): Figures {
  return {
    samples: measured.map(({ took }) => took),
    also: [
      {
        what: "longest block of the event loop",
        unit: "ms",
        samples: measured.map(({ block }) => block),
        budget: { atMost: LONGEST_BLOCK_MS },
      },
    ],
  };
}

function sizeOf({ quick }: Context): number {
  return quick ? 20 : 1000;
}

const compiling: readonly Row[] = [
  {
    name: "policies/compile-1000",
    what: "rights of 1,000 parsed policies of 50 rules, worked out in turns",
    unit: "ms",
    budget: { atMost: MAX_TO_COMPILE_MS },
    run: async (context) => {
      const { rights, caller, touch } = made(sizeOf(context));
      const decided = rights();
      await worked(decided, caller); // parses them all
      return figures(
        await rounds(context, () => {
          touch();
          return worked(decided, caller);
        }),
      );
    },
  },
  {
    name: "policies/first-use-1000",
    what: "the same from their texts, as after a start",
    unit: "ms",
    run: async (context) => {
      const { rights, caller } = made(sizeOf(context));
      return figures(await rounds(context, () => worked(rights(), caller)));
    },
  },
];

function decision(
  detail: string,
  what: string,
  ask: (policy: number, rule: number) => Question,
  body?: keyof typeof BODIES,
): Row {
  return {
    name: `policies/decision-${detail}`,
    what: `decide ${what}, with 1,000 policies of 50 rules`,
    unit: "µs",
    budget: { atMost: MAX_TO_DECIDE_US },
    run: async (context) => {
      const policies = sizeOf(context);
      const { rights, caller } = made(policies, body);
      const decided = rights();
      await worked(decided, caller);
      const questions = Array.from({ length: QUESTIONS }, (_, i) => {
        return ask((i * 7919) % policies, (i * 31) % RULES);
      });
      const next = shuffledForever(questions);
      const call = () => {
        if (decided.decide(caller, next()) instanceof Promise) throw new Error("it was waited for");
      };
      return { samples: await rounds(context, () => microsPerCall(roundMillis(context), call)) };
    },
  };
}

export const policyRows: readonly Row[] = [
  ...compiling,
  decision("exact", "by an exact label", (p, r) => question(labelOf(p, r - (r % 6)))),
  decision("patterns", "between several patterns", (p, r) =>
    question(`secret/data/team-${p}/app-${r}/some/deep/path`),
  ),
  decision("list", "a list", (p, r) =>
    question(`secret/data/team-${p}/app-${r}/some/`, { capability: "list" }),
  ),
  decision("none", "what nothing matches", (p, r) => question(`other/team-${p}/app-${r}/x`)),
  decision(
    "parameters",
    "with rules on parameters",
    (p, r) => question(labelOf(p, r - (r % 6)), { capability: "update", data: PARAMETERS }),
    "parameters",
  ),
];
