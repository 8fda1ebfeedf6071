// Who leads in the place of this primary, as it is told: to the log, and to whoever changes its role.

import type { Log } from "@holdfast/shared/log";
import type { HeardFrom } from "../leading.ts";
import type { Epoch } from "./role.ts";
import { clusterText } from "./warnings.ts";

const FENCED = {
  event: "replication.fenced",
  remedy: "demote this cluster, and let it follow that one (update-primary)",
};

export class Successor {
  readonly #log: Log;
  /** Where it was heard from in this life of the server. */
  #heard: { readonly cluster: string; readonly address: string } | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  heard({ cluster }: Epoch, { address }: HeardFrom): void {
    this.#heard = { cluster, address };
  }

  tell({ number: epoch, cluster }: Epoch, { name, address }: HeardFrom): void {
    this.#log.warn("another cluster of the set leads: nothing is written here any more", {
      ...FENCED,
      epoch,
      cluster,
      ...(name === "" ? {} : { name }),
      ...(address === "" ? {} : { from: address }),
    });
  }

  /** By its name, and where it was heard of, or is known to be. */
  text(
    { cluster }: Epoch,
    of: { readonly name: (cluster: string) => string; readonly address: string },
  ): string {
    const heard = this.#heard?.cluster === cluster ? this.#heard.address : "";
    const address = heard || of.address;
    const text = clusterText(cluster, of.name);
    return address === "" ? text : `${text} at ${address}`;
  }
}
