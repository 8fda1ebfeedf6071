// The role as it is stored: one row of this cluster alone. A step is one transaction with whatever belongs to it, so
// that no crash leaves half of one.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Tx, View } from "../../barrier/view.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import { after, DISABLED, type Role, type Step } from "./role.ts";

const ROLE = "role";
const roleCodec = jsonCodec<Role>();

export class StoredRole {
  readonly #view: View;
  readonly #kind: ReplicationKind;
  #now: Role = DISABLED;

  /** Of the rows of its kind. */
  constructor(view: View, kind: ReplicationKind) {
    this.#view = view;
    this.#kind = kind;
  }

  /** As it was last stored or loaded. */
  get now(): Role {
    return this.#now;
  }

  /** What is stored is another cluster's. */
  forget(): void {
    this.#now = DISABLED;
  }

  load(): Role {
    this.#now = storedRole(this.#view);
    return this.#now;
  }

  /** In force when it is durable, with what `more` writes. Throws, and changes nothing, where it leads nowhere. */
  async step(step: Step, more: (tx: Tx) => void = () => {}): Promise<Role> {
    const next = await this.#view.write(
      (tx) => {
        const role = stepIn(tx, step, this.#kind);
        more(tx);
        return role;
      },
      { essential: true },
    );
    this.#now = next;
    return next;
  }
}

/** `view`: of the rows of its kind. */
export function storedRole(view: View): Role {
  return view.get(ROLE, roleCodec) ?? DISABLED;
}

/** In a transaction that does more: whoever has loaded the role loads it again. */
export function stepIn(tx: Tx, step: Step, kind: ReplicationKind): Role {
  const role = after(tx.get(ROLE, roleCodec) ?? DISABLED, step, kind);
  putRole(tx, role);
  return role;
}

export function forgetRole(tx: Tx): void {
  putRole(tx, DISABLED);
}

/** Also in the first transaction of a store that takes the place of another one. */
export function putRole(tx: Tx, role: Role): void {
  if (role.mode === "disabled") tx.delete(ROLE);
  else tx.put(ROLE, role, roleCodec);
}
