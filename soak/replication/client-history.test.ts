// That histories which no register has are told from those that one may have.

import assert from "node:assert/strict";
import test from "node:test";
import { ClientHistory, type Operation } from "./client-history.ts";

type Fact = Partial<Operation> & Pick<Operation, "kind" | "began" | "ended">;

function operation(fact: Fact): Operation {
  const request = { client: "c", register: "r", site: "a", expected: null, value: "" } as const;
  const answer = { refusal: "", session: null, isSeen: true, epoch: 0 } as const;
  return { ...request, ...answer, type: "ok", found: null, ...fact };
}

const write = (n: number, began: number, ended: number, more: Partial<Operation> = {}) =>
  operation({
    kind: "write",
    value: `v${n}`,
    began,
    ended,
    found: { version: n, value: `v${n}` },
    ...more,
  });

const read = (n: number, began: number, ended: number, more: Partial<Operation> = {}) =>
  operation({
    kind: "read",
    began,
    ended,
    found: { version: n, value: n === 0 ? "" : `v${n}` },
    ...more,
  });

const unknown = { type: "info", found: null } as const;
const AT_B = { site: "b" };

function problems(operations: readonly Operation[], reigns: ClientHistory["reigns"] = []) {
  const history = new ClientHistory();
  history.reigns.push({ site: "a", from: 0, forced: null }, ...reigns);
  history.operations.push(...operations);
  return history.problems().length;
}

test("one cluster: what overlaps may be in any order, and what does not is in that of time", () => {
  assert.equal(problems([read(0, 1, 2), write(1, 1, 9), read(0, 3, 4), read(1, 5, 6)]), 0);
  assert.equal(problems([write(1, 1, 9), read(1, 3, 4), read(0, 5, 6)]), 1, "back again");
  assert.equal(problems([write(1, 1, 2), read(0, 3, 4)]), 1, "an answer was lost");
  assert.equal(problems([write(1, 1, 2), write(1, 3, 4)]), 1, "one took the place of the other");
  assert.equal(problems([write(1, 1, 2), write(2, 3, 4), write(3, 3, 4)]), 0);
});

test("what nobody was told of has happened or has not, once, and not before it began", () => {
  const lost = write(1, 1, 2, unknown);
  assert.equal(problems([lost, read(0, 3, 4)]), 0);
  assert.equal(problems([lost, read(0, 3, 4), read(1, 5, 6)]), 0, "it was under way");
  assert.equal(problems([lost, read(1, 3, 4), read(0, 5, 6)]), 1);
  assert.equal(problems([read(1, 0, 0.5), lost]), 1);
});

test("what was refused has not happened; a version that was told is one that was there", () => {
  const refused = write(1, 1, 2, { type: "fail", found: null });
  assert.equal(problems([refused, read(0, 3, 4)]), 0);
  assert.equal(problems([refused, read(1, 3, 4)]), 1);
  const mismatch = (version: number) =>
    write(9, 3, 4, { type: "fail", expected: 7, found: { version, value: "" } });
  assert.equal(problems([write(1, 1, 2), mismatch(1), read(1, 5, 6)]), 0);
  assert.equal(problems([write(1, 1, 2), mismatch(2)]), 1);
  assert.equal(problems([write(1, 1, 2), write(2, 3, 4, { expected: 0 })]), 1);
});

test("a planned failover loses nothing, and nothing of before comes after it", () => {
  const planned = [{ site: "b", from: 10, forced: null }];
  assert.equal(problems([write(1, 1, 2), write(2, 11, 12, AT_B)], planned), 0);
  assert.equal(problems([write(1, 1, 2), read(0, 11, 12, AT_B)], planned), 1);
  const late = [write(1, 1, 2, unknown), read(0, 11, 12, AT_B), read(1, 13, 14, AT_B)];
  assert.equal(problems(late, planned), 1);
});

test("a forced one loses what was reported, no less and no more", () => {
  const forced = (kept: number) => [
    { site: "b", from: 10, forced: { kept: new Map([["r", kept]]) } },
  ];
  const tail = [write(1, 1, 2), write(2, 3, 4), read(2, 5, 6), read(1, 11, 12, AT_B)];
  assert.equal(problems(tail, forced(1)), 0);
  assert.equal(problems(tail, forced(2)), 1, "more is lost than was reported");
  assert.equal(problems(tail, forced(0)), 1, "what was reported is not lost");
  // It leads on, on its own, and is right as far as it goes.
  const apart = [...tail, write(2, 11, 12, AT_B), read(2, 20, 21), write(3, 22, 23)];
  assert.equal(problems(apart, forced(1)), 0);
  assert.equal(problems([...apart, read(2, 24, 25)], forced(1)), 1, "what it gave up was wrong");
});

test("by way of a cluster that never leads it comes to who could be reached when it began; what is read there is not of it", () => {
  const C = { site: "c" };
  const forced = {
    site: "b",
    from: 10,
    unreached: 6,
    forced: { kept: new Map([["r", 1]]) },
  };
  const late = write(2, 5, 12, C); // of the tail, and told late
  assert.equal(problems([write(1, 1, 2, C), late, read(1, 13, 14, AT_B)], [forced]), 0);
  assert.equal(
    problems([write(1, 1, 2, C), write(2, 7, 12, C), read(1, 13, 14, AT_B)], [forced]),
    1,
  );
  assert.equal(problems([write(1, 1, 2, C), read(0, 3, 4, C)]), 0);
  assert.equal(problems([write(1, 1, 2, C), read(0, 3, 4)]), 1);
});

test("what a region sent on, and who led next has answered, is of that one's reign by its epoch", () => {
  const history = new ClientHistory();
  history.reigns.push({ site: "a", from: 0, forced: null });
  history.reigns.push({ site: "b", from: 20, forced: { kept: new Map([["r", 1]]) } });
  const write = (site: string, times: readonly [number, number], version: number, epoch: number) =>
    operation({
      kind: "write",
      site,
      began: times[0],
      ended: times[1],
      epoch,
      value: `${site} ${version}`,
      found: { version, value: `${site} ${version}` },
    });
  history.operations.push(
    write("a", [1, 2], 1, 1),
    write("a", [3, 4], 2, 1), // given up
    write("c", [5, 30], 2, 2), // it waited for b
    write("b", [31, 32], 3, 2),
  );
  assert.deepEqual(history.problems(), []);
  assert.equal(history.lost, 1);
});
