// What a test does to the fake and reads from it, as methods; over HTTP the same by their paths below
// /_fake/. Nothing here is signed: it listens on the loopback interface alone.

import { type Account, type Group, newId, roleArn, type User } from "./account/account.ts";
import type { Faults, FaultOptions, Throttle } from "./faults.ts";
import type { Visibility } from "./settings.ts";
import { type State, stateOf } from "./account/state.ts";

/** One request as it came; `outcome` is "ok", a code of a refusal, or what else became of it. */
export interface LoggedCall {
  readonly at: number;
  readonly requestId: string;
  readonly action: string;
  readonly params: Readonly<Record<string, string>>;
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  outcome: string;
}

export interface MadeUser {
  readonly name: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export class Control {
  readonly account: Account;
  readonly faults: Faults;
  readonly #log: LoggedCall[] = [];
  readonly #held = new Set<(goesOn: boolean) => void>();
  #isCut = false;
  readonly #watchers = new Set<() => void>();

  constructor(account: Account, faults: Faults) {
    this.account = account;
    this.faults = faults;
  }

  /** Returns its id, for `faults.remove`. */
  fault(options: FaultOptions): number {
    return this.faults.add(options);
  }

  throttle(throttle: Throttle | null): void {
    this.faults.setThrottle(throttle);
  }

  /** What is not named is visible at once again. */
  visibility(change: Partial<Visibility>): void {
    this.account.settings.setVisibility(change);
  }

  pageSize(size: number | null): void {
    this.account.settings.pageSize = size;
  }

  clockOffset(seconds: number): void {
    this.account.settings.moveClock(seconds * 1000);
  }

  /** Patterns such as "iam:GetUser" or "iam:*" for one user, from now on. */
  permissions(
    user: string,
    rules: { readonly allow?: readonly string[]; readonly deny?: readonly string[] },
  ): void {
    const found = this.#user(user);
    if (rules.allow !== undefined) found.allow = rules.allow;
    if (rules.deny !== undefined) found.deny = rules.deny;
  }

  /** Everything as it was at first, but for the objects. */
  calm(): void {
    this.faults.clear();
    this.visibility({});
    this.pageSize(null);
    this.release();
  }

  makeUser(
    name: string,
    options: { readonly allow?: readonly string[]; readonly keys?: number } = {},
  ): MadeUser {
    const user = this.account.newUser(name);
    user.allow = options.allow ?? [];
    for (let i = 0; i < (options.keys ?? 0); i++) user.keys.push(this.account.newKey("AKIA"));
    for (const made of [user, ...user.keys]) made.isKnown = true;
    const [key] = user.keys;
    return { name, accessKeyId: key?.id ?? "", secretAccessKey: key?.secret ?? "" };
  }

  makeGroup(
    name: string,
    held: {
      readonly attached?: readonly string[];
      readonly inline?: Readonly<Record<string, string>>;
    } = {},
  ): void {
    const group: Group = {
      name,
      id: newId("AGPA"),
      createdAt: this.account.now(),
      attached: new Set(held.attached),
      inline: new Map(Object.entries(held.inline ?? {})),
    };
    this.account.groups.set(name, group);
  }

  /** Returns its ARN. Default: trusts the account, sessions of an hour at most. */
  makeRole(
    name: string,
    options: {
      readonly trust?: object;
      readonly maxSession?: number;
      readonly allow?: readonly string[];
    } = {},
  ): string {
    const trust = JSON.stringify(options.trust ?? TRUSTS_ACCOUNT);
    const { maxSession = 3600, allow = [] } = options;
    const createdAt = this.account.now();
    const role = { name, id: newId("AROA"), path: "/", createdAt, trust, maxSession, allow };
    this.account.roles.set(name, role);
    return roleArn(role);
  }

  makePolicy(name: string, document: object): string {
    const arn = `arn:aws:iam::123456789012:policy/${name}`;
    const policy = { document: JSON.stringify(document), createdAt: this.account.now() };
    this.account.policies.set(arn, policy);
    return arn;
  }

  /** The provider's console, or whoever else has the right: one key of a user is gone. */
  removeKey(name: string, id: string): void {
    const user = this.#user(name);
    const key = user.keys.find((one) => one.id === id);
    if (key === undefined) throw new Error(`user ${name} has no key ${id}`);
    this.account.removeKey(user, key);
  }

  /** The provider's console: gone with everything on it. */
  removeUser(name: string): void {
    const user = this.#user(name);
    for (let [key] = user.keys; key !== undefined; [key] = user.keys) {
      this.account.removeKey(user, key);
    }
    this.account.removeUser(user);
  }

  /** Lets held requests go on. */
  release(): void {
    for (const go of this.#held) go(true);
  }

  /** Whether connections are cut instead of served: the wire to a server that has died. What is held is
   *  cut as well, and has no effect that it did not have yet. */
  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (isCut) for (const go of this.#held) go(false);
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  get held(): number {
    return this.#held.size;
  }

  /** Resolves as soon as so many requests are held. */
  async whenHeld(count = 1): Promise<void> {
    while (this.#held.size < count) {
      await new Promise<void>((resolve) => this.#watchers.add(resolve));
    }
  }

  /** For the server: waits until it is released; false: it was cut. */
  hold(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const go = (goesOn: boolean) => {
      this.#held.delete(go);
      resolve(goesOn);
    };
    this.#held.add(go);
    for (const watch of this.#watchers) watch();
    this.#watchers.clear();
    return promise;
  }

  record(call: LoggedCall): void {
    this.#log.push(call);
  }

  calls(action?: string): readonly LoggedCall[] {
    return action === undefined ? this.#log : this.#log.filter((call) => call.action === action);
  }

  /** The names of the actions that were asked for, in order. */
  actions(): readonly string[] {
    return this.#log.map(({ action }) => action);
  }

  forgetCalls(): void {
    this.#log.length = 0;
  }

  /** All that the account holds, without its secrets. */
  state(): State {
    return stateOf(this.account);
  }

  /** Every secret that was ever given out: none may turn up in a log. */
  secrets(): readonly string[] {
    return this.account.secrets;
  }

  #user(name: string): User {
    const user = this.account.users.get(name);
    if (user === undefined) throw new Error(`there is no user ${name}`);
    return user;
  }
}

const TRUSTS_ACCOUNT = {
  Version: "2012-10-17",
  Statement: [
    {
      Effect: "Allow",
      Principal: { AWS: "arn:aws:iam::123456789012:root" },
      Action: ["sts:AssumeRole", "sts:TagSession"],
    },
  ],
};
