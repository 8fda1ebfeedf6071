// A configuration of automated snapshots: what an operator has written, checked and brought together with what was
// written before. Fields that are left out keep their value, so that secrets survive a change of something else.

import { normalize } from "node:path/posix";
import { isDeepStrictEqual } from "node:util";
import { fromBase64 } from "@holdfast/shared/bytes";
import { Secret } from "@holdfast/shared/secret";
import {
  CLOUDB_DOMAINS,
  objectFolder,
  STORAGE_TYPES,
  type StorageType,
  type TargetSettings,
} from "../targets/settings.ts";
import {
  type DrillPlan,
  parsePlan,
  PLAN_FORMS,
  showPlan,
  USUAL_PLAN,
} from "../drills/drill-plan.ts";
import { configInvalid } from "./failures.ts";

export interface SnapshotConfig {
  /** Seconds. */
  readonly interval: number;
  readonly retain: number;
  readonly settings: TargetSettings;
  /** When what is stored is proven. */
  readonly drill: DrillPlan;
  /** When it was first written, in nanoseconds since 1970. */
  readonly created: string;
}

/** By wire name, what a request says; undefined where it says nothing. */
export type ConfigInput = Readonly<
  Record<string, string | number | boolean | Secret<string> | undefined>
>;

interface TypeField {
  readonly wire: string;
  /** In the settings of the target. */
  readonly key: string;
  readonly kind: "text" | "flag" | "secret" | "bytes";
  readonly required?: boolean;
}

/** The fields that each type has besides, in the order of the manual. */
export const TYPE_FIELDS: Readonly<Record<StorageType, readonly TypeField[]>> = {
  local: [{ wire: "local_max_space", key: "maxSpace", kind: "bytes", required: true }],
  "clouda-store": [
    { wire: "clouda_store_bucket", key: "bucket", kind: "text", required: true },
    { wire: "clouda_store_region", key: "region", kind: "text", required: true },
    { wire: "clouda_access_key_id", key: "accessKeyId", kind: "text" },
    { wire: "clouda_secret_access_key", key: "secretAccessKey", kind: "secret" },
    { wire: "clouda_session_token", key: "sessionToken", kind: "secret" },
    { wire: "clouda_store_endpoint", key: "endpoint", kind: "text" },
    { wire: "clouda_store_disable_tls", key: "disableTls", kind: "flag" },
    { wire: "clouda_store_force_path_style", key: "forcePathStyle", kind: "flag" },
    { wire: "clouda_store_enable_kms", key: "enableKms", kind: "flag" },
    { wire: "clouda_store_server_side_encryption", key: "serverSideEncryption", kind: "flag" },
    { wire: "clouda_store_kms_key", key: "kmsKey", kind: "text" },
  ],
  "cloudb-blob": [
    { wire: "cloudb_container_name", key: "container", kind: "text", required: true },
    { wire: "cloudb_account_name", key: "accountName", kind: "text" },
    { wire: "cloudb_account_key", key: "accountKey", kind: "secret" },
    { wire: "cloudb_blob_environment", key: "environment", kind: "text" },
    { wire: "cloudb_endpoint", key: "endpoint", kind: "text" },
  ],
  "cloudc-store": [
    { wire: "cloudc_store_bucket", key: "bucket", kind: "text", required: true },
    { wire: "cloudc_service_account_key", key: "serviceAccountKey", kind: "secret" },
    { wire: "cloudc_endpoint", key: "endpoint", kind: "text" },
    { wire: "cloudc_disable_tls", key: "disableTls", kind: "flag" },
  ],
};

const EMPTY = { text: "", secret: "", flag: false, bytes: 0 } as const;
const FILE_PREFIX = "service-snapshot";
const MAX_PREFIX = 512;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const REGION = /^[a-z]{2,8}(?:-[a-z]{2,16}){1,3}-[0-9]{1,2}$/;
const BUCKET_A = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const BUCKET_C = /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/;
const CONTAINER = /^[a-z0-9](?!.*--)[a-z0-9-]{1,61}[a-z0-9]$/;
const ACCOUNT = /^[a-z0-9]{3,24}$/;
const VISIBLE = /^[!-~]*$/;

export function checkName(name: string): void {
  if (NAME.test(name)) return;
  throw configInvalid(
    "the name of a configuration must have 1 to 128 letters, digits, dots, dashes or underscores, " +
      "and begin with a letter or digit",
  );
}

export interface Merged {
  readonly config: SnapshotConfig;
  readonly warnings: readonly string[];
}

/** What is stored then. Throws a Failure that says what would be accepted. */
export function merged(before: SnapshotConfig | null, input: ConfigInput, now: bigint): Merged {
  const type = typeOf(before, input);
  const interval = numberOf(input["interval"]) ?? before?.interval;
  if (interval === undefined) throw missing("interval", 'such as "24h"');
  const pathPrefix = textOf(input["path_prefix"]) ?? before?.settings.pathPrefix ?? "";
  if (pathPrefix === "") {
    throw missing("path_prefix", type === "local" ? "the directory" : "a folder of the bucket");
  }
  const filePrefix = textOf(input["file_prefix"]) ?? before?.settings.filePrefix ?? FILE_PREFIX;
  const old = (before?.settings ?? {}) as unknown as Record<string, unknown>;
  const own = TYPE_FIELDS[type].map(({ wire, key, kind, required }): [string, unknown] => {
    const value = plain(input[wire]) ?? old[key] ?? EMPTY[kind];
    if (required === true && value === EMPTY[kind]) throw missing(wire, `storage_type ${type}`);
    return [key, value];
  });
  const settings = {
    storageType: type,
    pathPrefix,
    filePrefix,
    ...Object.fromEntries(own),
  } as unknown as TargetSettings; // the table names every field of the type
  checkSettings(settings);
  return {
    config: {
      interval,
      retain: numberOf(input["retain"]) ?? before?.retain ?? 1,
      settings,
      drill: drillOf(textOf(input["drill"])) ?? before?.drill ?? USUAL_PLAN,
      created: before?.created ?? String(now),
    },
    warnings: strangeFields(type, input),
  };
}

/** As it is read: no secret, and whether one is set instead. */
export function readable({ interval, retain, settings, drill }: SnapshotConfig) {
  const values = settings as unknown as Record<string, string | number | boolean>;
  const own = TYPE_FIELDS[settings.storageType].map(({ wire, key, kind }) => {
    const value = values[key] ?? EMPTY[kind];
    return kind === "secret" ? [`${wire}_set`, value !== ""] : [wire, value];
  });
  return {
    interval,
    retain,
    path_prefix: settings.pathPrefix,
    file_prefix: settings.filePrefix,
    storage_type: settings.storageType,
    drill: showPlan(drill),
    ...(Object.fromEntries(own) as Record<string, string | number | boolean>),
  };
}

/** Whether two would write snapshots that nobody could tell apart. */
export function meet(one: TargetSettings, other: TargetSettings): boolean {
  if (one.storageType !== other.storageType || one.filePrefix !== other.filePrefix) return false;
  if (one.storageType === "local" || other.storageType === "local") {
    return folderOf(one.pathPrefix) === folderOf(other.pathPrefix);
  }
  if (objectFolder(one.pathPrefix) !== objectFolder(other.pathPrefix)) return false;
  if (one.storageType === "cloudb-blob" && other.storageType === "cloudb-blob") {
    return one.container === other.container && sameAccount(one, other);
  }
  if (hostOf(one.endpoint) !== hostOf(other.endpoint)) return false;
  const buckets = [one, other].map((settings) => ("bucket" in settings ? settings.bucket : ""));
  return buckets[0] === buckets[1];
}

/** Whether something that a test write would find out has changed. */
export function samePlace(one: TargetSettings, other: TargetSettings): boolean {
  return isDeepStrictEqual(one, other);
}

/** The fields that say where a place is; the others say how it is reached, and how much may lie there. */
const WHERE = [
  "storageType",
  "pathPrefix",
  "filePrefix",
  "bucket",
  "container",
  "region",
  "accountName",
  "environment",
  "endpoint",
] as const;

/** Whether what one has written is not seen by the other. */
export function isElsewhere(one: TargetSettings, other: TargetSettings): boolean {
  const [a, b] = [one, other] as unknown as Readonly<Record<string, unknown>>[];
  return WHERE.some((field) => a?.[field] !== b?.[field]);
}

function typeOf(before: SnapshotConfig | null, input: ConfigInput): StorageType {
  const said = textOf(input["storage_type"]);
  const old = before?.settings.storageType;
  if (said === undefined && old === undefined) {
    throw missing("storage_type", `one of ${STORAGE_TYPES.join(", ")}`);
  }
  if (said !== undefined && old !== undefined && said !== old) {
    throw configInvalid(
      `storage_type of a configuration cannot change (it is ${old}); make another configuration`,
    );
  }
  const type = STORAGE_TYPES.find((known) => known === (said ?? old));
  if (type === undefined) {
    throw configInvalid(`storage_type must be one of ${STORAGE_TYPES.join(", ")}`);
  }
  return type;
}

function drillOf(text: string | undefined): DrillPlan | undefined {
  if (text === undefined) return undefined;
  const plan = parsePlan(text);
  if (plan === null) throw configInvalid(`drill must be ${PLAN_FORMS}`);
  return plan;
}

function checkSettings(settings: TargetSettings): void {
  const { pathPrefix, filePrefix, storageType } = settings;
  if (!NAME.test(filePrefix)) {
    throw configInvalid(
      "file_prefix must have 1 to 128 letters, digits, dots, dashes or underscores, and begin with a letter or digit",
    );
  }
  if (storageType === "local") return; // its directory is looked at
  if (pathPrefix.length > MAX_PREFIX || /\p{Cc}/u.test(pathPrefix) || hasOddFolder(pathPrefix)) {
    throw configInvalid(
      `path_prefix must be folders with a / between, at most ${MAX_PREFIX} characters, none of them . or .. or empty`,
    );
  }
  if (storageType !== "clouda-store" && !pathPrefix.endsWith("/")) {
    throw configInvalid(`path_prefix must end with a / for storage_type ${storageType}`);
  }
  if (storageType === "clouda-store") checkCloudA(settings);
  else if (storageType === "cloudb-blob") checkCloudB(settings);
  else checkCloudC(settings);
}

type Of<T extends StorageType> = Extract<TargetSettings, { storageType: T }>;

function checkCloudA(settings: Of<"clouda-store">): void {
  const { bucket, region, accessKeyId, secretAccessKey, sessionToken } = settings;
  const { enableKms, serverSideEncryption, kmsKey } = settings;
  if (!BUCKET_A.test(bucket)) throw badBucket("clouda_store_bucket", 63);
  if (!REGION.test(region)) {
    throw configInvalid("clouda_store_region must be the name of a region such as us-east-1");
  }
  if (enableKms && serverSideEncryption) {
    throw configInvalid(
      "clouda_store_enable_kms and clouda_store_server_side_encryption cannot be combined",
    );
  }
  if (kmsKey !== "" && !enableKms) {
    throw configInvalid("clouda_store_kms_key needs clouda_store_enable_kms");
  }
  if ((accessKeyId === "") !== (secretAccessKey === "")) {
    throw configInvalid(
      "clouda_access_key_id and clouda_secret_access_key must be given together, or neither",
    );
  }
  if (sessionToken !== "" && accessKeyId === "") {
    throw configInvalid("clouda_session_token needs clouda_access_key_id");
  }
  const texts = { accessKeyId, secretAccessKey, sessionToken, kmsKey };
  if (!Object.values(texts).every((text) => VISIBLE.test(text)) || /[/,]/.test(accessKeyId)) {
    throw configInvalid("keys and tokens must have no blanks and no characters beyond ASCII");
  }
}

function checkCloudB({ container, accountName, accountKey, environment }: Of<"cloudb-blob">): void {
  if (!CONTAINER.test(container)) {
    throw configInvalid(
      "cloudb_container_name must have 3 to 63 small letters, digits and single dashes, none at its ends",
    );
  }
  if (accountName !== "" && !ACCOUNT.test(accountName)) {
    throw configInvalid("cloudb_account_name must have 3 to 24 small letters and digits");
  }
  if (accountKey !== "" && fromBase64(accountKey) === null) {
    throw configInvalid("cloudb_account_key must be base64, as the provider shows it");
  }
  if (!CLOUDB_DOMAINS.has(environment.toLowerCase())) {
    throw configInvalid(
      "cloudb_blob_environment must be CloudBPublicCloud, CloudBUSGovernmentCloud or CloudBChinaCloud",
    );
  }
}

function checkCloudC({ bucket }: Of<"cloudc-store">): void {
  if (!BUCKET_C.test(bucket)) throw badBucket("cloudc_store_bucket", 222);
}

function badBucket(field: string, max: number): Error {
  return configInvalid(
    `${field} must have 3 to ${max} small letters, digits, dots and dashes, and begin and end with a letter or digit`,
  );
}

function strangeFields(type: StorageType, input: ConfigInput): string[] {
  return STORAGE_TYPES.filter((other) => other !== type).flatMap((other) =>
    TYPE_FIELDS[other]
      .filter(({ wire }) => input[wire] !== undefined)
      .map(({ wire }) => `${wire} is a field of storage_type ${other} and was ignored`),
  );
}

function missing(field: string, what: string): Error {
  return configInvalid(`${field} is missing (${what})`);
}

function hasOddFolder(pathPrefix: string): boolean {
  const folders = pathPrefix.replace(/^\/|\/$/g, "").split("/");
  const odd = folders.some((folder) => folder === "" || folder === "." || folder === "..");
  return odd && pathPrefix !== "/";
}

function folderOf(path: string): string {
  return normalize(path).replace(/\/+$/, "");
}

/** Names that the provider's own endpoints have: there a bucket is one, whatever region or name it is called by. */
const OWN_HOSTS = /(?:^|\.)(?:amazonaws\.com(?:\.cn)?|googleapis\.com)$/;
const OWN_ACCOUNT = /^([^./]+)\.blob\.core\./;

/** Empty for the provider's own. */
function hostOf(endpoint: string): string {
  const place = withoutScheme(endpoint);
  return OWN_HOSTS.test(place) ? "" : place;
}

/** One whose name comes from outside may be any. */
function sameAccount(one: Of<"cloudb-blob">, other: Of<"cloudb-blob">): boolean {
  const [first, second] = [one, other].map(({ endpoint, accountName }) => {
    const place = withoutScheme(endpoint);
    const named = OWN_ACCOUNT.exec(place)?.[1];
    return named === undefined ? { place, account: accountName } : { place: "", account: named };
  });
  if (first?.place !== second?.place) return false;
  return first?.account === "" || second?.account === "" || first?.account === second?.account;
}

function withoutScheme(endpoint: string): string {
  return endpoint
    .replace(/^https?:\/\//i, "")
    .replace(/\/+$/, "")
    .replace(/:(?:443|80)$/, "")
    .toLowerCase();
}

function textOf(value: ConfigInput[string]): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: ConfigInput[string]): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function plain(value: ConfigInput[string]): string | number | boolean | undefined {
  return value instanceof Secret ? value.reveal() : value;
}
