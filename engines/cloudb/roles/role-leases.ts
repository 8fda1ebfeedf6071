// The leases of a role, known by the path that they were asked for by.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";

const place = (name: string) => `creds/${name}`;

export class RoleLeases {
  readonly #given: EngineNeeds;

  constructor(given: EngineNeeds) {
    this.#given = given;
  }

  count(name: string): Promise<number> {
    return this.#given.leases.count(place(name));
  }

  revoke(name: string): Promise<void> {
    return this.#given.leases.revoke(place(name));
  }
}
