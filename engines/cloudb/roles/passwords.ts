// Passwords on an application that is there already: an operator's, or one that a role keeps.
// One change of an application's passwords at a time.

import type { Waiting } from "@holdfast/shared/waiting";
import { SECOND } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import { showTime } from "@holdfast/shared/text/time";
import { errorForCaller } from "../../cloud/provider-error.ts";
import type { Connection } from "../provider/connection.ts";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import type { Graph, NewPassword } from "../provider/graph.ts";
import { addNamedPassword, type Doubt, removeNamedPassword } from "./named-password.ts";
import type { Passing, Patience, Patiently } from "../provider/patience.ts";
import { passwordLife, type Role } from "./role.ts";
import { namePrefix } from "../../cloud/settings.ts";

const UNDO_BUDGET = 28n * SECOND;

export interface PasswordParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly patiently: Patiently;
}

export class Passwords {
  readonly #parts: PasswordParts;

  constructor(parts: PasswordParts) {
    this.#parts = parts;
  }

  /** `record` is settled by whoever stores it. `passing`: what of the application may not be seen yet. */
  add(
    { graph, effective }: Connection,
    order: {
      readonly appObjectId: string;
      readonly role: Role;
      readonly passing: Passing;
      readonly request: Waiting;
    },
    patience: Patience,
  ): Promise<{ readonly password: NewPassword; readonly record: string }> {
    const { needs, locks } = this.#parts;
    const { appObjectId, role, passing } = order;
    return locks.run(`application/${appObjectId}`, order.request, async () => {
      const displayName = `${namePrefix(needs.settings)}${needs.random.uuid()}`;
      const note = { appObjectId, displayName, tenant: effective.tenantId };
      const record = await needs.writeAhead.begin("appPassword", note);
      const ends = showTime(needs.clock.now() + BigInt(passwordLife(role)) * SECOND);
      const doubt: Doubt = { uncertain: false };
      try {
        const named = { id: appObjectId, displayName, ends };
        const password = await addNamedPassword(graph, patience, named, doubt, passing);
        // One whose answer was lost may still turn up. This record is settled by nobody: rollback looks.
        const twin = { ...note, except: password.keyId };
        if (doubt.uncertain) await needs.writeAhead.begin("appPassword", twin);
        return { password, record };
      } catch (error) {
        if (doubt.uncertain) await this.#clear(graph, appObjectId, displayName);
        else await needs.writeAhead.drop(record);
        throw error;
      }
    });
  }

  /** What is seen of it goes at once, the rest by its record. */
  async #clear(graph: Graph, id: string, displayName: string): Promise<void> {
    const { needs, patiently } = this.#parts;
    try {
      await patiently(UNDO_BUDGET, (patience) =>
        patience.step((signal) => removeNamedPassword(graph, { id, displayName }, signal)),
      );
    } catch (error) {
      const cause = describe(errorForCaller(error));
      needs.log.warn("a password of a failed request may be there; it is removed later", { cause });
    }
  }
}
