import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { type NamespaceRecord, rowOf } from "./record.ts";
import { Tree } from "./tree.ts";

function record(path: string, over: Partial<NamespaceRecord> = {}): NamespaceRecord {
  const slash = path.lastIndexOf("/");
  return {
    id: `id-${path}`,
    uuid: "u",
    path,
    parent: slash < 0 ? "root" : `id-${path.slice(0, slash)}`,
    metadata: {},
    created: 7n,
    state: "active",
    ...over,
  };
}

function rowAt({ parent, path }: NamespaceRecord): string {
  return rowOf(parent, path.slice(path.lastIndexOf("/") + 1));
}

function treeOf(...records: readonly NamespaceRecord[]): Tree {
  const tree = new Tree();
  for (const each of records) tree.put(rowAt(each), each);
  return tree;
}

test("the longest namespace wins, and the segments it took are told", () => {
  const tree = treeOf(record("a"), record("a/b"));
  const { namespace, taken } = tree.resolve(ROOT_NAMESPACE, ["a", "b", "secret", "a"]);
  assert.deepEqual([namespace.path, taken], ["a/b", 2]);
  const a = tree.named("a");
  assert.ok(a !== null);
  assert.equal(tree.resolve(a, ["b", "x"]).namespace, namespace);
  assert.deepEqual(tree.resolve(ROOT_NAMESPACE, ["b"]), { namespace: ROOT_NAMESPACE, taken: 0 });
  assert.deepEqual(tree.resolve(ROOT_NAMESPACE, []), { namespace: ROOT_NAMESPACE, taken: 0 });
});

test("names are compared exactly, and root is the empty path", () => {
  const tree = treeOf(record("Team"));
  assert.equal(tree.named("team"), null);
  assert.equal(tree.named("Team/"), null);
  assert.equal(tree.named("root"), null);
  assert.equal(tree.named(""), ROOT_NAMESPACE);
  assert.equal(tree.named("Team")?.created, 7n);
});

test("a namespace is found by its id until it goes", () => {
  const tree = treeOf(record("a"), record("a/b", { state: "deleting" }));
  assert.equal(tree.byId("id-a"), tree.named("a"));
  assert.equal(tree.byId("root"), ROOT_NAMESPACE);
  assert.equal(tree.byId("id-a/b"), null);
  tree.remove(rowAt(record("a")));
  assert.equal(tree.byId("id-a"), null);
});

test("when those below were made is told in order, and anew when one comes or goes", () => {
  const [a, b, c] = [
    record("a", { created: 7n }),
    record("a/b", { created: 9n }),
    record("c", { created: 3n }),
  ];
  const tree = treeOf(a, b, c);
  assert.deepEqual(tree.createdBelow(ROOT_NAMESPACE), [3n, 7n, 9n]);
  assert.deepEqual(tree.createdBelow(tree.named("a") ?? ROOT_NAMESPACE), [9n]);
  assert.deepEqual(tree.createdBelow(ROOT_NAMESPACE), [3n, 7n, 9n]);
  tree.remove(rowAt(c));
  assert.deepEqual(tree.createdBelow(ROOT_NAMESPACE), [7n, 9n]);
  tree.put(rowAt(c), c);
  assert.deepEqual(tree.createdBelow(ROOT_NAMESPACE), [3n, 7n, 9n]);
});

test("one that is being deleted is as none, and hides what is below it", () => {
  const tree = treeOf(record("a", { state: "deleting" }), record("a/b"));
  assert.equal(tree.named("a"), null);
  assert.equal(tree.named("a/b"), null);
  assert.deepEqual(tree.childrenOf(ROOT_NAMESPACE), []);
  assert.equal(tree.size, 2);
});

test("a namespace stays the same object while its record changes, another one in its place is new", () => {
  const tree = treeOf(record("a"));
  const before = tree.named("a");
  tree.put(rowAt(record("a")), record("a", { metadata: { k: "v" } }));
  assert.equal(tree.named("a"), before);
  tree.put(rowAt(record("a")), record("a", { id: "other", created: 9n }));
  assert.deepEqual(tree.named("a"), { id: "other", path: "a", created: 9n });
});

test("T-D09: the same name in two namespaces is never mistaken, however often both are asked for", () => {
  const tree = treeOf(record("a"), record("b"), record("a/x"), record("b/x"));
  for (let i = 0; i < 100_000; i++) {
    const side = i % 3 === 0 ? "a" : "b";
    const { namespace } = tree.resolve(ROOT_NAMESPACE, [side, "x", "kv"]);
    if (namespace.path !== `${side}/x`) assert.fail(`${namespace.path} for ${side}/x`);
  }
});

test("rows in any order give the tree that a list of paths gives", () => {
  const name = fc.constantFrom("a", "b", "c", "D");
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
  const step = fc.record({ path, gone: fc.boolean(), deleting: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.array(path), (steps, questions) => {
      const tree = new Tree();
      const model = new Map<string, boolean>(); // by path: whether it is active
      for (const { path: at, gone, deleting } of steps) {
        const made = record(at, { state: deleting ? "deleting" : "active" });
        if (gone) {
          tree.remove(rowAt(made));
          model.delete(at);
        } else {
          tree.put(rowAt(made), made);
          model.set(at, !deleting);
        }
      }
      assert.equal(tree.size, model.size);
      for (const question of questions) {
        const names = question.split("/");
        let taken = 0;
        while (taken < names.length && model.get(names.slice(0, taken + 1).join("/"))) taken++;
        const expected = names.slice(0, taken).join("/");
        const found = tree.resolve(ROOT_NAMESPACE, names);
        assert.deepEqual([found.namespace.path, found.taken], [expected, taken]);
        assert.equal(tree.named(question)?.path ?? null, taken === names.length ? question : null);
      }
    }),
    { numRuns: 500 },
  );
});

test("finding one costs the same among ten thousand as among ten", () => {
  const time = (count: number) => {
    const tree = treeOf(...Array.from({ length: count }, (_, i) => record(`n${i}`)));
    let best = Infinity;
    for (let run = 0; run < 20; run++) {
      const start = performance.now();
      for (let i = 0; i < 2000; i++) tree.resolve(ROOT_NAMESPACE, [`n${i % 10}`, "kv", "x"]);
      best = Math.min(best, performance.now() - start);
    }
    return best;
  };
  const few = time(10);
  const many = time(10_000);
  assert.ok(many < 20 * few + 1, `${few} ms and ${many} ms`); // a search would be 1,000 times as long
});
