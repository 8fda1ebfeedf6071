// Bugs on purpose. A harness that has never caught one proves nothing, so each experiment is also
// run with its own: here those that sit between store and engine.

import type { Batch, Engine, Leaf } from "../src/storage/engines/engine.ts";

/** Everything else goes through to the real engine. */
function decorate(engine: Engine, changes: Partial<Engine>): Engine {
  const own = new Map(Object.entries(changes));
  return new Proxy(engine, {
    get(target, name) {
      if (typeof name === "string" && own.has(name)) return own.get(name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Takes no notice of a storage error. */
export function swallowErrors(engine: Engine): Engine {
  const commit = (batch: Batch) => engine.commit(batch).catch(() => {});
  return decorate(engine, { commit });
}

/** Forgets that a leaf without its row is damage. */
export function noLeafCheck(engine: Engine): Engine {
  const leaf = (): Leaf | null => null;
  return decorate(engine, { leaf });
}
