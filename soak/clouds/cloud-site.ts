// A server between two fake clouds, with one clock for the three of them. The clouds are in this process and outlive every
// server.

import { type FakeCloudA, startFakeCloudA } from "../../tests/fakes/clouda/fake.ts";
import { type FakeCloudB, startFakeCloudB } from "../../tests/fakes/cloudb/fake.ts";
import type { ApiTargetOptions } from "../api/api-target.ts";
import { scratch } from "../child.ts";
import { ServerSite } from "../server-site.ts";

export const USER_ROLE = "user"; // iam_user, with everything that a user can have
export const APP_ROLE = "app"; // an application of its own for each lease
export const SHARED_ROLE = "shared"; // passwords on one application that is there already

const POLICY = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "s3:*", Resource: "*" }],
});

export class CloudSite extends ServerSite {
  readonly a: FakeCloudA;
  readonly b: FakeCloudB;
  /** Of the application that was there before. */
  readonly sharedApplication: string;
  readonly group: string;

  private constructor(
    directory: string,
    time: { ahead: number },
    { a, b }: { a: FakeCloudA; b: FakeCloudB },
    target: ApiTargetOptions,
  ) {
    const lines = Object.entries(b.endpoints).map(([name, url]) => `  ${name} = "${url}"`);
    const settings = `outbound_allow = ["127.0.0.1"]\ncloudb_endpoints {\n${lines.join("\n")}\n}\n`;
    super({ directory, settings, target, time });
    this.a = a;
    this.b = b;
    this.sharedApplication = b.control.makeApplication("shared").id;
    this.group = b.control.makeGroup("operators");
  }

  /** An initialised server with both engines configured, running. */
  static async open(name: string, extra: ApiTargetOptions = {}): Promise<CloudSite> {
    const time = { ahead: 0 };
    const now = () => Date.now() + time.ahead * 1000;
    const [a, b] = await Promise.all([startFakeCloudA({ now }), startFakeCloudB({ now })]);
    const site = new CloudSite(scratch(name), time, { a, b }, extra);
    try {
      await site.initialise();
      for (const [path, body] of site.#configuration()) {
        await site.api.expect([200, 204], "POST", path, { body });
      }
    } catch (error) {
      await site.close();
      throw error;
    }
    return site;
  }

  override async close(): Promise<void> {
    await super.close();
    await Promise.all([this.a.close(), this.b.close()]);
  }

  *#configuration(): Generator<readonly [path: string, body: object]> {
    const { a, b } = this;
    yield [
      "clouda/config/root",
      {
        access_key: a.accessKeyId,
        secret_key: a.secretAccessKey,
        iam_endpoint: a.url,
        sts_endpoint: a.url,
      },
    ];
    yield [
      `clouda/roles/${USER_ROLE}`,
      {
        credential_type: "iam_user",
        policy_arns: ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
        policy_document: POLICY,
        iam_groups: ["developers"],
        iam_tags: { made: "by a soak" },
      },
    ];
    yield [
      "cloudb/config",
      {
        tenant_id: b.tenantId,
        subscription_id: b.subscriptionId,
        client_id: b.clientId,
        client_secret: b.clientSecret,
      },
    ];
    yield [
      `cloudb/roles/${APP_ROLE}`,
      {
        cloudb_roles: [this.azureRole("Contributor"), this.azureRole("Reader")],
        cloudb_groups: [{ object_id: this.group }],
        permanently_delete: true,
      },
    ];
    yield [`cloudb/roles/${SHARED_ROLE}`, { application_object_id: this.sharedApplication }];
  }

  azureRole(role_name: string): { readonly role_name: string; readonly scope: string } {
    return { role_name, scope: `/subscriptions/${this.b.subscriptionId}` };
  }
}
