// How a secondary comes to follow another primary, the same one elsewhere, or none. Its data stays, whichever it is.

import * as failures from "../failures.ts";
import type { Following } from "../following.ts";
import type { Reached } from "./join.ts";
import type { Links } from "./links.ts";
import type { LinkedOptions } from "../options.ts";
import type { Also, Changed, Changes } from "../roles/changes.ts";
import { after, isOlder, type Joined, type Secondary } from "../roles/role.ts";
import type { StoredRole } from "../roles/stored-role.ts";
import { refutedWarning } from "../roles/warnings.ts";

export interface ChangingPrimaryParts {
  readonly options: LinkedOptions;
  readonly role: StoredRole;
  readonly changes: Changes;
  readonly links: () => Promise<Links>;
  /** Under which a cluster is known here; empty where it is not. */
  readonly nameOf: (cluster: string) => string;
  readonly following: Following;
}

export class ChangingPrimary {
  readonly #parts: ChangingPrimaryParts;

  constructor(parts: ChangingPrimaryParts) {
    this.#parts = parts;
  }

  /** Another one, or the same with another token. Keys that only this cluster has made go. */
  async follow(
    joined: Joined,
    { upstream, bundle }: Reached,
    { force, also }: { readonly force: boolean; readonly also: Also },
  ): Promise<Changed> {
    const { options, role, changes, following, nameOf } = this.#parts;
    return await changes.alone(async () => {
      const links = await this.#parts.links();
      const step = { do: "update-primary", joined, isForced: force } as const;
      const { epoch: known } = this.#secondary();
      const knownName = nameOf(known.cluster); // it goes with the primary of before
      after(role.now, step, options.kind); // it took its time to reach it: what this cluster is may have changed
      const { heard } = following;
      const { view, takeTicketsFrom, takeKeys } = options;
      const isBefore = isOlder(joined.epoch, known);
      const taken = (signal: AbortSignal) => takeKeys(bundle, { mayGiveUp: true, signal });
      await following.apart(async () => {
        if ((await changes.orRest(taken)) === "rests") throw failures.roleChanging();
        await role.step(step, (tx) => {
          links.forgetPrimary(tx);
          links.forgetFormer(tx);
          links.putUpstream(tx, upstream);
          heard.forgetIn(tx);
          if (isBefore) takeTicketsFrom(tx.on(view), joined.epoch.number);
          also(tx);
        });
        heard.forget();
      });
      following.candidates.led(joined.epoch.cluster);
      await following.open();
      if (isBefore) links.tellRefuted(options.log, known, joined.epoch);
      const followed = `this cluster follows the primary at ${joined.address} from now on`;
      return { warnings: [followed, ...(isBefore ? [refutedWarning(known, knownName)] : [])] };
    });
  }

  /** The same at another address. */
  async move(address: string, also: Also): Promise<Changed> {
    const { role, changes, following } = this.#parts;
    return await changes.alone(async () => {
      await role.step({ do: "move-primary", address }, also);
      await following.again();
      return { warnings: [`this cluster follows the primary at ${address} from now on`] };
    });
  }

  async forget(also: Also): Promise<Changed> {
    const { role, changes, following } = this.#parts;
    return await changes.alone(async () => {
      const links = await this.#parts.links();
      this.#secondary();
      await following.apart(() =>
        role.step({ do: "forget-primary" }, (tx) => {
          links.forgetUpstream(tx);
          also(tx);
        }),
      );
      return {
        warnings: [
          "this cluster has no primary now: it keeps its data and waits for one",
          "its certificate is given up too, by which a primary of the set knows it: where it is refused with a token later, revoke it there first, by its cluster_id (sys/health)",
        ],
      };
    });
  }

  #secondary(): Secondary {
    const { now } = this.#parts.role;
    if (now.mode !== "secondary") throw failures.notSecondary(this.#parts.options.kind);
    return now;
  }
}
