// A number of things that all addresses share, of which each takes some and gives them back. An address that has
// some gets more only up to a part of what is left for the others: with all of it one gets half and the next half
// of the rest; with an eighth one gets a ninth, and after twenty of them there is still a tenth. So whoever comes
// next finds something, without anybody being turned out.

/** For those whose caller nobody knows. */
export const UNKNOWN_PART = 1 / 8;

export interface ShareLimits {
  readonly all: number;
  readonly perAddress: number;
  /** Of what is left: how much an address may have itself. */
  readonly part: number;
}

export class FairShare {
  readonly #byClient = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  /** `client` is null for one that speaks for many: only what all have bounds it. */
  hasRoom(client: string | null, amount: number, { all, perAddress, part }: ShareLimits): boolean {
    if (this.#all === 0) return true; // whatever is allowed at all
    const left = all - this.#all - amount;
    if (left < 0) return false;
    const own = client === null ? 0 : (this.#byClient.get(client) ?? 0);
    return own === 0 || own + amount <= Math.min(perAddress, left * part);
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
