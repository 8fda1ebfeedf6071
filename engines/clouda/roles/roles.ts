// The roles of a mount: written, read, listed and deleted. One transaction for
// each change; what an earlier version stored is turned into its present form when it is met.

import { describe } from "@holdfast/shared/failure";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { notFound } from "../failures.ts";
import { compacted } from "./policy-document.ts";
import { emptyRole, type Role } from "./role.ts";
import * as failures from "./role-failures.ts";
import { faultsOf, isCredentialType, warningsOf } from "./role-rules.ts";
import {
  fromOld,
  OLD_ROLES,
  oldRoleCodec,
  oldRoleKey,
  roleCodec,
  roleKey,
  roleOf,
  roleOfText,
  ROLES,
} from "./stored-role.ts";

/** What is left out stays as it is. */
export interface RoleChange {
  readonly credentialType?: string | undefined;
  readonly roleArns?: readonly string[] | undefined;
  readonly policyArns?: readonly string[] | undefined;
  readonly policyDocument?: string | undefined;
  readonly iamGroups?: readonly string[] | undefined;
  readonly iamTags?: Readonly<Record<string, string>> | undefined;
  readonly defaultStsTtl?: number | undefined;
  readonly maxStsTtl?: number | undefined;
  readonly userPath?: string | undefined;
  readonly permissionsBoundaryArn?: string | undefined;
  readonly sessionTags?: Readonly<Record<string, string>> | undefined;
  readonly externalId?: string | undefined;
}

const MAX_QUOTED = 256;
const DEPRECATED =
  "policy and arn are deprecated: give credential_type with policy_document, policy_arns or role_arns";

export class Roles {
  readonly #needs: EngineNeeds;

  constructor(needs: EngineNeeds) {
    this.#needs = needs;
  }

  /** Null where there is none. One whose stored data are invalid has `invalidData`. */
  async find(name: string): Promise<Role | null> {
    const { storage } = this.#needs;
    const role = await storage.get(roleKey(name), roleCodec);
    if (role !== null) return role;
    const old = await storage.get(oldRoleKey(name), oldRoleCodec);
    return old === null ? null : this.#renewed(name, old);
  }

  /** In their order, those of an earlier version among them. */
  async names(page: { readonly after?: string; readonly limit: number }): Promise<string[]> {
    const { storage } = this.#needs;
    const lists = [await storage.list(ROLES, page), await storage.list(OLD_ROLES, page)];
    const unique = new Set(lists.flat());
    return [...unique]
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .slice(0, page.limit);
  }

  /** Makes the role where there is none. Gives what its writer should know. */
  async write(name: string, change: RoleChange): Promise<string[]> {
    return this.#replace(name, (before) => changedRole(before ?? emptyRole(name), change));
  }

  /** In the form of an earlier version: the whole role is of this one text. */
  async writeLegacy(name: string, value: string): Promise<string[]> {
    const role = roleOfText(name, value.trim());
    if (role === null) throw failures.legacyUnreadable();
    return [DEPRECATED, ...(await this.#replace(name, () => role))];
  }

  /** Refuses where there is none. */
  async delete(name: string): Promise<void> {
    await this.#needs.storage.write((tx) => {
      const role = tx.get(roleKey(name), roleCodec);
      const old = tx.get(oldRoleKey(name), oldRoleCodec);
      if (roleOf(name, role, old) === null) throw notFound();
      tx.delete(roleKey(name));
      tx.delete(oldRoleKey(name));
    });
  }

  async #replace(name: string, make: (before: Role | null) => Role): Promise<string[]> {
    const { role, dropped } = await this.#needs.storage.write((tx) => {
      const known = tx.get(roleKey(name), roleCodec);
      const before = roleOf(name, known, tx.get(oldRoleKey(name), oldRoleCodec));
      const invalid = before?.invalidData ?? null;
      const made = make(invalid === null ? before : null);
      tx.put(roleKey(name), made, roleCodec);
      tx.delete(oldRoleKey(name));
      return { role: made, dropped: invalid };
    });
    const warnings = warningsOf(role);
    if (dropped === null) return warnings;
    const text = JSON.stringify(dropped.slice(0, MAX_QUOTED));
    const cut = dropped.length > MAX_QUOTED ? " and more" : "";
    return [`invalid data from an earlier version were dropped: ${text}${cut}`, ...warnings];
  }

  /** Kept in its present form from now on, unless nothing can be written here. */
  async #renewed(name: string, old: string): Promise<Role> {
    const role = fromOld(name, old);
    if (role.invalidData !== null || this.#needs.storage.writtenElsewhere === true) return role;
    try {
      await this.#needs.storage.write((tx) => {
        if (tx.get(oldRoleKey(name), oldRoleCodec) !== old) return;
        if (tx.get(roleKey(name), roleCodec) === null) tx.put(roleKey(name), role, roleCodec);
        tx.delete(oldRoleKey(name));
      });
    } catch (error) {
      this.#needs.log.debug("a role of an earlier version was read but not rewritten", {
        role: name,
        error: describe(error),
      });
    }
    return role;
  }
}

/** In the present form, whatever it was before. */
function changedRole(before: Role, change: RoleChange): Role {
  const document = change.policyDocument?.trim() ?? "";
  const { text, fault } = document === "" ? { text: "", fault: null } : compacted(document);
  const { credentialType, ...others } = change;
  const [only, second] = before.credentialTypes;
  const type = credentialType ?? (second === undefined ? only : undefined) ?? "";
  const draft = {
    ...before,
    ...withoutUndefined(others),
    ...(change.policyDocument === undefined ? {} : { policyDocument: text }),
    credentialType: type,
    documentFault: fault,
  };
  const faults = faultsOf(draft);
  if (faults.length > 0 || !isCredentialType(type)) throw failures.roleRefused(faults);
  const { credentialType: _, documentFault: __, ...role } = draft;
  return { ...role, credentialTypes: [type], pathBound: false };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(change: T): Defined<T> {
  const entries = Object.entries(change).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<T>; // the same members, less some
}
