// Who goes on of those that are about to be promoted at the same moment.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import { type Candidacy, candidacyOf, Candidates, type Word } from "./candidates.ts";

/** Clusters that say things to each other, each in its own time. */
function clusters(names: readonly string[]) {
  const clock = new FakeClock(0n);
  const of = new Map(
    names.map((name) => [
      name,
      new Candidates(
        clock,
        () => name,
        () => 1,
      ),
    ]),
  );
  const say = (from: string, to: string, candidacy: Candidacy) => of.get(to)!.hear(from, candidacy);
  return { clock, of: (name: string) => of.get(name)!, say };
}

/** Every order in which these can come, each list in its own. */
function* orders<T>(lists: readonly (readonly T[])[]): Generator<readonly T[]> {
  if (lists.every((list) => list.length === 0)) yield [];
  for (const [i, [first, ...rest]] of lists.entries()) {
    if (first === undefined) continue;
    for (const order of orders(lists.with(i, rest))) yield [first, ...order];
  }
}

interface Step {
  readonly what: "begin" | "say" | "decide";
  readonly name: string;
  readonly to: string;
}

/** Each stands, says so to all others in turn, and decides by their answers. */
function stepsOf(name: string, others: readonly string[]): readonly Step[] {
  const says = others.map((to) => ({ what: "say", name, to }) as const);
  return [{ what: "begin", name, to: "" }, ...says, { what: "decide", name, to: "" }];
}

function promotedIn(order: readonly Step[], names: readonly string[]): readonly string[] {
  const { of, say } = clusters(names);
  const answers = new Map(names.map((name) => [name, new Map<string, readonly string[]>()]));
  return order.flatMap(({ what, name, to }) => {
    const heard = answers.get(name)!;
    if (what === "begin") of(name).begin({ isFirm: false });
    if (what === "say") heard.set(to, say(name, to, "stands"));
    if (what !== "decide") return [];
    const deniers = [...heard].filter(([one, named]) => !named.includes(one)).map(([one]) => one);
    const named = [...heard].flatMap(([by, all]) => all.map((cluster) => ({ by, cluster })));
    const against = of(name).against(named, deniers);
    if (against.length === 0) of(name).settle();
    else of(name).end();
    return against.length === 0 ? [name] : [];
  });
}

test("of two that stand one is promoted, in whatever order they speak", () => {
  const both = [stepsOf("a", ["b"]), stepsOf("b", ["a"])];
  for (const order of orders(both)) {
    assert.equal(promotedIn(order, ["a", "b"]).length, 1, JSON.stringify(order));
  }
});

test("of two that stand beside a third that knows both one is promoted", () => {
  const both = [stepsOf("a", ["c", "b"]), stepsOf("b", ["c", "a"])];
  for (const order of orders(both)) {
    assert.equal(promotedIn(order, ["a", "b", "c"]).length, 1, JSON.stringify(order));
  }
});

test("of two that reach a third alone at most one is, and of three that stand at most one", () => {
  const apart = [stepsOf("a", ["c"]), stepsOf("b", ["c"])];
  for (const order of orders(apart)) {
    assert.equal(promotedIn(order, ["a", "b", "c"]).length, 1, JSON.stringify(order));
  }
  const three = [stepsOf("a", ["b", "c"]), stepsOf("b", ["c", "a"]), stepsOf("c", ["a", "b"])];
  for (const order of orders(three)) {
    assert.ok(promotedIn(order, ["a", "b", "c"]).length <= 1, JSON.stringify(order));
  }
});

test("one that goes on by force gives way to nobody", () => {
  const { of, say } = clusters(["a", "b"]);
  of("b").begin({ isFirm: true });
  assert.deepEqual(say("a", "b", "stands"), ["b"]);
  assert.deepEqual(of("b").against([], []), []);
});

test("whoever withdraws, or is not heard of for a minute, stands no more; who only asks never did", () => {
  const { clock, of, say } = clusters(["a", "b", "c"]);
  assert.deepEqual(say("c", "a", "asks"), []);
  say("b", "a", "stands");
  assert.deepEqual(say("c", "a", "asks"), ["b"]);
  say("b", "a", "withdraws");
  assert.deepEqual(say("c", "a", "asks"), []);
  say("b", "a", "stands");
  of("a").led("b");
  assert.deepEqual(say("c", "a", "asks"), [], "it was promoted");
  say("b", "a", "stands");
  clock.pass(MINUTE);
  assert.deepEqual(say("c", "a", "asks"), ["b"]);
  clock.pass(SECOND);
  assert.deepEqual(say("c", "a", "asks"), []);
  of("a").begin({ isFirm: false });
  assert.throws(() => of("a").begin({ isFirm: false }), /change/);
});

/** How often it is stood against `c` where one says again and again that it stands, in so many half minutes. */
function refusals(halves: number, say: (clock: FakeClock, c: Candidates) => readonly Word[]) {
  const clock = new FakeClock(0n);
  let epoch = 1;
  const c = new Candidates(
    clock,
    () => "c",
    () => epoch,
  );
  const refused = Array.from({ length: halves }, () => {
    clock.pass(30n * SECOND);
    c.begin({ isFirm: false });
    const against = c.against(say(clock, c), []);
    c.end();
    return against.length;
  });
  return { refused, c, clock, next: () => epoch++ };
}

test("who says for ever that it stands keeps others from being promoted for three minutes of an epoch, and no longer", () => {
  const ways = {
    "to its face": (_: FakeClock, c: Candidates) => {
      c.hear("a", "stands");
      return [];
    },
    "when it is called": () => [{ by: "4a", cluster: "a" }],
    "by way of another": (clock: FakeClock) => [{ by: `4${clock.elapsed()}`, cluster: "a" }],
    "of others that are none": (clock: FakeClock) => [{ by: "4a", cluster: `x${clock.elapsed()}` }],
  };
  for (const [way, say] of Object.entries(ways)) {
    const { refused, c, clock, next } = refusals(20, say);
    const count = refused.reduce((sum, one) => sum + one, 0);
    assert.ok(count > 0 && count <= 7, `${way}: ${refused.join()}`);
    assert.ok(
      refused.slice(-10).every((one) => one === 0),
      way,
    );
    next();
    clock.pass(SECOND);
    c.begin({ isFirm: false });
    assert.equal(
      c.against(say(clock, c), []).length,
      1,
      `${way}: in the next epoch it counts again`,
    );
  }
});

test("who only asks who stands uses up nothing; who is told late that one stands, gives it its time", () => {
  const { c, clock } = refusals(0, () => []);
  const named = [{ by: "4a", cluster: "a" }];
  for (let i = 0; i < 20; i++) {
    clock.pass(MINUTE);
    assert.deepEqual(c.against(named, []), ["a"]);
  }
  c.hear("a", "stands");
  c.hear("a", "withdraws");
  clock.pass(50n * SECOND);
  c.hear("a", "stands");
  clock.pass(50n * SECOND);
  assert.deepEqual(c.hear("b", "asks"), ["a"]);
});

test("one that stood before counts where it is not reached any more, until it denies it; of two the smaller id goes on", () => {
  const { of, say } = clusters(["a", "b"]);
  say("b", "a", "stands");
  of("a").begin({ isFirm: false });
  assert.deepEqual(of("a").against([], []), ["b"]);
  assert.deepEqual(of("a").against([], ["b"]), [], "unless it denies it");
  const both = clusters(["a", "b"]);
  both.of("a").begin({ isFirm: false });
  both.of("b").begin({ isFirm: false });
  assert.deepEqual(both.say("a", "b", "stands"), []);
  assert.deepEqual(both.say("b", "a", "stands"), ["a"]);
});

test("a cluster speaks for itself alone, and in words that are known", () => {
  const { say } = clusters(["a", "c"]);
  say("b1", "a", "stands");
  say("b2", "a", "withdraws");
  assert.deepEqual(say("c", "a", "asks"), ["b1"]);
  assert.deepEqual(["stands", "", "leads"].map(candidacyOf), ["stands", null, null]);
});

test("where 64 stand there is room for nobody else, and for each of them to say so again", () => {
  const { clock, say } = clusters(["a"]);
  const all = Array.from({ length: 65 }, (_, i) => `z${i}`);
  for (const one of all) say(one, "a", "stands");
  clock.pass(50n * SECOND);
  say("z0", "a", "stands");
  clock.pass(20n * SECOND);
  assert.deepEqual(say("b", "a", "asks"), ["z0"]);
  const other = clusters(["a"]);
  for (const one of all) other.say(one, "a", "stands");
  for (const one of all.slice(0, 64)) other.say(one, "a", "withdraws");
  assert.deepEqual(other.say("b", "a", "asks"), [], "who came too late stands no more than before");
});

test("however many say to stand, one that asks hears of at most 64, and only so many words are counted in an epoch", () => {
  const { clock, of, say } = clusters(["a"]);
  const stands = (from: number, count: number) => {
    for (let i = from; i < from + count; i++) say(`z${i}`, "a", "stands");
  };
  stands(0, 100);
  of("a").begin({ isFirm: true });
  assert.equal(say("b", "a", "asks").length, 64);
  of("a").end();
  for (let i = 1; i < 10; i++) {
    clock.pass(2n * MINUTE);
    stands(i * 100, 64);
  }
  assert.equal(say("b", "a", "asks").length, 0, "in one epoch no more are counted");
});
