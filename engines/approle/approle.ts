// Machines with a role id and a secret id. Answers which role somebody is; the server makes the token.

import type { Secret } from "@holdfast/shared/secret";
import type { Belonging } from "@holdfast/shared/endpoint/endpoint";
import type { LoginOffer } from "@holdfast/shared/endpoint/lease";
import type { EngineNeeds, EngineType } from "@holdfast/plugin-sdk/engine";
import { checkLoginOptions, isFrom, isGlobal, offerOf } from "@holdfast/plugin-sdk/login-terms";
import { approleApi } from "./api.ts";
import { approlePropertiesApi } from "./api-properties.ts";
import { secretIdsApi } from "./api-secret-ids.ts";
import * as failures from "./failures.ts";
import { Hashes } from "./keys.ts";
import type { Role } from "./role.ts";
import { Roles } from "./roles.ts";
import type { SecretId } from "./secret-id.ts";
import { SecretIds } from "./secret-ids.ts";

export interface AppRoleLogin {
  readonly roleId: string;
  readonly secretId: Secret<string> | undefined;
  /** Of the caller. */
  readonly address: string;
}

export class AppRole {
  readonly roles: Roles;
  readonly secretIds: SecretIds;
  readonly #needs: EngineNeeds;
  readonly #hashes: Hashes;

  constructor(needs: EngineNeeds) {
    this.#needs = needs;
    this.#hashes = new Hashes(needs.storage, needs.random);
    this.roles = new Roles(needs, this.#hashes);
    this.secretIds = new SecretIds(needs, this.#hashes);
  }

  /** Secret ids are not guessed, so nobody is locked out for wrong ones: whoever knows a role id, which
   *  is no secret, could keep its machines out. */
  async login({ roleId, secretId, address }: AppRoleLogin): Promise<LoginOffer> {
    const role = await this.roles.byRoleId(roleId);
    if (role === null) throw failures.loginRefused();
    if (!isFrom(role.secretIdRanges, address) || !isFrom(role.terms.boundTo, address)) {
      // Not told to the caller, who would learn that the rest is right.
      this.#needs.log.warn("a login was refused for its address", { role: role.name, address });
      throw failures.loginRefused();
    }
    if (!role.bindSecretId) return this.#offer(role, null);
    if (secretId === undefined) throw failures.loginRefused();
    const secret = await this.secretIds.spend(role, secretId, address);
    if (secret === null) throw failures.loginRefused();
    return this.#offer(role, secret);
  }

  /** Where a login writes: its token, and the uses of its secret id where they are counted. */
  async belongs({ roleId, secretId }: Omit<AppRoleLogin, "address">): Promise<Belonging> {
    if (isGlobal(this.#needs.options)) return "shared";
    if (this.#needs.storage.writtenElsewhere === true) return "local"; // who writes it counts
    const role = secretId === undefined ? null : await this.roles.byRoleId(roleId);
    if (role === null || secretId === undefined || !role.bindSecretId) return "local";
    return (await this.secretIds.isCounted(role, secretId)) ? "mount" : "local";
  }

  close(): void {
    this.#hashes.close();
  }

  #offer({ name, id, terms }: Role, secret: SecretId | null): LoginOffer {
    const ranges = secret?.tokenRanges ?? [];
    return offerOf(
      { ...terms, boundTo: ranges.length > 0 ? ranges : terms.boundTo },
      {
        displayName: "",
        identity: name,
        owner: { role_name: name, id },
        // Whoever may make secret ids is not whoever may say what their tokens are.
        ...(secret?.vouched === true
          ? { metadata: { ...secret.metadata, role_name: name } }
          : { metadata: { role_name: name }, notes: secret?.metadata ?? {} }),
        global: isGlobal(this.#needs.options),
      },
    );
  }
}

export function approleType(): EngineType<AppRole> {
  return {
    type: "approle",
    kind: "auth",
    summary: "Machines log in with a role id and a secret id.",
    version: "v1.0.0+builtin",
    paths: () => [...approleApi, ...secretIdsApi, ...approlePropertiesApi],
    checkOptions: checkLoginOptions,
    open: (needs) => new AppRole(needs),
    renewLogin: async (engine, { role_name = "", ...owner }) =>
      (await engine.roles.has(role_name, owner["id"])) ? {} : null,
    takeUse: (engine, what) => engine.secretIds.takeUse(what),
    periodic: (engine, signal) => engine.secretIds.tidy(signal),
    close: (engine) => engine.close(),
  };
}
