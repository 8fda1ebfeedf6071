import assert from "node:assert/strict";
import test from "node:test";
import type { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import type { ForwardedRequest } from "../forwarding/messages.ts";
import { DISABLED, type Role } from "../replication/roles/role.ts";
import type { Store } from "../storage/store.ts";
import { PrimaryRegion } from "./primary-region.ts";

type CommitListener = Parameters<Store["onCommit"]>[0];
type Followed = ConstructorParameters<typeof PrimaryRegion>[0];

const EPOCH = { number: 1, cluster: "a", first: "1" };
const FOLLOWS: Role = {
  mode: "secondary",
  set: "s",
  epoch: EPOCH,
  id: "region-b",
  address: "https://a:8201",
  known: null,
  copied: true,
  final: null,
  mayRewind: false,
  promoting: null,
};

/** A region that does not reach its primary, and commits of its store. */
function region() {
  const world = fakeWorld();
  const listeners = new Set<CommitListener>();
  const followed = {
    upstream: null,
    applied: 5n,
    isTorn: false,
    role: FOLLOWS,
    refusal: null,
  } as unknown as { -readonly [K in keyof Followed]: Followed[K] };
  const store = {
    onCommit: (call: CommitListener) => {
      listeners.add(call);
      return () => void listeners.delete(call);
    },
  };
  const primary = new PrimaryRegion(followed, { store, ...world });
  const commit = () => {
    for (const call of listeners) call({} as Parameters<CommitListener>[0]);
  };
  return { world, listeners, followed, primary, commit };
}

test("what is waited for is here when it is applied, and not before; nobody waits longer than was said, or than somebody is there", async () => {
  const { world, listeners, followed, primary, commit } = region();
  const { signal } = new AbortController();
  assert.equal(await primary.appliedUpTo(5n, SECOND, signal), true);
  const waits = primary.appliedUpTo(7n, SECOND, signal);
  followed.applied = 6n;
  commit();
  assert.equal(listeners.size, 1, "it waits still");
  followed.applied = 7n;
  commit();
  assert.equal(await waits, true);
  const late = primary.appliedUpTo(8n, SECOND, signal);
  await world.timers.advance(SECOND);
  assert.equal(await late, false);
  const leaving = new AbortController();
  const left = primary.appliedUpTo(8n, SECOND, leaving.signal);
  leaving.abort();
  assert.equal(await left, false);
  assert.deepEqual([listeners.size, world.timers.armed], [0, 0]);
});

test("rows of different indexes are waited for until they are of one", async () => {
  const { world, followed, primary, commit } = region();
  const { signal } = new AbortController();
  assert.equal(await primary.whole(SECOND, signal), true);
  followed.isTorn = true;
  const late = primary.whole(SECOND, signal);
  await world.timers.advance(SECOND);
  assert.equal(await late, false);
  const waits = primary.whole(SECOND, signal);
  followed.isTorn = false;
  commit();
  assert.equal(await waits, true);
});

test("where nothing can be sent the caller hears why, as far as that is known here", async () => {
  const { followed, primary } = region();
  const { signal } = new AbortController();
  const found = async (role: Role, refusal: string | null = null) => {
    Object.assign(followed, { role, refusal });
    const call = primary.call({} as ForwardedRequest, signal, false);
    return await call.then(
      () => "",
      ({ code }: Failure) => code,
    );
  };
  const leads = { mode: "primary", set: "s", epoch: EPOCH, address: "", fenced: EPOCH } as const;
  const whys: readonly [role: Role, refusal: string | null, code: string][] = [
    [FOLLOWS, null, "primary-unreachable"],
    [FOLLOWS, "the secondary was revoked", "primary-refuses"],
    [{ ...FOLLOWS, superseded: true }, null, "primary-superseded"],
    // It is what somebody has to do something about, whatever the one that is followed says.
    [{ ...FOLLOWS, superseded: true }, "another one leads", "primary-superseded"],
    [{ ...FOLLOWS, id: "" }, null, "no-primary"],
    [leads, null, "replication-fenced"],
    [{ ...leads, mode: "demoting" }, null, "replication-role-changing"],
    [DISABLED, null, "replication-role-changing"],
  ];
  for (const [role, refusal, code] of whys) assert.equal(await found(role, refusal), code);
});
