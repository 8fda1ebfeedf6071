// The package that makes certificates, loaded by whoever needs it first.

export function loadX509() {
  provideMetadata();
  return import("@peculiar/x509");
}

/**
 * The package wants the metadata functions of a proposal for decorators, which no runtime has. It only
 * keeps what it puts in; this much is enough, and nothing else in the process looks at it.
 */
function provideMetadata(): void {
  if ("getMetadata" in Reflect) return;
  const kept = new WeakMap<object, Map<string, unknown>>();
  const name = (key: unknown, property: unknown) => `${String(property)} ${String(key)}`;
  const own = (key: unknown, target: object, property?: unknown) =>
    kept.get(target)?.get(name(key, property));
  const inherited = (key: unknown, target: object, property?: unknown): unknown => {
    const parent = Object.getPrototypeOf(target) as object | null;
    return (
      own(key, target, property) ?? (parent === null ? undefined : inherited(key, parent, property))
    );
  };
  const define = (key: unknown, value: unknown, target: object, property?: unknown) => {
    const map = kept.get(target) ?? new Map<string, unknown>();
    kept.set(target, map.set(name(key, property), value));
  };
  Object.assign(Reflect, { getOwnMetadata: own, getMetadata: inherited, defineMetadata: define });
}
