// Reloading: whatever runs a plugin is started anew by what the catalog says now. Here, or wherever the same data is: then
// the order is a record, and each cluster does it when it sees it.

import { isUuid } from "@holdfast/shared/text/uuid";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { HOUR } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import type { Catalog } from "../catalog/catalog.ts";
import * as failures from "../catalog/failures.ts";
import { checkPluginName } from "../catalog/names.ts";
import type { PluginType, PluginUse, PluginUses, Processes } from "../ports.ts";
import type { ReloadedMount, ReloadOrder, ReloadResult, ReloadRows } from "./reload-rows.ts";

const AT_ONCE = 8;
const MAX_PLACES = 1000;
/** An order that is older when it is first seen is of a time before this process: what runs now was started since. */
const DONE_WITHIN: Nanos = HOUR;

const NOT_REACHED = "the time was over before it was reloaded";

export interface ReloadsParts {
  readonly rows: ReloadRows;
  readonly catalog: Catalog;
  readonly processes: Pick<Processes, "renew">;
  readonly uses: PluginUses;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

export class Reloads {
  readonly #parts: ReloadsParts;
  #closing = new AbortController();
  #stopWatching: (() => void) | null = null;
  #work: Promise<void> = Promise.resolve();

  constructor(parts: ReloadsParts) {
    this.#parts = parts;
  }

  /** From here on what others order is done. */
  lead(): void {
    this.#closing = new AbortController();
    this.#stopWatching = this.#parts.rows.watch(() => this.#look());
    this.#look();
  }

  async rest(): Promise<void> {
    this.#stopWatching?.();
    this.#stopWatching = null;
    this.#closing.abort();
    await this.#work;
  }

  /** Throws where no mount could be reloaded, and changes nothing where a place is none of a plugin. */
  async now(
    id: string,
    order: ReloadOrder,
    signal: AbortSignal,
  ): Promise<readonly ReloadedMount[]> {
    const mounts = await this.#run(await this.#chosen(order), signal);
    await this.#parts.rows.finish(id, mounts);
    const errors = mounts.filter(({ error }) => error !== "");
    if (errors.length > 0 && errors.length === mounts.length) {
      throw failures.notReloaded(errors.map(failureLine));
    }
    return mounts;
  }

  /** In every cluster that has the same data, when it sees the order. */
  async everywhere(id: string, order: ReloadOrder): Promise<void> {
    if ("name" in order) checkPluginName(order.name);
    else await this.#chosen(order);
    await this.#parts.rows.order(id, order);
  }

  status(id: string): ReloadResult | "waits" {
    const found = isUuid(id) ? this.#parts.rows.result(id) : null;
    if (found === null) throw failures.noSuchReload();
    return found;
  }

  /** Of whatever runs one of these: what could not be is logged. */
  async afterChange(
    plugins: readonly { readonly type: PluginType; readonly name: string }[],
  ): Promise<void> {
    for (const plugin of plugins) {
      const mounts = await this.#run(await this.#chosen(plugin), this.#closing.signal);
      for (const mount of mounts.filter(({ error }) => error !== "")) {
        this.#parts.log.warn("a changed plugin could not be reloaded; what ran before goes on", {
          plugin: plugin.name,
          mount: mount.place,
          cause: mount.error,
        });
      }
    }
  }

  #look(): void {
    this.#work = this.#work.then(() => this.#doOrders());
  }

  async #doOrders(): Promise<void> {
    const { rows, clock, log } = this.#parts;
    const { signal } = this.#closing;
    if (signal.aborted || this.#stopWatching === null) return;
    try {
      for (const { id, order } of rows.open(clock.now() - DONE_WITHIN)) {
        const mounts = await this.#run(await this.#uses(order), signal);
        if (signal.aborted) return; // whoever leads next does it
        await rows.finish(id, mounts);
      }
    } catch (error) {
      log.error("an ordered reload of plugins was not done", { cause: describe(error) });
    }
  }

  async #run(uses: readonly PluginUse[], signal: AbortSignal): Promise<ReloadedMount[]> {
    this.#renew(uses);
    const done: ReloadedMount[] = [];
    const waiting = [...uses];
    const next = async (): Promise<void> => {
      for (let use = waiting.shift(); use !== undefined; use = waiting.shift()) {
        done.push({ place: use.place, error: await this.#reload(use, signal) });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    return done.toSorted((a, b) => (a.place < b.place ? -1 : 1));
  }

  /** Whoever waits no longer leaves the rest as it is: what has begun goes on. */
  async #reload(use: PluginUse, signal: AbortSignal): Promise<string> {
    if (signal.aborted) return NOT_REACHED;
    const over = Promise.withResolvers<string>();
    const give = () => over.resolve(NOT_REACHED);
    signal.addEventListener("abort", give, { once: true });
    try {
      const reloaded = this.#parts.uses.reload(use, signal).then(() => "");
      return await Promise.race([reloaded, over.promise]);
    } catch (error) {
      if (error instanceof Failure) return error.message;
      throw error;
    } finally {
      signal.removeEventListener("abort", give);
    }
  }

  /** Whoever shares a process shares a new one, and it is started once. */
  #renew(uses: readonly PluginUse[]): void {
    const { catalog, processes } = this.#parts;
    const entries = new Set(
      uses.map(({ type, name, version }) => catalog.meant(type, name, version)),
    );
    const byKey = new Map(
      [...entries].flatMap((entry) =>
        entry === null ? [] : [[JSON.stringify([entry.type, entry.name, entry.version]), entry]],
      ),
    );
    for (const entry of byKey.values()) {
      try {
        processes.renew(catalog.program(entry));
      } catch (error) {
        if (!(error instanceof Failure)) throw error; // the mount says why it is not started
      }
    }
  }

  async #chosen(order: ReloadOrder): Promise<PluginUse[]> {
    if ("name" in order) checkPluginName(order.name);
    else if (order.places.length > MAX_PLACES) throw failures.notReloadable(order.places);
    const uses = await this.#uses(order);
    if ("places" in order) {
      const found = new Set(uses.map(asWritten));
      const missing = order.places.filter((place) => !found.has(place));
      if (missing.length > 0) throw failures.notReloadable(missing);
    }
    return uses;
  }

  async #uses(order: ReloadOrder): Promise<PluginUse[]> {
    const all = (await this.#parts.uses.all()).filter(({ isPlugin }) => isPlugin);
    if ("places" in order) return all.filter((use) => order.places.includes(asWritten(use)));
    const { name, type } = order;
    return all.filter((use) => use.name === name && (type === null || use.type === type));
  }
}

/** Orders have a slash at the end of every place. */
const asWritten = ({ place }: PluginUse) => (place.endsWith("/") ? place : `${place}/`);

export function failureLine({ place, error }: ReloadedMount): string {
  return `${place}: ${error}`;
}
