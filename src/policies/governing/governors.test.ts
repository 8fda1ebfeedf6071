// Which RGPs and EGPs apply to a request, in which order, and that a change counts for the next one.

import assert from "node:assert/strict";
import test from "node:test";
import { utf8 } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import type { GoverningKind } from "../../endpoint/judgement.ts";
import { type Caller, type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { SystemTimers } from "../../system/timers.ts";
import {
  crashed,
  type MadeBarrier,
  madeBarrier,
  unsealed,
} from "../../../tests/support/made/made-barrier.ts";
import type { Governor } from "./governing-places.ts";
import { governingCodec, governingPolicies, type GoverningRecord } from "./governing-record.ts";
import { Governors } from "./governors.ts";

const TEAM: NamespaceRef = { id: "t1", path: "team", created: 1n };
const DEEP: NamespaceRef = { id: "t2", path: "team/deep", created: 2n };
const NAMESPACES = new Map([ROOT_NAMESPACE, TEAM, DEEP].map((one) => [one.path, one]));

interface Made extends MadeBarrier {
  readonly governors: Governors;
  readonly changed: Governor[];
}

function over(made: MadeBarrier): Made {
  const changed: Governor[] = [];
  const governors = new Governors({
    shared: made.barrier.view("shared/"),
    timers: new SystemTimers(),
    namespaces: { named: (path) => NAMESPACES.get(path) ?? null },
    changed: (policy) => void changed.push(policy),
  });
  return { ...made, governors, changed };
}

const made = async () => over(await madeBarrier());

async function write(
  { barrier }: MadeBarrier,
  kind: GoverningKind,
  name: string,
  paths: readonly string[] = [],
  namespace = ROOT_NAMESPACE,
): Promise<void> {
  const record: GoverningRecord = {
    text: "true",
    version: 1,
    modified: 0n,
    created: 1n,
    written: 1n,
    casRequired: false,
    expires: null,
    level: "hard-mandatory",
    paths,
  };
  const view = barrier.view("shared/").sub(governingPolicies(kind, namespace.id));
  await view.write((tx) => tx.put(name, record, governingCodec));
}

async function remove({ barrier }: MadeBarrier, kind: GoverningKind, name: string): Promise<void> {
  const view = barrier.view("shared/").sub(governingPolicies(kind, ROOT_NAMESPACE.id));
  await view.write((tx) => tx.delete(name));
}

function caller(policies: readonly string[], namespace = ROOT_NAMESPACE): Caller {
  const times = { created: 0n, expires: null };
  return { accessor: "a", type: "client", name: "", policies, namespace, global: false, ...times };
}

async function found(
  { governors }: Made,
  who: Caller | null,
  path: string | null,
  namespace = ROOT_NAMESPACE,
): Promise<string> {
  const policies = await governors.applying(who, namespace, path);
  return policies.map(({ kind, namespaceId, name }) => `${kind} ${namespaceId}/${name}`).join(", ");
}

test("the RGPs of the token by name, then the EGPs, longest path first (5.3)", async () => {
  const room = await made();
  for (const name of ["b", "a", "other"]) await write(room, "rgp", name);
  await write(room, "egp", "everything", ["*"]);
  await write(room, "egp", "exact", ["secret/orders"]);
  await write(room, "egp", "below", ["secret/*"]);
  await write(room, "egp", "also-below", ["secret/*"]);
  await write(room, "egp", "elsewhere", ["auth/*", "secretx"]);
  const who = caller(["B", "acl-policy", "a", "b"]);
  assert.equal(
    await found(room, who, "secret/orders"),
    "rgp root/a, rgp root/b, egp root/exact, egp root/also-below, egp root/below, egp root/everything",
  );
  assert.equal(await found(room, null, "secretx"), "egp root/elsewhere, egp root/everything");
  assert.equal(await found(room, who, null), "rgp root/a, rgp root/b"); // no EGP reaches it
});

test("management is bound by the EGPs of namespaces above its own, and by nothing else", async () => {
  const room = await made();
  await write(room, "egp", "top", ["*"]);
  await write(room, "egp", "mid", ["*"], TEAM);
  await write(room, "egp", "low", ["*"], DEEP);
  await write(room, "rgp", "carried", [], TEAM);
  const manager = (namespace: NamespaceRef): Caller => ({
    ...caller(["carried"], namespace),
    type: "management",
  });
  assert.equal(await found(room, manager(ROOT_NAMESPACE), "x", DEEP), "");
  assert.equal(await found(room, manager(TEAM), "x", TEAM), "egp root/top");
  assert.equal(await found(room, manager(TEAM), "x", DEEP), "egp root/top");
  assert.equal(await found(room, manager(DEEP), "x", DEEP), "egp t1/mid, egp root/top");
});

test("one EGP with several matching paths is asked once, at its longest", async () => {
  const room = await made();
  await write(room, "egp", "twice", ["*", "secret/a"]);
  await write(room, "egp", "between", ["secret/*"]);
  assert.equal(await found(room, null, "secret/a"), "egp root/twice, egp root/between");
});

test("an exact path also meets the listing of itself", async () => {
  const room = await made();
  await write(room, "egp", "exact", ["secret/a"]);
  assert.equal(await found(room, null, "secret/a/"), "egp root/exact");
  assert.equal(await found(room, null, "secret/a/b"), "");
});

test("EGPs of namespaces above apply below, by the path as it is seen from there (120)", async () => {
  const room = await made();
  await write(room, "egp", "all", ["*"]);
  await write(room, "egp", "down", ["team/deep/secret/*"]);
  await write(room, "egp", "here", ["secret/*"]);
  await write(room, "egp", "team", ["*", "deep/secret/a"], TEAM);
  await write(room, "egp", "deep", ["secret/*"], DEEP);
  assert.equal(
    await found(room, null, "secret/a", DEEP),
    "egp t1/team, egp t2/deep, egp root/down, egp root/all",
  );
  assert.equal(await found(room, null, "secret/a"), "egp root/here, egp root/all");
  // T-C01: what a child writes ends at the child.
  assert.equal(await found(room, null, "deep/secret/a"), "egp root/all");
});

test("RGPs are those of the token's own namespace, wherever it asks", async () => {
  const room = await made();
  await write(room, "rgp", "office");
  await write(room, "rgp", "office", [], TEAM);
  assert.equal(await found(room, caller(["office"]), "x", DEEP), "rgp root/office");
  assert.equal(await found(room, caller(["office"], TEAM), "x", DEEP), "rgp t1/office");
  assert.equal(await found(room, caller(["office"], DEEP), "x", DEEP), "");
});

test("what applies is found without waiting, once a namespace was read", async () => {
  const room = await made();
  await write(room, "rgp", "office");
  const who = caller(["office"]);
  assert.ok(room.governors.applying(who, ROOT_NAMESPACE, "x") instanceof Promise);
  await found(room, who, "x");
  for (const policies of [["office"], ["other"], []]) {
    const at = room.governors.applying(caller(policies), ROOT_NAMESPACE, "x");
    assert.ok(Array.isArray(at));
    assert.equal(at.length, policies.includes("office") ? 1 : 0);
  }
});

test("T-C02: a change counts for the next request", async () => {
  const room = await made();
  const who = caller(["office"]);
  assert.equal(await found(room, who, "secret/a"), "");
  await write(room, "rgp", "office");
  await write(room, "egp", "hours", ["secret/*", "other"]);
  assert.equal(await found(room, who, "secret/a"), "rgp root/office, egp root/hours");
  await write(room, "egp", "hours", ["other"]);
  assert.equal(await found(room, who, "secret/a"), "rgp root/office");
  assert.equal(await found(room, who, "other"), "rgp root/office, egp root/hours");
  await remove(room, "egp", "hours");
  await remove(room, "rgp", "office");
  assert.equal(await found(room, who, "other"), "");
  assert.deepEqual(
    room.changed.map(({ kind, name }) => `${kind} ${name}`),
    ["rgp office", "egp hours", "egp hours", "egp hours", "rgp office"],
  );
});

test("what is written while a namespace is read is not lost", async () => {
  const room = await made();
  for (let i = 0; i < 250; i++) await write(room, "egp", `other-${i}`, ["elsewhere"]);
  const answering = found(room, null, "secret/a");
  await write(room, "egp", "hours", ["secret/*"]);
  await remove(room, "egp", "other-249");
  await answering; // came before it was acknowledged: may or may not know it
  assert.equal(await found(room, null, "secret/a"), "egp root/hours");
  assert.equal((await found(room, null, "elsewhere")).split(", ").length, 249);
});

test("T-C02: after a restart the very first request finds them", async () => {
  const before = await made();
  await write(before, "egp", "hours", ["secret/*"]);
  const room = over(await crashed(before));
  unsealed(room.barrier);
  assert.equal(await found(room, null, "secret/a"), "egp root/hours");
});

test("an EGP that cannot be read lets nobody pass, until it is written again", async () => {
  const room = await made();
  await write(room, "egp", "hours", ["secret/*"]);
  await found(room, null, "x");
  const view = room.barrier.view("shared/").sub(governingPolicies("egp", ROOT_NAMESPACE.id));
  const broken = utf8(JSON.stringify({ ...JSON.parse("{}"), paths: ["a*b"], modified: "0" }));
  await view.write((tx) => tx.put("hours", broken, bytesCodec));
  for (let i = 0; i < 2; i++) {
    assert.throws(() => room.governors.applying(null, ROOT_NAMESPACE, "x"));
  }
  await write(room, "egp", "hours", ["*"]);
  assert.equal(await found(room, null, "x"), "egp root/hours");
});

test("nothing is kept while the node is sealed", async () => {
  const room = await made();
  await write(room, "egp", "hours", ["*"]);
  await found(room, null, "x");
  room.governors.close();
  await room.barrier.seal();
  await assert.rejects(found(room, null, "x"), Failure);
});
