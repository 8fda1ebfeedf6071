// Who is next for work of which little can be done at a time. Each address waits in a line of its own, a short
// one, the lines take turns, and no address has all the places: whoever sends a thousand requests waits behind
// itself, and whoever sends one finds a place free or is next. Where work is done on behalf of somebody, a tenant,
// tenants take turns first, and then those within: no tenant gains by being many, and none of it has all its places.

import { clientOf } from "./text/client-address.ts";
import type { Waiting } from "./waiting.ts";

export interface LineLimits {
  readonly atOnce: number;
  readonly atOncePerAddress: number;
  readonly waiting: number; // in all
  readonly waitingPerAddress: number;
  /** Of a tenant, in all. Default: as many as there are places. */
  readonly waitingWithin?: number;
}

/** Told whether its turn has come, or its place was given to another. */
type Place = (may: boolean) => void;

interface Client {
  readonly within: string;
  readonly name: string;
  readonly key: string; // both
}

/** Those that wait on behalf of one: a line for each client, the next one first. */
interface Tenant {
  readonly lines: Map<string, Place[]>;
  waiting: number;
}

export class FairLine {
  readonly #limits: LineLimits;
  readonly #full: () => Error;
  /** By tenant. The first of the map is next; who had a turn goes to its end. */
  readonly #tenants = new Map<string, Tenant>();
  readonly #running = new Map<string, number>();
  #waiting = 0;
  #busy = 0;

  /** `full`: what those are told for whom there is no place. */
  constructor(limits: LineLimits, full: () => Error) {
    this.#limits = limits;
    this.#full = full;
  }

  /** Refuses whoever has nothing to wait for, before anything is done for it. */
  check(address: string): void {
    const client = clientAt(address, "");
    if (!this.#mayRun(client) && !this.#mayWait(client)) throw this.#full();
  }

  /** `address` may be any other name of who asks, `within` the one on whose behalf it is done. */
  async run<T>(request: Waiting, address: string, work: () => Promise<T>, within = ""): Promise<T> {
    const client = clientAt(address, within);
    if (this.#mayRun(client)) this.#begin(client);
    else await this.#wait(request, client);
    try {
      return await work();
    } finally {
      this.#end(client);
    }
  }

  #mayRun({ key }: Client): boolean {
    const { atOnce, atOncePerAddress } = this.#limits;
    return this.#busy < atOnce && (this.#running.get(key) ?? 0) < atOncePerAddress;
  }

  #begin({ key }: Client): void {
    this.#busy += 1;
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1);
  }

  #mayWait({ within, name }: Client): boolean {
    const line = this.#tenants.get(within)?.lines.get(name);
    return (line?.length ?? 0) < this.#limits.waitingPerAddress;
  }

  async #wait(request: Waiting, client: Client): Promise<void> {
    if (!this.#mayWait(client) || !this.#findRoom(client)) throw this.#full();
    const { promise: turn, resolve } = Promise.withResolvers<boolean>();
    let came = false;
    const place = (may: boolean) => {
      came = may;
      resolve(may);
    };
    this.#join(client, place);
    try {
      if (!(await request.waitFor(turn))) throw this.#full();
    } catch (error) {
      if (came) this.#end(client);
      else this.#leave(client, place);
      throw error;
    }
  }

  #join({ within, name }: Client, place: Place): void {
    const tenant = this.#tenants.get(within) ?? { lines: new Map<string, Place[]>(), waiting: 0 };
    const line = tenant.lines.get(name) ?? [];
    line.push(place);
    tenant.lines.set(name, line);
    tenant.waiting += 1;
    this.#tenants.set(within, tenant);
    this.#waiting += 1;
  }

  /** Where it still stands there. */
  #leave({ within, name }: Client, place: Place): void {
    const tenant = this.#tenants.get(within);
    const line = tenant?.lines.get(name) ?? [];
    const at = line.indexOf(place);
    if (tenant === undefined || at < 0) return;
    line.splice(at, 1);
    this.#left(within, tenant);
    if (line.length === 0) tenant.lines.delete(name);
  }

  #left(within: string, tenant: Tenant): void {
    tenant.waiting -= 1;
    this.#waiting -= 1;
    if (tenant.waiting === 0) this.#tenants.delete(within);
  }

  /** Where all places are taken, those of its tenant or all there are, whoever has the most gives one up to who has
   *  fewer: among tenants, and then within. */
  #findRoom({ within, name }: Client): boolean {
    const { waiting, waitingWithin = waiting } = this.#limits;
    const own = this.#tenants.get(within);
    const ownLine = own?.lines.get(name)?.length ?? 0;
    if (own !== undefined && own.waiting >= waitingWithin)
      return this.#makeRoom(within, own, ownLine);
    if (this.#waiting < waiting) return true;
    let [largest, most] = [within, own];
    for (const [other, tenant] of this.#tenants) {
      if (tenant.waiting > (most?.waiting ?? 0)) [largest, most] = [other, tenant];
    }
    if (most === undefined) return false; // there are no places
    const gives = most !== own && most.waiting > (own?.waiting ?? 0) + 1;
    if (gives) return this.#makeRoom(largest, most, -1);
    return own !== undefined && this.#makeRoom(within, own, ownLine);
  }

  /** The last of the longest line gives way to one that has fewer there. */
  #makeRoom(within: string, tenant: Tenant, own: number): boolean {
    let [client, longest]: [string, Place[]] = ["", []];
    for (const [name, line] of tenant.lines) {
      if (line.length > longest.length) [client, longest] = [name, line];
    }
    if (longest.length <= own + 1) return false;
    longest.pop()?.(false);
    if (longest.length === 0) tenant.lines.delete(client);
    this.#left(within, tenant);
    return true;
  }

  #end({ key }: Client): void {
    const left = (this.#running.get(key) ?? 1) - 1;
    if (left === 0) this.#running.delete(key);
    else this.#running.set(key, left);
    this.#busy -= 1;
    for (const [within, tenant] of this.#tenants) if (this.#next(within, tenant)) return;
  }

  /** False where none of this tenant may run. */
  #next(within: string, tenant: Tenant): boolean {
    for (const [name, line] of tenant.lines) {
      const client = clientOfLine(within, name);
      if (!this.#mayRun(client)) continue;
      tenant.lines.delete(name);
      const waiter = line.shift();
      if (line.length > 0) tenant.lines.set(name, line);
      this.#tenants.delete(within);
      this.#tenants.set(within, tenant);
      this.#left(within, tenant);
      this.#begin(client);
      waiter?.(true);
      return true;
    }
    return false;
  }
}

function clientAt(address: string, within: string): Client {
  return clientOfLine(within, clientOf(address));
}

function clientOfLine(within: string, name: string): Client {
  return { within, name, key: `${within} ${name}` };
}
