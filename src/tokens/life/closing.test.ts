// Where another cluster writes shared rows, tokens of a login or of a namespace end as far as they are local.

import assert from "node:assert/strict";
import test from "node:test";
import {
  CLIENT,
  madeTokens,
  type MadeTokens,
  secretOf,
} from "../../../tests/support/made/made-tokens.ts";
import { closeRoom } from "../../../tests/support/jobs.ts";
import type { Token } from "../token.ts";

const MOUNT = "c0000000-0000-4000-8000-000000000001";
const origin = { namespaceId: "root", mount: MOUNT, login: "login/ada", name: "ada", metadata: {} };

async function fill({ tokens }: MadeTokens, count: number): Promise<[Token[], Token[]]> {
  const [local, global]: [Token[], Token[]] = [[], []];
  for (let i = 0; i < count; i++) {
    local.push(await tokens.writes.create({ ...CLIENT, origin }));
    global.push(await tokens.writes.create({ ...CLIENT, origin, global: true }));
  }
  return [local, global];
}

const ends: readonly [what: string, end: (made: MadeTokens) => Promise<void>][] = [
  [
    "a mount",
    ({ tokens }) => tokens.closing.close(MOUNT, async () => {}, new AbortController().signal),
  ],
  ["a namespace", ({ tokens }) => tokens.writes.wipeNamespace("root")],
];

for (const [what, end] of ends) {
  test(`tokens of ${what} that is gone: the local ones end, and global ones are left to who writes them`, async () => {
    const made = await madeTokens();
    const [local, global] = await fill(made, 40);
    const has = () =>
      made.barrier.view("shared/").write((tx) => made.tokens.closing.has(tx, MOUNT));
    made.store.leaveShared(true);
    await end(made);
    for (const token of local) assert.equal(made.tokens.byAccessor("root", token.accessor), null);
    for (const token of global) assert.ok(made.tokens.find(secretOf(token)) !== null);
    assert.equal(await has(), true);
    assert.deepEqual(
      made.world.lines.filter((line) => line.includes("shared-write-refused")),
      [],
    );
    made.store.leaveShared(false);
    await end(made);
    for (const token of global) assert.equal(made.tokens.byAccessor("root", token.accessor), null);
    assert.equal(await has(), false);
    await closeRoom(made.tokens);
  });
}
