// A whole server with ways to log in, for tests through HTTP: enabling a method, logging in, and what
// the token of a login is good for.

import assert from "node:assert/strict";
import type { PasswordCost } from "../../../engines/userpass/passwords.ts";
import { userpassType } from "@holdfast/engines/userpass/userpass";
import { type After, type GovernedServer, governedServer } from "./governed-server.ts";
import { type Answer, at, type CallOptions } from "../http-client.ts";
import { CHEAP } from "../made/made-login-engine.ts";
import type { TestServerOptions } from "./test-server.ts";
import { anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";

/** The built-in method, with passwords that cost nothing: most tests are about something else. */
export const CHEAP_TYPE = "cheap-userpass";

export function cheapUserpass(cost: PasswordCost = CHEAP): EngineType<unknown> {
  return anyEngine({ ...userpassType(cost), type: CHEAP_TYPE });
}

export const PASSWORD = "correct horse battery staple";

export interface LoggedIn {
  readonly secret: string;
  readonly accessor: string;
  readonly auth: Readonly<Record<string, unknown>>;
}

export class LoginServer {
  readonly server: GovernedServer;

  constructor(server: GovernedServer) {
    this.server = server;
  }

  async enable(path: string, type: string, more: object = {}, namespace?: string): Promise<void> {
    await this.server.must("POST", `/v1/sys/auth/${path}`, { body: { type, ...more }, namespace });
  }

  /** A mount `people` with the user `ada`. */
  async people(user: object = {}, more: object = {}, namespace?: string): Promise<void> {
    await this.enable("people", CHEAP_TYPE, more, namespace);
    const body = { password: PASSWORD, ...user };
    await this.server.must("POST", "/v1/auth/people/users/ada", { body, namespace });
  }

  login(password = PASSWORD, options: CallOptions = {}): Promise<Answer> {
    return this.server.call("POST", "/v1/auth/people/login/ada", {
      body: { password },
      ...options,
    });
  }

  /** A mount `approle` with the role `ci`; gives its role id. */
  async machines(role: object = {}): Promise<string> {
    await this.enable("approle", "approle");
    await this.server.must("POST", "/v1/auth/approle/role/ci", { body: role });
    const answer = await this.server.must("GET", "/v1/auth/approle/role/ci/role-id");
    return String(at(answer, "data", "role_id"));
  }

  secretId(body: object = {}, options: CallOptions = {}): Promise<Answer> {
    return this.server.must("POST", "/v1/auth/approle/role/ci/secret-id", { body, ...options });
  }

  machineLogin(role_id: string, secret_id: string): Promise<Answer> {
    return this.server.call("POST", "/v1/auth/approle/login", { body: { role_id, secret_id } });
  }

  self(token: string, namespace?: string): Promise<Answer> {
    return this.server.call("GET", "/v1/auth/token/lookup-self", { token, namespace });
  }

  /** How many tokens there are. */
  async tokens(): Promise<number> {
    const answer = await this.server.must("LIST", "/v1/auth/token/accessors");
    return (at(answer, "data", "keys") as unknown[]).length;
  }
}

export function loggedIn(answer: Answer): LoggedIn {
  assert.equal(answer.status, 200, answer.text);
  const auth = at(answer, "auth") as Record<string, unknown>;
  return { secret: String(auth["client_token"]), accessor: String(auth["accessor"]), auth };
}

export async function loginServer(
  t: After,
  options: TestServerOptions = {},
  cost: PasswordCost = CHEAP,
): Promise<LoginServer> {
  return new LoginServer(
    await governedServer(t, { ...options, engineTypes: [cheapUserpass(cost)] }),
  );
}
