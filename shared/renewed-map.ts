// A Map for what comes and goes all the time. The runtime's own appends every entry to a table and,
// when that is full, goes on in a new one to which the old one points. Once an old table has outlived
// the collector's young generation, each one after it is kept alive by the one before, with whatever
// it holds, until the next full collection: a tenth of the processor's time went into carrying
// requests along that were long answered. So the whole is copied now and then: the new one is pointed
// to by nobody.

const MIN_SIZE = 64;

export class RenewedMap<K, V> {
  #map = new Map<K, V>();
  #added = 0; // since it was renewed

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#added++;
    if (this.#added > MIN_SIZE + 2 * this.#map.size) this.#renew();
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  clear(): void {
    this.#map = new Map();
    this.#added = 0;
  }

  /** What is set while one looks may or may not be seen. */
  keys(): MapIterator<K> {
    return this.#map.keys();
  }

  values(): MapIterator<V> {
    return this.#map.values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#map[Symbol.iterator]();
  }

  #renew(): void {
    this.#map = new Map(this.#map);
    this.#added = 0;
  }
}
