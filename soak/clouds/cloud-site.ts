// A server between two fake clouds, with one clock for the three of them: started, killed, started again
// on what is left. The clouds are in this process and outlive every server.

import { setTimeout as pause } from "node:timers/promises";
import { join } from "node:path";
import { Prng } from "../../sim/prng.ts";
import { type FakeCloudA, startFakeCloudA } from "../../tests/fakes/clouda/fake.ts";
import { type FakeCloudB, startFakeCloudB } from "../../tests/fakes/cloudb/fake.ts";
import { at } from "../../tests/support/http-client.ts";
import type { ApiTargetOptions } from "../api/api-target.ts";
import { Api, type Keys, NodePlace, ServerProcess, texts } from "../api/api-server.ts";
import { discard, scratch } from "../child.ts";

export const USER_ROLE = "user"; // iam_user, with everything that a user can have
export const APP_ROLE = "app"; // an application of its own for each lease
export const SHARED_ROLE = "shared"; // passwords on one application that is there already

const POLICY = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "s3:*", Resource: "*" }],
});

/** As a call to a server that is gone. */
class NotRunning extends Error {
  readonly code = "ECONNREFUSED";

  constructor() {
    super("the server does not run");
    this.name = "NotRunning";
  }
}

export class CloudSite {
  readonly a: FakeCloudA;
  readonly b: FakeCloudB;
  /** Of the application that was there before. */
  readonly sharedApplication: string;
  readonly group: string;
  readonly #directory: string;
  readonly #place: NodePlace;
  readonly #time: { ahead: number };
  readonly #extra: ApiTargetOptions;
  readonly #random = new Prng(1);
  #keys: Keys | null = null;
  #server: ServerProcess | null = null;
  #api: Api | null = null;

  private constructor(
    directory: string,
    time: { ahead: number },
    clouds: { a: FakeCloudA; b: FakeCloudB },
    extra: ApiTargetOptions,
  ) {
    this.#directory = directory;
    this.#place = new NodePlace(join(directory, "node"));
    this.#time = time;
    this.#extra = extra;
    this.a = clouds.a;
    this.b = clouds.b;
    this.sharedApplication = clouds.b.control.makeApplication("shared").id;
    this.group = clouds.b.control.makeGroup("operators");
  }

  /** An initialised server with both engines configured, running. */
  static async open(name: string, extra: ApiTargetOptions = {}): Promise<CloudSite> {
    const time = { ahead: 0 };
    const now = () => Date.now() + time.ahead * 1000;
    const [a, b] = await Promise.all([startFakeCloudA({ now }), startFakeCloudB({ now })]);
    const site = new CloudSite(scratch(name), time, { a, b }, extra);
    try {
      await site.#initialise();
    } catch (error) {
      await site.close();
      throw error;
    }
    return site;
  }

  get api(): Api {
    if (this.#api === null) throw new NotRunning();
    return this.#api;
  }

  get lastLog(): string {
    return (this.#server?.log ?? "").split("\n").slice(-8).join("\n");
  }

  /** What the server wrote since it was started. */
  get log(): string {
    return this.#server?.log ?? "";
  }

  /** For all three. */
  advance(seconds: number): void {
    this.#time.ahead += seconds;
    this.#server?.say(`advance ${seconds}`);
  }

  async start(): Promise<void> {
    const stranger = new Api(await this.#run().ready);
    if (this.#keys === null) throw new Error("the server was not initialised");
    await stranger.unseal(this.#keys, this.#random);
    stranger.close();
    this.#api = new Api(await this.#server!.ready, this.#keys.token);
  }

  async kill(): Promise<void> {
    const ended = await this.#server?.kill();
    this.#api?.close();
    this.#api = null;
    if (ended !== undefined && ended.signal !== "SIGKILL") {
      throw new Error(`the server ended with ${ended.code}\n${this.lastLog}`);
    }
  }

  async close(): Promise<void> {
    await this.#server?.kill();
    this.#api?.close();
    await Promise.all([this.a.close(), this.b.close()]);
    discard(this.#directory);
  }

  /** Ids of the leases that a path has given. */
  async leases(path: string): Promise<string[]> {
    const answer = await this.api.expect([200, 404], "LIST", `sys/leases/lookup/${path}`);
    return texts(at(answer, "data", "keys")).map((name) => `${path}/${name}`);
  }

  /** Polls until `look` finds nothing more to wait for; what it says last is thrown after `longest`. */
  async until(look: () => Promise<string | null>, longest: number): Promise<void> {
    const limit = performance.now() + longest;
    for (;;) {
      const left = await look();
      if (left === null) return;
      if (performance.now() > limit) throw new Error(left);
      await pause(40);
    }
  }

  #run(): ServerProcess {
    const { endpoints } = this.b;
    const lines = Object.entries(endpoints).map(([name, url]) => `  ${name} = "${url}"`);
    this.#server = new ServerProcess({
      place: this.#place,
      beside: join(this.#directory, "beside"),
      settings: `outbound_allow = ["127.0.0.1"]\ncloudb_endpoints {\n${lines.join("\n")}\n}\n`,
      target: { ...this.#extra, clock: { seconds: this.#time.ahead } },
    });
    return this.#server;
  }

  async #initialise(): Promise<void> {
    const stranger = new Api(await this.#run().ready);
    this.#keys = await stranger.init();
    await stranger.unseal(this.#keys, this.#random);
    stranger.close();
    this.#api = new Api(await this.#server!.ready, this.#keys.token);
    const device = { type: "file", options: { file_path: this.#place.auditFile("file") } };
    await this.api.expect([204], "POST", "sys/audit/file", { body: device });
    for (const [path, body] of this.#configuration()) {
      await this.api.expect([200, 204], "POST", path, { body });
    }
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
