// The world outside, as a provider sees it: what clusters have made there and have not ended yet. Whatever becomes of the
// clusters, somebody must know of each thing that is still there, or it stays for ever.

export class Cloud {
  readonly #things = new Set<string>();
  #created = 0;

  /** So many there were in all. */
  get created(): number {
    return this.#created;
  }

  create(id: string): void {
    this.#things.add(id);
    this.#created++;
  }

  /** Again is harmless, as with providers. */
  end(id: string): void {
    this.#things.delete(id);
  }

  /** Those that are there and that this one does not know of. */
  unknownTo(knows: (id: string) => boolean): string[] {
    return [...this.#things].filter((id) => !knows(id));
  }
}
