// Signals that come while a command of ours runs another one: they are the other one's, and we live on
// to put things in order after it. Before it runs, and after it has ended, they ask us to be quick.

import type { ChildCommand, PassedSignal } from "./child-command.ts";
import type { Context } from "../command.ts";
import { Interrupted } from "../terminal/prompt.ts";

const SIGNALS: readonly PassedSignal[] = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"];
// A terminal sends these to the whole group, the command included: passed on they would come twice.
const KEYS: readonly PassedSignal[] = ["SIGINT", "SIGQUIT"];
const ENDING: readonly PassedSignal[] = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"];

export class PassedSignals {
  readonly #forget: readonly (() => void)[];
  readonly #onTerminal: boolean;
  readonly #impatience = Promise.withResolvers<never>();
  #child: ChildCommand | null = null;
  #hurry = Promise.withResolvers<void>();
  #first: PassedSignal | null = null;

  constructor(context: Pick<Context, "onSignal" | "onTerminal">) {
    this.#onTerminal = context.onTerminal;
    this.#impatience.promise.catch(() => {}); // also where nobody waits
    this.#forget = [...SIGNALS, ...KEYS].map((name) =>
      context.onSignal(name, () => this.#heard(name)),
    );
  }

  /** The first one that came while there was no child and that asked us to end. */
  get first(): PassedSignal | null {
    return this.#first;
  }

  /** Resolves when one comes after the child has ended. */
  get hurry(): Promise<void> {
    return this.#hurry.promise;
  }

  /** Work that goes on after a first signal, so that what it makes can be ended; a second one leaves it. */
  unlessImpatient<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#impatience.promise]);
  }

  /** For as long as the child runs. */
  async passTo(child: ChildCommand): Promise<number> {
    this.#child = child;
    if (this.#first !== null) child.signal(this.#first); // it came while the child was started
    try {
      return await child.ended;
    } finally {
      this.#child = null;
    }
  }

  close(): void {
    for (const forget of this.#forget) forget();
  }

  #heard(name: PassedSignal): void {
    const child = this.#child;
    if (child !== null) {
      if (!this.#onTerminal || !KEYS.includes(name)) child.signal(name);
      return;
    }
    if (!ENDING.includes(name)) return;
    if (this.#first !== null) this.#impatience.reject(new Interrupted());
    this.#first ??= name;
    this.#hurry.resolve();
  }
}
