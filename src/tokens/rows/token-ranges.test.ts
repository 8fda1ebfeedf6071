// The two orders of lists against a plain sort of all tokens.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { CLIENT, madeTokens, TEAM } from "../../../tests/support/made/made-tokens.ts";
import type { Token } from "../token.ts";

async function filled() {
  const made = await madeTokens();
  const all: Token[] = [];
  for (let i = 0; i < 60; i += 1) {
    all.push(await made.tokens.writes.create({ ...CLIENT, global: i % 3 === 0, name: String(i) }));
  }
  await made.tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id });
  return { ...made, all };
}

const accessorsOf = (tokens: readonly Token[]) => tokens.map(({ accessor }) => accessor);
const byText = (a: Token, b: Token) => (a.accessor < b.accessor ? -1 : 1);

const ranges = fc.record({
  at: fc.option(fc.nat(59), { nil: undefined }),
  limit: fc.integer({ min: 1, max: 70 }),
  reverse: fc.boolean(),
});

test("creation order: every page begins with the token named, in both directions", async () => {
  const { tokens, all } = await filled();
  fc.assert(
    fc.property(ranges, ({ at, limit, reverse }) => {
      const from = at === undefined ? undefined : all[at];
      const order = reverse ? all.toReversed() : all;
      const start = from === undefined ? 0 : order.indexOf(from);
      const found = tokens.ranges.byCreation("root", { from, limit, reverse });
      assert.deepEqual(accessorsOf(found), accessorsOf(order.slice(start, start + limit)));
    }),
  );
});

test("order of accessors: both classes in one, with prefix, global alone, in both directions", async () => {
  const { tokens, all } = await filled();
  const more = fc.record({ range: ranges, prefix: fc.nat(4), global: fc.boolean() });
  fc.assert(
    fc.property(more, ({ range: { at, limit, reverse }, prefix: length, global }) => {
      const prefix = (all[7]?.accessor ?? "").slice(0, length);
      const matching = all.filter(
        (token) => token.accessor.startsWith(prefix) && (token.global || !global),
      );
      const order = matching.toSorted(reverse ? (a, b) => byText(b, a) : byText);
      const from = at === undefined ? undefined : all[at]?.accessor;
      const isBehind = ({ accessor }: Token) =>
        from === undefined || (reverse ? accessor <= from : accessor >= from);
      const want = order.filter(isBehind).slice(0, limit);
      const found = tokens.ranges.byAccessor("root", { from, limit, reverse, prefix, global });
      assert.deepEqual(accessorsOf(found), accessorsOf(want));
    }),
  );
});

test("where the named token is gone a page begins with its neighbour", async () => {
  const { tokens, all } = await filled();
  const sorted = all.toSorted(byText);
  const gone = all[20];
  assert.ok(gone);
  await tokens.writes.delete("root", gone.accessor);
  const [next] = tokens.ranges.byCreation("root", { from: gone, limit: 1 });
  assert.equal(next?.accessor, all[21]?.accessor);
  const [before] = tokens.ranges.byCreation("root", { from: gone, limit: 1, reverse: true });
  assert.equal(before?.accessor, all[19]?.accessor);
  const at = sorted.indexOf(gone);
  const from = gone.accessor;
  const [after] = tokens.ranges.byAccessor("root", { from, limit: 1 });
  assert.equal(after?.accessor, (sorted[at + 1] ?? { accessor: undefined }).accessor);
  const [ahead] = tokens.ranges.byAccessor("root", { from, limit: 1, reverse: true });
  assert.equal(ahead?.accessor, (sorted[at - 1] ?? { accessor: undefined }).accessor);
});

test("accessors that end in the least and the greatest digit are found by their cursor", async () => {
  const { tokens } = await madeTokens();
  const accessors = ["0", "9", "a", "f"].map((end) => `aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeee${end}`);
  for (const [i, accessor] of accessors.entries()) {
    const secret = `11111111-2222-4333-8444-55555555555${i}`;
    await tokens.writes.update("root", accessor, { type: "client", policies: ["p"], secret });
  }
  for (const [i, from] of accessors.entries()) {
    const forward = tokens.ranges.byAccessor("root", { from, limit: 9 });
    assert.deepEqual(accessorsOf(forward), accessors.slice(i));
    const back = tokens.ranges.byAccessor("root", { from, limit: 9, reverse: true });
    assert.deepEqual(accessorsOf(back), accessors.slice(0, i + 1).toReversed());
  }
});

test("an update leaves the order of creation as it is", async () => {
  const { tokens, all } = await filled();
  const [oldest] = all;
  assert.ok(oldest);
  await tokens.writes.update("root", oldest.accessor, { type: "client", policies: ["x"] });
  const found = tokens.ranges.byCreation("root", { limit: 100 });
  assert.deepEqual(accessorsOf(found), accessorsOf(all));
});

test("a row that leads to no record is passed over, and the page is full all the same", async () => {
  const { tokens, all, barrier } = await filled();
  const records = barrier.view("local/ns/root/tokens/by-accessor/");
  for (const token of all.slice(1, 3)) {
    await records.write((tx) => tx.delete(token.accessor));
  }
  const found = tokens.ranges.byCreation("root", { limit: 5 });
  const left = all.filter((_, i) => i !== 1 && i !== 2);
  assert.deepEqual(accessorsOf(found), accessorsOf(left.slice(0, 5)));
});

test("whoever watches the table hears of every change, whoever watches a token of its own alone", async () => {
  const { tokens, store } = await madeTokens();
  const [one, two] = [
    await tokens.writes.create(CLIENT),
    await tokens.writes.create({ ...CLIENT, global: true }),
  ];
  const heard: string[] = [];
  tokens.rows.onTable("root", (index) => heard.push(`table ${index}`));
  const end = tokens.rows.onToken(one, () => heard.push("one"));
  tokens.rows.onToken(two, () => heard.push("two"));
  await tokens.writes.update("root", one.accessor, { type: "client", policies: ["x"] });
  assert.deepEqual(heard.splice(0).toSorted(), ["one", `table ${store.index}`]);
  end();
  await tokens.writes.delete("root", one.accessor);
  assert.deepEqual(heard.splice(0), [`table ${store.index}`]);
  await tokens.writes.delete("root", two.accessor);
  assert.deepEqual(heard.splice(0).toSorted(), [`table ${store.index}`, "two"]);
  await tokens.writes.create({ ...CLIENT, namespaceId: TEAM.id });
  assert.deepEqual(heard, []);
});
