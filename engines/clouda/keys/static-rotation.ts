// What is due about static roles, done by itself: a new key when a period has passed, the end of other keys
// where they are not to live on. What fails is kept in mind and tried again; it never falls out of the list.

import { OWN_WORK } from "@holdfast/shared/waiting";
import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Leading } from "@holdfast/plugin-sdk/engine";
import { withDeadline } from "../../cloud/deadline.ts";
import { ProviderError } from "../../cloud/provider-error.ts";
import { isMissed, retryTime } from "../../cloud/rotation-terms.ts";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import type { RotationConcerns } from "../../cloud/rotation-concerns.ts";
import { RotationSchedule } from "../../cloud/rotation-schedule.ts";
import { isLasting, KeyUnseen } from "./static-failures.ts";
import { type KeyParts, replaceKey, retireOthers } from "./static-keys.ts";
import {
  after,
  dueOf,
  expirationOf,
  freshCreds,
  type StaticCreds,
  staticCredsCodec,
  staticCredsKey,
  type StaticRole,
  staticRoleCodec,
  staticRoleKey,
} from "./static-role.ts";
import { adoptedUser, userLock } from "./static-users.ts";
import { countRotation } from "../../cloud/metrics.ts";

interface State {
  readonly role: StaticRole;
  readonly creds: StaticCreds;
}

const DEADLINE: Nanos = 90n * SECOND;
/** After its cluster took the place of another, which may have rotated a moment before. */
const REST_AT_FIRST: Nanos = 60n * SECOND;
const FIRST_WAIT = 10; // seconds, doubled by every failure
const LONGEST_WAIT = 15 * 60;
const MAX_ERROR = 512; // characters

/** The locks are by user, of whoever changes its keys. */
export interface StaticParts extends KeyParts {
  readonly locks: KeyedMutex;
  readonly concerns: RotationConcerns;
}

export class StaticRotation {
  readonly #parts: StaticParts;
  readonly #find: (name: string) => Promise<State | null>;
  readonly #schedule: RotationSchedule;
  /** Ends what is under way when the node rests; another one each time that it leads. */
  #resting = new AbortController();
  #tookOverAt: Instant | null = null;

  constructor(parts: StaticParts, find: (name: string) => Promise<State | null>) {
    const { clock, timers } = parts.needs;
    this.#parts = parts;
    this.#find = find;
    this.#schedule = new RotationSchedule({ clock, timers, run: (name) => this.#due(name) });
  }

  lead({ tookOverAt }: Leading): void {
    this.#resting = new AbortController();
    this.#tookOverAt = tookOverAt;
    const end = tookOverAt === null ? 0n : tookOverAt + REST_AT_FIRST;
    const rest = end - this.#parts.needs.clock.now();
    this.#schedule.open(rest > REST_AT_FIRST ? REST_AT_FIRST : rest > 0n ? rest : 0n);
  }

  async rest(): Promise<void> {
    this.#resting.abort();
    await this.#schedule.rest();
  }

  close(): void {
    void this.rest();
    this.#schedule.close();
  }

  know(name: string, creds: StaticCreds): void {
    this.#schedule.set(name, dueOf(creds));
    const { expiration: due, attempts, lastError: error } = creds;
    this.#parts.concerns.know(placeOf(name), { due, attempts, error });
  }

  remove(name: string): void {
    this.#schedule.remove(name);
    this.#parts.concerns.forget(placeOf(name));
  }

  /** A new key, stored. To be called by whoever holds the user's lock. */
  async rotate({ role, creds }: State, signal: AbortSignal): Promise<void> {
    const { needs } = this.#parts;
    const { name } = role;
    const key = staticCredsKey(name);
    try {
      const provider = await this.#parts.clients.provider(signal);
      const user = await adoptedUser(provider, role);
      await replaceKey(this.#parts, provider, {
        role: name,
        user,
        creds,
        store: (tx, made, previousKey) => {
          const now = needs.clock.now();
          // As it is now: somebody may have changed its period while the key was made.
          const current = tx.get(staticRoleKey(name), staticRoleCodec) ?? role;
          const next = freshCreds(current, made, { previousKey, now });
          tx.put(key, next, staticCredsCodec);
        },
      });
    } catch (error) {
      countRotation(needs.metrics, "failed");
      await this.#refresh(name); // where the key had to make room, the next one is due now
      throw error;
    }
    countRotation(needs.metrics, "ok");
    await this.#refresh(name);
  }

  async #due(name: string): Promise<void> {
    const { needs, locks } = this.#parts;
    const { timers, clock, log } = needs;
    try {
      const found = await this.#find(name);
      if (found === null) return this.remove(name);
      await withDeadline(
        timers,
        DEADLINE,
        (signal) =>
          locks.run(userLock(found.role.username), OWN_WORK, () => this.#doDue(name, signal)),
        [this.#resting.signal],
      );
    } catch (error) {
      // Nothing could be read or kept: it stays in the list, and the log is not filled with it.
      this.#schedule.set(name, after(clock.now(), LONGEST_WAIT));
      log.warn("a static role was not looked after", { role: name, error: messageOf(error) });
    }
  }

  async #doDue(name: string, signal: AbortSignal): Promise<void> {
    const state = await this.#find(name);
    if (state === null) return this.remove(name);
    const { role, creds } = state;
    const now = this.#parts.needs.clock.now();
    if (dueOf(creds) > now) return this.know(name, creds); // done by hand meanwhile
    // A dead key is replaced at any time; one that works waits for the next window.
    if (!creds.ended && creds.expiration <= now && isMissed(role, creds.expiration, now)) {
      return this.#missed(role, creds, now);
    }
    try {
      if (creds.ended || creds.expiration <= now) {
        await this.#checkSeen(state, signal);
        await this.rotate(state, signal);
      } else await this.#retire(state, signal);
    } catch (error) {
      // No failure of the rotation: when it leads again it is due again.
      if (this.#resting.signal.aborted) return;
      await this.#failed(role, error);
    }
  }

  /** Another cluster may have replaced the key before this one took its place: then nothing here knows whose keys there are
   *  now, and none of them is ended by itself. */
  async #checkSeen({ role, creds }: State, signal: AbortSignal): Promise<void> {
    const took = this.#tookOverAt;
    if (took === null || creds.ended || creds.createdAt >= took) return;
    const provider = await this.#parts.clients.provider(signal);
    const keys = await provider.accessKeys(role.username);
    if (!keys.some(({ id }) => id === creds.accessKey)) throw new KeyUnseen(role.username);
  }

  #retire(state: State, signal: AbortSignal): Promise<void> {
    const forget = () =>
      this.#change(state.role.name, (current) => ({
        ...current,
        previousKey: null,
        retireAt: null,
        attempts: 0,
        lastError: "",
        retryAt: null,
      }));
    return retireOthers(this.#parts, state, signal, forget);
  }

  async #missed(role: StaticRole, creds: StaticCreds, now: Instant): Promise<void> {
    const lastError = `the window of ${showTime(creds.expiration)} was over before it could be rotated`;
    this.#parts.needs.log.warn("a static role was not rotated", { role: role.name, lastError });
    const expiration = expirationOf(role, now);
    const idle = { attempts: 0, lastError, retryAt: null };
    await this.#change(role.name, (current) => ({ ...current, ...idle, expiration }));
  }

  async #failed(role: StaticRole, error: unknown): Promise<void> {
    const { needs } = this.#parts;
    const lastError = messageOf(error).slice(0, MAX_ERROR);
    needs.log.warn("a static role could not be rotated", { role: role.name, error: lastError });
    await this.#change(role.name, (current) => {
      const now = needs.clock.now();
      const attempts = current.attempts + 1;
      const wait = waitOf(error, attempts);
      const rotating = !current.ended && current.expiration <= now;
      const retryAt = rotating
        ? retryTime(role, current.expiration, { now, wait })
        : after(now, wait);
      if (retryAt !== null) return { ...current, attempts, lastError, retryAt };
      const expiration = expirationOf(role, now);
      return { ...current, attempts: 0, lastError, retryAt, expiration };
    });
  }

  async #change(name: string, make: (current: StaticCreds) => StaticCreds): Promise<void> {
    const key = staticCredsKey(name);
    await this.#parts.needs.storage.write((tx) => {
      const current = tx.get(key, staticCredsCodec);
      if (current !== null) tx.put(key, make(current), staticCredsCodec);
    });
    await this.#refresh(name);
  }

  async #refresh(name: string): Promise<void> {
    const state = await this.#find(name);
    if (state === null) this.remove(name);
    else this.know(name, state.creds);
  }
}

/** The path that shows how its rotation stands. */
function placeOf(name: string): string {
  return `static-roles/${name}`;
}

function waitOf(error: unknown, attempts: number): number {
  if (isLasting(error)) return LONGEST_WAIT;
  const retryAfter = error instanceof ProviderError ? (error.retryAfter ?? 0) : 0;
  return Math.max(Math.ceil(retryAfter), Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempts));
}

function messageOf(error: unknown): string {
  const known = error instanceof ProviderError || error instanceof Failure;
  return known ? error.message : "internal error";
}
