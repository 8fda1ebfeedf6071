// Raw calls to the fake of cloud B, for its own contract suite: written from the provider's public
// reference, with no code of the engine.

import assert from "node:assert/strict";
import { type Answer, at, call } from "../../support/http-client.ts";
import { type FakeCloudB, type FakeCloudBOptions, startFakeCloudB } from "./fake.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

export const VERSION = "api-version=2022-04-01";

export class RawClient {
  readonly fake: FakeCloudB;

  constructor(fake: FakeCloudB) {
    this.fake = fake;
  }

  token(fields: Readonly<Record<string, string>>, tenant = this.fake.tenantId): Promise<Answer> {
    const body = new URLSearchParams(fields).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const path = `/${tenant}/oauth2/v2.0/token`;
    return call(this.fake.endpoints.authority, "POST", path, { body, headers });
  }

  /** What the root application sends for a token; members given win. */
  credentials(members: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    const { clientId, clientSecret, endpoints } = this.fake;
    return {
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
      scope: `${endpoints.graph}/.default`,
      ...members,
    };
  }

  async bearer(surface: "graph" | "arm", members: Readonly<Record<string, string>> = {}) {
    const scope = `${this.fake.endpoints[surface]}/.default`;
    const answer = await this.token(this.credentials({ scope, ...members }));
    assert.equal(answer.status, 200, answer.text);
    return { Authorization: `Bearer ${String(at(answer, "access_token"))}` };
  }

  async graph(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = await this.bearer("graph");
    const options = body === undefined ? {} : { body };
    return call(this.fake.endpoints.graph, method, `/v1.0${path}`, { headers, ...options });
  }

  async arm(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = await this.bearer("arm");
    const options = body === undefined ? {} : { body };
    return call(this.fake.endpoints.arm, method, path, { headers, ...options });
  }

  /** And it must succeed. */
  async made(
    path: string,
    body: unknown,
  ): Promise<{ readonly id: string; readonly appId: string }> {
    const answer = await this.graph("POST", path, body);
    assert.equal(answer.status, 201, answer.text);
    return { id: String(at(answer, "id")), appId: String(at(answer, "appId")) };
  }

  async principal(): Promise<{ readonly application: string; readonly appId: string; id: string }> {
    const { id: application, appId } = await this.made("/applications", { displayName: "some" });
    const { id } = await this.made("/servicePrincipals", { appId });
    return { application, appId, id };
  }
}

export async function rawClient(t: After, options: FakeCloudBOptions = {}): Promise<RawClient> {
  const fake = await startFakeCloudB(options);
  t.after(() => fake.close());
  return new RawClient(fake);
}

export function graphCode(answer: Answer): readonly [number, unknown] {
  return [answer.status, at(answer, "error", "code")];
}
