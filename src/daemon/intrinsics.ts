// What all objects have in common is closed before anything of the server is loaded: nothing can be added
// to it, so that a mistake with a name such as __proto__ cannot change every object at once. Sealed, not
// frozen: a frozen method could not be shadowed by assignment any more, which libraries rightly do
// (Error.prototype.name is the best known case). The runtime has shortcuts for prototypes that nobody has
// touched: without them, replacing and splitting by a regular expression costs ten times as much (a
// microsecond and more), and a Map or Set made of a list twice as much. Nothing of that is done for every
// request; testing an expression, and everything else, costs the same.

const COMMON: readonly object[] = [
  Object,
  Function,
  Array,
  String,
  Number,
  Boolean,
  Symbol,
  BigInt,
  RegExp,
  Date,
  Map,
  Set,
  WeakMap,
  WeakSet,
  Promise,
  Error,
  ArrayBuffer,
  Object.getPrototypeOf(Uint8Array) as { readonly prototype: object },
  Uint8Array,
  Buffer,
].map(({ prototype }) => prototype);

export function sealIntrinsics(): void {
  Reflect.deleteProperty(Object.prototype, "__proto__"); // where the flag was not given
  for (const prototype of COMMON) Object.seal(prototype);
}

export function areIntrinsicsSealed(): boolean {
  return COMMON.every((prototype) => Object.isSealed(prototype)) && !("__proto__" in {});
}
