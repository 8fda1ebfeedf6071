// The request headers that are recorded. Names are lower case; those that carry credentials are
// never recorded in clear.

import type { DeviceStore, HeaderSettings } from "./device-store.ts";
import { headerInvalid, headerSecret, headerUnknown } from "./failures.ts";
import type { HeaderRule } from "./records/record.ts";

const NAME = /^[a-z0-9_-]{1,64}$/;
const SECRET =
  /^(?:(?:proxy-)?authorization|cookie|set-cookie|.*[-_](?:token|secret|key|password))$/;

export class HeaderList {
  readonly #store: DeviceStore;
  #rules: readonly HeaderRule[] = [];

  constructor(store: DeviceStore) {
    this.#store = store;
  }

  get rules(): readonly HeaderRule[] {
    return this.#rules;
  }

  /** Reads the stored list: after unsealing and after each change. */
  load(): void {
    const settings = Object.entries(this.#store.headers());
    this.#rules = settings.map(([name, { hmac }]) => ({ name, hmac }));
  }

  all(): HeaderSettings {
    return Object.fromEntries(this.#rules.map(({ name, hmac }) => [name, { hmac }]));
  }

  /** Names in small letters, here and below: that is how the path gives them. */
  find(name: string): HeaderRule {
    const rule = this.#rules.find((one) => one.name === name);
    if (rule === undefined) throw headerUnknown(quoteName(name));
    return rule;
  }

  async set(name: string, hmac: boolean): Promise<void> {
    if (!NAME.test(name)) throw headerInvalid();
    if (!hmac && SECRET.test(name)) throw headerSecret(name);
    await this.#store.changeHeaders((settings) => ({ ...settings, [name]: { hmac } }));
  }

  async remove(name: string): Promise<void> {
    await this.#store.changeHeaders((settings) =>
      Object.fromEntries(Object.entries(settings).filter(([other]) => other !== name)),
    );
  }
}

function quoteName(name: string): string {
  return NAME.test(name) ? name : "(not a name)";
}
