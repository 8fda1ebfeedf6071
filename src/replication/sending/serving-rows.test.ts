// The calls by which a member takes over rows: what is withheld from it by now ends them, and who is a member no more is sent nothing more.

import assert from "node:assert/strict";
import test from "node:test";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { madeStore } from "../../../tests/support/made/made-store.ts";
import type { MemberFilter } from "../filters/filters.ts";
import { SharedView } from "../filters/shared-view.ts";
import type { Member } from "../stream/members.ts";
import * as messages from "../stream/messages.ts";
import { sentTo } from "./sent-part.ts";
import { servedRows } from "./serving-rows.ts";

const ROWS = 4;
const CALL = { peer: {}, signal: new AbortController().signal, metadata: () => undefined };
const keyOf = (n: number) => `shared/rows/${n}`;

async function stage() {
  const { store, world } = await madeStore();
  const value = new Uint8Array(messages.CHUNK_BYTES); // a message has one
  for (let n = 0; n < ROWS; n++) await store.write((tx) => tx.put(keyOf(n), value));
  const view = new SharedView({ store, ...world, lets: () => true });
  await view.built;
  const now = { version: "1", isMember: true, whenRead: () => {} };
  const filter = {
    get version() {
      return now.version;
    },
    isEqualTo: (version: string) => version === now.version,
    lets: () => true,
    view: async () => view,
  } as unknown as MemberFilter;
  const served = servedRows({
    store,
    ...world,
    sent: sentTo("performance"),
    admit: () => {
      if (!now.isMember) throw new StatusError(Status.permissionDenied, "no member");
      return { pin: () => now.whenRead() } as unknown as Member;
    },
    filterOf: () => filter,
  });
  async function* run<Q>(
    method: { readonly path: string; readonly request: { encode(request: Q): Uint8Array } },
    request: Q,
  ) {
    const one = served.find(({ shape }) => shape.path === method.path)!;
    const requests = (async function* () {
      yield method.request.encode(request);
    })();
    yield* one.run(requests, CALL as never);
  }
  const begin = (filter: string) =>
    run(messages.beginDiff, { epoch: 1, isCopy: false, filter }).next();
  return { now, run, begin, view, store };
}

test("rows of some keys are sent for as long as it is a member", async () => {
  const { now, run } = await stage();
  const keys = Array.from({ length: ROWS }, (_, n) => keyOf(n));
  const call = run(messages.fetchKeys, { epoch: 1, keys });
  assert.equal((await call.next()).done, false);
  now.isMember = false;
  await assert.rejects(call.next(), { status: Status.permissionDenied });
});

test("a comparison begins by what is withheld now, and not by what was when it was asked for", async () => {
  const { now, begin, view } = await stage();
  assert.equal((await begin("1")).done, false);
  for (const other of ["", "2"]) await assert.rejects(begin(other), { status: Status.aborted });
  const { tree } = view;
  const pageHash = tree.pageHash.bind(tree);
  tree.pageHash = (page) => {
    now.version = "2"; // while pages are read
    return pageHash(page);
  };
  await assert.rejects(begin("1"), { status: Status.aborted });
});
