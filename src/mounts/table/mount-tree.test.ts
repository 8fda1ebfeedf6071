// Which mount a path leads to, against the plain definition.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { MountTree } from "./mount-tree.ts";

const segment = fc.constantFrom("a", "b", "c");
const path = fc.array(segment, { minLength: 1, maxLength: 4 });

/** One begins with the other. */
function meets(one: readonly string[], other: readonly string[]): boolean {
  return one.every((part, i) => i >= other.length || part === other[i]);
}

test("a path leads to the mount that it begins with, whatever came and went before", () => {
  const step = fc.record({ path, namespace: fc.constantFrom("root", "team"), add: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), path, (steps, question) => {
      const tree = new MountTree<string>();
      const known = new Map<string, { namespace: string; path: string[] }>();
      for (const { path: at, namespace, add } of steps) {
        const name = `${namespace}:${at.join("/")}`;
        const inTheWay = [...known.values()].some(
          (other) => other.namespace === namespace && meets(other.path, at),
        );
        if (add && !inTheWay) {
          tree.put(namespace, at, name);
          known.set(name, { namespace, path: at });
        } else if (!add) {
          tree.remove(namespace, at, name);
          known.delete(name);
        }
      }
      for (const namespace of ["root", "team"]) {
        const expected = [...known].find(
          ([, one]) =>
            one.namespace === namespace &&
            one.path.length <= question.length &&
            meets(one.path, question),
        );
        const found = tree.find(namespace, question);
        assert.equal(found?.mount, expected?.[0]);
        assert.equal(found?.taken, expected?.[1].path.length);
      }
    }),
  );
});

test("one that has gone does not take away what came to its place", () => {
  const tree = new MountTree<string>();
  tree.put("root", ["a"], "first");
  tree.put("root", ["a"], "second");
  tree.remove("root", ["a"], "first");
  assert.equal(tree.find("root", ["a", "x"])?.mount, "second");
});
