// That what a region may not answer is told from what it may.

import assert from "node:assert/strict";
import test from "node:test";
import { ClientHistory, type Operation, type Reign } from "../replication/client-history.ts";
import { regionProblems, type Term } from "./region-reads.ts";

type Fact = Partial<Operation> & Pick<Operation, "kind" | "began" | "ended">;

function operation(fact: Fact): Operation {
  const request = { client: "c", register: "x", site: "c", expected: null, value: "" } as const;
  const answer = { refusal: "", session: null, isSeen: false, epoch: 1 } as const;
  return { ...request, ...answer, type: "ok", found: null, ...fact };
}

/** At the leader, unless it is said where. */
const write = (name: string, n: number, began: number, more: Partial<Operation> = {}) => {
  const value = `${name}${n}`;
  const found = { version: n, value };
  const at = { register: name, site: "a", began, ended: began + 1 };
  return operation({ kind: "write", value, found, ...at, ...more });
};

/** In the region, unless it is said where. */
const read = (name: string, n: number, began: number, more: Partial<Operation> = {}) => {
  const found = { version: n, value: n === 0 ? "" : `${name}${n}` };
  return operation({ kind: "read", register: name, found, began, ended: began + 1, ...more });
};

interface Course {
  readonly reigns?: readonly Reign[];
  readonly terms?: readonly Term[];
}

function problems(operations: readonly Operation[], { reigns = [], terms = [] }: Course = {}) {
  const history = new ClientHistory();
  history.reigns.push({ site: "a", from: 0, forced: null }, ...reigns);
  history.operations.push(...operations);
  return regionProblems(history, [{ site: "c", from: 0, isForced: false }, ...terms]).length;
}

const SHOWS = { session: 1 };
const BOTH = [write("x", 1, 1), write("y", 1, 3), write("x", 2, 5)];

test("a region may be behind, and does not go back", () => {
  assert.equal(problems([...BOTH, read("x", 0, 10), read("x", 1, 12), read("x", 2, 14)]), 0);
  assert.equal(problems([...BOTH, read("x", 1, 10), read("x", 0, 12)]), 1);
  assert.equal(problems([...BOTH, read("x", 1, 10), read("x", 0, 10)]), 0, "at the same time");
  assert.equal(problems([...BOTH, read("x", 2, 10), read("y", 1, 12)]), 0);
  assert.equal(problems([...BOTH, read("x", 2, 10), read("y", 0, 12)]), 1, "what came before it");
  assert.equal(problems([...BOTH, read("y", 1, 10), read("x", 1, 12)]), 0);
});

test("what is read is what was written, and by then", () => {
  assert.equal(problems([...BOTH, read("x", 3, 10)]), 1);
  assert.equal(problems([...BOTH, read("x", 2, 1)]), 1, "not yet");
  const other = { found: { version: 1, value: "x2" } };
  assert.equal(problems([...BOTH, read("x", 1, 10, other)]), 1, "by its version another");
});

test("a write that the region has sent on is to be seen there, unless it says that it is not", () => {
  const sent = (isSeen: boolean) => [write("x", 1, 1, { site: "c", isSeen }), read("x", 0, 5)];
  assert.equal(problems(sent(true)), 1);
  assert.equal(problems(sent(false)), 0);
});

test("who shows what it has seen is not answered from before that; nobody else counts on it", () => {
  const seen = (more: object) => [...BOTH, read("y", 1, 10, { site: "a", ...more })];
  const late = (more: object) => read("x", 1, 12, more);
  assert.equal(problems([...seen({}), late({})]), 0);
  assert.equal(problems([...seen(SHOWS), late(SHOWS)]), 1, "answered before the leader was asked");
  assert.equal(problems([...seen(SHOWS), late({ session: 2 })]), 0);
  const under = write("x", 2, 9, { ended: 20 });
  assert.equal(
    problems([write("x", 1, 1), under, read("x", 1, 10, { site: "a", ...SHOWS }), late(SHOWS)]),
    0,
  );
});

const KEPT = new Map([["x", 1]]);
/** The leader is parted from all others, and has written more; the region is told at 30. */
const forced: Reign = {
  site: "b",
  from: 20,
  unreached: 15,
  followed: 30,
  forced: { kept: KEPT },
};
const TAIL = [write("x", 1, 1), write("x", 2, 11), write("y", 1, 22, { site: "b" })];

test("what a forced failover gives up is seen until the region goes over, and not after it", () => {
  const course = { reigns: [forced] };
  assert.equal(problems([...TAIL, read("x", 2, 25), read("x", 1, 32)], course), 0, "it went back");
  assert.equal(problems([...TAIL, read("x", 2, 31)], course), 1);
  assert.equal(problems([...TAIL, read("y", 1, 24), read("x", 2, 26)], course), 1);
  assert.equal(problems([...TAIL, read("x", 1, 25), read("x", 0, 32)], course), 1, "kept by all");
});

test("who shows what was given up is told so, and nobody is told so without reason", () => {
  const course = { reigns: [forced] };
  const lost = { type: "fail", refusal: "state_lost", found: null } as const;
  const seen = (more: object) => [...TAIL, read("x", 2, 25, more)];
  assert.equal(problems([...seen(SHOWS), read("x", 1, 32, { ...SHOWS, ...lost })], course), 0);
  assert.equal(problems([...seen(SHOWS), read("x", 1, 32, SHOWS)], course), 1);
  assert.equal(problems([...seen(SHOWS), read("y", 1, 32, SHOWS)], course), 1, "another one");
  const apart = read("x", 2, 25, { site: "a", ...SHOWS });
  assert.equal(problems([...TAIL, apart, read("y", 0, 32, SHOWS)], course), 1);
  assert.equal(
    problems([...BOTH, read("x", 2, 8, SHOWS), read("x", 2, 32, { ...SHOWS, ...lost })]),
    1,
  );
});

test("who is handed the region goes on with it; who takes it may be behind, but not for whoever shows more", () => {
  const course = (isForced: boolean) => ({ terms: [{ site: "d", from: 20, isForced }] });
  const both = (more: object) => [
    ...BOTH,
    read("x", 2, 10, more),
    read("x", 1, 30, { site: "d", ...more }),
  ];
  assert.equal(problems(both({}), course(false)), 1);
  assert.equal(problems(both({}), course(true)), 0);
  assert.equal(problems(both(SHOWS), course(true)), 1);
});
