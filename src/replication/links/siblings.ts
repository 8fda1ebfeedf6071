// Another member of the set, as somebody has named it: who sends it may write what it likes.

import { isClusterId, isDigest, isMemberId, isSerial } from "../../cluster/names.ts";
import { usableAddresses } from "../addresses.ts";
import type { Sibling } from "../stream/messages.ts";

/** What people read and others are called and known by is an id, a cluster, serials and addresses, or nothing. */
export function readable({ id, cluster, serials, addresses, digests }: Sibling): Sibling {
  const ofEach = digests.length === serials.length;
  const kept = serials.flatMap((serial, i) =>
    isSerial(serial) ? [{ serial, digest: digests[i] ?? "" }] : [],
  );
  return {
    serials: kept.map(({ serial }) => serial),
    id: isMemberId(id) ? id : "",
    cluster: isClusterId(cluster) ? cluster : "",
    addresses: usableAddresses(addresses),
    digests: ofEach
      ? kept.map(({ digest }) => (isDigest(digest) ? digest : ""))
      : digests.filter(isDigest),
  };
}
