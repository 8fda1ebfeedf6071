// Users made for one lease each: in the order that leaves nothing behind. A record is
// written first; what fails is undone at once; what becomes of neither is undone from the record.

import { MILLISECOND, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { EngineNeeds, WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import { pause } from "@holdfast/shared/pause";
import { withDeadline } from "../../cloud/deadline.ts";
import { orGone, ProviderError } from "../../cloud/provider-error.ts";
import { RequestIds } from "../../cloud/request-ids.ts";
import { accountIn, checkKnownAccount } from "../provider/account.ts";
import type { Clients } from "../provider/clients.ts";
import type { CloudAProvider, NewAccessKey } from "../provider/provider.ts";
import type { Role } from "./role.ts";
import { removeUser, VISIBLE_AFTER } from "./user-removal.ts";

const DEADLINE: Nanos = 70n * SECOND;
const UNDO_DEADLINE: Nanos = 60n * SECOND;
const NAMES_TRIED = 3;
/** A user that was made further from its record than this is somebody else's. */
const OURS_WITHIN: Nanos = MINUTE;
/** While the provider does not show the new user everywhere. */
const PAUSES: readonly Nanos[] = [500n, 1000n, 2000n, 4000n].map((ms) => ms * MILLISECOND);

export interface MadeUser {
  readonly username: string;
  readonly key: NewAccessKey;
  /** Settled by the lease. */
  readonly record: string;
  readonly made: Instant;
  /** Where it was made; null: the provider does not say. */
  readonly account: string | null;
}

interface Begun {
  readonly username: string;
  readonly record: string;
  readonly made: Instant;
  /** As its record tells; null: it does not yet. */
  readonly account: string | null;
  /** Whether its tags are still to be set. */
  readonly untagged: boolean;
}

export class Users {
  readonly #needs: EngineNeeds;
  readonly #clients: Clients;

  constructor(needs: EngineNeeds, clients: Clients) {
    this.#needs = needs;
    this.#clients = clients;
  }

  /** `newName` gives another name each time. Goes on when the client hangs up: the lease is made or the
   *  user is gone. */
  make(role: Role, newName: () => string): Promise<MadeUser> {
    const { timers } = this.#needs;
    return withDeadline(timers, DEADLINE, async (signal) => {
      const provider = await this.#clients.provider(signal);
      const begun = await this.#begin(provider, role, newName, signal);
      try {
        const account = await this.#noted(provider, role, begun);
        const key = await this.#equip(provider, role, begun, signal);
        const { username, record, made } = begun;
        return { username, key, record, made, account };
      } catch (error) {
        await this.#undo(begun);
        throw error;
      }
    });
  }

  async #begin(
    provider: CloudAProvider,
    role: Role,
    newName: () => string,
    signal: AbortSignal,
  ): Promise<Begun> {
    const { writeAhead, clock } = this.#needs;
    const path = pathOf(role);
    const tagged = Object.keys(role.iamTags).length > 0;
    for (let tried = 1; ; tried++) {
      const username = newName();
      const made = clock.now();
      const account = provider.knownAccount();
      const record = await writeAhead.begin("user", {
        username,
        path,
        ...(account === null ? {} : { account }),
      });
      const boundary = role.permissionsBoundaryArn;
      const user = {
        name: username,
        path,
        ...(boundary === "" ? {} : { permissionsBoundary: boundary }),
      };
      let untagged = false;
      try {
        await provider
          .createUser(tagged ? { ...user, tags: role.iamTags } : user)
          .catch((error) => {
            if (!tagged || !lacksTagging(error)) throw error;
            untagged = true;
            return provider.createUser(user);
          });
        return { username, record, made, account, untagged };
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        const begun = { username, record, made, account, untagged };
        if (await this.#isOurs(provider, error, begun, signal)) return begun;
        if (error.harmless || error.code === TAKEN) await writeAhead.drop(record);
        if (error.code !== TAKEN || tried >= NAMES_TRIED) throw error;
      }
    }
  }

  /** The record tells from now on which account the user is in: in another one it would seem to be gone.
   *  The first answer of new clients tells it; afterwards it is in records from the beginning. */
  async #noted(provider: CloudAProvider, role: Role, begun: Begun): Promise<string | null> {
    const { username, record } = begun;
    const account = provider.knownAccount();
    if (begun.account === null && account !== null) {
      const { writeAhead } = this.#needs;
      await writeAhead.note(record, { username, path: pathOf(role), account });
    }
    return account;
  }

  /** Whether a name that is taken is so by ourselves: an earlier try whose answer was lost. */
  async #isOurs(
    provider: CloudAProvider,
    error: ProviderError,
    { username, made }: Begun,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (error.code !== TAKEN || !error.doubtful) return false;
    const user = await this.#seen(username, signal, () => provider.getUser(username));
    const apart = user.created > made ? user.created - made : made - user.created;
    return apart <= OURS_WITHIN;
  }

  async #equip(
    provider: CloudAProvider,
    role: Role,
    { username, untagged }: Begun,
    signal: AbortSignal,
  ): Promise<NewAccessKey> {
    const seen = <T>(call: () => Promise<T>) => this.#seen(username, signal, call);
    for (const arn of role.policyArns) await seen(() => provider.attachUserPolicy(username, arn));
    if (role.policyDocument !== "") {
      await seen(() => provider.putUserPolicy(username, role.name, role.policyDocument));
    }
    for (const group of role.iamGroups) await seen(() => provider.addUserToGroup(username, group));
    if (untagged) await seen(() => provider.tagUser(username, role.iamTags));
    return seen(() => provider.createAccessKey(username));
  }

  /** Tries again while the provider does not know the user that it has just made. */
  async #seen<T>(username: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    for (const length of PAUSES) {
      try {
        return await call();
      } catch (error) {
        if (signal.aborted || !isUnseen(error, username)) throw error;
        await pause(this.#needs.timers, length, signal);
      }
    }
    return call();
  }

  /** At once. Where that fails the record is there still. */
  async #undo({ username: name, record, made, account }: Begun): Promise<void> {
    const needs = this.#needs;
    try {
      await withDeadline(needs.timers, UNDO_DEADLINE, async (signal) => {
        const provider = await this.#clients.provider(signal);
        await removeUser({ provider, name, made, account, now: needs.clock.now() });
      });
      await needs.writeAhead.drop(record);
    } catch (error) {
      const why = error instanceof ProviderError || error instanceof Failure ? error.message : "";
      needs.log.warn("a user that came to nothing is removed later", { user: name, why });
    }
  }

  /** Ends a lease. Gives the ids by which the provider knows the calls that did. */
  async remove(
    { username, account }: { readonly username: string; readonly account: string | null },
    made: Instant,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const ids = new RequestIds();
    const provider = await this.#clients.provider(signal, { patient: true, ids });
    const now = this.#needs.clock.now();
    await removeUser({ provider, name: username, made, account, now });
    return ids.last;
  }

  /** Undoes "user". A user that is older than its record was there before us, and stays. */
  async undo(record: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    const username = record.data["username"];
    if (typeof username !== "string") return;
    const provider = await this.#clients.provider(signal, { patient: true });
    const account = accountIn(record.data);
    const user = await orGone(provider.getUser(username));
    checkKnownAccount(provider, account);
    if (user !== null && user.created < record.created - VISIBLE_AFTER) return;
    const now = this.#needs.clock.now();
    await removeUser({ provider, name: username, made: record.created, account, now });
  }
}

const pathOf = ({ userPath }: Role) => (userPath === "" ? "/" : userPath);

const TAKEN = "EntityAlreadyExists";

/** Refused for the tags alone: they are set in a call of their own then. */
function lacksTagging(error: unknown): boolean {
  if (!(error instanceof ProviderError)) return false;
  return error.code === "AccessDenied" && error.said.includes("iam:TagUser");
}

/** Not of a policy or group that is missing: those stay so. */
function isUnseen(error: unknown, username: string): boolean {
  if (!(error instanceof ProviderError) || !error.gone) return false;
  return error.said.includes(username) || !/\b(?:policy|group)\b/i.test(error.said);
}
