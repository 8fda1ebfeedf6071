import assert from "node:assert/strict";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import type { Caller } from "@holdfast/shared/endpoint/request";
import {
  CLIENT,
  HOUR,
  keysBelow,
  madeTokens,
  type MadeTokens,
  MINUTE,
  refused,
  restarted,
  secretOf,
  turns,
} from "../../../tests/support/made/made-tokens.ts";
import { type Token, tokenCodec } from "../token.ts";
import { recordKey } from "../rows/token-keys.ts";
import type { TokenTerms } from "../token-terms.ts";
import { until } from "../../../tests/support/until.ts";

const TERMS: TokenTerms = {
  parent: null,
  meta: {},
  withoutDefault: false,
  longest: null,
  period: null,
  usesLeft: null,
};

function childOf(
  made: MadeTokens,
  { namespaceId, accessor, global: isGlobal }: Token,
  more: Partial<TokenTerms> = {},
  global = false,
): Promise<Token> {
  const terms = { ...TERMS, parent: { namespaceId, accessor, global: isGlobal }, ...more };
  return made.tokens.writes.create({ ...CLIENT, global, terms });
}

function callerOf({ tokens }: MadeTokens, token: Token): Caller {
  const caller = tokens.find(secretOf(token));
  assert.ok(caller !== null);
  return caller;
}

test("a tree of tokens ends with its root, each told once, and leaves no row behind", async () => {
  const made = await madeTokens();
  const before = keysBelow(made, "local/");
  const root = await made.tokens.writes.create({ ...CLIENT, global: true });
  const tree: Token[] = [];
  for (let i = 0; i < 20; i++) {
    const child = await childOf(made, root);
    tree.push(child, await childOf(made, child), await childOf(made, child));
  }
  const beside = await made.tokens.writes.create(CLIENT);
  await made.tokens.deleteTree("root", root.accessor);
  for (const token of tree) assert.equal(made.tokens.find(secretOf(token)), null);
  assert.equal(new Set(made.ended).size, 61);
  assert.equal(made.ended.length, 61);
  assert.ok(made.tokens.find(secretOf(beside)) !== null);
  await made.tokens.writes.delete("root", beside.accessor);
  const isTable = (key: string) => key.endsWith("tokens/table");
  assert.deepEqual(
    keysBelow(made, "local/").filter((key) => !isTable(key)),
    before.filter((key) => !isTable(key)),
  );
});

test("children of what has expired, or was deleted just before a crash, go at the next start", async () => {
  const first = await madeTokens();
  const short = await first.tokens.writes.create({ ...CLIENT, ttl: MINUTE });
  const long = await first.tokens.writes.create(CLIENT);
  const children = [await childOf(first, short), await childOf(first, long)];
  await first.tokens.writes.delete("root", long.accessor); // and nobody waits for what hangs on it
  first.world.clock.pass(2n * MINUTE);
  const second = await restarted(first);
  await second.world.timers.advance(MINUTE);
  await turns();
  for (const child of children) {
    assert.equal(second.tokens.find(secretOf(child)), null);
    assert.equal(second.tokens.byAccessor("root", child.accessor), null);
  }
});

test("a token that is deleted alone leaves its children, which do not come back to it", async () => {
  const made = await madeTokens();
  const { tokens } = made;
  const root = await tokens.writes.create(CLIENT);
  const children = [];
  for (let i = 0; i < 40; i++) children.push(await childOf(made, root));
  const [first] = children;
  assert.ok(first !== undefined);
  assert.equal(tokens.rows.isChild(first), true);
  await tokens.deleteAlone(root);
  assert.equal(tokens.find(secretOf(root)), null);
  for (const child of children) {
    assert.ok(tokens.find(secretOf(child)) !== null);
    assert.equal(tokens.rows.isChild(child), false);
  }
  assert.deepEqual(made.ended, [`root/${root.accessor}`]);
  await tokens.writes.delete("root", first.accessor); // although its record still names its parent
  assert.equal(tokens.find(secretOf(first)), null);
});

test("a token that is deleted alone leaves the records of global children to who writes them", async () => {
  const made = await madeTokens();
  const { tokens, store, world } = made;
  const root = await tokens.writes.create(CLIENT);
  const global = await childOf(made, root, {}, true);
  const own = await childOf(made, root);
  store.leaveShared(true);
  await tokens.deleteAlone(root);
  assert.equal(tokens.find(secretOf(root)), null);
  for (const child of [global, own]) assert.ok(tokens.find(secretOf(child)) !== null);
  assert.deepEqual(
    world.lines.filter((line) => line.includes("shared-write-refused")),
    [],
  );
  await turns();
  assert.ok(tokens.find(secretOf(global)) !== null, "nor does it end by itself");
});

test("no token begins after its parent has ended", async () => {
  const made = await madeTokens();
  const root = await made.tokens.writes.create({ ...CLIENT, ttl: MINUTE });
  made.world.clock.pass(2n * MINUTE);
  await assert.rejects(childOf(made, root), refused(/invalid token/, "denied"));
  await made.tokens.writes.delete("root", root.accessor);
  await assert.rejects(childOf(made, root), refused(/invalid token/, "denied"));
});

test("uses are taken one by one, wake no list, and the last one leaves a token that lets nobody in", async () => {
  const made = await madeTokens();
  const { tokens } = made;
  const token = await tokens.writes.create({ ...CLIENT, terms: { ...TERMS, usesLeft: 2 } });
  const table = tokens.tableIndex("root");
  const caller = callerOf(made, token);
  assert.equal(caller.counted, true);
  assert.deepEqual(
    await Promise.all([tokens.use(caller), tokens.use(caller), tokens.use(caller)]),
    [1, 0, null],
  );
  assert.equal(tokens.tableIndex("root"), table);
  assert.equal(tokens.find(secretOf(token)), null);
  const again = await restarted(made);
  assert.equal(again.tokens.find(secretOf(token)), null, "a crash gives no use back");
  await again.tokens.spent(caller);
  assert.equal(again.tokens.byAccessor("root", token.accessor), null);
  await again.tokens.spent(caller); // gone already
});

test("a record keeps its terms, and one from before there were any is read", async () => {
  const made = await madeTokens();
  const parent = await made.tokens.writes.create(CLIENT);
  const terms = { meta: { a: "b" }, longest: HOUR, period: MINUTE, usesLeft: 7 };
  const token = await childOf(made, parent, { ...terms, withoutDefault: true });
  const read = tokenCodec.decode(tokenCodec.encode(token));
  assert.deepEqual(read.terms, token.terms);
  assert.equal(callerOf(made, token).withoutDefault, true);

  const plain: object = JSON.parse(Buffer.from(tokenCodec.encode(parent)).toString());
  assert.equal("terms" in plain, false);
  const { renewable: _, ...old } = plain as { renewable?: boolean };
  const before = tokenCodec.decode(Buffer.from(JSON.stringify(old)));
  assert.deepEqual([before.terms, before.renewable], [undefined, false]);
});

test("T-B03: terms that are half understood let nobody in", async () => {
  const made = await madeTokens();
  const parent = await made.tokens.writes.create(CLIENT);
  const token = await childOf(made, parent);
  const view = made.barrier.view("local/ns/root/tokens/by-accessor/");
  const stored = JSON.parse(Buffer.from(tokenCodec.encode(token)).toString()) as { terms: object };
  const changes: readonly object[] = [
    { usesLeft: -1 },
    { usesLeft: "3" },
    { usesLeft: undefined },
    { withoutDefault: 1 },
    { longest: -1 },
    { period: "soon" },
    { meta: { a: 1 } },
    { parent: "x" },
    { parent: { accessor: 5 } },
  ];
  for (const change of changes) {
    const half = { ...stored, terms: { ...stored.terms, ...change } };
    await view.write((tx) => tx.put(token.accessor, half, jsonCodec()));
    assert.equal(made.tokens.find(secretOf(token)), null, JSON.stringify(change));
  }
  await view.write((tx) => tx.put(token.accessor, { ...stored, terms: null }, jsonCodec()));
  assert.equal(made.tokens.find(secretOf(token)), null);
});

// --- where another cluster writes shared rows ---

const DESCENTS = "local/tokens/descents/";
const alarmsOf = ({ world }: MadeTokens) =>
  world.lines.filter((line) => /shared-write-refused|could not end/.test(line));

/** What another cluster's deletion of a global token brings, as whoever applies it does. */
function appliedDeletion(made: MadeTokens, token: Token): Promise<void> {
  const key = recordKey(token);
  return made.store.writeApplied((raw) => {
    const shared = made.barrier.view("shared/").within(raw);
    shared.delete(key);
    made.tokens.follower.follow(shared, key, token, null);
  });
}

test("where another cluster writes shared rows, local children go, however many global ones lie before them, and those stay", async () => {
  const made = await madeTokens();
  const { tokens, store } = made;
  const parents = [await tokens.writes.create(CLIENT), await tokens.writes.create(CLIENT)];
  const [locals, globals]: Token[][] = [[], []];
  for (const parent of parents) {
    for (let i = 0; i < 40; i++) globals?.push(await childOf(made, parent, {}, true));
    for (let i = 0; i < 20; i++) {
      const child = await childOf(made, parent);
      locals?.push(child, await childOf(made, child));
    }
  }
  store.leaveShared(true);
  for (const { accessor } of parents) await tokens.deleteTree("root", accessor);
  for (const child of locals ?? []) assert.equal(tokens.byAccessor("root", child.accessor), null);
  for (const child of globals ?? []) assert.ok(tokens.find(secretOf(child)) !== null);
  assert.equal(keysBelow(made, DESCENTS).length, 2, "their marks stay while they are there");
  assert.deepEqual(alarmsOf(made), []);
  const other = await tokens.writes.create(CLIENT);
  const child = await childOf(made, other);
  await tokens.deleteTree("root", other.accessor); // does not wait for those
  assert.equal(tokens.byAccessor("root", child.accessor), null);
});

test("the mark goes with the last of the children that another cluster ends; a cluster that takes over ends them itself", async () => {
  const made = await madeTokens();
  const { tokens, store } = made;
  const family = async () => {
    const parent = await tokens.writes.create(CLIENT);
    const children = [];
    for (let i = 0; i < 20; i++) children.push(await childOf(made, parent, {}, true));
    return { parent, children };
  };
  const [one, two] = [await family(), await family()];
  store.leaveShared(true);
  for (const { parent } of [one, two]) await tokens.deleteTree("root", parent.accessor);
  for (const child of one.children) {
    assert.equal(keysBelow(made, DESCENTS).length, 2);
    await appliedDeletion(made, child);
  }
  await until(() => keysBelow(made, DESCENTS).length === 1);
  assert.deepEqual(alarmsOf(made), []);
  const taking = await restarted(made); // shared rows are its own
  await until(() => keysBelow(taking, DESCENTS).length === 0);
  for (const { accessor } of two.children) {
    assert.equal(taking.tokens.byAccessor("root", accessor), null);
  }
});
