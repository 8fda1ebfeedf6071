// A number of things that all addresses share, of which each takes some and gives them back. An address that has
// some gets more only as long as as much is left for the others as it has itself: alone it gets half, two get a
// third each, and whoever comes next finds something, without anybody being turned out.

export interface ShareLimits {
  readonly all: number;
  readonly perAddress: number;
}

export class FairShare {
  readonly #byClient = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  /** `client` is null for one that speaks for many: only what all have bounds it. */
  hasRoom(client: string | null, amount: number, { all, perAddress }: ShareLimits): boolean {
    if (this.#all === 0) return true; // whatever is allowed at all
    const left = all - this.#all - amount;
    if (left < 0) return false;
    const own = client === null ? 0 : (this.#byClient.get(client) ?? 0);
    return own === 0 || own + amount <= Math.min(perAddress, left);
  }

  /** False where there is no room. */
  take(client: string | null, amount: number, limits: ShareLimits): boolean {
    if (!this.hasRoom(client, amount, limits)) return false;
    if (client !== null) this.#byClient.set(client, (this.#byClient.get(client) ?? 0) + amount);
    this.#all += amount;
    return true;
  }

  giveBack(client: string | null, amount: number): void {
    this.#all -= amount;
    if (client === null) return;
    const left = (this.#byClient.get(client) ?? 0) - amount;
    if (left > 0) this.#byClient.set(client, left);
    else this.#byClient.delete(client);
  }
}
