// Endpoints of kv as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { keyPath, mountPath, needInput, restOfPath } from "../request-path.ts";

export type ReadConfigAnswer = {
  /** How many versions are kept; 0 for 10. */
  readonly max_versions: number;
  /** Whether every write must give cas. */
  readonly cas_required: boolean;
  /** New versions are deleted after this time; 0s: never. */
  readonly delete_version_after: string;
  /** How long the recycle bin shows what was deleted. */
  readonly recycle_window: string;
};

/** Read what the mount says of all its secrets. */
export async function readConfig(
  client: Caller,
  mount: string,
  options?: CallOptions,
): Promise<Answer<ReadConfigAnswer>> {
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/config`, answer: "data" },
    options,
  );
}

export type WriteConfigInput = {
  /** How many versions are kept; 0: as the mount says, or 10. */
  readonly max_versions?: number | undefined;
  /** Whether every write must give cas. */
  readonly cas_required?: boolean | undefined;
  /** New versions are deleted after this time; 0s: never, or as the mount says. */
  readonly delete_version_after?: string | number | undefined;
  /** How long the recycle bin shows what was deleted; 0s for no bin. */
  readonly recycle_window?: string | number | undefined;
};

/** Change what the mount says of all its secrets. */
export async function writeConfig(
  client: Caller,
  mount: string,
  body: WriteConfigInput = {},
  options?: CallOptions,
): Promise<Answer<undefined>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/config`, body, answer: "nothing" },
    options,
  );
}

export type ReadInput = {
  /** Path of the secret. */
  readonly path: string;
  /** Number of the version; 0 is the newest. */
  readonly version?: number | undefined;
};

export type ReadAnswer = {
  /** What was written. */
  readonly data: JsonObject | null;
  readonly metadata: {
    /** Its number. */
    readonly version: number;
    /** When it was written. */
    readonly created_time: string;
    /** When it was, or will be, deleted; empty for never. */
    readonly deletion_time: string;
    /** Whether its data is gone for good. */
    readonly destroyed: boolean;
    /** What was noted about the secret. */
    readonly custom_metadata: Readonly<Record<string, string>> | null;
  };
};

/** Read a version of a secret. */
export async function read(
  client: Caller,
  mount: string,
  input: ReadInput,
  options?: CallOptions,
): Promise<Answer<ReadAnswer>> {
  const { path, ...query } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/data/${keyPath(path)}`, query, answer: "data" },
    options,
  );
}

export type WriteInput = {
  /** Path of the secret. */
  readonly path: string;
  /** cas: the current version, or 0 where there must be none yet. */
  readonly options?:
    | {
        readonly cas?: number;
      }
    | undefined;
  /** What is to be kept. */
  readonly data: JsonObject;
};

export type WriteAnswer = {
  /** Its number. */
  readonly version: number;
  /** When it was written. */
  readonly created_time: string;
  /** When it was, or will be, deleted; empty for never. */
  readonly deletion_time: string;
  /** Whether its data is gone for good. */
  readonly destroyed: boolean;
  /** What was noted about the secret. */
  readonly custom_metadata: Readonly<Record<string, string>> | null;
};

/** Write a new version of a secret. */
export async function write(
  client: Caller,
  mount: string,
  input: WriteInput,
  options?: CallOptions,
): Promise<Answer<WriteAnswer>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/data/${keyPath(path)}`, body, answer: "data" },
    options,
  );
}

export type PatchInput = {
  /** Path of the secret. */
  readonly path: string;
  /** cas: the current version, or 0 where there must be none yet. */
  readonly options?:
    | {
        readonly cas?: number;
      }
    | undefined;
  /** A merge patch: null removes a member. */
  readonly data: JsonObject;
};

export type PatchAnswer = WriteAnswer;

/** Write a new version that is the newest one with some changes. */
export async function patch(
  client: Caller,
  mount: string,
  input: PatchInput,
  options?: CallOptions,
): Promise<Answer<PatchAnswer>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "PATCH", path: `${mountPath(mount)}/data/${keyPath(path)}`, body, answer: "data" },
    options,
  );
}

export type DeleteInput = {
  /** Path of the secret. */
  readonly path: string;
};

/** Delete the newest version; undelete restores it. */
async function delete_(
  client: Caller,
  mount: string,
  input: DeleteInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path } = needInput(input);
  return client.call(
    { method: "DELETE", path: `${mountPath(mount)}/data/${keyPath(path)}`, answer: "nothing" },
    options,
  );
}
export { delete_ as delete };

export type DeleteVersionsInput = {
  /** Path of the secret. */
  readonly path: string;
  /** Numbers of the versions. */
  readonly versions: readonly number[];
};

/** Delete versions; undelete restores them. */
export async function deleteVersions(
  client: Caller,
  mount: string,
  input: DeleteVersionsInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/delete/${keyPath(path)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type UndeleteInput = DeleteVersionsInput;

/** Restore deleted versions. */
export async function undelete(
  client: Caller,
  mount: string,
  input: UndeleteInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/undelete/${keyPath(path)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DestroyInput = DeleteVersionsInput;

/** Remove the data of versions for good. */
export async function destroy(
  client: Caller,
  mount: string,
  input: DestroyInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/destroy/${keyPath(path)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type SubkeysInput = {
  /** Path of the secret. */
  readonly path: string;
  /** Number of the version; 0 is the newest. */
  readonly version?: number | undefined;
  /** How many levels; 0 for all. */
  readonly depth?: number | undefined;
};

export type SubkeysAnswer = {
  /** Names; null in place of values. */
  readonly subkeys: JsonObject | null;
  readonly metadata: {
    /** Its number. */
    readonly version: number;
    /** When it was written. */
    readonly created_time: string;
    /** When it was, or will be, deleted; empty for never. */
    readonly deletion_time: string;
    /** Whether its data is gone for good. */
    readonly destroyed: boolean;
    /** What was noted about the secret. */
    readonly custom_metadata: Readonly<Record<string, string>> | null;
  };
};

/** Read the structure of a version, with null in place of every value. */
export async function subkeys(
  client: Caller,
  mount: string,
  input: SubkeysInput,
  options?: CallOptions,
): Promise<Answer<SubkeysAnswer>> {
  const { path, ...query } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/subkeys/${keyPath(path)}`, query, answer: "data" },
    options,
  );
}

export type ReadMetadataInput = DeleteInput;

export type ReadMetadataAnswer = {
  /** Number of the newest version; 0 before the first. */
  readonly current_version: number;
  /** Number of the oldest that is kept. */
  readonly oldest_version: number;
  /** How many versions are kept; 0: as the mount says. */
  readonly max_versions: number;
  /** Whether every write must give cas. */
  readonly cas_required: boolean;
  /** New versions are deleted after this time; 0s: never. */
  readonly delete_version_after: string;
  /** When it was made. */
  readonly created_time: string;
  /** When it, or one of its versions, was changed last. */
  readonly updated_time: string;
  /** What was noted about the secret. */
  readonly custom_metadata: Readonly<Record<string, string>> | null;
  /** The versions by number. */
  readonly versions: Readonly<
    Record<
      string,
      {
        /** When it was written. */
        readonly created_time: string;
        /** When it was, or will be, deleted; empty for never. */
        readonly deletion_time: string;
        /** Whether its data is gone for good. */
        readonly destroyed: boolean;
      }
    >
  >;
};

/** Read what is known of a secret and its versions. */
export async function readMetadata(
  client: Caller,
  mount: string,
  input: ReadMetadataInput,
  options?: CallOptions,
): Promise<Answer<ReadMetadataAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/metadata/${keyPath(path)}`, answer: "data" },
    options,
  );
}

export type WriteMetadataInput = {
  /** Path of the secret. */
  readonly path: string;
  /** How many versions are kept; 0: as the mount says, or 10. */
  readonly max_versions?: number | undefined;
  /** Whether every write must give cas. */
  readonly cas_required?: boolean | undefined;
  /** New versions are deleted after this time; 0s: never, or as the mount says. */
  readonly delete_version_after?: string | number | undefined;
  /** What is noted about the secret; replaces what there was. */
  readonly custom_metadata?: Readonly<Record<string, string>> | undefined;
};

/** Change settings and notes of a secret; makes one without versions if there is none. */
export async function writeMetadata(
  client: Caller,
  mount: string,
  input: WriteMetadataInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `${mountPath(mount)}/metadata/${keyPath(path)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type PatchMetadataInput = {
  /** Path of the secret. */
  readonly path: string;
  /** How many versions are kept; 0: as the mount says, or 10. */
  readonly max_versions?: number | null | undefined;
  /** Whether every write must give cas. */
  readonly cas_required?: boolean | null | undefined;
  /** New versions are deleted after this time; 0s: never, or as the mount says. */
  readonly delete_version_after?: string | number | null | undefined;
  /** A merge patch: null in place of a text removes it, in place of all removes all. */
  readonly custom_metadata?: Readonly<Record<string, string | null>> | null | undefined;
};

/** Change some settings and notes of a secret. */
export async function patchMetadata(
  client: Caller,
  mount: string,
  input: PatchMetadataInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    {
      method: "PATCH",
      path: `${mountPath(mount)}/metadata/${keyPath(path)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type DeleteMetadataInput = DeleteInput;

/** Remove a secret with all its versions, for good. */
export async function deleteMetadata(
  client: Caller,
  mount: string,
  input: DeleteMetadataInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path } = needInput(input);
  return client.call(
    { method: "DELETE", path: `${mountPath(mount)}/metadata/${keyPath(path)}`, answer: "nothing" },
    options,
  );
}

export type ListInput = {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
  /** List folders within as well, as far as the caller may scan them: that is a capability of its own. */
  readonly scan?: boolean | undefined;
};

export type ListAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List secrets and folders at the top of the mount. */
export async function list(
  client: Caller,
  mount: string,
  query: ListInput = {},
  options?: CallOptions,
): Promise<Answer<ListAnswer>> {
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}/metadata`, query, answer: "data" },
    options,
  );
}

export type ListBelowInput = {
  /** Folder: the part of the paths up to a slash. */
  readonly path: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
  /** List folders within as well, as far as the caller may scan them: that is a capability of its own. */
  readonly scan?: boolean | undefined;
};

export type ListBelowAnswer = ListAnswer;

/** List secrets and folders in a folder. */
export async function listBelow(
  client: Caller,
  mount: string,
  input: ListBelowInput,
  options?: CallOptions,
): Promise<Answer<ListBelowAnswer>> {
  const { path, ...query } = needInput(input);
  return client.call(
    {
      method: "LIST",
      path: `${mountPath(mount)}/metadata/${restOfPath(path)}`,
      query,
      answer: "data",
    },
    options,
  );
}

export type ListDetailedInput = {
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListDetailedAnswer = ListAnswer;

/** List secrets at the top of the mount with their metadata. */
export async function listDetailed(
  client: Caller,
  mount: string,
  query: ListDetailedInput = {},
  options?: CallOptions,
): Promise<Answer<ListDetailedAnswer>> {
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}/detailed-metadata`, query, answer: "data" },
    options,
  );
}

export type ListDetailedBelowInput = {
  /** Folder: the part of the paths up to a slash. */
  readonly path: string;
  /** Only those after this name. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListDetailedBelowAnswer = ListAnswer;

/** List secrets in a folder with their metadata. */
export async function listDetailedBelow(
  client: Caller,
  mount: string,
  input: ListDetailedBelowInput,
  options?: CallOptions,
): Promise<Answer<ListDetailedBelowAnswer>> {
  const { path, ...query } = needInput(input);
  return client.call(
    {
      method: "LIST",
      path: `${mountPath(mount)}/detailed-metadata/${restOfPath(path)}`,
      query,
      answer: "data",
    },
    options,
  );
}

export type CopyInput = {
  /** Path of the secret, or of the folder with recursive. */
  readonly from: string;
  /** Where it goes. */
  readonly to: string;
  /** Everything in a folder. */
  readonly recursive?: boolean | undefined;
  /** Current version of the secret at the target, which is replaced. Default: none. */
  readonly cas?: number | undefined;
  /** With recursive: the `next` of the answer before. */
  readonly after?: string | undefined;
};

export type CopyAnswer = {
  /** Secrets that were copied. */
  readonly copied: number;
  /** Secrets left alone because there is one at the target. */
  readonly taken: number;
  /** Secrets left alone because the caller has no right to them, or to write there what they hold, or because they are too large. */
  readonly refused: number;
  /** There are more: go on with this as `after`. */
  readonly next?: string;
};

/** Copy a secret with its versions, or a folder of them. */
export async function copy(
  client: Caller,
  mount: string,
  body: CopyInput,
  options?: CallOptions,
): Promise<Answer<CopyAnswer>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/copy`, body, answer: "data" },
    options,
  );
}

export type MoveInput = CopyInput;

export type MoveAnswer = {
  /** Secrets that were moved. */
  readonly moved: number;
  /** Secrets left alone because there is one at the target. */
  readonly taken: number;
  /** Secrets left alone because the caller has no right to them, or to write there what they hold, or because they are too large. */
  readonly refused: number;
  /** There are more: go on with this as `after`. */
  readonly next?: string;
};

/** Move a secret with its versions, or a folder of them. */
export async function move(
  client: Caller,
  mount: string,
  body: MoveInput,
  options?: CallOptions,
): Promise<Answer<MoveAnswer>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/move`, body, answer: "data" },
    options,
  );
}

export type SearchInput = {
  /** Text that is looked for, in either case. */
  readonly q: string;
  /** Only in this folder. */
  readonly under?: string | undefined;
  /** The `next` of the answer before. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type SearchAnswer = {
  /** Paths of what was found. */
  readonly keys: readonly string[];
  /** There are more: go on with this as `after`. */
  readonly next?: string;
};

/** Find secrets by their path or custom metadata, among those the caller may read. */
export async function search(
  client: Caller,
  mount: string,
  query: SearchInput,
  options?: CallOptions,
): Promise<Answer<SearchAnswer>> {
  return client.call(
    { method: "GET", path: `${mountPath(mount)}/search`, query, answer: "data" },
    options,
  );
}

export type BulkDeleteInput = {
  /** Paths of the secrets. */
  readonly paths: readonly string[];
};

export type BulkDeleteAnswer = {
  /** Secrets whose newest version was deleted. */
  readonly deleted: number;
  /** Secrets with nothing to delete. */
  readonly absent: number;
};

/** Delete the newest versions of many secrets; undelete restores them. */
export async function bulkDelete(
  client: Caller,
  mount: string,
  body: BulkDeleteInput,
  options?: CallOptions,
): Promise<Answer<BulkDeleteAnswer>> {
  return client.call(
    { method: "POST", path: `${mountPath(mount)}/bulk-delete`, body, answer: "data" },
    options,
  );
}

export type RecycleInput = ListDetailedInput;

export type RecycleAnswer = ListAnswer;

/** List deleted secrets that can be restored, in folders the caller may list. */
export async function recycle(
  client: Caller,
  mount: string,
  query: RecycleInput = {},
  options?: CallOptions,
): Promise<Answer<RecycleAnswer>> {
  return client.call(
    { method: "LIST", path: `${mountPath(mount)}/recycle`, query, answer: "data" },
    options,
  );
}
