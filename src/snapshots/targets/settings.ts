// What a target is made of: a checked configuration. Empty texts are what was left out.

interface Common {
  /** As it was written; for clouds see objectFolder. */
  readonly pathPrefix: string;
  readonly filePrefix: string;
}

export interface LocalSettings extends Common {
  readonly storageType: "local";
  /** Bytes that all of ours with this prefix may have there. */
  readonly maxSpace: number;
}

export interface CloudASettings extends Common {
  readonly storageType: "clouda-store";
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly endpoint: string;
  readonly disableTls: boolean;
  readonly forcePathStyle: boolean;
  readonly enableKms: boolean;
  readonly serverSideEncryption: boolean;
  readonly kmsKey: string;
}

export interface CloudBSettings extends Common {
  readonly storageType: "cloudb-blob";
  readonly container: string;
  readonly accountName: string;
  readonly accountKey: string;
  readonly environment: string;
  readonly endpoint: string;
}

export interface CloudCSettings extends Common {
  readonly storageType: "cloudc-store";
  readonly bucket: string;
  readonly serviceAccountKey: string;
  readonly endpoint: string;
  readonly disableTls: boolean;
}

export type TargetSettings = LocalSettings | CloudASettings | CloudBSettings | CloudCSettings;
export type StorageType = TargetSettings["storageType"];

export const STORAGE_TYPES = [
  "local",
  "cloudb-blob",
  "clouda-store",
  "cloudc-store",
] as const satisfies readonly StorageType[];

/** What every key of ours in a bucket begins with: without a slash before it, with one behind, or empty. */
export function objectFolder(pathPrefix: string): string {
  const folder = pathPrefix.replace(/^\/+|\/+$/g, "");
  return folder === "" ? "" : `${folder}/`;
}

/** Clouds of cloudb by the names that operators write, and the domain of each. In lower case: the case of letters
 *  does not matter. The empty one is the usual. */
export const CLOUDB_DOMAINS: ReadonlyMap<string, string> = new Map([
  ["", "core.windows.net"],
  ["cloudbpubliccloud", "core.windows.net"],
  ["azurepubliccloud", "core.windows.net"],
  ["cloudbusgovernmentcloud", "core.usgovcloudapi.net"],
  ["azureusgovernmentcloud", "core.usgovcloudapi.net"],
  ["cloudbchinacloud", "core.chinacloudapi.cn"],
  ["azurechinacloud", "core.chinacloudapi.cn"],
]);
