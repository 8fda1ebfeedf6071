// A map that forgets everything when it is full: what is kept here can always be computed again, and
// a caller who makes up keys only costs others that.

export class ClearingMap<K, V> {
  readonly #map = new Map<K, V>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: K, make: (key: K) => V): V {
    const known = this.#map.get(key);
    if (known !== undefined) return known;
    if (this.#map.size >= this.#max) this.#map.clear();
    const made = make(key);
    this.#map.set(key, made);
    return made;
  }
}
