// Gives out credentials of a role: a principal of its own, or a password on the application that the role
// names or keeps. What comes of it is the server's lease.

import type { Waiting } from "@holdfast/shared/waiting";
import { SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Nanos } from "@holdfast/shared/world";
import type { LeaseOffer } from "@holdfast/shared/endpoint/lease";
import type { EngineNeeds, LeaseFacts, Renewal } from "@holdfast/plugin-sdk/engine";
import { prove } from "../../cloud/proof.ts";
import { type ProviderError, errorForCaller } from "../../cloud/provider-error.ts";
import type { Connection, Connections } from "../provider/connection.ts";
import type { Passwords } from "./passwords.ts";
import type { Principals } from "./principals.ts";
import type { RoleStore } from "./role-store.ts";
import * as failures from "../failures.ts";
import { roleName } from "../api/fields.ts";
import { refuseOwnApplication } from "../provider/lookups.ts";
import type { NewPassword } from "../provider/graph.ts";
import type { Patience, Patiently } from "../provider/patience.ts";
import { textIn } from "../provider/provider-answer.ts";
import { type Role, roleKey } from "./role.ts";
import { countIssued } from "../../cloud/metrics.ts";
import { namePrefix } from "../../cloud/settings.ts";

export interface Issued {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenantId: string;
  readonly subscriptionId: string;
  /** Undefined where nobody asked. */
  readonly verified: boolean | undefined;
  readonly lease: LeaseOffer;
}

interface Made {
  readonly secretType: "principal" | "password";
  readonly appId: string;
  readonly password: NewPassword;
  readonly internal: JsonObject;
  readonly records: readonly string[];
}

const BUDGET = 150n * SECOND; // within what a request may take, and time to undo what was begun
const FRESH = 300n * SECOND;
const PROOF_PAUSE = 2n * SECOND;
const TEN_YEARS = 10n * 365n * 86_400n * SECOND;

export interface IssuingParts {
  readonly needs: EngineNeeds;
  readonly connections: Connections;
  readonly patiently: Patiently;
  readonly roleStore: RoleStore;
  readonly passwords: Passwords;
  readonly principals: Principals;
}

export interface Asking {
  readonly verify: boolean;
  /** Waits for its turn at an application that exists. */
  readonly request: Waiting;
}

export class Issuing {
  readonly #parts: IssuingParts;

  constructor(parts: IssuingParts) {
    this.#parts = parts;
  }

  /** Goes on when whoever asked is gone: it finishes or undoes, and never stops half-way. */
  async issue(path: string, options: Asking): Promise<Issued> {
    const name = roleName(path);
    try {
      return await this.#parts.patiently(BUDGET, (patience) =>
        this.#issue(name, options, patience),
      );
    } catch (error) {
      throw errorForCaller(error);
    }
  }

  async #issue(name: string, { verify, request }: Asking, patience: Patience): Promise<Issued> {
    const { needs, roleStore, connections } = this.#parts;
    const role = await roleStore.find(name);
    if (role === null) throw failures.unknownRole(name);
    const connection = await connections.current();
    const made = await this.#make(name, { role, request }, connection, patience);
    const verified = verify ? await this.#verify(connection, made, patience) : undefined;
    countIssued(needs.metrics, made.secretType);
    const { tenantId, subscriptionId } = connection.effective;
    return {
      clientId: made.appId,
      clientSecret: made.password.text,
      tenantId,
      subscriptionId,
      verified,
      lease: this.#lease(name, role, made),
    };
  }

  /** By the role as it is now, and never beyond the end of the password. */
  async renew({ internal, issued }: LeaseFacts): Promise<Renewal> {
    const { clock, mount } = this.#parts.needs;
    const name = textIn(internal, "role");
    const role = await this.#parts.roleStore.find(name);
    if (role === null) throw failures.roleGone(name);
    const ends = endIn(internal) ?? issued + TEN_YEARS;
    const left = ends - clock.now();
    const wanted = role.ttl === 0 ? mount.defaultTtl() : BigInt(role.ttl) * SECOND;
    const longest = lesser(nanosOf(role.maxTtl), ends - issued);
    return {
      ttl: wholeSeconds(wanted < left ? wanted : left),
      maxTtl: longest === null ? null : wholeSeconds(longest),
      renewable: wanted < left,
    };
  }

  async #make(
    name: string,
    { role, request }: { readonly role: Role; readonly request: Waiting },
    connection: Connection,
    patience: Patience,
  ): Promise<Made> {
    const { needs, passwords, principals } = this.#parts;
    const { tenantId } = connection.effective;
    const { managed } = role;
    const appObjectId = managed?.appObjectId ?? role.applicationObjectId;
    if (appObjectId !== "") {
      const appId = managed?.appId ?? role.applicationAppId;
      // The configuration may have changed since the role was written.
      refuseOwnApplication(connection.effective, appId);
      const age = managed === null ? null : needs.clock.now() - BigInt(managed.made);
      // One that was just made is not yet seen everywhere; another that is not there will not come.
      const passing = (error: ProviderError) => age !== null && age < FRESH && error.gone;
      const named = { appObjectId, role, passing, request };
      const { password, record } = await passwords.add(connection, named, patience);
      const internal = {
        type: "password",
        tenant_id: tenantId,
        app_object_id: appObjectId,
        ...keyOf(password),
        role: name,
      };
      return { secretType: "password", appId, password, internal, records: [record] };
    }
    const displayName = `${namePrefix(needs.settings)}${needs.random.uuid()}`;
    const order = { displayName, role, withPassword: true };
    const made = await principals.make(connection, order, patience);
    const { managed: principal, password, records } = made;
    if (password === null) throw failures.invalid("no password was made");
    const internal = {
      type: "sp",
      tenant_id: tenantId,
      app_object_id: principal.appObjectId,
      sp_object_id: principal.principalId,
      ...keyOf(password),
      role_assignment_ids: principal.assignments.map(({ id }) => id),
      group_ids: principal.groupIds,
      role: name,
      permanently_delete: role.permanentlyDelete,
    };
    return { secretType: "principal", appId: principal.appId, password, internal, records };
  }

  #lease(name: string, role: Role, { secretType, internal, records, password }: Made): LeaseOffer {
    const left = nearestSecond(password.ends - this.#parts.needs.clock.now());
    const longest = lesser(lesser(nanosOf(role.maxTtl), nanosOf(role.explicitMaxTtl)), left);
    const wanted = nanosOf(role.ttl);
    // What was spent on making it is no cut that anybody need be told of.
    const spent = wanted !== null && wanted > left && wanted - left <= BUDGET;
    return {
      secretType,
      internal,
      // The mount's own, unless the role's longest is shorter: that cuts nothing anybody asked for.
      ttl: spent ? left : (wanted ?? lesser(longest, this.#parts.needs.mount.defaultTtl())),
      maxTtl: longest,
      renewable: true,
      needsOneOf: [roleKey(name)],
      settles: records,
    };
  }

  async #verify(
    connection: Connection,
    { appId, password }: Made,
    { signal }: Patience,
  ): Promise<boolean> {
    const { timers } = this.#parts.needs;
    const attempt = () => connection.prove(appId, password.text, signal);
    return (await prove(attempt, { timers, signal, every: PROOF_PAUSE })).proved;
  }
}

function keyOf({ keyId, ends }: NewPassword) {
  return { key_id: keyId, key_end_date: showTime(ends) };
}

/** Null in leases that do not say. */
function endIn(internal: JsonObject): bigint | null {
  return parseTime(textIn(internal, "key_end_date"));
}

function nanosOf(seconds: number): Nanos | null {
  return seconds === 0 ? null : BigInt(seconds) * SECOND;
}

function lesser(a: Nanos | null, b: Nanos | null): Nanos | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}

/** At least one second. */
function nearestSecond(length: Nanos): Nanos {
  return wholeSeconds(length + SECOND / 2n);
}

/** At least one: nothing lasts less than a second. */
function wholeSeconds(length: Nanos): Nanos {
  const whole = (length / SECOND) * SECOND;
  return whole < SECOND ? SECOND : whole;
}
