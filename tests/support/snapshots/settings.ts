// Settings of targets that go to a fake.

import type {
  CloudASettings,
  CloudBSettings,
  CloudCSettings,
  LocalSettings,
} from "../../../src/snapshots/targets/settings.ts";
import type { FakeS3 } from "../../fakes/stores/clouda-store.ts";
import type { FakeBlob } from "../../fakes/stores/cloudb-blob.ts";
import type { FakeGcs } from "../../fakes/stores/cloudc-store.ts";

const common = { pathPrefix: "east/daily/", filePrefix: "nightly" };

export const settingsOf = {
  local: (change: Partial<LocalSettings> = {}): LocalSettings => ({
    ...common,
    storageType: "local",
    maxSpace: 1e12,
    ...change,
  }),

  clouda: (fake: FakeS3, change: Partial<CloudASettings> = {}): CloudASettings => ({
    ...common,
    storageType: "clouda-store",
    bucket: fake.bucket,
    region: fake.region,
    accessKeyId: fake.accessKeyId,
    secretAccessKey: fake.secretAccessKey,
    sessionToken: "",
    endpoint: fake.url,
    disableTls: true,
    forcePathStyle: false,
    enableKms: false,
    serverSideEncryption: false,
    kmsKey: "",
    ...change,
  }),

  cloudb: (fake: FakeBlob, change: Partial<CloudBSettings> = {}): CloudBSettings => ({
    ...common,
    storageType: "cloudb-blob",
    container: fake.container,
    accountName: fake.account,
    accountKey: fake.key,
    environment: "",
    endpoint: `${fake.url}/${fake.account}`,
    ...change,
  }),

  cloudc: (fake: FakeGcs, change: Partial<CloudCSettings> = {}): CloudCSettings => ({
    ...common,
    storageType: "cloudc-store",
    bucket: fake.bucket,
    serviceAccountKey: fake.serviceAccountKey,
    endpoint: fake.url,
    disableTls: true,
    ...change,
  }),
};
