// Whether it is logged in now: where the database has refused the login it is not asked again at once, however many ask for it
// here. It may lock a user who fails so often, and its log is not filled.

import { databaseRefusal, type DatabaseError } from "@holdfast/plugin-sdk/database";

const FIRST_WAIT = 1; // seconds, doubled by every refusal
const LONGEST_WAIT = 30;

export class Logins {
  #refused = 0;
  #last: DatabaseError | null = null;
  #until = 0;

  /** Throws what it was refused for. */
  check(): void {
    const left = this.#until - performance.now();
    if (this.#last === null || left <= 0) return;
    const { reason, words } = this.#last;
    const wait = Math.ceil(left / 1000);
    throw databaseRefusal(reason, `${words}; a login is not tried again for ${wait} s`);
  }

  /** Of several that were under way at once the first counts. */
  refused(error: DatabaseError): void {
    if (this.#until > performance.now()) return;
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(this.#refused++, 10));
    this.#last = error;
    this.#until = performance.now() + wait * 1000;
  }

  succeeded(): void {
    this.#refused = 0;
    this.#until = 0;
    this.#last = null;
  }
}
