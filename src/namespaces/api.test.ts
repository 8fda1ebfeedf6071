import assert from "node:assert/strict";
import test from "node:test";
import { serve } from "@holdfast/shared/endpoint/endpoint";
import { type NamespaceRef } from "@holdfast/shared/endpoint/request";
import {
  contextIn,
  call,
  madeNamespaces,
  refused,
} from "../../tests/support/made/made-namespaces.ts";
import { namespacesApi } from "./api.ts";
import type { Namespaces } from "./namespaces.ts";

function ref(namespaces: Namespaces, path: string): NamespaceRef {
  const found = namespaces.named(path);
  assert.ok(found !== null, path);
  return found;
}

test("POST creates and answers with the record, GET reads the same", async () => {
  const { namespaces } = await madeNamespaces();
  const custom_metadata = { owner: "ops" };
  const made = await call(namespaces, "POST", { path: "team", body: { custom_metadata } });
  const { id, uuid } = namespaces.read(ref(namespaces, ""), "team");
  assert.deepEqual(made.data, { id, uuid, path: "team/", custom_metadata });
  assert.equal(made.status, null);
  assert.deepEqual((await call(namespaces, "GET", { path: "team" })).data, made.data);
});

test("paths in the address are relative to the request's namespace, in answers they are whole", async () => {
  const { namespaces } = await madeNamespaces();
  await call(namespaces, "POST", { path: "a" });
  const namespace = ref(namespaces, "a");
  const made = await call(namespaces, "POST", { path: "b", namespace });
  assert.equal((made.data as { path: string }).path, "a/b/");
  assert.deepEqual((await call(namespaces, "GET", { path: "a/b" })).data, made.data);
  await assert.rejects(
    call(namespaces, "GET", { path: "a/b", namespace }),
    refused("namespace-not-found"),
  );
  const listed = await call(namespaces, "LIST", { namespace });
  const { id } = ref(namespaces, "a/b");
  assert.deepEqual(listed.data, {
    keys: ["b/"],
    key_info: { "b/": { id, path: "a/b/", custom_metadata: {} } },
  });
});

test("LIST gives the direct children and goes on where told", async () => {
  const { namespaces } = await madeNamespaces();
  for (const path of ["c", "a", "b", "a/x"]) await call(namespaces, "POST", { path });
  const whole = await call(namespaces, "LIST");
  assert.deepEqual((whole.data as { keys: string[] }).keys, ["a/", "b/", "c/"]);
  assert.deepEqual(whole.warnings, []);
  const first = await call(namespaces, "LIST", { query: { limit: "2" } });
  assert.deepEqual((first.data as { keys: string[] }).keys, ["a/", "b/"]);
  assert.match(first.warnings[0] ?? "", /after=b$/);
  for (const after of ["b", "b/"]) {
    const rest = await call(namespaces, "LIST", { query: { after } });
    assert.deepEqual((rest.data as { keys: string[] }).keys, ["c/"]);
  }
});

test("POST needs create for what is not there and update for what is", async () => {
  const { namespaces } = await madeNamespaces();
  const post = serve(namespaces, namespacesApi).find(({ method }) => method === "POST");
  assert.ok(post?.exists);
  assert.equal(post.exists({ path: "team" }, contextIn()), false);
  await call(namespaces, "POST", { path: "team" });
  assert.equal(post.exists({ path: "team" }, contextIn()), true);
  assert.equal(post.exists({ path: "team" }, contextIn(ref(namespaces, "team"))), false);
  assert.equal(post.exists({ path: "../.." }, contextIn()), false);
  assert.equal(post.exists({ path: "a/".repeat(5000) }, contextIn()), false);
});

test("PATCH merges, null removes one or all, and anything but texts is refused", async () => {
  const { namespaces } = await madeNamespaces();
  const metadata = async (body: Parameters<typeof call>[2]) => {
    const { data } = await call(namespaces, "PATCH", { path: "team", ...body });
    return (data as { custom_metadata: unknown }).custom_metadata;
  };
  await call(namespaces, "POST", { path: "team", body: { custom_metadata: { a: "1", b: "2" } } });
  assert.deepEqual(await metadata({}), { a: "1", b: "2" });
  const patch = { a: null, c: "3" };
  assert.deepEqual(await metadata({ body: { custom_metadata: patch } }), { b: "2", c: "3" });
  for (const custom_metadata of ["x", 1, ["a"], { a: 1 }, { a: {} }, { "": "x" }]) {
    await assert.rejects(metadata({ body: { custom_metadata } }), refused("namespace-metadata"));
  }
  assert.deepEqual(await metadata({ body: { custom_metadata: null } }), {});
});

test("DELETE is 202 while it empties, 202 again, and nothing once it is gone", async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const { namespaces } = await madeNamespaces({
    contents: [{ name: "slow", wipe: () => promise }],
  });
  await call(namespaces, "POST", { path: "team" });
  for (let asks = 0; asks < 2; asks++) {
    const { data, status, warnings } = await call(namespaces, "DELETE", { path: "team" });
    assert.deepEqual([data, status, warnings], [{ status: "in-progress" }, 202, []]);
  }
  await assert.rejects(call(namespaces, "GET", { path: "team" }), refused("namespace-not-found"));
  resolve(true);
  await namespaces.idle();
  const { data, status } = await call(namespaces, "DELETE", { path: "team" });
  assert.deepEqual([data, status], [undefined, null]);
});

test("T-D01: the word root, in any spelling, is no way to the namespace itself", async () => {
  const { namespaces } = await madeNamespaces();
  await call(namespaces, "POST", { path: "a", body: { custom_metadata: { k: "v" } } });
  const namespace = ref(namespaces, "a");
  for (const path of ["root", "Root", "ROOT", ".", "..", "", "%72oot", "root/", "sys", "a/root"]) {
    for (const method of ["GET", "POST", "PATCH", "DELETE"] as const) {
      await assert.rejects(
        call(namespaces, method, { path, namespace, body: { custom_metadata: {} } }),
        refused("namespace-name"),
        `${method} ${path}`,
      );
    }
  }
  assert.equal(ref(namespaces, "a"), namespace);
  assert.deepEqual(namespaces.read(ref(namespaces, ""), "a").metadata, { k: "v" });
});

test("T-D07: every endpoint asks for a capability and is there in child namespaces", () => {
  for (const { access, rootOnly, audited, runs, method } of namespacesApi) {
    assert.deepEqual([access.kind, rootOnly, audited], ["capability", false, true]);
    const reads = method === "GET" || method === "LIST";
    assert.equal(runs, reads ? "anywhere" : "active");
  }
});
