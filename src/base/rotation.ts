// Whose turn it is: tenants one after another, and within each its clients one after another. Whoever has put
// in a thousand waits behind itself, and no tenant gains by being many.

import type { Whose } from "@holdfast/shared/sliced";

export class Rotation<T> {
  /** The first of each map is next; who had a turn goes to its end. */
  readonly #tenants = new Map<string, Map<string, T[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add({ tenant, client }: Whose, item: T): void {
    let clients = this.#tenants.get(tenant);
    if (clients === undefined) this.#tenants.set(tenant, (clients = new Map<string, T[]>()));
    const items = clients.get(client);
    if (items === undefined) clients.set(client, [item]);
    else items.push(item);
    this.#size += 1;
  }

  take(): T | undefined {
    for (const [tenant, clients] of this.#tenants) {
      for (const [client, items] of clients) {
        const item = items.shift();
        clients.delete(client);
        if (items.length > 0) clients.set(client, items);
        this.#tenants.delete(tenant);
        if (clients.size > 0) this.#tenants.set(tenant, clients);
        this.#size -= 1;
        return item;
      }
    }
    return undefined;
  }
}
