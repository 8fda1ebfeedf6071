// The keys of write-ahead records, relative to local/. They are read and undone by this room; a lease
// removes those that it settles in its own transaction, and so must know where they are.

export function writeAheadOf(namespaceId: string, mountUuid: string): string {
  return `ns/${namespaceId}/mounts/${mountUuid}/wal/`;
}

export function writeAheadKey(namespaceId: string, mountUuid: string, id: string): string {
  return writeAheadOf(namespaceId, mountUuid) + id;
}

/** Whose record it is. */
export function mountOf(key: string): {
  readonly namespaceId: string;
  readonly mountUuid: string;
} {
  const [, namespaceId = "", , mountUuid = ""] = key.split("/");
  return { namespaceId, mountUuid };
}
