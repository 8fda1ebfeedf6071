// What a filter should come to among a few mounts and namespaces, thought out anew: no code of the product decides it here.

export interface Place {
  readonly uuid: string;
  /** Without a slash at its end, in its namespace. */
  path: string;
  /** From root; empty: root. */
  readonly namespace: string;
}

export interface PlacedFilter {
  readonly mode: "allow" | "deny";
  readonly mounts: readonly string[]; // uuids
  readonly namespaces: readonly string[]; // from root
}

/** Null: nothing is withheld. */
export function withheldBy<T extends Place>(
  filter: PlacedFilter | null,
  mounts: readonly T[],
  namespaces: readonly string[],
): { readonly mounts: readonly T[]; readonly namespaces: readonly string[] } {
  if (filter === null) return { mounts: [], namespaces: [] };
  const isBelow = (path: string, above: string) => path === above || path.startsWith(`${above}/`);
  const isNamed = (path: string) => filter.namespaces.some((one) => isBelow(path, one));
  const isMountNamed = ({ uuid, namespace }: Place) =>
    filter.mounts.includes(uuid) || isNamed(namespace);
  if (filter.mode === "deny") {
    return { mounts: mounts.filter(isMountNamed), namespaces: namespaces.filter(isNamed) };
  }
  // What is allowed is come to through the namespaces that it lies in.
  const ways = [
    ...filter.namespaces,
    ...mounts.filter(isMountNamed).map(({ namespace }) => namespace),
  ];
  const isSent = (path: string) => isNamed(path) || ways.some((way) => isBelow(way, path));
  return {
    mounts: mounts.filter((mount) => !isMountNamed(mount)),
    namespaces: namespaces.filter((path) => !isSent(path)),
  };
}
