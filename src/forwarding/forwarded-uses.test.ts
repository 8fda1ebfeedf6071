import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { type MountRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { fakeWorld } from "../../tests/support/fake-world.ts";
import type { AuditedRequest } from "../endpoint/audited.ts";
import { takeForwardedUse } from "./forwarded-uses.ts";

const SENDER = { member: "region-b", clusterId: "b" };
const USE = { uuid: "m", what: { hash: "x", address: "192.0.2.7" } };
const MOUNT = {
  uuid: "m",
  accessor: "auth_approle_1",
  type: "approle",
  path: "auth/approle/",
  namespace: ROOT_NAMESPACE,
  readable: { request: new Set<string>(), response: new Set<string>() },
} as unknown as MountRef;

interface Stage {
  readonly take?: () => Promise<boolean | null>;
  readonly request?: () => Promise<void>;
  readonly isOpen?: boolean;
}

function stage({ take = async () => true, request = async () => {}, isOpen = true }: Stage = {}) {
  const { clock, random } = fakeWorld();
  const records: [what: string, error: string][] = [];
  const seen: AuditedRequest[] = [];
  const failed = new Map<string, number>();
  let taken = 0;
  const parts = {
    mounts: {
      byUuid: (uuid: string) => (uuid === "m" ? { ref: MOUNT } : null),
      takeUse: () => {
        taken++;
        return take();
      },
    },
    audit: {
      isOpen,
      request: async (one: AuditedRequest, error: string) => {
        seen.push(one);
        records.push(["request", error]);
        await request();
      },
      response: async (one: AuditedRequest, { error }: { readonly error: string }) => {
        assert.equal(one, seen.at(-1));
        records.push(["response", error]);
      },
    },
    attempts: {
      check: (member: string) => {
        if ((failed.get(member) ?? 0) < 3) return;
        throw new Failure("rate-limited", "too-often", "too often");
      },
      count: (member: string) => void failed.set(member, (failed.get(member) ?? 0) + 1),
    },
    clock,
    random,
  };
  const use = (uuid = "m", member = "region-b") =>
    takeForwardedUse(parts, { ...USE, uuid }, { ...SENDER, member });
  return { use, records, seen, taken: () => taken };
}

test("it is recorded before it is taken, and with what became of it", async () => {
  const { use, records, seen } = stage();
  assert.equal(await use(), true);
  assert.deepEqual(records, [
    ["request", ""],
    ["response", ""],
  ]);
  const [record] = seen;
  assert.equal(record?.path?.text, "auth/approle/take-use");
  assert.deepEqual(record?.forwarded, SENDER);
  assert.equal(record?.remote.address, "192.0.2.7");
  assert.equal(record?.remote.loopback, false);
});

test("without a record nothing is taken, and without a mount nothing is recorded", async () => {
  const failing = stage({
    request: async () => {
      throw new Failure("internal", "audit-failed", "no device");
    },
  });
  await assert.rejects(failing.use(), /no device/);
  assert.equal(failing.taken(), 0);
  const closed = stage({ isOpen: false });
  assert.equal(await closed.use(), null);
  const { use, records, taken } = stage();
  assert.equal(await use("other"), null);
  assert.deepEqual([records, taken(), closed.taken()], [[], 0, 0]);
});

test("one that fails has its second record too", async () => {
  const { use, records } = stage({
    take: async () => {
      throw new Failure("unavailable", "x", "the disk is full");
    },
  });
  await assert.rejects(use(), /the disk is full/);
  assert.deepEqual(records.at(-1), ["response", "the disk is full"]);
});

test("who asks for uses that there are not is slowed down, and no other member", async () => {
  let isThere = false;
  const { use, taken } = stage({ take: async () => isThere });
  for (let n = 0; n < 3; n++) assert.equal(await use(), false);
  await assert.rejects(use(), (error: Failure) => error.kind === "rate-limited");
  assert.equal(taken(), 3);
  isThere = true;
  for (let n = 0; n < 9; n++) assert.equal(await use("m", "region-c"), true);
});
